// Parts that must not overlap: [avoid].
#pragma once

#include "dmoc/separation.hpp"
#include "evaluators/motion/phased_motion.hpp"

namespace dodyn::evaluators {

// Reads the sections [avoid] into motion.avoided, max_rotation and growth_steps. Throws ConfigError.
void read_avoided(PhasedMotion& motion);
// Returns the pairs of parts that must not overlap.
std::vector<dmoc::PartPair> avoided_parts(const PhasedMotion& motion, const Eigen::VectorXd& design);
// Returns the names of the two parts. `pair`: index in avoided_parts().
std::string pair_name(const PhasedMotion& motion, std::size_t pair);
// Describes an overlap of parts at the start or the goal; empty: none. Tests only parts whose relative pose the given
// coordinates and placements determine.
std::string overlap(const PhasedMotion& motion, const MotionValues& values, const Eigen::VectorXd& design);
// Describes a contact whose part is behind the touched face at the start and at the goal, so that `outward` probably
// names the opposite face; empty: none. Tests only contacts without `side` whose relative poses are determined.
std::string behind_face(const PhasedMotion& motion, const MotionValues& values);

}  // namespace dodyn::evaluators
