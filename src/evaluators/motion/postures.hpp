// Postures at the start and the goal of a motion.
#pragma once

#include <array>
#include <string>

#include "evaluators/motion/phased_motion.hpp"

namespace dodyn::evaluators {

// A posture that places links, and gives coordinates, as the start or the goal asks for.
struct Reached {
  Eigen::VectorXd q;    // [n], without references
  double missed = 0.0;  // maximum deviation from an entry of the start or the goal, m or rad
  std::string source;   // source of the entry with the maximum deviation
};
// Returns the posture found first from the posture `from`, then from others of increasing distance; joints stay within
// their limits. If no posture satisfies all entries, returns the one with the smallest deviation.
Reached reach(const PhasedMotion& motion, const MotionValues& values, bool end, const Eigen::VectorXd& from);

// Postures that satisfy the conditions at the start and at the goal, without references: [n].
struct Postures {
  std::array<Eigen::VectorXd, 2> at;
  std::string
      contradiction;  // the condition of the start or the goal that is inconsistent with other conditions; empty: none
};
Postures postures(const PhasedMotion& motion, const MotionValues& values);

// Changes q to the posture that placements and coordinates give: [n], without references.
void place(const std::vector<Placement>& placements, const std::vector<GivenCoordinate>& given,
           const MotionValues& values, Eigen::VectorXd& q);

}  // namespace dodyn::evaluators
