// A gait as a motion to replay in the contact simulation.
#pragma once

#include "evaluators/gait/design.hpp"
#include "evaluators/gait/metrics.hpp"
#include "evaluators/rollout/rollout.hpp"
#include "record/task.hpp"

namespace dodyn::evaluators {

// `archived`: an evaluation with its trajectory, channels as the gait evaluator declares them.
inline PlannedMotion planned(const GaitDesigns& designs, const Outcome& archived) {
  enum { t, q, p, u };  // channels
  const auto& tree = designs.walker().system->structure();
  const auto& values = archived.trajectory.values;
  const std::vector<double> plain = designs.plain(archived.evaluation.design).numbers;
  const auto end =  // a copy: the tree is gone after this line
      designs.walker().system->model().tree<double>(plain).links[static_cast<std::size_t>(tree.swing_link)].end;
  PlannedMotion motion;
  PlannedMotion::Phase step;
  step.name = "step";
  step.stands = true;
  step.interval = designs.period(archived.evaluation.design) / static_cast<double>(values[u].rows());
  step.q = values[q];
  step.p = values[p];
  step.u = values[u];
  step.landing = systems::Place<double>{tree.swing_link, end};
  motion.phases.push_back(std::move(step));
  motion.limit = designs.gait().torque_limit;
  motion.loss = archived.evaluation.metrics(gait_metric("impact_loss"));
  return motion;
}

}  // namespace dodyn::evaluators
