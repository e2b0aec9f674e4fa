// Solvers behind one function. A solver does not throw for non-convergence; it returns a status and a reason.
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "nlp/problem.hpp"

namespace dodyn::nlp {

enum class Backend {
  native,  // primal-dual interior point of our own, sparse, exact Hessian
  ipopt,   // primal-dual interior point, sparse, exact Hessian (MUMPS)
};

// Is the backend part of this build? Ipopt is where it was found (CMake option DODYN_IPOPT); asking solve() for one
// that is not ends with the status `failed` and the reason.
bool available(Backend backend);

enum class SolveStatus {
  solved,         // first-order optimal: KKT residual at or below the tolerance, or to rounding; re-checked by us
  infeasible,     // the solver converged to a point of locally minimal infeasibility
  not_converged,  // iteration limit, stalled, restoration failed, ...; x is the last accepted iterate
  timed_out,      // the time limit; x is the last accepted iterate
  failed,         // the problem could not be evaluated at the start (not a number), or is malformed
};

struct Options {
  Backend backend = Backend::native;
  double tolerance = 1e-9;  // on residuals(...), absolute and unscaled; rows beyond what rounding x makes of them
  int max_iterations = 1000;
  double max_seconds = 60.0;  // wall clock, looked at between callbacks
  bool warm_start = false;    // x0 is near a solution: start with a small barrier and push little from the bounds
  double barrier = 0.0;       // native, warm: the first barrier parameter, smaller the nearer x0 is to a solution;
                              // 0: 1e-5
  double push = 0.0;          // native, Ipopt, cold: how far inside its bounds a start is moved, constraints included,
                              // as a share of max(1, |bound|) and of the way between two; below 1/2; 0: 1e-2
  int print_level = 0;        // 0 silent ... 5 an iteration log on standard output
};

// First-order optimality at (x, y, z), unscaled and in the maximum norm.
struct Residuals {
  double stationarity = 0.0;     // |grad f + J^T y - z_lower + z_upper|
  double feasibility = 0.0;      // largest violation of a constraint or bound
  double complementarity = 0.0;  // largest |multiplier * slack| over constraints and bounds, wrong signs included
  double largest() const;
};

// Where the time of a solve went, s of wall clock; the native solver fills it.
struct Timing {
  double functions = 0.0;      // objective and constraints, mostly of trial points
  double derivatives = 0.0;    // gradient, Jacobian, Hessian
  double factorisation = 0.0;  // analysing, factorising and solving the linear systems
  int factorisations = 0;
};

struct Solution {
  SolveStatus status = SolveStatus::failed;
  std::string reason;  // one line: what ended the solve
  Eigen::VectorXd x;
  double objective = 0.0;
  Eigen::VectorXd multipliers;        // y, [constraints]
  Eigen::VectorXd lower_multipliers;  // z_lower >= 0, [variables]
  Eigen::VectorXd upper_multipliers;  // z_upper >= 0, [variables]
  Residuals residuals;
  int iterations = 0;
  double seconds = 0.0;
  Timing timing;
};

// Solves from x0 (moved into the bounds first). Never throws for a hard problem; throws std::invalid_argument for
// sizes that do not match. May be called from several threads at once; Ipopt's own work (not the problem's callbacks)
// is then done one solve at a time, because MUMPS is not thread-safe.
Solution solve(const Problem& problem, const Eigen::VectorXd& x0, const Options& options = {});

// The same from the solution of a neighbouring problem, its multipliers included. options.warm_start is implied.
Solution solve(const Problem& problem, const Solution& neighbour, const Options& options = {});

Residuals residuals(const Problem& problem, const Eigen::VectorXd& x, const Eigen::VectorXd& multipliers,
                    const Eigen::VectorXd& lower_multipliers, const Eigen::VectorXd& upper_multipliers);

}  // namespace dodyn::nlp
