#include <Eigen/LU>
#include <limits>

#include "geometry/hyperplanes.hpp"
#include "geometry/supporting_corner.hpp"

namespace dodyn::geometry {
namespace {

// A corner x_i - y_j of the Minkowski difference.
template <int n>
struct Corner {
  Vector<n> w, x, y;
};

// The point of the hull of the first `count` corners nearest to the origin, as weights; keeps the corners of its face.
// Every face is tried: the nearest point of its affine hull counts if it is inside, and the least of these is it.
template <int n>
Vector<n> nearest_point(std::array<Corner<n>, n + 1>& corner, int& count, std::array<double, n + 1>& weight) {
  double best = std::numeric_limits<double>::infinity();
  Vector<n> nearest = Vector<n>::Zero();
  unsigned face = 0;
  std::array<double, n + 1> share{};
  for (unsigned some = 1; some < (1u << count); ++some) {
    std::array<int, n + 1> index{};
    int size = 0;
    for (int k = 0; k < count; ++k)
      if (some >> k & 1) index[size++] = k;
    const Vector<n>& first = corner[index[0]].w;
    std::array<double, n + 1> lambda{1.0};
    Vector<n> point = first;
    if (size > 1) {
      Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, n, n> edges(n, size - 1);
      for (int k = 1; k < size; ++k) edges.col(k - 1) = corner[index[k]].w - first;
      const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, n, n> gram = edges.transpose() * edges;
      const Eigen::Matrix<double, Eigen::Dynamic, 1, 0, n, 1> s = gram.fullPivLu().solve(-(edges.transpose() * first));
      bool inside = s.sum() <= 1.0;
      for (int k = 1; k < size; ++k) {
        inside = inside && s[k - 1] >= 0.0;
        lambda[k] = s[k - 1];
        lambda[0] -= s[k - 1];
      }
      if (!inside) continue;
      point += edges * s;
    }
    if (const double length = point.squaredNorm(); length < best) {
      best = length;
      nearest = point;
      face = some;
      share = lambda;
    }
  }
  int kept = 0;
  for (int k = 0; k < count; ++k)
    if (face >> k & 1) {
      weight[kept] = share[kept];
      corner[kept++] = corner[k];
    }
  count = kept;
  return nearest;
}

}  // namespace

template <int n>
Distance<n> find_distance(const Polytope<n>& k1, const Frame<n>& frame1, const Polytope<n>& k2, const Frame<n>& frame2,
                          Basis<n>& basis) {
  Contact<n> contact;
  find_contact(k1, frame1, k2, frame2, basis, contact);
  std::array<std::array<double, max_corners>, 2> heights;
  std::array<Corner<n>, n + 1> corner;
  std::array<double, n + 1> weight{};
  int count = 0;
  const auto lowest_corner = [&](const Vector<n>& d) {
    const Vector<n> d1 = frame1.directors.transpose() * d, d2 = -(frame2.directors.transpose() * d);
    const Vector<n> x = frame1(k1.corner(lowest(k1, d1, heights[0].data()).corner));
    const Vector<n> y = frame2(k2.corner(lowest(k2, d2, heights[1].data()).corner));
    return Corner<n>{x - y, x, y};
  };
  Vector<n> v = contact.alpha;
  for (int round = 0; round < 100; ++round) {
    const Corner<n> next = lowest_corner(v);
    // v is nearest if no corner is lower than it along itself (theorem 3 of the source)
    if (count > 0 &&
        v.squaredNorm() - v.dot(next.w) <= 1e-13 * v.squaredNorm() + 1e-15 * v.norm() * (k1.radius() + k2.radius()))
      break;
    bool known = false;
    for (int k = 0; k < count; ++k) known = known || corner[k].w == next.w;
    if (known || count > n) break;
    corner[count++] = next;
    v = nearest_point<n>(corner, count, weight);
    if (v.squaredNorm() == 0.0) break;
  }
  Distance<n> found{v.norm(), {Vector<n>(Vector<n>::Zero()), Vector<n>(Vector<n>::Zero())}};
  for (int k = 0; k < count; ++k) {
    found.nearest[0] += weight[k] * corner[k].x;
    found.nearest[1] += weight[k] * corner[k].y;
  }
  if (contact.gap >= 0.0) {
    found.distance = 0.0;
    found.nearest[0] = found.nearest[1] = 0.5 * (found.nearest[0] + found.nearest[1]);
  }
  return found;
}

template Distance<2> find_distance(const Polytope<2>&, const Frame<2>&, const Polytope<2>&, const Frame<2>&, Basis<2>&);
template Distance<3> find_distance(const Polytope<3>&, const Frame<3>&, const Polytope<3>&, const Frame<3>&, Basis<3>&);

}  // namespace dodyn::geometry
