// A box around the best design that is doubled after successes, halved after failures, and restarted when tiny.
//
// Source: D. Eriksson et al., Scalable global optimization via local Bayesian optimization (2019).
#pragma once

#include <Eigen/Core>
#include <algorithm>

namespace dodyn::surrogate {

struct TrustRegion {
  double side = 0.8;  // relative to the ranges
  int successes = 0, failures = 0, restarts = 0;

  // Records an evaluation in the box. Doubles the box, up to a side of 1.6, after three consecutive successes, and
  // halves it after `patience` consecutive failures.
  void observe(bool success, int patience) {
    successes = success ? successes + 1 : 0;
    failures = success ? 0 : failures + 1;
    if (successes >= 3) side = std::min(2 * side, 1.6), successes = 0;
    if (failures >= patience) side /= 2, failures = 0;
  }
  void exhaust() { side = 0; }
  // Whether the box is too small for further gain. Then call restart().
  bool spent() const { return side < 0x1p-10; }
  void restart() { *this = {.restarts = restarts + 1}; }

  // Returns the bounds in the unit cube. The box is longer along variables with longer correlation (log lengths of the
  // model), if given.
  Eigen::VectorXd lower(const Eigen::VectorXd& centre, const Eigen::VectorXd& log_length) const {
    return (centre - 0.5 * side * weights(centre, log_length)).cwiseMax(0);
  }
  Eigen::VectorXd upper(const Eigen::VectorXd& centre, const Eigen::VectorXd& log_length) const {
    return (centre + 0.5 * side * weights(centre, log_length)).cwiseMin(1);
  }

 private:
  static Eigen::VectorXd weights(const Eigen::VectorXd& centre, const Eigen::VectorXd& log_length) {
    if (log_length.size() != centre.size()) return Eigen::VectorXd::Ones(centre.size());
    return (log_length.array() - log_length.mean()).exp().max(0.1).min(10);
  }
};

}  // namespace dodyn::surrogate
