#include "surrogate/hypervolume.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "surrogate/acquisition.hpp"

namespace dodyn::surrogate {

using Eigen::Index;
using Eigen::Vector2d;
using Eigen::VectorXd;

Front Front::of(std::vector<Vector2d> all) {
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a[0] < b[0] || (a[0] == b[0] && a[1] < b[1]); });
  std::vector<Vector2d> kept;
  Vector2d high = Vector2d::Constant(-std::numeric_limits<double>::infinity()), low = -high;
  for (const auto& p : all) {
    high = high.cwiseMax(p), low = low.cwiseMin(p);
    if (kept.empty() || p[1] < kept.back()[1]) kept.push_back(p);
  }
  Front front;
  front.points.resize(2, static_cast<Index>(kept.size()));
  for (std::size_t i = 0; i < kept.size(); ++i) front.points.col(static_cast<Index>(i)) = kept[i];
  if (!kept.empty()) front.reference = high + 0.1 * (high - low).cwiseMax(1e-9);
  return front;
}

double Front::hypervolume() const {
  double area = 0, below = reference[1];
  for (Index i = 0; i < points.cols(); ++i) {
    area += (reference[0] - points(0, i)) * (below - points(1, i));
    below = points(1, i);
  }
  return area;
}

double log_expected_gain(const Front& front, const Prediction& first, const Prediction& second, VectorXd* gradient) {
  const Prediction* const p[2] = {&first, &second};
  const double s[2] = {std::sqrt(first.variance + 1e-300), std::sqrt(second.variance + 1e-300)};
  // psi(t) = E[max(t - f, 0)] = s h((t - m) / s) for each objective
  struct Psi {
    double value, by_mean, by_variance;
  };
  const auto psi = [&](int k, double t) {
    const double at = (t - p[k]->mean) / s[k];
    const double cdf = normal_cdf(at), density = normal_density(at);
    return Psi{std::max(s[k] * (density + at * cdf), 0.0), -cdf, density / (2 * s[k])};
  };
  const Index n = front.points.cols();
  double sum = 0, first_mean = 0, first_variance = 0, second_mean = 0, second_variance = 0;
  Psi left{0, 0, 0};
  for (Index i = 0; i <= n; ++i) {  // strips of the first objective, each free below the second of the one before
    const Psi right = psi(0, i < n ? front.points(0, i) : front.reference[0]);
    const Psi below = psi(1, i == 0 ? front.reference[1] : front.points(1, i - 1));
    const double width = right.value - left.value;
    sum += width * below.value;
    first_mean += (right.by_mean - left.by_mean) * below.value;
    first_variance += (right.by_variance - left.by_variance) * below.value;
    second_mean += width * below.by_mean;
    second_variance += width * below.by_variance;
    left = right;
  }
  const double floor = 1e-280;
  if (gradient)
    *gradient = (first_mean * first.mean_gradient + first_variance * first.variance_gradient +
                 second_mean * second.mean_gradient + second_variance * second.variance_gradient) /
                (sum + floor);
  return std::log(sum + floor);
}

}  // namespace dodyn::surrogate
