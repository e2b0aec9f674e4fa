// Predicts quantities at designs that were not evaluated, from a study's evaluations: a kriging model of one quantity,
// and the probability that a design evaluates.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "surrogate/incremental_kriging.hpp"
#include "surrogate/observed_data.hpp"
#include "surrogate/random.hpp"
#include "surrogate/success_classifier.hpp"

namespace dodyn::surrogate {

// Prediction of a quantity at one design. If costs were warped, `middle` is the median, otherwise the mean.
struct PredictionInterval {
  double middle = 0, lower = 0, upper = 0;  // lower and upper end of the 95 % interval
};

// A kriging model of one quantity. Its intervals use a Student distribution and Kriging::alternatives(). So they
// account for the uncertainty of length scales and variance, which is large if there are few samples. Predictions of
// rates (ObservedData::rates) are cut to the range from 0 to 1. No value lies outside it, so the intervals contain as
// many values as without the cut.
class ArchiveModel {
 public:
  static constexpr Eigen::Index most_modelled = 2000;  // default maximum number of evaluations in the model
  // Fits a model of `metric` (-1: the cost) to the `ok` evaluations that have it. Includes gradients of the cost if
  // they are known, costs have no noise, and all variables are real. Designs are in the coordinates of
  // `observed.space`. If there are more evaluations, the model uses `most` evaluations: a tenth are the best by the
  // first objective, for every metric; the others fill the box. `nugget`: whether to estimate a noise variance even if
  // costs have none. Throws std::invalid_argument if fewer than two evaluations have the quantity. `observed` must
  // outlive the model.
  ArchiveModel(const ObservedData& observed, int metric, Eigen::Index most = most_modelled, bool nugget = false);

  PredictionInterval at(const Eigen::VectorXd& design) const;
  double probability_below(const Eigen::VectorXd& design, double limit) const;
  // Returns the medians at the columns of `units`, points of the unit cube.
  Eigen::VectorXd middles(const Eigen::MatrixXd& units) const;

  // Returns functions drawn from the model at the columns of `z`, points of Kriging: [points, draws], in the warped
  // scale.
  Eigen::MatrixXd drawn(const Eigen::MatrixXd& z, int draws, Random& random) const;

  const IncrementalKriging& model() const { return tracked_; }
  // Returns the models from which intervals and drawn functions are computed; one model if there are many rows.
  const std::vector<Kriging::Alternative>& alternatives() const { return alternatives_; }
  Eigen::Index samples() const { return used_; }
  Eigen::Index available() const { return available_; }  // number of evaluations that have the quantity
  // Returns the cross-validation R2. 1: each sample is predicted from the others without error; 0: no better than their
  // mean. For more than 500 samples, 500 are drawn at random with a fixed seed.
  double quality() const { return quality_; }
  // Returns R2 over the whole box: each sample is weighted by the part of the box to which it is the nearest. Samples
  // near an optimum predict each other well, but the rest of the box poorly.
  double quality_over_box() const { return quality_over_box_; }
  // Returns the equivalent number of evenly spread samples. even_samples_of_filling() returns this number for a Sobol
  // sequence of equal size.
  double even_samples() const { return even_samples_; }
  double even_samples_of_filling() const { return even_samples_of_filling_; }

 private:
  // Returns the prediction in the warped scale: its middle, and the half width of the 95 % interval.
  std::pair<double, double> middle_and_half_width(const Eigen::VectorXd& design) const;
  // Samples at one place count once.
  int degrees_of_freedom() const { return std::max(static_cast<int>(tracked_.model().samples()) - 1, 1); }

  const ObservedData& observed_;
  int metric_ = -1;
  IncrementalKriging tracked_;
  std::vector<Kriging::Alternative> alternatives_;
  Eigen::Index used_ = 0, available_ = 0;
  double quality_ = 0, quality_over_box_ = 0, even_samples_ = 0, even_samples_of_filling_ = 0;
};

// Distance beyond a bound that bounds_to_widen() considers, relative to the range.
inline constexpr double widening = 0.1;

// A bound of a variable on which a design lies and beyond which the cost probably decreases. Labels have no bounds.
struct BoundToWiden {
  Eigen::Index variable = 0;
  bool is_upper = false;
  // Upper limit of the decrease within `widening` beyond the bound. Empty: neither a gradient nor a model shows the
  // decrease, the variable is not real, the model predicts a violated constraint beyond the bound, or the cost would be
  // negative although no evaluated cost is.
  std::optional<double> gain = {};
};

// Returns the bounds to widen for a design with a cost. The slope is the design's gradient if costs have no noise,
// otherwise the model's. A bound counts only if the cost decreases beyond it with 95 % confidence, by more than a small
// fraction of the variation of costs. If there is neither a gradient nor a model, each such bound counts.
std::vector<BoundToWiden> bounds_to_widen(const ObservedData& observed, const Evaluation& at);

// Distribution of the optimum: the minima of functions drawn from the model of the cost.
struct OptimumDistribution {
  Eigen::VectorXd lower, middle, upper;  // 5 %, 50 % and 95 % quantiles of the minima, [variables]
  PredictionInterval cost;               // median and 95 % interval of the lowest cost
};

// Returns the distribution of the optimum from `draws` functions of the model of the cost. Considers only the best
// evaluation, and designs that probably (p >= 0.5) evaluate and satisfy each constraint. Throws std::invalid_argument
// if fewer than two evaluations have the cost or a constrained metric, or if no evaluation is feasible.
OptimumDistribution sample_optimum(const ObservedData& observed, int draws = 1000);

// Returns the classifier of whether a design evaluates, from the evaluations in `observed`.
SuccessClassifier viability_of(const ObservedData& observed);

}  // namespace dodyn::surrogate
