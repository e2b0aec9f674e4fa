// Products with the sparse derivatives, and first-order optimality conditions (Nocedal and Wright, Numerical
// Optimization, 2nd ed., theorem 12.1).
#pragma once

#include <Eigen/Core>

#include "nlp/problem.hpp"
#include "nlp/solve.hpp"

namespace dodyn::nlp {

// Returns grad f + J^T y, [variables].
Eigen::VectorXd lagrangian_gradient(const Problem& problem, const Eigen::VectorXd& x, const Eigen::VectorXd& y);

// Returns the maximum violation of a constraint or bound at x; infinite if the constraints are not finite. `allowance`:
// admissible violation of each row, [constraints]; empty: zero.
double violation(const Problem& problem, const Eigen::VectorXd& x, const Eigen::VectorXd& constraint_values,
                 const Eigen::VectorXd& allowance = {});

inline constexpr double unit_roundoff = 0x1p-53;

// Returns the change of each constraint by rounding of the unknowns to doubles, to first order: u sum_j |J_ij x_j|,
// [constraints], with the unit roundoff u. No doubles can satisfy a row more accurately. For example, rows in N m with
// steps of milliseconds contain second differences of angles times 1e6, and their accuracy is about 1e-9 N m.
Eigen::VectorXd rounding_of_rows(const Problem& problem, const Eigen::VectorXd& x,
                                 const Eigen::VectorXd& jacobian_values);

// Sets `rounding` to the change of each component of grad f + J^T y by rounding: 8 u (sum_i |J_ij y_i| + sum_k |H_jk
// x_k|), [variables], with the Hessian H of the Lagrangian. 8: a term is rounded in its slope, its multiplier, their
// product and the partial sums; measured sums of robots miss zero by up to 3 u. For example, a motor of 1e3 N in a cost
// of squared forces has multipliers of 1e3 in rows with slopes of 1e5 N/m, and their sums are accurate to 1e-7.
void rounding_of_gradient(const Problem& problem, const Eigen::VectorXd& x, const Eigen::VectorXd& y,
                          const Eigen::VectorXd& jacobian_values, const Eigen::VectorXd& hessian_values,
                          Eigen::VectorXd& rounding);

// Returns residuals(...) reduced by the effect of rounding the unknowns and multipliers to doubles.
Residuals residuals_beyond_rounding(const Problem& problem, const Eigen::VectorXd& x,
                                    const Eigen::VectorXd& multipliers, const Eigen::VectorXd& lower_multipliers,
                                    const Eigen::VectorXd& upper_multipliers);

// Sets the multiplier of each fixed variable (equal bounds) such that its stationarity row vanishes. Solvers eliminate
// such variables and return no multipliers.
void set_multipliers_of_fixed_variables(const Problem& problem, const Eigen::VectorXd& x, const Eigen::VectorXd& y,
                                        Eigen::VectorXd& lower_multipliers, Eigen::VectorXd& upper_multipliers);

}  // namespace dodyn::nlp
