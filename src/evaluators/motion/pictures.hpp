// Channels for drawing the bodies of a motion: `poses` over time, and `shapes`. Empty if the model has no shapes, or
// cannot be expressed as a world of bodies.
#pragma once

#include "evaluators/motion/phased_motion.hpp"
#include "record/trajectory.hpp"

namespace dodyn::evaluators {

Channels picture_channels(const PhasedMotion& motion, int nodes);
// Returns the values of these channels. q: coordinates of the motion, [nodes, n].
std::vector<Eigen::MatrixXd> pictures(const PhasedMotion& motion, const Eigen::VectorXd& design,
                                      const Eigen::MatrixXd& q);

}  // namespace dodyn::evaluators
