#include "systems/model_reader.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <set>
#include <sstream>

#include "record/text.hpp"
#include "systems/repetition.hpp"
#include "systems/sections.hpp"

namespace dodyn::systems {
namespace {

constexpr std::size_t most_parameters = 10000, most_sections = 2000, most_coordinates = 5000;

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> all;
  for (std::string word; stream >> word;) all.push_back(word);
  return all;
}

bool is_name(const std::string& text) {
  return std::isalpha(static_cast<unsigned char>(text[0])) &&
         std::ranges::all_of(text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; });
}

}  // namespace

ModelReader::ModelReader(std::string_view text, const std::string& origin) : text_(ini::parse(text, origin)) {
  std::vector<ini::SectionKind> kinds;
  for (const ModelSection& row : model_sections())
    if (kinds.empty() || kinds.back().kind != row.kind.kind) kinds.push_back(row.kind);
  ini::check(text_, kinds);
  model_.origin = origin;
}

Model ModelReader::model(const std::map<std::string, double>& given) {
  if (text_.sections.size() > most_sections)
    fail(0, std::to_string(text_.sections.size()) + " sections; allowed: " + std::to_string(most_sections));
  read_parameters();
  repeat(given);
  read_model();
  each("surface", [&](const Section& s) {
    model_.surfaces.push_back({s.name, restitution(s), at_least_zero(s, "friction", 0.0, "1")});
  });
  each("link", [&](const Section& s) { read_link(s); });
  auto& tree = model_.structure;
  if (tree.links.empty()) fail(0, "a model needs at least one [link NAME]");
  int surface = 0;
  each("surface", [&](const Section& s) {
    const auto& used = model_.link_surfaces;
    if (std::ranges::find(used, surface++) == used.end())
      fail(s.line, "no link has " + s.title() + "; " +
                       (s.name.empty() ? "leave it out: each link names another one"
                                       : "give it to a link: surface = " + s.name));
  });
  read_names();
  read_followers();
  each("point", [&](const Section& s) { tree.named_points.push_back({s.name, place_of(s)}); });
  each("mass", [&](const Section& s) { read_mass(s); });
  each("mass", [&](const Section& s) { check_counterpart(s); });
  each("shape", [&](const Section& s) { read_shape(s); });
  each("spring", [&](const Section& s) { read_spring(s); });
  each("charge", [&](const Section& s) {
    tree.charges.push_back({s.name, place_of(s), number(needed(s, "value"), "")});
    if (!tree.charges.back().value.is_zero() && !single("model").find("charge-constant"))
      fail(s.line, s.title() + " exerts no force; add charge-constant to [model]");
  });
  check_charges();
  each("drag", [&](const Section& s) {
    if (!s.find("linear") && !s.find("angular"))
      fail(s.line, s.title() + " exerts no force; give linear, angular or both");
    tree.drags.push_back({s.name, link(needed(s, "link")), at_least_zero(s, "linear", 0.0, "N s/m"),
                          at_least_zero(s, "angular", 0.0, "N m s")});
  });
  each("actuator", [&](const Section& s) { read_actuator(s); });
  each("potential", [&](const Section& s) {
    const Entry& energy = needed(s, "energy");
    tree.potentials.push_back({s.name, formula(energy.value, energy.line, true, energy.key, "J")});
  });
  each("rotor", [&](const Section& s) { read_rotor(s); });
  each("force", [&](const Section& s) { read_load(s); });
  each("joint-limit", [&](const Section& s) { read_joint_limit(s); });
  each("knee", [&](const Section& s) { read_knee(s); });
  each("contact", [&](const Section& s) { s.name.empty() ? read_contacts(s) : read_gap_contact(s); });
  each("stop", [&](const Section& s) { read_stop(s); });
  each("constraint", [&](const Section& s) {
    const Entry& zero = needed(s, "zero");
    pieces_.constraints.push_back({s.name, formula(zero.value, zero.line, true, zero.key, "")});
    const auto& arguments = pieces_.constraints.back().zero.arguments;
    if (std::ranges::all_of(arguments, [](const auto& one) { return one.variable.kind == Variable::parameter; }))
      fail(zero.line, "zero = " + shown(zero.value) + " holds no coordinate; allowed: an expression of coordinates");
  });
  each("reset", [&](const Section& s) { read_reset(s); });
  each("initial-state", [&](const Section& s) {
    for (const Entry& entry : s.entries) {
      const auto [at, rate] = coordinate_or_rate(entry);
      pieces_.start.push_back({at, rate, number(entry, rate ? rate_unit(at) : position_unit(at))});
    }
  });
  each("require", [&](const Section& s) {
    for (const Entry& entry : s.entries) {
      model_.requirements.push_back({entry.key, definition(entry.value, entry.line, true)});
      measure(model_.requirements.back().condition);
    }
  });
  complete();
  find_parameter_units();
  for (const Section& section : text_.sections) model_.sections.push_back({section.kind, section.name, section.line});
  return std::move(model_);
}

