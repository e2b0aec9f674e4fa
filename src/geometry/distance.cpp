#include <limits>

#include "geometry/hyperplanes.hpp"
#include "geometry/supporting_corner.hpp"

namespace dodyn::geometry {
namespace {

// A corner x_i - y_j of the Minkowski difference.
template <int n>
struct Corner {
  Vector<n> w, x, y;
  std::int16_t i, j;
};

template <int n>
using Weights = std::array<double, n + 1>;

// Computes the weights of the point nearest to the origin in the affine hull of `size` points w (2 to n + 1). Returns
// false if it is outside their convex hull, or if the points are affinely dependent. Uses areas and volumes, which
// avoid a squared condition number.
bool nearest_inside(const std::array<const Vector<2>*, 3>& w, int size, Weights<2>& weight, Vector<2>& point) {
  const Vector<2>&a = *w[0], e = *w[1] - a;
  if (size == 2) {
    const double length = e.squaredNorm(), share = -a.dot(e);
    if (!(length > 0.0) || share < 0.0 || share > length) return false;
    const Vector<2> across(-e[1], e[0]);
    point = across * (across.dot(a) / length);
    weight = {1.0 - share / length, share / length, 0.0};
    return true;
  }
  const Vector<2> f = *w[2] - a;
  const double area = e[0] * f[1] - e[1] * f[0];
  const double s = (a[1] * f[0] - a[0] * f[1]) / area, t = (a[0] * e[1] - a[1] * e[0]) / area;
  if (!(s >= 0.0 && t >= 0.0 && s + t <= 1.0)) return false;
  point.setZero();
  weight = {1.0 - s - t, s, t};
  return true;
}
bool nearest_inside(const std::array<const Vector<3>*, 4>& w, int size, Weights<3>& weight, Vector<3>& point) {
  const Vector<3>&a = *w[0], e = *w[1] - a;
  if (size == 2) {
    const double length = e.squaredNorm(), share = -a.dot(e);
    if (!(length > 0.0) || share < 0.0 || share > length) return false;
    point = a + e * (share / length);
    weight = {1.0 - share / length, share / length, 0.0, 0.0};
    return true;
  }
  const Vector<3> f = *w[2] - a, normal = e.cross(f);
  if (size == 3) {
    const double area = normal.squaredNorm();
    const double s = f.cross(a).dot(normal) / area, t = a.cross(e).dot(normal) / area;
    if (!(s >= 0.0 && t >= 0.0 && s + t <= 1.0)) return false;
    point = normal * (normal.dot(a) / area);
    weight = {1.0 - s - t, s, t, 0.0};
    return true;
  }
  const Vector<3> g = *w[3] - a;
  const double volume = normal.dot(g);
  const double s = -a.dot(f.cross(g)) / volume, t = -a.dot(g.cross(e)) / volume, u = -a.dot(normal) / volume;
  if (!(s >= 0.0 && t >= 0.0 && u >= 0.0 && s + t + u <= 1.0)) return false;
  point.setZero();
  weight = {1.0 - s - t - u, s, t, u};
  return true;
}

// Finds the point nearest to the origin in the hull of the first `count` corners, and its weights. Keeps the corners of
// the face that contains the point, and updates `count`. Tries every face: the nearest point of a face's affine hull
// counts if it is inside the face.
template <int n>
Vector<n> nearest_point(std::array<Corner<n>, n + 1>& corner, int& count, Weights<n>& weight) {
  double min_squared = std::numeric_limits<double>::infinity();
  Vector<n> nearest = Vector<n>::Zero(), point;
  unsigned face = 0;
  for (unsigned some = 1; some < (1u << count); ++some) {
    std::array<const Vector<n>*, n + 1> w{};
    int size = 0;
    for (int k = 0; k < count; ++k)
      if (some >> k & 1) w[size++] = &corner[k].w;
    Weights<n> share{1.0};
    if (size == 1)
      point = *w[0];
    else if (!nearest_inside(w, size, share, point))
      continue;
    if (const double length = point.squaredNorm(); length < min_squared) {
      min_squared = length;
      nearest = point;
      face = some;
      weight = share;
    }
  }
  int kept = 0;
  for (int k = 0; k < count; ++k)
    if (face >> k & 1) corner[kept++] = corner[k];
  count = kept;
  return nearest;
}

}  // namespace

template <int n>
Distance<n> find_distance(const Polytope<n>& k1, const Frame<n>& frame1, const Polytope<n>& k2, const Frame<n>& frame2,
                          Basis<n>& basis) {
  std::array<std::array<double, max_corners>, 2> heights;
  std::array<Corner<n>, n + 1> corner;
  Weights<n> weight{};
  int count = 0;
  const auto corner_of = [&](int i, int j) {
    const Vector<n> x = frame1(k1.corner(i)), y = frame2(k2.corner(j));
    return Corner<n>{x - y, x, y, static_cast<std::int16_t>(i), static_cast<std::int16_t>(j)};
  };
  const auto lowest_corner = [&](const Vector<n>& d) {
    const Vector<n> d1 = frame1.directors.transpose() * d, d2 = -(frame2.directors.transpose() * d);
    return corner_of(lowest(k1, d1, heights[0].data()).corner, lowest(k2, d2, heights[1].data()).corner);
  };
  // starts from the feature of the last query, or from corners that face each other along the line of centroids
  for (int k = 0; k < basis.size && k < n; ++k)
    if (basis.is_valid(k, k1.size(), k2.size())) corner[count++] = corner_of(basis.first[k], basis.second[k]);
  if (count == 0) corner[count++] = lowest_corner(frame1(k1.centroid()) - frame2(k2.centroid()));
  const double size = k1.radius() + k2.radius(), touching = 1e-15 * size;

  Vector<n> v = nearest_point<n>(corner, count, weight);
  for (int round = 0; round < 100 && v.norm() > touching; ++round) {
    // v is the nearest point if no corner is lower in the direction v (Gilbert et al. 1988, theorem 3)
    const Corner<n> next = lowest_corner(v);
    if (v.squaredNorm() - v.dot(next.w) <= 1e-13 * v.squaredNorm() + touching * v.norm()) break;
    bool known = count > n;
    for (int k = 0; k < count; ++k) known = known || (corner[k].i == next.i && corner[k].j == next.j);
    if (known) break;
    // stops when rounding prevents a decrease
    auto candidate = corner;
    int candidates = count;
    Weights<n> share{};
    candidate[candidates++] = next;
    const Vector<n> nearer = nearest_point<n>(candidate, candidates, share);
    if (!(nearer.squaredNorm() < v.squaredNorm())) break;
    v = nearer;
    corner = candidate;
    count = candidates;
    weight = share;
  }
  Distance<n> found{v.norm(), {Vector<n>(Vector<n>::Zero()), Vector<n>(Vector<n>::Zero())}};
  for (int k = 0; k < count; ++k) {
    found.nearest[0] += weight[k] * corner[k].x;
    found.nearest[1] += weight[k] * corner[k].y;
  }
  if (found.distance <= touching) {
    found.distance = 0.0;
    found.nearest[0] = found.nearest[1] = 0.5 * (found.nearest[0] + found.nearest[1]);
  }
  basis.size = static_cast<std::int16_t>(std::min(count, n));
  for (int k = 0; k < basis.size; ++k) {
    basis.first[k] = corner[k].i;
    basis.second[k] = corner[k].j;
  }
  return found;
}

template Distance<2> find_distance(const Polytope<2>&, const Frame<2>&, const Polytope<2>&, const Frame<2>&, Basis<2>&);
template Distance<3> find_distance(const Polytope<3>&, const Frame<3>&, const Polytope<3>&, const Frame<3>&, Basis<3>&);

}  // namespace dodyn::geometry
