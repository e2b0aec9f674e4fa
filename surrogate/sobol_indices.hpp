// How much of the spread of a function over a box each of its variables makes: Sobol's indices.
//
//   first_i = Var(E(f | x_i)) / Var(f),     total_i = E(Var(f | all but x_i)) / Var(f)
//
// `first` is what fixing x_i alone would save on average, `total` what would be left if all others were fixed; their
// difference is what x_i does together with others.
//
// Sources: A. Saltelli et al., Variance based sensitivity analysis of model output, Computer Physics Communications 181
// (2010), table 2: (b) for the first order, (f), Jansen's, for the total; I. Sobol', Global sensitivity indices (2001).
#pragma once

#include <Eigen/Core>
#include <functional>

namespace dodyn::surrogate {

struct SobolIndices {
  double mean = 0, variance = 0;             // of f over the box
  Eigen::VectorXd first, total;              // d
  Eigen::VectorXd first_error, total_error;  // d: standard errors, by resampling the rows (bootstrap)
};

// `f`: values at the columns of a d x n matrix of points of the unit cube, d uniform variables. It is asked at
// (d + 2) `samples` points of Sobol's sequence. Indices are 0 where f is constant.
SobolIndices sobol_indices(const std::function<Eigen::VectorXd(const Eigen::MatrixXd&)>& f, int d, int samples,
                           std::uint64_t seed);

// E(f | x_i) along x_i: `points` values at the middles of as many equal cells of [0, 1]; d x points.
Eigen::MatrixXd main_effects(const std::function<Eigen::VectorXd(const Eigen::MatrixXd&)>& f, int d, int points,
                             int samples, std::uint64_t seed);

}  // namespace dodyn::surrogate
