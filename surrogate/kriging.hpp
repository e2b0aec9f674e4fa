// Kriging: a Gaussian process through samples of a function. Gradients of the function are further samples, if
// available (gradient-enhanced kriging).
//
//   f(x) = trend + Z(x),   cov(Z(x), Z(x')) = variance k(q),   q = sum_i ((x_i - x'_i) / length_i)^2
//
// A gradient is a linear functional of f, so its covariances are derivatives of k:
//   cov(f, f'_j) = -2 k' a_j,   cov(f_i, f'_j) = -4 k'' a_i a_j - 2 k' delta_ij / length_i^2,   a_i = (x_i - x'_i) /
//   length_i^2.
// The trend coefficients follow by generalised least squares, the lengths (and the nugget) by maximum a posteriori. A
// weak log-normal prior on each length prevents extreme lengths from few samples. An inverse-gamma prior with the
// weight of 0.1 rows keeps the variance above 0. If standard errors of the samples are known, the lengths are one
// posterior standard deviation shorter, by a common factor: if noisy samples allow long lengths, a model with these is
// overconfident; lengths that are too short only smooth less.
//
// With a model of a cheaper approximation `low` of f, the two are related by an autoregression:
//   (1) f(x) = factor low(x) + trend + Z(x).
// Its mean is a further function of the trend, so the factor follows by generalised least squares. Its posterior
// covariance, times the squared factor, adds to that of Z. So predictions are uncertain where the approximation is.
//
// Sources: C. E. Rasmussen and C. Williams, Gaussian Processes for Machine Learning (2006), chapters 2, 4, 5;
// A. Forrester, A. Sobester, A. Keane, Engineering Design via Surrogate Modelling (2008), chapters 2, 6, 7;
// O. Dubrule, Cross validation of kriging in a unique neighborhood (1983), for the leave-one-out formulas;
// M. Kennedy, A. O'Hagan, Predicting the output from a complex computer code when fast approximations are available
// (2000), for (1); L. Le Gratiet, J. Garnier, Recursive co-kriging model for design of computer experiments with
// multiple levels of fidelity (2014), for the factor by least squares.
#pragma once

#include <Eigen/Core>
#include <memory>
#include <vector>

namespace dodyn::surrogate {

class Kriging;

// n samples of a function of d variables, whose ranges are about 1, such as points of the unit cube.
struct Samples {
  Eigen::MatrixXd x;                // [variables, samples]
  Eigen::VectorXd y;                // [samples]
  Eigen::MatrixXd gradient;         // [variables, samples], a column of NaN if unknown; or empty
  Eigen::VectorXd variance;         // [samples] squared standard errors of y; or empty
  Eigen::MatrixXd covariance = {};  // [samples, samples] of the errors of y; empty: the errors are independent
  // [samples, samples] A simpler covariance of the errors, from which the hyperparameters and the weights of the mean
  // follow. The variances of predictions follow from these weights and `covariance`. Empty: `covariance` serves for
  // both. `variance` must be the diagonal of `working`, or of `covariance` if `working` is empty.
  Eigen::MatrixXd working = {};

  Eigen::Index size() const { return y.size(); }
  Samples chosen(const std::vector<Eigen::Index>& which) const;
};

struct KrigingOptions {
  bool nugget = false;       // estimate one noise variance for all samples
  int starts = 3;            // initial points of the maximisation of the likelihood
  int max_evaluations = 60;  // evaluations of the likelihood per initial point
  // Model of a cheaper approximation. This model must not have such a model itself. It is left out of the trend if the
  // samples do not determine its factor. Null: none.
  std::shared_ptr<const Kriging> low_fidelity = {};
};

// Parameters that fit() finds.
struct Hyperparameters {
  Eigen::VectorXd log_length;
  double nugget = 0;      // relative to the process variance
  double variance = 1;    // process variance, in the squared unit of y
  double likelihood = 0;  // log posterior density of the samples; y in its own unit
  double factor = 0;  // factor of KrigingOptions::low_fidelity in the trend; its square scales that model's covariance
};

struct Prediction {
  double mean = 0, variance = 0;                     // mean and variance of f, without the noise of a further sample
  Eigen::VectorXd mean_gradient, variance_gradient;  // [variables]
};

struct KrigingFactor;  // data that depend only on sample points and hyperparameters

class Kriging {
 public:
  static constexpr double most_magnitude = 1e150;  // limit on |y|, so that variances are finite

  // Fits a model. Samples closer than 1e-7 are merged (mean value) unless they have noise. `start`: initial
  // hyperparameters. The result is never NaN: constant costs, one sample, collinear samples and near-duplicates are
  // allowed. Throws std::invalid_argument: no sample, inconsistent shapes, values that are not finite (except missing
  // gradients), or |y| above `most_magnitude`.
  static Kriging fit(const Samples& samples, const KrigingOptions& options, const Hyperparameters* start = nullptr);

  // Returns a model with these hyperparameters and other samples: O(n^3), without maximisation.
  static Kriging with(const Samples& samples, const KrigingOptions& options, const Hyperparameters& hyperparameters);

  // As with(), but the process variance is the most probable one for these lengths. If samples have noise of their own,
  // or if there is a model of lower fidelity, the variance is a hyperparameter and is kept.
  static Kriging with_lengths_of(const Samples& samples, const KrigingOptions& options,
                                 Hyperparameters hyperparameters);