void ModelReader::find_parameter_units() {
  for (std::size_t i = 0; i < model_.parameters.size(); ++i)
    if (std::string& unit = model_.parameters[i].unit; unit == "1") {
      const Measure found = dimensions_.resolved(parameter_measures_[i]);
      if (!found.any && found.unknowns.empty()) unit = found.angle ? "rad" : si_unit(found.exponents);
    }
}

// Expands [link box_i] with `count = 5` to five links, box_1 to box_5 (repetition.hpp).
void ModelReader::repeat(const std::map<std::string, double>& given) {
  std::vector<RepeatedLink> families;
  // returns the value of a parameter on which a count depends; it must be the given one
  const std::function<double(const Definition&)> settled = [&](const Definition& d) {
    std::vector<double> arguments;
    for (const int used : d.uses) {
      Parameter& p = model_.parameters[used];
      p.counts = true;
      if (const auto at = given.find(p.name); at != given.end())
        p.definition = {Expression::parse(to_text(at->second)), {}, to_text(at->second), p.definition.line};
      arguments.push_back(settled(p.definition));
    }
    return d.expression.evaluate<double>(arguments);
  };
  for (const Section& section : text_.sections) {
    const Entry* entry = section.kind == "link" ? section.find("count") : nullptr;
    if (!entry) continue;
    if (section.name.size() < 3 || !section.name.ends_with("_i"))
      fail(section.line, section.title() + " has a count, so its name must end in _i, such as [link box_i]");
    const Definition count = definition(entry->value, entry->line);
    const double number = settled(count);
    if (!(number >= 1.0 && number <= 5000.0) || number != std::floor(number))
      fail(entry->line,
           "count = " + shown(entry->value) + " is " + to_text(number) + "; allowed: a whole number from 1 to 5000");
    families.push_back({section.name, static_cast<int>(number)});
    if (!count.uses.empty())
      model_.requirements.push_back(
          {"count of " + section.name, definition(entry->value + " == " + to_text(number), entry->line, true)});
  }
  if (families.empty()) return;
  if (parameters_.contains("i"))
    fail(0, "a parameter is called i, which is the number of a repeated link; rename the parameter");
  text_.sections = repeated(text_, families, counted_);
}

// ---- numbers

Expression ModelReader::expression(const std::string& text, int line) const {
  try {
    return Expression::parse(text);
  } catch (const ExpressionError& error) {
    fail(line, error.what());
  }
}

Definition ModelReader::definition(const std::string& text, int line, bool condition) const {
  Definition d{expression(text, line), {}, text, line};
  if (d.expression.is_condition() != condition)
    fail(line, "'" + shown(text) +
                   (condition ? "' is not a condition; allowed: comparisons, and, or, not"
                              : "' is a condition; allowed: a number"));
  for (const auto& quantity : d.expression.quantities()) {
    const auto at = parameters_.find(quantity.text());
    if (at == parameters_.end()) {
      const auto known = names_of(model_.parameters);
      fail(line, "unknown parameter '" + shown(quantity.text()) + "'" + did_you_mean(quantity.text(), known) +
                     "; known here: " + (known.empty() ? "none" : listed(known)));
    }
    d.uses.push_back(at->second);
  }
  return d;
}

