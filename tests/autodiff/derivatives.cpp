// Forward derivatives agree with finite differences, with each other, and with the chain rule written by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "autodiff/dual.hpp"
#include "autodiff/jet.hpp"

namespace dodyn::autodiff::test_derivatives {
namespace {

// Uses every operation, on three variables, with parameters of type P.
template <class P>
struct Sample {
  P a, b;
  template <class T>
  std::array<T, 2> operator()(const std::array<T, 3>& x) const {
    using std::cos, std::sin, std::sqrt;
    const T u = a * sin(x[0] * x[1]) + x[2] / (2.0 + cos(x[0]));
    const T v = sqrt(3.0 + x[0] * x[0]) * (x[1] - 0.5) - b * x[2];
    return {u * v - 1.0 / (4.0 + x[2] * x[2]) + (-u) / 3.0, cos(u) + 2.0 - v * 0.25};
  }
};

const std::array<double, 3> point = {0.7, -1.1, 0.4};

// Derivative of a function of one variable by finite differences of fourth order.
template <class F>
double difference(F f, double h = 1e-3) {
  return (8.0 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12.0 * h);
}

TEST(Jet, GradientAndHessianAgreeWithDifferences) {
  const Sample<double> f{1.3, 0.6};
  std::array<Jet<3>, 3> x;
  for (int i = 0; i < 3; ++i) x[i] = Jet<3>::variable(point[i], i);
  const auto y = f(x);
  for (int out = 0; out < 2; ++out) {
    EXPECT_DOUBLE_EQ(y[out].value, f(point)[out]);
    for (int i = 0; i < 3; ++i) {
      const auto moved = [&](double step) {
        auto z = point;
        z[i] += step;
        return z;
      };
      EXPECT_NEAR(y[out].gradient(i), difference([&](double s) { return f(moved(s))[out]; }), 1e-9);
      for (int j = 0; j < 3; ++j) {
        const auto slope = [&](double s) {
          std::array<Jet<3, 1>, 3> z;
          for (int k = 0; k < 3; ++k) z[k] = Jet<3, 1>::variable(moved(s)[k], k);
          return f(z)[out].gradient(j);
        };
        EXPECT_NEAR(y[out].hessian(i, j), difference(slope), 1e-9);
      }
    }
  }
}

TEST(Jet, OrdersAgree) {
  const Sample<double> f{1.3, 0.6};
  std::array<Jet<3, 1>, 3> x;
  std::array<Jet<3, 2>, 3> z;
  for (int i = 0; i < 3; ++i) {
    x[i] = Jet<3, 1>::variable(point[i], i);
    z[i] = Jet<3, 2>::variable(point[i], i);
  }
  for (int out = 0; out < 2; ++out) EXPECT_EQ(f(x)[out].gradient, f(z)[out].gradient);
}

TEST(Dual, OfJetIsTheHessianOfADirectionalDerivative) {
  const Sample<double> f{1.3, 0.6};
  const std::array<double, 3> direction = {0.2, -0.5, 0.9};
  std::array<Dual<Jet<3>>, 3> x;
  for (int i = 0; i < 3; ++i) x[i] = {Jet<3>::variable(point[i], i), Jet<3>(direction[i])};
  const auto y = f(x);
  for (int out = 0; out < 2; ++out)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        const auto hessian = [&](double s) {
          std::array<Jet<3>, 3> z;
          for (int k = 0; k < 3; ++k) z[k] = Jet<3>::variable(point[k] + s * direction[k], k);
          return f(z)[out].hessian(i, j);
        };
        EXPECT_NEAR(y[out].tangent.hessian(i, j), difference(hessian), 1e-8);
      }
}

TEST(Dual, OfDualMixesVariablesAndParameters) {
  // outer level: a direction of the variables; inner level: the parameter a
  const std::array<double, 3> direction = {0.2, -0.5, 0.9};
  const Sample<Dual<double>> f{{1.3, 1.0}, 0.6};
  std::array<Dual<Dual<double>>, 3> x;
  for (int i = 0; i < 3; ++i) x[i] = {Dual<double>(point[i]), Dual<double>(direction[i])};
  const auto y = f(x);
  for (int out = 0; out < 2; ++out) {
    const auto directional = [&](double a) {
      const Sample<double> g{1.3 + a, 0.6};
      std::array<Dual<double>, 3> z;
      for (int k = 0; k < 3; ++k) z[k] = {point[k], direction[k]};
      return g(z)[out].tangent;
    };
    EXPECT_NEAR(y[out].tangent.tangent, difference(directional), 1e-9);
  }
}

}  // namespace
}  // namespace dodyn::autodiff::test_derivatives
