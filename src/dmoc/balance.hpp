// Computes the forces that a guessed path needs.
#pragma once

#include <Eigen/Core>

#include "dmoc/motion_problem.hpp"

namespace dodyn::dmoc {

// Returns x with controls and forces of position constraints that minimise the residuals of its momentum balances, by
// least squares. They stay inside their bounds, so residuals remain if the actuators cannot follow the path. The other
// unknowns do not change.
Eigen::VectorXd with_balancing_forces(const MotionProblem& problem, const Eigen::VectorXd& x);

// Returns the norm of the residuals of the momentum balances, N s or N m s.
double imbalance(const MotionProblem& problem, const Eigen::VectorXd& x);

}  // namespace dodyn::dmoc
