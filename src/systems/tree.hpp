// Articulated trees: links joined by revolute, prismatic, planar, spherical and spatial joints, in the plane or in
// space.
//
// Every link has a frame at its joint. At rest (q = 0) all frames are aligned with the world's. A joint is a list of
// moves, one coordinate each, made in turn in the frame that the ones before have led to: turns about and slides along
// an axis of that frame. So a revolute joint is one turn, a spherical joint three (Euler or Tait-Bryan angles, in any
// order), a point foot that may stand anywhere two or three slides, a planar or spatial root those slides and turns.
//
// Axes: x points forward; in the plane (dimension 2) y points up and turns are about z, counter-clockwise; in space y
// points to the left and z up. Units: m, rad, kg, kg m^2.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include "autodiff/dual.hpp"
#include "autodiff/tape.hpp"

namespace dodyn::systems {

struct Move {
  enum Kind { slide, turn } kind;
  int axis;  // 0, 1, 2: x, y, z
  bool operator==(const Move&) const = default;
};

template <class P>
struct Link {
  std::string name;
  int parent = -1;             // index of an earlier link; -1: the ground
  std::array<P, 3> at{};       // place of the joint in the parent's frame
  std::vector<Move> moves;     // the joint
  P mass{};                    // 0 for a massless one
  std::array<P, 3> centre{};   // of mass, in the link's frame
  std::array<P, 3> inertia{};  // about the centre of mass and the axes of the link's frame (plane: the third)
  std::array<P, 3> end{};      // far end: a foot, a next joint, what is drawn
  int partner = -1;            // the link that takes this one's place when the legs exchange their roles
  int first = 0;               // its first coordinate
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

// A parameter as a number of the type that is computed with: constant at its levels of differentiation.
template <class T, class P>
T lift(const P& parameter) {
  if constexpr (std::is_same_v<T, P> || std::is_same_v<P, double>)
    return T(parameter);
  else
    return T(parameter, P(0.0));
}

// Where a link's frame is and how it moves.
template <class T>
struct Frame {
  Vector3<T> origin, velocity;      // in the world
  Matrix3<T> rotation;              // from the link's frame to the world's
  Vector3<T> spin;                  // angular velocity, in the link's frame
  T angle = T(0.0), rate = T(0.0);  // of the last turns about one and the same axis, taken together,
  int axis = -1;                    // which is this one,
  Matrix3<T> rotation_before;       // and the rotation and
  Vector3<T> spin_before;           // spin before them

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
  // Turns about the same axis, one after the other, are one turn: sines and cosines of sums of angles, no products.
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

// The angles of a rotation as successive turns about these axes; all zero at rest. Three axes that differ: the middle
// angle lies within a quarter turn. First and last alike (Euler angles): the middle one is positive.
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

// `P` is the scalar of the parameters: double, or autodiff::Dual<double> to differentiate with respect to the design.
template <class P = double>
struct Tree {
  using Parameter = P;

  std::string name;
  int dimension = 2;
  P gravity = P(9.81);  // m/s^2
  std::vector<Link<P>> links;
  std::vector<std::string> coordinate_names;

  struct Actuator {
    std::string name;
    int coordinate;
  };
  std::vector<Actuator> actuators;  // a generalised force on one coordinate each

  // A walker, besides: the first link stands on a point foot, and this link's end is the other foot.
  int swing_link = -1;
  struct Knee {
    int coordinate, flexion;  // which way it bends: +1 or -1
  };
  std::vector<Knee> knees;

  int n() const { return static_cast<int>(coordinate_names.size()); }
  double up(int axis) const { return axis == dimension - 1 ? 1.0 : 0.0; }

  P weight() const {  // N
    P mass(0.0);
    for (const auto& link : links) mass += link.mass;
    return mass * gravity;
  }

  Tree<double> plain() const {
    using autodiff::value_of;
    Tree<double> t;
    t.name = name;
    t.dimension = dimension;
    t.gravity = value_of(gravity);
    t.coordinate_names = coordinate_names;
    t.swing_link = swing_link;
    for (const auto& a : actuators) t.actuators.push_back({a.name, a.coordinate});
    for (const auto& k : knees) t.knees.push_back({k.coordinate, k.flexion});
    for (const auto& link : links) {
      Link<double> l{.name = link.name, .parent = link.parent, .moves = link.moves};
      l.partner = link.partner;
      l.first = link.first;
      l.mass = value_of(link.mass);
      for (int i = 0; i < 3; ++i) {
        l.at[i] = value_of(link.at[i]);
        l.centre[i] = value_of(link.centre[i]);
        l.inertia[i] = value_of(link.inertia[i]);
        l.end[i] = value_of(link.end[i]);
      }
      t.links.push_back(std::move(l));
    }
    return t;
  }

  // Frames of the links. q, v: [n]
  template <class T>
  std::vector<Frame<T>> frames(const T* q, const T* v) const {
    std::vector<Frame<T>> frames;
    for (const auto& link : links) {
      Frame<T> f = link.parent < 0 ? Frame<T>::at_rest() : frames[link.parent];
      const Vector3<T> at = lifted<T>(link.at);
      f.velocity = f.velocity_of(at);
      f.origin = f.point(at);
      for (std::size_t i = 0; i < link.moves.size(); ++i) {
        const auto& [kind, axis] = link.moves[i];
        if (kind == Move::turn)
          f.turn(axis, q[link.first + i], v[link.first + i]);
        else
          f.slide(axis, q[link.first + i], v[link.first + i]);
      }
      frames.push_back(std::move(f));
    }
    return frames;
  }
  template <class T>
  std::vector<Frame<T>> frames(const T* q) const {
    return frames(q, std::vector<T>(n(), T(0.0)).data());
  }

