// Forces that a guessed path needs.
#pragma once

#include <Eigen/Core>

#include "dmoc/motion_problem.hpp"

namespace dodyn::dmoc {

// Returns x with the controls and the forces of holds that balance the momenta of its knots best, by least squares. They
// stay inside their bounds, so a path that the actuators cannot follow keeps a rest. The other unknowns do not change.
Eigen::VectorXd with_balancing_forces(const MotionProblem& problem, const Eigen::VectorXd& x);

}  // namespace dodyn::dmoc
