#include "surrogate/cubic_spline.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <stdexcept>

namespace dodyn::surrogate::test_cubic_spline {
namespace {

using Eigen::VectorXd;

struct Samples {
  VectorXd x, y, gradient;
};

// `n` distinct abscissae on [-1, 2] in no order, with values and gradients at random.
Samples random_samples(int n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<> unit(0, 1), value(-3, 3);
  Samples s{VectorXd(n), VectorXd(n), VectorXd(n)};
  for (int i = 0; i < n; ++i) {
    const int k = (i * 7 + 3) % n;  // a permutation for n not a multiple of 7
    s.x[i] = -1 + 3 * (k + 0.1 + 0.8 * unit(random)) / n;
    s.y[i] = value(random);
    s.gradient[i] = 5 * value(random);
  }
  return s;
}

TEST(CubicSpline, InterpolatesExactly) {
  for (const int n : {1, 2, 3, 4, 10, 30}) {
    const Samples s = random_samples(n, n);
    const CubicSpline natural = natural_spline(s.x, s.y), hermite = hermite_spline(s.x, s.y, s.gradient);
    for (int i = 0; i < n; ++i) {
      EXPECT_EQ(natural.value(s.x[i]), s.y[i]);
      EXPECT_EQ(hermite.value(s.x[i]), s.y[i]);
      EXPECT_EQ(hermite.derivative(s.x[i]), s.gradient[i]);
      // and from the left of each node
      const double before = std::nextafter(s.x[i], -10.0);
      EXPECT_NEAR(natural.value(before), s.y[i], 1e-11);
      EXPECT_NEAR(hermite.value(before), s.y[i], 1e-11);
      EXPECT_NEAR(hermite.derivative(before), s.gradient[i], 1e-10);
    }
  }
}

TEST(CubicSpline, NaturalIsTwiceContinuouslyDifferentiableWithFreeEnds) {
  for (const int n : {3, 4, 9, 25}) {
    const Samples s = random_samples(n, 100 + n);
    const CubicSpline spline = natural_spline(s.x, s.y);
    const double scale = 1e-9 * n * n * 10;
    for (int i = 0; i < n; ++i) {
      const double x = spline.x[i], before = std::nextafter(x, -10.0);
      EXPECT_NEAR(spline.derivative(before), spline.derivative(x), scale);
      EXPECT_NEAR(spline.second_derivative(before), spline.second_derivative(x), scale);
    }
    EXPECT_NEAR(spline.second_derivative(spline.x[0]), 0, scale);
    EXPECT_NEAR(spline.second_derivative(std::nextafter(spline.x[n - 1], -10.0)), 0, scale);
  }
}

// Holladay: of all C2 interpolants the natural spline has the least integral of the squared second derivative; so any
// perturbation that vanishes at the nodes is orthogonal to it.
TEST(CubicSpline, NaturalMinimisesCurvature) {
  const VectorXd x = VectorXd::LinSpaced(6, 0, 5);
  VectorXd y(6);
  y << 1, -2, 0.5, 3, 3, -1;
  const CubicSpline spline = natural_spline(x, y);
  const int n = 100000;
  double inner = 0, own = 0;
  for (int i = 0; i < n; ++i) {
    const double t = 5 * (i + 0.5) / n;
    // second derivative of exp(0.3 t) sin(pi t), which is zero at every node
    const double w = std::exp(0.3 * t) * ((0.09 - M_PI * M_PI) * std::sin(M_PI * t) + 0.6 * M_PI * std::cos(M_PI * t));
    const double s = spline.second_derivative(t);
    inner += s * w * 5 / n;
    own += s * s * 5 / n;
  }
  EXPECT_GT(own, 1.0);
  EXPECT_NEAR(inner, 0, 1e-6 * own);
}

TEST(CubicSpline, DerivativesAreThoseOfTheValue) {
  const Samples s = random_samples(8, 5);
  for (const CubicSpline& spline : {natural_spline(s.x, s.y), hermite_spline(s.x, s.y, s.gradient)}) {
    for (double x = -1.5; x < 2.5; x += 0.0371) {
      const double h = 1e-6;
      if ((spline.x.array() - x).abs().minCoeff() < 2 * h) continue;
      EXPECT_NEAR((spline.value(x + h) - spline.value(x - h)) / (2 * h), spline.derivative(x), 1e-6);
      EXPECT_NEAR((spline.derivative(x + h) - spline.derivative(x - h)) / (2 * h), spline.second_derivative(x), 1e-4);
    }
  }
}

TEST(CubicSpline, GoesOnAsAStraightLineOutside) {
  const Samples s = random_samples(5, 9);
  for (const CubicSpline& spline : {natural_spline(s.x, s.y), hermite_spline(s.x, s.y, s.gradient)}) {
    EXPECT_DOUBLE_EQ(spline.value(spline.x[0] - 2), spline.y[0] - 2 * spline.slope[0]);
    EXPECT_DOUBLE_EQ(spline.value(spline.x[4] + 2), spline.y[4] + 2 * spline.slope[4]);
    EXPECT_EQ(spline.second_derivative(spline.x[0] - 1), 0);
  }
}

TEST(CubicSpline, ReproducesWhatItCanRepresent) {
  const Samples s = random_samples(6, 2);
  const auto line = [](double x) { return 2 - 3 * x; };
  const auto cubic = [](double x) { return 1 + x * (2 + x * (-3 + 0.7 * x)); };
  const auto slope = [](double x) { return 2 - 6 * x + 2.1 * x * x; };
  const CubicSpline natural = natural_spline(s.x, s.x.unaryExpr(line));
  const CubicSpline hermite = hermite_spline(s.x, s.x.unaryExpr(cubic), s.x.unaryExpr(slope));
  for (double x = s.x.minCoeff(); x < s.x.maxCoeff(); x += 0.01) {
    EXPECT_NEAR(natural.value(x), line(x), 1e-12);
    EXPECT_NEAR(hermite.value(x), cubic(x), 1e-12);
  }
}

// Order 4 of the error: Hermite everywhere; natural away from its ends, whose false curvature decays inwards.
TEST(CubicSpline, ConvergesWithOrderFour) {
  const auto f = [](double x) { return std::exp(std::sin(3 * x)); };
  const auto g = [&](double x) { return 3 * std::cos(3 * x) * f(x); };
  const auto errors = [&](int n) {
    const VectorXd x = VectorXd::LinSpaced(n + 1, 0, 4);
    const CubicSpline natural = natural_spline(x, x.unaryExpr(f));
    const CubicSpline hermite = hermite_spline(x, x.unaryExpr(f), x.unaryExpr(g));
    double en = 0, eh = 0;
    for (int i = 0; i <= 20000; ++i) {
      const double at = 4.0 * i / 20000;
      if (at > 1 && at < 3) en = std::max(en, std::abs(natural.value(at) - f(at)));
      eh = std::max(eh, std::abs(hermite.value(at) - f(at)));
    }
    return std::pair(en, eh);
  };
  const auto coarse = errors(80), fine = errors(160);
  EXPECT_NEAR(std::log2(coarse.first / fine.first), 4, 0.2);
  EXPECT_NEAR(std::log2(coarse.second / fine.second), 4, 0.2);
}

TEST(CubicSpline, MinimumIsTheGlobalOne) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const int n = 1 + static_cast<int>(seed) % 13;
    const Samples s = random_samples(n, seed);
    const double lower = -1.5 + 0.01 * (seed % 50), upper = 1 + 0.01 * (seed % 130);
    for (const CubicSpline& spline : {natural_spline(s.x, s.y), hermite_spline(s.x, s.y, s.gradient)}) {
      const Minimum m = minimum(spline, lower, upper);
      ASSERT_GE(m.x, lower);
      ASSERT_LE(m.x, upper);
      EXPECT_EQ(m.value, spline.value(m.x));
      double dense = HUGE_VAL;
      for (int i = 0; i <= 20000; ++i) dense = std::min(dense, spline.value(lower + (upper - lower) * i / 20000));
      EXPECT_LE(m.value, dense + 1e-12 * (1 + std::abs(dense)));
      EXPECT_NEAR(m.value, dense, 1e-4 * (1 + spline.slope.cwiseAbs().maxCoeff()));
      if (m.x > lower && m.x < upper && (spline.x.array() - m.x).abs().minCoeff() > 1e-9) {
        EXPECT_NEAR(spline.derivative(m.x), 0, 1e-6);
      }
    }
  }
}

