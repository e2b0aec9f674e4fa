// Compares a problem's derivatives with fourth-order central differences.
#pragma once

#include <Eigen/Core>
#include <string>

#include "nlp/problem.hpp"

namespace dodyn::nlp {

// Maximum errors |given - difference| / max(1, |given|, |difference|); infinite if a value is NaN.
struct DerivativeErrors {
  double gradient = 0.0;
  double jacobian = 0.0;
  double hessian = 0.0;
  std::string worst;  // description of the entry with the maximum error
  double max() const;
};

// Compares gradient and Jacobian with differences of f and c, and the Hessian of 0.7 f + y . c (y between -1 and 1,
// different for each constraint) with differences of its gradient. Whole columns are compared, so entries missing from
// a pattern are detected. Evaluates up to 2e-3 max(1, |x_i|) away from x in each variable, even outside bounds; the
// functions must be smooth there. Correct derivatives of well scaled functions agree to about 1e-9.
DerivativeErrors check_derivatives(const Problem& problem, const Eigen::VectorXd& x);

}  // namespace dodyn::nlp
