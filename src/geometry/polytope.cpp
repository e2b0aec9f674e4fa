#include "geometry/polytope.hpp"

#include <Eigen/Geometry>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace dodyn::geometry {
namespace {

template <int n>
using Points = std::vector<Vector<n>>;
template <int n>
using Facets = std::vector<std::array<int, n>>;

[[noreturn]] void refuse(const std::string& name, const std::string& what) {
  throw std::invalid_argument(name + ": " + what);
}

// See Polytope::normal().
Vector<2> normal(const Points<2>& x, const std::array<int, 2>& f) {
  const Vector<2> e = x[f[1]] - x[f[0]];
  return {e[1], -e[0]};
}
Vector<3> normal(const Points<3>& x, const std::array<int, 3>& f) {
  return (x[f[1]] - x[f[0]]).cross(x[f[2]] - x[f[0]]);
}

// Finds a simplex of n + 1 points, each as far as possible from the span of the earlier points.
template <int n>
std::array<int, n + 1> first_simplex(const Points<n>& x, double tolerance, const std::string& name) {
  std::array<int, n + 1> chosen{};
  for (std::size_t i = 1; i < x.size(); ++i)
    if (x[i][0] < x[chosen[0]][0]) chosen[0] = i;
  Points<n> span;  // orthonormal
  for (int k = 1; k <= n; ++k) {
    double far = tolerance;
    Vector<n> direction = Vector<n>::Zero();
    for (std::size_t i = 0; i < x.size(); ++i) {
      Vector<n> d = x[i] - x[chosen[0]];
      for (const auto& s : span) d -= s.dot(d) * s;
      if (const double distance = d.norm(); distance > far) {
        far = distance;
        chosen[k] = i;
        direction = d / distance;
      }
    }
    if (direction.isZero())
      refuse(name, "degenerate: all corners lie in " + std::string(k == 1 ? "a point" : k == 2 ? "a line" : "a plane"));
    span.push_back(direction);
  }
  return chosen;
}

constexpr const char* too_flat =
    "degenerate: so flat that rounding decides the order of its corners; make it thicker or leave corners out";

// Computes the convex hull by adding points: facets visible from a point are replaced by a cone over their horizon.
// O(points x facets).
template <int n>
Facets<n> hull(Points<n> x, double tolerance, const std::string& name) {
  for (std::size_t i = x.size(); i-- > 0;) x[i] -= x[0];  // translates the first point to the origin, for accuracy
  struct Plane {
    Vector<n> normal;
    double limit;  // points further along the normal see the facet
  };
  const auto start = first_simplex<n>(x, tolerance, name);
  Facets<n> facets, kept, seen;
  std::vector<Plane> planes, kept_planes;
  const auto add = [&](const std::array<int, n>& f) {
    const Vector<n> m = normal(x, f);
    facets.push_back(f);
    planes.push_back({m, m.dot(x[f[0]]) + tolerance * m.norm()});
  };
  for (int skip = 0; skip <= n; ++skip) {
    std::array<int, n> f;
    for (int i = 0, k = 0; i <= n; ++i)
      if (i != skip) f[k++] = start[i];
    if (normal(x, f).dot(x[start[skip]] - x[f[0]]) > 0.0) std::swap(f[0], f[1]);
    add(f);
  }
  for (int i = 0; i < std::ssize(x); ++i) {
    kept.clear();
    kept_planes.clear();
    seen.clear();
    for (std::size_t f = 0; f < facets.size(); ++f)
      if (planes[f].normal.dot(x[i]) > planes[f].limit) {
        seen.push_back(facets[f]);
      } else {
        kept.push_back(facets[f]);
        kept_planes.push_back(planes[f]);
      }
    if (seen.empty()) continue;
    facets.swap(kept);
    planes.swap(kept_planes);
    for (const auto& f : seen)
      for (int k = 0; k < n; ++k) {  // a ridge of f is on the horizon if no other visible facet has it in reverse
        const auto has = [&](const std::array<int, n>& g) {
          if constexpr (n == 2) return g[1 - k] == f[k];
          for (int l = 0; l < n; ++l)
            if (g[l] == f[(k + 1) % n] && g[(l + 1) % n] == f[k]) return true;
          return false;
        };
        if (std::ranges::any_of(seen, has)) continue;
        std::array<int, n> g;
        if constexpr (n == 2)
          g = k == 0 ? std::array<int, n>{f[0], i} : std::array<int, n>{i, f[1]};
        else
          g = {f[k], f[(k + 1) % n], i};
        add(g);
      }
    // Euler's formula: rounding in visibility tests can multiply cones that cover each other.
    const std::size_t corners = n + 2 + i, most = n == 2 ? corners : 2 * corners - 4;
    if (facets.size() < n + 1 || facets.size() > most) refuse(name, too_flat);
  }
  return facets;
}

// Throws std::invalid_argument if the boundary is not closed. Every edge of a closed boundary occurs once in either
// direction.
void check_closed(const Facets<3>& facets, const std::string& name) {
  std::vector<std::array<int, 2>> ridges;
  for (const auto& f : facets)
    for (int k = 0; k < 3; ++k) ridges.push_back({f[k], f[(k + 1) % 3]});
  std::ranges::sort(ridges);
  bool closed = std::ranges::adjacent_find(ridges) == ridges.end();
  for (const auto& r : ridges) closed = closed && std::ranges::binary_search(ridges, std::array<int, 2>{r[1], r[0]});
  if (!closed) refuse(name, too_flat);
}

// Throws std::invalid_argument if a point is not a corner. A point is a corner if no other point is as far in the
// direction of the mean of the normals around it.
template <int n>
void check_corners(const Points<n>& x, const Facets<n>& facets, double tolerance, const std::string& name) {
  std::vector<Vector<n>> outward(x.size(), Vector<n>::Zero());
  for (const auto& f : facets)
    for (int i : f) outward[i] += normal(x, f).normalized();
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t j = 0; j < x.size(); ++j)
      if (j != i && !(outward[i].dot(x[i] - x[j]) > tolerance))
        refuse(name, "not convex: point " + std::to_string(i + 1) + " of " + std::to_string(x.size()) +
                         " is not a corner of the convex hull (inside, on an edge or face, or given twice)");
}

}  // namespace

