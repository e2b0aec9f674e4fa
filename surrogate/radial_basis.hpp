// Interpolation by radial basis functions with a polynomial tail:
//   (1) s(x) = sum_i weight_i phi(|x - x_i|) + tail(x),   sum_i weight_i p(x_i) = 0 for every polynomial p of the tail,
// with phi cubic (r^3), thin plate (r^2 log r) or Gaussian. Cubic and thin plate need a tail of degree 1 and no length;
// no hyperparameter is fitted, so it is cheap where kriging is not. `smoothing` adds to the diagonal: a trade of
// closeness to the samples for smoothness, for noisy ones (with phi cubic in one variable it is the smoothing spline).
//
// Source: M. Buhmann, Radial Basis Functions (2003), chapters 1 and 5; G. Wahba, Spline Models (1990), for smoothing.
#pragma once

#include <Eigen/Core>

namespace dodyn::surrogate {

enum class Basis { cubic, thin_plate, gaussian };

struct RadialBasisOptions {
  Basis basis = Basis::cubic;
  double smoothing = 0;   // >= 0; of the costs' spread
  double length = 0;      // of the Gaussian, in units of the samples' extent; 0: from the number of samples
  Eigen::VectorXd scale;  // d: natural length of each variable; empty: the samples' extent
};

class RadialBasis {
 public:
  // x: d x n, y: n. Near-duplicates are averaged; a tail that the samples do not determine takes its least
  // coefficients. Throws std::invalid_argument on no sample, shapes that differ, or a number that is not finite.
  RadialBasis(const Eigen::MatrixXd& x, const Eigen::VectorXd& y, const RadialBasisOptions& options);

  double value(const Eigen::VectorXd& at, Eigen::VectorXd* gradient = nullptr) const;

 private:
  RadialBasisOptions options_;
  Eigen::VectorXd scale_;
  Eigen::MatrixXd x_;               // d x n, scaled
  Eigen::VectorXd weights_, tail_;  // n; 1 + d: constant first
  double centre_ = 0, spread_ = 1;
};

}  // namespace dodyn::surrogate
