// The stop rule of searches. It tests the model's predictions before it relies on them.
//
// When its model expects no further gain, a strategy does not stop: it makes checks. A check is a design where the
// model is most uncertain. The result is compared with the model's prediction, as is every other design away from the
// best. The search ends after several consecutive confirmations: results within the prediction interval, without a
// significant gain. A result outside the interval, or such a gain, resets the count. A prediction with more than half
// the variance of the model without data cannot be confirmed. The number of confirmations grows with the undecided
// fraction of the box, which is reported at the end.
#pragma once

#include <Eigen/Core>
#include <optional>
#include <string>
#include <vector>

#include "surrogate/warp.hpp"

namespace dodyn::surrogate {

class StopRule {
 public:
  explicit StopRule(Eigen::Index variables) : variables_(variables) {}

  // The model's prediction for a design, in the scale of `warp`: mean and standard deviation. `scale`: variation of
  // costs.
  struct Prediction {
    Warp warp;
    double mean, deviation, scale;
    double unexplained = 0;  // variance relative to that of the model without data: 1 far from all samples
  };
  void expect(const Eigen::VectorXd& design, const Prediction& prediction) {
    expected_.push_back({design, prediction});
  }

  // Records an evaluated design. `cost`: empty if there is none, or none in the model; then the design counts as half a
  // confirmation. `gain`: it improved the best significantly. Returns whether the cost is significantly lower than
  // predicted. For a design without a prediction by expect(), only `gain` counts.
  bool observe(const Eigen::VectorXd& design, std::optional<double> cost, bool gain);

  // Sets the fraction of the box in which the model cannot rule out an improvement.
  void undecided_fraction(double share) { undecided_fraction_ = share; }
  double undecided_fraction() const { return undecided_fraction_; }

  // Sets the fraction of the evaluated designs without a cost.
  void set_failed_fraction(double share) { failed_fraction_ = share; }

  bool satisfied() const { return confirmed_ >= needed(); }
  // Whether more than half of the box is undecided. If so, a design better than the result may exist.
  bool is_mostly_undecided() const { return undecided_fraction_ > max_undecided; }
  double confirmed() const { return confirmed_; }
  int needed() const;
  // Returns a text such as "predicted the last 7 designs away from the best correctly (30 % of the design range may
  // still contain a better one)". `by_shorter_lengths`: adds the condition that costs vary over shorter distances than
  // in the model.
  std::string verdict(bool by_shorter_lengths = false) const;

 private:
  struct Expected {
    Eigen::VectorXd design;
    Prediction prediction;
  };
  static constexpr double max_undecided = 0.5;

  Eigen::Index variables_;
  std::vector<Expected> expected_;  // predictions for designs that are not evaluated yet
  double confirmed_ = 0;            // number of consecutive confirmations
  double undecided_fraction_ = 0, failed_fraction_ = 0;
};

}  // namespace dodyn::surrogate
