// Moves the postures of an initial guess onto holds, constraints of the model, and equalities at the ends. From paths
// that violate them the solver seldom converges.
#pragma once

#include "evaluators/motion/description.hpp"
#include "evaluators/motion/phased_motion.hpp"

namespace dodyn::evaluators {

// Changes the posture at the start or the goal, [n] without references, by minimum-norm changes of coordinates that
// are not given and move no placed link. `start`: posture at the start, if `end`; what all phases hold stays there.
void move_onto_conditions(const PhasedMotion& motion, const MotionValues& values, bool end,
                          const Eigen::VectorXd& start, Eigen::VectorXd& q);

// Changes the nodes between the ends so that phases keep what they hold. Values that one phase after the other holds
// from the start on are those of the start; values held until the goal are those of the goal. Coordinates that the
// start or the goal leaves free change first; if they are fewer than the held components, all may change.
void move_onto_holds(const PhasedMotion& motion, const MotionValues& values, MotionPath& path);

}  // namespace dodyn::evaluators
