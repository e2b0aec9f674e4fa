#include "dmoc/scheme.hpp"

#include <array>
#include <cassert>
#include <cmath>

namespace dodyn::dmoc {

using Eigen::VectorXd;

namespace {

VectorXd lagrange_slopes(const VectorXd& at, double s) {
  VectorXd slopes = VectorXd::Zero(at.size());
  for (Eigen::Index j = 0; j < at.size(); ++j)
    for (Eigen::Index left_out = 0; left_out < at.size(); ++left_out) {
      if (left_out == j) continue;
      double product = 1.0 / (at(j) - at(left_out));
      for (Eigen::Index k = 0; k < at.size(); ++k)
        if (k != j && k != left_out) product *= (s - at(k)) / (at(j) - at(k));
      slopes(j) += product;
    }
  return slopes;
}

// Returns the points of Lobatto's quadrature. With them, an integral of f phi_j is proportional to f at knot j, to
// second order or better.
VectorXd knots(int degree) {
  VectorXd at = VectorXd::LinSpaced(degree + 1, 0.0, 1.0);
  if (degree == 3) at(1) = 0.5 - std::sqrt(0.05), at(2) = 0.5 + std::sqrt(0.05);
  return at;
}

Scheme scheme_of_degree(int degree) {
  Scheme s;
  s.degree = degree;
  s.points.resize(degree);
  s.weights.resize(degree);
  if (degree == 1) {
    s.points << 0.5;
    s.weights << 1.0;
  } else if (degree == 2) {
    const double way = std::sqrt(1.0 / 12.0);
    s.points << 0.5 - way, 0.5 + way;
    s.weights << 0.5, 0.5;
  } else {
    const double way = std::sqrt(3.0 / 20.0);
    s.points << 0.5 - way, 0.5, 0.5 + way;
    s.weights << 5.0 / 18.0, 4.0 / 9.0, 5.0 / 18.0;
  }
  s.values.resize(degree, degree + 1);
  s.slopes.resize(degree, degree + 1);
  for (int i = 0; i < degree; ++i) {
    s.values.row(i) = s.values_at(s.points(i)).transpose();
    s.slopes.row(i) = s.slopes_at(s.points(i)).transpose();
  }
  s.knot_weights = s.values.transpose() * s.weights;
  return s;
}

}  // namespace

VectorXd lagrange(const VectorXd& at, double s) {
  VectorXd values = VectorXd::Ones(at.size());
  for (Eigen::Index j = 0; j < at.size(); ++j)
    for (Eigen::Index k = 0; k < at.size(); ++k)
      if (k != j) values(j) *= (s - at(k)) / (at(j) - at(k));
  return values;
}

VectorXd Scheme::values_at(double s) const { return lagrange(knots(degree), s); }
VectorXd Scheme::slopes_at(double s) const { return lagrange_slopes(knots(degree), s); }
VectorXd Scheme::controls_at(double s) const { return lagrange(points, s); }

double Scheme::change(int point, const Eigen::MatrixXd& q, Eigen::Index first, int coordinate) const {
  if (degree == 1) return q(first + 1, coordinate) - q(first, coordinate);  // fewer rounding errors than the sum below
  return weights(point) * slopes.row(point).dot(q.col(coordinate).segment(first, degree + 1));
}

double Scheme::position(int knot) const { return degree == 1 ? knot : knot / degree + knots(degree)(knot % degree); }

double Scheme::between(int knot, double share) const {
  return position(knot) + share * (position(knot + 1) - position(knot));
}

const Scheme& scheme_of_order(int order) {
  assert(order == 2 || order == 4 || order == 6);
  static const std::array<Scheme, 3> all = {scheme_of_degree(1), scheme_of_degree(2), scheme_of_degree(3)};
  return all[order / 2 - 1];
}

}  // namespace dodyn::dmoc
