// Sobol indices: the share of a function's variance over a box that each variable causes.
//
//   first_i = Var(E(f | x_i)) / Var(f),     total_i = E(Var(f | all but x_i)) / Var(f)
//
// `first` is the mean reduction of the variance if x_i alone is fixed. `total` is the mean variance that remains if all
// others are fixed. Their difference is the share of interactions of x_i with other variables.
//
// Sources: A. Saltelli et al., Variance based sensitivity analysis of model output, Computer Physics Communications 181
// (2010), table 2: (b) for the first order, (f), Jansen's, for the total; I. Sobol', Global sensitivity indices (2001).
#pragma once

#include <Eigen/Core>
#include <functional>

namespace dodyn::surrogate {

constexpr double min_relative_variance = 1e-24;  // relative to the squared mean; a function with less is constant

struct SobolIndices {
  double mean = 0, variance = 0;             // mean and variance of f over the box
  Eigen::VectorXd first, total;              // [variables]
  Eigen::VectorXd first_error, total_error;  // [variables] standard errors, by resampling the rows (bootstrap)
};

// Computes the indices. `f` returns values at the columns of a [variables, points] matrix of points of the unit cube,
// with uniform variables. It is evaluated at (d + 2) `samples` points of Sobol's sequence. The indices are 0 if f is
// constant.
SobolIndices sobol_indices(const std::function<Eigen::VectorXd(const Eigen::MatrixXd&)>& f, int d, int samples,
                           std::uint64_t seed);

// Returns E(f | x_i) as a function of x_i, at `points` >= 2 equally spaced values from 0 to 1, both included;
// [variables, points].
Eigen::MatrixXd main_effects(const std::function<Eigen::VectorXd(const Eigen::MatrixXd&)>& f, int d, int points,
                             int samples, std::uint64_t seed);

}  // namespace dodyn::surrogate
