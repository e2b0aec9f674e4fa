// Which phases of a motion the continuous equations can be driven through, and where they restart.
#include <algorithm>

#include "evaluators/motion/design.hpp"
#include "evaluators/motion/findings.hpp"

namespace dodyn::evaluators {

ContinuousPlan continuous_plan(const MotionDesigns& designs, const Trajectory& trajectory) {
  enum { time, coordinates, momenta, controls };  // channels
  ContinuousPlan plan;
  const auto say = [&](const std::string& words) { plan.note += (plan.note.empty() ? "" : "; ") + words; };
  if (designs.penalty() > 0.0) {
    say("contacts push by an energy of overlap");
    return plan;
  }
  Eigen::Index row = 0;
  for (std::size_t i = 0; i < designs.phases().size(); ++i) {
    const auto& phase = designs.phases()[i];
    const auto contact = std::find_if(designs.contacts().begin(), designs.contacts().end(),
                                      [&](const auto& c) { return c.phase + 1 == static_cast<int>(i); });
    PlannedPhase one;
    one.held = phase.held;
    if (i > 0) {
      const auto& before = designs.phases()[i - 1].held;
      const bool catches = !std::includes(before.begin(), before.end(), phase.held.begin(), phase.held.end());
      const bool touches = contact != designs.contacts().end();
      if (touches && contact->stays) {
        say("not driven from [phase " + phase.name + "] on: [contact " + contact->name + "] stays");
        break;
      }
      if (touches) say("restarted after the impact of [contact " + contact->name + "]");
      if (catches) say("restarted at [phase " + phase.name + "], which holds what moved");
      one.restarts = touches || catches;
    }
    if (!trajectory.empty()) {
      const auto& values = trajectory.values;
      const Eigen::Index K = phase.intervals;
      one.interval = (values[time](row + K, 0) - values[time](row, 0)) / static_cast<double>(K);
      one.q = values[coordinates].middleRows(row, K + 1);
      one.p = values[momenta].middleRows(row, K + 1);
      one.u = values[controls].middleRows(row, K);
    }
    row += phase.intervals + 1;
    plan.phases.push_back(std::move(one));
  }
  return plan;
}

}  // namespace dodyn::evaluators