Measure ModelReader::measure(const Definition& definition) {
  std::vector<Measure> used;
  for (const int parameter : definition.uses) used.push_back(parameter_measures_[parameter]);
  try {
    return definition.expression.measure(dimensions_, used);
  } catch (const ExpressionError& error) {
    fail(definition.line, error.what());
  }
}

void ModelReader::require(const Measure& measure, std::string_view unit, const std::string& key,
                          const std::string& text, int line) {
  if (unit.empty()) return;
  const Unit wanted = parse_unit(unit).value();
  const Measure found = dimensions_.resolved(measure);
  const bool angle_for_number = found.angle && wanted.is_pure() && wanted.angle == 0;
  if (angle_for_number || !dimensions_.agree(found, Measure::of(wanted)))
    fail(line, key + " = " + shown(text) + " is " + dimensions_.described(found) + "; expected " +
                   described(wanted, unit) +
                   (text.find_first_of("*/") == text.npos ? "" : " (a factor without a unit is a pure number)"));
}

Number ModelReader::number(const std::string& text, int line, const std::string& key, std::string_view unit) {
  Definition d = definition(text, line);
  require(measure(d), unit, key, text, line);
  Number x;
  if (d.expression.is_constant()) {
    x.constant = d.expression.constant();
    if (!std::isfinite(x.constant)) fail(line, "'" + shown(text) + "' is not a finite number");
    return x;
  }
  std::string bare;  // the text without blanks
  for (const char c : text)
    if (c != ' ' && c != '\t') bare += c;
  const auto [at, is_new] = numbers_.emplace(std::move(bare), static_cast<int>(model_.definitions.size()));
  x.index = at->second;
  if (is_new) model_.definitions.push_back(std::move(d));
  return x;
}

Number ModelReader::number_or(const Section& section, const char* key, double otherwise, std::string_view unit) {
  const Entry* entry = section.find(key);
  return entry ? number(*entry, unit) : Number(otherwise);
}

namespace {

std::string allowed_sign(const char* sign, const char* unit) {
  return sign + (unit == std::string_view("1") ? ", a ratio" : std::string(", ") + unit);
}

}  // namespace

Number ModelReader::at_least_zero(const Section& section, const char* key, double otherwise, const char* unit) {
  const Entry* entry = section.find(key);
  if (!entry) return otherwise;
  const Number x = number(*entry, unit);
  model_.bounds.push_back({x, key, entry->value, allowed_sign("0 or more", unit), entry->line});
  return x;
}

Number ModelReader::restitution(const Section& section) {
  const Entry* entry = section.find("restitution");
  if (!entry) return 1.0;
  const Number x = number(*entry, "1");
  model_.bounds.push_back({x, entry->key, entry->value, "0 to 1", entry->line, false, 1.0});
  return x;
}

std::optional<Number> ModelReader::positive(const Section& section, const char* key, const char* unit) {
  const Entry* entry = section.find(key);
  if (!entry) return std::nullopt;
  const Number x = number(*entry, unit);
  model_.bounds.push_back({x, key, entry->value, allowed_sign("more than 0", unit), entry->line, true});
  return x;
}

ModelReader::Vector ModelReader::vector(const std::string& text, int line, const std::string& key,
                                        std::string_view unit) {
  const auto parts = split_list(text);
  if (std::ssize(parts) != model_.dimension)
    fail(line, key + " = " + shown(text) + "; allowed: " + std::to_string(model_.dimension) +
                   " numbers, separated by commas");
  Vector x;
  for (std::size_t i = 0; i < parts.size(); ++i) x[i] = number(parts[i], line, key, unit);
  return x;
}

ModelReader::Vector ModelReader::vector_or_zero(const Section& section, const char* key, std::string_view unit) {
  const Entry* entry = section.find(key);
  return entry ? vector(entry->value, entry->line, key, unit) : Vector{};
}

