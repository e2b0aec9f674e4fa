// Statistics of the runs of a design: fractions of the outcomes, the cost and its standard error.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "evaluators/simulation/runner.hpp"
#include "record/task.hpp"

namespace dodyn::evaluators::simulation {

// Columns of a part's answer, one row per initial state. Those of OutcomeStatistics::aggregates follow.
enum Column {
  outcome_column,
  time_column,
  cost_column,
  steps_column,
  contacts_column,
  energy_column,
  effort_column,
  columns
};

// The possible outcomes of a study's runs, and the definition of its cost.
struct OutcomeStatistics {
  std::vector<std::string>
      outcomes;                  // names of the [outcome]s, then end, failed, and with a table of coils also unresolved
  int failed = 0;                // index of the outcome `failed`
  int success_outcome = -1;      // [cost] success: index of an outcome; -1: none
  bool formula = false;          // [cost] cost is given
  int given_outcome = -1;        // [cost] key for a conditional mean: index of an outcome; -1: none
  double max_other_share = 1.0;  // largest fraction of runs with other outcomes
  std::vector<std::string> aggregates;  // functions of [metrics]: mean, share, max_over or min_over of a final value
  bool controlled = false;              // whether there is a controller
  std::string effort_unit = "N2 s";
  double end = 0.0;  // simulation.end, s

  std::vector<Quantity> metrics() const;
  // Returns the channel with outcome, end time and cost of each run.
  Channel channel(int starts) const;
  // Returns the values of that channel, [runs, 3], from the rows [runs, columns].
  Eigen::MatrixXd archived(const Eigen::MatrixXd& tries) const;
  // Computes the statistics from the rows of all parts, each part's first channel. Fills status, reason, cost, its
  // standard error and the metrics, and returns the rows [runs, columns]. If a part is not ok, the evaluation gets its
  // status and reason, and the result is empty. If the evaluation fails, its reason contains the reason of the first
  // run that failed.
  std::optional<Eigen::MatrixXd> aggregate(const std::vector<Outcome>& parts, int starts, Evaluation& evaluation) const;
  // Returns the values of `aggregates` from the rows of aggregate(). A share refers to all initial states. The other
  // functions use the runs for which counts() is true; without such a run their values are NaN.
  std::vector<double> aggregated(const Eigen::MatrixXd& tries) const;
  // Returns lines for the user: count of each outcome; failure rate with its interval and mean time until success, with
  // [cost] success; mean effort, if there is a controller; mean time; largest energy change. Empty: no metrics.
  std::string report(const Evaluation& evaluation, int starts) const;

 private:
  // Whether a run counts in a cost that is a mean over runs.
  bool counts(const Eigen::MatrixXd& tries, Eigen::Index run) const;
  // Returns the contribution of a run to the cost: 1 for a failure, 0 for a success, or the run's own cost; NaN if it
  // does not count.
  double cost_of(const Eigen::MatrixXd& tries, Eigen::Index run) const;
  void aggregate(const Eigen::MatrixXd& tries, Evaluation& evaluation) const;
};

// Returns Wilson's 95 % interval (1927) for the probability of a success, given `hits` of `tries` > 0.
std::array<double, 2> wilson_interval(int hits, int tries);

}  // namespace dodyn::evaluators::simulation
