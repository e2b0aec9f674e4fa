// A uniform grid over the bounds (full factorial), from coarse to fine: level 0 has the corners, each further level the
// midpoints between neighbours. So an interrupted sweep covers the whole range, and each design has an evaluated
// neighbour to start from.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "surrogate/design_space.hpp"
#include "surrogate/strategy.hpp"

namespace dodyn::surrogate {

struct SweepOptions {
  std::vector<int> points = {25};    // per variable, or one number for all; >= 1. One point: the middle of the range
  std::vector<Domain> domains = {};  // [variables]; empty: all real. If a variable is not real, all of its values are
                                     // points
  std::function<bool(const Eigen::VectorXd& design)> possible = {};  // designs that are not allowed are left out;
                                                                     // empty: all are allowed
};

// Each ask() returns designs of one level. The next level starts when all designs of this level are evaluated. For one
// variable describe() returns the linear interpolation of the good samples, without an estimated minimum between them.
// Throws std::invalid_argument if a variable has no range, there are neither one nor `variables` numbers of points, a
// number is below 1, the grid has more than 10^6 points, or no point is allowed.
std::unique_ptr<Strategy> make_sweep(const std::vector<Variable>& variables, const SweepOptions& options);

// The keys of [surrogate] that fill the options.
const KeyTable<SweepOptions>& sweep_keys();

}  // namespace dodyn::surrogate
