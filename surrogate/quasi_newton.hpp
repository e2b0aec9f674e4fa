// A quadratic model of a cost from its gradients, and the minimum of that model in a box.
//
// Two evaluations give the mean curvature between them, along the line that joins them (secant condition). The Hessian
// begins as a multiple of the identity and takes these pairs in turn, so that the last ones are exact. A symmetric
// update of rank one serves as long as the Hessian stays positive definite: n such updates by independent pairs
// determine a quadratic of n variables, whatever its condition number is. Other pairs are damped BFGS updates.
//
// Sources: R. Byrd, H. Khalfan, R. Schnabel, Analysis of a symmetric rank-one trust region method (1996); M. Powell, A
// fast algorithm for nonlinearly constrained optimization calculations (1978), for the damping; D. Bertsekas, Projected
// Newton methods for optimization problems with simple constraints (1982), for the minimum.
#pragma once

#include <Eigen/Core>
#include <vector>

namespace dodyn::surrogate {

struct Sloped {
  Eigen::VectorXd at;
  double cost = 0;
  Eigen::VectorXd slope;
};

// Returns a positive definite Hessian of the cost at `centre`. `evaluations`: in the order in which they were made.
// Each evaluation forms a pair with the best one before it. The pairs that reach farthest from the centre come first.
// `unknown`: the curvature if no pair determines one.
Eigen::MatrixXd positive_hessian(const std::vector<Sloped>& evaluations, const Eigen::VectorXd& centre, double unknown);

// Returns the step s from 0 that minimises slope.s + s.hessian.s/2 within lower <= s <= upper, where lower <= 0 <=
// upper. `hessian` is positive definite.
Eigen::VectorXd minimum_in_box(const Eigen::VectorXd& slope, const Eigen::MatrixXd& hessian,
                               const Eigen::VectorXd& lower, const Eigen::VectorXd& upper);

}  // namespace dodyn::surrogate