ModelReader::Vector ModelReader::axial(const Entry& entry, std::string_view unit) {
  if (model_.dimension == 3) return vector(entry.value, entry.line, entry.key, unit);
  if (split_list(entry.value).size() != 1)
    fail(entry.line, entry.key + " = " + shown(entry.value) + "; allowed: 1 number");
  Vector x;
  x[2] = number(entry, unit);
  return x;
}

int ModelReader::count(const Entry& entry, int least, int most) {
  const Number x = number(entry, "1");
  if (x.index >= 0 || x.constant != std::floor(x.constant) || x.constant < least || x.constant > most)
    fail(entry.line, entry.key + " = " + shown(entry.value) + "; allowed: a whole number from " +
                         std::to_string(least) + " to " + std::to_string(most) + ", without parameters");
  return static_cast<int>(x.constant);
}

// ---- names

int ModelReader::link(const Entry& entry) const {
  return named(entry, model_.structure.links, "link",
               entry.key != "parent"            ? ""
               : model_.structure.links.empty() ? "ground"
                                                : "ground, ");
}

int ModelReader::coordinate(const Entry& entry) const {
  const auto& names = model_.structure.coordinate_names;
  const auto at = std::ranges::find(names, entry.value);
  if (at == names.end())
    fail(entry.line, entry.key + " = " + shown(entry.value) + " is unknown" + did_you_mean(entry.value, names) +
                         "; allowed: " + listed(names));
  return static_cast<int>(at - names.begin());
}

Place<Number> ModelReader::place(const Entry& entry) {
  const auto colon = entry.value.find(':');
  if (colon == std::string::npos)
    return model_.structure
        .named_points[named(entry, model_.structure.named_points, "point",
                            "LINK : numbers, ground : numbers, or a [point] of ")]
        .place;
  Entry of{entry.key, entry.value.substr(0, entry.value.find_last_not_of(" \t", colon - 1) + 1), "", entry.line};
  if (colon == 0) of.value.clear();
  Place<Number> p;
  p.link = of.value == "ground" ? -1 : link(of);
  p.at = vector(entry.value.substr(colon + 1), entry.line, entry.key, "m");
  return p;
}

Place<Number> ModelReader::place_of(const Section& section) {
  const Entry& entry = needed(section, "link");
  Place<Number> p;
  p.link = entry.value == "ground" ? -1 : link(entry);
  p.at = vector_or_zero(section, "at", "m");
  return p;
}

// ---- sections

const ini::Entry& ModelReader::needed(const Section& section, const char* key) const {
  if (const Entry* entry = section.find(key)) return *entry;
  fail(section.line, section.title() + " has no " + key);
}

const ini::Section& ModelReader::single(const char* kind) const {
  for (const Section& section : text_.sections)
    if (section.kind == kind) return section;
  fail(0, std::string("no [") + kind + "] section");
}

template <class F>
void ModelReader::each(const char* kind, F f) {
  for (const Section& section : text_.sections)
    if (section.kind == kind) f(section);
}

void ModelReader::read_parameters() {
  each("parameters", [&](const Section& section) {
    if (section.entries.size() > most_parameters)
      fail(section.line,
           std::to_string(section.entries.size()) + " parameters; allowed: " + std::to_string(most_parameters));
    for (const Entry& entry : section.entries) {
      if (!is_name(entry.key) || entry.key == "pi" || entry.key == "t")
        fail(entry.line, "'" + shown(entry.key) +
                             "' is not a name; allowed: letters, digits and _, a letter first, and neither pi nor t, "
                             "which is the time");
      model_.parameters.push_back(
          {entry.key, definition(entry.value, entry.line), entry.comment, stated_unit(entry.value, entry.comment)});
      const auto stated = unit_of_comment(entry.comment);
      if (const std::string_view other = unit_not_si(entry.comment); !other.empty() && unit_behind(entry.value).empty())
        fail(entry.line, entry.key + " = " + shown(entry.value) + ": the comment begins with the unit " +
                             std::string(other) + ", but a number without a unit is in SI; write " +
                             shown(entry.value) + " " + std::string(other));
      Measure found = measure(model_.parameters.back().definition);
      if (!found.any && stated)
        require(found, si_unit(stated->dimension), entry.key, entry.value, entry.line);
      else if (found.any)
        found = stated ? Measure::of(*stated) : dimensions_.unknown(entry.key);
      parameter_measures_.push_back(std::move(found));
      parameters_.emplace(entry.key, static_cast<int>(model_.parameters.size()) - 1);
    }
  });
}

