#include "evaluators/simulation/outcome_statistics.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "record/text.hpp"

namespace dodyn::evaluators::simulation {
namespace {

// Metrics after the fractions of the outcomes. `effort` follows if there is a controller, and two more with [cost]
// success.
enum MetricColumn { wilson_low, wilson_high, time, energy_change, contacts, steps, first_optional_metric };

std::string metric_name(std::string outcome) {
  std::replace_if(
      outcome.begin(), outcome.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return outcome;
}

}  // namespace

std::array<double, 2> wilson_interval(int hits, int tries) {
  const double z = 1.959963984540054, n = tries, p = hits / n, zz = z * z / n;
  const double middle = p + 0.5 * zz, half = z * std::sqrt(p * (1.0 - p) / n + 0.25 * zz / n);
  return {hits == 0 ? 0.0 : std::max(0.0, (middle - half) / (1.0 + zz)),
          hits == tries ? 1.0 : std::min(1.0, (middle + half) / (1.0 + zz))};
}

std::vector<Quantity> OutcomeStatistics::metrics() const {
  std::vector<Quantity> list;
  for (int k = 0; k < std::ssize(outcomes); ++k) {
    const std::string& name = outcomes[k];
    list.push_back({metric_name(name), "1",
                    k == failed - 1 ? "fraction of the initial states whose run reached the end time without an outcome"
                    : k == failed   ? "fraction of the initial states whose simulation broke down"
                    : k > failed    ? "fraction of the initial states whose run left the range of coils.table"
                                    : "fraction of the initial states that end as " + name});
  }
  list.push_back({"failure_rate_low", "1",
                  "lower end of the 95 % interval (Wilson) of the failure rate; not a number without success or "
                  "given-outcome in [cost]"});
  list.push_back({"failure_rate_high", "1", "upper end of the 95 % interval (Wilson) of the failure rate"});
  list.push_back({"time", "s", "mean time at which runs end"});
  list.push_back(
      {"energy_change", "J",
       "largest energy change of a run that impacts, projections, damping and driving forces do not explain"});
  list.push_back({"contacts", "1", "updates of contacts, sum over the initial states"});
  list.push_back({"steps", "1", "time steps, sum over the initial states"});
  if (controlled)
    list.push_back({"effort", effort_unit, "mean effort of the commands: integral of their squares over time"});
  if (success_outcome >= 0) {
    const std::string& wanted = outcomes[success_outcome];
    list.push_back({metric_name(wanted) + "_time", "s", "mean time of the initial states that end as " + wanted});
    list.push_back({"restricted_time", "s",
                    "mean time until " + wanted + "; an initial state that ends otherwise counts with the end time"});
  }
  return list;
}

Channel OutcomeStatistics::channel(int starts) const {
  std::string numbers;
  for (std::size_t i = 0; i < outcomes.size(); ++i) numbers += (i ? ", " : "") + std::to_string(i) + " " + outcomes[i];
  return {std::string(channel_of_states),
          "",
          "outcome: " + numbers + "; time of the end (s); and the value whose mean is the cost",
          starts,
          {"outcome", "time", std::string(cost_of_state)}};
}

bool OutcomeStatistics::counts(const Eigen::MatrixXd& tries, Eigen::Index run) const {
  return given_outcome >= 0 ? tries(run, outcome_column) == given_outcome : tries(run, outcome_column) < failed;
}

double OutcomeStatistics::cost_of(const Eigen::MatrixXd& tries, Eigen::Index run) const {
  if (success_outcome >= 0) return tries(run, outcome_column) == success_outcome ? 0.0 : 1.0;
  return counts(tries, run) ? tries(run, formula ? cost_column : time_column) : not_a_number;
}

Eigen::MatrixXd OutcomeStatistics::archived(const Eigen::MatrixXd& tries) const {
  Eigen::MatrixXd values(tries.rows(), 3);
  values.leftCols<2>() = tries.leftCols<2>();
  for (Eigen::Index i = 0; i < tries.rows(); ++i) values(i, 2) = cost_of(tries, i);
  return values;
}

std::optional<Eigen::MatrixXd> OutcomeStatistics::aggregate(const std::vector<Outcome>& parts, int starts,
                                                            Evaluation& e) const {
  for (const auto& part : parts)
    if (!part.evaluation.ok()) {
      e.status = part.evaluation.status;
      e.reason = part.evaluation.reason;
      return std::nullopt;
    }
  Eigen::MatrixXd tries(starts, columns + std::ssize(aggregates));
  Eigen::Index row = 0;
  for (const auto& part : parts) {
    const auto& values = part.trajectory.values.at(0);
    tries.middleRows(row, values.rows()) = values;
    row += values.rows();
  }
  aggregate(tries, e);
  if (e.status == Status::failed)
    for (const auto& part : parts)
      if (e.reason.find(';') == std::string::npos && !part.evaluation.reason.empty())
        e.reason += "; the first: " + part.evaluation.reason;
  return tries;
}

void OutcomeStatistics::aggregate(const Eigen::MatrixXd& tries, Evaluation& e) const {
  const auto n = static_cast<double>(tries.rows());
  const Eigen::Index kinds = outcomes.size();
  const Eigen::Index success_time = first_optional_metric + (controlled ? 1 : 0), restricted_time = success_time + 1;
  const Eigen::Index more = success_time + (success_outcome >= 0 ? 2 : 0);
  e.metrics = Eigen::VectorXd::Zero(kinds + more);
  Eigen::VectorXd count = Eigen::VectorXd::Zero(kinds);
  for (Eigen::Index i = 0; i < tries.rows(); ++i) count[static_cast<int>(tries(i, outcome_column))] += 1.0;
  e.metrics.head(kinds) = count / n;
  auto numbers = e.metrics.tail(more);
  numbers.head<first_optional_metric>() << not_a_number, not_a_number, tries.col(time_column).mean(),
      tries.col(energy_column).cwiseAbs().maxCoeff(), tries.col(contacts_column).sum(), tries.col(steps_column).sum();
  if (controlled) numbers[first_optional_metric] = tries.col(effort_column).mean();
  if (given_outcome >= 0) {
    const auto interval = wilson_interval(static_cast<int>(n - count[given_outcome]), static_cast<int>(n));
    numbers[wilson_low] = interval[0];
    numbers[wilson_high] = interval[1];
  }
  e.status = Status::ok;
  if (success_outcome >= 0) {
    const double failures = n - count[success_outcome];
    e.cost = failures / n;
    // binomial standard error with two added successes and failures (Agresti and Coull 1998): positive even at rates 0
    // and 1
    const double p = (failures + 2.0) / (n + 4.0);
    e.cost_stderr = n > 1.0 ? std::sqrt(p * (1.0 - p) / (n + 4.0)) : 0.0;
    const auto interval = wilson_interval(static_cast<int>(failures), static_cast<int>(n));
    numbers[wilson_low] = interval[0];
    numbers[wilson_high] = interval[1];
    double seconds = 0.0;
    for (Eigen::Index i = 0; i < tries.rows(); ++i)
      if (tries(i, outcome_column) == success_outcome) seconds += tries(i, time_column);
    numbers[success_time] = failures < n ? seconds / (n - failures) : not_a_number;
    numbers[restricted_time] = (seconds + failures * end) / n;
  } else {
    // The cost is the mean over the runs for which counts() is true. Its standard error follows from their spread.
    double sum = 0.0, squares = 0.0, sound = 0.0;
    for (Eigen::Index i = 0; i < tries.rows(); ++i) {
      if (!counts(tries, i)) continue;
      sum += cost_of(tries, i);
      sound += 1.0;
    }
    e.cost = sound > 0.0 ? sum / sound : not_a_number;
    for (Eigen::Index i = 0; i < tries.rows(); ++i)
      if (counts(tries, i)) squares += std::pow(cost_of(tries, i) - e.cost, 2);
    e.cost_stderr = sound > 1.0 ? std::sqrt(squares / (sound - 1.0) / sound) : 0.0;
    if (given_outcome >= 0 && n - sound > max_other_share * n + 1e-9) {
      e.status = Status::infeasible;
      e.reason = formatted("%.0f of %.0f initial states do not end as %s; max-other-share allows a fraction of %g",
                           n - sound, n, outcomes[given_outcome].c_str(), max_other_share);
    } else if (given_outcome >= 0 && sound == 0.0) {
      e.status = Status::infeasible;
      e.reason = "no initial state ends as " + outcomes[given_outcome];
    } else if (!std::isfinite(e.cost)) {
      e.status = Status::failed;
      e.reason = "the cost is not a finite number";
    }
  }
  const double broken = count[failed], left = kinds > failed + 1 ? count[failed + 1] : 0.0;
  if (broken + left > 0.1 * n) {
    e.status = Status::failed;
    e.reason = broken > 0.0 ? formatted("%.0f of %.0f simulations broke down", broken, n) : "";
    if (left > 0.0)
      e.reason += formatted("%s%.0f of %.0f left the range of coils.table", broken > 0.0 ? ", " : "", left, n);
    e.cost = not_a_number;
  }
}

std::vector<double> OutcomeStatistics::aggregated(const Eigen::MatrixXd& tries) const {
  std::vector<double> all;
  for (Eigen::Index k = 0; k < std::ssize(aggregates); ++k) {
    const std::string& function = aggregates[k];
    double sum = 0.0, least = not_a_number, most = not_a_number, number = 0.0;
    for (Eigen::Index run = 0; run < tries.rows(); ++run) {
      const double value = tries(run, columns + k);
      const bool is_sound = tries(run, outcome_column) < failed;
      if (!(function == "share" ? is_sound : counts(tries, run))) continue;
      sum += value;
      number += 1.0;
      least = std::fmin(least, value);
      most = std::fmax(most, value);
    }
    all.push_back(function == "share"      ? sum / static_cast<double>(tries.rows())
                  : function == "mean"     ? sum / number
                  : function == "max_over" ? most
                                           : least);
  }
  return all;
}

std::string OutcomeStatistics::report(const Evaluation& e, int starts) const {
  const Eigen::Index kinds = outcomes.size();
  if (e.metrics.size() <= kinds) return {};
  std::string lines;
  for (Eigen::Index k = 0; k < kinds; ++k)
    lines += formatted("%-14s  %.0f of %d\n", outcomes[k].c_str(), e.metrics[k] * starts, starts);
  const auto numbers = e.metrics.tail(e.metrics.size() - kinds);
  if (success_outcome >= 0) {
    lines += formatted("failure rate    %.4f, Wilson 95 %% [%.4f, %.4f]\n", e.cost, numbers[wilson_low],
                       numbers[wilson_high]);
    if (const double until = numbers[first_optional_metric + (controlled ? 1 : 0)]; std::isfinite(until))
      lines += formatted("time until %s  %.4g s on average\n", outcomes[success_outcome].c_str(), until);
  }
  if (controlled)
    lines += formatted("effort          %.6g %s%son average\n", numbers[first_optional_metric], effort_unit.c_str(),
                       effort_unit.empty() ? "" : " ");
  return lines + formatted("time            %.6g s on average\nenergy change   %.3g J at most\n", numbers[time],
                           numbers[energy_change]);
}

}  // namespace dodyn::evaluators::simulation
