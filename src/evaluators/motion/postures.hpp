// Postures at the start and the goal of a motion.
#pragma once

#include <array>
#include <string>

#include "evaluators/motion/phased_motion.hpp"

namespace dodyn::evaluators {

// Postures that satisfy the conditions at the start and at the goal, without references: [n].
struct Postures {
  std::array<Eigen::VectorXd, 2> at;
  std::string
      contradiction;  // the condition of the start or the goal that is inconsistent with the others; empty: none
};
Postures postures(const PhasedMotion& motion, const MotionValues& values);

// Changes q to the posture that placements and coordinates give: [n], without references.
void place(const std::vector<Placement>& placements, const std::vector<GivenCoordinate>& given,
           const MotionValues& values, Eigen::VectorXd& q);

}  // namespace dodyn::evaluators