void ModelReader::read_model() {
  const Section& section = single("model");
  auto& tree = model_.structure;
  const Entry& dimension = needed(section, "dimension");
  if (dimension.value != "2" && dimension.value != "3")
    fail(dimension.line, "dimension = " + shown(dimension.value) + "; allowed: 2, 3");
  model_.dimension = tree.dimension = dimension.value == "2" ? 2 : 3;
  if (const Entry* name = section.find("name")) model_.name = tree.name = name->value;
  if (const Entry* gravity = section.find("gravity")) {
    model_.gravity_given = true;
    if (split_list(gravity->value).size() == 1) {
      tree.gravity = number(*gravity, "m/s2");
      model_.bounds.push_back({tree.gravity, "gravity", gravity->value,
                               "0 or more, m/s2, downwards; or the vector of the acceleration", gravity->line});
    } else {  // a vector: the component downwards is `gravity`
      const auto parts = split_list(gravity->value);
      tree.lateral_gravity = vector(gravity->value, gravity->line, "gravity", "m/s2");
      tree.lateral_gravity[model_.dimension - 1] = 0.0;
      tree.gravity = number("-(" + parts.back() + ")", gravity->line, "gravity", "m/s2");
      tree.has_lateral_gravity = true;
    }
  }
  tree.charge_constant = number_or(section, "charge-constant", 0.0, "");
}

void ModelReader::check_charges() {
  const Entry* constant = single("model").find("charge-constant");
  const auto measure_of = [&](const Entry& entry) { return measure(definition(entry.value, entry.line)); };
  Measure charge = Measure::anything();
  each("charge", [&](const Section& s) {
    const Entry& value = needed(s, "value");
    const Measure one = measure_of(value);
    if (!dimensions_.agree(charge, one))
      fail(value.line, "value = " + shown(value.value) + " is " + dimensions_.described(one) +
                           "; the charges before are " + dimensions_.described(charge) + "; give all of them one unit");
    if (charge.any) charge = one;
  });
  if (!constant) return;
  if (model_.structure.charges.empty())
    fail(constant->line, "charge-constant has no effect without charges; add a [charge NAME], or remove it");
  const Measure energy_metre = Measure::of(parse_unit("N m2").value());
  const Measure given = measure_of(*constant);
  if (!dimensions_.agree(given, energy_metre.times(charge, -2.0)))
    fail(constant->line, "charge-constant = " + shown(constant->value) + " is " + dimensions_.described(given) +
                             "; the charges are " + dimensions_.described(charge) +
                             "; expected N m2 divided by the square of their unit");
}

// Returns a unit vector from three numbers of any norm.
ModelReader::Vector ModelReader::direction(const std::string& text, const Entry& entry) {
  const auto parts = split_list(text);
  if (parts.size() != 3)
    fail(entry.line, entry.key + " = " + shown(entry.value) + "; allowed as an axis: x, y, z or three numbers");
  const Vector along = vector(text, entry.line, entry.key, "");
  if (std::ranges::all_of(along, [](const Number& x) { return x.is_zero(); }))
    fail(entry.line, entry.key + " = " + shown(entry.value) + " has the axis 0, 0, 0; allowed: a direction");
  std::string square;
  for (const auto& part : parts) square += (square.empty() ? "(" : " + (") + part + ")^2";
  Vector unit;
  for (std::size_t i = 0; i < 3; ++i)
    unit[i] =
        along[i].is_zero() ? Number(0.0) : number("(" + parts[i] + ")/sqrt(" + square + ")", entry.line, entry.key, "");
  return unit;
}

