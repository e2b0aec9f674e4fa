// Compares a problem's derivatives with fourth-order central differences.
#pragma once

#include <Eigen/Core>
#include <string>

#include "nlp/problem.hpp"

namespace dodyn::nlp {

// Largest errors |given - difference| / max(1, |given|, |difference|); infinite where a value is not a number.
struct DerivativeErrors {
  double gradient = 0.0;
  double jacobian = 0.0;
  double hessian = 0.0;
  std::string worst;  // where the largest error is, in words
  double largest() const;
};

// Gradient and Jacobian against differences of f and c, the Hessian of 0.7 f + y . c (y between -1 and 1, different for
// each constraint) against differences of its gradient. Whole columns are compared, so that entries missing from a
// pattern show as well. Evaluates at x and up to 2e-3 max(1, |x_i|) beside it in each variable, bounds or not; the
// functions must be smooth there. Right derivatives of well scaled functions agree to about 1e-9.
DerivativeErrors check_derivatives(const Problem& problem, const Eigen::VectorXd& x);

}  // namespace dodyn::nlp
