// A number and its gradient with respect to the design: the type of a model's parameters if some parameters are free.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <utility>
#include <vector>

namespace dodyn::autodiff {

struct Differential {
  double value = 0.0;
  Eigen::VectorXd gradient;  // [designs]; empty: constant

  Differential() = default;
  Differential(double constant) : value(constant) {}  // NOLINT: a constant is a number like any other
  Differential(double v, Eigen::VectorXd g) : value(v), gradient(std::move(g)) {}
  // Constructs a number in a problem with a single design variable: gradient [1].
  Differential(double v, double slope) : value(v), gradient(Eigen::VectorXd::Constant(1, slope)) {}

  // Returns d value / d design i; zero for a constant.
  double slope(Eigen::Index i) const { return i < gradient.size() ? gradient(i) : 0.0; }
  // Computes sum += factor * gradient.
  void add_gradient(double factor, Eigen::Ref<Eigen::VectorXd> sum) const {
    if (gradient.size() > 0) sum.head(gradient.size()) += factor * gradient;
  }

  Differential& operator+=(const Differential& b) { return *this = *this + b; }
  Differential& operator-=(const Differential& b) { return *this = *this - b; }
  friend Differential operator+(const Differential& a, const Differential& b) {
    return combined(a.value + b.value, 1.0, a, 1.0, b);
  }
  friend Differential operator-(const Differential& a, const Differential& b) {
    return combined(a.value - b.value, 1.0, a, -1.0, b);
  }
  friend Differential operator-(const Differential& a) { return chained(-a.value, -1.0, a); }
  friend Differential operator*(const Differential& a, const Differential& b) {
    return combined(a.value * b.value, b.value, a, a.value, b);
  }
  friend Differential operator/(const Differential& a, const Differential& b) {
    const double q = a.value / b.value;
    return combined(q, 1.0 / b.value, a, -q / b.value, b);
  }
  friend Differential sin(const Differential& a) { return chained(std::sin(a.value), std::cos(a.value), a); }
  friend Differential cos(const Differential& a) { return chained(std::cos(a.value), -std::sin(a.value), a); }
  friend Differential sqrt(const Differential& a) {
    const double root = std::sqrt(a.value);
    return chained(root, 0.5 / root, a);
  }
  friend Differential exp(const Differential& a) {
    const double e = std::exp(a.value);
    return chained(e, e, a);
  }
  friend Differential log(const Differential& a) { return chained(std::log(a.value), 1.0 / a.value, a); }
  friend Differential sign_of(const Differential& a) { return a.value < 0.0 ? -1.0 : a.value > 0.0 ? 1.0 : 0.0; }
  friend Differential abs(const Differential& a) { return a.value < 0.0 ? -a : a; }
  friend Differential max(const Differential& a, const Differential& b) { return a.value < b.value ? b : a; }

  // chained() returns f(a) with the gradient slope * a', combined() f(a, b) with the gradient slope_a * a' + slope_b *
  // b'. Gradients that are not empty must have equal sizes.
  static Differential chained(double value, double slope, const Differential& a) {
    return a.gradient.size() == 0 ? Differential(value) : Differential(value, slope * a.gradient);
  }
  static Differential combined(double value, double slope_a, const Differential& a, double slope_b,
                               const Differential& b) {
    if (b.gradient.size() == 0) return chained(value, slope_a, a);
    if (a.gradient.size() == 0) return chained(value, slope_b, b);
    return {value, slope_a * a.gradient + slope_b * b.gradient};
  }
};

inline double value_of(const Differential& x) { return x.value; }

// Returns the values without gradients.
inline std::vector<double> values_of(const std::vector<Differential>& all) {
  std::vector<double> values;
  values.reserve(all.size());
  for (const Differential& each : all) values.push_back(each.value);
  return values;
}

}  // namespace dodyn::autodiff
