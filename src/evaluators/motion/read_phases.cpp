// Reads [phase] and [contact].
#include <algorithm>
#include <cmath>

#include "evaluators/motion/read_motion.hpp"
#include "record/text.hpp"

namespace dodyn::evaluators {

namespace {

// Largest ratio of the actual to the planned duration of a piece between contacts, and of its inverse.
constexpr double piece_stretch = 8.0;

// Returns the indices of the coordinates that an entry fixes, ascending. A point at the root's origin fixes the root's
// translational coordinates. Throws ConfigError for other points.
std::vector<int> held_by(const PhasedMotion& motion, const CustomEntry& entry) {
  const auto& tree = motion.system->structure();
  std::vector<int> held;
  for (const std::string& name : split_list(entry.value)) {
    const auto point = std::ranges::find_if(tree.named_points, [&](const auto& p) { return p.name == name; });
    const bool is_coordinate = std::ranges::find(tree.coordinate_names, name) != tree.coordinate_names.end();
    if (is_coordinate) {
      held.push_back(read_coordinate(motion, entry, name));
      continue;
    }
    if (point == tree.named_points.end()) {
      std::vector<std::string> known = tree.coordinate_names;
      for (const auto& p : tree.named_points) known.push_back(p.name);
      throw entry.error("'" + name + "' is neither a coordinate nor a [point]" + did_you_mean(name, known) +
                        "; allowed: " + listed(tree.coordinate_names) +
                        ", or a [point] at the origin of the first link");
    }
    const auto& place = point->place;
    const bool at_root =
        place.link == 0 && std::ranges::all_of(place.at, [](const systems::Number& x) { return x.is_zero(); });
    if (!at_root)
      throw entry.error("point '" + name +
                        "' is not the origin of the first link; only that point and coordinates can be fixed; use hold "
                        "for other points");
    const auto& moves = tree.links[0].moves;
    for (std::size_t i = 0; i < moves.size() && moves[i].kind == systems::Move::slide; ++i)
      held.push_back(tree.links[0].first + static_cast<int>(i));
  }
  std::ranges::sort(held);
  held.erase(std::unique(held.begin(), held.end()), held.end());
  return held;
}

// Throws ConfigError if a condition on forces has a quantity besides forces and parameters.
void expect_forces(const PhasedMotion& motion, const CustomEntry& entry, const Expression& condition) {
  const auto is_parameter = [&](const Expression::Quantity& q) {
    return q.arguments.empty() && (motion.system->model().parameter(q.name) >= 0 ||
                                   std::ranges::find(motion.names, q.name) != motion.names.end());
  };
  for (const auto& q : condition.quantities())
    if (!is_force(q) && !is_parameter(q))
      throw entry.error("'" + q.text() +
                        "' is neither a force nor a parameter; a condition on forces is linear in them, such as "
                        "normal(foot) <= 800 N");
}

void read_requirement(const PhasedMotion& motion, MotionPhase& phase, const CustomEntry& entry,
                      const std::string& text) {
  try {
    for (const auto& comparison : Expression::parse(text).comparisons()) {
      const auto& quantities = comparison.what.quantities();
      const bool of_point =
          std::ranges::any_of(quantities, [](const auto& q) { return q.name == "normal" || q.name == "tangential"; });
      if (std::ranges::none_of(quantities, is_force)) {
        phase.constraints.emplace_back(
            dmoc::path_function(*motion.system, phase.held, clock_of(motion, phase, motion.phases.size()),
                                comparison.what, motion.names),
            comparison.equality);
        check_places(phase.constraints.back().first, phase.name, phase.intervals);
        continue;
      }
      const int d = motion.system->structure().dimension;
      expect_forces(motion, entry, comparison.what);
      if (phase.holds &&
          std::ranges::any_of(quantities, [&](const auto& q) { return phase.holds->component(q, d) >= 0; })) {
        if (comparison.equality) throw entry.error("forces cannot be compared with ==; allowed: <=, >=");
        for (const auto& q : quantities)
          if (phase.holds->component(q, d) < 0 && is_force(q))
            throw entry.error(
                "'" + q.text() +
                "' is not a force of hold, as the others are; write two conditions, or use only forces on: " +
                listed(phase.holds->names));
        phase.hold_forces.push_back(comparison.what);
        continue;
      }
      if (of_point && (phase.held.empty() || phase.held.front() != 0 || std::ssize(phase.held) < d))
        throw entry.error("uses the force on a point that this phase does not hold; add the point to fixed or hold");
      for (const auto& q : quantities) {
        if (q.name != "reaction") continue;
        const int c = q.arguments.size() == 1 ? read_coordinate(motion, entry, q.arguments.front()) : -1;
        if (std::ranges::find(phase.held, c) == phase.held.end())
          throw entry.error(
              "'" + q.text() +
              "': this phase does not fix that coordinate; allowed: reaction(COORDINATE) of fixed coordinates");
      }
      if (comparison.equality || (of_point && d != 2))
        throw entry.error(
            "is not supported for forces; allowed: <= and >=, and normal and tangential only in the plane");
      phase.forces.push_back(comparison.what);
    }
  } catch (const ExpressionError& error) {
    throw entry.error(error.what());
  }
}

// Reads a phase, and splits it at its contacts. The durations of the pieces are unknowns. Penalty contacts do not split
// the phase.
void read_phase(PhasedMotion& motion, const CustomSection& section,
                const std::vector<systems::HolonomicConstraint>& model_constraints) {
  MotionPhase phase;
  phase.name = section.name;
  if (const CustomEntry* fixed = section.find("fixed")) phase.held = held_by(motion, *fixed);
  phase.holds = read_holds(*motion.system, model_constraints, section.find("hold"), phase.held, motion.names);
  if (phase.holds && motion.keys.simulated)
    throw section.error("hold is not supported with motion.first-guess = simulated; remove hold, or choose straight");
  if (const CustomEntry* intervals = section.find("intervals")) {
    const Expression e = parameter_expression(motion, *intervals, intervals->value);
    const double count = e.is_constant() ? e.constant() : 0.0;
    if (count < 2 || count > 10000 || count != std::round(count))
      throw intervals->error("is not a number of intervals; allowed: an integer in [2, 10000]");
    phase.intervals = static_cast<int>(count);
  }
  const CustomEntry* duration = section.find("duration");
  if (!duration) throw section.error("has no duration; allowed: duration = seconds, or SHORTEST .. LONGEST");
  try {
    parse_range(duration->value);
  } catch (const ExpressionError& error) {
    throw duration->error(error.what());
  }
  const auto dots = duration->value.find("..");
  const std::string low = duration->value.substr(0, dots),
                    high = dots == std::string::npos ? low : duration->value.substr(dots + 2);
  const Expression shortest = parameter_expression(motion, *duration, low),
                   longest = parameter_expression(motion, *duration, high);
  const bool is_known = shortest.is_constant() && longest.is_constant();
  if (is_known && !(shortest.constant() > 0.0 && longest.constant() >= shortest.constant()))
    throw duration->error("allowed: more than 0, and LONGEST not below SHORTEST");
  auto cuts = cuts_of(motion, section, phase.intervals);
  if (motion.penalty > 0.0) {
    for (const Cut& cut : cuts) {
      if (cut.release) continue;
      read_contact(motion, *cut.contact, motion.phases.size());
      motion.contacts.back().node = cut.node;
    }
    cuts.clear();
  }
  const int pieces = std::ssize(cuts) + 1, K = phase.intervals;
  if (pieces > 1) motion.cut_phases.push_back({static_cast<int>(motion.phases.size()), pieces, shortest, longest});
  for (int i = 0; i < pieces; ++i) {
    const int from = i == 0 ? 0 : cuts[i - 1].node, to = i + 1 == pieces ? K : cuts[i].node;
    MotionPhase piece = phase;
    piece.intervals = to - from;
    const double share = static_cast<double>(to - from) / K;
    const auto times = [&](const Expression& whole, const std::string& text, double factor) {
      return pieces == 1 ? whole
                         : parameter_expression(motion, *duration, formatted("(%s)*%.17g", text.c_str(), factor));
    };
    piece.shortest = times(shortest, low, share / piece_stretch);
    piece.longest = times(longest, high, std::min(share * piece_stretch, 1.0));
    if (pieces > 1) piece.name += "_" + std::to_string(i + 1);
    if (const CustomEntry* require = section.find("require"))
      for (const std::string& text : split_list(require->value)) read_requirement(motion, piece, *require, text);
    motion.phases.push_back(std::move(piece));
    if (i + 1 < pieces && !cuts[i].release)
      read_contact(motion, *cuts[i].contact, static_cast<int>(motion.phases.size()) - 1);
  }
}

}  // namespace

void read_phases(PhasedMotion& motion, const std::vector<systems::HolonomicConstraint>& model_constraints) {
  for (const CustomSection* section : motion.settings.sections_of("phase"))
    read_phase(motion, *section, model_constraints);
  if (motion.phases.empty())
    throw ConfigError(motion.settings.file +
                      ": there is no [phase NAME]; allowed: one or more, in the order of the motion");
}

}  // namespace dodyn::evaluators
