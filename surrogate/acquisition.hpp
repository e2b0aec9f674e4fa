// Acquisition functions of the model's mean m and variance v at a design; larger values are better. All are smooth,
// have gradients, and do not underflow. Even the logarithm of an improvement of exp(-1000) has a useful gradient.
#pragma once

#include <Eigen/Core>

namespace dodyn::surrogate {

// A value with its partial derivatives with respect to mean and variance.
struct Acquisition {
  double value, by_mean, by_variance;
};

// Returns log E[max(best - f, 0)], f normal. With z = (best - m) / s it is log s + log h(z), h(z) = phi(z) + z Phi(z).
// Sources: D. Jones, M. Schonlau, W. Welch, Efficient global optimization (1998); S. Ament et al., Unexpected
// improvements to expected improvement (2023), for the stable form.
Acquisition log_expected_improvement(double mean, double variance, double best);

// Returns the log of the expected improvement times (1 - t / sqrt(v + t^2)), t^2 the noise variance. The factor is
// small if the noise exceeds the model's uncertainty. Source: Huang, Allen, Notz, Zeng, Global optimization of
// stochastic black-box systems (2006).
Acquisition log_augmented_expected_improvement(double mean, double variance, double best, double noise_variance);

// Returns the log of the probability that f <= limit.
Acquisition log_probability_below(double mean, double variance, double limit);

// Returns log h(z). `slope`: if not null, receives the derivative with respect to z. Relative accuracy about 1e-12 for
// every finite z.
double log_h(double z, double* slope = nullptr);
// Returns log Phi(z), with the same `slope` and accuracy.
double log_normal_cdf(double z, double* slope = nullptr);

// Return the density phi(z) and the distribution function Phi(z) of the standard normal distribution.
double normal_density(double z);
double normal_cdf(double z);

}  // namespace dodyn::surrogate
