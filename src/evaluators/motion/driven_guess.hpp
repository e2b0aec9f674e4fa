// Initial guesses from simulations under random controls.
#pragma once

#include <functional>

#include "evaluators/motion/description.hpp"
#include "evaluators/motion/phased_motion.hpp"

namespace dodyn::evaluators {

// Returns a guess that underactuated machines, or machines with weak actuators, can nearly make: the motion from the
// start under the controls that balance a random path best, with a constant velocity added so that it ends where the
// path does. Of several random paths and amplitudes of the controls, it takes the motion that ends nearest to the goal.
// Returns random path 0 if the actuators can follow it, if the motion cannot be simulated from its start (placed
// bodies, planned contacts, held points, periodic motions, spherical joints, more than 12 coordinates), or if no
// simulation reaches the end. `random_path`: returns a random path by its number, with references.
MotionPath driven_path(const MotionDescription& mesh, const PhasedMotion& motion, const Eigen::VectorXd& design,
                       const std::function<MotionPath(int)>& random_path);

}  // namespace dodyn::evaluators
