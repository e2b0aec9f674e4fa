#include "geometry/closest_features.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <utility>
#include <vector>

namespace dodyn::geometry {

namespace {

// Distance below which polytopes touch, relative to their size: find_distance() is not more accurate.
constexpr double touch_tolerance = 1e-12;
// Edges are parallel if the sine of their angle is below this.
constexpr double parallel_tolerance = 1e-9;

template <int n>
std::vector<Vector<n>> placed_corners(const Polytope<n>& k, const Frame<n>& frame) {
  std::vector<Vector<n>> corners;
  for (int i = 0; i < k.size(); ++i) corners.push_back(frame(k.corner(i)));
  return corners;
}

// Directions of the edges of the facets, in world coordinates.
std::vector<Vector<3>> edge_directions(const Polytope<3>& k, const Frame<3>& frame) {
  std::set<std::pair<int, int>> pairs;
  for (const auto& facet : k.facets())
    for (std::size_t i = 0; i < 3; ++i) pairs.insert(std::minmax(facet[i], facet[(i + 1) % 3]));
  std::vector<Vector<3>> all;
  for (const auto& [i, j] : pairs) all.push_back((frame.directors * (k.corner(j) - k.corner(i))).normalized());
  return all;
}

// Returns the unit vector from body 2 to body 1 along which the gap between the bodies is widest. If the bodies
// overlap, the shortest translation that separates them has this direction. The vector is normal to a facet of the
// Minkowski difference: to a facet of one body or, in 3D, to an edge of each body.
template <int n>
Vector<n> direction_of_widest_gap(const Polytope<n>& k1, const Frame<n>& frame1, const Polytope<n>& k2,
                                  const Frame<n>& frame2) {
  const auto x = placed_corners(k1, frame1), y = placed_corners(k2, frame2);
  const double rounding = 1e-13 * (k1.radius() + k2.radius());
  double widest = -std::numeric_limits<double>::infinity();
  Vector<n> direction = Vector<n>::Unit(n - 1);
  const auto consider = [&](const Vector<n>& d) {
    double gap = std::numeric_limits<double>::infinity(), highest = -gap;
    for (const auto& corner : x) gap = std::min(gap, d.dot(corner));
    for (const auto& corner : y) highest = std::max(highest, d.dot(corner));
    gap -= highest;
    if (gap <= widest + rounding) return;
    widest = gap;
    direction = d;
  };
  for (const auto& facet : k1.facets()) consider(-(frame1.directors * k1.normal(facet)).normalized());
  for (const auto& facet : k2.facets()) consider((frame2.directors * k2.normal(facet)).normalized());
  if constexpr (n == 3) {
    const auto others = edge_directions(k2, frame2);
    for (const Vector<3>& one : edge_directions(k1, frame1))
      for (const Vector<3>& other : others) {
        const Vector<3> d = one.cross(other);
        const double sine = d.norm();
        if (sine < parallel_tolerance) continue;
        consider(d / sine);
        consider(-d / sine);
      }
  }
  return direction;
}

}  // namespace

template <int n>
Contact<n> find_closest_features(const Polytope<n>& k1, const Frame<n>& frame1, const Polytope<n>& k2,
                                 const Frame<n>& frame2) {
  Basis<n> start;
  const Distance<n> apart = find_distance(k1, frame1, k2, frame2, start);
  const Vector<n> along = apart.distance > touch_tolerance * (k1.radius() + k2.radius())
                              ? Vector<n>((apart.nearest[0] - apart.nearest[1]) / apart.distance)
                              : direction_of_widest_gap(k1, frame1, k2, frame2);
  std::array<Basis<n>, 2> bases;
  Contact<n> contact;
  find_contact<n>(k1, frame1, k2, frame2, frame2.directors.transpose() * along, bases, contact);
  return contact;
}

template Contact<2> find_closest_features(const Polytope<2>&, const Frame<2>&, const Polytope<2>&, const Frame<2>&);
template Contact<3> find_closest_features(const Polytope<3>&, const Frame<3>&, const Polytope<3>&, const Frame<3>&);

}  // namespace dodyn::geometry
