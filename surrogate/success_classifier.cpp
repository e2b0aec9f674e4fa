#include "surrogate/success_classifier.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace dodyn::surrogate {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Prior of the latent function: a design probably evaluates, but any probability is possible.
constexpr double prior_mean = 1.0;

double kernel(double q, double length, double variance) {  // Matern 5/2
  const double s = std::sqrt(5 * q) / length;
  return variance * (1 + s + s * s / 3) * std::exp(-s);
}

VectorXd logistic(const VectorXd& f) { return (1 + (-f.array()).exp()).inverse(); }

}  // namespace

SuccessClassifier::SuccessClassifier(const MatrixXd& x, const std::vector<bool>& viable, std::optional<double> smooth)
    : x_(x), bend_(smooth.value_or(0)) {
  const Index n = viable.size();
  if (std::all_of(viable.begin(), viable.end(), [](bool v) { return v; })) return;
  MatrixXd squared(n, n);
  VectorXd sign(n);
  for (Index i = 0; i < n; ++i) {
    sign(i) = viable[i] ? 1 : -1;
    for (Index j = 0; j <= i; ++j) squared(i, j) = squared(j, i) = (x.col(i) - x.col(j)).squaredNorm();
  }
  const double unit = std::sqrt(static_cast<double>(x.rows()));
  double best = 0, best_variance = 0, best_evidence = -std::numeric_limits<double>::infinity();
  double best_slope = 0;
  const auto consider = [&](double length, double variance, double slope) {
    plane_ = slope;
    const double observed = approximate(squared, sign, length * unit, variance);
    if (observed <= best_evidence) return;
    best_evidence = observed, best = length * unit, best_variance = variance, best_slope = slope;
  };
  for (const double variance : {9.0, 100.0, 1e4}) {
    if (variance > 100 && !smooth) continue;
    for (const double length : {0.08, 0.15, 0.3, 0.6, 1.2}) consider(length, variance, 0);
  }
  if (smooth)
    for (const double slope : {10.0, 1e3, 1e5})
      for (const double variance : {1.0, 100.0})
        for (const double length : {0.3, 1.2}) consider(length, variance, slope);
  plane_ = best_slope;
  approximate(squared, sign, best, best_variance);
}

// Returns the covariance of functions b . x + x B x / 2 with independent normal coefficients. The standard deviation of
// B is `bend_` times the standard deviation of b. `product`: x . x'.
double SuccessClassifier::plane(double product) const {
  return plane_ * (product + 0.5 * bend_ * bend_ * product * product);
}

// Finds the mode of the posterior by Newton's iteration, in the form without an inverse of K. Returns the log evidence.
double SuccessClassifier::approximate(const MatrixXd& squared, const VectorXd& sign, double length, double variance) {
  length_ = length;
  variance_ = variance;
  const Index n = sign.size();
  MatrixXd k = squared.unaryExpr([&](double q) { return kernel(q, length, variance); });
  if (plane_ > 0) k += (x_.transpose() * x_).unaryExpr([&](double product) { return plane(product); });
  k.diagonal().array() += 1e-8 * k.diagonal().array();
  VectorXd g = VectorXd::Zero(n), a = VectorXd::Zero(n);  // g: latent function minus its prior mean; a: K^-1 g
  const auto log_likelihood = [&](const VectorXd& f) {
    // -log(1 + exp(-t)) without overflow
    return (sign.array() * f.array())
        .unaryExpr([](double t) { return t > 0 ? -std::log1p(std::exp(-t)) : t - std::log1p(std::exp(t)); })
        .sum();
  };
  double objective = -std::numeric_limits<double>::infinity();
  for (int iteration = 0; iteration < 30; ++iteration) {
    const VectorXd f = g.array() + prior_mean, p = logistic(f);
    slope_ = 0.5 * (sign.array() + 1) - p.array();
    const VectorXd w = p.array() * (1 - p.array());
    root_ = w.cwiseSqrt();
    MatrixXd b = root_.asDiagonal() * k * root_.asDiagonal();
    b.diagonal().array() += 1;
    factor_.compute(b);
    const VectorXd target = w.cwiseProduct(g) + slope_;
    const VectorXd before = a;
    a = target - root_.cwiseProduct(factor_.solve(root_.cwiseProduct(k * target)));
    double now = objective;
    for (int halvings = 0; halvings < 12; ++halvings) {
      g = k * a;
      now = -0.5 * a.dot(g) + log_likelihood(g.array() + prior_mean);
      if (now >= objective) break;
      a = 0.5 * (a + before);
    }
    if (std::abs(now - objective) < 1e-9) break;
    objective = now;
  }
  return objective - MatrixXd(factor_.matrixL()).diagonal().array().log().sum();
}

double SuccessClassifier::log_probability(const VectorXd& at, VectorXd* gradient) const {
  if (has_no_failures()) {
    if (gradient) *gradient = VectorXd::Zero(at.size());
    return 0;
  }
  const Index n = x_.cols();
  VectorXd k(n);
  MatrixXd dk(n, at.size());
  for (Index i = 0; i < n; ++i) {
    const VectorXd delta = at - x_.col(i);
    const double q = delta.squaredNorm(), s = std::sqrt(5 * q) / length_;
    const double product = at.dot(x_.col(i));
    k(i) = kernel(q, length_, variance_) + plane(product);
    dk.row(i) = plane_ * (1 + bend_ * bend_ * product) * x_.col(i).transpose() +
                (-5.0 / 3 * variance_ / (length_ * length_) * (1 + s) * std::exp(-s)) * delta.transpose();
  }
  const VectorXd solved = root_.cwiseProduct(factor_.solve(root_.cwiseProduct(k)));
  const double mean = prior_mean + k.dot(slope_);
  const double doubt = std::max(variance_ + plane(at.squaredNorm()) - k.dot(solved), 0.0);
  // E[logistic(f)] = logistic(mean / sqrt(1 + pi variance / 8)), approximately
  const double widen = 1 + std::numbers::pi / 8 * doubt, t = mean / std::sqrt(widen);
  if (gradient) {
    const VectorXd dmean = dk.transpose() * slope_;
    const VectorXd dvariance = 2 * plane_ * (1 + bend_ * bend_ * at.squaredNorm()) * at - 2 * dk.transpose() * solved;
    *gradient = 1 / (1 + std::exp(t)) *
                (dmean / std::sqrt(widen) - 0.5 * std::numbers::pi / 8 * mean / (widen * std::sqrt(widen)) * dvariance);
  }
  return t > 0 ? -std::log1p(std::exp(-t)) : t - std::log1p(std::exp(t));
}

}  // namespace dodyn::surrogate