std::vector<Move> ModelReader::moves(const Entry& entry, std::vector<Vector>& axes_of_link) {
  const bool plane = model_.dimension == 2;
  const auto axis = [&](char letter) { return letter >= 'X' ? letter - 'X' : -1; };
  std::vector<Move> all;
  const auto point = [&] {
    for (int i = 0; i < model_.dimension; ++i) all.push_back({Move::slide, i});
  };
  const auto complain = [&]() {
    fail(entry.line, "joint = " + shown(entry.value) + " is not understood; allowed, joined by +: fixed, point, " +
                         (plane ? "revolute, prismatic x|y, planar"
                                : "revolute x|y|z, prismatic x|y|z (or along an axis of three numbers), spherical ZXY "
                                  "(any order of axes), spatial ZXY"));
  };
  for (const std::string& part : split_list(entry.value, '+')) {
    const auto joint = words(part);
    if (!plane && !joint.empty() && (joint[0] == "revolute" || joint[0] == "prismatic") &&
        part.find(',') != part.npos) {
      all.push_back({joint[0] == "revolute" ? Move::turn : Move::slide, 3 + static_cast<int>(axes_of_link.size())});
      axes_of_link.push_back(direction(part.substr(joint[0].size()), entry));
      continue;
    }
    if (joint.empty() || joint.size() > 2) complain();
    std::string axes = joint.size() == 2 ? joint[1] : "";
    for (char& c : axes) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    for (const char c : axes)
      if (axis(c) < 0 || axis(c) > 2) complain();
    const bool three = axes.size() == 3 && axes[0] != axes[1] && axes[1] != axes[2];
    const std::string& kind = joint[0];
    if (kind == "fixed" && axes.empty()) continue;
    if (kind == "point" && axes.empty()) {
      point();
    } else if (kind == "revolute" && plane && (axes.empty() || axes == "Z")) {
      all.push_back({Move::turn, 2});
    } else if (kind == "revolute" && !plane && axes.size() == 1) {
      all.push_back({Move::turn, axis(axes[0])});
    } else if (kind == "prismatic" && axes.size() == 1 && axis(axes[0]) < model_.dimension) {
      all.push_back({Move::slide, axis(axes[0])});
    } else if (kind == "planar" && plane && axes.empty()) {
      point();
      all.push_back({Move::turn, 2});
    } else if ((kind == "spherical" || kind == "spatial") && !plane && three) {
      if (kind == "spatial") point();
      for (const char c : axes) all.push_back({Move::turn, axis(c)});
    } else {
      complain();
    }
  }
  return all;
}

void ModelReader::read_link(const Section& section) {
  auto& tree = model_.structure;
  Link<Number> l;
  l.name = section.name;
  if (l.name == "ground") fail(section.line, "'ground' is reserved for the fixed world; choose another link name");
  const Entry& parent = needed(section, "parent");
  l.parent = parent.value == "ground" ? -1 : link(parent);
  const Entry& joint = needed(section, "joint");
  l.moves = moves(joint, l.axes);
  l.first = coordinates_;
  if (const Entry* follows = section.find("follows")) {  // its formula is read when all coordinates are known
    if (l.moves.size() != 1)
      fail(joint.line,
           "joint = " + shown(joint.value) + " cannot be combined with follows; allowed: revolute, prismatic");
    if (section.find("coordinates"))
      fail(follows->line,
           "[link " + l.name + "] follows other coordinates, so it has none of its own; remove follows or coordinates");
    l.follower = Link<Number>::Follower{l.moves.front(), {}};
    l.moves.clear();
  }
  coordinates_ += static_cast<int>(l.moves.size());
  if (coordinates_ > static_cast<int>(most_coordinates))
    fail(section.line, "more than " + std::to_string(most_coordinates) + " coordinates");
  if (section.find("at"))
    l.at = vector_or_zero(section, "at", "m");
  else if (l.parent >= 0)
    l.at = tree.links[l.parent].end;
  l.end = vector_or_zero(section, "end", "m");
  l.mass = at_least_zero(section, "mass", 0.0, "kg");
  l.centre = vector_or_zero(section, "centre", "m");
  centre_given_.push_back(section.find("centre") != nullptr);
  if (const Entry* inertia = section.find("inertia")) {
    l.inertia = axial(*inertia, "kg m2");
    for (const Number& x : l.inertia)
      model_.bounds.push_back({x, "inertia", inertia->value, "0 or more, kg m2", inertia->line});
  }
  if (const Entry* products = section.find("products")) {
    if (model_.dimension == 2)
      fail(products->line, "products of inertia need dimension = 3; in the plane give inertia alone");
    const Vector off_diagonal = vector(products->value, products->line, "products", "kg m2");  // xy, xz, yz
    l.products = {off_diagonal[2], off_diagonal[1], off_diagonal[0]};
    l.skew = true;
  }
  auto& defaults = model_.link_defaults.emplace_back();
  if (!section.find("at") && l.parent >= 0) defaults.push_back("at the end of " + tree.links[l.parent].name);
  if (!section.find("centre") && section.find("end") && section.find("mass"))
    defaults.push_back("centre halfway to the end");
  int surface = -1;
  if (const Entry* entry = section.find("surface")) {
    surface = named(*entry, model_.surfaces, "surface");
  } else {
    for (std::size_t i = 0; i < model_.surfaces.size(); ++i)
      if (model_.surfaces[i].name.empty()) surface = i;
  }
  model_.link_surfaces.push_back(surface);
  model_.link_lines.push_back(section.line);
  tree.links.push_back(std::move(l));
}