TEST(CubicSpline, MinimumOfSimpleShapes) {
  const VectorXd x = VectorXd::LinSpaced(3, 0, 2);
  // (x - 1.3)^2 through values and gradients: exact
  const CubicSpline parabola = hermite_spline(x, (x.array() - 1.3).square(), 2 * (x.array() - 1.3));
  EXPECT_NEAR(minimum(parabola, 0, 2).x, 1.3, 1e-14);
  EXPECT_EQ(minimum(parabola, 1.5, 2).x, 1.5);
  EXPECT_EQ(minimum(parabola, 0, 1.2).x, 1.2);
  // a line: its lower end; a constant: a node, so that nothing new is proposed
  EXPECT_EQ(minimum(natural_spline(x, 3 * x), -1, 2).x, -1);
  EXPECT_EQ(minimum(natural_spline(x, VectorXd::Constant(3, 4.0)), 0, 2).x, 0);
  EXPECT_EQ(minimum(parabola, 0.7, 0.7).x, 0.7);
}

TEST(CubicSpline, NearDuplicatesKeepTheLowerCost) {
  VectorXd x(5), y(5), g(5);
  x << 1, 0, 1 + 1e-12, 2, 1;
  y << 5, 0, 4, 1, 6;
  g << 50, 0, 40, 1, 60;
  const CubicSpline natural = natural_spline(x, y), hermite = hermite_spline(x, y, g);
  ASSERT_EQ(natural.x.size(), 3);
  EXPECT_EQ(natural.y[1], 4);
  EXPECT_EQ(hermite.y[1], 4);
  EXPECT_EQ(hermite.slope[1], 40);
  EXPECT_TRUE(natural.slope.allFinite());
  EXPECT_EQ(natural_spline(VectorXd::Constant(3, 2.0), y.head(3)).value(7), 0);
}

