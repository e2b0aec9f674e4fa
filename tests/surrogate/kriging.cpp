#include "surrogate/kriging.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>
#include <stdexcept>

#include "surrogate/random.hpp"

namespace dodyn::surrogate::test_kriging {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

double wave(const VectorXd& x) {
  double y = 0;
  for (Index i = 0; i < x.size(); ++i) y += std::sin((2.0 + i) * x(i)) + 0.5 * x(i) * x((i + 1) % x.size());
  return y;
}
VectorXd wave_gradient(const VectorXd& x) {
  VectorXd g(x.size());
  for (Index i = 0; i < x.size(); ++i) {
    VectorXd up = x, down = x;
    up(i) += 1e-6, down(i) -= 1e-6;
    g(i) = (wave(up) - wave(down)) / 2e-6;
  }
  return g;
}

enum class With { values, gradients, some_gradients };

Samples random_samples(Index d, Index n, With with, std::uint64_t seed) {
  Random random(seed);
  Samples s;
  s.x = MatrixXd::NullaryExpr(d, n, [&] { return random.uniform(); });
  s.y.resize(n);
  if (with != With::values) s.gradient.setConstant(d, n, NAN);
  for (Index i = 0; i < n; ++i) {
    s.y(i) = wave(s.x.col(i));
    if (with == With::gradients || (with == With::some_gradients && i % 2)) {
      s.gradient.col(i) = wave_gradient(s.x.col(i));
    }
  }
  return s;
}

template <class Check>
void for_every_model(Check&& check) {
  for (const With with : {With::values, With::gradients, With::some_gradients}) {
    SCOPED_TRACE(testing::Message() << "with " << static_cast<int>(with));
    check(KrigingOptions{}, with);
  }
}

bool finite(const Prediction& p) {
  return std::isfinite(p.mean) && std::isfinite(p.variance) && p.variance >= 0 && p.mean_gradient.allFinite() &&
         p.variance_gradient.allFinite();
}

TEST(Kriging, InterpolatesValuesAndGradients) {
  for_every_model([](const KrigingOptions& options, With with) {
    const Samples s = random_samples(2, 9, with, 1);
    const Kriging model = Kriging::fit(s, options);
    for (Index i = 0; i < s.size(); ++i) {
      const Prediction p = model.predict(s.x.col(i));
      EXPECT_NEAR(p.mean, s.y(i), 1e-5);
      EXPECT_LE(p.variance, 1e-6 * model.hyperparameters().variance);
      if (s.gradient.size() > 0 && s.gradient.col(i).allFinite()) {
        EXPECT_LE((p.mean_gradient - s.gradient.col(i)).norm(), 1e-3);
      }
    }
  });
}

TEST(Kriging, GradientsOfThePredictionAreThoseOfItsValues) {
  for_every_model([](const KrigingOptions& options, With with) {
    const Kriging model = Kriging::fit(random_samples(3, 8, with, 2), options);
    Random random(5);
    for (int trial = 0; trial < 10; ++trial) {
      const VectorXd x = VectorXd::NullaryExpr(3, [&] { return 1.4 * random.uniform() - 0.2; });
      const Prediction p = model.predict(x);
      for (Index i = 0; i < 3; ++i) {
        const double h = 1e-5;
        VectorXd up = x, down = x;
        up(i) += h, down(i) -= h;
        const Prediction a = model.predict(up), b = model.predict(down);
        EXPECT_NEAR((a.mean - b.mean) / (2 * h), p.mean_gradient(i), 2e-5 * (1 + std::abs(p.mean_gradient(i))));
        if (b.variance > 0 && p.variance > 0) {
          EXPECT_NEAR((a.variance - b.variance) / (2 * h), p.variance_gradient(i),
                      1e-4 * (1e-2 + std::abs(p.variance_gradient(i))));
        }
      }
    }
  });
}

TEST(Kriging, GradientOfThePosteriorMatchesDifferences) {
  for (const bool noisy : {false, true})
    for (const bool nugget : {false, true})
      for_every_model([=](KrigingOptions options, With with) {
        options.nugget = nugget;
        Samples s = random_samples(2, 7, with, 3);
        if (noisy) s.variance = VectorXd::LinSpaced(7, 0.01, 0.1);
        VectorXd at = VectorXd::Zero(2 + noisy + nugget);
        at(0) = -1.2, at(1) = -0.7;
        if (noisy) at(2) = 0.3;
        if (nugget) at(at.size() - 1) = std::log(0.02);
        VectorXd gradient;
        Kriging::log_posterior(s, options, at, &gradient);
        ASSERT_EQ(gradient.size(), at.size());
        for (Index i = 0; i < at.size(); ++i) {
          const double h = 1e-5;
          VectorXd up = at, down = at;
          up(i) += h, down(i) -= h;
          const double difference =
              (Kriging::log_posterior(s, options, up, nullptr) - Kriging::log_posterior(s, options, down, nullptr)) /
              (2 * h);
          EXPECT_NEAR(gradient(i), difference, 1e-4 * (1 + std::abs(difference)));
        }
      });
}

TEST(Kriging, ManyAtOnceAgreeWithOneByOneAndWithTheJointCovariance) {
  for_every_model([](const KrigingOptions& options, With with) {
    const Kriging model = Kriging::fit(random_samples(2, 8, with, 4), options);
    Random random(6);
    const MatrixXd x = MatrixXd::NullaryExpr(2, 5, [&] { return random.uniform(); });
    VectorXd mean, variance;
    model.predict(x, mean, variance);
    const MatrixXd c = model.covariance(x);
    for (Index i = 0; i < 5; ++i) {
      const Prediction p = model.predict(x.col(i));
      EXPECT_NEAR(mean(i), p.mean, 1e-9);
      EXPECT_NEAR(variance(i), p.variance, 1e-9);
      EXPECT_NEAR(c(i, i), p.variance, 1e-9);
    }
    EXPECT_LE((c - c.transpose()).norm(), 1e-10);
  });
}

// Ordinary kriging by its textbook formulas, with a general solver.
TEST(Kriging, OnePredictionHasItsTextbookMeanAndVariance) {
  const Samples s = random_samples(2, 12, With::values, 8);
  Hyperparameters h;
  h.log_length = VectorXd::Constant(2, std::log(0.4));
  h.variance = 1.7;
  const Kriging model = Kriging::with(s, KrigingOptions(), h);
  const auto correlation = [](const VectorXd& a, const VectorXd& b) {
    const double r = std::sqrt(5.0) * (a - b).norm() / 0.4;
    return (1 + r + r * r / 3) * std::exp(-r);
  };
  const Index n = s.x.cols();
  const MatrixXd R = MatrixXd::NullaryExpr(n, n, [&](Index i, Index j) { return correlation(s.x.col(i), s.x.col(j)); });
  const Eigen::FullPivLU<MatrixXd> solver(R);
  const VectorXd one = VectorXd::Ones(n), weight_of_one = solver.solve(one);
  const double mean_of_all = weight_of_one.dot(s.y) / weight_of_one.sum();
  Random random(9);
  for (int repeat = 0; repeat < 5; ++repeat) {
    const MatrixXd x = MatrixXd::NullaryExpr(2, 1, [&] { return random.uniform(); });
    const VectorXd k = VectorXd::NullaryExpr(n, [&](Index i) { return correlation(s.x.col(i), x); });
    const VectorXd weights = solver.solve(k);
    const double unexplained = 1 - one.dot(weights);
    VectorXd mean, variance;
    model.predict(x, mean, variance);
    EXPECT_NEAR(mean(0), mean_of_all + weights.dot(s.y - mean_of_all * one), 1e-6);
    EXPECT_NEAR(variance(0), 1.7 * (1 - k.dot(weights) + unexplained * unexplained / weight_of_one.sum()), 1e-6);
  }
}

// Through the samples, with the model's mean and covariance elsewhere.
TEST(Kriging, DrawnFunctionsHaveTheJointDistribution) {
  Samples s;
  s.x = Eigen::RowVectorXd::LinSpaced(4, 0, 1);
  s.y = s.x.row(0).transpose().unaryExpr([](double x) { return std::sin(7 * x); });
  const Kriging model = Kriging::fit(s, {});
  MatrixXd x(1, 3);
  x << 1.0 / 3, 0.45, 0.9;
  constexpr int draws = 20000;
  Random random(1);
  MatrixXd normal(x.cols(), draws);
  for (double& value : normal.reshaped()) value = random.normal();
  const MatrixXd drawn = model.drawn(x, normal), expected = model.covariance(x);
  VectorXd mean, variance;
  model.predict(x, mean, variance);
  const MatrixXd off = drawn.colwise() - mean, found = off * off.transpose() / draws;
  const double unit = variance.maxCoeff();
  ASSERT_GT(unit, 1e-6);
  EXPECT_LE((drawn.row(0).array() - s.y(1)).abs().maxCoeff(), 1e-3 * std::sqrt(unit));
  EXPECT_LE(off.rowwise().mean().cwiseAbs().maxCoeff(), 4 * std::sqrt(unit / draws));
  EXPECT_LE((found - expected).cwiseAbs().maxCoeff(), 4 * std::sqrt(2.0 / draws) * unit);
}

TEST(Kriging, GrowthEqualsAFitWithAllSamples) {
  for_every_model([](const KrigingOptions& options, With with) {
    const Samples all = random_samples(2, 9, with, 7);
    Samples few = all;
    few.x.conservativeResize(2, 8);
    few.y.conservativeResize(8);
    if (few.gradient.size() > 0) few.gradient.conservativeResize(2, 8);
    const Kriging small = Kriging::fit(few, options);
    const Kriging grown =
        small.grown(all.x.col(8), all.y(8), all.gradient.size() > 0 ? VectorXd(all.gradient.col(8)) : VectorXd());
    const Kriging whole = Kriging::with(all, options, small.hyperparameters());
    for (double t = 0; t <= 1; t += 0.1) {
      const VectorXd x = Eigen::Vector2d(t, 1 - t * t);
      EXPECT_NEAR(grown.predict(x).mean, whole.predict(x).mean, 1e-6);
      EXPECT_NEAR(grown.predict(x).variance, whole.predict(x).variance, 1e-6);
    }
  });
}

TEST(Kriging, LeaveOneOutIsWhatLeavingOneOutGives) {
  for_every_model([](const KrigingOptions& options, With with) {
    const Samples all = random_samples(2, 10, with, 8);
    const Kriging model = Kriging::fit(all, options);
    const auto loo = model.leave_one_out();
    for (Index out = 0; out < 10; ++out) {
      Samples rest = all;
      for (Index i = out; i + 1 < 10; ++i) {
        rest.x.col(i) = all.x.col(i + 1);
        rest.y(i) = all.y(i + 1);
        if (all.gradient.size() > 0) rest.gradient.col(i) = all.gradient.col(i + 1);
      }
      rest.x.conservativeResize(2, 9);
      rest.y.conservativeResize(9);
      if (all.gradient.size() > 0) rest.gradient.conservativeResize(2, 9);
      const Prediction p = Kriging::with(rest, options, model.hyperparameters()).predict(all.x.col(out));
      EXPECT_NEAR(loo.mean(out), p.mean, 1e-5 * (1 + std::abs(p.mean)));
      EXPECT_NEAR(loo.variance(out), p.variance, 1e-5 * (1 + p.variance));
    }
    EXPECT_GT(loo.quality(), with == With::values ? 0.0 : 0.5);
    EXPECT_LE(loo.quality(), 1.0);
  });
}

TEST(Kriging, LeaveOneOutOfSomeSamplesIsThatOfAll) {
  for_every_model([](const KrigingOptions& options, With with) {
    const Samples samples = random_samples(2, 10, with, 8);
    const Kriging model = Kriging::fit(samples, options);
    EXPECT_LT((model.sample_places() - samples.x).norm(), 1e-12);
    const auto all = model.leave_one_out(), some = model.leave_one_out({7, 2});
    ASSERT_EQ(some.mean.size(), 2);
    for (const Index k : {0, 1}) {
      const Index i = k == 0 ? 7 : 2;
      EXPECT_NEAR(some.observed(k), all.observed(i), 1e-12);
      EXPECT_NEAR(some.mean(k), all.mean(i), 1e-9);
      EXPECT_NEAR(some.variance(k), all.variance(i), 1e-9);
    }
  });
}

TEST(Kriging, GradientsSharpenThePrediction) {
  const Samples with = random_samples(3, 12, With::gradients, 9);
  Samples without = with;
  without.gradient.resize(0, 0);
  const Kriging enhanced = Kriging::fit(with, {}), plain = Kriging::fit(without, {});
  Random random(10);
  double error_enhanced = 0, error_plain = 0;
  for (int i = 0; i < 200; ++i) {
    const VectorXd x = VectorXd::NullaryExpr(3, [&] { return random.uniform(); });
    error_enhanced += std::pow(enhanced.predict(x).mean - wave(x), 2);
    error_plain += std::pow(plain.predict(x).mean - wave(x), 2);
    EXPECT_LE(Kriging::with(with, {}, plain.hyperparameters()).predict(x).variance,
              plain.predict(x).variance * (1 + 1e-3) * 20);
  }
  EXPECT_LT(error_enhanced, 0.1 * error_plain);
}

TEST(Kriging, FollowsScalesAndOrder) {
  for_every_model([](const KrigingOptions& options, With with) {
    const Samples s = random_samples(2, 8, with, 11);
    const double b = 1e12, c = 3e12;
    Samples scaled = s, permuted = s;
    scaled.y = (b * s.y).array() + c;
    if (s.gradient.size() > 0) scaled.gradient = s.gradient * b;
    for (Index i = 0; i < 8; ++i) {
      const Index from = (3 * i + 1) % 8;
      permuted.x.col(i) = s.x.col(from);
      permuted.y(i) = s.y(from);
      if (s.gradient.size() > 0) permuted.gradient.col(i) = s.gradient.col(from);
    }
    const Kriging plain = Kriging::fit(s, options), other = Kriging::fit(scaled, options),
                  mixed = Kriging::fit(permuted, options);
    for (double t = 0; t <= 1; t += 0.125) {
      const VectorXd x = Eigen::Vector2d(t, 1 - t * t);
      const Prediction p = plain.predict(x), q = other.predict(x), m = mixed.predict(x);
      EXPECT_NEAR((q.mean - c) / b, p.mean, 2e-2);
      EXPECT_NEAR(q.variance / b / b, p.variance, 2e-2);
      EXPECT_NEAR(m.mean, p.mean, 2e-2);
      EXPECT_NEAR(m.variance, p.variance, 2e-2);
    }
  });
}

TEST(Kriging, NuggetFindsTheNoise) {
  Random random(12);
  Samples s = random_samples(1, 80, With::values, 13);
  for (double& y : s.y) y += 0.3 * random.normal();
  KrigingOptions options;
  options.nugget = true;
  const Kriging model = Kriging::fit(s, options);
  EXPECT_NEAR(std::sqrt(model.noise_variance()), 0.3, 0.08);
  double error = 0;
  for (double t = 0.05; t < 1; t += 0.05) {
    const VectorXd x = VectorXd::Constant(1, t);
    error = std::max(error, std::abs(model.predict(x).mean - wave(x)));
  }
  EXPECT_LT(error, 0.25);
}

TEST(Kriging, KnownNoiseIsSmoothedAndRepeatsSharpen) {
  Samples s;
  s.x = MatrixXd::Zero(1, 12);
  s.y.resize(12);
  s.variance = VectorXd::Constant(12, 0.25);
  Random random(14);
  for (Index i = 0; i < 12; ++i) {
    s.x(0, i) = i < 6 ? 0.2 * static_cast<double>(i) : 0.6;  // seven at one place
    s.y(i) = 3 * s.x(0, i) + 0.5 * random.normal();
  }
  KrigingOptions options;
  const Kriging model = Kriging::fit(s, options);
  EXPECT_LT(model.predict(VectorXd::Constant(1, 0.6)).variance, model.predict(VectorXd::Constant(1, 0.0)).variance);
  EXPECT_LE(model.predict(VectorXd::Constant(1, 0.6)).variance, 0.25 / 7 * 1.01);
}

TEST(Kriging, NeverANaN) {
  Random random(15);
  std::vector<Samples> odd;
  const auto add = [&](MatrixXd x, VectorXd y) {
    Samples s;
    s.x = std::move(x);
    s.y = std::move(y);
    odd.push_back(s);
    s.gradient = MatrixXd::NullaryExpr(s.x.rows(), s.x.cols(), [&] { return random.normal(); });
    odd.push_back(s);
    s.gradient.setZero();
    odd.push_back(s);
    s.variance = VectorXd::Constant(s.size(), 0.01);
    odd.push_back(s);
  };
  const MatrixXd spread = MatrixXd::NullaryExpr(2, 12, [&] { return random.uniform(); });
  add(MatrixXd::Constant(2, 1, 0.3), VectorXd::Constant(1, 7));        // one sample
  add(spread, VectorXd::Constant(12, -4));                             // constant
  add(spread, VectorXd::Zero(12));                                     // zero
  add(MatrixXd::Constant(2, 12, 0.5), VectorXd::LinSpaced(12, 0, 1));  // one place, many values
  add(VectorXd::LinSpaced(12, 0, 1).transpose().replicate(2, 1), VectorXd::LinSpaced(12, 0, 1));  // collinear
  add(spread, VectorXd::LinSpaced(12, -12, 12).array().exp());                                    // ten orders
  add(spread, VectorXd::LinSpaced(12, 0, 1) * 1e-140);
  add(spread, VectorXd::LinSpaced(12, 0, 1) * 1e140);
  MatrixXd close = spread;
  for (Index i = 0; i < 12; ++i) close.col(i) = spread.col(i / 4) + spread.col(i) * std::pow(10.0, -3 - i % 4 * 2);
  add(close, VectorXd::NullaryExpr(12, [&] { return random.normal(); }));  // near-duplicates, different values
  add(spread.array() * 1e-300 + 0.5, VectorXd::LinSpaced(12, 0, 1));
  for (const Samples& s : odd) {
    for_every_model([&](KrigingOptions options, With) {
      for (const bool nugget : {false, true}) {
        options.nugget = nugget;
        options.max_evaluations = 15;
        const Kriging model = Kriging::fit(s, options);
        for (const VectorXd& x :
             {VectorXd(s.x.col(0)), VectorXd(s.x.col(0).array() + 0.1), VectorXd(s.x.rowwise().mean())})
          EXPECT_TRUE(finite(model.predict(x)));
        const auto loo = model.leave_one_out();
        EXPECT_TRUE(loo.mean.allFinite() && loo.variance.allFinite() && std::isfinite(loo.quality()));
        EXPECT_TRUE(finite(model.grown(s.x.col(0), s.y(0)).predict(s.x.col(0))));
        EXPECT_TRUE(std::isfinite(model.hyperparameters().likelihood));
      }
    });
  }
}

// The variance of a fit is the most probable one for its lengths. So it follows again from them, whatever variance is
// given. For a linear function the lengths are long and the variance is far above that of the values; with short lengths
// it is of their size.
TEST(Kriging, TheVarianceFollowsFromTheLengths) {
  Samples s = random_samples(2, 15, With::values, 5);
  for (Index i = 0; i < s.size(); ++i) s.y(i) = 3 * s.x(0, i) - 5 * s.x(1, i) + 0.01 * wave(s.x.col(i));
  const double spread = (s.y.array() - s.y.mean()).square().mean();
  const KrigingOptions options;
  Hyperparameters h = Kriging::fit(s, options).hyperparameters();
  const double fitted = h.variance;
  h.variance = 1;
  EXPECT_NEAR(Kriging::with_lengths_of(s, options, h).hyperparameters().variance, fitted, 1e-6 * fitted);
  EXPECT_GT(fitted, 20 * spread);
  h.log_length.setConstant(std::log(0.5));
  const double of_short = Kriging::with_lengths_of(s, options, h).hyperparameters().variance;
  EXPECT_GT(of_short, spread / 5);
  EXPECT_LT(of_short, 5 * spread);
}

TEST(Kriging, RejectsBadSamples) {
  const Samples good = random_samples(2, 5, With::gradients, 16);
  Samples bad = good;
  bad.y(2) = NAN;
  EXPECT_THROW(Kriging::fit(bad, {}), std::invalid_argument);
  bad = good, bad.x(0, 1) = INFINITY;
  EXPECT_THROW(Kriging::fit(bad, {}), std::invalid_argument);
  bad = good, bad.y(0) = 1e160;
  EXPECT_THROW(Kriging::fit(bad, {}), std::invalid_argument);
  bad = good, bad.y.conservativeResize(4);
  EXPECT_THROW(Kriging::fit(bad, {}), std::invalid_argument);
  bad = good, bad.variance = VectorXd::Constant(5, -1);
  EXPECT_THROW(Kriging::fit(bad, {}), std::invalid_argument);
  EXPECT_THROW(Kriging::fit(Samples(), {}), std::invalid_argument);
  bad = good, bad.gradient(0, 0) = NAN;  // an absent gradient is all right
  EXPECT_TRUE(finite(Kriging::fit(bad, {}).predict(VectorXd::Zero(2))));
}

}  // namespace
}  // namespace dodyn::surrogate::test_kriging
