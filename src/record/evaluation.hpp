// The record of one evaluation of one design, described once.
//
// The farm's messages, the archive's columns, the table on the screen and the exports all walk the same list of fields,
// `for_each_field`. A field that is added there appears in each of these places.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace dodyn {

// The result of an evaluation. Every status except `ok` has a reason. A failed evaluation is data, not an exception.
enum class Status : std::int8_t {
  ok = 0,          // the cost is that of a feasible, converged inner solution
  infeasible = 1,  // the design admits no motion that satisfies the constraints (as far as the inner solver can decide)
  not_converged = 2,  // the inner solver stopped early; a cost may be present but is not a minimum
  failed = 3,         // no usable answer: invalid design, NaN, crash
  timed_out = 4,      // stopped at its time limit
  lost = 5,           // its rank disappeared, or its process was killed from outside
};
inline constexpr Status all_statuses[] = {Status::ok,     Status::infeasible, Status::not_converged,
                                          Status::failed, Status::timed_out,  Status::lost};
// The statuses that a program may state. dodyn itself observes the others.
inline constexpr Status stated_statuses[] = {Status::ok, Status::infeasible, Status::not_converged, Status::failed};

constexpr std::string_view to_string(Status status) {
  switch (status) {
    case Status::ok:
      return "ok";
    case Status::infeasible:
      return "infeasible";
    case Status::not_converged:
      return "not_converged";
    case Status::failed:
      return "failed";
    case Status::timed_out:
      return "timed_out";
    case Status::lost:
      return "lost";
  }
  return "unknown";
}

// Whether another attempt, or a longer one, may give an answer.
constexpr bool is_retryable(Status status) {
  return status == Status::failed || status == Status::timed_out || status == Status::lost;
}

// A named quantity with a unit: a metric of an evaluation, a coordinate, ...
struct Quantity {
  std::string name;
  std::string unit;         // "m", "N m", "" or "1" for a pure number
  std::string description;  // one line
};

// A free design variable and its closed range.
struct Variable {
  std::string name;
  std::string unit;
  double lower = 0.0;
  double upper = 1.0;
  std::vector<std::string> choices = {};  // labels of the values 0, 1, ...; empty: the variable is a number

  // Returns the label of a value; null if the variable has no labels.
  const std::string* choice(double value) const {
    for (std::size_t i = 0; i < choices.size(); ++i)
      if (value == static_cast<double>(i)) return &choices[i];
    return nullptr;
  }
};

inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

struct Evaluation {
  std::int64_t id = -1;      // 0, 1, 2, ... in the order asked
  std::int64_t parent = -1;  // evaluation whose trajectory was offered as a warm start; -1 for none
  Eigen::VectorXd design;    // one entry per free variable, in the study's order and units
  std::uint64_t seed = 0;    // from (study seed, id); every random number of this evaluation is derived from it

  Status status = Status::failed;
  std::string reason;          // one line; may be empty only if the status is ok
  double cost = not_a_number;  // NaN if there is none
  double cost_stderr = 0.0;    // standard error of the cost; 0 for a deterministic evaluator
  Eigen::VectorXd gradient;    // d cost / d design; empty: not available
  Eigen::VectorXd metrics;     // in the order of the evaluator's list of metrics, or empty

  double seconds = 0.0;  // wall-clock time of the evaluation
  std::int32_t rank = 0;
  std::string host;
  std::string started;  // UTC, ISO 8601: 2026-01-31T12:34:56.789Z

  // Cost of each initial state of a paired evaluation; their mean is `cost`. Evaluations of one seed have the same
  // initial states. Empty: the errors of costs are independent. Not a field: the trajectory holds these costs.
  Eigen::VectorXd paired_costs = {};

  bool ok() const { return status == Status::ok; }
};

// One field of the record: its column name and unit (for `design`, `gradient` and `metrics` the units are those of the
// study's variables and metrics).
struct Field {
  std::string_view name;
  std::string_view unit;
};

// Calls visit(Field, reference) for every field, in the order of the archive's columns. `E` is Evaluation or const
// Evaluation. The types a visitor meets: int64, uint64, int32, double, Status, std::string, Eigen::VectorXd.
template <class E, class Visitor>
void for_each_field(E& e, Visitor&& visit) {
  visit(Field{"id", ""}, e.id);
  visit(Field{"warm_start_id", ""}, e.parent);
  visit(Field{"design", ""}, e.design);
  visit(Field{"seed", ""}, e.seed);
  visit(Field{"status", ""}, e.status);
  visit(Field{"reason", ""}, e.reason);
  visit(Field{"cost", "1"}, e.cost);
  visit(Field{"cost_stderr", "1"}, e.cost_stderr);
  visit(Field{"gradient", ""}, e.gradient);
  visit(Field{"metrics", ""}, e.metrics);
  visit(Field{"wall_time", "s"}, e.seconds);
  visit(Field{"rank", ""}, e.rank);
  visit(Field{"host", ""}, e.host);
  visit(Field{"start_time", "UTC"}, e.started);
}

}  // namespace dodyn
