// The probability that a design evaluates at all, learned from those that did and those that failed: Gaussian process
// classification with a logistic likelihood and Laplace's approximation.
//
// Source: C. E. Rasmussen and C. Williams, Gaussian Processes for Machine Learning (2006), algorithms 3.1 and 3.2;
// D. MacKay, The evidence framework applied to classification networks (1992), for the averaged probability.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace dodyn::surrogate {

class SuccessClassifier {
 public:
  // `x`: d x n designs in the unit cube; n >= 0. All variables have one length scale, that of greatest evidence. If all
  // designs evaluated, the probability is 1 everywhere.
  // `smooth`: expected curvature of an edge that is a plane or a paraboloid near the origin. The probability may then fall
  // from 1 to 0 within 0.01 of a length scale.
  SuccessClassifier(const Eigen::MatrixXd& x, const std::vector<bool>& viable, std::optional<double> smooth = {});

  // log of the probability, and its gradient where wanted.
  double log_probability(const Eigen::VectorXd& at, Eigen::VectorXd* gradient = nullptr) const;
  // log(p / (1 - p))
  double logit(const Eigen::VectorXd& at) const {
    const double l = log_probability(at);
    return l - std::log(std::max(-std::expm1(l), 1e-300));
  }
  double length() const { return length_; }
  double variance() const { return variance_; }
  bool has_no_failures() const { return slope_.size() == 0; }

 private:
  // log evidence
  double approximate(const Eigen::MatrixXd& squared, const Eigen::VectorXd& sign, double length, double variance);

  Eigen::MatrixXd x_;
  double plane(double product) const;  // the covariance's part of planes and paraboloids, of x . x'
  double length_ = 1, variance_ = 1, plane_ = 0, bend_ = 0;
  Eigen::VectorXd slope_, root_;  // d log likelihood / d f at the mode, square root of its negative curvature
  Eigen::LLT<Eigen::MatrixXd> factor_;
};

}  // namespace dodyn::surrogate
