// Converts a state of the world of bodies (bodies.hpp) to a state of the tree, for any number type.
#pragma once

#include <cmath>
#include <vector>

#include "systems/bodies.hpp"

namespace dodyn::systems {

// Returns the turns of a link's joint, which follow its slides.
template <class P>
std::vector<Move> turns_of(const Link<P>& link) {
  std::vector<Move> turns;
  for (const Move& move : link.moves)
    if (move.kind == Move::turn) turns.push_back(move);
  return turns;
}

// A state of the tree, computed from a state of the world, for any number type.
template <class T>
struct TreeState {
  std::vector<Frame<T>> frames;  // [links]
  std::vector<T> q, v;
  // [moves] world axes. For a turn: the vector whose product with the joint's relative angular velocity is the rate,
  // and whose multiple by the generalised force is the torque. For a slide: its axis.
  std::vector<Vector3<T>> dual;
};

template <class T>
Matrix3<T> product_of_transposed(const Matrix3<T>& A, const Matrix3<T>& B) {  // returns A^T B
  Matrix3<T> C;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) C[i][j] = A[0][i] * B[0][j] + A[1][i] * B[1][j] + A[2][i] * B[2][j];
  return C;
}

// Adds the slides of a link's joint. `before`, `f`: frames of its parent and its own.
template <class T>
void add_slides(const Link<double>& link, const Frame<T>& before, const Frame<T>& f, TreeState<T>& state) {
  const T zero(0.0);
  const Vector3<T> place = before.point(lift<T>(link.at));
  for (const Move& move : link.moves) {
    if (move.kind == Move::turn) continue;
    const int a = move.axis;
    if (link.parent < 0 && !move.is_oblique()) {
      Vector3<T> axis{zero, zero, zero};
      axis[a] = T(1.0);
      state.q.push_back(f.origin[a] - place[a]);
      state.v.push_back(f.velocity[a]);
      state.dual.push_back(axis);
      continue;
    }
    const Vector3<T> axis = move.is_oblique()
                                ? before.rotation * lift<T>(link.axes[a - 3])
                                : Vector3<T>{before.rotation[0][a], before.rotation[1][a], before.rotation[2][a]};
    const Vector3<T> way = f.origin - place;
    // velocity of the parent's point that is now at f.origin
    const Vector3<T> carried = before.velocity_of(lift<T>(link.at)) + cross(before.rotation * before.spin, way);
    state.q.push_back(dot(axis, way));
    state.v.push_back(dot(axis, f.velocity - carried));
    state.dual.push_back(axis);
  }
}

// A joint's turns in their order: angles, axes in the world, and the attitude after each turn.
template <class T>
struct JointRotations {
  std::vector<T> angles;
  std::vector<Vector3<T>> axes;
  std::vector<Matrix3<T>> rotations;
};
template <class T>
JointRotations<T> turned(const Link<double>& link, const std::vector<Move>& turns, const Frame<T>& before,
                         const Frame<T>& f) {
  const auto oblique = [&](const Move& move) { return lift<T>(link.axes[move.axis - 3]); };
  const auto turned_by = product_of_transposed(before.rotation, f.rotation);
  JointRotations<T> all;
  all.angles = turns[0].is_oblique()  // then there is no other turn: bodies.cpp refuses it
                   ? std::vector<T>{turn_angle(turned_by, oblique(turns[0]))}
                   : turn_angles(turned_by, turns);
  Frame<T> turning = Frame<T>::at_rest();
  turning.rotation = before.rotation;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    const int a = turns[i].axis;
    if (turns[i].is_oblique()) {
      all.axes.push_back(turning.rotation * oblique(turns[i]));
      turning.turn(oblique(turns[i]), all.angles[i], T(0.0));
    } else {
      all.axes.push_back({turning.rotation[0][a], turning.rotation[1][a], turning.rotation[2][a]});
      turning.turn(a, all.angles[i], T(0.0));
    }
    all.rotations.push_back(turning.rotation);
  }
  return all;
}