// Reads names of coordinates and counterparts, which may be links further down.
void ModelReader::read_names() {
  auto& tree = model_.structure;
  const auto roots = std::ranges::count_if(tree.links, [](const auto& l) { return l.parent < 0 && !l.moves.empty(); });
  std::set<std::string> taken;
  std::size_t index = 0;
  each("link", [&](const Section& section) {
    Link<Number>& l = tree.links[index++];
    if (const Entry* counterpart = section.find("counterpart")) l.counterpart = link(*counterpart);
    std::vector<std::string> names;
    // Names of coordinates. Slides of a single root: x, y, z. A single move: the link's name; several: with the axis
    // letter too. Slides of several roots: LINK_x. Turns next to slides: LINK_turn_x, so that a name never means a
    // position in one model and a turn in another. A link with a count counts as one of several.
    const bool alone = roots == 1 && !counted_.contains(l.name);
    const auto is_place = [&](const Move& move) { return l.parent < 0 && move.kind == Move::slide; };
    const auto others = std::ranges::count_if(l.moves, [&](const Move& m) { return !is_place(m); });
    for (std::size_t i = 0; i < l.moves.size(); ++i) {
      const std::string letter =
          l.moves[i].is_oblique() ? "axis" + std::string(l.axes.size() > 1 ? std::to_string(l.moves[i].axis - 2) : "")
                                  : std::string(1, "xyz"[l.moves[i].axis]);
      const bool again = std::count(l.moves.begin(), l.moves.begin() + i, l.moves[i]) > 0;
      const bool beside_places = l.parent < 0 && others < static_cast<std::ptrdiff_t>(l.moves.size());
      if (is_place(l.moves[i]))
        names.push_back(alone ? letter : l.name + "_" + letter);
      else
        names.push_back(others == 1 ? l.name : l.name + (beside_places ? "_turn_" : "_") + letter + (again ? "2" : ""));
    }
    if (const Entry* given = section.find("coordinates")) {
      names = split_list(given->value);
      if (names.size() != l.moves.size())
        fail(given->line, "coordinates = " + shown(given->value) + "; allowed: " + counted(l.moves.size(), "name") +
                              (l.moves.size() > 1 ? ", separated by commas" : ""));
    }
    for (const auto& name : names) {
      if (name == "pi" || name == "t" || name == "and" || name == "or" || name == "not")
        fail(section.line, "coordinate '" + shown(name) + "' has the name of " +
                               (name == "pi"  ? "the number pi"
                                : name == "t" ? "the time"
                                              : "an operator") +
                               ", and expressions may have both; give coordinates = NAMES");
      if (parameters_.contains(name))
        fail(section.line, "coordinate '" + shown(name) +
                               "' has the name of a parameter, and expressions may have both; rename the parameter, or "
                               "name the link's coordinate" +
                               (names.size() == 1 ? ": coordinates = " + name + "_" +
                                                        (l.moves[0].kind == Move::slide ? "place" : "angle")
                                                  : "s: coordinates = NAMES"));
      if (!taken.insert(name).second)
        fail(section.line, "coordinate '" + shown(name) + "' is given twice; choose another name");
    }
    tree.coordinate_names.insert(tree.coordinate_names.end(), names.begin(), names.end());
  });
  if (const Entry* swing = single("model").find("swing-foot")) {
    tree.swing_link = link(*swing);
    model_.swing_line = swing->line;
  }
}

