// The evaluations that a search has: which of them a model may use, which satisfy the constraints, which is best.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "record/evaluation.hpp"
#include "surrogate/design_space.hpp"
#include "surrogate/warp.hpp"

namespace dodyn::surrogate {

// metric <= limit, or >= where `below` is false.
struct Constraint {
  std::string name;
  int metric = 0;  // index in Evaluation::metrics; -1: the cost
  double limit = 0;
  bool below = true;

  std::string label() const;  // "max_torque<=15"
  // False where the evaluation does not have the metric.
  bool is_satisfied(const Evaluation& e) const {
    if (metric >= e.metrics.size()) return false;
    const double value = metric < 0 ? e.cost : e.metrics(metric);
    return below ? value <= limit : value >= limit;
  }
};

// A cost that designs in many places share, within their standard errors.
struct Plateau {
  double cost = 0;
  double band = 0;  // standard errors by which a cost of the plateau differs from it at most

  bool holds(const Evaluation& e, double value) const { return std::abs(value - cost) <= band * e.cost_stderr; }
};

struct ObservedData {
  DesignSpace space;
  std::vector<Constraint> constraints;
  std::vector<int> objectives;  // index of a metric, -1 for the cost
  bool costs_noisy = false;

  std::vector<Evaluation> evaluations = {};
  std::vector<Eigen::VectorXd> pending = {};  // designs asked for, not evaluated yet
  std::size_t from = 0;                       // those of the present region begin there

  // What its numbers' names end with: "" of the first, "_objective_2", ...
  static std::string label_of_objective(std::size_t which) {
    return which == 0 ? "" : "_objective_" + std::to_string(which + 1);
  }
  double objective(const Evaluation& e, std::size_t which) const;  // not a number where the metric is not there
  Eigen::VectorXd outcome(const Evaluation& e) const;              // all of them
  bool usable(const Evaluation& e) const;                          // fit for the models
  bool feasible(const Evaluation& e) const;                        // usable, and keeps the constraints
  // Costs are the same in many places and lower elsewhere, as a rate that is 1 nearly everywhere: finds that cost. What
  // lies on the plateau says no more than that it does. Costs with standard errors are the same where they agree within these, are more
  // alike than one spread of all costs makes them, and do not depend on the place.
  void find_plateau();
  std::optional<Plateau> plateau = {};
  bool is_informative(const Evaluation& e) const {  // usable, and not on the plateau
    return usable(e) && !(plateau && plateau->holds(e, objective(e, 0)));
  }
  bool noisy() const;  // by option, or by standard errors
  std::size_t count_usable() const;
  const Evaluation* best() const;            // the feasible one least in the first objective; null: none
  const Evaluation* best_of_region() const;  // the same of those from `from` on
  Eigen::VectorXd unit(const Evaluation& e) const { return space.unit(e.design); }
  // Whether a point of the unit cube is within so much, in every coordinate, of a design that is evaluated or pending.
  bool tried(const Eigen::VectorXd& unit, double within) const;
  // Returns the distance from the least feasible cost to this quantile of the feasible costs, warped.
  double quantile(double part, const Warp& warp) const;
  // "best cost 1.2 (evaluation 3) at a = 1, b = 2"
  std::string say_best() const;
};

}  // namespace dodyn::surrogate
