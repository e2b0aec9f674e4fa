// One account of when a search may stop, so that it never takes its own model's word for it.
//
// A strategy whose model sees nothing more to gain does not stop: it checks. A check is a design where the model is in
// most doubt, and what comes of it is held against what the model predicted; so is every other design away from the best.
// The search ends after several in a row without a surprise: none outside the band of the model, none that gains more
// than a polish. A surprise, or such a gain, opens the account anew. The more of the box cannot be ruled out, the more it
// takes; and what is not ruled out at the end is said.
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

  // What the model predicts of a design, as `warp` has costs: mean and standard deviation; `scale` is what costs vary by.
  struct Prediction {
    Warp warp;
    double mean, deviation, scale;
  };
  void expect(const Eigen::VectorXd& design, const Prediction& prediction) {
    expected_.push_back({design, prediction});
  }

  // A design was evaluated. `cost`: empty where there is none, or none that the model knows of: no surprise where designs
  // fail, but it tells less. `gain`: it improved on the best by more than a polish does.
  // Whether it came out lower than the model is likely to explain: worth following.
  bool observe(const Eigen::VectorXd& design, std::optional<double> cost, bool gain);

  // Share of the box that the model cannot rule out to hold something better.
  void undecided_fraction(double share) { undecided_fraction_ = share; }
  double undecided_fraction() const { return undecided_fraction_; }

  // Share of the evaluated designs that have no cost: the rest is what the model knows the box by.
  void set_failed_fraction(double share) { failed_fraction_ = share; }

  bool satisfied() const { return confirmed_ >= needed(); }
  double confirmed() const { return confirmed_; }
  int needed() const;
  // "7 designs in a row as predicted; nothing in 0.3 of the box is ruled out"
  std::string verdict() const;

 private:
  struct Expected {
    Eigen::VectorXd design;
    Prediction prediction;
  };
  Eigen::Index variables_;
  std::vector<Expected> expected_;  // of designs that are not evaluated yet
  double confirmed_ = 0;            // as predicted, in a row
  double undecided_fraction_ = 0, failed_fraction_ = 0;
};

}  // namespace dodyn::surrogate
