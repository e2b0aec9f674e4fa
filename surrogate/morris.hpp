// Screening by elementary effects: finds which of many variables matter, with a few evaluations for each.
//
// A trajectory begins at a random design and moves one variable after the other, in random order, by 4/7 of its
// range; each step yields one elementary effect,
//   (1) e_i = (f(x + step in x_i) - f(x)) / step,   step in units of the range of x_i,
// for d + 1 evaluations per trajectory. Over the trajectories the mean of |e_i| shows how much x_i matters. The mean of
// e_i shows whether x_i raises or lowers f. The standard deviation of e_i shows nonlinearity and interactions.
//
// Sources: M. Morris, Factorial sampling plans for preliminary computational experiments, Technometrics 33 (1991); F.
// Campolongo, J. Cariboni, A. Saltelli, An effective screening design for sensitivity analysis of large models (2007),
// for the mean of |e_i| and for trajectories that are spread out.
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
  std::vector<Domain> domains = {};                                  // [variables]; empty: all real
  std::function<bool(const Eigen::VectorXd& design)> possible = {};  // steps to designs that are not allowed are left
                                                                     // out; empty: all are allowed
};

// Returns the strategy. All designs are known in advance, so ask() may return any number of designs. A variable that is
// not real moves by half of its values. Throws std::invalid_argument if a variable has no range, an option is out of
// range, or no design is allowed.
std::unique_ptr<Strategy> make_morris(const std::vector<Variable>& variables, const MorrisOptions& options);

// The keys of [surrogate] that fill the options.
const KeyTable<MorrisOptions>& morris_keys();

struct ElementaryEffects {
  // [variables] Statistics of the elementary effects: change of the value per full range of the variable (of labels:
  // magnitude of the change between two labels). NaN: no effect is known (deviation: fewer than two).
  Eigen::VectorXd mean_magnitude, mean,
      deviation;          // of the effects with their signs
  Eigen::VectorXi count;  // number of known effects
};

// Computes effects from evaluations with consecutive ids, if both have a value and differ in one variable only.
// `value`: NaN if there is none. Labels have no order, so for them the magnitude counts.
ElementaryEffects elementary_effects(const DesignSpace& space, const std::vector<Evaluation>& evaluations,
                                     const std::function<double(const Evaluation&)>& value);

}  // namespace dodyn::surrogate