  struct Alternative;
  // Returns models whose lengths are those of `found` times common factors between 1/7 and 7, each with its posterior
  // probability. They represent the uncertainty of the lengths, which is large if there are few samples. O(n^3) each.
  static std::vector<Alternative> alternatives(const Samples& samples, const KrigingOptions& options,
                                               const Hyperparameters& found);

  Prediction predict(const Eigen::VectorXd& x) const;

  // Computes means and variances at the columns of x, much faster than one by one.
  void predict(const Eigen::MatrixXd& x, Eigen::VectorXd& mean, Eigen::VectorXd& variance) const;

  // Computes means and variances of f(x) - f(from) at the columns of x.
  void predict_difference(const Eigen::MatrixXd& x, const Eigen::VectorXd& from, Eigen::VectorXd& mean,
                          Eigen::VectorXd& variance) const;

  // Returns the joint covariance matrix of f at the columns of x.
  Eigen::MatrixXd covariance(const Eigen::MatrixXd& x) const;

  // Values of f, and its gradients if requested, at some points. Each value and each derivative is a row; rows are in
  // the order of the rows of samples.
  struct JointRows {
    Eigen::MatrixXd x;                // [variables, points]
    std::vector<Eigen::Index> first;  // index of the row of each point's value; at the end the number of rows
    Eigen::VectorXd mean;             // [rows]
    Eigen::MatrixXd white, trend;     // L^-1 k [rows of the model, rows] and the remaining trend [coefficients, rows]
    void append(const JointRows& more);
  };
  // Computes the rows at the columns of x. The model must not have a model of lower fidelity.
  JointRows joint_rows(const Eigen::MatrixXd& x, const std::vector<bool>& has_gradient) const;
  // Returns the joint covariances of two sets of rows of this model: [rows of a, rows of b].
  Eigen::MatrixXd covariance(const JointRows& a, const JointRows& b) const;
  // Returns the variances of rows without gradients.
  Eigen::VectorXd variances(const JointRows& values) const;

  // Returns functions drawn from the joint distribution at the columns of x, one per column of `normal`, which holds
  // standard normal numbers: [points, draws].
  Eigen::MatrixXd drawn(const Eigen::MatrixXd& x, const Eigen::MatrixXd& normal) const;

  // Returns the model with one more sample and the same hyperparameters: O(n^2). `gradient` may be empty. If the other
  // samples already determine the new one, the model does not change.
  Kriging grown(const Eigen::VectorXd& x, double y, const Eigen::VectorXd& gradient = {}, double noise = 0) const;

  // Returns the points of the samples after merging, one column each.
  Eigen::MatrixXd sample_places() const;

  // Leave-one-out cross-validation: the prediction of each (merged) sample from the others. The sample's gradient is
  // left out too.
  struct LeaveOneOut {
    Eigen::VectorXd observed, mean, variance;
    // Returns the sum of log normal densities of the samples.
    double log_density() const;
    double quality() const;  // 1 - sum of squared errors / sum of squares about the mean (0 for fewer than 2 samples)
  };
  LeaveOneOut leave_one_out() const;
  // Cross-validates some samples only (columns of sample_places()): O(n^2) each.
  LeaveOneOut leave_one_out(const std::vector<Eigen::Index>& which) const;

  // The data to evaluate the mean outside this class. Only for models without a model of lower fidelity. With
  // delta = x - sample, a = inverse_square * delta, q = delta . a,
  //   mean(x) = centre + spread (beta + sum over samples [k(q) values - 2 k'(q) a . gradients]).
  struct Mean {
    Eigen::MatrixXd samples;         // [variables, samples]
    Eigen::VectorXd inverse_square;  // [variables] 1 / length^2
    Eigen::VectorXd values;          // [samples] weights
    Eigen::MatrixXd gradients;       // [variables, samples] weights, 0 if a sample has no gradient
    double beta = 0;                 // the trend
    double centre = 0, spread = 1;
  };
  Mean mean() const;

  const Hyperparameters& hyperparameters() const { return hyper_; }
  Eigen::Index samples() const;
  Eigen::Index rows() const { return observed_.size(); }  // values and gradients
  // Returns the factor of the model of lower fidelity; 0: there is none, or the samples do not determine the factor.
  double factor() const;
  // Returns the variance of f before any sample, including the part of the model of lower fidelity.
  double prior_variance() const;
  double noise_variance() const;  // estimated noise variance of one sample, in the squared unit of y

  // Returns the log posterior of log lengths (and, with options.nugget, log nugget last) and its gradient: the
  // objective of fit(). For tests.
  static double log_posterior(const Samples& samples, const KrigingOptions& options, const Eigen::VectorXd& parameters,
                              Eigen::VectorXd* gradient);

 private:
  std::shared_ptr<const KrigingFactor> factor_;
  Eigen::VectorXd observed_;        // standardised values and gradients, one per row
  Eigen::VectorXd alpha_, beta_;    // mean(x) = (1, low(x)) . beta + cov(x) . alpha; see (1)
  double centre_ = 0, spread_ = 1;  // y = centre + spread * standardised
  double variance_ = 1;             // standardised
  Hyperparameters hyper_;

  void solve();
};

struct Kriging::Alternative {
  Kriging model;
  double share = 0;
};

}  // namespace dodyn::surrogate
