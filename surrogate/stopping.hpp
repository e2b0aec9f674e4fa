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

class StopAccount {
 public:
  explicit StopAccount(Eigen::Index variables) : variables_(variables) {}

  // What the model predicts of a design, as `warp` has costs: mean and standard deviation; `scale` is what costs vary by.
  struct Prediction {
    Warp warp;
    double mean, deviation, scale;
  };
  void expect(const Eigen::VectorXd& design, const Prediction& prediction) {
    expected_.push_back({design, prediction});
  }

  // An evaluation was told. `cost`: empty where there is none, or none that the model knows of: no surprise where designs
  // fail, but it tells less. `gain`: it improved on the best by more than a polish does.
  // Whether it came out lower than the model is likely to explain: worth following.
  bool told(const Eigen::VectorXd& design, std::optional<double> cost, bool gain);

  // Share of the box that the model cannot rule out to hold something better.
  void not_ruled_out(double share) { share_ = share; }
  double not_ruled_out() const { return share_; }

  // Share of the designs told that have no cost: the rest is what the model knows the box by.
  void without_cost(double share) { without_ = share; }

  bool satisfied() const { return quiet_ >= needed(); }
  double quiet() const { return quiet_; }
  int needed() const;
  // "7 designs in a row as predicted; nothing in 0.3 of the box is ruled out"
  std::string verdict() const;

 private:
  struct Expected {
    Eigen::VectorXd design;
    Prediction prediction;
  };
  Eigen::Index variables_;
  std::vector<Expected> expected_;  // of designs not told yet
  double quiet_ = 0;                // as predicted, in a row
  double share_ = 0, without_ = 0;
};

}  // namespace dodyn::surrogate
