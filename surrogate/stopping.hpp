// One account of when a search may stop, so that it never takes its own model's word for it.
//
// A strategy whose model sees nothing more to gain does not stop: it checks. A check is a design where the model is in
// most doubt, and what comes of it is held against what the model predicted. The search ends after several checks in a
// row without a surprise: none outside the band of the model, none that gains. A surprise, or a gain, opens the account
// anew. The more of the box cannot be ruled out, the more checks it takes; and what is not ruled out at the end is said.
#pragma once

#include <Eigen/Core>
#include <optional>
#include <string>

namespace dodyn::surrogate {

class StopAccount {
 public:
  explicit StopAccount(Eigen::Index variables) : variables_(variables) {}

  // The next design is a check: the model predicts this mean and standard deviation there, `scale` is what costs vary by.
  void check(double mean, double deviation, double scale) { check_ = {mean, deviation, scale}; }
  void no_check() { check_.reset(); }

  // An evaluation was told. `cost`: as the model sees costs; empty where there is none, which is no surprise where
  // designs fail. `gain`: it improved on the best by more than the tolerance.
  // Whether it was a check that came out lower than the model is likely to explain: worth following.
  bool told(std::optional<double> cost, bool gain);

  // Share of the box that the model cannot rule out to hold something better.
  void not_ruled_out(double share) { share_ = share; }
  double not_ruled_out() const { return share_; }

  bool satisfied() const { return quiet_ >= needed(); }
  int quiet() const { return quiet_; }
  bool checking() const { return quiet_ > 0 || check_; }
  int needed() const;
  // "7 checks in a row as predicted; nothing in 0.3 of the box is ruled out"
  std::string verdict() const;

 private:
  struct Check {
    double mean, deviation, scale;
  };
  Eigen::Index variables_;
  std::optional<Check> check_;
  int quiet_ = 0, surprises_ = 0;
  double share_ = 0;
};

}  // namespace dodyn::surrogate
