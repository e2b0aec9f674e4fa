// Finds conditions whose value is the same for all motions. Equalities fix positions at the knots where phases meet,
// such as the height of a standing foot. Parameters are fixed, too, and the time if all durations are given. If fixed
// values satisfy an inequality exactly, such as foot.z >= 0, it has no interior there, and an interior-point method
// converges slowly or not at all. If fixed values violate a condition, there is no motion.
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

// Returns the positions that [initial-state] and [goal] give one by one, in all phases through which they are held,
// [phases].
std::vector<PinnedPositions> pinned_positions(const PhasedMotion& motion, const MotionValues& values);

// Returns whether pinned positions alone determine the value of an inequality, and this value is zero.
bool is_pinned_at_zero(const dmoc::PathFunction& inequality, const PinnedPositions::Values& pinned,
                       const MotionValues& values);

// Returns whether parameters, and the time if it is given, alone determine a condition at a knot of a phase.
bool is_settled(const PhasedMotion& motion, int phase, int knot, const dmoc::PathFunction& condition,
                const MotionValues& values);

// Returns the condition that pinned positions, parameters or given times violate, as a sentence; empty: none.
std::string pinned_violation(const PhasedMotion& motion, const MotionValues& values);

}  // namespace dodyn::evaluators
