// Edges of two convex shapes in space that touch each other.
#pragma once

#include <array>
#include <cmath>
#include <vector>

#include "systems/frame.hpp"

namespace dodyn::dmoc {

// By the numbers of their corners. (one[1] - one[0]) x (other[1] - other[0]) points from the other shape to the one.
struct EdgePair {
  std::array<int, 2> one = {-1, -1}, other = {-1, -1};
  bool operator==(const EdgePair&) const = default;
};

// Where the lines through two edges, of which each is given by its ends, are nearest to each other:
//
//   n = u x w / |u x w|,   gap = n.(a_0 - b_0),   a_0 + s u and b_0 + t w the nearest points,
//
// u and w along the edges at a_0 and b_0. s and t lie between 0 and 1 where the edges themselves meet.
template <class T>
struct EdgeMeeting {
  systems::Vector3<T> normal;
  T gap, s, t;
};
template <class T>
EdgeMeeting<T> meeting_of_edges(const std::array<systems::Vector3<T>, 2>& one,
                                const std::array<systems::Vector3<T>, 2>& other) {
  using std::sqrt, systems::operator-;
  const auto u = one[1] - one[0], w = other[1] - other[0], way = one[0] - other[0], c = systems::cross(u, w);
  const T square = systems::dot(c, c), length = sqrt(square);
  EdgeMeeting<T> m{{c[0] / length, c[1] / length, c[2] / length}, T(0.0), T(0.0), T(0.0)};
  m.gap = systems::dot(m.normal, way);
  m.s = systems::dot(systems::cross(w, way), c) / square;
  m.t = systems::dot(systems::cross(u, way), c) / square;
  return m;
}

// The ends of an edge, by the corners of its shape.
template <class T>
std::array<systems::Vector3<T>, 2> ends_of(const std::vector<systems::Vector3<T>>& corners,
                                           const std::array<int, 2>& edge) {
  return {corners[static_cast<std::size_t>(edge[0])], corners[static_cast<std::size_t>(edge[1])]};
}

// Of two polytopes by their corners the edges that touch or come next to it: nearest to each other, and with all of one shape
// on one side of the plane along both edges and all of the other on the other.
EdgePair nearest_edges(const std::vector<systems::Vector3<double>>& one,
                       const std::vector<systems::Vector3<double>>& other);

}  // namespace dodyn::dmoc
