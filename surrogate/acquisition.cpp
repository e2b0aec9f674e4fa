#include "surrogate/acquisition.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

namespace dodyn::surrogate {
namespace {

constexpr double log_sqrt_2pi = 0.91893853320467274178;
constexpr double least_variance = 1e-300;

// Returns Phi(z) / phi(z), Mills' ratio of -z, for z <= 0; by a continued fraction in the tail (Abramowitz and Stegun
// 26.2.14).
double mills(double z) {
  if (z > -6) return normal_cdf(z) / normal_density(z);
  double fraction = -z;
  for (int i = 60; i > 0; --i) fraction = -z + i / fraction;
  return 1 / fraction;
}

}  // namespace

double normal_density(double z) { return std::exp(-0.5 * z * z - log_sqrt_2pi); }
double normal_cdf(double z) { return 0.5 * std::erfc(-z * std::numbers::sqrt2 / 2); }

// h' = Phi. In the tail h(z) = phi(z) (1 + z Phi / phi). The bracket tends to 1 / z^2 and is evaluated by its
// asymptotic series.
double log_h(double z, double* slope) {
  if (z > -1) {
    const double h = normal_density(z) + z * normal_cdf(z);
    if (slope) *slope = normal_cdf(z) / h;
    return std::log(h);
  }
  double bracket;
  if (z > -25) {
    bracket = 1 + z * mills(z);
  } else {
    const double s = 1 / (z * z);
    bracket = s * (1 - s * (3 - s * (15 - s * (105 - s * (945 - s * 10395)))));
  }
  if (slope) *slope = mills(z) / bracket;
  return -0.5 * z * z - log_sqrt_2pi + std::log(bracket);
}

double log_normal_cdf(double z, double* slope) {
  if (z > 0) {
    const double cdf = normal_cdf(z);
    if (slope) *slope = normal_density(z) / cdf;
    return std::log1p(-normal_cdf(-z));
  }
  const double ratio = mills(z);
  if (slope) *slope = 1 / ratio;
  return -0.5 * z * z - log_sqrt_2pi + std::log(ratio);
}

// With s = sqrt(v): dz/dm = -1/s, dz/dv = -z / (2 v), d log s/dv = 1 / (2 v).
Acquisition log_expected_improvement(double mean, double variance, double best) {
  assert(std::isfinite(mean) && variance >= 0);
  const double v = std::max(variance, least_variance), s = std::sqrt(v), z = std::max((best - mean) / s, -1e100);
  double slope;
  const double value = 0.5 * std::log(v) + log_h(z, &slope);
  return {value, -slope / s, (1 - slope * z) / (2 * v)};
}

Acquisition log_augmented_expected_improvement(double mean, double variance, double best, double noise_variance) {
  Acquisition a = log_expected_improvement(mean, variance, best);
  if (!(noise_variance > 0)) return a;
  const double v = std::max(variance, least_variance), total = v + noise_variance;
  const double ratio = std::sqrt(noise_variance / total);
  // 1 - ratio without cancellation: (1 - ratio^2) / (1 + ratio) = (v / total) / (1 + ratio)
  const double factor = v / total / (1 + ratio);
  a.value += std::log(factor);
  a.by_variance += 0.5 * ratio / total / factor;
  return a;
}

Acquisition log_probability_below(double mean, double variance, double limit) {
  assert(std::isfinite(mean) && variance >= 0);
  const double v = std::max(variance, least_variance), s = std::sqrt(v);
  const double z = std::clamp((limit - mean) / s, -1e100, 1e100);
  double slope;
  const double value = log_normal_cdf(z, &slope);
  return {value, -slope / s, -slope * z / (2 * v)};
}

}  // namespace dodyn::surrogate
