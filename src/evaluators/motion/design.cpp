#include "evaluators/motion/design.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "dmoc/ignorable.hpp"
#include "evaluators/examination.hpp"
#include "evaluators/motion/avoid.hpp"
#include "evaluators/motion/driven_guess.hpp"
#include "evaluators/motion/initial_guess.hpp"
#include "evaluators/motion/pinned.hpp"
#include "evaluators/motion/postures.hpp"
#include "evaluators/motion/read_motion.hpp"
#include "evaluators/motion/transcription.hpp"
#include "record/random.hpp"
#include "record/text.hpp"
#include "systems/mass_matrix.hpp"

namespace dodyn::evaluators {

namespace {

// Returns why a design is not valid: a violated requirement, contradictions or overlaps at the start and the goal, or
// invalid durations. Empty: the design is valid.
std::string complaint(const PhasedMotion& motion, const Eigen::VectorXd& design) {
  const MotionValues all = motion_values(motion, design);
  for (const auto& [text, condition] : motion.requirements)
    if (!all.satisfy(condition)) return "required, " + text;
  if (const std::string complaint = postures(motion, all).contradiction; !complaint.empty()) return complaint;
  if (const std::string complaint = overlap(motion, all, design); !complaint.empty()) return complaint;
  if (const std::string complaint = pinned_violation(motion, all); !complaint.empty()) return complaint;
  if (const double per = all.evaluated(motion.per).value; !(per > 0.0))
    return formatted("[cost] per = %g is not positive", per);
  double least = 0.0, most = 0.0;
  for (const MotionPhase& phase : motion.phases) {
    const double shortest = all.evaluated(phase.shortest).value, longest = all.evaluated(phase.longest).value;
    if (!(shortest > 0.0) || !(longest >= shortest))
      return formatted("[phase %s] would last %g to %g s", phase.name.c_str(), shortest, longest);
    least += shortest, most += longest;
  }
  if (const double period = motion.period ? all.evaluated(*motion.period).value : least;
      period < least || period > most)
    return formatted("[periodic] period = %g s: the phases last %g to %g s together", period, least, most);
  return "";
}

// Returns a sentence about a coordinate with which no mass moves and on which no force depends; empty: there is none.
std::string idle_coordinate(const MotionDesigns& designs, const PhasedMotion& motion) {
  const Eigen::VectorXd middle = middle_design(motion);
  const auto tree = motion.system->model().tree<double>(plain_values(motion, middle).numbers);
  const std::vector<double> rest(tree.n(), 0.0);
  std::optional<TranscribedMotion> planned;  // expensive, and rarely needed
  Eigen::VectorXd x;
  for (const int c : systems::massless_coordinates(tree, rest)) {
    if (!planned) {
      const MotionPath guess = designs.initial_guess(middle, 0, 0);
      planned = designs.plan(middle, guess);
      x = designs.start(*planned, guess);
      for (Eigen::Index i = 0; i < x.size(); ++i)
        x(i) += 0.1 * std::sin(1.0 + 2.3 * static_cast<double>(i));  // no value is special, such as 0
    }
    const auto& phases = motion.phases;
    const bool moves = std::ranges::any_of(
        phases, [&](const MotionPhase& phase) { return std::ranges::find(phase.held, c) == phase.held.end(); });
    if (moves && dmoc::has_no_effect(planned->problem, x, c))
      return systems::massless_text(tree, c, ", and no force acts on it");
  }
  return "";
}

}  // namespace

MotionDesigns::MotionDesigns(const Settings& settings) : motion_(read_motion(settings)) {
  if (const std::string idle = idle_coordinate(*this, motion_); !idle.empty())
    throw settings.error("motion.model", idle);
}

std::vector<PhaseOutline> MotionDesigns::outline() const {
  std::vector<PhaseOutline> all;
  for (const MotionPhase& phase : motion_.phases)
    all.push_back({phase.name, phase.held, phase.intervals, phase.timed()});
  return all;
}

std::optional<HeldForce> MotionDesigns::held_force(int phase, const Expression::Quantity& quantity) const {
  const auto& holds = motion_.phases[phase].holds;
  const int component = holds ? holds->component(quantity, motion_.system->structure().dimension) : -1;
  return component >= 0 ? HeldForce{true, component} : MotionDescription::held_force(phase, quantity);
}

std::shared_ptr<const MotionDescription> MotionDesigns::on_mesh(int count) const {
  auto other = std::make_shared<MotionDesigns>(*this);
  const int now = intervals();
  bool fits = true;
  const auto scale = [&](int& number) {
    fits = fits && number * count % now == 0;
    number = number * count / now;
  };
  for (MotionPhase& phase : other->motion_.phases) {
    scale(phase.intervals);
    fits = fits && phase.intervals >= 2;
  }
  for (MotionContact& contact : other->motion_.contacts) scale(contact.node);
  return fits ? other : nullptr;
}

std::vector<bool> MotionDesigns::has_cost() const {
  std::vector<dmoc::PathFunction> costs;
  for (const MotionPhase& phase : motion_.phases) costs.insert(costs.end(), phase.costs.begin(), phase.costs.end());
  return have_cost(motion_.system->structure(), motion_.effort.squared_control > 0.0 || motion_.effort.work(),
                   motion_.loss.has_value(), costs);
}

MotionDescription::Rejection MotionDesigns::rejection(const Eigen::VectorXd& design) const {
  return {complaint(motion_, design), true};
}

TranscribedMotion MotionDesigns::plan(const Eigen::VectorXd& design, const MotionPath& path, double size) const {
  return transcribe(motion_, design, path, size);
}

MotionPath MotionDesigns::initial_guess(const Eigen::VectorXd& design, std::uint64_t seed, int number) const {
  if (number % 2 == 1)
    return driven_path(*this, motion_, design, [&, own = evaluation_seed(seed, number)](int path) {
      return initial_path(motion_, design, path == 0 ? own : evaluation_seed(own, path), number);
    });
  return initial_path(motion_, design, evaluation_seed(seed, number), number);
}

void MotionDesigns::refer(MotionPath& path, const Eigen::VectorXd& design) const { refer_path(motion_, path, design); }

std::vector<MotionPath> MotionDesigns::with_other_corners(const MotionPath& path, const Eigen::VectorXd& design) const {
  return paths_with_other_corners(motion_, path, design);
}

}  // namespace dodyn::evaluators
