// Reads [contact]: scheduled contacts, which split a phase into pieces.
#include <algorithm>
#include <cmath>
#include <limits>

#include "evaluators/motion/read_motion.hpp"
#include "record/text.hpp"

namespace dodyn::evaluators {

namespace {

// Reads the value of `touch`: "POINT or SHAPE, SHAPE SIDE", or "edges SHAPE, SHAPE".
void read_touch(const systems::Model& model, const CustomEntry& where, MotionContact& contact) {
  std::vector<std::string> names;
  auto parts = split_list(where.value);
  if (!parts.empty() && parts[0].starts_with("edges ")) {
    contact.edges = true;
    parts[0] = parts[0].substr(parts[0].find_first_not_of(' ', 6));
    if (model.dimension == 2) throw where.error("edges need a model in space; in the plane write touch = SHAPE, SHAPE");
  }
  if (parts.size() != 2)
    throw where.error(
        "expected two, separated by a comma: POINT, SHAPE or POINT, SHAPE +x (-x, +y, -y, +z, -z); SHAPE, SHAPE (a "
        "corner of the first); or edges SHAPE, SHAPE");
  const auto& points = model.structure.named_points;
  for (const auto& p : points) names.push_back(p.name);
  for (const auto& p : model.shapes) names.push_back(p.name);
  const auto point = std::ranges::find(names, parts[0]);
  if (point == names.end())
    throw where.error("there is no [point " + parts[0] + "] or [shape " + parts[0] + "]" +
                      did_you_mean(parts[0], names));
  const int index = point - names.begin(), count = points.size();
  (index < count ? contact.point : contact.part) = index < count ? index : index - count;
  std::string shape = parts[1], side;
  if (const auto blank = shape.find(' '); blank != std::string::npos) {
    side = shape.substr(shape.find_first_not_of(' ', blank));
    shape.resize(blank);
  }
  names.clear();
  for (const auto& s : model.shapes) names.push_back(s.name);
  const auto at = std::ranges::find(names, shape);
  if (at == names.end()) throw where.error("there is no [shape " + shape + "]" + did_you_mean(shape, names));
  contact.shape = at - names.begin();
  const auto& of = model.shapes[contact.shape];
  if (contact.edges) {
    if (contact.part < 0 || !side.empty()) throw where.error("expected edges SHAPE, SHAPE, without a side");
  } else if (side.empty()) {
    if (!of.outward)
      throw where.error("shape '" + shape + "' has no outward direction; name its side: " + shape +
                        " +x (-x, +y, ...), along the axes of its link");
  } else {
    const auto axis = side.size() == 2 ? std::string("xyz").find(side[1]) : std::string::npos;
    if (axis >= static_cast<std::size_t>(model.dimension) || (side[0] != '+' && side[0] != '-'))
      throw where.error("'" + side + "' is not a side; allowed: +x, -x, +y, -y" +
                        (model.dimension == 3 ? ", +z, -z" : ""));
    contact.side = std::array<double, 3>{};
    (*contact.side)[axis] = side[0] == '+' ? 1.0 : -1.0;
  }
  if ((contact.point >= 0 ? points[contact.point].place.link : model.shapes[contact.part].link) == of.link)
    throw where.error("both belong to the same link; choose shapes or points of two links");
}

// Reads the value of `law`: clauses separated by commas.
void read_law(const PhasedMotion& motion, const CustomEntry& law, MotionContact& contact) {
  bool bounces = false;
  const auto number = [&](const std::string& clause, std::size_t from, double most) {
    Expression e = parameter_expression(motion, law, clause.substr(from));
    if (e.is_constant() && !(e.constant() >= 0.0 && e.constant() <= most))
      throw law.error("'" + clause + "': allowed: restitution from 0 to 1, friction of 0 or more");
    return e;
  };
  for (const std::string& clause : split_list(law.value)) {
    const std::string what = clause.substr(0, clause.find(' '));
    const bool again = what == "restitution" ? bounces : what == "friction" && contact.friction.has_value();
    if (again) throw law.error("'" + clause + "' gives the " + what + " again; remove one of them");
    if (clause.starts_with("restitution "))
      bounces = true, contact.restitution = number(clause, 12, 1.0);
    else if (clause == "stick")
      contact.sticks = true;
    else if (clause == "slide")
      contact.slides = true;
    else if (clause == "stay")
      contact.sticks = contact.stays = true;
    else if (clause.starts_with("friction "))
      contact.friction = number(clause, 9, std::numeric_limits<double>::infinity());
    else
      throw law.error(
          "'" + clause +
          "' is not understood; allowed: restitution E, stick, slide, stay, friction MU, separated by commas");
  }
  if (contact.slides && contact.sticks)
    throw law.error("slide cannot be combined with stick or stay; remove one of them");
  if (contact.friction && !contact.sticks && !contact.slides)
    throw law.error("friction needs stick or slide; add one of them");
  if (contact.stays && contact.edges)
    throw law.error("edges cannot stay on each other; allowed: restitution E, stick or slide");
  if (contact.slides && !contact.friction) throw law.error("slide needs a coefficient of friction; add friction MU");
  if (contact.stays && !bounces) contact.restitution = 0.0;
  if (contact.stays && contact.restitution.is_constant() && contact.restitution.constant() != 0.0)
    throw law.error("a contact that stays has no restitution; remove restitution, or write restitution 0");
}

}  // namespace

std::vector<Cut> cuts_of(const PhasedMotion& motion, const CustomSection& phase, int intervals) {
  const auto phases = motion.settings.sections_of("phase");
  std::vector<Cut> all;
  for (const CustomSection* section : motion.settings.sections_of("contact")) {
    const CustomEntry *in = section->find("phase"), *at = section->find("node"), *release = section->find("release");
    if (!in && phases.size() > 1) throw section->error("there are several phases; add phase = PHASE");
    if (in) {
      std::vector<std::string> names;
      for (const CustomSection* p : phases) names.push_back(p->name);
      if (std::ranges::find(names, in->value) == names.end())
        throw in->error("there is no [phase " + in->value + "]" + did_you_mean(in->value, names));
      if (in->value != phase.name) continue;
    }
    const auto read = [&](const CustomEntry& entry, int first) {
      const Expression e = parameter_expression(motion, entry, entry.value);
      const double node = e.is_constant() ? e.constant() : 0.0;
      if (node != std::round(node) || node < first || node > intervals - 1)
        throw entry.error(formatted("is not a node inside [phase %s]; allowed: an integer in [%d, %d]",
                                    phase.name.c_str(), first, intervals - 1));
      return static_cast<int>(node);
    };
    all.push_back({read(*at, 1), section, false});
    if (release) all.push_back({read(*release, all.back().node + 1), section, true});
  }
  std::ranges::stable_sort(all, [](const Cut& a, const Cut& b) { return a.node < b.node; });
  for (std::size_t i = 1; i < all.size(); ++i)
    if (all[i].node == all[i - 1].node)
      throw all[i].contact->error(formatted("is at node %d, as [contact %s] is; choose another node", all[i].node,
                                            all[i - 1].contact->name.c_str()));
  return all;
}

void read_contact(PhasedMotion& motion, const CustomSection& section, int phase) {
  MotionContact contact;
  contact.name = section.name;
  contact.phase = phase;
  if (!motion.contacts.empty() && motion.contacts.back().stays && motion.contacts.back().phase + 1 == phase)
    throw section.error("[contact " + motion.contacts.back().name +
                        "] is still closed; set its release = NODE before this contact");
  read_touch(motion.system->model(), *section.find("touch"), contact);
  if (const CustomEntry* law = section.find("law")) read_law(motion, *law, contact);
  if (section.find("release") && !contact.stays)
    throw section.find("release")->error("has no effect without stay; write law = stay, or remove it");
  motion.contacts.push_back(std::move(contact));
}

}  // namespace dodyn::evaluators
