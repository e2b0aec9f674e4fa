// Pairs of touching edges of two convex shapes in 3D.
#pragma once

#include <array>
#include <cmath>
#include <vector>

#include "systems/frame.hpp"

namespace dodyn::dmoc {

// Indices of the edges' corners. The cross product (one[1] - one[0]) x (other[1] - other[0]) points from shape `other`
// to shape `one`.
struct EdgePair {
  std::array<int, 2> one = {-1, -1}, other = {-1, -1};
  bool operator==(const EdgePair&) const = default;
};

// Nearest points of the lines through two edges, with gap and offsets in m:
//
//   n = u x w / |u x w|,   gap = n.(a_0 - b_0),   a_0 + s u and b_0 + t w the nearest points,
//
// with the edges from a_0 to a_0 + u and from b_0 to b_0 + w. s and t are between 0 and 1 if the nearest points lie on
// the edges. gap < 0: the shapes overlap.
template <class T>
struct EdgeDistance {
  systems::Vector3<T> normal;
  T gap, s, t;
};
// Returns the nearest points from the ends of both edges. The edges must not be parallel.
template <class T>
EdgeDistance<T> edge_distance(const std::array<systems::Vector3<T>, 2>& one,
                              const std::array<systems::Vector3<T>, 2>& other) {
  using std::sqrt, systems::operator-;
  const auto u = one[1] - one[0], w = other[1] - other[0], way = one[0] - other[0], c = systems::cross(u, w);
  const T square = systems::dot(c, c), length = sqrt(square);
  EdgeDistance<T> m{{c[0] / length, c[1] / length, c[2] / length}, T(0.0), T(0.0), T(0.0)};
  m.gap = systems::dot(m.normal, way);
  m.s = systems::dot(systems::cross(w, way), c) / square;
  m.t = systems::dot(systems::cross(u, way), c) / square;
  return m;
}

// Returns the ends of an edge from the corners of its shape.
template <class T>
std::array<systems::Vector3<T>, 2> ends_of(const std::vector<systems::Vector3<T>>& corners,
                                           const std::array<int, 2>& edge) {
  return {corners[edge[0]], corners[edge[1]]};
}

// Returns the edges of two polytopes (given by their corners) that touch or are nearest to each other. Pairs whose
// plane does not separate the shapes count as more distant, by the depth of the corners beyond the plane. Nearly
// parallel pairs do not count. All indices are -1 if no pair remains.
EdgePair nearest_edges(const std::vector<systems::Vector3<double>>& one,
                       const std::vector<systems::Vector3<double>>& other);

}  // namespace dodyn::dmoc
