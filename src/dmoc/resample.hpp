// Interpolates nodes and controls of a phase at other times, for initial guesses from a known motion.
#pragma once

#include <Eigen/Core>

#include "dmoc/system.hpp"

namespace dodyn::dmoc {

struct Sampled {
  Eigen::MatrixXd q;  // [K + 1, n], without references
  Eigen::MatrixXd u;  // [K, controls]
};

// Interpolates on another number of intervals; controls keep their durations.
Sampled resampled(const System& system, const Sampled& phase, int intervals);
// Moves the middle of a phase by `nodes` nodes earlier (negative: later). A foot may touch the ground at different
// nodes, and each is a local minimum of the discrete problem; this leads to the next one.
Sampled time_warped(const System& system, const Sampled& phase, double nodes);

}  // namespace dodyn::dmoc
