// A rigid body as 12 coordinates q = [phi; d1; d2; d3]: position of the centre of mass and three directors, held
// orthonormal by 6 internal constraints (Johnson 2013, section 3.2.4). Null-space matrices, the exponential map and the
// nodal reparametrisation F_d of single bodies and of joined pairs.
#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <cmath>

#include "geometry/frame.hpp"

namespace dodyn::rigid {

using geometry::Matrix;
using geometry::Vector;

inline Matrix<3> hat(const Vector<3>& w) {
  return (Matrix<3>() << 0.0, -w[2], w[1], w[2], 0.0, -w[0], -w[1], w[0], 0.0).finished();
}

// Returns exp(hat(w)) by Rodrigues' formula, with series if the angle is small.
inline Matrix<3> exponential(const Vector<3>& w) {
  const double a2 = w.squaredNorm();
  double s, c;  // sin(a)/a, (1 - cos(a))/a^2
  if (a2 < 1e-4) {
    s = 1.0 - a2 / 6.0 * (1.0 - a2 / 20.0 * (1.0 - a2 / 42.0));
    c = 0.5 - a2 / 24.0 * (1.0 - a2 / 30.0 * (1.0 - a2 / 56.0));
  } else {
    const double a = std::sqrt(a2);
    s = std::sin(a) / a;
    c = (1.0 - std::cos(a)) / a2;
  }
  const Matrix<3> W = hat(w);
  return Matrix<3>::Identity() + s * W + c * W * W;
}

// Returns the rotation vector of a rotation, of norm below pi.
inline Vector<3> logarithm(const Matrix<3>& R) {
  const Eigen::AngleAxisd rotation(R);
  return rotation.angle() * rotation.axis();
}

namespace director {

using Coordinates = Vector<12>;

inline Coordinates coordinates(const Vector<3>& position, const Matrix<3>& directors) {
  return (Coordinates() << position, directors.col(0), directors.col(1), directors.col(2)).finished();
}
inline Matrix<3> directors(const Coordinates& q) {
  return (Matrix<3>() << q.segment<3>(3), q.segment<3>(6), q.segment<3>(9)).finished();
}

// Returns the residual g_int (3.21) of the internal constraints.
inline Vector<6> constraint(const Coordinates& q) {
  const Matrix<3> d = directors(q), D = d.transpose() * d;
  return {0.5 * (D(0, 0) - 1.0), 0.5 * (D(1, 1) - 1.0), 0.5 * (D(2, 2) - 1.0), D(0, 1), D(0, 2), D(1, 2)};
}

// Returns M = diag(m I, E (x) I) for a full Euler tensor. (3.23) has M in principal axes.
inline Matrix<12> mass_matrix(double mass, const Matrix<3>& euler_tensor) {
  Matrix<12> M = Matrix<12>::Zero();
  M.topLeftCorner<3, 3>().diagonal().setConstant(mass);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) M.block<3, 3>(3 + 3 * i, 3 + 3 * j).diagonal().setConstant(euler_tensor(i, j));
  return M;
}

// Returns the null-space matrix P_int: q' = P [phi'; omega], G P = 0.
inline Eigen::Matrix<double, 12, 6> null_space(const Coordinates& q) {
  Eigen::Matrix<double, 12, 6> P = Eigen::Matrix<double, 12, 6>::Zero();
  P.topLeftCorner<3, 3>().setIdentity();
  for (int i = 0; i < 3; ++i) P.block<3, 3>(3 + 3 * i, 3) = -hat(q.segment<3>(3 + 3 * i));
  return P;
}

// Returns F_d(u, q) (3.24), which satisfies g_int(F_d) = 0 for every u.
inline Coordinates reparametrise(const Vector<6>& u, const Coordinates& q) {
  return coordinates(q.head<3>() + u.head<3>(), exponential(u.tail<3>()) * directors(q));
}

}  // namespace director

// A child joined to a parent: phi2 + rho2 = phi1 + rho1, with rho in world axes. The child's motion is a function of
// the parent's motion and the joint's coordinates.
namespace joint {

// Returns P_ext of a spherical joint: [phi2'; omega2] = P_ext [phi1'; omega1; omega2] (3.27), (3.28).
inline Eigen::Matrix<double, 6, 9> spherical(const Vector<3>& rho1, const Vector<3>& rho2) {
  Eigen::Matrix<double, 6, 9> P = Eigen::Matrix<double, 6, 9>::Zero();
  P.topLeftCorner<3, 3>().setIdentity();
  P.block<3, 3>(0, 3) = -hat(rho1);
  P.block<3, 3>(0, 6) = hat(rho2);
  P.block<3, 3>(3, 6).setIdentity();
  return P;
}

// Returns P_ext of a revolute joint: [phi2'; omega2] = P_ext [phi1'; omega1; theta'] (3.31) to (3.33). theta' is the
// child's total spin about n.
inline Eigen::Matrix<double, 6, 7> revolute(const Vector<3>& rho1, const Vector<3>& rho2, const Vector<3>& axis) {
  const Matrix<3> N = axis * axis.transpose();
  Eigen::Matrix<double, 6, 7> P = Eigen::Matrix<double, 6, 7>::Zero();
  P.topLeftCorner<3, 3>().setIdentity();
  P.block<3, 3>(0, 3) = hat(rho2 - rho1) - hat(rho2) * N;
  P.block<3, 1>(0, 6) = rho2.cross(axis);
  P.block<3, 3>(3, 3) = Matrix<3>::Identity() - N;
  P.block<3, 1>(3, 6) = axis;
  return P;
}

// Returns the rotation of the child over a step: exp(u1) exp(-N u1) exp(theta n). The parent rotates by `parent` =
// exp(hat(u1)); the child spins by theta about n, the axis at the start. The printed (3.30) violates the joint.
inline Matrix<3> revolute_rotation(const Matrix<3>& parent, const Vector<3>& u1, double theta, const Vector<3>& axis) {
  return parent * exponential((theta - axis.dot(u1)) * axis);
}

}  // namespace joint
}  // namespace dodyn::rigid
