#include "surrogate/acquisition.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "surrogate/warp.hpp"

namespace dodyn::surrogate::test_acquisition {
namespace {

TEST(Acquisition, LogHMatchesTheDirectFormAndItsTail) {
  for (double z = -5; z < 8; z += 0.01)
    EXPECT_NEAR(log_h(z), std::log(normal_density(z) + z * normal_cdf(z)), 1e-9) << z;
  for (const double z : {-30.0, -100.0, -1e4, -1e8})  // h -> phi / z^2
    EXPECT_NEAR(log_h(z) / (-0.5 * z * z - std::log(z * z) - 0.9189385332046727), 1, 1e-5);
  EXPECT_TRUE(std::isfinite(log_h(-1e100)) && std::isfinite(log_h(1e100)));
}

TEST(Acquisition, ContinuousWhereItsFormsMeet) {
  for (const double z : {-1.0, -6.0, -25.0, 0.0}) {
    double below, above;
    EXPECT_NEAR(log_h(z - 1e-9, &below), log_h(z + 1e-9, &above), 1e-6);
    EXPECT_NEAR(below / above, 1, 1e-6);
    EXPECT_NEAR(log_normal_cdf(z - 1e-9, &below), log_normal_cdf(z + 1e-9, &above), 1e-6);
    EXPECT_NEAR(below / above, 1, 1e-6);
  }
}

template <class F>
void expect_derivatives(F&& f) {
  for (const double mean : {-30.0, -2.0, -0.1, 0.0, 0.3, 4.0, 25.0})
    for (const double variance : {0.01, 0.5, 3.0}) {
      const Acquisition a = f(mean, variance);
      ASSERT_TRUE(std::isfinite(a.value));
      const double h = 1e-6, k = 1e-6 * variance;
      EXPECT_NEAR((f(mean + h, variance).value - f(mean - h, variance).value) / (2 * h), a.by_mean,
                  1e-4 * (1 + std::abs(a.by_mean)));
      EXPECT_NEAR((f(mean, variance + k).value - f(mean, variance - k).value) / (2 * k), a.by_variance,
                  1e-4 * (1 + std::abs(a.by_variance)));
    }
}

TEST(Acquisition, DerivativesMatchDifferences) {
  expect_derivatives([](double m, double v) { return log_expected_improvement(m, v, 0.2); });
  expect_derivatives([](double m, double v) { return log_augmented_expected_improvement(m, v, 0.2, 0.1); });
  expect_derivatives([](double m, double v) { return log_probability_below(m, v, 0.2); });
}

TEST(Acquisition, GrowsWithDoubtAndFallsWithTheMean) {
  for (const double mean : {-10.0, 0.0, 10.0})
    for (const double variance : {1e-8, 1.0, 1e8}) {
      const Acquisition a = log_expected_improvement(mean, variance, 1);
      EXPECT_LE(a.by_mean, 0);
      EXPECT_GE(a.by_variance, 0);
    }
  EXPECT_TRUE(std::isfinite(log_expected_improvement(1, 0, 0).value));
  // Never below 0, nor (Jensen) below the improvement of the mean. Noise reduces the expected improvement.
  for (const double mean : {-1e3, -1.0, 0.9, 1.1, 30.0, 1e6})
    for (const double variance : {0.0, 1e-12, 1.0, 1e6}) {
      const double value = log_expected_improvement(mean, variance, 1).value;
      EXPECT_GE(std::exp(value), 0);
      EXPECT_GE(std::exp(value), (1 - mean) * (1 - 1e-12));
      EXPECT_TRUE(std::isfinite(value));
      EXPECT_LE(log_augmented_expected_improvement(mean, variance, 1, 0.1).value, value);
      EXPECT_LE(log_probability_below(mean, variance, 1).value, 0);
    }
  EXPECT_NEAR(std::exp(log_expected_improvement(-3, 0, 0).value), 3, 1e-6);
}

TEST(Warp, OfALimitIsTheSameOnEitherSideOfIt) {
  for (const double width : {1e-3, 1.0, 1e3, HUGE_VAL}) {
    const Warp w{5, width, true};
    EXPECT_EQ(w.forward(5), 0);
    EXPECT_EQ(w.slope(5), 1);
    double last = 0;
    for (const double t : {1e-6, 0.3, 1.0, 40.0, 1e6}) {
      EXPECT_DOUBLE_EQ(w.forward(5 + t), -w.forward(5 - t));
      EXPECT_GT(w.forward(5 + t), last);
      last = w.forward(5 + t);
      for (const double y : {5 - t, 5 + t}) EXPECT_NEAR(w.backward(w.forward(y)), y, 1e-9 * (1 + std::abs(y)));
      const double h = 1e-6 * (1 + t);
      EXPECT_NEAR((w.forward(5 + t + h) - w.forward(5 + t - h)) / (2 * h), w.slope(5 + t), 1e-4);
    }
  }
}

TEST(Warp, IsMonotoneWithSlopeOneAtTheLeastAndInverts) {
  for (const double width : {1e-3, 1.0, 1e3, HUGE_VAL}) {
    const Warp w{-2, width};
    EXPECT_EQ(w.forward(-2), 0);
    EXPECT_EQ(w.slope(-2), 1);
    double last = -HUGE_VAL;
    for (const double y : {-50.0, -2.5, -2.0, -1.9, 0.0, 7.0, 1e5}) {
      EXPECT_GT(w.forward(y), last);
      last = w.forward(y);
      EXPECT_NEAR(w.backward(last), y, 1e-9 * (1 + std::abs(y)));
      const double h = 1e-7 * (1 + std::abs(y));
      if (y != -2.0) {
        EXPECT_NEAR((w.forward(y + h) - w.forward(y - h)) / (2 * h), w.slope(y), 1e-4);
      }
    }
  }
}

}  // namespace
}  // namespace dodyn::surrogate::test_acquisition