template <int n>
Polytope<n>::Polytope(const std::vector<Vector<n>>& x, const std::string& name) {
  size_ = x.size();
  if (size_ < n + 1 || size_ > max_corners)
    refuse(name, "has " + std::to_string(size_) + " corners, allowed are " + std::to_string(n + 1) + " to " +
                     std::to_string(max_corners));
  Vector<n> low = x[0], high = x[0];
  for (const auto& v : x) {
    if (!v.allFinite()) refuse(name, "has a corner that is not a number");
    low = low.cwiseMin(v);
    high = high.cwiseMax(v);
  }
  const double size = (high - low).norm(), tolerance = 1e-10 * size;
  facets_ = hull<n>(x, tolerance, name);

  if constexpr (n == 3) check_closed(facets_, name);
  check_corners<n>(x, facets_, tolerance, name);
  if (size_ > few_corners) keep_neighbours(x);
  set_moments(x);
  padded_ = (size_ + 3) / 4 * 4;
  coordinates_.resize(n * padded_);
  for (int i = 0; i < padded_; ++i)
    for (int k = 0; k < n; ++k) coordinates_[k * padded_ + i] = x[std::min(i, size_ - 1)][k];
  for (const auto& v : x) radius_ = std::max(radius_, (v - centroid_).norm());
}

template <int n>
void Polytope<n>::keep_neighbours(const std::vector<Vector<n>>& x) {
  std::vector<std::vector<std::int16_t>> near(size_);
  for (const auto& f : facets_)  // every edge occurs once in either direction
    for (int k = 0; k < n; ++k) near[f[k]].push_back(static_cast<std::int16_t>(f[(k + 1) % n]));
  first_neighbour_.push_back(0);
  for (const auto& list : near) {
    neighbours_.insert(neighbours_.end(), list.begin(), list.end());
    first_neighbour_.push_back(neighbours_.size());
    for (const int i : list) neighbour_coordinates_.insert(neighbour_coordinates_.end(), x[i].begin(), x[i].end());
  }
  int count = 2 * n;
  for (int a = 1; a < n; ++a) count *= cells;
  low_corner_.resize(count);
  for (int at = 0; at < count; ++at) {  // direction of the cell's centre
    Vector<n> d;
    int rest = at;
    for (int a = n - 1; a > 0; --a, rest /= cells) d[a] = (2 * (rest % cells) + 1.0) / cells - 1.0;
    d[0] = rest % 2 == 1 ? 1.0 : -1.0;
    Vector<n> turned;  // d lies in the cell of its largest component
    for (int a = 0; a < n; ++a) turned[(rest / 2 + a) % n] = d[a];
    for (int i = 1; i < size_; ++i)
      if (turned.dot(x[i]) < turned.dot(x[low_corner_[at]])) low_corner_[at] = static_cast<std::int16_t>(i);
  }
}

