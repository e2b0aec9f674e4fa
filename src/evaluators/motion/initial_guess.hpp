// Initial guesses of a motion: paths from the start to the goal, and paths near a solved motion.
#pragma once

#include <cstdint>
#include <vector>

#include "evaluators/motion/description.hpp"
#include "evaluators/motion/phased_motion.hpp"

namespace dodyn::evaluators {

// Returns initial guess `number`: coordinates from the start to the goal through waypoints, or along the given guess,
// with random deviations. If the configuration places bodies, guess 0 has no deviations.
MotionPath initial_path(const PhasedMotion& motion, const Eigen::VectorXd& design, std::uint64_t seed, int number);

// Moves the coordinates of joints with ranges into them.
void move_into_ranges(const PhasedMotion& motion, const MotionValues& all, MotionPath& path);

// Replaces the path of bodies without controls by the path of a contact simulation from the initial state (Johnson
// 2013, section 4.4.3.1).
void simulate_unactuated(const PhasedMotion& motion, MotionPath& path, const Eigen::VectorXd& design);

// Returns variants of a path as initial guesses. In each variant another corner touches at one contact. There is one
// variant for each contact and each other corner that can reach the face. The variants have no references.
std::vector<MotionPath> paths_with_other_corners(const PhasedMotion& motion, const MotionPath& path,
                                                 const Eigen::VectorXd& design);

// Sets the references of a path that has none, and its touching corners and edges.
void refer_path(const PhasedMotion& motion, MotionPath& path, const Eigen::VectorXd& design);

}  // namespace dodyn::evaluators
