// Screening by elementary effects: which of many variables matter, for a few evaluations each.
//
// A trajectory begins at a random design and moves one variable after the other, in random order, by a bit more than half of its range;
// each step yields one elementary effect,
//   (1) e_i = (f(x + step in x_i) - f(x)) / step,   step in units of the range of x_i,
// for d + 1 evaluations a trajectory. Over the trajectories the mean of |e_i| says how much x_i matters, the mean of e_i whether it raises or
// lowers f, and the spread of e_i whether that depends on where, or on other variables.
//
// Sources: M. Morris, Factorial sampling plans for preliminary computational experiments, Technometrics 33 (1991);
// F. Campolongo, J. Cariboni, A. Saltelli, An effective screening design for sensitivity analysis of large models (2007), for the mean of
// |e_i| and for trajectories that are spread out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "surrogate/design_space.hpp"
#include "surrogate/strategy.hpp"

namespace dodyn::surrogate {

struct MorrisOptions {
  int trajectories = 10;  // >= 2
  std::uint64_t seed = 1;
  std::vector<Domain> domains = {};                                  // per variable; empty: all real
  std::function<bool(const Eigen::VectorXd& design)> possible = {};  // steps to others are left out; empty: none
};

// All designs are known beforehand, so that any number of them may be asked at once. A variable that is not real moves by half of its
// values. Throws std::invalid_argument on a variable without a range or an option out of range.
std::unique_ptr<Strategy> make_morris(const std::vector<Variable>& variables, const MorrisOptions& options);

// The keys of [surrogate] that fill the options.
const KeyTable<MorrisOptions>& morris_keys();

struct ElementaryEffects {
  Eigen::VectorXd mean_magnitude, mean,
      deviation;          // per variable, of f over its range; NaN where there is none, deviation: fewer than two
  Eigen::VectorXi count;  // effects that there are
};

// Of the evaluations whose ids follow each other, where both have a value and one variable alone differs. `value`: NaN where there is none.
// Of labels the magnitude counts, since they have no order.
ElementaryEffects elementary_effects(const DesignSpace& space, const std::vector<Evaluation>& evaluations,
                                     const std::function<double(const Evaluation&)>& value);

}  // namespace dodyn::surrogate
