// An optimal motion in phases as one to replay in the contact simulation.
#pragma once

#include <algorithm>
#include <numeric>

#include "evaluators/motion/design.hpp"
#include "evaluators/rollout/rollout.hpp"
#include "record/task.hpp"

namespace dodyn::evaluators {

// `archived`: an evaluation with its trajectory, channels as the motion evaluator declares them. Where a phase in which the
// first link's origin is held follows one in which it is not, that is a foot that comes down. Throws ConfigError where
// something else is held.
inline PlannedMotion planned(const MotionDesigns& designs, const Outcome& archived) {
  enum { t, q, p, u };  // channels
  const auto& values = archived.trajectory.values;
  const int dimension = designs.system().structure().dimension;
  std::vector<int> foot(static_cast<std::size_t>(dimension));
  std::iota(foot.begin(), foot.end(), 0);
  PlannedMotion motion;
  Eigen::Index row = 0;
  for (const auto& phase : designs.phases()) {
    if (!phase.held.empty() && phase.held != foot)
      throw ConfigError("[phase " + phase.name +
                        "] holds what the contact simulation cannot; allowed: the place of the first link's origin, "
                        "all of it, or nothing");
    const int K = phase.intervals;
    PlannedMotion::Phase one;
    one.name = phase.name;
    one.stands = !phase.held.empty();
    one.interval = (values[t](row + K, 0) - values[t](row, 0)) / K;
    one.q = values[q].middleRows(row, K + 1);
    one.p = values[p].middleRows(row, K + 1);
    one.u = values[u].middleRows(row, K);
    motion.phases.push_back(std::move(one));
    row += K + 1;
  }
  const std::size_t count = motion.phases.size();
  for (std::size_t i = 0; i < count; ++i)
    if (!motion.phases[i].stands && motion.phases[(i + 1) % count].stands && (i + 1 < count || designs.periodic()))
      motion.phases[i].landing = systems::Place<double>{0, {0.0, 0.0, 0.0}};
  const auto landings = std::count_if(motion.phases.begin(), motion.phases.end(),
                                      [](const auto& phase) { return phase.landing.has_value(); });
  if (landings == 1) motion.loss = archived.evaluation.metrics(4);  // impact_loss
  return motion;
}

}  // namespace dodyn::evaluators
