// Maximises a smooth function in a box from one initial point, by NLopt's SLSQP (D. Kraft, A software package for
// sequential quadratic programming, 1988). Returns the best point evaluated, even if rounding ends the search.
#pragma once

#include <Eigen/Core>
#include <functional>
#include <limits>
#include <vector>

namespace dodyn::surrogate {

using Smooth = std::function<double(const Eigen::VectorXd& x, Eigen::VectorXd* gradient)>;

struct BoundedSearch {
  Eigen::VectorXd lower, upper;
  int max_evaluations = 60;
  double step_tolerance = 0;              // stop at this change of every variable; 0: off
  double value_tolerance = 0;             // stop at this change of the value; 0: off
  double unusable = -1e300;               // replaces NaN values of the function; must be below all others
  std::vector<Smooth> at_most_zero = {};  // constraints g <= 0 that the result satisfies to 1e-9
};

struct Maximum {
  Eigen::VectorXd at;  // empty if no evaluated point has a finite value and satisfies the constraints
  double value = -std::numeric_limits<double>::infinity();
};

// `f(x, gradient)` writes the gradient if the pointer is not null.
Maximum maximise(const Smooth& f, const Eigen::VectorXd& start, const BoundedSearch& search);

}  // namespace dodyn::surrogate
