// NLopt's SLSQP (Kraft, DFVLR-FB 88-28, 1988): dense, quasi-Newton, gives no multipliers and stops on small steps
// rather than on optimality. The multipliers are fitted afterwards to the constraints found active, and the KKT
// residual decides whether to go on from there.
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <nlopt.hpp>
#include <sstream>
#include <vector>

#include "nlp/backends.hpp"
#include "nlp/kkt.hpp"

namespace dodyn::nlp {

using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr int largest_size = 600;  // SLSQP's work grows with the cube of the variables

// One row of NLopt's form c(x) = 0 or c(x) <= 0:  sign * (c_i(x) - bound).
struct Row {
  int constraint;
  double sign, bound;
};

// The problem at the point asked for last, with its Jacobian made dense: NLopt asks for equalities and inequalities
// separately.
struct Evaluations {
  const Problem& problem;
  std::vector<Row> equalities, inequalities;
  VectorXd x, gradient, values, jacobian_values;
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> jacobian;
  VectorXd iterate;              // where objective() was last asked for its gradient
  double objective_scale = 1.0;  // applied in objective() only
  bool constraints_known = false;
  bool not_a_number = false;

  explicit Evaluations(const Problem& p)
      : problem(p),
        gradient(p.variables()),
        values(p.constraints()),
        jacobian_values(p.jacobian_pattern.size()),
        jacobian(p.constraints(), p.variables()) {
    for (int i = 0; i < p.constraints(); ++i) {
      const double low = p.constraint_lower[i], high = p.constraint_upper[i];
      if (low == high) {
        equalities.push_back({i, 1.0, low});
        continue;
      }
      if (std::isfinite(low)) inequalities.push_back({i, -1.0, low});
      if (std::isfinite(high)) inequalities.push_back({i, 1.0, high});
    }
  }

  void move_to(const double* point, unsigned size) {
    const Eigen::Map<const VectorXd> wanted(point, size);
    if (x.size() == wanted.size() && x == wanted) return;
    x = wanted;
    constraints_known = false;
  }

  // SLSQP does not come back from a value that is not a number.
  void require_finite(bool finite) {
    if (finite) return;
    not_a_number = true;
    throw nlopt::forced_stop();
  }

  bool evaluate_constraints() {  // false: not a number
    if (constraints_known) return true;
    problem.constraint_values(x, values);
    problem.jacobian(x, jacobian_values);
    if (!values.allFinite() || !jacobian_values.allFinite()) return false;
    jacobian.setZero();
    for (int k = 0; k < jacobian_values.size(); ++k)
      jacobian(problem.jacobian_pattern.rows[k], problem.jacobian_pattern.columns[k]) += jacobian_values[k];
    return constraints_known = true;
  }

  static double objective(unsigned size, const double* point, double* slopes, void* self) {
    Evaluations& at = *static_cast<Evaluations*>(self);
    at.move_to(point, size);
    const double value = at.problem.objective(at.x);
    at.require_finite(std::isfinite(value));
    if (slopes) {
      at.problem.objective_gradient(at.x, at.gradient);
      at.require_finite(at.gradient.allFinite());
      at.iterate = at.x;
      Eigen::Map<VectorXd>(slopes, size) = at.objective_scale * at.gradient;
    }
    return at.objective_scale * value;
  }

  void fill(const std::vector<Row>& rows, const double* point, unsigned size, double* result, double* slopes) {
    move_to(point, size);
    require_finite(evaluate_constraints());
    for (std::size_t k = 0; k < rows.size(); ++k) {
      result[k] = rows[k].sign * (values[rows[k].constraint] - rows[k].bound);
      if (slopes)
        Eigen::Map<Eigen::RowVectorXd>(slopes + k * size, size) = rows[k].sign * jacobian.row(rows[k].constraint);
    }
  }

  // constraint by constraint, how far its value lies outside its range
  VectorXd excess() const {
    return (values - problem.constraint_upper).cwiseMax(0.0) - (problem.constraint_lower - values).cwiseMax(0.0);
  }

  static double squared_violation(unsigned size, const double* point, double* slopes, void* self) {
    Evaluations& at = *static_cast<Evaluations*>(self);
    at.move_to(point, size);
    at.require_finite(at.evaluate_constraints());
    const VectorXd excess = at.excess();
    if (slopes) Eigen::Map<VectorXd>(slopes, size) = at.jacobian.transpose() * excess;
    return 0.5 * excess.squaredNorm();
  }

  static void equality(unsigned, double* result, unsigned size, const double* point, double* slopes, void* self) {
    Evaluations& at = *static_cast<Evaluations*>(self);
    at.fill(at.equalities, point, size, result, slopes);
  }

