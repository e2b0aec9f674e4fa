#include "evaluators/motion/avoid.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "evaluators/motion/contacts.hpp"
#include "evaluators/motion/postures.hpp"
#include "evaluators/motion/read_motion.hpp"
#include "record/text.hpp"

namespace dodyn::evaluators {

namespace {

// Returns whether placements and given coordinates determine the pose of link `one` relative to link `other`. Then a
// chain connects both: each link is placed relative to the next one, or all coordinates of its joint are given.
bool placed(const PhasedMotion& motion, const MotionEnd& at, int one, int other) {
  const auto& links = motion.system->structure().links;
  // [links + 1] links of one group have known relative poses; last: the ground
  std::vector<int> group(links.size() + 1);
  std::iota(group.begin(), group.end(), 0);
  const auto of = [&](int link) { return group[link < 0 ? links.size() : static_cast<std::size_t>(link)]; };
  const auto join = [&](int a, int b) { std::replace(group.begin(), group.end(), of(a), of(b)); };
  for (std::size_t l = 0; l < links.size(); ++l) {
    const int first = links[l].first, end = first + std::ssize(links[l].moves);
    int known = 0;
    for (int c = first; c < end; ++c) known += at.gives(c);
    if (known == end - first) join(l, links[l].parent);
  }
  for (const Placement& p : at.placements) {
    bool whole = p.attitude;
    for (std::size_t i = 0; i < static_cast<std::size_t>(motion.system->structure().dimension); ++i)
      whole = whole && p.place[i] && p.place[i]->first == p.place[i]->second;
    if (whole) join(p.link, p.from);
  }
  return of(one) == of(other);
}

// Returns the pairs of shapes of the two links, as indices of the model's shapes.
std::vector<std::pair<int, int>> part_pairs(const PhasedMotion& motion, const AvoidedPair& clear) {
  const auto& shapes = motion.system->model().shapes;
  std::vector<std::pair<int, int>> all;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    for (std::size_t j = 0; j < shapes.size(); ++j)
      if (shapes[i].link == clear.one && shapes[j].link == clear.other)
        all.emplace_back(static_cast<int>(i), static_cast<int>(j));
  return all;
}

bool both_move(const PhasedMotion& motion, const MotionContact& contact) {
  const auto [one, other] = links_of(motion, contact);
  return !motion.system->coordinates_of(one).empty() && !motion.system->coordinates_of(other).empty();
}

}  // namespace

void read_avoided(PhasedMotion& motion) {
  const auto& links = motion.system->structure().links;
  const auto names = names_of(links);
  const auto link_of = [&](const CustomEntry& entry, const std::string& name) {
    const auto at = std::ranges::find(names, name);
    if (at == names.end()) throw entry.error("there is no link '" + name + "'" + did_you_mean(name, names));
    const int l = at - names.begin();
    if (motion.system->model().shapes_of(l).empty())
      throw entry.error("link '" + name + "' has no [shape]; add one to the model, or remove the pair");
    return l;
  };
  std::set<std::pair<int, int>> pairs;
  for (const CustomSection* section : motion.settings.sections_of("avoid")) {
    bool has_pair = false;
    for (const CustomEntry& entry : section->entries) {
      if (entry.key == "max-rotation") {
        motion.max_rotation = parameter_expression(motion, entry, entry.value);
        if (!motion.max_rotation.is_constant() || !(motion.max_rotation.constant() > 0.0) ||
            !(motion.max_rotation.constant() < 3.0))
          throw entry.error("allowed: an angle in (0, 3) rad");
        continue;
      }
      if (entry.key == "growth-steps") {
        const Expression e = parameter_expression(motion, entry, entry.value);
        const double steps = e.is_constant() ? e.constant() : -1.0;
        if (steps != std::round(steps) || steps < 0 || steps > 100)
          throw entry.error("allowed: an integer in [0, 100]");
        motion.growth_steps = static_cast<int>(steps);
        continue;
      }
      const auto pair = split_list(entry.key);
      if (pair.size() != 2)
        throw entry.error("allowed: LINK, LINK = margin (m), max-rotation = angle, growth-steps = steps");
      has_pair = true;
      const int one = link_of(entry, pair[0]), other = link_of(entry, pair[1]);
      if (one == other) throw entry.error("a link cannot stay clear of itself; name two links");
      if (!pairs.insert(std::minmax(one, other)).second) throw entry.error("is given twice; remove one of them");
      const bool pushed =
          motion.penalty > 0.0 && std::ranges::any_of(motion.contacts, [&](const MotionContact& c) {
            return std::minmax(one, other) == std::minmax(links_of(motion, c).first, links_of(motion, c).second);
          });
      if (!pushed) motion.avoided.push_back({one, other, parameter_expression(motion, entry, entry.value)});
    }
    if (!has_pair) throw section->error("names no pair of links; add LINK, LINK = margin");
  }
}

std::string pair_name(const PhasedMotion& motion, std::size_t pair) {
  std::vector<std::pair<int, int>> all;
  for (const AvoidedPair& clear : motion.avoided)
    for (const auto& one : part_pairs(motion, clear)) all.push_back(one);
  return part_name(*motion.system, all.at(pair).first) + " and " + part_name(*motion.system, all.at(pair).second);
}

std::vector<dmoc::PartPair> avoided_parts(const PhasedMotion& motion, const Eigen::VectorXd& design) {
  const MotionValues all = motion_values(motion, design);
  const std::vector<double> numbers = autodiff::values_of(all.model.numbers);
  const auto [first, last] = postures(motion, all).at;
  std::vector<dmoc::PartPair> pairs;
  for (const AvoidedPair& clear : motion.avoided) {
    std::vector<dmoc::PartPair> these;
    for (const auto& [one, other] : part_pairs(motion, clear))
      these.push_back({one, other, all.evaluated(clear.margin), {}, {}, motion.keys.affine_planes});
    for (const bool end : {false, true}) {
      if (!placed(motion, motion.at(end), clear.one, clear.other)) continue;
      const auto gaps = dmoc::gaps(*motion.system, numbers, motion.system->no_reference(), end ? last : first, these);
      const int phase = end ? std::ssize(motion.phases) - 1 : 0;
      const std::pair<int, int> where = {phase, end ? motion.phases.back().intervals - 1 : 0};
      for (std::size_t p = 0; p < these.size(); ++p)
        if (gaps[p] < these[p].margin.value + 1e-6)
          these[p].nearer.emplace_back(where, dmoc::Coefficient(gaps[p] - contact_slack));
    }
    // The parts touch at the contact's node, and afterwards if the contact stays
    for (const MotionContact& c : motion.contacts) {
      const auto [one, other] = links_of(motion, c);
      if (std::minmax(clear.one, clear.other) != std::minmax(one, other)) continue;
      const auto at = [&motion](int phase) { return motion.phases[phase].intervals; };
      std::vector<std::pair<int, int>> beside = {{c.phase, at(c.phase) - 1}, {c.phase + 1, 0}};
      for (int k = 1; c.stays && k < at(c.phase + 1); ++k) beside.emplace_back(c.phase + 1, k);
      if (c.stays && c.phase + 2 < std::ssize(motion.phases)) beside.emplace_back(c.phase + 2, 0);
      for (auto& pair : these)
        for (const auto& where : beside) pair.nearer.emplace_back(where, dmoc::Coefficient(-contact_slack));
      if (both_move(motion, c) && motion.keys.node_planes)
        for (auto& pair : these) pair.plane_turn = all.evaluated(motion.max_rotation).value;
    }
    pairs.insert(pairs.end(), these.begin(), these.end());
  }
  return pairs;
}

std::string overlap(const PhasedMotion& motion, const MotionValues& values, const Eigen::VectorXd& design) {
  if (motion.avoided.empty()) return "";
  const std::vector<double> numbers = autodiff::values_of(values.model.numbers);
  const auto all = avoided_parts(motion, design);
  const Postures ends = postures(motion, values);
  for (const bool end : {false, true}) {
    const auto gaps = dmoc::gaps(*motion.system, numbers, motion.system->no_reference(), ends.at[end ? 1 : 0], all);
    for (std::size_t p = 0; p < all.size(); ++p) {
      const auto& shapes = motion.system->model().shapes;
      if (!placed(motion, motion.at(end), shapes[all[p].one].link, shapes[all[p].other].link)) continue;
      if (gaps[p] < -1e-6)
        return formatted("[%s]: %s and %s overlap by %.3g mm", end ? "goal" : "initial-state",
                         part_name(*motion.system, all[p].one).c_str(), part_name(*motion.system, all[p].other).c_str(),
                         -1e3 * gaps[p]);
    }
  }
  return "";
}

std::string behind_face(const PhasedMotion& motion, const MotionValues& values) {
  const std::vector<double> numbers = autodiff::values_of(values.model.numbers);
  const Postures ends = postures(motion, values);
  const auto is_behind = [&](const MotionContact& contact, bool end) {
    const auto [one, other] = links_of(motion, contact);
    if (!placed(motion, motion.at(end), one, other)) return false;
    const auto heights = dmoc::heights(*motion.system, numbers, contact_event(motion, contact, values),
                                       motion.system->no_reference(), ends.at[end ? 1 : 0]);
    return *std::ranges::max_element(heights) < -contact_slack;
  };
  for (const MotionContact& contact : motion.contacts)
    if (!contact.edges && !contact.side && is_behind(contact, false) && is_behind(contact, true)) {
      const auto& shape = motion.system->model().shapes[contact.shape];
      return formatted(
          "[contact %s]: at the start and the goal the face of '%s' that outward names is turned away; "
          "name the opposite face by outward of [shape %s]",
          contact.name.c_str(), shape.name.c_str(), shape.name.c_str());
    }
  return "";
}

}  // namespace dodyn::evaluators
