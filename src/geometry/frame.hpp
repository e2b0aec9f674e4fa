// Frames of bodies, in the plane (n = 2) and in space (n = 3).
#pragma once

#include <Eigen/Core>

namespace dodyn::geometry {

template <int n>
using Vector = Eigen::Matrix<double, n, 1>;
template <int n>
using Matrix = Eigen::Matrix<double, n, n>;

// A material point v of a body (body coordinates, m) is at x = position + directors v (Johnson 2013, 3.42). The columns
// of `directors` are d_1 ... d_n. At the nodes of a trajectory they are a rotation. Between nodes they are any
// non-singular matrix, such as the mean of two rotations. All functions in geometry/ are exact for both.
template <int n>
struct Frame {
  Vector<n> position = Vector<n>::Zero();
  Matrix<n> directors = Matrix<n>::Identity();

  Vector<n> operator()(const Vector<n>& v) const { return position + directors * v; }
};

}  // namespace dodyn::geometry
