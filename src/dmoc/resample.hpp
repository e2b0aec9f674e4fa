// Interpolates nodes and controls of a phase at other times, for initial guesses from a known motion.
#pragma once

#include <Eigen/Core>

#include "dmoc/system.hpp"

namespace dodyn::dmoc {

struct Sampled {
  Eigen::MatrixXd q;  // [Kd + 1, n], at the knots, without references
  Eigen::MatrixXd u;  // [Kd, controls]
};

// Interpolates a phase on another number of intervals, linearly between knots (spherical joints: about a fixed axis). A
// new control is equal to the control of the old knot interval at that time.
Sampled resampled(const System& system, const Sampled& phase, int intervals);
// Moves the middle of a phase by `nodes` nodes earlier (negative: later). Both ends keep their times. For each node at
// which a foot may touch the ground, the discrete problem has a local minimum. A time warp gives an initial guess for
// the minimum of a neighbouring node.
Sampled time_warped(const System& system, const Sampled& phase, double nodes);

}  // namespace dodyn::dmoc
