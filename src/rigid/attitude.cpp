#include "rigid/attitude.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <numbers>

namespace dodyn::rigid {

Matrix<3> rotation(Retraction map, const Vector<3>& xi) {
  if (map == Retraction::exponential) return exponential(xi);
  const Matrix<3> half = 0.5 * hat(xi), one = Matrix<3>::Identity();
  return (one - half).inverse() * (one + half);
}

AttitudeError attitude_error(Retraction map, const Matrix<3>& R) {
  // sin(angle) and cos(angle), which suffice far from half a turn
  const Vector<3> sine(0.5 * (R(2, 1) - R(1, 2)), 0.5 * (R(0, 2) - R(2, 0)), 0.5 * (R(1, 0) - R(0, 1)));
  const double size = sine.norm(), cosine = 0.5 * (R.trace() - 1.0);
  if (cosine > -0.5) {
    const double angle = std::atan2(size, cosine);
    if (map == Retraction::cayley) return {2.0 / (1.0 + cosine) * sine, angle};
    return {(size < 1e-6 ? 1.0 : angle / size) * sine, angle};
  }
  const Eigen::AngleAxisd turn(R);
  const double angle = turn.angle(), kept = std::min(angle, std::numbers::pi - half_turn_margin);
  return {(map == Retraction::exponential ? kept : 2.0 * std::tan(0.5 * kept)) * turn.axis(), angle};
}

Matrix<3> nearest_rotation(const Matrix<3>& directors) {
  // Computes X (X^T X)^(-1/2). For midpoints of steps, whose rotations are small, its series reaches rounding at once.
  // Far from a rotation: Newton's iteration for the polar factor.
  Matrix<3> X = directors;
  const Matrix<3> one = Matrix<3>::Identity();
  for (int k = 0; k < 30; ++k) {
    const Matrix<3> C = X.transpose() * X - one;
    if (const double off = C.squaredNorm(); off < 1e-4) {
      const Matrix<3> inner = 0.375 * one - 0.3125 * C, outer = C * inner - 0.5 * one;
      X += X * (C * outer);
      if (off < 1e-8) break;  // the neglected term is off^2/4
      continue;
    }
    X = 0.5 * (X + X.inverse().transpose()).eval();
  }
  return X;
}

}  // namespace dodyn::rigid
