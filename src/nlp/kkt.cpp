#include "nlp/kkt.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dodyn::nlp {

using Eigen::VectorXd;

namespace {

// Raises `maximum` to a value. NaN counts as infinity, so that it does not make a residual look small.
void raise(double& maximum, double value) {
  maximum = value <= maximum ? maximum : (std::isnan(value) ? infinity : value);
}

// Returns |multiplier * slack|; a multiplier of the wrong sign or of a missing bound counts in full.
double mismatch(double multiplier, double slack) {
  if (multiplier == 0.0) return 0.0;
  if (multiplier < 0.0 || std::isinf(slack)) return std::abs(multiplier);
  return std::abs(multiplier * slack);
}

}  // namespace

VectorXd lagrangian_gradient(const Problem& problem, const VectorXd& x, const VectorXd& y) {
  VectorXd gradient = VectorXd::Zero(problem.variables());
  problem.objective_gradient(x, gradient);
  VectorXd jacobian = VectorXd::Zero(problem.jacobian_pattern.size());
  problem.jacobian(x, jacobian);
  for (int k = 0; k < jacobian.size(); ++k)
    gradient[problem.jacobian_pattern.columns[k]] += jacobian[k] * y[problem.jacobian_pattern.rows[k]];
  return gradient;
}

double violation(const Problem& problem, const VectorXd& x, const VectorXd& constraint_values,
                 const VectorXd& allowance) {
  double maximum = 0.0;
  for (int i = 0; i < x.size(); ++i) {
    raise(maximum, problem.lower[i] - x[i]);
    raise(maximum, x[i] - problem.upper[i]);
  }
  for (int i = 0; i < constraint_values.size(); ++i) {
    const double allowed = allowance.size() > 0 ? allowance[i] : 0.0;
    raise(maximum, problem.constraint_lower[i] - constraint_values[i] - allowed);
    raise(maximum, constraint_values[i] - problem.constraint_upper[i] - allowed);
  }
  return maximum;
}

VectorXd rounding_of_rows(const Problem& problem, const VectorXd& x, const VectorXd& jacobian_values) {
  VectorXd rounding = VectorXd::Zero(problem.constraints());
  for (int k = 0; k < problem.jacobian_pattern.size(); ++k)
    rounding[problem.jacobian_pattern.rows[k]] +=
        unit_roundoff * std::abs(jacobian_values[k] * x[problem.jacobian_pattern.columns[k]]);
  return rounding;
}

void set_multipliers_of_fixed_variables(const Problem& problem, const VectorXd& x, const VectorXd& y,
                                        VectorXd& lower_multipliers, VectorXd& upper_multipliers) {
  if ((problem.lower.array() < problem.upper.array()).all()) return;
  const VectorXd gradient = lagrangian_gradient(problem, x, y);
  for (int i = 0; i < x.size(); ++i) {
    if (problem.lower[i] < problem.upper[i]) continue;
    lower_multipliers[i] = std::max(gradient[i], 0.0);
    upper_multipliers[i] = std::max(-gradient[i], 0.0);
  }
}

void rounding_of_gradient(const Problem& problem, const VectorXd& x, const VectorXd& y, const VectorXd& jacobian_values,
                          const VectorXd& hessian_values, VectorXd& rounding) {
  constexpr double roundings = 8.0;  // number of roundings that each term may have
  rounding.setZero(problem.variables());
  const Pattern &J = problem.jacobian_pattern, &H = problem.hessian_pattern;
  for (int k = 0; k < J.size(); ++k) rounding[J.columns[k]] += std::abs(jacobian_values[k] * y[J.rows[k]]);
  for (int k = 0; k < H.size(); ++k) {
    const int row = H.rows[k], column = H.columns[k];
    rounding[row] += std::abs(hessian_values[k] * x[column]);
    if (row != column) rounding[column] += std::abs(hessian_values[k] * x[row]);
  }
  rounding *= roundings * unit_roundoff;
}

namespace {

// Rounding errors of the residuals.
struct RoundingErrors {
  VectorXd rows, gradient;  // [constraints], [variables]
  double roundoff = 0.0;    // relative rounding error of the unknowns
};

Residuals residuals(const Problem& problem, const VectorXd& x, const VectorXd& multipliers,
                    const VectorXd& lower_multipliers, const VectorXd& upper_multipliers,
                    const RoundingErrors& allowed) {
  Residuals result;
  const VectorXd stationarity = lagrangian_gradient(problem, x, multipliers) - lower_multipliers + upper_multipliers;
  for (int i = 0; i < x.size(); ++i) raise(result.stationarity, std::abs(stationarity[i]) - allowed.gradient[i]);

  VectorXd values = VectorXd::Zero(problem.constraints());
  problem.constraint_values(x, values);
  result.feasibility = violation(problem, x, values, allowed.rows);

  const auto complement = [&](double multiplier, double slack, double rounding) {
    raise(result.complementarity, mismatch(multiplier, slack) - (multiplier > 0.0 ? multiplier * rounding : 0.0));
  };
  for (int i = 0; i < x.size(); ++i) {
    const double rounding = allowed.roundoff * std::abs(x[i]);
    complement(lower_multipliers[i], x[i] - problem.lower[i], rounding);
    complement(upper_multipliers[i], problem.upper[i] - x[i], rounding);
  }
  for (int i = 0; i < values.size(); ++i) {
    if (problem.constraint_lower[i] == problem.constraint_upper[i]) continue;
    const double y = multipliers[i];
    if (std::isnan(y))
      raise(result.complementarity, y);
    else if (y > 0.0)
      complement(y, problem.constraint_upper[i] - values[i], allowed.rows[i]);
    else
      complement(-y, values[i] - problem.constraint_lower[i], allowed.rows[i]);
  }
  return result;
}

}  // namespace

Residuals residuals(const Problem& problem, const VectorXd& x, const VectorXd& multipliers,
                    const VectorXd& lower_multipliers, const VectorXd& upper_multipliers) {
  return residuals(problem, x, multipliers, lower_multipliers, upper_multipliers,
                   {VectorXd::Zero(problem.constraints()), VectorXd::Zero(problem.variables())});
}

Residuals residuals_beyond_rounding(const Problem& problem, const VectorXd& x, const VectorXd& multipliers,
                                    const VectorXd& lower_multipliers, const VectorXd& upper_multipliers) {
  VectorXd jacobian = VectorXd::Zero(problem.jacobian_pattern.size()),
           hessian = VectorXd::Zero(problem.hessian_pattern.size());
  problem.jacobian(x, jacobian);
  problem.hessian(x, 1.0, multipliers, hessian);
  const VectorXd of_bounds = unit_roundoff * (lower_multipliers.cwiseAbs() + upper_multipliers.cwiseAbs());
  RoundingErrors allowed{rounding_of_rows(problem, x, jacobian), {}, unit_roundoff};
  rounding_of_gradient(problem, x, multipliers, jacobian, hessian, allowed.gradient);
  allowed.gradient += of_bounds;
  return residuals(problem, x, multipliers, lower_multipliers, upper_multipliers, allowed);
}

double Residuals::max() const { return std::max({stationarity, feasibility, complementarity}); }

}  // namespace dodyn::nlp
