// What an evaluation is worth, from the model's mean m and variance v at a design. All are maximised, all are smooth,
// all come with their gradient, and none underflows: far from the best design an improvement of exp(-1000) still tells
// which way is up.
#pragma once

#include <Eigen/Core>

namespace dodyn::surrogate {

// A value with its partial derivatives with respect to mean and variance.
struct Acquisition {
  double value, by_mean, by_variance;
};

// log of E[max(best - f, 0)], f normal. With z = (best - m) / s it is log s + log h(z), h(z) = phi(z) + z Phi(z).
// Sources: D. Jones, M. Schonlau, W. Welch, Efficient global optimization (1998); S. Ament et al., Unexpected
// improvements to expected improvement (2023), for the stable form.
Acquisition log_expected_improvement(double mean, double variance, double best);

// Huang, Allen, Notz, Zeng, Global optimization of stochastic black-box systems (2006): expected improvement times
// (1 - t / sqrt(v + t^2)), t^2 the noise variance: little to learn where the noise is larger than the doubt.
Acquisition log_augmented_expected_improvement(double mean, double variance, double best, double noise_variance);

// log of the probability that f <= limit.
Acquisition log_probability_below(double mean, double variance, double limit);

// log h(z), log Phi(z), and their derivatives with respect to z. Relative accuracy about 1e-12 for every finite z.
double log_h(double z, double* slope = nullptr);
double log_normal_cdf(double z, double* slope = nullptr);

// phi(z) and Phi(z) of the standard normal distribution.
double normal_density(double z);
double normal_cdf(double z);

}  // namespace dodyn::surrogate