  static void inequality(unsigned, double* result, unsigned size, const double* point, double* slopes, void* self) {
    Evaluations& at = *static_cast<Evaluations*>(self);
    at.fill(at.inequalities, point, size, result, slopes);
  }
};

// minimise |A u - b| subject to u_i >= 0 for every i that is not free: the active-set method of Lawson and Hanson
// (Solving Least Squares Problems, 1974, algorithm 23.10), begun with all of u in the passive set.
VectorXd nonnegative_least_squares(const MatrixXd& A, const VectorXd& b, const std::vector<bool>& free) {
  const int size = static_cast<int>(A.cols());
  std::vector<int> passive(size);
  for (int i = 0; i < size; ++i) passive[i] = i;
  VectorXd u = VectorXd::Zero(size);
  const auto unconstrained = [&] {
    VectorXd full = VectorXd::Zero(size);
    if (passive.empty()) return full;
    const VectorXd part = A(Eigen::all, passive).completeOrthogonalDecomposition().solve(b);
    for (std::size_t k = 0; k < passive.size(); ++k) full[passive[k]] = part[k];
    return full;
  };
  const auto negative = [&](const VectorXd& v) { return [&](int i) { return !free[i] && v[i] <= 0.0; }; };

  for (;;) {  // a first passive set whose solution has the right signs
    u = unconstrained();
    if (std::erase_if(passive, negative(u)) == 0) break;
  }
  for (int sweep = 0; sweep < 3 * size; ++sweep) {
    const VectorXd slope = A.transpose() * (b - A * u);
    int entering = -1;
    for (int i = 0; i < size; ++i)
      if (std::find(passive.begin(), passive.end(), i) == passive.end() && (entering < 0 || slope[i] > slope[entering]))
        entering = i;
    if (entering < 0 || slope[entering] <= 1e-13 * b.norm() * A.col(entering).norm()) break;
    passive.push_back(entering);
    for (;;) {
      const VectorXd target = unconstrained();
      double step = 1.0;
      for (int i : passive)
        if (negative(target)(i)) step = std::min(step, u[i] / (u[i] - target[i]));
      u += step * (target - u);
      if (step >= 1.0) break;
      for (int i : passive)
        if (!free[i] && u[i] <= 1e-15) u[i] = 0.0;
      if (std::erase_if(passive, negative(u)) == 0) break;
    }
  }
  return u;
}

// The multipliers of least stationarity among those that the active constraints and bounds at x allow.
void fit_multipliers(const Problem& problem, Solution& solution) {
  const VectorXd& x = solution.x;
  const int n = problem.variables(), m = problem.constraints();
  Evaluations at(problem);
  at.move_to(x.data(), n);
  problem.objective_gradient(x, at.gradient);
  if (!at.evaluate_constraints() || !at.gradient.allFinite()) return;

  const auto active = [](double value, double bound) {
    return std::isfinite(bound) && std::abs(value - bound) <= 1e-5 * std::max(1.0, std::abs(bound));
  };
  // Each column: a multiplier's slot, its sign and its share of the stationarity.
  struct Column {
    double* multiplier;
    double sign;
    VectorXd share;
    bool free;
  };
  std::vector<Column> columns;
  for (int i = 0; i < m; ++i) {
    const bool equality = problem.constraint_lower[i] == problem.constraint_upper[i];
    const bool low = equality || active(at.values[i], problem.constraint_lower[i]);
    const bool high = equality || active(at.values[i], problem.constraint_upper[i]);
    if (!low && !high) continue;
    const double sign = high ? 1.0 : -1.0;
    columns.push_back({&solution.multipliers[i], sign, sign * at.jacobian.row(i).transpose(), low && high});
  }
  for (int i = 0; i < n; ++i) {
    if (problem.lower[i] == problem.upper[i]) continue;
    if (active(x[i], problem.lower[i]))
      columns.push_back({&solution.lower_multipliers[i], 1.0, -VectorXd::Unit(n, i), false});
    if (active(x[i], problem.upper[i]))
      columns.push_back({&solution.upper_multipliers[i], 1.0, VectorXd::Unit(n, i), false});
  }

  MatrixXd A(n, columns.size());
  std::vector<bool> free;
  for (std::size_t k = 0; k < columns.size(); ++k) {
    A.col(k) = columns[k].share;
    free.push_back(columns[k].free);
  }
  VectorXd b = -at.gradient;
  for (int i = 0; i < n; ++i)  // a fixed variable's row is met by its own multiplier
    if (problem.lower[i] == problem.upper[i]) A.row(i).setZero(), b[i] = 0.0;
  solution.multipliers.setZero();
  solution.lower_multipliers.setZero();
  solution.upper_multipliers.setZero();
  const VectorXd u = nonnegative_least_squares(A, b, free);
  for (std::size_t k = 0; k < columns.size(); ++k) *columns[k].multiplier += columns[k].sign * u[k];
}

double residual(const Problem& problem, const Solution& solution) {
  return residuals(problem, solution.x, solution.multipliers, solution.lower_multipliers, solution.upper_multipliers)
      .largest();
}

// One Newton step on the KKT equations (Nocedal and Wright, 2nd ed., eq. 18.6), the constraints and bounds of nonzero
// multipliers taken as equalities. False, and `solution` as it was, if the residual does not fall.
bool newton_step(const Problem& problem, Solution& solution) {
  const VectorXd& x = solution.x;
  const int n = problem.variables();
  Evaluations at(problem);
  at.move_to(x.data(), n);
  problem.objective_gradient(x, at.gradient);
  VectorXd hessian_values(problem.hessian_pattern.size());
  problem.hessian(x, 1.0, solution.multipliers, hessian_values);
  if (!at.evaluate_constraints() || !at.gradient.allFinite() || !hessian_values.allFinite()) return false;

  std::vector<int> active;
  std::vector<double> shortfall;  // what each active constraint has to gain
  for (int i = 0; i < problem.constraints(); ++i) {
    const double low = problem.constraint_lower[i], high = problem.constraint_upper[i], y = solution.multipliers[i];
    if (low < high && y == 0.0) continue;
    active.push_back(i);
    shortfall.push_back((y < 0.0 ? low : high) - at.values[i]);
  }

  // Variables on a bound step onto it, by a row of their own in place of the stationarity.
  const int size = n + static_cast<int>(active.size());
  MatrixXd matrix = MatrixXd::Zero(size, size);
  VectorXd right(size);
  for (int k = 0; k < hessian_values.size(); ++k) {
    const int row = problem.hessian_pattern.rows[k], column = problem.hessian_pattern.columns[k];
    matrix(row, column) += hessian_values[k];
    if (row != column) matrix(column, row) += hessian_values[k];
  }
  right.head(n) = -at.gradient;
  for (std::size_t k = 0; k < active.size(); ++k) {
    matrix.col(n + k).head(n) = at.jacobian.row(active[k]).transpose();
    matrix.row(n + k).head(n) = at.jacobian.row(active[k]);
    right[n + k] = shortfall[k];
  }
  for (int i = 0; i < n; ++i) {
    const bool on_lower = solution.lower_multipliers[i] > 0.0, on_upper = solution.upper_multipliers[i] > 0.0;
    if (problem.lower[i] < problem.upper[i] && !on_lower && !on_upper) continue;
    matrix.row(i).setZero();
    matrix(i, i) = 1.0;
    right[i] = (on_upper ? problem.upper[i] : problem.lower[i]) - x[i];
  }

  const VectorXd step = matrix.partialPivLu().solve(right);
  // Sharpening only: from afar Newton's method may as well end in a maximum.
  if (!(step.head(n).lpNorm<Eigen::Infinity>() <= 1e-3 * (1.0 + x.lpNorm<Eigen::Infinity>()))) return false;
  Solution next = solution;
  next.x = (x + step.head(n)).cwiseMax(problem.lower).cwiseMin(problem.upper);
  fit_multipliers(problem, next);
  if (!(residual(problem, next) < residual(problem, solution))) return false;
  solution = std::move(next);
  return true;
}

nlopt::opt solver_within_bounds(const Problem& problem) {
  nlopt::opt slsqp(nlopt::LD_SLSQP, problem.variables());
  slsqp.set_lower_bounds(std::vector<double>(problem.lower.begin(), problem.lower.end()));
  slsqp.set_upper_bounds(std::vector<double>(problem.upper.begin(), problem.upper.end()));
  slsqp.set_xtol_rel(1e-10);
  return slsqp;
}

// Runs from x, which becomes the best point found; the result is FAILURE after rounding, a number that is none, or an
// inconsistent subproblem.
nlopt::result run(nlopt::opt& slsqp, VectorXd& x, int evaluations, Clock::time_point deadline) {
  slsqp.set_maxeval(std::max(1, evaluations));
  slsqp.set_maxtime(std::max(1e-3, std::chrono::duration<double>(deadline - Clock::now()).count()));
  std::vector<double> point(x.begin(), x.end());
  nlopt::result result = nlopt::FAILURE;
  double objective = 0.0;
  try {
    result = slsqp.optimize(point, objective);
  } catch (const std::exception&) {
  }
  x = Eigen::Map<const VectorXd>(point.data(), x.size());
  return result;
}

}  // namespace

