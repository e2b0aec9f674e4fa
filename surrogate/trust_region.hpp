// A box about the best design that is doubled after successes, halved after failures, and given up once tiny.
//
// Source: D. Eriksson et al., Scalable global optimization via local Bayesian optimization (2019).
#pragma once

#include <Eigen/Core>
#include <algorithm>

namespace dodyn::surrogate {

struct TrustRegion {
  double side = 0.8;  // of the ranges
  int successes = 0, failures = 0, restarts = 0;

  // A design in it has been evaluated; `patience`: failures in a row after which it is halved. True once it is so small that
  // nothing more is to be gained: restart() elsewhere.
  bool observe(bool success, int patience) {
    successes = success ? successes + 1 : 0;
    failures = success ? 0 : failures + 1;
    if (successes >= 3) side = std::min(2 * side, 1.6), successes = 0;
    if (failures >= patience) side /= 2, failures = 0;
    return spent();
  }
  bool spent() const { return side < 0x1p-10; }
  void restart() { *this = {.restarts = restarts + 1}; }

  // Its bounds in the unit cube; longer along variables of longer correlation (log lengths of the model), where given.
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
