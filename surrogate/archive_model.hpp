// What the evaluations of a study, finished or not, say of designs that were never evaluated: a kriging model of one
// quantity, and how likely a design is to evaluate at all.
#pragma once

#include <optional>
#include <vector>

#include "surrogate/incremental_kriging.hpp"
#include "surrogate/observed_data.hpp"
#include "surrogate/success_classifier.hpp"

namespace dodyn::surrogate {

// Of a quantity at one design. Where costs were warped, `middle` is the median; otherwise the mean as well.
struct PredictionInterval {
  double middle = 0, lower = 0, upper = 0;  // the band holds 95 % of what the model deems possible
};

class ArchiveModel {
 public:
  // Of `metric` (-1: the cost), by the evaluations that are `ok` and have it, gradients of the cost included where
  // they are known and costs are not noisy; the designs as `observed.space` sees them. Of more evaluations it takes
  // `most_modelled`: a tenth of these are the best designs, whatever the quantity; the others fill the box. Throws
  // std::invalid_argument where fewer than two evaluations have the quantity. ObservedData outlives it.
  static constexpr Eigen::Index most_modelled = 2000;
  ArchiveModel(const ObservedData& observed, int metric);

  PredictionInterval at(const Eigen::VectorXd& design) const;
  double probability_below(const Eigen::VectorXd& design, double limit) const;
  // The middles at the columns of `units`, points of the unit cube.
  Eigen::VectorXd middles(const Eigen::MatrixXd& units) const;

  const IncrementalKriging& model() const { return tracked_; }
  Eigen::Index samples() const { return used_; }
  Eigen::Index available() const { return available_; }  // evaluations that have the quantity
  // 1: each sample is predicted from the others without error; 0: no better than their mean. Of more than 500 samples 500
  // are predicted, drawn at random with a fixed seed.
  double quality() const { return quality_; }
  // Returns the quality over the whole box: each sample counts as much as the part of the box to which it is the nearest
  // one. Samples that crowd around an optimum predict each other well, but the rest of the box poorly.
  double quality_over_box() const { return quality_over_box_; }
  // Return the number of evenly spread samples that are worth as much as these, and as much as the same number of points of
  // a Sobol' sequence.
  double even_samples() const { return even_samples_; }
  double even_samples_of_filling() const { return even_samples_of_filling_; }

 private:
  const ObservedData& observed_;
  IncrementalKriging tracked_;
  Eigen::Index used_ = 0, available_ = 0;
  double quality_ = 0, quality_over_box_ = 0, even_samples_ = 0, even_samples_of_filling_ = 0;
};

// How far beyond a bound bounds_to_widen() looks, of the range.
inline constexpr double widening = 0.1;

// A bound of a real variable on which a design lies, and beyond which the cost falls.
struct BoundToWiden {
  Eigen::Index variable = 0;
  bool is_upper = false;
  // By how much the cost falls at most within `widening` beyond it. Empty: neither a gradient nor a model tells, or the model
  // predicts that a constraint is violated there.
  std::optional<double> gain = {};
};

// Returns the bounds to widen about a design with a cost. The slope there is its own gradient where the cost has no noise; else the
// model's. Bounds beyond which the cost does not fall, by 95 % confidence and by more than a small part of what costs vary by, are left out.
std::vector<BoundToWiden> bounds_to_widen(const ObservedData& observed, const Evaluation& at);

// Where the optimum may be, by functions drawn from the model of the cost, each with a minimum of its own.
struct OptimumDistribution {
  Eigen::VectorXd lower, middle, upper;  // of each variable: 5 %, half and 95 % of the minima lie below
  PredictionInterval cost;               // of the minima
};

// Among designs that evaluate, and keep the constraints, by what is likelier than not. Throws std::invalid_argument where there are too few
// evaluations, or no such design.
OptimumDistribution sample_optimum(const ObservedData& observed, int draws = 1000);

// The probability that a design evaluates at all, by what is in `evidence`.
SuccessClassifier viability_of(const ObservedData& observed);

}  // namespace dodyn::surrogate
