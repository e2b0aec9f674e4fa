// Products with the sparse derivatives, and first-order optimality conditions (Nocedal and Wright, Numerical
// Optimization, 2nd ed., theorem 12.1).
#pragma once

#include <Eigen/Core>

#include "nlp/problem.hpp"

namespace dodyn::nlp {

// Returns grad f + J^T y, [variables].
Eigen::VectorXd lagrangian_gradient(const Problem& problem, const Eigen::VectorXd& x, const Eigen::VectorXd& y);

// Returns the largest violation of a constraint or bound at x; infinite if the constraints are not finite. `allowance`:
// admissible violation of each row, [constraints]; empty: zero.
double violation(const Problem& problem, const Eigen::VectorXd& x, const Eigen::VectorXd& constraint_values,
                 const Eigen::VectorXd& allowance = {});

// Returns how much rounding of the unknowns to doubles changes each constraint, to first order: u sum_j |J_ij x_j|,
// [constraints], with the unit roundoff u = 2^-53. No double can satisfy a row more accurately. For example, rows in N
// m with steps of milliseconds contain second differences of angles times 1e6, and their accuracy is 1e-9 N m.
Eigen::VectorXd rounding_of_rows(const Problem& problem, const Eigen::VectorXd& x,
                                 const Eigen::VectorXd& jacobian_values);

// Sets the multiplier of each fixed variable (equal bounds) such that its stationarity row vanishes. Solvers eliminate
// such variables and return no multipliers.
void set_multipliers_of_fixed_variables(const Problem& problem, const Eigen::VectorXd& x, const Eigen::VectorXd& y,
                                        Eigen::VectorXd& lower_multipliers, Eigen::VectorXd& upper_multipliers);

}  // namespace dodyn::nlp
