// The integrator of an interval: a Galerkin variational integrator (Marsden and West 2001, section 2.6.6).
//
// In each interval a motion is a polynomial of degree d through d + 1 knots, the points of Lobatto's quadrature: the
// two nodes of the interval, and d - 1 knots between them. Gauss quadrature at d points approximates the action,
//
//   L_d(q_0, ..., q_d) = h sum_i b_i L(q(c_i), q'(c_i)/h),     q(s) = sum_j phi_j(s) q_j,
//
// with the step h, the weights b_i and points c_i of the quadrature, and the Lagrange polynomials phi_j of the knots.
// The quadrature also approximates the forces, F_j = h sum_i b_i phi_j(c_i) Q(q(c_i), q'(c_i)/h, u_i), and the cost.
// The controls u_i are values at the points. The order is 2d. Degree 1 is the midpoint rule (3.1.1 of Pekarek 2010).
#pragma once

#include <Eigen/Core>
#include <vector>

namespace dodyn::dmoc {

// Returns the values of all Lagrange polynomials at s. Polynomial j is 1 at abscissa j and 0 at every other abscissa.
Eigen::VectorXd lagrange(const Eigen::VectorXd& abscissae, double s);

struct Scheme {
  int degree = 1;                   // d
  Eigen::VectorXd points, weights;  // [d] c_i and b_i, as shares of the interval
  Eigen::MatrixXd values, slopes;   // [d, d + 1] phi_j(c_i), and its derivative
  Eigen::VectorXd knot_weights;     // [d + 1] integrals of phi_j

  int order() const { return 2 * degree; }
  // Returns phi_j and their derivatives at the share s of an interval, [d + 1].
  Eigen::VectorXd values_at(double s) const;
  Eigen::VectorXd slopes_at(double s) const;
  // Returns the weights of the controls at the points, [d]: a polynomial of degree d - 1 through them.
  Eigen::VectorXd controls_at(double s) const;
  // Returns the rate of a coordinate at a point times the weight and the step. A control times this is its work.
  // `first`: row of the interval's first knot in the coordinates `q` of knots.
  double change(int point, const Eigen::MatrixXd& q, Eigen::Index first, int coordinate) const;
  // Returns the time of knot `knot` since the phase's first node, in intervals.
  double position(int knot) const;
  // Returns the time at a fraction of the step from a knot to the next one, in intervals.
  double between(int knot, double share) const;
};

// Returns the scheme of this order: 2, 4 or 6.
const Scheme& scheme_of_order(int order);

}  // namespace dodyn::dmoc
