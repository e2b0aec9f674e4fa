// The contact of a pair of convex bodies: the signed gap g of the supporting-separating-hyperplane linear program (SSH
// LP), its exact subgradient with respect to both configurations, and the separation vector with its gradient.
//
// Notation and signs follow Johnson 2013, sections 2.4 and 3.3.2, with the misprints of (3.41), (3.48) and (3.49)
// corrected. Side 0 is "body 1" of the source, side 1 is "body 2":
//
//   g = - max { a1 - a2 :  <alpha, x> >= a1 for x in K1,  <alpha, y> <= a2 for y in K2,  <beta, alpha> = 1 }   (2.68)
//
//   g < 0  apart        g = 0  touching        g > 0  overlapping
//   alpha and beta point from body 2 to body 1
//   g is measured along beta;  normal_gap() = g/|alpha| is the same overlap along the contact normal alpha/|alpha|
//
// A configuration is q = [position; d_1; ...; d_n], n(n+1) coordinates (12 in space, 6 in the plane; 3.21).
#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <array>
#include <cstdint>

#include "geometry/frame.hpp"

namespace dodyn::geometry {

// Dimension of the contacting feature of a body's boundary.
enum class Feature : std::int8_t { vertex = 0, edge = 1, face = 2 };

// Number of listed vertices of a feature; larger features have only the first ones.
inline constexpr int max_listed = 8;

template <int n>
struct Contact {
  static constexpr int coordinates = n * (n + 1);           // in q: position and directors
  static constexpr int velocities = n + (n * (n - 1)) / 2;  // [velocity; angular velocity]: 6 in space, 3 in the plane
  using Gradient = Eigen::Matrix<double, coordinates, 1>;
  using TwistGradient = Eigen::Matrix<double, velocities, 1>;
  using SeparationGradient = Eigen::Matrix<double, n, coordinates>;
  using SeparationTwistGradient = Eigen::Matrix<double, n, velocities>;

  // Indices of the bodies and of their convex parts; set by the caller.
  std::array<int, 2> body{-1, -1};
  std::array<int, 2> part{-1, -1};

  double gap = 0.0;                     // signed gap g, m
  Vector<n> alpha = Vector<n>::Zero();  // separating direction, <beta, alpha> = 1, from body 2 to body 1
  Vector<n> beta = Vector<n>::Zero();   // unit vector along which the program measures
  std::array<Vector<n>, 2> witness;     // points in contact, sum_j pi_j x_j (3.41), world coordinates, m
  std::array<Vector<n>, 2> arm;         // the points in contact in body coordinates, c_I of (3.46), m

  // dg/dq = -+ ([1; lever] (x) alpha + [1; beta_lever] (x) beta_force). `lever` is the point of action of alpha (the
  // witness point). The second term is the change of beta with the bodies (3.49, 3.50, corrected). Use gradient()
  // below.
  std::array<Vector<n>, 2> lever, beta_lever;
  Vector<n> beta_force = Vector<n>::Zero();

  std::array<Feature, 2> feature{Feature::vertex, Feature::vertex};  // contact type: vertex on face, edge on edge, ...
  std::array<int, 2> feature_size{0, 0};                             // vertices of the feature
  std::array<std::array<std::int16_t, max_listed>, 2> vertex;        // their indices in the part
  std::array<std::array<double, max_listed>, 2> dual;                // their multipliers pi >= 0; they sum to 1
  bool primal_degenerate =
      false;  // primal degenerate (face on face, ...): the multipliers are those of minimum norm (2.70)
  bool dual_degenerate = false;  // dual degenerate (vertex on vertex, ...): alpha is that of minimum norm (2.71)

  Vector<n> normal() const { return alpha.normalized(); }
  double normal_gap() const { return gap / alpha.norm(); }

  // Returns h = witness 1 - witness 2 = -g beta (3.47, 3.41 corrected); zero exactly if g is zero.
  Vector<n> separation() const { return witness[0] - witness[1]; }
};

namespace detail {
constexpr double sign(int side) { return side == 0 ? 1.0 : -1.0; }
}  // namespace detail

// Returns dg/dq of side 0 or 1, including the change of beta with q (3.45, 3.49): an element of the generalised
// gradient; the gradient if g is differentiable.
template <int n>
typename Contact<n>::Gradient gradient(const Contact<n>& c, int side) {
  typename Contact<n>::Gradient d;
  d.template head<n>() = c.alpha + c.beta_force;
  for (int i = 0; i < n; ++i)
    d.template segment<n>(n * (i + 1)) = c.lever[side][i] * c.alpha + c.beta_lever[side][i] * c.beta_force;
  return -detail::sign(side) * d;
}

// Returns dg/dq for a rigid body: the derivative with respect to [translation; rotation], the rotation in world axes
// about the body's position. It is P_int^T dg/dq (section 3.2.4). The generalised force of a unit contact force is its
// negative. `directors`: of the side's frame.
template <int n>
typename Contact<n>::TwistGradient twist_gradient(const Contact<n>& c, int side, const Matrix<n>& directors) {
  typename Contact<n>::TwistGradient d;
  const Vector<n> r = directors * c.lever[side], s = directors * c.beta_lever[side];
  d.template head<n>() = c.alpha + c.beta_force;
  if constexpr (n == 2)
    d[2] = r[0] * c.alpha[1] - r[1] * c.alpha[0] + s[0] * c.beta_force[1] - s[1] * c.beta_force[0];
  else
    d.template tail<3>() = r.cross(c.alpha) + s.cross(c.beta_force);
  return -detail::sign(side) * d;
}

// Returns dh/dq for constant multipliers, +-A^T of (3.46) and (3.47): h moves with the two witness points. If beta is
// constant, <alpha, dh/dq> = -dg/dq.
template <int n>
typename Contact<n>::SeparationGradient separation_gradient(const Contact<n>& c, int side) {
  typename Contact<n>::SeparationGradient d;
  d.template leftCols<n>() = Matrix<n>::Identity();
  for (int i = 0; i < n; ++i) d.template middleCols<n>(n * (i + 1)) = c.arm[side][i] * Matrix<n>::Identity();
  return detail::sign(side) * d;
}

// Returns dh/dq for a rigid body with respect to [translation; rotation]: +-[I, -hat(r)], r from position to witness.
template <int n>
typename Contact<n>::SeparationTwistGradient separation_twist_gradient(const Contact<n>& c, int side,
                                                                       const Matrix<n>& directors) {
  typename Contact<n>::SeparationTwistGradient d;
  const Vector<n> r = directors * c.arm[side];
  d.template leftCols<n>() = Matrix<n>::Identity();
  if constexpr (n == 2)
    d.col(2) << -r[1], r[0];
  else
    d.template rightCols<3>() << 0.0, r[2], -r[1], -r[2], 0.0, r[0], r[1], -r[0], 0.0;
  return detail::sign(side) * d;
}

}  // namespace dodyn::geometry
