// First-order forward differentiation in one direction: a number and its tangent. The underlying scalar may itself
// carry derivatives. So Dual<Jet<N>> is the gradient and Hessian of a directional derivative, and Dual<Dual<double>> a
// mixed second derivative.
#pragma once

#include <cmath>
#include <utility>

namespace dodyn::autodiff {

template <class S>
struct Dual;

// Returns the number without its derivatives.
inline double value_of(double x) { return x; }
inline double sign_of(double x) { return x < 0.0 ? -1.0 : x > 0.0 ? 1.0 : 0.0; }
template <class S>
requires requires(const S& s) { value_of(s); }  // recorded numbers have no value yet
double value_of(const Dual<S>& x);

template <class S>
struct Dual {
  S value = S(0.0);
  S tangent = S(0.0);

  Dual() = default;
  Dual(double constant) : value(constant) {}  // NOLINT: a constant is a number like any other
  Dual(S v, S t) : value(v), tangent(t) {}

  Dual& operator+=(const Dual& b) {
    value += b.value;
    tangent += b.tangent;
    return *this;
  }
  Dual& operator-=(const Dual& b) {
    value -= b.value;
    tangent -= b.tangent;
    return *this;
  }
  friend Dual operator+(Dual a, const Dual& b) { return a += b; }
  friend Dual operator-(Dual a, const Dual& b) { return a -= b; }
  friend Dual operator-(const Dual& a) { return {-a.value, -a.tangent}; }
  friend Dual operator*(const Dual& a, const Dual& b) {
    return {a.value * b.value, a.tangent * b.value + a.value * b.tangent};
  }
  friend Dual operator/(const Dual& a, const Dual& b) {
    const S q = a.value / b.value;
    return {q, (a.tangent - q * b.tangent) / b.value};
  }

  friend Dual operator+(Dual a, double b) {
    a.value += b;
    return a;
  }
  friend Dual operator+(double a, Dual b) { return std::move(b) + a; }
  friend Dual operator-(Dual a, double b) {
    a.value -= b;
    return a;
  }
  friend Dual operator-(double a, const Dual& b) { return {a - b.value, -b.tangent}; }
  friend Dual operator*(const Dual& a, double b) { return {a.value * b, a.tangent * b}; }
  friend Dual operator*(double a, const Dual& b) { return {b.value * a, b.tangent * a}; }
  friend Dual operator/(const Dual& a, double b) { return {a.value / b, a.tangent / b}; }
  friend Dual operator/(double a, const Dual& b) { return Dual(a) / b; }

  friend Dual sin(const Dual& a) {
    using std::cos, std::sin;
    return {sin(a.value), cos(a.value) * a.tangent};
  }
  friend Dual cos(const Dual& a) {
    using std::cos, std::sin;
    return {cos(a.value), -(sin(a.value) * a.tangent)};
  }
  friend Dual sqrt(const Dual& a) {
    using std::sqrt;
    const S r = sqrt(a.value);
    return {r, a.tangent / (2.0 * r)};
  }
  friend Dual exp(const Dual& a) {
    using std::exp;
    const S e = exp(a.value);
    return {e, e * a.tangent};
  }
  friend Dual log(const Dual& a) {
    using std::log;
    return {log(a.value), a.tangent / a.value};
  }
  // returns -1, 0 or 1
  friend Dual sign_of(const Dual& a) { return {sign_of(a.value), S(0.0)}; }
  friend Dual abs(const Dual& a) {
    using std::abs;
    return {abs(a.value), sign_of(a.value) * a.tangent};
  }
  friend Dual max(const Dual& a, const Dual& b) {
    if constexpr (requires { value_of(a.value); })
      return value_of(a.value) < value_of(b.value) ? b : a;
    else  // recorded numbers cannot be compared yet
      return 0.5 * (a + b + abs(a - b));
  }
};

// Operations between a parameter that has derivatives, Dual<S>, and a number with one more level of derivatives. The
// parameter is constant at this additional level.
template <class S>
Dual<Dual<S>> operator*(const Dual<S>& a, const Dual<Dual<S>>& b) {
  return {a * b.value, a * b.tangent};
}
template <class S>
Dual<Dual<S>> operator*(const Dual<Dual<S>>& a, const Dual<S>& b) {
  return {a.value * b, a.tangent * b};
}
template <class S>
Dual<Dual<S>> operator/(const Dual<Dual<S>>& a, const Dual<S>& b) {
  return {a.value / b, a.tangent / b};
}
template <class S>
Dual<Dual<S>> operator+(const Dual<Dual<S>>& a, const Dual<S>& b) {
  return {a.value + b, a.tangent};
}
template <class S>
Dual<Dual<S>> operator-(const Dual<Dual<S>>& a, const Dual<S>& b) {
  return {a.value - b, a.tangent};
}

template <class S>
requires requires(const S& s) { value_of(s); }
double value_of(const Dual<S>& x) { return value_of(x.value); }

}  // namespace dodyn::autodiff