// Returns the vectors whose products with a relative angular velocity are the rates of turns about these axes, 1 or 3.
template <class T>
std::vector<Vector3<T>> dual_of(const std::vector<Vector3<T>>& axes) {
  if (axes.size() != 3) return axes;
  const Vector3<T> c = cross(axes[1], axes[2]);
  const T volume = dot(axes[0], c);
  std::vector<Vector3<T>> dual = {c, cross(axes[2], axes[0]), cross(axes[0], axes[1])};
  for (auto& d : dual)
    for (T& x : d) x = x / volume;
  return dual;
}

// Returns the frames of the links, and the coordinates and rates of their joints. `bodies`: frames at the centres of
// mass of the bodies, embedded in space (m, m/s, rad/s; axes as in Frame). `links`: place of each link on its body.
template <int n, class T>
TreeState<T> tree_state(const Tree<double>& tree, const std::vector<typename Bodies<n>::LinkPlace>& links,
                        const std::vector<Frame<T>>& bodies) {
  using std::atan2;
  TreeState<T> state;
  for (std::size_t l = 0; l < tree.links.size(); ++l) {
    const auto& link = tree.links[l];
    std::size_t last = l;  // last of the links whose turns form one joint
    while (links[last].ring) ++last;
    Frame<T> f = bodies[links[last].body];
    const Vector3<T> origin = lift<T>(links[last].origin);
    f.velocity = f.velocity_of(origin);
    f.origin = f.point(origin);
    if constexpr (n == 2) f.angle = atan2(f.rotation[1][0], f.rotation[0][0]);

    const Frame<T> before = link.parent < 0 ? Frame<T>::at_rest() : state.frames[link.parent];
    add_slides(link, before, f, state);
    std::vector<Move> turns;
    for (std::size_t i = l; i <= last; ++i)
      for (const Move& turn : turns_of(tree.links[i])) turns.push_back(turn);
    if (turns.empty()) {
      state.frames.push_back(f);
      continue;
    }
    const Vector3<T> spin = f.rotation * f.spin - before.rotation * before.spin;
    const JointRotations<T> joint = turned(link, turns, before, f);
    const auto dual = dual_of(joint.axes);
    for (std::size_t i = 0; i < turns.size(); ++i) {
      state.q.push_back(joint.angles[i]);
      state.v.push_back(dot(dual[i], spin));
      state.dual.push_back(dual[i]);
    }
    Vector3<T> intermediate_spin = before.rotation * before.spin;
    for (std::size_t i = 0; l < last; ++l) {
      for (std::size_t k = 0; k < tree.links[l].moves.size(); ++k, ++i)
        for (int a = 0; a < 3; ++a) intermediate_spin[a] = intermediate_spin[a] + dot(dual[i], spin) * joint.axes[i][a];
      Frame<T> ring = f;
      ring.rotation = joint.rotations[i - 1];
      for (int a = 0; a < 3; ++a)
        ring.spin[a] = ring.rotation[0][a] * intermediate_spin[0] + ring.rotation[1][a] * intermediate_spin[1] +
                       ring.rotation[2][a] * intermediate_spin[2];
      state.frames.push_back(ring);
    }
    state.frames.push_back(f);
  }
  return state;
}

// Reads frames of bodies from numbers: n(n + 1) for each, position, then rotation row by row. Then reads their twists,
// if there are any.
template <int n, class T, class Next>
std::vector<Frame<T>> read_frames(std::size_t bodies, bool twists, Next next) {
  std::vector<Frame<T>> frames;
  for (std::size_t b = 0; b < bodies; ++b) {
    Frame<T> f = Frame<T>::at_rest();
    for (int i = 0; i < n; ++i) f.origin[i] = next();
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) f.rotation[i][j] = next();
    frames.push_back(f);
  }
  for (std::size_t b = 0; twists && b < bodies; ++b) {
    Frame<T>& f = frames[b];
    for (int i = 0; i < n; ++i) f.velocity[i] = next();
    Vector3<T> w{T(0.0), T(0.0), T(0.0)};
    for (int i = n == 2 ? 2 : 0; i < 3; ++i) w[i] = next();
    for (int i = 0; i < 3; ++i)  // into body axes
      f.spin[i] = f.rotation[0][i] * w[0] + f.rotation[1][i] * w[1] + f.rotation[2][i] * w[2];
  }
  return frames;
}

}  // namespace dodyn::systems