void ModelReader::read_followers() {
  std::size_t index = 0;
  each("link", [&](const Section& section) {
    auto& follower = model_.structure.links[index++].follower;
    if (!follower) return;
    const Entry& place = needed(section, "follows");
    follower->place =
        formula(place.value, place.line, true, place.key, follower->move.kind == Move::slide ? "m" : "rad");
    check_of_coordinates(follower->place, place);
  });
}

void ModelReader::check_of_coordinates(const Formula<Number>& formula, const Entry& entry) const {
  for (std::size_t i = 0; i < formula.arguments.size(); ++i) {
    const auto kind = formula.arguments[i].variable.kind;
    if (kind != Variable::coordinate && kind != Variable::parameter)
      fail(entry.line, "'" + shown(formula.expression.quantities()[i].text()) + "' is not a coordinate; allowed in " +
                           entry.key + ": coordinates and parameters");
  }
}

// Adds the numbers computed for links: default centres, and the mass properties of links with parts.
void ModelReader::complete() {
  int next = model_.definitions.size();
  const auto result = [&] {
    Number x;
    x.index = next++;
    return x;
  };
  auto& links = model_.structure.links;
  for (std::size_t i = 0; i < links.size(); ++i) {
    Link<Number>& l = links[i];
    const auto is_here = [&](const auto& part) { return part.link == static_cast<int>(i); };
    const bool composite =
        std::ranges::any_of(model_.masses, is_here) || std::ranges::any_of(model_.shapes, [&](const Shape& shape) {
          return is_here(shape) && (shape.density || shape.mass);
        });
    const bool halved = !centre_given_[i];
    if (halved && std::ranges::none_of(l.end, [](const Number& x) { return x.index >= 0; })) {
      for (int a = 0; a < 3; ++a) l.centre[a] = 0.5 * l.end[a].constant;
    } else if (halved) {
      model_.completions.push_back({static_cast<int>(i), false, {}, {}, {}, {}, next, model_.link_lines[i]});
      for (Number& x : l.centre) x = result();
    }
    if (!composite) continue;
    model_.completions.push_back(
        {static_cast<int>(i), true, l.mass, l.centre, l.inertia, l.products, next, model_.link_lines[i]});
    l.mass = result();
    for (Number& x : l.centre) x = result();
    for (Number& x : l.inertia) x = result();
    for (Number& x : l.products) x = result();
    l.skew = model_.dimension == 3;
  }
  model_.number_count = next;
}

namespace {

Model judged(Model model) {
  const auto values = model.evaluate<double>();
  if (model.structure.swing_link >= 0) check_walker(model, model.tree(values.numbers));
  return model;
}

}  // namespace

Model read_model(std::string_view text, const std::string& origin, bool judge) {
  Model model = ModelReader(text, origin).model();
  return judge ? judged(std::move(model)) : model;
}

Model read_model(std::string_view text, const std::string& origin, const std::map<std::string, double>& given) {
  return judged(ModelReader(text, origin).model(given));
}

HybridModel read_hybrid_model(std::string_view text, const std::string& origin) {
  ModelReader reader(text, origin);
  Model model = reader.model();
  return {std::move(model), reader.pieces()};
}
HybridModel read_hybrid_model(std::string_view text, const std::string& origin,
                              const std::map<std::string, double>& given) {
  ModelReader reader(text, origin);
  Model model = judged(reader.model(given));
  return {std::move(model), reader.pieces()};
}

}  // namespace dodyn::systems
