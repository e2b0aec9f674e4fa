// Products with the sparse derivatives, and what first-order optimality (Nocedal and Wright, Numerical Optimization,
// 2nd ed., theorem 12.1) asks of the multipliers.
#pragma once

#include <Eigen/Core>

#include "nlp/problem.hpp"

namespace dodyn::nlp {

// grad f + J^T y, [variables]
Eigen::VectorXd lagrangian_gradient(const Problem& problem, const Eigen::VectorXd& x, const Eigen::VectorXd& y);

// Largest violation of a constraint or bound at x; infinite where the constraints are not finite. A row may be violated
// by its entry of `allowance`, [constraints]; empty: by nothing.
double violation(const Problem& problem, const Eigen::VectorXd& x, const Eigen::VectorXd& constraint_values,
                 const Eigen::VectorXd& allowance = {});

// How far rounding the unknowns to doubles moves each constraint, to first order: u sum_j |J_ij x_j|, [constraints], with
// the unit roundoff u = 2^-53. No double solves a row any better: rows in N m of steps of milliseconds, which have second
// differences of angles times 1e6, are left with 1e-9 N m.
Eigen::VectorXd rounding_of_rows(const Problem& problem, const Eigen::VectorXd& x,
                                 const Eigen::VectorXd& jacobian_values);

// A fixed variable (equal bounds) takes whatever multiplier makes its row of the stationarity vanish: solvers eliminate
// such variables and know nothing of it.
void set_multipliers_of_fixed_variables(const Problem& problem, const Eigen::VectorXd& x, const Eigen::VectorXd& y,
                                        Eigen::VectorXd& lower_multipliers, Eigen::VectorXd& upper_multipliers);

}  // namespace dodyn::nlp
