// The probability that a design evaluates, learned from successful and failed evaluations: Gaussian process
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
  // `x`: [variables, designs] in the unit cube; may have no columns. `viable`: [designs] whether the design evaluated.
  // All variables have one length scale, that of the largest evidence. If all designs evaluated, the probability is 1
  // everywhere. `smooth`: expected curvature of a boundary that is a plane or a paraboloid near the origin. The
  // probability may then fall from 1 to 0 within 0.01 of a length scale.
  SuccessClassifier(const Eigen::MatrixXd& x, const std::vector<bool>& viable, std::optional<double> smooth = {});

  // Returns the log of the probability. Writes its gradient if the pointer is not null.
  double log_probability(const Eigen::VectorXd& at, Eigen::VectorXd* gradient = nullptr) const;
  // returns log(p / (1 - p))
  double logit(const Eigen::VectorXd& at) const {
    const double l = log_probability(at);
    return l - std::log(std::max(-std::expm1(l), 1e-300));
  }
  double length() const { return length_; }
  double variance() const { return variance_; }
  bool has_no_failures() const { return slope_.size() == 0; }

 private:
  // returns the log evidence
  double approximate(const Eigen::MatrixXd& squared, const Eigen::VectorXd& sign, double length, double variance);

  Eigen::MatrixXd x_;
  double plane(double product) const;  // covariance of planes and paraboloids, as a function of x . x'
  double length_ = 1, variance_ = 1, plane_ = 0, bend_ = 0;
  Eigen::VectorXd slope_, root_;  // derivative of the log likelihood by f at the mode; square root of its negative
                                  // second derivative
  Eigen::LLT<Eigen::MatrixXd> factor_;
};

}  // namespace dodyn::surrogate
