// Coordinates to which a motion problem allows adding a constant: the place of a machine on level ground, or full turns
// of a wheel. Motions that differ only by such constants are the same.
#pragma once

#include <Eigen/Core>

#include "dmoc/motion_problem.hpp"

namespace dodyn::dmoc {

// Returns whether `constant` (m or rad) can be added to a coordinate at all knots of x: it moves in all phases, has no
// range, and neither the objective nor a row changes.
bool is_ignorable(const MotionProblem& problem, const Eigen::VectorXd& x, int coordinate, double constant);

// Returns whether no mass moves with a coordinate and no force depends on it: a change at a single knot of x changes
// neither the objective nor a row.
bool has_no_effect(const MotionProblem& problem, const Eigen::VectorXd& x, int coordinate);

// Fixes the start of each coordinate to which any constant can be added at its value in x, by equal bounds. Otherwise
// the KKT matrix is singular, and the coordinate may drift far away.
void fix_ignorable(MotionProblem& problem, const Eigen::VectorXd& x);

// Returns the part of a coordinate's start in x that has no meaning, m or rad: the value at which fix_ignorable() fixed
// it, full turns, or 0. The start without full turns is in [-3.98, 2.3) rad, so that upright and hanging postures are
// not near its ends.
double ignorable_start(const MotionProblem& problem, const Eigen::VectorXd& x, int coordinate);

}  // namespace dodyn::dmoc
