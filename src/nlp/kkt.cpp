#include "nlp/kkt.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "nlp/solve.hpp"

namespace dodyn::nlp {

using Eigen::VectorXd;

namespace {

// Like std::max, but keeps NaN (as infinity): NaN must not make a residual look small.
void raise(double& largest, double value) {
  largest = value <= largest ? largest : (std::isnan(value) ? infinity : value);
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
  double largest = 0.0;
  for (int i = 0; i < x.size(); ++i) {
    raise(largest, problem.lower[i] - x[i]);
    raise(largest, x[i] - problem.upper[i]);
  }
  for (int i = 0; i < constraint_values.size(); ++i) {
    const double allowed = allowance.size() > 0 ? allowance[i] : 0.0;
    raise(largest, problem.constraint_lower[i] - constraint_values[i] - allowed);
    raise(largest, constraint_values[i] - problem.constraint_upper[i] - allowed);
  }
  return largest;
}

VectorXd rounding_of_rows(const Problem& problem, const VectorXd& x, const VectorXd& jacobian_values) {
  constexpr double unit_roundoff = 0.5 * std::numeric_limits<double>::epsilon();
  VectorXd moved = VectorXd::Zero(problem.constraints());
  for (int k = 0; k < problem.jacobian_pattern.size(); ++k)
    moved[problem.jacobian_pattern.rows[k]] +=
        unit_roundoff * std::abs(jacobian_values[k] * x[problem.jacobian_pattern.columns[k]]);
  return moved;
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

Residuals residuals(const Problem& problem, const VectorXd& x, const VectorXd& multipliers,
                    const VectorXd& lower_multipliers, const VectorXd& upper_multipliers) {
  Residuals result;
  const VectorXd stationarity = lagrangian_gradient(problem, x, multipliers) - lower_multipliers + upper_multipliers;
  for (double value : stationarity) raise(result.stationarity, std::abs(value));

  VectorXd values = VectorXd::Zero(problem.constraints());
  problem.constraint_values(x, values);
  result.feasibility = violation(problem, x, values);

  for (int i = 0; i < x.size(); ++i) {
    raise(result.complementarity, mismatch(lower_multipliers[i], x[i] - problem.lower[i]));
    raise(result.complementarity, mismatch(upper_multipliers[i], problem.upper[i] - x[i]));
  }
  for (int i = 0; i < values.size(); ++i) {
    if (problem.constraint_lower[i] == problem.constraint_upper[i]) continue;
    const double y = multipliers[i];
    raise(result.complementarity, std::isnan(y) ? y
                                  : y > 0.0     ? mismatch(y, problem.constraint_upper[i] - values[i])
                                                : mismatch(-y, values[i] - problem.constraint_lower[i]));
  }
  return result;
}

double Residuals::largest() const { return std::max({stationarity, feasibility, complementarity}); }

}  // namespace dodyn::nlp
