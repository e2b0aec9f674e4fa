// Solvers behind one function. A solver does not throw for non-convergence; it returns a status and a reason.
#pragma once

#include <Eigen/Core>
#include <limits>
#include <string>
#include <vector>

#include "nlp/problem.hpp"

namespace dodyn::nlp {

enum class Backend {
  native,  // own implementation: primal-dual interior point, sparse, exact Hessian
  ipopt,   // primal-dual interior point, sparse, exact Hessian (MUMPS)
};

// Returns whether this build contains the backend. Ipopt is optional (CMake option DODYN_IPOPT). solve() with a missing
// backend returns the status `failed` and the reason.
bool available(Backend backend);

enum class SolveStatus {
  solved,         // first-order optimal: the KKT residual, computed by solve(), is within the tolerance or rounding
  infeasible,     // the solver converged to a point of locally minimal infeasibility; or all variables are fixed and
                  // violate a constraint
  not_converged,  // iteration limit, stalled, restoration failed, ...; x is the last accepted iterate
  timed_out,      // time limit reached; x is the last accepted iterate
  failed,         // bounds contradict each other, a value at the start is not finite, or the backend is missing; with
                  // Ipopt also too few free variables, too little memory, or an internal error
};

struct Options {
  Backend backend = Backend::native;
  double tolerance = 1e-9;  // on the absolute unscaled residuals(...), in addition to the effect of rounding to doubles
  int max_iterations = 1000;
  double max_seconds = 60.0;  // wall clock, checked between callbacks
  // Processor time of the calling thread; other programs on the machine do not count.
  double max_processor_seconds = std::numeric_limits<double>::infinity();
  bool warm_start = false;  // x0 is near a solution: starts with a small barrier parameter and keeps the point near
                            // its bounds
  double barrier = 0.0;     // native, warm: initial barrier parameter, smaller if x0 is nearer to a solution; 0: 1e-5
  double push = 0.0;        // native and Ipopt, cold: minimum distance of the initial point from its bounds,
                            // including constraints, relative to max(1, |bound|) and to the distance of two bounds;
                            // below 1/2; 0: 1e-2
  int print_level = 0;      // 0: silent ... 5: iteration log on standard output
};

// Residuals of the first-order conditions at (x, y, z), unscaled, maximum norm.
struct Residuals {
  double stationarity = 0.0;  // |grad f + J^T y - z_lower + z_upper|
  double feasibility = 0.0;   // maximum violation of a constraint or bound
  // maximum |multiplier * slack| of inequality constraints and bounds; |multiplier| if its sign is wrong or the bound
  // is missing
  double complementarity = 0.0;
  double max() const;  // the maximum of the three
};

// Times of the steps of a solve, wall clock, s; only the native solver fills it.
struct Timing {
  double functions = 0.0;      // objective and constraints, mostly at trial points
  double derivatives = 0.0;    // gradient, Jacobian, Hessian
  double factorisation = 0.0;  // analysis, factorisation and solution of the linear systems
  int factorisations = 0;
};

struct Solution {
  SolveStatus status = SolveStatus::failed;
  std::string reason;  // one line: why the solve ended
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

// Solves from x0, which is moved into the bounds first. Does not throw if the problem is hard; throws
// std::invalid_argument if sizes do not match, or if an entry of a pattern is out of range. Several threads may call it
// concurrently. Ipopt's own work (not the problem's callbacks) is then serialised, because MUMPS is not thread-safe.
Solution solve(const Problem& problem, const Eigen::VectorXd& x0, const Options& options = {});

// Solves from the solution of a neighbouring problem with its multipliers. Implies options.warm_start. Throws
// std::invalid_argument as above, and if the multipliers have other sizes.
Solution solve(const Problem& problem, const Solution& neighbour, const Options& options = {});

// Returns the processor time of the calling thread, s. Only differences have a meaning.
double processor_seconds();

// Computes the residuals of any point and multipliers; infinite where a value is NaN.
Residuals residuals(const Problem& problem, const Eigen::VectorXd& x, const Eigen::VectorXd& multipliers,
                    const Eigen::VectorXd& lower_multipliers, const Eigen::VectorXd& upper_multipliers);

}  // namespace dodyn::nlp
