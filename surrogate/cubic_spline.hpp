// A piecewise cubic function of one variable through samples, and its exact minimum.
//
// All kinds are kept as a value and a slope per node, so that on [x_i, x_i+1], with s = x - x_i, h = x_i+1 - x_i and
// the secant d = (y_i+1 - y_i) / h,
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
  double second_derivative(double at) const;  // of the piece that starts at `at` where `at` is a node
};

// The natural spline: twice continuously differentiable, S'' = 0 at both ends. One sample gives a constant, two a line.
// Samples come in any order; of two closer than 1e-9 of the sampled range the one with the lower value is kept.
// Throws std::invalid_argument on no sample, different lengths or a number that is not finite.
CubicSpline natural_spline(const Eigen::VectorXd& x, const Eigen::VectorXd& y);

// The clamped spline: twice continuously differentiable, with the given slopes at the first and the last sample.
// Samples as above; a single one takes the first slope. Throws as above, and on a slope that is not finite.
CubicSpline clamped_spline(const Eigen::VectorXd& x, const Eigen::VectorXd& y, double first_slope, double last_slope);

// The cubic Hermite spline through values and gradients: once continuously differentiable. Otherwise as above.
CubicSpline hermite_spline(const Eigen::VectorXd& x, const Eigen::VectorXd& y, const Eigen::VectorXd& gradient);

struct Minimum {
  double x, value;
};

// The global minimum on [lower, upper]: the least of the nodes, the two bounds and the stationary points of each piece.
// Equal values resolve to a node, the leftmost first. Throws std::invalid_argument unless lower <= upper.
Minimum minimum(const CubicSpline& spline, double lower, double upper);

}  // namespace dodyn::surrogate