// Decomposes the body into simplices from the first corner to the boundary.
template <int n>
void Polytope<n>::set_moments(const std::vector<Vector<n>>& x) {
  Vector<n> first = Vector<n>::Zero();
  Matrix<n> second = Matrix<n>::Zero();
  for (const auto& f : facets_) {
    Matrix<n> edges;
    for (int k = 0; k < n; ++k) edges.col(k) = x[f[k]] - x[0];
    double v = edges.determinant();
    for (int k = 2; k <= n; ++k) v /= k;
    const Vector<n> sum = edges.rowwise().sum();
    volume_ += v;
    first += v / (n + 1) * sum;
    second += v / ((n + 1) * (n + 2)) * (edges * edges.transpose() + sum * sum.transpose());
  }
  const Vector<n> centroid = first / volume_;
  moment_ = second - volume_ * centroid * centroid.transpose();
  centroid_ = x[0] + centroid;
}

template <int n>
Vector<n> Polytope<n>::normal(const std::array<int, n>& facet) const {
  const Vector<n> a = corner(facet[0]), e = corner(facet[1]) - a;
  if constexpr (n == 2)
    return {e[1], -e[0]};
  else
    return e.cross(corner(facet[2]) - a);
}

template <int n>
std::vector<Vector<n>> Polytope<n>::corners() const {
  std::vector<Vector<n>> x;
  for (int i = 0; i < size_; ++i) x.push_back(corner(i));
  return x;
}

template <int n>
Polytope<n> Polytope<n>::moved(const Frame<n>& frame) const {
  std::vector<Vector<n>> x;
  for (int i = 0; i < size_; ++i) x.push_back(frame(corner(i)));
  return Polytope(x);
}

template class Polytope<2>;
template class Polytope<3>;

namespace {

void require_positive(double value, const char* what) {
  if (!(value > 0.0) || !std::isfinite(value))
    throw std::invalid_argument(std::string(what) + " is " + std::to_string(value) + ", must be positive");
}

}  // namespace

Polytope<2> rectangle(double width, double height) {
  require_positive(width, "width of a rectangle");
  require_positive(height, "height of a rectangle");
  const double a = 0.5 * width, b = 0.5 * height;
  return Polytope<2>({{-a, -b}, {a, -b}, {a, b}, {-a, b}}, "rectangle");
}

Polytope<3> box(double x, double y, double z) {
  for (const double edge : {x, y, z}) require_positive(edge, "edge of a box");
  Points<3> corners;
  for (int i = 0; i < 8; ++i)
    corners.push_back({(i & 1 ? 0.5 : -0.5) * x, (i & 2 ? 0.5 : -0.5) * y, (i & 4 ? 0.5 : -0.5) * z});
  return Polytope<3>(corners, "box");
}

template <int n>
MassProperties<n> mass_properties(const Polytope<n>& polytope, double density) {
  require_positive(density, "density");
  return {density * polytope.volume(), polytope.centroid(), density * polytope.second_moment()};
}

template <int n>
MassProperties<n> operator+(const MassProperties<n>& a, const MassProperties<n>& b) {
  const double mass = a.mass + b.mass;
  const Vector<n> between = a.centre - b.centre;
  return {mass, (a.mass * a.centre + b.mass * b.centre) / mass,
          a.euler_tensor + b.euler_tensor + a.mass * b.mass / mass * between * between.transpose()};
}

template MassProperties<2> mass_properties(const Polytope<2>&, double);
template MassProperties<3> mass_properties(const Polytope<3>&, double);
template MassProperties<2> operator+(const MassProperties<2>&, const MassProperties<2>&);
template MassProperties<3> operator+(const MassProperties<3>&, const MassProperties<3>&);

}  // namespace dodyn::geometry
