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
      std::copy(at.gradient.begin(), at.gradient.end(), slopes);
    }
    return value;
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
    return std::isfinite(bound) && std::abs(value - bound) <= 1e-6 * std::max(1.0, std::abs(bound));
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
    const bool low = active(at.values[i], problem.constraint_lower[i]);
    const bool high = active(at.values[i], problem.constraint_upper[i]);
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

// Whether x minimises, to first order, the sum of squared violations within the bounds.
bool locally_infeasible(const Problem& problem, const VectorXd& x, double tolerance) {
  Evaluations at(problem);
  at.move_to(x.data(), problem.variables());
  if (!at.evaluate_constraints()) return false;
  const VectorXd excess =
      (at.values - problem.constraint_upper).cwiseMax(0.0) - (problem.constraint_lower - at.values).cwiseMax(0.0);
  if (!(excess.lpNorm<Eigen::Infinity>() > tolerance)) return false;
  const VectorXd gradient = at.jacobian.transpose() * excess;
  const VectorXd step = (x - gradient).cwiseMax(problem.lower).cwiseMin(problem.upper) - x;
  return step.lpNorm<Eigen::Infinity>() <= 1e-6 * excess.lpNorm<Eigen::Infinity>();
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
  nlopt::opt slsqp(nlopt::LD_SLSQP, n);
  slsqp.set_lower_bounds(std::vector<double>(problem.lower.begin(), problem.lower.end()));
  slsqp.set_upper_bounds(std::vector<double>(problem.upper.begin(), problem.upper.end()));
  slsqp.set_min_objective(Evaluations::objective, &evaluations);
  const auto tolerances = [&](const std::vector<Row>& rows) {
    return std::vector<double>(rows.size(), 0.5 * options.tolerance);
  };
  if (!evaluations.equalities.empty())
    slsqp.add_equality_mconstraint(Evaluations::equality, &evaluations, tolerances(evaluations.equalities));
  if (!evaluations.inequalities.empty())
    slsqp.add_inequality_mconstraint(Evaluations::inequality, &evaluations, tolerances(evaluations.inequalities));
  slsqp.set_xtol_rel(1e-14);

  // SLSQP gives up at the first small step; a fresh start from there, with a fresh quasi-Newton matrix, often goes on.
  constexpr int rounds = 8;
  std::vector<double> x(x0.begin(), x0.end());
  for (int round = 0; round < rounds; ++round) {
    slsqp.set_maxeval(std::max(1, options.max_iterations - solution.iterations));
    slsqp.set_maxtime(std::max(1e-3, std::chrono::duration<double>(deadline - Clock::now()).count()));
    solution.status = SolveStatus::not_converged;
    solution.reason = "no further progress";
    nlopt::result result = nlopt::FAILURE;
    double objective = 0.0;
    try {
      result = slsqp.optimize(x, objective);
    } catch (const std::exception&) {  // rounding, forced stop or an inconsistent subproblem: x is the best point
    }
    solution.iterations += slsqp.get_numevals();
    const VectorXd next = Eigen::Map<const VectorXd>(x.data(), n);
    const bool moved = next != solution.x;
    solution.x = next;
    fit_multipliers(problem, solution);
    if (residuals(problem, solution.x, solution.multipliers, solution.lower_multipliers, solution.upper_multipliers)
            .largest() <= options.tolerance) {
      solution.status = SolveStatus::solved;
      break;
    }
    if (evaluations.not_a_number) {
      solution.reason = "the problem is not a number at a trial point";
      break;
    }
    if (Clock::now() >= deadline) {
      solution.status = SolveStatus::timed_out;
      solution.reason = "time limit";
      break;
    }
    if (result == nlopt::MAXEVAL_REACHED || solution.iterations >= options.max_iterations) {
      solution.reason = "iteration limit";
      break;
    }
    if (!moved) break;
  }
  if (solution.status == SolveStatus::not_converged && locally_infeasible(problem, solution.x, options.tolerance)) {
    solution.status = SolveStatus::infeasible;
    solution.reason = "stopped at a point of locally minimal infeasibility";
  }
  return solution;
}

}  // namespace dodyn::nlp
