// Nodes and controls of a phase at other places between its nodes: initial guesses from a motion that was found.
#pragma once

#include <Eigen/Core>

#include "dmoc/system.hpp"

namespace dodyn::dmoc {

struct Sampled {
  Eigen::MatrixXd q;  // [K + 1, n], about no reference
  Eigen::MatrixXd u;  // [K, controls]
};

// On another number of intervals, interpolated; controls last as they did.
Sampled resampled(const System& system, const Sampled& phase, int intervals);
// With its middle moved `nodes` nodes earlier (later where negative). A foot may touch the ground at one node or another, and each is
// a local minimum of the discrete problem; this leads to the next one.
Sampled time_warped(const System& system, const Sampled& phase, double nodes);

}  // namespace dodyn::dmoc
