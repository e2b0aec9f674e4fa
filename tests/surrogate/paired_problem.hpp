// Random problems with paired costs: a design fails on an initial state where a smooth random function exceeds a
// threshold. All designs have the same initial states, so costs of designs are correlated.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "record/evaluation.hpp"
#include "surrogate/random.hpp"

namespace dodyn::surrogate {

class PairedProblem {
 public:
  // `shared`: standard deviation of the part of the function that does not depend on the design. The part that depends
  // on both has 1. So the correlation of costs grows with it.
  PairedProblem(std::uint64_t seed, int variables, double shared, double step = 0) : seed_(seed), shared_(shared) {
    Random random(seed);
    for (int k = 0; k < 4; ++k) waves_.push_back(wave(random, variables, 4 + 4 * random.uniform()));
    level_ = -0.8 * random.uniform() * std::hypot(1.0, shared);
    step_ = (random.uniform() < 0.5 ? -1 : 1) * step * std::hypot(1.0, shared);
    step_at_ = 0.1 + 0.8 * random.uniform();
  }

  // The costs of `count` initial states of a set.
  Eigen::VectorXd costs(const Eigen::VectorXd& design, std::uint64_t set, int count) const {
    Random random((seed_ * 1000003 + set) * 7919 + 1);
    double common = level_;
    for (const Wave& w : waves_) common += 0.35 * w.at(design);
    if (design(0) > step_at_) common += step_;
    Eigen::VectorXd fails(count);
    for (double& value : fails) {
      const double own = shared_ * random.normal();
      value = common + own + wave(random, design.size(), 3).at(design) > 0;
    }
    return fails;
  }

  Evaluation evaluate(const Eigen::VectorXd& design, std::uint64_t set, int count) const {
    Evaluation e;
    e.design = design;
    e.seed = set;
    e.status = Status::ok;
    e.paired_costs = costs(design, set, count);
    e.cost = e.paired_costs.mean();
    const double p = (e.paired_costs.sum() + 2) / (count + 4);
    e.cost_stderr = std::sqrt(p * (1 - p) / (count + 4));
    return e;
  }

  double truth(const Eigen::VectorXd& design, int count = 20000) const { return costs(design, 1u << 30, count).mean(); }

 private:
  struct Wave {
    Eigen::VectorXd frequency;
    double phase;
    double at(const Eigen::VectorXd& x) const { return std::numbers::sqrt2 * std::cos(frequency.dot(x) + phase); }
  };
  static Wave wave(Random& random, int variables, double frequency) {
    Wave w{Eigen::VectorXd(variables), 0};
    for (double& f : w.frequency) f = frequency * random.normal();
    w.phase = 2 * std::numbers::pi * random.uniform();
    return w;
  }

  std::uint64_t seed_;
  double shared_, level_, step_, step_at_;
  std::vector<Wave> waves_;
};

}  // namespace dodyn::surrogate
