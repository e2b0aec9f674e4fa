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
  const Eigen::AngleAxisd turn(R);
  const double angle = turn.angle(), kept = std::min(angle, std::numbers::pi - half_turn_margin);
  return {(map == Retraction::exponential ? kept : 2.0 * std::tan(0.5 * kept)) * turn.axis(), angle};
}

Vector<3> inverse_tangent(Retraction map, const Vector<3>& xi, const Vector<3>& mu) {
  const Vector<3> once = xi.cross(mu);
  // (4.38): (e - xi/2) mu (e + xi/2). The sign of the commutator, printed as +, is -.
  if (map == Retraction::cayley) return mu - 0.5 * once + 0.25 * xi.dot(mu) * xi;
  // (4.37), summed: y - ad/2 + (1 - (a/2) cot(a/2))/a^2 ad^2
  const double a2 = xi.squaredNorm(), a = std::sqrt(a2);
  const double c = a < 1e-3 ? 1.0 / 12.0 + a2 / 720.0 : (1.0 - 0.5 * a / std::tan(0.5 * a)) / a2;
  return mu - 0.5 * once + c * xi.cross(once);
}

Matrix<3> nearest_rotation(const Matrix<3>& directors) {
  // Newton's iteration for the polar factor, quadratic from midpoints of steps, whose turns are small.
  Matrix<3> X = directors;
  for (int k = 0; k < 30; ++k) {
    const Matrix<3> next = 0.5 * (X + X.inverse().transpose());
    const double change = (next - X).norm();
    X = next;
    if (change < 1e-9) break;  // the next one would be within 1e-18
  }
  return X;
}

}  // namespace dodyn::rigid
