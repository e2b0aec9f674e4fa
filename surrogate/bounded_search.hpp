// The largest value of a smooth function in a box, from one start: NLopt's SLSQP (D. Kraft, A software package for
// sequential quadratic programming, 1988), with the best point it saw as the answer, whatever rounding ends it.
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
  double step_tolerance = 0;              // of every variable; 0: none
  double value_tolerance = 0;             // 0: none
  double unusable = -1e300;               // counts where the function is not a number; below whatever it can be
  std::vector<Smooth> at_most_zero = {};  // constraints that the answer satisfies to 1e-9
};

struct Maximum {
  Eigen::VectorXd at;  // empty where the function is nowhere a number
  double value = -std::numeric_limits<double>::infinity();
};

// `f(x, gradient)` fills the gradient where it is not null.
Maximum maximise(const Smooth& f, const Eigen::VectorXd& start, const BoundedSearch& search);

}  // namespace dodyn::surrogate
