// The optimisation problem of a motion.
#pragma once

#include <vector>

#include "evaluators/motion/description.hpp"
#include "evaluators/motion/phased_motion.hpp"

namespace dodyn::evaluators {

// Returns the optimisation problem of a design, relative to the references of a path. `size`: scale of the bodies that
// must not overlap; initial solves use smaller bodies.
TranscribedMotion transcribe(const PhasedMotion& motion, const Eigen::VectorXd& design, const MotionPath& path,
                             double size);
// Returns the position function that a phase holds in addition to coordinates, as a list of one element; empty: none.
std::vector<dmoc::PositionConstraint> holds_of(const PhasedMotion& motion, int phase, const MotionValues& values);

}  // namespace dodyn::evaluators
