// Coordinates to which a motion problem allows adding a constant: the place of a machine on level ground, or full turns
// of a wheel. Motions that differ only by such constants are the same.
#pragma once

#include <Eigen/Core>

#include "dmoc/motion_problem.hpp"

namespace dodyn::dmoc {

// Returns whether `constant` (m or rad) can be added to a coordinate at all knots of x without a change of the
// objective or of a row. False if the coordinate has a range, is held in a phase, or is an angle of a chart.
bool is_ignorable(const MotionProblem& problem, const Eigen::VectorXd& x, int coordinate, double constant);

// Returns whether no mass moves with a coordinate and no force depends on it: a change at the second knot of any phase
// changes neither the objective nor a row. True for a coordinate that is held in all phases.
bool has_no_effect(const MotionProblem& problem, const Eigen::VectorXd& x, int coordinate);

// Fixes the start of each ignorable coordinate at its value in x, by equal bounds. Ignorable means that is_ignorable()
// holds for several constants from 0.4 to 1600. Without this the KKT matrix is singular, and the coordinate may drift
// far away.
void fix_ignorable(MotionProblem& problem, const Eigen::VectorXd& x);

// Returns the part of a coordinate's start in x that has no effect on the motion, m or rad: the whole value if
// fix_ignorable() fixed it, otherwise its full turns if they are ignorable, otherwise 0. The start without full turns
// is in [-3.98, 2.3) rad, so that upright and hanging postures are not near the ends of this range.
double ignorable_start(const MotionProblem& problem, const Eigen::VectorXd& x, int coordinate);

}  // namespace dodyn::dmoc
