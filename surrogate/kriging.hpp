// Kriging: a Gaussian process through samples of a function, with gradients of the function as further samples where
// there are any (gradient-enhanced kriging).
//
//   f(x) = trend(x) + Z(x),   cov(Z(x), Z(x')) = variance k(q),   q = sum_i ((x_i - x'_i) / length_i)^2
//
// A gradient is a linear functional of f, so its covariances are derivatives of k:
//   cov(f, f'_j) = -2 k' a_j,   cov(f_i, f'_j) = -4 k'' a_i a_j - 2 k' delta_ij / length_i^2,   a_i = (x_i - x'_i) /
//   length_i^2.
// Trend coefficients by generalised least squares, the lengths (and the nugget) by maximum a posteriori likelihood: a
// weak log-normal prior on each length keeps few samples from claiming a flat or a white function, and an
// inverse-gamma prior worth a tenth of a row keeps the variance above 0.
//
// Sources: C. E. Rasmussen and C. Williams, Gaussian Processes for Machine Learning (2006), chapters 2, 4, 5;
// A. Forrester, A. Sobester, A. Keane, Engineering Design via Surrogate Modelling (2008), chapters 2, 6, 7;
// O. Dubrule, Cross validation of kriging in a unique neighborhood (1983), for the leave-one-out formulas.
#pragma once

#include <Eigen/Core>
#include <memory>
#include <vector>

namespace dodyn::surrogate {

enum class Trend { constant, linear };

// n samples of a function of d variables.
struct Samples {
  Eigen::MatrixXd x;         // d x n
  Eigen::VectorXd y;         // n
  Eigen::MatrixXd gradient;  // d x n, a column of NaN where there is none; or empty
  Eigen::VectorXd variance;  // n: squared standard error of y; or empty

  Eigen::Index size() const { return y.size(); }
};

struct KrigingOptions {
  Trend trend = Trend::constant;  // a linear trend falls back to a constant one where the samples do not determine it
  bool nugget = false;            // estimate a noise variance common to all samples
  Eigen::VectorXd scale;          // d: natural length of each variable, such as its range; empty: the samples' extent
  int starts = 3;                 // of the likelihood's maximisation
  int max_evaluations = 60;       // of the likelihood, per start
};

// What the likelihood decides. Lengths are in units of the scale.
struct Hyperparameters {
  Eigen::VectorXd log_length;
  double nugget = 0;      // of the process variance
  double variance = 1;    // of the process, in the units of y squared
  double likelihood = 0;  // log posterior density of the samples, y in its own units
};

struct Prediction {
  double mean = 0, variance = 0;                     // of f, without the noise of a further sample
  Eigen::VectorXd mean_gradient, variance_gradient;  // d
};

struct KrigingFactor;  // what depends on places and hyperparameters alone

class Kriging {
 public:
  static constexpr double most_magnitude = 1e150;  // of a value: variances are finite

  // Samples closer than 1e-7 of the scale are merged (mean value) unless noise distinguishes them. `start`:
  // hyperparameters to start the maximisation from. Never yields a NaN: constant costs, one sample, collinear samples
  // and near-duplicates are all right. Throws std::invalid_argument on no sample, shapes that differ, or samples that
  // are not finite (apart from absent gradients).
  static Kriging fit(const Samples& samples, const KrigingOptions& options, const Hyperparameters* start = nullptr);

  // The same hyperparameters with other samples: O(n^3), without the maximisation.
  static Kriging with(const Samples& samples, const KrigingOptions& options, const Hyperparameters& hyperparameters);

  Prediction predict(const Eigen::VectorXd& x) const;

  // Means and variances at the columns of x, much faster than one by one.
  void predict(const Eigen::MatrixXd& x, Eigen::VectorXd& mean, Eigen::VectorXd& variance) const;

  // Joint covariance matrix of f at the columns of x.
  Eigen::MatrixXd covariance(const Eigen::MatrixXd& x) const;

  // With one more sample, hyperparameters kept: O(n^2). `gradient` may be empty. A sample that the others determine
  // already changes nothing.
  Kriging grown(const Eigen::VectorXd& x, double y, const Eigen::VectorXd& gradient = {}, double noise = 0) const;

  // The places of the samples after merging, a column each, in the caller's units.
  Eigen::MatrixXd sample_places() const;

  // Leave-one-out: prediction of each (merged) sample from the others, its gradient left out with it.
  struct LeaveOneOut {
    Eigen::VectorXd observed, mean, variance;
    double quality() const;  // 1 - sum of squared errors / sum of squares about the mean (0 for fewer than 2 samples)
  };
  LeaveOneOut leave_one_out() const;
  // The same of some samples only, columns of sample_places(): O(n^2) each.
  LeaveOneOut leave_one_out(const std::vector<Eigen::Index>& which) const;

  // All that the mean takes, to be evaluated elsewhere: with delta = x - sample, a = inverse_square * delta, q = delta . a,
  //   mean(x) = centre + spread (beta(0) + beta(1 ...) . x + sum over samples [ k(q) values + (-2 k'(q)) a . gradients ]),
  // x in units of the scale.
  struct Mean {
    Eigen::MatrixXd samples;         // d x n
    Eigen::VectorXd inverse_square;  // d: 1 / length^2
    Eigen::VectorXd values;          // n: weights
    Eigen::MatrixXd gradients;       // d x n: weights, 0 where a sample has no gradient
    Eigen::VectorXd beta;            // 1, or 1 + d where the trend is linear
    double centre = 0, spread = 1;
  };
  Mean mean() const;

  const Hyperparameters& hyperparameters() const { return hyper_; }
  Eigen::Index samples() const;
  double noise_variance() const;  // estimated noise of one sample, in the units of y squared

  // The log posterior of log lengths (and, with options.nugget, log nugget last) and its gradient: what fit()
  // maximises. For tests.
  static double log_posterior(const Samples& samples, const KrigingOptions& options, const Eigen::VectorXd& parameters,
                              Eigen::VectorXd* gradient);

 private:
  std::shared_ptr<const KrigingFactor> factor_;
  Eigen::VectorXd observed_;        // standardised values and gradients, one per row
  Eigen::VectorXd alpha_, beta_;    // (1) mean(x) = trend(x) . beta + cov(x) . alpha
  double centre_ = 0, spread_ = 1;  // y = centre + spread * standardised
  double variance_ = 1;             // standardised
  Hyperparameters hyper_;

  void solve();
};

}  // namespace dodyn::surrogate
