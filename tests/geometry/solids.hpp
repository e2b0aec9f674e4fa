// Regular solids with their centroid at the origin, for tests and benchmarks. Lengths in m.
#pragma once

#include <cmath>
#include <numbers>
#include <vector>

#include "geometry/polytope.hpp"

namespace dodyn::geometry {

inline std::vector<Vector<2>> polygon(int corners, double side) {
  const double step = 2.0 * std::numbers::pi / corners, radius = 0.5 * side / std::sin(0.5 * step);
  std::vector<Vector<2>> x;
  for (int i = 0; i < corners; ++i) x.push_back({radius * std::cos(i * step), radius * std::sin(i * step)});
  return x;
}

inline Polytope<2> regular_polygon(int corners, double side) {
  return Polytope<2>(polygon(corners, side), "regular polygon");
}

// axis along z
inline Polytope<3> regular_prism(int corners, double side, double height) {
  std::vector<Vector<3>> x;
  for (const double z : {-0.5 * height, 0.5 * height})
    for (const auto& v : polygon(corners, side)) x.push_back({v[0], v[1], z});
  return Polytope<3>(x, "regular prism");
}

// apex in the direction +z
inline Polytope<3> square_pyramid(double base, double height) {
  const double a = 0.5 * base, z = -0.25 * height;
  return Polytope<3>({{-a, -a, z}, {a, -a, z}, {a, a, z}, {-a, a, z}, {0.0, 0.0, 0.75 * height}}, "square pyramid");
}

inline Polytope<3> octahedron(double edge) {
  const double r = edge / std::numbers::sqrt2;
  return Polytope<3>({{r, 0, 0}, {-r, 0, 0}, {0, r, 0}, {0, -r, 0}, {0, 0, r}, {0, 0, -r}}, "octahedron");
}

}  // namespace dodyn::geometry
