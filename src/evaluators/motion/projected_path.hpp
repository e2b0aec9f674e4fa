// Moves the postures of an initial guess so that they satisfy holds, constraints of the model, and equalities at the
// ends. From a path that violates these the solver seldom converges.
#pragma once

#include "evaluators/motion/description.hpp"
#include "evaluators/motion/phased_motion.hpp"

namespace dodyn::evaluators {

// Changes the posture at the start or the goal, [n] without references, by minimum-norm changes of coordinates that
// are not given and move no placed link. `start`: posture at the start, if `end`; what all phases hold stays there.
void move_onto_conditions(const PhasedMotion& motion, const MotionValues& values, bool end,
                          const Eigen::VectorXd& start, Eigen::VectorXd& q);

// Changes the nodes between the ends so that the held components of each phase are constant. A component that all
// phases from the start on hold has its value of the start. A component that is held until the goal has its value of
// the goal. Only coordinates that the start or the goal leaves free change; if they are fewer than the held components,
// all may change.
void move_onto_holds(const PhasedMotion& motion, const MotionValues& values, MotionPath& path);

}  // namespace dodyn::evaluators
