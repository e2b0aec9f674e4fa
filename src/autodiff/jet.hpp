// Forward differentiation: a number that carries its gradient and, at order 2, its Hessian with respect to N variables.
//
// For small functions, such as a Lagrangian of ten or twenty variables: a dense Hessian of fixed size needs no tape and
// no allocation, and Eigen vectorises it.
#pragma once

#include <Eigen/Core>
#include <array>
#include <cmath>

namespace dodyn::autodiff {

template <int N, int Order = 2>
struct Jet {
  static_assert(Order == 1 || Order == 2);
  static constexpr int hessian_size = Order == 2 ? N : 0;

  double value = 0.0;
  Eigen::Matrix<double, N, 1> gradient = Eigen::Matrix<double, N, 1>::Zero();
  Eigen::Matrix<double, hessian_size, hessian_size> hessian = Eigen::Matrix<double, hessian_size, hessian_size>::Zero();

  Jet() = default;
  Jet(double constant) : value(constant) {}  // NOLINT: a constant is a number like any other
  // Returns the i-th independent variable.
  static Jet variable(double value, int i) {
    Jet x(value);
    x.gradient(i) = 1.0;
    return x;
  }

  Jet& operator+=(const Jet& b) {
    value += b.value;
    gradient += b.gradient;
    hessian += b.hessian;
    return *this;
  }
  Jet& operator-=(const Jet& b) {
    value -= b.value;
    gradient -= b.gradient;
    hessian -= b.hessian;
    return *this;
  }
  Jet& operator+=(double b) {
    value += b;
    return *this;
  }
  Jet& operator-=(double b) {
    value -= b;
    return *this;
  }
  Jet& operator*=(double b) {
    value *= b;
    gradient *= b;
    hessian *= b;
    return *this;
  }

  friend Jet operator+(Jet a, const Jet& b) { return a += b; }
  friend Jet operator-(Jet a, const Jet& b) { return a -= b; }
  friend Jet operator+(Jet a, double b) { return a += b; }
  friend Jet operator+(double a, Jet b) { return b += a; }
  friend Jet operator-(Jet a, double b) { return a -= b; }
  friend Jet operator*(Jet a, double b) { return a *= b; }
  friend Jet operator*(double a, Jet b) { return b *= a; }
  friend Jet operator/(Jet a, double b) { return a *= 1.0 / b; }
  friend Jet operator-(Jet a) { return a *= -1.0; }
  friend Jet operator-(double a, Jet b) { return (b *= -1.0) += a; }

  friend Jet operator*(const Jet& a, const Jet& b) {
    Jet c;
    c.value = a.value * b.value;
    c.gradient = a.value * b.gradient + b.value * a.gradient;
    if constexpr (Order == 2) {
      c.hessian.noalias() = a.value * b.hessian + b.value * a.hessian;
      c.hessian.noalias() += a.gradient * b.gradient.transpose();
      c.hessian.noalias() += b.gradient * a.gradient.transpose();
    }
    return c;
  }
  friend Jet operator/(const Jet& a, const Jet& b) {
    return a * chain(b, 1.0 / b.value, -1.0 / (b.value * b.value), 2.0 / (b.value * b.value * b.value));
  }
  friend Jet operator/(double a, const Jet& b) { return Jet(a) / b; }

  // Returns f(a) from f, f', f'' at a.value.
  friend Jet chain(const Jet& a, double f, double df, double ddf) {
    Jet c;
    c.value = f;
    c.gradient = df * a.gradient;
    if constexpr (Order == 2) {
      c.hessian.noalias() = df * a.hessian;
      c.hessian.noalias() += (ddf * a.gradient) * a.gradient.transpose();
    }
    return c;
  }
  friend Jet sin(const Jet& a) {
    const double s = std::sin(a.value), c = std::cos(a.value);
    return chain(a, s, c, -s);
  }
  friend Jet cos(const Jet& a) {
    const double s = std::sin(a.value), c = std::cos(a.value);
    return chain(a, c, -s, -c);
  }
  friend Jet sqrt(const Jet& a) {
    const double r = std::sqrt(a.value);
    return chain(a, r, 0.5 / r, -0.25 / (r * a.value));
  }
};

template <int N, int Order>
double value_of(const Jet<N, Order>& x) {
  return x.value;
}

}  // namespace dodyn::autodiff