TEST(CubicSpline, RejectsBadSamples) {
  const VectorXd x = VectorXd::LinSpaced(3, 0, 1), y = x;
  VectorXd bad = y;
  bad[1] = NAN;
  EXPECT_THROW(natural_spline(VectorXd(), VectorXd()), std::invalid_argument);
  EXPECT_THROW(natural_spline(x, y.head(2)), std::invalid_argument);
  EXPECT_THROW(natural_spline(x, bad), std::invalid_argument);
  EXPECT_THROW(natural_spline(bad, y), std::invalid_argument);
  EXPECT_THROW(hermite_spline(x, y, bad), std::invalid_argument);
  EXPECT_THROW(hermite_spline(x, y, VectorXd()), std::invalid_argument);
  EXPECT_THROW(minimum(natural_spline(x, y), 1, 0), std::invalid_argument);
}

TEST(CubicSpline, FollowsTheScalesOfBothAxes) {
  const Samples s = random_samples(9, 21);
  const double a = 1e-6, b = 1e9;
  const Minimum plain = minimum(natural_spline(s.x, s.y), -1, 2);
  const Minimum scaled = minimum(natural_spline(a * s.x, b * s.y), -a, 2 * a);
  EXPECT_NEAR(scaled.x / a, plain.x, 1e-10);
  EXPECT_NEAR(scaled.value / b, plain.value, 1e-10);
}

}  // namespace
}  // namespace dodyn::surrogate::test_cubic_spline
