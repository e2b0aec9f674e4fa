// Ask/tell: how the outer loop chooses designs. A strategy knows nothing of ranks, files or robots.
//
//   while (strategy.stopped().empty()) {
//     for (auto& design : strategy.ask(n)) ... evaluate ...
//     strategy.tell(evaluation);           // each, in the order of the ids in the synchronous mode
//     strategy.decide();                   // once they are all told
//   }
//
// A strategy is deterministic: the same tells in the same order give the same asks. A resumed study relies on it: it
// replays the archived evaluations before it evaluates anything new.
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

inline constexpr double infinity = std::numeric_limits<double>::infinity();

// What the strategy saw and decided at one iteration; one row of the archive's /iterations and /surrogate.
// The curve is filled for one free variable only.
struct Iteration {
  Eigen::VectorXd next;                       // design proposed last (empty: none)
  double predicted_cost = not_a_number;       // the surrogate's prediction there
  double best_cost = not_a_number;            // best `ok` cost received up to now
  std::int64_t best_id = -1;                  //   and its evaluation
  Eigen::VectorXd recommended;                // best design as the model sees it, where costs are noisy; may be empty
  std::string note;                           // one line: what was decided and why
  Eigen::VectorXd grid, value, lower, upper;  // surrogate on a grid; lower/upper its band, empty where it has none
  std::vector<std::pair<std::string, double>> numbers;  // of the model, by name: hyperparameters, its quality, ...
  // designs that were considered, a row each, the chosen one first; columns: candidate_columns()
  Eigen::MatrixXd candidates;
};

inline constexpr Eigen::Index most_candidates = 8;  // rows of Iteration::candidates

// " m"; nothing after a pure number.
inline std::string unit_after(const Variable& v) { return v.unit.empty() || v.unit == "1" ? "" : " " + v.unit; }

class Strategy {
 public:
  virtual ~Strategy() = default;

  // Designs to try next: at least one unless stopped() or waiting for tells; at most `at_most`. Every design lies
  // within the bounds. The number must not depend on how many ranks there are. What was asked for and not yet told is
  // pending: ask() may be called again before the tells, and does not ask for the same again.
  virtual std::vector<Eigen::VectorXd> ask(int at_most) = 0;

  // An evaluation has finished, whatever its status. Costs that are not finite never reach a model.
  virtual void tell(const Evaluation& evaluation) = 0;

  // What was told is all there is for now: what next, or is this the end? stopped() and describe() then tell.
  virtual void decide() {}

  // Why the strategy asks for no more, as one line; empty while it continues.
  virtual std::string stopped() const = 0;

  // Why this strategy, where it was chosen automatically: one line to print before the first evaluation.
  virtual std::string reason() const { return {}; }

  // Names that Iteration::numbers may hold, the same from first to last: the archive's columns.
  virtual std::vector<std::string> numbers() const { return {}; }
  // The same of the columns of Iteration::candidates: the variables, then what was thought of a design.
  virtual std::vector<std::string> candidate_columns() const { return {}; }

  // The model as it stands, sampled at `grid_points` equidistant points where there is one free variable.
  virtual Iteration describe(int grid_points) const = 0;
};

}  // namespace dodyn::surrogate
