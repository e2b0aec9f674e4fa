// Moving frames: where a body is. Planar (n = 2) and spatial (n = 3) alike.
#pragma once

#include <Eigen/Core>

namespace dodyn::geometry {

template <int n>
using Vector = Eigen::Matrix<double, n, 1>;
template <int n>
using Matrix = Eigen::Matrix<double, n, n>;

// A material point v of a body (body coordinates, m) is at x = position + directors v (Johnson 2013, 3.42). The columns
// of `directors` are d_1 ... d_n: a rotation at the nodes of a trajectory, and any non-singular matrix in between (the
// mean of two configurations is not a rotation); everything in geometry/ is exact for both.
template <int n>
struct Frame {
  Vector<n> position = Vector<n>::Zero();
  Matrix<n> directors = Matrix<n>::Identity();

  Vector<n> operator()(const Vector<n>& v) const { return position + directors * v; }
};

}  // namespace dodyn::geometry
