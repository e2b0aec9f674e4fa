// Initial guesses from simulations under random controls.
#pragma once

#include <functional>

#include "evaluators/motion/description.hpp"
#include "evaluators/motion/phased_motion.hpp"

namespace dodyn::evaluators {

// Returns an initial guess that weak or few actuators can nearly follow. Simulates the motion from the start under the
// controls that balance a random path best, for several random paths and amplitudes of the controls. Selects the motion
// that ends nearest to the goal, and adds a constant velocity so that its given coordinates reach the goal. Returns
// random path 0 if the actuators can follow this path, or if no simulation succeeds. It also returns path 0 if the
// motion cannot be simulated from its start: no actuators, placed bodies, planned contacts, held points, periodic
// motions, spherical joints, systems in directors, more than 12 coordinates. `random_path`: returns a random path by
// its number, with references.
MotionPath driven_path(const MotionDescription& mesh, const PhasedMotion& motion, const Eigen::VectorXd& design,
                       const std::function<MotionPath(int)>& random_path);

}  // namespace dodyn::evaluators
