// Channels that pictures need to draw the bodies of a motion: `poses` over time, and `shapes`. None if the model has no
// shapes, or cannot be expressed as a world of bodies.
#pragma once

#include "evaluators/motion/design.hpp"
#include "record/trajectory.hpp"

namespace dodyn::evaluators {

Channels picture_channels(const MotionDesigns& designs, int nodes);
// Returns the values of these channels for a design's motion q [nodes, coordinates].
std::vector<Eigen::MatrixXd> pictures(const MotionDesigns& designs, const Eigen::VectorXd& design,
                                      const Eigen::MatrixXd& q);

}  // namespace dodyn::evaluators
