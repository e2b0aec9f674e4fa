#include "dmoc/edge_pair.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <limits>
#include <map>

#include "geometry/polytope.hpp"

namespace dodyn::dmoc {

using systems::Vector3;

namespace {

// Returns the edges of the convex hull, without lines inside a flat face.
std::vector<std::array<int, 2>> edges_of(const std::vector<Vector3<double>>& corners) {
  using Point = geometry::Vector<3>;
  std::vector<Point> points;
  for (const auto& r : corners) points.emplace_back(r[0], r[1], r[2]);
  const geometry::Polytope<3> polytope(points);
  std::map<std::array<int, 2>, std::vector<Point>> normals;  // normals of the adjacent triangles
  for (const auto& [i, j, k] : polytope.facets()) {
    const auto at = [&](int c) { return points[c]; };
    const Point normal = (at(j) - at(i)).cross(at(k) - at(i)).normalized();
    for (const auto& [a, b] : {std::pair{i, j}, std::pair{j, k}, std::pair{k, i}})
      normals[{std::min(a, b), std::max(a, b)}].push_back(normal);
  }
  std::vector<std::array<int, 2>> edges;
  for (const auto& [edge, beside] : normals)
    if (beside.size() == 2 && beside[0].dot(beside[1]) < 1.0 - 1e-9) edges.push_back(edge);
  return edges;
}

}  // namespace

EdgePair nearest_edges(const std::vector<Vector3<double>>& one, const std::vector<Vector3<double>>& other) {
  using systems::operator+, systems::operator-, systems::operator*;
  const auto others = edges_of(other);
  EdgePair best;
  double min_distance = std::numeric_limits<double>::infinity();
  for (const auto& a : edges_of(one))
    for (const auto& b : others)
      for (const EdgePair& pair : {EdgePair{a, b}, EdgePair{a, {b[1], b[0]}}}) {
        const auto p = ends_of(one, pair.one), q = ends_of(other, pair.other);
        const auto u = p[1] - p[0], w = q[1] - q[0], c = systems::cross(u, w);
        if (systems::dot(c, c) < 1e-6 * systems::dot(u, u) * systems::dot(w, w)) continue;  // nearly parallel
        const auto m = edge_distance(p, q);
        double beyond = 0.0;
        for (const auto& r : one) beyond = std::max(beyond, systems::dot(m.normal, p[0] - r));
        for (const auto& r : other) beyond = std::max(beyond, systems::dot(m.normal, r - q[0]));
        Vector3<double> way = p[0] - q[0];
        for (std::size_t i = 0; i < 3; ++i)
          way[i] += std::clamp(m.s, 0.0, 1.0) * u[i] - std::clamp(m.t, 0.0, 1.0) * w[i];
        const double distance = std::sqrt(systems::dot(way, way)) + beyond;
        if (distance < min_distance - 1e-12) min_distance = distance, best = pair;
      }
  return best;
}

}  // namespace dodyn::dmoc
