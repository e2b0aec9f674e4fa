#include "autodiff/tape.hpp"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <cmath>

#include "autodiff/jet.hpp"

namespace dodyn::autodiff {
namespace {

// Every operation, shared terms, a constant output and one that is an input; `scale` may carry the design's tangent.
template <class P>
struct Everything {
  P scale;
  template <class T>
  std::vector<T> operator()(const std::vector<T>& z) const {
    using std::atan2, std::cos, std::sin, std::sqrt;
    const T a = sin(z[0] * z[1]) + 2.0, b = z[2] - z[0] / a;
    const T c = sqrt(a * a + b * b) * cos(z[1]);
    return {c * scale, atan2(a, b) + a / b - 1.0, T(3.0), z[2], -(b * b) * z[3] + (1.0 - z[1])};
  }
};

constexpr int in = 4, out = 5;
const double at[in] = {0.4, -0.8, 1.7, 0.6}, weights[out] = {0.3, -1.2, 0.7, 2.0, -0.4};
const auto element = record(in, Everything<double>{1.5}, Everything<Dual<double>>{{1.5, 1.0}});

TEST(Tape, ValuesAreThoseOfTheFunction) {
  const auto expected = Everything<double>{1.5}(std::vector<double>(at, at + in));
  double values[out];
  element->evaluate(at, values);
  ASSERT_EQ(element->outputs, out);
  for (int j = 0; j < out; ++j) EXPECT_NEAR(values[j], expected[j], 1e-15);
}

TEST(Tape, JacobianIsThatOfDifferences) {
  double jacobian[out * in];
  element->jacobian(at, jacobian);
  for (int i = 0; i < in; ++i) {
    const double h = 1e-3;
    const auto moved = [&](double step) {
      std::vector<double> z(at, at + in), values(out);
      z[i] += step;
      element->evaluate(z.data(), values.data());
      return values;
    };
    const auto p1 = moved(h), m1 = moved(-h), p2 = moved(2 * h), m2 = moved(-2 * h);
    for (int j = 0; j < out; ++j)
      EXPECT_NEAR(jacobian[j * in + i], (8.0 * (p1[j] - m1[j]) - (p2[j] - m2[j])) / (12.0 * h), 1e-9);
  }
}

TEST(Tape, HessianIsSymmetricAndThatOfTheJacobian) {
  double hessian[in * in];
  element->hessian(at, weights, hessian);
  for (int i = 0; i < in; ++i) {
    const double h = 1e-3;
    const auto slope = [&](double step) {
      double z[in], jacobian[out * in];
      std::copy_n(at, in, z);
      z[i] += step;
      element->jacobian(z, jacobian);
      std::vector<double> sum(in, 0.0);
      for (int j = 0; j < out; ++j)
        for (int k = 0; k < in; ++k) sum[k] += weights[j] * jacobian[j * in + k];
      return sum;
    };
    const auto p1 = slope(h), m1 = slope(-h), p2 = slope(2 * h), m2 = slope(-2 * h);
    for (int k = 0; k < in; ++k) {
      EXPECT_NEAR(hessian[k * in + i], (8.0 * (p1[k] - m1[k]) - (p2[k] - m2[k])) / (12.0 * h), 1e-9);
      EXPECT_NEAR(hessian[k * in + i], hessian[i * in + k], 1e-14);
    }
  }
}

TEST(Tape, DesignDerivativeIsThatOfTheParameter) {
  // linear in the scale, so the difference is exact
  const auto y1 = Everything<double>{2.5}(std::vector<double>(at, at + in));
  const auto y0 = Everything<double>{1.5}(std::vector<double>(at, at + in));
  double expected = 0.0;
  for (int j = 0; j < out; ++j) expected += weights[j] * (y1[j] - y0[j]);
  EXPECT_NEAR(element->design_derivative(at, weights), expected, 1e-14);
}

struct Chain {
  template <class T>
  std::vector<T> operator()(const std::vector<T>& z) const {
    T sum = T(0.0);
    for (std::size_t i = 0; i + 1 < z.size(); ++i) sum += sin(z[i]) * z[i + 1] * z[i + 1];
    return {sum};
  }
};

// More active inputs than one run of the program carries.
TEST(Tape, WideJacobiansComeInSeveralRuns) {
  constexpr int n = 53;
  const auto chain = record(n, Chain{}, Chain{});
  std::vector<double> z(n), jacobian(n);
  for (int i = 0; i < n; ++i) z[i] = 0.1 * i - 2.0;
  chain->jacobian(z.data(), jacobian.data());
  for (int i = 0; i < n; ++i) {
    double expected = i + 1 < n ? std::cos(z[i]) * z[i + 1] * z[i + 1] : 0.0;
    if (i > 0) expected += 2.0 * std::sin(z[i - 1]) * z[i];
    EXPECT_NEAR(jacobian[i], expected, 1e-13);
  }
}

TEST(Tape, ConstantsFoldAndEqualOperationsAreShared) {
  const Recording recording;
  const Var x = Var::input();
  EXPECT_EQ((x * 1.0 + 0.0).node, x.node);
  EXPECT_EQ((sin(x) * x).node, (x * sin(x)).node);
  EXPECT_EQ((x * 0.0).node, Var(0.0).node);
  EXPECT_EQ((Var(2.0) * 3.0).node, Var(6.0).node);
}

}  // namespace
}  // namespace dodyn::autodiff
