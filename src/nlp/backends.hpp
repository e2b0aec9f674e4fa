// The solvers behind solve(). Each returns its last iterate, multipliers, iterations, a status and a reason. `solved`
// means here that the solver reports success; solve() verifies it and adds the other fields.
#pragma once

#include <chrono>

#include "nlp/solve.hpp"

namespace dodyn::nlp {

using Clock = std::chrono::steady_clock;

// Limits of wall clock and processor time of a solve. Both times begin when the object is constructed, in the thread of
// the solve.
class Deadline {
 public:
  explicit Deadline(const Options& options);
  bool passed() const { return Clock::now() > end_ || processor_seconds() > processor_end_; }

 private:
  Clock::time_point end_;
  double processor_end_;
};

// Solve with one backend. `neighbour`: its multipliers are the initial multipliers; may be null. x0 must be within the
// bounds.
Solution solve_native(const Problem& problem, const Eigen::VectorXd& x0, const Solution* neighbour,
                      const Options& options, const Deadline& deadline);
Solution solve_ipopt(const Problem& problem, const Eigen::VectorXd& x0, const Solution* neighbour,
                     const Options& options, const Deadline& deadline);

}  // namespace dodyn::nlp
