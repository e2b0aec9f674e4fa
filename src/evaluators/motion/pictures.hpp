// Channels of a motion from which pictures draw its bodies: `poses` over time, and `shapes`. None where the model has no
// shapes, or a world of bodies cannot express it.
#pragma once

#include "evaluators/motion/design.hpp"
#include "record/trajectory.hpp"

namespace dodyn::evaluators {

Channels picture_channels(const MotionDesigns& designs, int nodes);
// Those of a design's motion, q [node, coordinate], one matrix per channel.
std::vector<Eigen::MatrixXd> pictures(const MotionDesigns& designs, const Eigen::VectorXd& design,
                                      const Eigen::MatrixXd& q);

}  // namespace dodyn::evaluators
