// Frames of links, and their motion by turns about and slides along the axes of a frame.
#pragma once

#include <array>
#include <cmath>
#include <type_traits>
#include <vector>

#include "autodiff/dual.hpp"
#include "autodiff/tape.hpp"

namespace dodyn::systems {

struct Move {
  enum Kind { slide, turn } kind;
  int axis;  // 0, 1, 2: x, y, z; 3 + i: axis i of its link (Link::axes)
  bool is_oblique() const { return axis > 2; }
  bool operator==(const Move&) const = default;
};

template <class T>
using Vector3 = std::array<T, 3>;
template <class T>
using Matrix3 = std::array<std::array<T, 3>, 3>;

template <class T>
Vector3<T> operator*(const Matrix3<T>& R, const Vector3<T>& r) {
  Vector3<T> x;
  for (int i = 0; i < 3; ++i) x[i] = R[i][0] * r[0] + R[i][1] * r[1] + R[i][2] * r[2];
  return x;
}
template <class T>
Vector3<T> cross(const Vector3<T>& a, const Vector3<T>& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
template <class T>
Vector3<T> operator+(const Vector3<T>& a, const Vector3<T>& b) {
  return {a[0] + b[0], a[1] + b[1], a[2] + b[2]};
}

template <class T>
Vector3<T> operator-(const Vector3<T>& a, const Vector3<T>& b) {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}
template <class T>
T dot(const Vector3<T>& a, const Vector3<T>& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// Converts a parameter to the number type of the computation; its derivatives with respect to the state are zero.
template <class T, class P>
T lift(const P& parameter) {
  if constexpr (std::is_same_v<T, P> || std::is_same_v<P, double>) {
    return T(parameter);
  } else {
    using Value = decltype(T::value);
    return T(lift<Value>(parameter), Value(0.0));
  }
}
template <class T, class P>
Vector3<T> lift(const std::array<P, 3>& r) {
  return {lift<T>(r[0]), lift<T>(r[1]), lift<T>(r[2])};
}

// Pose and velocity of a link's frame.
template <class T>
struct Frame {
  Vector3<T> origin, velocity;  // in world axes
  Matrix3<T> rotation;          // from the link's axes to world axes
  Vector3<T> spin;              // angular velocity in the link's axes
  // Successive turns about one axis are merged into one:
  int axis = -1;                    // axis of the merged turns; -1: none
  T angle = T(0.0), rate = T(0.0);  // sums of their angles and rates
  Matrix3<T> rotation_before;       // rotation of the frame before the merged turn
  Vector3<T> spin_before;           // angular velocity before the merged turn

  static Frame at_rest() {
    Frame f;
    for (int i = 0; i < 3; ++i) {
      f.origin[i] = f.velocity[i] = f.spin[i] = T(0.0);
      for (int j = 0; j < 3; ++j) f.rotation[i][j] = T(i == j ? 1.0 : 0.0);
    }
    return f;
  }
  Vector3<T> point(const Vector3<T>& r) const { return origin + rotation * r; }
  Vector3<T> velocity_of(const Vector3<T>& r) const { return velocity + rotation * cross(spin, r); }

  void slide(int along, const T& q, const T& v) {
    Vector3<T> way{T(0.0), T(0.0), T(0.0)}, pace = way;
    way[along] = q;
    pace[along] = v;
    velocity = velocity + rotation * (pace + cross(spin, way));
    origin = origin + rotation * way;
  }
  // Slides along and turns about any unit vector in the axes of the frame. Each row r of the rotation, and the spin,
  // turn by Rodrigues' formula: r R = cos r + sin r x a + (1 - cos) (r . a) a.
  void slide(const Vector3<T>& along, const T& q, const T& v) {
    const auto times = [&](const T& s) { return Vector3<T>{s * along[0], s * along[1], s * along[2]}; };
    const Vector3<T> way = times(q);
    velocity = velocity + rotation * (times(v) + cross(spin, way));
    origin = origin + rotation * way;
  }
  void turn(const Vector3<T>& about, const T& q, const T& v) {
    using std::cos, std::sin;
    const T c = cos(q), s = sin(q);
    const auto turned = [&](const Vector3<T>& r) {
      const Vector3<T> across = cross(r, about);
      const T along = (1.0 - c) * dot(r, about);
      Vector3<T> x;
      for (int i = 0; i < 3; ++i) x[i] = c * r[i] + s * across[i] + along * about[i];
      return x;
    };
    for (Vector3<T>& row : rotation) row = turned(row);
    spin = turned(spin);
    for (int i = 0; i < 3; ++i) spin[i] = spin[i] + v * about[i];
    axis = -1;
  }
  // Applies a constant rotation.
  void turn_by(const Matrix3<T>& R) {
    const auto before = rotation;
    const auto spun = spin;
    for (int i = 0; i < 3; ++i) {
      spin[i] = R[0][i] * spun[0] + R[1][i] * spun[1] + R[2][i] * spun[2];
      for (int j = 0; j < 3; ++j)
        rotation[i][j] = before[i][0] * R[0][j] + before[i][1] * R[1][j] + before[i][2] * R[2][j];
    }
    axis = -1;
  }
  // Merges successive turns about one axis: sines and cosines of the sum of angles, without products.
  void turn(int about, const T& q, const T& v) {
    using std::cos, std::sin;
    if (about != axis) {
      axis = about;
      angle = rate = T(0.0);
      rotation_before = rotation;
      spin_before = spin;
    }
    angle += q;
    rate += v;
    const T c = cos(angle), s = sin(angle);
    const int j = (axis + 1) % 3, k = (axis + 2) % 3;
    for (int i = 0; i < 3; ++i) {
      rotation[i][j] = c * rotation_before[i][j] + s * rotation_before[i][k];
      rotation[i][k] = c * rotation_before[i][k] - s * rotation_before[i][j];
    }
    spin[j] = c * spin_before[j] + s * spin_before[k];
    spin[k] = c * spin_before[k] - s * spin_before[j];
    spin[axis] = spin_before[axis] + rate;
  }
};

// Returns the angle of a rotation about a unit vector, within half a turn.
template <class T>
T turn_angle(const Matrix3<T>& R, const Vector3<T>& about) {
  using std::atan2;
  const Vector3<T> twice_sine{R[2][1] - R[1][2], R[0][2] - R[2][0], R[1][0] - R[0][1]};
  return atan2(dot(about, twice_sine), R[0][0] + R[1][1] + R[2][2] - 1.0);
}

// Returns the angles of a rotation as successive turns about these axes; zero at rest. Three different axes: the middle
// angle is within a quarter turn. First and last axis equal (Euler angles): the middle angle is positive.
template <class T>
std::vector<T> turn_angles(const Matrix3<T>& R, const std::vector<Move>& turns) {
  using std::atan2, std::sqrt;
  const int i = turns[0].axis;
  if (turns.size() == 1) return {atan2(R[(i + 2) % 3][(i + 1) % 3], R[(i + 1) % 3][(i + 1) % 3])};
  const int j = turns[1].axis, k = 3 - i - j;
  const double e = j == (i + 1) % 3 ? 1.0 : -1.0;
  if (turns.size() == 2 || turns[2].axis != i) {
    std::vector<T> angles = {
        atan2(-e * R[j][k], R[k][k]),
        atan2(e * R[i][k], turns.size() == 2 ? R[i][i] : sqrt(R[i][i] * R[i][i] + R[i][j] * R[i][j]))};
    if (turns.size() == 3) angles.push_back(atan2(-e * R[i][j], R[i][i]));
    return angles;
  }
  return {atan2(R[j][i], -e * R[k][i]), atan2(sqrt(R[j][i] * R[j][i] + R[k][i] * R[k][i]), R[i][i]),
          atan2(R[i][j], e * R[i][k])};
}

}  // namespace dodyn::systems
