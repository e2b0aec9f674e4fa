// A piecewise cubic function of one variable through samples, and its exact minimum.
//
// All kinds are stored as a value and a slope per node. On [x_i, x_i+1], with s = x - x_i, h = x_i+1 - x_i and the
// secant d = (y_i+1 - y_i) / h,
//   (1)  S(x) = y_i + s (m_i + s (c2 + s c3)),   c2 = (3 d - 2 m_i - m_i+1) / h,   c3 = (m_i + m_i+1 - 2 d) / h^2.
// Outside the nodes S continues as a straight line with the slope of the nearest end.
//
// Source: C. de Boor, A Practical Guide to Splines (1978), chapter IV.
#pragma once

#include <Eigen/Core>

namespace dodyn::surrogate {

struct CubicSpline {
  Eigen::VectorXd x, y, slope;  // nodes ascending and distinct; at least one

  double value(double at) const;
  double derivative(double at) const;
  double second_derivative(double at) const;  // at a node: value of the piece to its right
};

// Returns the natural spline: twice continuously differentiable, S'' = 0 at both ends. One sample gives a constant, two
// a line. Samples may be in any order. Of two closer than 1e-9 of the sampled range the lower value is kept. Throws
// std::invalid_argument if there is no sample, lengths differ, or a number is not finite.
CubicSpline natural_spline(const Eigen::VectorXd& x, const Eigen::VectorXd& y);

// Returns the cubic Hermite spline through values and gradients: once continuously differentiable. Limits and errors as
// for natural_spline().
CubicSpline hermite_spline(const Eigen::VectorXd& x, const Eigen::VectorXd& y, const Eigen::VectorXd& gradient);

struct Minimum {
  double x, value;
};

// Returns the global minimum on [lower, upper]: the smallest value at the nodes, the bounds and the stationary points
// of each piece. Of equal values, the leftmost node is returned. Throws std::invalid_argument unless lower <= upper.
Minimum minimum(const CubicSpline& spline, double lower, double upper);

}  // namespace dodyn::surrogate