  // L = T - V (J), summed over the links.
  template <class T>
  T lagrangian(const T* q, const T* v) const {
    const auto at = frames(q, v);
    const T g = lift<T>(gravity);
    T L = T(0.0);
    for (std::size_t l = 0; l < links.size(); ++l) {
      const Vector3<T> centre = lifted<T>(links[l].centre), inertia = lifted<T>(links[l].inertia);
      const Vector3<T> velocity = at[l].velocity_of(centre);
      const T mass = lift<T>(links[l].mass);
      T twice = T(0.0);
      for (int i = 0; i < 3; ++i)
        twice += mass * (velocity[i] * velocity[i]) + inertia[i] * (at[l].spin[i] * at[l].spin[i]);
      L += 0.5 * twice - (mass * g) * at[l].point(centre)[dimension - 1];
    }
    return L;
  }

  // Position of the foot, then of every link's end: [(1 + links) dimension], m.
  template <class T>
  std::vector<T> points(const T* q) const {
    const auto at = frames(q);
    std::vector<T> p(at[0].origin.begin(), at[0].origin.begin() + dimension);
    for (std::size_t l = 0; l < links.size(); ++l) {
      const Vector3<T> end = at[l].point(lifted<T>(links[l].end));
      p.insert(p.end(), end.begin(), end.begin() + dimension);
    }
    return p;
  }

  // Joint and far end of two links: [12], m.
  template <class T>
  std::vector<T> segments(const T* q, int one, int other) const {
    const auto at = frames(q);
    std::vector<T> p;
    for (const int l : {one, other})
      for (const Vector3<T>& x : {at[l].origin, at[l].point(lifted<T>(links[l].end))})
        p.insert(p.end(), x.begin(), x.end());
    return p;
  }

  template <class T>
  std::vector<T> swing_foot(const T* q) const {
    const Vector3<T> foot = frames(q)[swing_link].point(lifted<T>(links[swing_link].end));
    return {foot.begin(), foot.begin() + dimension};
  }

  // Sign of a vector's component in the mirror that a step is seen through: in space each step alternates sides.
  double mirror(int axis) const { return dimension == 3 && axis == 1 ? -1.0 : 1.0; }

  // The same posture, in space its mirror image, with the legs' roles exchanged: the swing foot becomes the base, every
  // link takes its partner's place. An involution.
  template <class T>
  std::vector<T> exchange_legs(const T* q) const {
    const auto at = frames(q);
    const auto foot = swing_foot(q);
    const auto mirrored = [&](int link) {
      Matrix3<T> R = at[link].rotation;
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) R[i][j] = (mirror(i) * mirror(j)) * R[i][j];
      return R;
    };
    std::vector<T> exchanged;
    for (const auto& link : links) {
      std::vector<Move> turns;
      for (const Move& move : link.moves) {
        if (move.kind == Move::turn)
          turns.push_back(move);
        else if (link.parent < 0)
          exchanged.push_back(mirror(move.axis) * foot[move.axis]);
      }
      if (link.moves.empty()) continue;
      const int j = link.partner, k = link.parent < 0 ? -1 : links[link.parent].partner;
      if (k >= 0 && links[k].parent == j && link.moves.size() == 1) {
        // The partner's joint, looked at from its other side (hence the minus), in the mirror, which turns the
        // direction of what lies across it, and the sense of turns about what lies in it.
        const auto& [kind, axis] = link.moves[0];
        const double sign = dimension == 2 ? -1.0 : kind == Move::turn ? mirror(axis) : -mirror(axis);
        exchanged.push_back(sign * q[links[k].first]);
      } else if (turns.empty()) {
        continue;  // the root's slides
      } else if (dimension == 2) {
        exchanged.push_back(k < 0 ? at[j].angle : at[j].angle - at[k].angle);
      } else {
        Matrix3<T> R = mirrored(j);
        if (k >= 0) {
          const Matrix3<T> one = mirrored(k), other = R;
          for (int a = 0; a < 3; ++a)
            for (int b = 0; b < 3; ++b)
              R[a][b] = one[0][a] * other[0][b] + one[1][a] * other[1][b] + one[2][a] * other[2][b];
        }
        for (const T& angle : turn_angles(R, turns)) exchanged.push_back(angle);
      }
    }
    return exchanged;
  }

  // Double support with the swing foot `step` ahead (and, in space, to the left): where cold starts begin. Joint
  // coordinates only; the least motion from standing on all but straight legs.
  std::vector<double> touch_down(const std::vector<double>& step) const {
    using autodiff::Dual;
    const Tree<double> tree = plain();
    std::vector<double> q(n(), 0.0);
    for (const auto& knee : knees) q[knee.coordinate] = 0.05 * knee.flexion;
    const int d = dimension;
    for (int iteration = 0; iteration < 200; ++iteration) {
      // damped least squares by the conjugate direction of each component in turn (Kaczmarz): tiny, and never singular
      for (int c = 0; c < d; ++c) {
        std::vector<double> slope(n(), 0.0);
        double square = 1e-3, miss = step[c];
        for (int i = d; i < n(); ++i) {
          std::vector<Dual<double>> moving(q.begin(), q.end());
          moving[i].tangent = 1.0;
          const Dual<double> x = tree.swing_foot(moving.data())[c];
          miss = step[c] - x.value;
          slope[i] = x.tangent;
          square += x.tangent * x.tangent;
        }
        for (int i = d; i < n(); ++i) q[i] += std::clamp(miss * slope[i] / square, -0.2, 0.2);
      }
    }
    return {q.begin() + d, q.end()};
  }

  template <class T>
  static Vector3<T> lifted(const std::array<P, 3>& r) {
    return {lift<T>(r[0]), lift<T>(r[1]), lift<T>(r[2])};
  }
};

}  // namespace dodyn::systems
