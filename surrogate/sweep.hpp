// A uniform grid over the bounds (full factorial), asked from coarse to fine: level 0 holds the corners, each further
// level the middles between neighbours of the levels before. So a sweep that is interrupted has covered the whole
// range, and each design finds an evaluated neighbour to start from.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "surrogate/design_space.hpp"
#include "surrogate/strategy.hpp"

namespace dodyn::surrogate {

struct SweepOptions {
  std::vector<int> points = {25};    // per variable, or one number for all; >= 1. One point is the middle of the range
  std::vector<Domain> domains = {};  // per variable; empty: all real. Of one that is not real all values are points
  std::function<bool(const Eigen::VectorXd& design)> possible = {};  // others are left out; empty: none
};

// One ask returns designs of one level only, and the next level waits until all of this one are evaluated. For one variable
// describe() gives the linear interpolation of the good samples: a sweep shows what was computed and invents no
// minimum. Throws std::invalid_argument on a variable without a range, or a number of points out of range.
std::unique_ptr<Strategy> make_sweep(const std::vector<Variable>& variables, const SweepOptions& options);

// The keys of [surrogate] that fill the options.
const KeyTable<SweepOptions>& sweep_keys();

}  // namespace dodyn::surrogate
