// Ipopt (Waechter and Biegler, Mathematical Programming 106, 2006) with MUMPS. Ipopt 3.11.9 of Debian 12 has no
// wall-clock limit and is not thread-safe. The deadline and the lock below replace both.
#include <IpIpoptApplication.hpp>
#include <IpTNLP.hpp>
#include <mutex>
#include <string>

#include "nlp/backends.hpp"

namespace dodyn::nlp {

using Eigen::VectorXd;
using Ipopt::Index;
using Ipopt::Number;

namespace {

// MUMPS has global state, and so has Ipopt 3.11 (its object tags). A solve holds this lock inside Ipopt and releases it
// during the problem's callbacks, so that evaluations of several threads overlap.
std::mutex ipopt_lock;

class ScopedUnlock {
 public:
  ScopedUnlock() { ipopt_lock.unlock(); }
  ~ScopedUnlock() { ipopt_lock.lock(); }
  ScopedUnlock(const ScopedUnlock&) = delete;
  ScopedUnlock& operator=(const ScopedUnlock&) = delete;
};

// Adapts a Problem to Ipopt's interface TNLP. A callback that returns false makes Ipopt take a shorter step. After the
// deadline all evaluations of functions fail, until the callback of the next iteration ends the solve.
class Adapter : public Ipopt::TNLP {
 public:
  Adapter(const Problem& problem, const VectorXd& x0, const Solution* neighbour, const Deadline& deadline)
      : problem_(problem), neighbour_(neighbour), deadline_(deadline), x_(x0), y_(problem.constraints()) {
    solution.x = x0;
    solution.multipliers = VectorXd::Zero(problem.constraints());
    solution.lower_multipliers = solution.upper_multipliers = VectorXd::Zero(problem.variables());
  }

  bool get_nlp_info(Index& n, Index& m, Index& nnz_jac_g, Index& nnz_h_lag, IndexStyleEnum& index_style) override {
    n = problem_.variables();
    m = problem_.constraints();
    nnz_jac_g = problem_.jacobian_pattern.size();
    nnz_h_lag = problem_.hessian_pattern.size();
    index_style = C_STYLE;
    return true;
  }

  bool get_bounds_info(Index n, Number* x_l, Number* x_u, Index m, Number* g_l, Number* g_u) override {
    vector(x_l, n) = problem_.lower;
    vector(x_u, n) = problem_.upper;
    vector(g_l, m) = problem_.constraint_lower;
    vector(g_u, m) = problem_.constraint_upper;
    return true;
  }

  bool get_starting_point(Index n, bool init_x, Number* x, bool init_z, Number* z_l, Number* z_u, Index m,
                          bool init_lambda, Number* lambda) override {
    if ((init_z || init_lambda) && !neighbour_) return false;
    if (init_x) vector(x, n) = x_;
    if (init_z) {
      vector(z_l, n) = neighbour_->lower_multipliers;
      vector(z_u, n) = neighbour_->upper_multipliers;
    }
    if (init_lambda) vector(lambda, m) = neighbour_->multipliers;
    return true;
  }

  bool eval_f(Index n, const Number* x, bool new_x, Number& value) override {
    const ScopedUnlock unlocked;
    move_to(n, x, new_x);
    if (late()) return false;
    value = problem_.objective(x_);
    return std::isfinite(value);
  }

  bool eval_grad_f(Index n, const Number* x, bool new_x, Number* gradient) override {
    const ScopedUnlock unlocked;
    move_to(n, x, new_x);
    problem_.objective_gradient(x_, vector(gradient, n));
    return vector(gradient, n).allFinite();
  }

  bool eval_g(Index n, const Number* x, bool new_x, Index m, Number* values) override {
    const ScopedUnlock unlocked;
    move_to(n, x, new_x);
    if (late()) return false;
    problem_.constraint_values(x_, vector(values, m));
    return vector(values, m).allFinite();
  }

  bool eval_jac_g(Index n, const Number* x, bool new_x, Index, Index count, Index* rows, Index* columns,
                  Number* values) override {
    if (!values) return copy(problem_.jacobian_pattern, rows, columns);
    const ScopedUnlock unlocked;
    move_to(n, x, new_x);
    problem_.jacobian(x_, vector(values, count));
    return vector(values, count).allFinite();
  }

  bool eval_h(Index n, const Number* x, bool new_x, Number objective_factor, Index m, const Number* lambda, bool,
              Index count, Index* rows, Index* columns, Number* values) override {
    if (!values) return copy(problem_.hessian_pattern, rows, columns);
    const ScopedUnlock unlocked;
    move_to(n, x, new_x);
    y_ = Eigen::Map<const VectorXd>(lambda, m);
    problem_.hessian(x_, objective_factor, y_, vector(values, count));
    return vector(values, count).allFinite();
  }

  bool intermediate_callback(Ipopt::AlgorithmMode, Index iteration, Number, Number, Number, Number, Number, Number,
                             Number, Number, Index, const Ipopt::IpoptData*,
                             Ipopt::IpoptCalculatedQuantities*) override {
    solution.iterations = iteration;
    return !late();
  }

  void finalize_solution(Ipopt::SolverReturn, Index n, const Number* x, const Number* z_l, const Number* z_u, Index m,
                         const Number*, const Number* lambda, Number, const Ipopt::IpoptData*,
                         Ipopt::IpoptCalculatedQuantities*) override {
    solution.x = Eigen::Map<const VectorXd>(x, n);
    solution.multipliers = Eigen::Map<const VectorXd>(lambda, m);
    solution.lower_multipliers = Eigen::Map<const VectorXd>(z_l, n);
    solution.upper_multipliers = Eigen::Map<const VectorXd>(z_u, n);
  }

