// Keys of a rollout, and its report.
#include <algorithm>
#include <cmath>

#include "evaluators/rollout/rollout.hpp"
#include "record/text.hpp"

namespace dodyn::evaluators {

const KeyTable<RolloutSettings>& rollout_keys() {
  using R = RolloutSettings;
  static const auto table =
      KeyTable<R>("rollout.")
          .add("stance", &R::stance, {{"joint", R::Stance::joint}, {"contact", R::Stance::contact}},
               {.description = "what supports the stance foot in dodyn simulate --from; joint: a joint; contact: its "
                               "contact with the ground",
                .identity = false})
          .add("feedback", &R::feedback, {{"regulator", R::Feedback::regulator}, {"none", R::Feedback::none}},
               {.description = "feedback in dodyn simulate --from; regulator: a linear-quadratic regulator keeps the "
                               "simulation near the motion",
                .identity = false})
          .add("step", &R::step,
               may_change(number(
                   above(0, 10), "s",
                   "longest time step in dodyn simulate --from; an interval of the motion is a whole number of steps")))
          .add("friction", &R::friction,
               may_change(number(from(0, 1e6), "1",
                                 "coefficient of friction between feet and ground in dodyn simulate --from")));
  return table;
}

namespace {

double largest_control(const PlannedMotion& motion) {
  double largest = 0.0;
  for (const auto& phase : motion.phases)
    if (phase.u.size() > 0) largest = std::max(largest, phase.u.cwiseAbs().maxCoeff());
  return largest;
}

}  // namespace

Simulated to_simulated(const Rollout& rollout, const systems::Model& model, const PlannedMotion& motion,
                       const RolloutSettings& settings) {
  Simulated s;
  s.completed = rollout.failure.empty();
  s.channels = rollout.channels;
  s.trajectory = rollout.trajectory;
  const auto line = [&](const std::string& words) { s.report += words + "\n"; };
  const auto stands = [](const auto& phase) { return phase.stands; };
  const bool any_stands = std::ranges::any_of(motion.phases, stands);
  for (const auto& phase : motion.phases)
    line(formatted("[phase %s] %ld intervals of %.6g s, in steps of at most %.6g s%s", phase.name.c_str(),
                   static_cast<long>(phase.u.rows()), phase.interval, settings.step,
                   !phase.stands                                       ? ""
                   : settings.stance == RolloutSettings::Stance::joint ? "; the foot stands on a joint"
                                                                       : "; the foot stands by contact"));
  for (const auto& landing : rollout.landings) {
    line(formatted("touch-down      at %.6g s, planned at %.6g s: %+.3g ms", landing.time, landing.planned_time,
                   1e3 * (landing.time - landing.planned_time)));
    std::string place, planned;
    for (Eigen::Index i = 0; i < landing.place.size(); ++i) {
      place += formatted(i == 0 ? "%.6g" : ", %.6g", std::abs(landing.place[i]) < 1e-9 ? 0.0 : landing.place[i]);
      planned += formatted(i == 0 ? "%.6g" : ", %.6g",
                           std::abs(landing.planned_place[i]) < 1e-9 ? 0.0 : landing.planned_place[i]);
    }
    line(formatted("                at (%s) m, planned at (%s) m: %.3g mm apart", place.c_str(), planned.c_str(),
                   1e3 * landing.miss()));
    line(formatted("                takes %.5g J", landing.loss) +
         (std::isfinite(motion.loss) ? formatted(", planned %.5g J", motion.loss) : "") +
         formatted("; impulse %.5g N s", landing.impulse));
    if (landing.other_impulse > 1e-3 * landing.impulse)
      line(formatted("                the stance foot receives %.3g N s, too: it does not leave the ground",
                     landing.other_impulse));
  }
  line(formatted("deviation       at most %.3g (%s, at %.6g s), of the coordinates at the motion's own nodes",
                 rollout.deviation, model.structure.coordinate_names[rollout.worst_coordinate].c_str(),
                 rollout.deviation_time));
  if (settings.feedback == RolloutSettings::Feedback::none)
    line("feedback        none");
  else
    line(formatted("feedback        adds at most %.3g to the controls, which reach %.4g", rollout.correction,
                   largest_control(motion)));
  if (any_stands && settings.stance == RolloutSettings::Stance::contact)
    line(formatted("slip            at most %.3g mm, of the stance foot", 1e3 * rollout.slip));
  if (rollout.foot_penetration > 1e-6)
    line(formatted("scuff           the swing foot passes under the ground, %.3g mm deep",
                   1e3 * rollout.foot_penetration));
  line(rollout.failure.empty() ? formatted("end             at %.6g s", rollout.time)
                               : formatted("failed          at %.6g s: ", rollout.time) + rollout.failure);
  return s;
}

}  // namespace dodyn::evaluators
