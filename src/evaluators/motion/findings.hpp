// What is examined of a motion (evaluators/examination.hpp).
#pragma once

#include "evaluators/continuous.hpp"
#include "evaluators/examination.hpp"
#include "evaluators/motion/design.hpp"
#include "record/task.hpp"

namespace dodyn::evaluators {

// `trajectory`: channels as the motion evaluator declares them. `clearance`: least distance of parts that keep clear of each
// other, between nodes too, m; or not a number.
Examined examined(const MotionDesigns& designs, const Eigen::VectorXd& design, const Trajectory& trajectory,
                  double clearance);

// Phases for drive_continuously(), and in words where they restart and what is not driven.
struct ContinuousPlan {
  std::vector<PlannedPhase> phases;
  std::string note;
};
ContinuousPlan continuous_plan(const MotionDesigns& designs, const Trajectory& trajectory);

}  // namespace dodyn::evaluators
