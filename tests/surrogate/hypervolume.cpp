#include "surrogate/hypervolume.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "surrogate/random.hpp"

namespace dodyn::surrogate::test_hypervolume {
namespace {

using Eigen::Vector2d;
using Eigen::VectorXd;

const std::vector<Vector2d> points = {{1, 5}, {2, 3}, {2, 3.5}, {3, 2.5}, {4, 4}, {5, 1}, {1.5, 5}};

TEST(Hypervolume, TheFrontHoldsWhatNothingDominates) {
  const Front front = Front::of(points);
  ASSERT_EQ(front.points.cols(), 4);
  for (Eigen::Index i = 0; i < 4; ++i)
    for (const Vector2d& p : points)
      EXPECT_FALSE((p.array() <= front.points.col(i).array()).all() && p != front.points.col(i));
  EXPECT_TRUE((front.reference.array() > Vector2d(5, 5).array()).all());
  EXPECT_EQ(Front::of(std::vector<Vector2d>{}).points.cols(), 0);
}

// The area by counting: random points that some point of the set dominates.
TEST(Hypervolume, IsTheDominatedArea) {
  const Front front = Front::of(points);
  Random random(1);
  int inside = 0;
  const int n = 200000;
  const Vector2d low(0, 0), size = front.reference - low;
  for (int i = 0; i < n; ++i) {
    const Vector2d at = low + Vector2d(random.uniform(), random.uniform()).cwiseProduct(size);
    for (const Vector2d& p : points)
      if ((p.array() <= at.array()).all()) {
        ++inside;
        break;
      }
  }
  EXPECT_NEAR(front.hypervolume(), size.prod() * inside / n, 0.05);
}

// The expected gain by sampling both objectives and computing the area anew; its gradient by differences.
TEST(Hypervolume, ExpectedGainMatchesSamplingAndItsGradientDifferences) {
  const Front front = Front::of(points);
  const auto prediction = [](double mean, double variance, Vector2d by_mean, Vector2d by_variance) {
    return Prediction{mean, variance, by_mean, by_variance};
  };
  for (const auto& [m1, m2] : {std::pair(1.5, 2.0), {3.0, 2.0}, {4.0, 4.5}, {0.5, 0.5}}) {
    const double v1 = 0.3, v2 = 0.5;
    const Prediction a = prediction(m1, v1, {1, 0.2}, {0.1, 0}), b = prediction(m2, v2, {-0.5, 1}, {0, 0.2});
    Random random(7);
    double sum = 0;
    const int n = 100000;
    for (int i = 0; i < n; ++i) {
      auto more = points;
      more.emplace_back(m1 + std::sqrt(v1) * random.normal(), m2 + std::sqrt(v2) * random.normal());
      Front grown = Front::of(more);
      grown.reference = front.reference;
      double area = 0, below = front.reference[1];
      for (Eigen::Index k = 0; k < grown.points.cols(); ++k) {
        if (grown.points(0, k) >= front.reference[0] || grown.points(1, k) >= below) continue;
        area += (front.reference[0] - grown.points(0, k)) * (below - grown.points(1, k));
        below = grown.points(1, k);
      }
      sum += area - front.hypervolume();
    }
    VectorXd gradient;
    const double value = log_expected_gain(front, {a, b}, &gradient);
    EXPECT_NEAR(std::exp(value), sum / n, 0.02 * sum / n + 0.003);
    for (int k = 0; k < 2; ++k) {
      const double h = 1e-6;
      const auto moved = [&](double step) {
        Prediction p = a, q = b;
        p.mean += step * a.mean_gradient(k), p.variance += step * a.variance_gradient(k);
        q.mean += step * b.mean_gradient(k), q.variance += step * b.variance_gradient(k);
        return log_expected_gain(front, {p, q}, nullptr);
      };
      EXPECT_NEAR(gradient(k), (moved(h) - moved(-h)) / (2 * h), 1e-6 * (1 + std::abs(gradient(k))));
    }
  }
}

// Three objectives: the volume by counting, the expected gain by sampling, its gradient by differences.
TEST(Hypervolume, ThreeObjectives) {
  Random random(5);
  const auto drawn = [&](bool normal) {
    VectorXd x(3);
    for (double& v : x) v = normal ? random.normal() : random.uniform();
    return x;
  };
  std::vector<VectorXd> all;
  for (int i = 0; i < 12; ++i) all.push_back(drawn(false));
  all.push_back(all[3]);
  const Front front = Front::of(all);
  for (Eigen::Index i = 0; i < front.points.cols(); ++i)
    for (const VectorXd& p : all)
      EXPECT_FALSE((p.array() <= front.points.col(i).array()).all() && p != front.points.col(i));
  const auto dominated = [&](const VectorXd& at) {
    return std::any_of(all.begin(), all.end(), [&](const VectorXd& p) { return (p.array() <= at.array()).all(); });
  };
  const int n = 200000;
  const VectorXd low = VectorXd::Constant(3, -1), size = front.reference - low;
  int inside = 0;
  for (int i = 0; i < n; ++i) inside += dominated(low + drawn(false).cwiseProduct(size));
  EXPECT_NEAR(front.hypervolume(), size.prod() * inside / n, 0.02);

  const VectorXd mean = Eigen::Vector3d(0.2, 0.3, 0.25), variance = Eigen::Vector3d(0.05, 0.02, 0.04);
  std::vector<Prediction> predicted;
  for (int k = 0; k < 3; ++k)
    predicted.push_back({mean(k), variance(k), Eigen::Vector2d(1 - k, 0.3 * k), Eigen::Vector2d(0.05, -0.02 * k)});
  double sum = 0;
  const int samples = 20000;
  for (int i = 0; i < samples; ++i) {
    auto more = all;
    more.push_back(mean + variance.cwiseSqrt().cwiseProduct(drawn(true)));
    Front grown = Front::of(more);
    // what lies beyond the reference dominates nothing within it
    if ((more.back().array() >= front.reference.array()).any()) continue;
    grown.reference = front.reference;
    sum += grown.hypervolume() - front.hypervolume();
  }
  VectorXd gradient;
  EXPECT_NEAR(std::exp(log_expected_gain(front, predicted, &gradient)), sum / samples, 0.03 * sum / samples);
  for (int k = 0; k < 2; ++k) {
    const auto moved = [&](double step) {
      auto there = predicted;
      for (Prediction& p : there) p.mean += step * p.mean_gradient(k), p.variance += step * p.variance_gradient(k);
      return log_expected_gain(front, there, nullptr);
    };
    const double h = 1e-6;
    EXPECT_NEAR(gradient(k), (moved(h) - moved(-h)) / (2 * h), 1e-6 * (1 + std::abs(gradient(k))));
  }
}

}  // namespace
}  // namespace dodyn::surrogate::test_hypervolume
