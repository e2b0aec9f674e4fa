// Vectors that represent rotations, by the exponential map or the Cayley map: the attitude errors of a controller.
#pragma once

#include "rigid/director.hpp"

namespace dodyn::rigid {

enum class Retraction {
  exponential,  // the rotation vector, of norm below pi
  cayley,       // 2 tan(angle/2) times the axis: cay(xi) = (I - xi/2)^-1 (I + xi/2), Johnson 2013, section 4.5.3
};

// Returns theta(xi), the rotation that the vector represents.
Matrix<3> rotation(Retraction map, const Vector<3>& xi);

// The vector theta^-1(R) of a rotation R, and the angle of R, rad.
struct AttitudeError {
  Vector<3> vector;
  double angle;
};
inline constexpr double half_turn_margin = 1e-3;  // rad
// Returns theta^-1(R) and the angle of R. Within `half_turn_margin` of half a turn exp^-1 is discontinuous and cay^-1
// unbounded. There the vector is the one for the angle pi - half_turn_margin.
AttitudeError attitude_error(Retraction map, const Matrix<3>& R);

// Returns the rotation closest to a matrix (polar factor). For the mean of two rotations this is their geodesic
// midpoint.
Matrix<3> nearest_rotation(const Matrix<3>& directors);

}  // namespace dodyn::rigid
