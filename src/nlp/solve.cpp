#include "nlp/solve.hpp"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>

#include "nlp/backends.hpp"
#include "nlp/kkt.hpp"

namespace dodyn::nlp {

using Eigen::VectorXd;

namespace {

void require_size(const char* what, long size, long wanted) {
  if (size == wanted) return;
  std::ostringstream message;
  message << "nlp::solve: " << what << " has size " << size << ", expected " << wanted;
  throw std::invalid_argument(message.str());
}

void require_pattern(const char* what, const Pattern& pattern, int rows, int columns, bool lower_triangle) {
  require_size(what, static_cast<long>(pattern.columns.size()), static_cast<long>(pattern.rows.size()));
  for (int k = 0; k < pattern.size(); ++k) {
    const int row = pattern.rows[k], column = pattern.columns[k];
    if (row >= 0 && row < rows && column >= 0 && column < columns && !(lower_triangle && row < column)) continue;
    std::ostringstream message;
    message << "nlp::solve: entry " << k << " of the " << what << " is at (" << row << ", " << column
            << "), allowed is " << (lower_triangle ? "the lower triangle of " : "") << rows << " x " << columns;
    throw std::invalid_argument(message.str());
  }
}

void require_sizes(const Problem& problem, const VectorXd& x0) {
  const int n = problem.variables(), m = problem.constraints();
  require_size("upper", problem.upper.size(), n);
  require_size("constraint_upper", problem.constraint_upper.size(), m);
  require_size("starting point", x0.size(), n);
  require_pattern("Jacobian pattern", problem.jacobian_pattern, m, n, false);
  require_pattern("Hessian pattern", problem.hessian_pattern, n, n, true);
}

// Returns why no solver can start; empty: none.
std::string obstacle(const Problem& problem, const VectorXd& x0) {
  const auto at = [](const char* what, long i) { return std::string(what) + " " + std::to_string(i); };
  const auto fault_of = [](double lower, double upper) -> std::string {
    if (!(lower <= upper)) return "lower bound above upper bound at ";
    return lower == infinity || upper == -infinity ? "no finite value within the bounds of " : "";
  };
  for (int i = 0; i < problem.variables(); ++i) {
    if (const auto fault = fault_of(problem.lower[i], problem.upper[i]); !fault.empty())
      return fault + at("variable", i);
    if (!std::isfinite(x0[i])) return "the starting point is not finite at " + at("variable", i);
  }
  for (int i = 0; i < problem.constraints(); ++i)
    if (const auto fault = fault_of(problem.constraint_lower[i], problem.constraint_upper[i]); !fault.empty())
      return fault + at("constraint", i);

  if (!std::isfinite(problem.objective(x0))) return "objective is not a number at the starting point";
  const auto first_non_finite = [](const VectorXd& values) {
    int i = 0;
    while (i < values.size() && std::isfinite(values[i])) ++i;
    return i;
  };
  VectorXd values = VectorXd::Zero(problem.variables());
  problem.objective_gradient(x0, values);
  if (const int i = first_non_finite(values); i < values.size())
    return at("objective gradient is not a number at the starting point: variable", i);
  values = VectorXd::Zero(problem.constraints());
  problem.constraint_values(x0, values);
  if (const int i = first_non_finite(values); i < values.size())
    return at("a constraint is not a number at the starting point: constraint", i);
  values = VectorXd::Zero(problem.jacobian_pattern.size());
  problem.jacobian(x0, values);
  if (const int k = first_non_finite(values); k < values.size())
    return at("the Jacobian is not a number at the starting point: constraint", problem.jacobian_pattern.rows[k]) +
           at(", variable", problem.jacobian_pattern.columns[k]);
  return "";
}

// Returns x0 with multipliers of zero, the status `failed` and the reason.
Solution unsolved(const Problem& problem, const VectorXd& x0, const std::string& reason) {
  Solution solution;
  solution.reason = reason;
  solution.x = x0;
  solution.multipliers = VectorXd::Zero(problem.constraints());
  solution.lower_multipliers = solution.upper_multipliers = VectorXd::Zero(problem.variables());
  return solution;
}

// Returns x0, as a solution or as infeasible: all variables are fixed.
Solution solve_without_freedom(const Problem& problem, const VectorXd& x0, const Options& options) {
  VectorXd values = VectorXd::Zero(problem.constraints());
  problem.constraint_values(x0, values);
  const bool feasible = violation(problem, x0, values) <= options.tolerance;
  Solution solution = unsolved(
      problem, x0, feasible ? "every variable is fixed" : "every variable is fixed and a constraint is violated");
  solution.status = feasible ? SolveStatus::solved : SolveStatus::infeasible;
  return solution;
}

Solution solve(const Problem& problem, const VectorXd& start, const Solution* neighbour, const Options& options) {
  const Clock::time_point begin = Clock::now();
  require_sizes(problem, start);

  const VectorXd x0 = start.cwiseMax(problem.lower).cwiseMin(problem.upper);
  Solution solution;
  if (const std::string why = obstacle(problem, x0); !why.empty()) {
    solution = unsolved(problem, x0, why);
    solution.objective = std::numeric_limits<double>::quiet_NaN();
    solution.residuals = {infinity, infinity, infinity};
    return solution;
  }

  const Deadline deadline(options);
  if ((problem.lower.array() == problem.upper.array()).all())
    solution = solve_without_freedom(problem, x0, options);
  else if (options.backend == Backend::native)
    solution = solve_native(problem, x0, neighbour, options, deadline);
  else
#ifdef DODYN_HAVE_IPOPT
    solution = solve_ipopt(problem, x0, neighbour, options, deadline);
#else
    solution = unsolved(problem, x0, "this build has no Ipopt (configure with DODYN_IPOPT=ON where it is installed)");
#endif

  set_multipliers_of_fixed_variables(problem, solution.x, solution.multipliers, solution.lower_multipliers,
                                     solution.upper_multipliers);
  solution.objective = problem.objective(solution.x);
  solution.residuals =
      residuals(problem, solution.x, solution.multipliers, solution.lower_multipliers, solution.upper_multipliers);
  const double residual = solution.residuals.max();
  const bool to_rounding = residual > options.tolerance && std::isfinite(residual) &&
                           residuals_beyond_rounding(problem, solution.x, solution.multipliers,
                                                     solution.lower_multipliers, solution.upper_multipliers)
                                   .max() <= options.tolerance;
  std::ostringstream reason;
  if ((residual <= options.tolerance || to_rounding) && solution.status != SolveStatus::failed) {
    solution.status = SolveStatus::solved;
    reason << "first-order optimal" << (to_rounding ? " to rounding" : "") << ", residual " << residual;
  } else {
    const bool claimed =
        solution.status == SolveStatus::solved ||
        (solution.status == SolveStatus::infeasible && solution.residuals.feasibility <= options.tolerance);
    if (claimed) solution.status = SolveStatus::not_converged;
    reason << solution.reason << ", residual " << residual;
  }
  solution.reason = reason.str();
  solution.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return solution;
}

}  // namespace

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Deadline::Deadline(const Options& options) : processor_end_(processor_seconds() + options.max_processor_seconds) {
  const std::chrono::duration<double> limit(std::min(options.max_seconds, 1e9));  // avoids overflow of the clock
  end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(limit);
}

bool available(Backend backend) {
#ifdef DODYN_HAVE_IPOPT
  static_cast<void>(backend);
  return true;
#else
  return backend != Backend::ipopt;
#endif
}

Solution solve(const Problem& problem, const VectorXd& x0, const Options& options) {
  return solve(problem, x0, nullptr, options);
}

Solution solve(const Problem& problem, const Solution& neighbour, const Options& options) {
  require_size("neighbour's multipliers", neighbour.multipliers.size(), problem.constraints());
  require_size("neighbour's lower multipliers", neighbour.lower_multipliers.size(), problem.variables());
  require_size("neighbour's upper multipliers", neighbour.upper_multipliers.size(), problem.variables());
  Options warm = options;
  warm.warm_start = true;
  return solve(problem, neighbour.x, &neighbour, warm);
}

}  // namespace dodyn::nlp
