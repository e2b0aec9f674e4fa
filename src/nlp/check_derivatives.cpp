#include "nlp/check_derivatives.hpp"

#include <algorithm>
#include <cmath>

#include "nlp/kkt.hpp"

namespace dodyn::nlp {

using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr double step = 1e-3;
constexpr double objective_factor = 0.7;

// Returns the derivative of `function` in variable j by differences of fourth order (Abramowitz and Stegun 25.3.6).
template <class Function>
VectorXd difference(const Function& function, VectorXd x, int j) {
  const double centre = x[j], h = step * std::max(1.0, std::abs(centre));
  const auto at = [&](double shift) -> VectorXd {
    x[j] = centre + shift;
    return function(x);
  };
  return (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
}

}  // namespace

double DerivativeErrors::max() const { return std::max({gradient, jacobian, hessian}); }

DerivativeErrors check_derivatives(const Problem& problem, const VectorXd& x) {
  const int n = problem.variables(), m = problem.constraints();
  const auto objective = [&](const VectorXd& at) { return VectorXd::Constant(1, problem.objective(at)); };
  const auto constraints = [&](const VectorXd& at) {
    VectorXd values = VectorXd::Zero(m);
    problem.constraint_values(at, values);
    return values;
  };
  VectorXd y(m);
  for (int i = 0; i < m; ++i) y[i] = std::cos(1.0 + i);
  const auto gradient_of_sum = [&](const VectorXd& at) {
    VectorXd gradient = VectorXd::Zero(n);
    problem.objective_gradient(at, gradient);
    const VectorXd full = lagrangian_gradient(problem, at, y);
    return VectorXd(full - (1.0 - objective_factor) * gradient);
  };

  VectorXd gradient = VectorXd::Zero(n);
  problem.objective_gradient(x, gradient);
  VectorXd values = VectorXd::Zero(problem.jacobian_pattern.size());
  problem.jacobian(x, values);
  MatrixXd jacobian = MatrixXd::Zero(m, n);
  for (int k = 0; k < values.size(); ++k)
    jacobian(problem.jacobian_pattern.rows[k], problem.jacobian_pattern.columns[k]) += values[k];
  values = VectorXd::Zero(problem.hessian_pattern.size());
  problem.hessian(x, objective_factor, y, values);
  MatrixXd hessian = MatrixXd::Zero(n, n);
  for (int k = 0; k < values.size(); ++k) {
    const int row = problem.hessian_pattern.rows[k], column = problem.hessian_pattern.columns[k];
    hessian(row, column) += values[k];
    if (row != column) hessian(column, row) += values[k];
  }

  DerivativeErrors errors;
  const auto compare = [&](double& max_error, double given, double expected, const char* what, int row, int column) {
    double error = std::abs(given - expected) / std::max({1.0, std::abs(given), std::abs(expected)});
    if (!std::isfinite(error)) error = infinity;
    if (error > errors.max())
      errors.worst = std::string(what) + " (" + std::to_string(row) + ", " + std::to_string(column) + "): given " +
                     std::to_string(given) + ", difference " + std::to_string(expected);
    max_error = std::max(max_error, error);
  };
  for (int j = 0; j < n; ++j) {
    compare(errors.gradient, gradient[j], difference(objective, x, j)[0], "gradient", j, 0);
    const VectorXd jacobian_column = difference(constraints, x, j);
    for (int i = 0; i < m; ++i) compare(errors.jacobian, jacobian(i, j), jacobian_column[i], "Jacobian", i, j);
    const VectorXd hessian_column = difference(gradient_of_sum, x, j);
    for (int i = 0; i < n; ++i) compare(errors.hessian, hessian(i, j), hessian_column[i], "Hessian", i, j);
  }
  return errors;
}

}  // namespace dodyn::nlp
