// Positions that equalities fix where phases meet, such as the height of a foot that stands. An inequality of these alone
// that is satisfied exactly, foot.z >= 0, has no interior there. An interior-point method then converges slowly or not.
// If they violate a condition, there is no motion.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "evaluators/motion/phased_motion.hpp"

namespace dodyn::evaluators {

// Values of coordinates and components of points, by name, at the knots of a phase.
struct PinnedPositions {
  using Values = std::map<std::string, double>;
  Values first, inner, last;
};

// Returns the positions that [initial-state] and [goal] give one by one, in all phases through which they are held. [phases]
std::vector<PinnedPositions> pinned_positions(const PhasedMotion& motion, const MotionValues& values);

// Returns whether pinned positions alone determine the value of an inequality, and this value is zero.
bool is_pinned_at_zero(const dmoc::PathFunction& inequality, const PinnedPositions::Values& pinned,
                       const MotionValues& values);

// Returns the condition of a phase that pinned positions violate, as a sentence; empty: none.
std::string pinned_violation(const PhasedMotion& motion, const MotionValues& values);

}  // namespace dodyn::evaluators
