// What the runs of a design come to: shares of the outcomes, the cost and how sure it is.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "evaluators/simulation/runner.hpp"
#include "record/task.hpp"

namespace dodyn::evaluators::simulation {

// Of a part's answer, a row a start.
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

// How runs of a study may end, and what is asked of it.
struct Tally {
  std::vector<std::string>
      outcomes;              // by the names of [outcome]s, then end, failed, and unresolved where there are coils
  int failed = 0;            // the number of that outcome
  int failure_of = -1;       // [cost] success: the number of an outcome
  bool formula = false;      // [cost] cost
  int among = -1;            // [cost] among: the number of an outcome
  double most_others = 1.0;  // [cost] others: share that may end otherwise
  bool controlled = false;   // whether a craft is flown
  double end = 0.0;          // simulation.end, s

  std::vector<Quantity> metrics() const;
  // How each start ended, and when.
  Channel channel(int starts) const;
  // Fills status, reason, cost, its standard error and the metrics from the tries [start, columns] of all parts, each one's
  // first channel, and returns these. Empty where a part is not ok, whose status and reason the evaluation then has; a
  // failure says what the first run that broke down had met.
  std::optional<Eigen::MatrixXd> sum_up(const std::vector<Outcome>& parts, int starts, Evaluation& evaluation) const;
  // Of an evaluation summed up, for a user.
  std::string report(const Evaluation& evaluation, int starts) const;

 private:
  void sum_up(const Eigen::MatrixXd& tries, Evaluation& evaluation) const;
};

// Limits of Wilson's interval (1927) at 95 % for the probability behind `hits` of `tries`, tries > 0.
std::array<double, 2> wilson_interval(int hits, int tries);

}  // namespace dodyn::evaluators::simulation
