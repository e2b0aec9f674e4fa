// Computes the forces that a guessed path needs.
#pragma once

#include <Eigen/Core>

#include "dmoc/motion_problem.hpp"

namespace dodyn::dmoc {

// Returns x with other controls and other forces of position constraints: the least-squares solution of the momentum
// balances, with a small regularisation. All unknowns are then clamped to their bounds, so residuals remain if the
// actuators cannot follow the path. Apart from the bounds, the other unknowns do not change. Returns x itself if it has
// no such unknowns or no balances, or if the solution is not finite.
Eigen::VectorXd with_balancing_forces(const MotionProblem& problem, const Eigen::VectorXd& x);

// Returns the norm of all residuals of the momentum balances, in the units of MotionProblem's rows: N s and N m s; at
// inner knots N and N m if the duration is known.
double imbalance(const MotionProblem& problem, const Eigen::VectorXd& x);

}  // namespace dodyn::dmoc
