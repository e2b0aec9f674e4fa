// Rotations as vectors, by the exponential map or by Cayley's: the errors of attitude that a controller knows.
#pragma once

#include "rigid/director.hpp"

namespace dodyn::rigid {

enum class Retraction {
  exponential,  // the rotation vector, of length below pi
  cayley,       // 2 tan(angle/2) times the axis: cay(xi) = (I - xi/2)^-1 (I + xi/2), Johnson 2013, section 4.5.3
};

// theta(xi): the rotation that the vector stands for.
Matrix<3> rotation(Retraction map, const Vector<3>& xi);

// theta^-1(R) and the angle of R, rad. Within `half_turn_margin` of half a turn, where exp^-1 jumps and cay^-1 has no
// bound, the vector is that of the angle pi - half_turn_margin.
struct AttitudeError {
  Vector<3> vector;
  double angle;
};
inline constexpr double half_turn_margin = 1e-3;  // rad
AttitudeError attitude_error(Retraction map, const Matrix<3>& R);

// d theta^-1_xi(mu), right-trivialised (4.36): xi' of theta(xi)' = hat(mu) theta(xi).
Vector<3> inverse_tangent(Retraction map, const Vector<3>& xi, const Vector<3>& mu);

// The rotation closest to what a midpoint of two rotations has as directors (their geodesic middle).
Matrix<3> nearest_rotation(const Matrix<3>& directors);

}  // namespace dodyn::rigid
