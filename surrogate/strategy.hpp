// The ask/tell interface, by which the study chooses designs. A strategy does not depend on ranks, files or robots.
//
//   while (strategy.stopped().empty()) {
//     for (auto& design : strategy.ask(n)) ... evaluate ...
//     strategy.tell(evaluation);           // each, in the order of the ids in the synchronous mode
//     strategy.decide();                   // after the last tell()
//   }
// A strategy is deterministic: equal tell() calls in the same order give equal results of ask(). A resumed study relies
// on this: it replays the archived evaluations before it evaluates a new design.
#pragma once

#include <Eigen/Core>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "record/evaluation.hpp"

namespace dodyn {
template <class Struct>
class KeyTable;  // settings/key_table.hpp
}

namespace dodyn::surrogate {

inline constexpr double least_stated_fraction = 0.005;  // smaller undecided shares of the box are not stated
inline constexpr double infinity = std::numeric_limits<double>::infinity();

// The state and the decision of the strategy at one iteration; one row of the archive's /iterations and /surrogate. The
// curve is filled only if there is one free variable.
struct Iteration {
  Eigen::VectorXd next;                       // design proposed last; empty: none
  double predicted_cost = not_a_number;       // the surrogate's prediction for it
  double best_cost = not_a_number;            // best `ok` cost received up to now
  std::int64_t best_id = -1;                  // evaluation of the best cost
  Eigen::VectorXd recommended;                // best design by the model, if costs have noise; may be empty
  std::string note;                           // one line: what was decided and why
  Eigen::VectorXd grid, value, lower, upper;  // surrogate on a grid; lower, upper: its interval, empty if it has none
  std::vector<std::pair<std::string, double>> numbers;  // numbers of the model by name: hyperparameters, its quality,
                                                        // ...
  // designs that were considered, one per row, the chosen one first; columns: candidate_columns()
  Eigen::MatrixXd candidates;
};

inline constexpr Eigen::Index most_candidates = 8;  // rows of Iteration::candidates

// Returns " m", for example; empty for a pure number.
inline std::string unit_after(const Variable& v) { return v.unit.empty() || v.unit == "1" ? "" : " " + v.unit; }

class Strategy {
 public:
  virtual ~Strategy() = default;

  // Returns designs to evaluate next, within the bounds: at most `at_most`, and at least one unless stopped() or
  // waiting for results. The number must not depend on the number of ranks. Designs without results are pending:
  // another ask() before their tell() returns different ones.
  virtual std::vector<Eigen::VectorXd> ask(int at_most) = 0;

  // Receives a finished evaluation with any status. Costs that are not finite must not enter a model.
  virtual void tell(const Evaluation& evaluation) = 0;

  // Decides the next action. Called after the last available result; stopped() and describe() then report the decision.
  virtual void decide() {}

  // Returns why the strategy asks for no more designs, as one line; empty: it continues.
  virtual std::string stopped() const = 0;

  // Returns the share of the box where the model cannot rule out a better design; NaN: unknown. For a search that did
  // not end by its own rule.
  virtual double undecided_fraction() const { return not_a_number; }

  // Whether tell() needs Evaluation::paired_costs.
  virtual bool uses_paired_costs() const { return false; }

  // Returns why this strategy was chosen automatically: one line to print before the first evaluation.
  virtual std::string reason() const { return {}; }

  // Returns the names that Iteration::numbers may contain. They are constant: the archive has a column for each.
  virtual std::vector<std::string> numbers() const { return {}; }
  // Returns the column names of Iteration::candidates: variables, rule, score, fresh (differs from known designs), then
  // the terms of the score. Empty: the strategy states no candidates.
  virtual std::vector<std::string> candidate_columns() const { return {}; }

  // Returns the present model, sampled at `grid_points` equidistant points if there is one free variable.
  virtual Iteration describe(int grid_points) const = 0;
};

}  // namespace dodyn::surrogate