  bool was_late() const { return was_late_; }

  Solution solution;

 private:
  static Eigen::Map<VectorXd> vector(Number* data, Index size) { return {data, size}; }

  static bool copy(const Pattern& pattern, Index* rows, Index* columns) {
    std::copy(pattern.rows.begin(), pattern.rows.end(), rows);
    std::copy(pattern.columns.begin(), pattern.columns.end(), columns);
    return true;
  }

  void move_to(Index n, const Number* x, bool new_x) {
    if (new_x) x_ = Eigen::Map<const VectorXd>(x, n);
  }

  bool late() { return was_late_ = was_late_ || deadline_.passed(); }

  const Problem& problem_;
  const Solution* neighbour_;
  const Deadline& deadline_;
  VectorXd x_, y_;
  bool was_late_ = false;
};

struct Ending {
  SolveStatus status;
  const char* reason;
};

Ending ending(Ipopt::ApplicationReturnStatus status) {
  switch (status) {
    case Ipopt::Solve_Succeeded:
    case Ipopt::Feasible_Point_Found:
      return {SolveStatus::solved, "first-order optimal"};
    case Ipopt::Solved_To_Acceptable_Level:
      return {SolveStatus::not_converged, "no further progress near a solution"};
    case Ipopt::Search_Direction_Becomes_Too_Small:
      return {SolveStatus::not_converged, "search direction became too small"};
    case Ipopt::Infeasible_Problem_Detected:
      return {SolveStatus::infeasible, "converged to a point of locally minimal infeasibility"};
    case Ipopt::Diverging_Iterates:
      return {SolveStatus::not_converged, "iterates diverge, the problem may be unbounded"};
    case Ipopt::Maximum_Iterations_Exceeded:
      return {SolveStatus::not_converged, "iteration limit"};
    case Ipopt::Restoration_Failed:
      return {SolveStatus::not_converged, "feasibility restoration failed"};
    case Ipopt::Error_In_Step_Computation:
      return {SolveStatus::not_converged, "no search direction: the linear system stayed singular"};
    case Ipopt::Invalid_Number_Detected:
      return {SolveStatus::not_converged, "a derivative is not a number at an iterate"};
    case Ipopt::Not_Enough_Degrees_Of_Freedom:
      return {SolveStatus::failed, "more equality constraints than free variables"};
    case Ipopt::Insufficient_Memory:
      return {SolveStatus::failed, "out of memory"};
    default:
      return {SolveStatus::failed, "internal error of Ipopt"};
  }
}

void set_options(Ipopt::OptionsList& ipopt, const Options& options, bool with_multipliers) {
  // All tolerances are half the tolerance of solve()'s residuals, to allow for rounding.
  const double tolerance = 0.5 * options.tolerance;
  for (const char* name : {"tol", "dual_inf_tol", "constr_viol_tol", "compl_inf_tol"})
    ipopt.SetNumericValue(name, tolerance);
  ipopt.SetIntegerValue("acceptable_iter", 0);       // never stop early with a looser tolerance
  ipopt.SetNumericValue("bound_relax_factor", 0.0);  // solutions satisfy their bounds exactly
  ipopt.SetStringValue("linear_solver", "mumps");
  // Approximate minimum fill. MUMPS's automatic choice may be SCOTCH for larger problems. SCOTCH's random numbers
  // continue from one solve to the next, so a problem would not give the same digits twice.
  ipopt.SetIntegerValue("mumps_pivot_order", 2);
  ipopt.SetIntegerValue("max_iter", options.max_iterations);
  ipopt.SetIntegerValue("print_level", options.print_level);
  ipopt.SetStringValue("sb", "yes");  // no banner
  if (!options.warm_start) {
    if (options.push > 0.0)
      for (const char* name : {"bound_push", "bound_frac", "slack_bound_push", "slack_bound_frac"})
        ipopt.SetNumericValue(name, options.push);
    return;
  }
  ipopt.SetNumericValue("mu_init", 1e-5);
  for (const char* name : {"bound_push", "bound_frac", "slack_bound_push", "slack_bound_frac"})
    ipopt.SetNumericValue(name, 1e-7);
  ipopt.SetStringValue("bound_mult_init_method", "mu-based");
  if (!with_multipliers) return;
  ipopt.SetStringValue("warm_start_init_point", "yes");
  for (const char* name : {"warm_start_bound_push", "warm_start_bound_frac", "warm_start_slack_bound_push",
                           "warm_start_slack_bound_frac", "warm_start_mult_bound_push"})
    ipopt.SetNumericValue(name, 1e-7);
}

}  // namespace

Solution solve_ipopt(const Problem& problem, const VectorXd& x0, const Solution* neighbour, const Options& options,
                     const Deadline& deadline) {
  const std::lock_guard<std::mutex> guard(ipopt_lock);
  Ipopt::SmartPtr<Adapter> adapter = new Adapter(problem, x0, neighbour, deadline);
  Ipopt::SmartPtr<Ipopt::IpoptApplication> application = new Ipopt::IpoptApplication(options.print_level > 0);
  set_options(*application->Options(), options, neighbour != nullptr);

  Ending end{SolveStatus::failed, "Ipopt refused its options"};
  // With an empty name Ipopt does not read a file ipopt.opt from the working directory.
  if (application->Initialize(std::string()) == Ipopt::Solve_Succeeded)
    end = ending(application->OptimizeTNLP(GetRawPtr(adapter)));
  if (adapter->was_late() && end.status != SolveStatus::solved) end = {SolveStatus::timed_out, "time limit"};

  Solution solution = std::move(adapter->solution);
  solution.status = end.status;
  solution.reason = end.reason;
  return solution;
}

}  // namespace dodyn::nlp
