// The evaluations of a search. Determines which ones models may use, which ones satisfy the constraints, and the best.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "record/evaluation.hpp"
#include "surrogate/design_space.hpp"
#include "surrogate/kriging.hpp"
#include "surrogate/warp.hpp"

namespace dodyn::surrogate {

// metric <= limit, or metric >= limit if `below` is false.
struct Constraint {
  std::string name;
  int metric = 0;  // index in Evaluation::metrics; -1: the cost
  double limit = 0;
  bool below = true;

  std::string label() const;  // "max_torque<=15"
  // Returns false if the evaluation does not have the metric.
  bool is_satisfied(const Evaluation& e) const {
    if (metric >= e.metrics.size()) return false;
    const double value = metric < 0 ? e.cost : e.metrics(metric);
    return below ? value <= limit : value >= limit;
  }
};

// A plateau: a cost that designs at many points have, within their standard errors. A paired cost is on it if each
// initial state has that cost.
struct Plateau {
  double cost = 0;
  double band = 0;  // number of standard errors by which a cost on the plateau may differ from it

  bool holds(const Evaluation& e, double value) const {
    if (e.paired_costs.size() > 0) return value == cost && (e.paired_costs.array() == value).all();
    return std::abs(value - cost) <= band * e.cost_stderr;
  }
};

struct ObservedData {
  DesignSpace space;
  std::vector<Constraint> constraints;
  std::vector<int> objectives;  // index of a metric, -1 for the cost
  bool costs_noisy = false;
  bool costs_paired = false;  // designs share their initial states, see Evaluation::paired_costs

  std::vector<Evaluation> evaluations = {};
  std::vector<Eigen::VectorXd> pending = {};  // designs asked for, not evaluated yet
  std::size_t from = 0;                       // index of the first evaluation of the present trust region
  std::vector<int> rates = {};                // quantities from 0 to 1: index of a metric, -1 for the cost

  // Returns the suffix of the names of an objective's numbers: "" for the first, "_objective_2", ...
  static std::string label_of_objective(std::size_t which) {
    return which == 0 ? "" : "_objective_" + std::to_string(which + 1);
  }
  // Returns the nearest value that the quantity `metric` (-1: the cost) can have: a rate is cut to [0, 1].
  double nearest_possible(int metric, double value) const;
  double objective(const Evaluation& e, std::size_t which) const;  // NaN if the metric is missing
  Eigen::VectorXd outcome(const Evaluation& e) const;              // all objectives
  bool usable(const Evaluation& e) const;                          // suitable for the models
  bool feasible(const Evaluation& e) const;                        // usable, and satisfies the constraints
  // Finds a plateau of the only objective: a cost that all designs have, or that many designs have while others are
  // lower, such as a failure rate of 1. The costs on a plateau contain no information about where costs are lower.
  // Costs with standard errors are on a plateau if they agree within these errors, vary less than all costs, and do not
  // depend on the design. With several objectives there is no plateau.
  void find_plateau();
  std::optional<Plateau> plateau = {};
  bool is_informative(const Evaluation& e) const {  // usable, and not on the plateau
    return usable(e) && !(plateau && plateau->holds(e, objective(e, 0)));
  }
  bool noisy() const;  // whether costs have noise: by option, or because they have standard errors
  // Sets Samples::variance from the standard errors of the costs of these evaluations. If costs are paired, also sets
  // Samples::covariance and Samples::working.
  static void add_errors(const std::vector<const Evaluation*>& of, Samples& samples);
  // Returns the number of evaluations of a design, with the pending ones.
  int count_of(const Eigen::VectorXd& design) const;
  std::size_t count_usable() const;
  const Evaluation* best() const;            // the feasible evaluation with the lowest first objective; null: none
  const Evaluation* best_of_region() const;  // the feasible evaluation with the lowest first objective in the present
                                             // region
  Eigen::VectorXd unit(const Evaluation& e) const { return space.unit(e.design); }
  // Returns the gradient of the cost by the coordinates of the unit cube; empty: the evaluation has none.
  Eigen::VectorXd slope(const Evaluation& e) const;
  // Whether an evaluated or pending design is within this distance of the point in every coordinate of the unit cube.
  bool tried(const Eigen::VectorXd& unit, double within) const;
  // Returns the difference between the lowest feasible cost and this quantile of the feasible costs, warped.
  double quantile(double part, const Warp& warp) const;
  // Returns a text such as "lowest cost 1.2 (evaluation 3) at a = 1, b = 2".
  std::string say_best() const;
};

}  // namespace dodyn::surrogate
