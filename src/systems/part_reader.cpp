// Reads the sections of a model other than links: masses, shapes, springs, forces, actuators, joint limits, contacts,
// stops, resets.
#include <algorithm>

#include "systems/model_reader.hpp"

namespace dodyn::systems {

// Reads a formula of parameters and coordinates, rates, points and so on. `of_positions_alone`: rates and controls are
// not allowed.
Formula<Number> ModelReader::formula(const std::string& text, int line, bool of_positions_alone, const std::string& key,
                                     std::string_view unit) {
  Formula<Number> f{expression(text, line), {}};
  if (f.expression.is_condition()) fail(line, "'" + shown(text) + "' is a condition; allowed: a number");
  for (const auto& quantity : f.expression.quantities()) {
    const auto variable = model_.variable(quantity);
    if (!variable) {
      std::vector<std::string> known = model_.structure.coordinate_names;
      for (const auto& point : model_.structure.named_points) known.push_back(point.name + ".x");
      for (const auto& parameter : model_.parameters) known.push_back(parameter.name);
      fail(line, "'" + shown(quantity.text()) + "' is unknown" + did_you_mean(quantity.text(), known) +
                     "; allowed: parameters, coordinates, POINT.x, distance(POINT, POINT)" +
                     (of_positions_alone ? "" : ", rate(COORDINATE), rate(POINT.x), speed(POINT), u.ACTUATOR") +
                     "; known here: " + listed(known));
    }
    if (of_positions_alone && (variable->kind == Variable::rate || variable->kind == Variable::velocity ||
                               variable->kind == Variable::speed || variable->kind == Variable::control))
      fail(line,
           "'" + shown(quantity.text()) + "' is not a position; allowed here: parameters, coordinates and points");
    Formula<Number>::Argument argument{*variable, {}};
    if (variable->kind == Variable::parameter) argument.parameter = number(quantity.name, line, key, "");
    f.arguments.push_back(argument);
  }
  require(measure(f, line), unit, key, text, line);
  return f;
}

Measure ModelReader::measure(const Formula<Number>& formula, int line) {
  std::vector<Measure> used;
  for (const auto& argument : formula.arguments)
    used.push_back(argument.variable.kind == Variable::parameter
                       ? parameter_measures_[argument.variable.index]
                       : Measure::of(parse_unit(model_.unit(argument.variable)).value()));
  try {
    return formula.expression.measure(dimensions_, used);
  } catch (const ExpressionError& error) {
    fail(line, error.what());
  }
}

void ModelReader::read_mass(const Section& section) {
  const int on = link(needed(section, "link"));
  model_.masses.push_back(
      {section.name, on, vector_or_zero(section, "at", "m"), at_least_zero(section, "mass", 0.0, "kg")});
}

// Refuses a counterpart of a point mass that is not on the counterpart of its link. check_walker() compares the mass
// properties of both links.
void ModelReader::check_counterpart(const Section& mass) const {
  const Entry* counterpart = mass.find("counterpart");
  if (!counterpart) return;
  const auto& other = model_.masses[named(*counterpart, model_.masses, "point mass")];
  const auto here = std::ranges::find_if(model_.masses, [&](const PointMass& one) { return one.name == mass.name; });
  const auto& links = model_.structure.links;
  if (links[here->link].counterpart != other.link)
    fail(counterpart->line, "counterpart = " + shown(counterpart->value) + " is on link " + links[other.link].name +
                                "; allowed: a point mass on the counterpart of " + links[here->link].name);
}

void ModelReader::read_shape(const Section& section) {
  const bool plane = model_.dimension == 2;
  Shape shape;
  shape.name = section.name;
  shape.line = section.line;
  shape.link = link(needed(section, "link"));
  const Entry* form = nullptr;
  for (const char* key : {"vertices", "box", "polygon", "prism", "ball"})
    if (const Entry* entry = section.find(key)) {
      if (form) fail(entry->line, section.title() + " has " + form->key + " already; remove one of them");
      form = entry;
    }
  const char* const forms = plane ? "vertices, box, polygon or ball" : "vertices, box, prism or ball";
  if (!form) fail(section.line, section.title() + " has no form; add one of " + forms);
  const auto sizes = [&](std::size_t wanted, const char* meaning) {
    const auto parts = split_list(form->value);
    if (parts.size() != wanted)
      fail(form->line, form->key + " = " + shown(form->value) + "; allowed: " + meaning + ", m");
    for (std::size_t i = 0; i < wanted; ++i) {
      shape.size[i] = number(parts[i], form->line, form->key, "m");
      model_.bounds.push_back({shape.size[i], form->key, parts[i], "more than 0, m", form->line, true});
    }
  };
  const Entry* corners = section.find("corners");
  if (form->key == "vertices") {
    shape.kind = Shape::Kind::vertices;
    const auto points = split_list(form->value, ';');
    if (std::ssize(points) <= model_.dimension || points.size() > 256)
      fail(form->line, "vertices: " + std::to_string(points.size()) + " points; allowed: " +
                           std::to_string(model_.dimension + 1) + " to 256, separated by semicolons");
    for (const auto& point : points) shape.vertices.push_back(vector(point, form->line, "vertices", "m"));
  } else if (form->key == "box") {
    shape.kind = Shape::Kind::box;
    sizes(model_.dimension, plane ? "two lengths" : "three lengths");
  } else if (form->key == "ball") {
    shape.kind = Shape::Kind::ball;
    sizes(1, "its radius");
    // a circle: number of corners; a sphere: refinement 0, 1, 2 for 12, 42, 162 corners
    shape.corners = plane ? 12 : 1;
    if (corners && plane) shape.corners = count(*corners, 3, 256);
    if (corners && !plane) {
      const int wanted = count(*corners, 12, 162);
      if (wanted != 12 && wanted != 42 && wanted != 162)
        fail(corners->line, "corners = " + shown(corners->value) + "; allowed: 12, 42, 162");
      shape.corners = wanted == 12 ? 0 : wanted == 42 ? 1 : 2;
    }
  } else {
    if ((form->key == "polygon") != plane)
      fail(form->line, form->key + " is for dimension " + (plane ? "3" : "2") + "; allowed: " + forms);
    shape.kind = Shape::Kind::prism;
    sizes(plane ? 1 : 2, plane ? "the side" : "side of the base, height");
    if (!corners) fail(form->line, section.title() + " needs corners, the number of corners of the " + form->key);
    shape.corners = count(*corners, 3, plane ? 256 : 128);
  }
  if (corners && (form->key == "vertices" || form->key == "box"))
    fail(corners->line, "corners applies only to a ball, a polygon or a prism, not to " + form->key);
  if (const auto scale = positive(section, "scale", "1")) shape.scale = *scale;
  shape.at = vector_or_zero(section, "at", "m");
  if (const Entry* turn = section.find("turn"))
    for (const std::string& part : split_list(turn->value)) {
      const bool axis_given = part.size() > 2 && part[0] >= 'x' && part[0] <= 'z' && part[1] == ' ';
      if (axis_given == plane)
        fail(turn->line, "turn = " + shown(turn->value) + "; allowed: " +
                             (plane ? "an angle" : "x, y or z and an angle, as in z 30 deg, several joined by commas"));
      shape.turns.push_back(
          {plane ? 2 : part[0] - 'x', number(plane ? part : part.substr(2), turn->line, "turn", "rad")});
    }
  shape.density = positive(section, "density", plane ? "kg/m2" : "kg/m3");
  shape.mass = positive(section, "mass", "kg");
  if (shape.density && shape.mass)
    fail(section.find("mass")->line, section.title() + " has a density and a mass; remove one of them");
  if (const Entry* outward = section.find("outward"))
    shape.outward = vector(outward->value, outward->line, "outward", "");
  model_.shapes.push_back(std::move(shape));
}

void ModelReader::read_spring(const Section& section) {
  Spring<Number> spring;
  spring.name = section.name;
  const Entry *coordinate_entry = section.find("coordinate"), *from = section.find("from"), *to = section.find("to");
  if (coordinate_entry ? from || to : !from || !to)
    fail(section.line, section.title() + " needs a coordinate, or both from and to");
  if (const Entry* wrong = section.find(coordinate_entry ? "length" : "rest"))
    fail(wrong->line,
         wrong->key + " applies only to a spring " +
             (coordinate_entry ? "from place to place; allowed here: rest" : "of a coordinate; allowed here: length"));
  if (coordinate_entry) {
    spring.coordinate = coordinate(*coordinate_entry);
    spring.rest = number_or(section, "rest", 0.0, position_unit(spring.coordinate));
  } else {
    spring.from = place(*from);
    spring.to = place(*to);
    if (spring.from.link == spring.to.link)
      fail(to->line,
           section.title() + " joins two places of one link, whose distance does not change; choose two links");
    spring.rest = at_least_zero(section, "length", 0.0, "m");
  }
  const bool turns = coordinate_entry && !model_.slides(spring.coordinate);
  spring.stiffness = at_least_zero(section, "stiffness", 0.0, turns ? "N m/rad" : "N/m");
  spring.damping = at_least_zero(section, "damping", 0.0, turns ? "N m s/rad" : "N s/m");
  if (!section.find("stiffness") && !section.find("damping"))
    fail(section.line, section.title() + " exerts no force; give stiffness, damping or both");
  model_.structure.springs.push_back(std::move(spring));
}

void ModelReader::read_rotor(const Section& section) {
  const Entry& place = needed(section, "place");
  Rotor<Number> rotors{section.name, formula(place.value, place.line, true, place.key, ""), {}};
  const Measure travels = dimensions_.resolved(measure(rotors.place, place.line));
  rotors.mass = at_least_zero(section, "mass", 0.0, travels.is_pure() ? "kg m2" : "kg");
  check_of_coordinates(rotors.place, place);
  model_.structure.rotors.push_back(std::move(rotors));
}

void ModelReader::read_load(const Section& section) {
  AppliedForce<Number> load;
  load.name = section.name;
  const Entry *coordinate_entry = section.find("coordinate"), *link_entry = section.find("link");
  if (!coordinate_entry == !link_entry) fail(section.line, section.title() + " needs a coordinate or a link");
  const Entry& force = needed(section, "force");
  const auto parts = split_list(force.value);
  const std::size_t wanted = coordinate_entry ? 1 : static_cast<std::size_t>(model_.dimension);
  if (parts.size() != wanted)
    fail(force.line,
         "force = " + shown(force.value) + "; allowed: " +
             (coordinate_entry ? "one expression" : std::to_string(wanted) + " expressions, along the world's axes"));
  if (coordinate_entry)
    load.coordinate = coordinate(*coordinate_entry);
  else
    load.place = {link(*link_entry), vector_or_zero(section, "at", "m")};
  const std::string_view unit = coordinate_entry ? force_unit(load.coordinate) : "N";
  for (const auto& part : parts) load.components.push_back(formula(part, force.line, false, force.key, unit));
  model_.structure.loads.push_back(std::move(load));
}

void ModelReader::read_actuator(const Section& section) {
  Actuator<Number> actuator;
  actuator.name = section.name;
  const Entry *coordinate_entry = section.find("coordinate"), *link_entry = section.find("link");
  const Entry *force = section.find("force"), *torque = section.find("torque");
  if (!coordinate_entry == !link_entry) fail(section.line, section.title() + " needs a coordinate or a link");
  if (coordinate_entry) {
    for (const char* key : {"at", "force", "torque", "axes"})
      if (const Entry* wrong = section.find(key))
        fail(wrong->line, wrong->key + std::string(" applies only to an actuator on a link, not on a coordinate"));
    actuator.coordinate = coordinate(*coordinate_entry);
  } else {
    if (!force && !torque)
      fail(section.line, section.title() + " has no direction; add force or torque, in the link's axes");
    // The control is a force along `force`, and `torque` is its lever arm. Without `force` the control is a torque
    // about `torque`.
    actuator.place = {link(*link_entry), vector_or_zero(section, "at", "m")};
    actuator.force = vector_or_zero(section, "force", "1");
    if (torque) actuator.torque = axial(*torque, force ? "m" : "1");
    if (const Entry* axes = section.find("axes")) {
      if (axes->value != "link" && axes->value != "world")
        fail(axes->line, "axes = " + axes->value + "; allowed: link, world");
      actuator.in_world = axes->value == "world";
    }
  }
  const bool turns = coordinate_entry ? !model_.slides(actuator.coordinate) : !force;
  actuator.limit = positive(section, "limit", turns ? "N m" : "N");
  actuator.loss = at_least_zero(section, "loss", 0.0, turns ? "W/(N2 m2)" : "W/N2");
  model_.structure.actuators.push_back(std::move(actuator));
}

void ModelReader::read_joint_limit(const Section& section) {
  Range<Number> range{section.name, coordinate(needed(section, "coordinate")), {}, {}, {}};
  if (const Entry* from = section.find("from")) range.from = number(*from, position_unit(range.coordinate));
  if (const Entry* to = section.find("to")) range.to = number(*to, position_unit(range.coordinate));
  range.speed = positive(section, "speed", model_.slides(range.coordinate) ? "m/s" : "rad/s");
  if (!range.from && !range.to && !range.speed)
    fail(section.line, section.title() + " has no limit; add from, to or speed");
  model_.structure.ranges.push_back(std::move(range));
  model_.range_lines.push_back(section.line);
}

void ModelReader::read_knee(const Section& section) {
  const Entry& flexion = needed(section, "flexion");
  const Number way = number(flexion, "1");
  if (way.index >= 0 || (way.constant != 1.0 && way.constant != -1.0))
    fail(flexion.line, "flexion = " + shown(flexion.value) + "; allowed: +1, -1");
  model_.structure.knees.push_back({coordinate(needed(section, "coordinate")), way.constant > 0.0 ? 1 : -1});
}

// Reads lines such as "cup, cone = yes" and "others = no".
void ModelReader::read_contacts(const Section& section) {
  for (const Entry& entry : section.entries) {
    if (entry.value != "yes" && entry.value != "no")
      fail(entry.line, shown(entry.key) + " = " + shown(entry.value) + "; allowed: yes, no");
    if (entry.key == "others") {
      model_.others_touch = entry.value == "yes";
      continue;
    }
    const auto names = split_list(entry.key);
    if (names.size() != 2)
      fail(entry.line, "'" + shown(entry.key) + "' is not understood; allowed: LINK, LINK; others");
    const int one = link({"contact", names[0], "", entry.line}), other = link({"contact", names[1], "", entry.line});
    if (one == other) fail(entry.line, "a link does not touch itself; name two links");
    for (const auto& earlier : model_.contacts)
      if (std::minmax(earlier.one, earlier.other) == std::minmax(one, other))
        fail(entry.line, "'" + shown(entry.key) + "' is given twice; remove one of them");
    if (entry.value == "yes" && model_.structure.carrier(one) == model_.structure.carrier(other))
      fail(entry.line, "'" + shown(entry.key) + "' never touch, because both are fixed to " +
                           (model_.structure.carrier(one) < 0 ? "the ground" : "one link") + "; remove this line");
    model_.contacts.push_back({one, other, entry.value == "yes"});
  }
}

// ---- hybrid models: gaps, stops and resets

// Reads yes, no, or an expression that counts as yes if it is not zero.
Number ModelReader::yes_or_no(const Section& section, const char* key) {
  const Entry* entry = section.find(key);
  if (!entry || entry->value == "no") return 0.0;
  return entry->value == "yes" ? Number(1.0) : number(*entry, "");
}

std::pair<int, bool> ModelReader::coordinate_or_rate(const Entry& entry) const {
  const bool rate = entry.key.starts_with("rate(") && entry.key.ends_with(")");
  const std::string name = rate ? entry.key.substr(5, entry.key.size() - 6) : entry.key;
  const auto& names = model_.structure.coordinate_names;
  const auto at = std::ranges::find(names, name);
  if (at == names.end())
    fail(entry.line, "'" + shown(entry.key) + "' is unknown" + did_you_mean(name, names) +
                         "; allowed: COORDINATE, rate(COORDINATE); coordinates: " + listed(names));
  return {static_cast<int>(at - names.begin()), rate};
}

void ModelReader::read_gap_contact(const Section& section) {
  const std::vector<std::string> keys = {"gap", "slip", "restitution", "friction", "latch"};
  for (const Entry& entry : section.entries)
    if (std::ranges::find(keys, entry.key) == keys.end())
      fail(entry.line, "unknown key '" + shown(entry.key) + "' in " + section.title() + did_you_mean(entry.key, keys) +
                           "; allowed: " + listed(keys));
  const Entry& gap = needed(section, "gap");
  GapContact contact;
  contact.name = section.name;
  contact.line = section.line;
  contact.gap = formula(gap.value, gap.line, true, gap.key, "");
  if (const Entry* slip = section.find("slip")) contact.slip = formula(slip->value, slip->line, true, slip->key, "");
  contact.restitution = restitution(section);
  contact.friction = at_least_zero(section, "friction", 0.0, "1");
  contact.latch = yes_or_no(section, "latch");
  if (section.find("friction") && !contact.slip)
    fail(section.find("friction")->line,
         section.title() + " has friction but no slip; add slip = position along the surface");
  if (contact.slip && !section.find("friction"))
    fail(section.find("slip")->line,
         section.title() + " has slip but no friction; add friction = coefficient, or remove slip");
  pieces_.contacts.push_back(std::move(contact));
}

void ModelReader::read_stop(const Section& section) {
  const Entry& of = needed(section, "coordinate");
  coordinate(of);
  if (!section.find("from") && !section.find("to"))
    fail(section.line, section.title() + " has no end; add from, to, or both");
  if (const Entry* from = section.find("from"), *to = section.find("to"); from && to) {
    const std::string width = "(" + to->value + ") - (" + from->value + ")";
    model_.bounds.push_back({number(width, to->line, "to", ""), "to - from", width, "0 or more", to->line});
  }
  for (const char* end : {"from", "to"}) {
    const Entry* entry = section.find(end);
    if (!entry) continue;
    GapContact contact;
    contact.name = section.name + (section.find("from") && section.find("to") ? std::string("_") + end : "");
    contact.line = section.line;
    contact.gap = formula(
        std::string(end) == "from" ? of.value + " - (" + entry->value + ")" : "(" + entry->value + ") - " + of.value,
        entry->line, true, end, "");
    contact.restitution = restitution(section);
    contact.latch = yes_or_no(section, "latch");
    pieces_.contacts.push_back(std::move(contact));
  }
}

// Reads guard = ..., COORDINATE = ..., rate(COORDINATE) = ...
void ModelReader::read_reset(const Section& section) {
  const Entry& when = needed(section, "guard");
  Reset exchange{section.name, formula(when.value, when.line, false, when.key, ""), {}, {}};
  for (const Entry& entry : section.entries) {
    if (entry.key == "guard") continue;
    const auto [at, rate] = coordinate_or_rate(entry);
    (rate ? exchange.rates : exchange.coordinates)
        .emplace_back(at, formula(entry.value, entry.line, false, entry.key, rate ? rate_unit(at) : position_unit(at)));
  }
  if (exchange.coordinates.empty() && exchange.rates.empty())
    fail(section.line, section.title() + " changes nothing; add COORDINATE = ..., or rate(COORDINATE) = ...");
  pieces_.resets.push_back(std::move(exchange));
}

}  // namespace dodyn::systems
