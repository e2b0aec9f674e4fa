// Compares a problem's derivatives with fourth-order central differences.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <string>

#include "nlp/kkt.hpp"
#include "nlp/problem.hpp"

namespace dodyn::nlp {

// Maximum errors |given - difference| / max(1, |given|, |difference|); infinite if a value is NaN.
struct DerivativeErrors {
  double gradient = 0.0;
  double jacobian = 0.0;
  double hessian = 0.0;
  std::string worst;  // description of the entry with the maximum error
  double max() const { return std::max({gradient, jacobian, hessian}); }
};

// Returns the derivative of `function` in variable j by differences of fourth order (Abramowitz and Stegun 25.3.6).
template <class Function>
Eigen::VectorXd difference(const Function& function, Eigen::VectorXd x, int j) {
  constexpr double step = 1e-3;
  const double centre = x[j], h = step * std::max(1.0, std::abs(centre));
  const auto at = [&](double shift) -> Eigen::VectorXd {
    x[j] = centre + shift;
    return function(x);
  };
  return (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
}

// Compares gradient and Jacobian with differences of f and c, and the Hessian of 0.7 f + y . c (y between -1 and 1,
// different for each constraint) with differences of its gradient. Whole columns are compared, so entries missing from
// a pattern are detected. Evaluates up to 2e-3 max(1, |x_i|) away from x in each variable, even outside bounds; the
// functions must be smooth there. Correct derivatives of well scaled functions agree to about 1e-9.
inline DerivativeErrors check_derivatives(const Problem& problem, const Eigen::VectorXd& x) {
  constexpr double objective_factor = 0.7;
  const int n = problem.variables(), m = problem.constraints();
  const auto objective = [&](const Eigen::VectorXd& at) { return Eigen::VectorXd::Constant(1, problem.objective(at)); };
  const auto constraints = [&](const Eigen::VectorXd& at) {
    Eigen::VectorXd values = Eigen::VectorXd::Zero(m);
    problem.constraint_values(at, values);
    return values;
  };
  Eigen::VectorXd y(m);
  for (int i = 0; i < m; ++i) y[i] = std::cos(1.0 + i);
  const auto gradient_of_sum = [&](const Eigen::VectorXd& at) {
    Eigen::VectorXd gradient = Eigen::VectorXd::Zero(n);
    problem.objective_gradient(at, gradient);
    const Eigen::VectorXd full = lagrangian_gradient(problem, at, y);
    return Eigen::VectorXd(full - (1.0 - objective_factor) * gradient);
  };

  Eigen::VectorXd gradient = Eigen::VectorXd::Zero(n);
  problem.objective_gradient(x, gradient);
  Eigen::VectorXd values = Eigen::VectorXd::Zero(problem.jacobian_pattern.size());
  problem.jacobian(x, values);
  Eigen::MatrixXd jacobian = Eigen::MatrixXd::Zero(m, n);
  for (int k = 0; k < values.size(); ++k)
    jacobian(problem.jacobian_pattern.rows[k], problem.jacobian_pattern.columns[k]) += values[k];
  values = Eigen::VectorXd::Zero(problem.hessian_pattern.size());
  problem.hessian(x, objective_factor, y, values);
  Eigen::MatrixXd hessian = Eigen::MatrixXd::Zero(n, n);
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
    const Eigen::VectorXd jacobian_column = difference(constraints, x, j);
    for (int i = 0; i < m; ++i) compare(errors.jacobian, jacobian(i, j), jacobian_column[i], "Jacobian", i, j);
    const Eigen::VectorXd hessian_column = difference(gradient_of_sum, x, j);
    for (int i = 0; i < n; ++i) compare(errors.hessian, hessian(i, j), hessian_column[i], "Hessian", i, j);
  }
  return errors;
}

}  // namespace dodyn::nlp