Solution solve_slsqp(const Problem& problem, const VectorXd& x0, const Options& options, Clock::time_point deadline) {
  const int n = problem.variables();
  Solution solution;
  solution.x = x0;
  solution.multipliers = VectorXd::Zero(problem.constraints());
  solution.lower_multipliers = solution.upper_multipliers = VectorXd::Zero(n);
  if (n > largest_size) {
    std::ostringstream reason;
    reason << "SLSQP is dense: " << n << " variables, at most " << largest_size << " are allowed (use Ipopt)";
    solution.reason = reason.str();
    return solution;
  }

  Evaluations evaluations(problem);
  const long free_variables = (problem.lower.array() < problem.upper.array()).count();
  if (static_cast<long>(evaluations.equalities.size()) > free_variables) {
    solution.reason = "more equality constraints than free variables";
    return solution;
  }
  // Its first step is the full negative gradient: keep that sane, as Ipopt does.
  problem.objective_gradient(x0, evaluations.gradient);
  evaluations.objective_scale = 100.0 / std::max(100.0, evaluations.gradient.lpNorm<Eigen::Infinity>());
  nlopt::opt slsqp = solver_within_bounds(problem), restoration = solver_within_bounds(problem);
  slsqp.set_min_objective(Evaluations::objective, &evaluations);
  restoration.set_min_objective(Evaluations::squared_violation, &evaluations);
  const auto tolerances = [&](const std::vector<Row>& rows) {
    return std::vector<double>(rows.size(), 0.5 * options.tolerance);
  };
  if (!evaluations.equalities.empty())
    slsqp.add_equality_mconstraint(Evaluations::equality, &evaluations, tolerances(evaluations.equalities));
  if (!evaluations.inequalities.empty())
    slsqp.add_inequality_mconstraint(Evaluations::inequality, &evaluations, tolerances(evaluations.inequalities));

  // SLSQP gives up at the first small step; a fresh start from there, with a fresh quasi-Newton matrix, often continues.
  // From an infeasible point it starts where the violation is least, in the sum of squares.
  constexpr int rounds = 5, newton_steps = 5;
  const auto spent = [&](const nlopt::opt& solver) { solution.iterations += solver.get_numevals(); };
  const auto left = [&] { return options.max_iterations - solution.iterations; };
  for (int round = 0; round < rounds; ++round) {
    const VectorXd before = solution.x;
    const nlopt::result result = run(slsqp, solution.x, left(), deadline);
    spent(slsqp);
    fit_multipliers(problem, solution);
    if (evaluations.iterate.size() == n) {  // the point of least objective may be far behind the last iterate
      Solution last = solution;
      last.x = evaluations.iterate;
      fit_multipliers(problem, last);
      if (residual(problem, last) < residual(problem, solution)) solution = std::move(last);
    }
    for (int k = 0; k < newton_steps && residual(problem, solution) > options.tolerance && Clock::now() < deadline; ++k)
      if (!newton_step(problem, solution)) break;
    if (residual(problem, solution) <= options.tolerance) {
      solution.status = SolveStatus::solved;
      return solution;
    }

    const auto end = [&](SolveStatus status, const char* reason) {
      solution.status = status;
      solution.reason = reason;
      return solution;
    };
    if (evaluations.not_a_number) return end(SolveStatus::not_converged, "not a number at a trial point");
    if (Clock::now() >= deadline) return end(SolveStatus::timed_out, "time limit");
    if (result == nlopt::MAXEVAL_REACHED || left() <= 0) return end(SolveStatus::not_converged, "iteration limit");

    const auto infeasible_at = [&](const VectorXd& x) {
      evaluations.move_to(x.data(), n);
      return evaluations.evaluate_constraints() &&
             !(evaluations.excess().lpNorm<Eigen::Infinity>() <= options.tolerance);
    };
    if (infeasible_at(solution.x)) {
      run(restoration, solution.x, left(), deadline);
      spent(restoration);
      if (infeasible_at(solution.x)) {
        const VectorXd slope = evaluations.jacobian.transpose() * evaluations.excess();
        const VectorXd descent = (solution.x - slope).cwiseMax(problem.lower).cwiseMin(problem.upper) - solution.x;
        if (descent.lpNorm<Eigen::Infinity>() <= 1e-5 * evaluations.excess().lpNorm<Eigen::Infinity>())
          return end(SolveStatus::infeasible, "converged to a point of locally minimal infeasibility");
      }
    }
    end(SolveStatus::not_converged, "no further progress");
    if (solution.x == before) break;
  }
  return solution;
}

}  // namespace dodyn::nlp
