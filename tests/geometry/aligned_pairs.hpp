// Aligned boxes and hexagonal prisms, exact or rotated by 1e-17 to 1e-5 of a turn, with bases kept from other such
// pairs. Whole faces, edges and corners of the Minkowski difference then lie on the line along beta, to rounding. The
// results are compared with a sum over generators in quadruple precision, which needs neither an initial basis nor a
// tolerance.
#pragma once

#include <vector>

#include "scenes.hpp"
#include "tests/geometry/solids.hpp"

namespace dodyn::geometry {

__extension__ using Quadruple = __float128;

// A centrally symmetric polytope as its centre and generators: the sum of segments [-g, g].
template <int n>
struct Zonotope {
  Polytope<n> polytope;
  std::vector<Vector<n>> generators;
};

template <int n>
Zonotope<n> aligned_box(const Vector<n>& edges) {
  std::vector<Vector<n>> g;
  for (int a = 0; a < n; ++a) g.push_back(0.5 * edges[a] * Vector<n>::Unit(a));
  if constexpr (n == 2)
    return {rectangle(edges[0], edges[1]), g};
  else
    return {box(edges[0], edges[1], edges[2]), g};
}

inline Zonotope<3> aligned_prism(double side, double height) {
  const double s = 0.25 * side, h = 0.5 * std::sqrt(0.75) * side;
  return {regular_prism(6, side, height), {{s, h, 0}, {-s, h, 0}, {2.0 * s, 0, 0}, {0, 0, 0.5 * height}}};
}

// Returns F of (2.29) and |alpha|. The difference of two zonotopes is a zonotope, whose facets are spanned by n - 1 of
// its generators. F is infinite if the line along beta misses the difference.
template <int n>
std::array<double, 2> zonotope_value(const Zonotope<n>& k1, const Frame<n>& f1, const Zonotope<n>& k2,
                                     const Frame<n>& f2, const Vector<n>& beta) {
  using Point = std::array<Quadruple, n>;
  std::vector<Point> g;
  const auto add = [&](const Zonotope<n>& k, const Frame<n>& f) {
    for (const auto& v : k.generators) {
      Point p{};
      for (int r = 0; r < n; ++r)
        for (int c = 0; c < n; ++c) p[r] += Quadruple(f.directors(r, c)) * v[c];
      g.push_back(p);
    }
  };
  add(k1, f1);
  add(k2, f2);
  Point between;
  for (int a = 0; a < n; ++a) between[a] = Quadruple(f1.position[a]) - f2.position[a];
  const auto dot = [](const Point& a, const auto& b) {
    Quadruple sum = 0;
    for (int i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
  };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::array<double, 2> best{-infinity, 0.0};
  const auto consider = [&](Point a) {
    Quadruple along = dot(a, beta), support = 0;
    for (auto& x : a) x *= along < 0 ? -1 : 1;
    along = along < 0 ? -along : along;
    for (const auto& e : g) {
      const Quadruple s = dot(a, e);
      support += s < 0 ? -s : s;
    }
    const Quadruple apart = dot(a, between) - support;
    const double value = static_cast<double>(apart / along);  // NaN for parallel generators
    if (along == 0 ? apart > 0 : value > best[0])
      best = {along == 0 ? infinity : value, std::sqrt(static_cast<double>(dot(a, a))) / static_cast<double>(along)};
  };
  for (std::size_t i = 0; i < g.size(); ++i) {
    if constexpr (n == 2)
      consider({g[i][1], -g[i][0]});
    else
      for (std::size_t j = 0; j < i; ++j)
        consider({g[i][1] * g[j][2] - g[i][2] * g[j][1], g[i][2] * g[j][0] - g[i][0] * g[j][2],
                  g[i][0] * g[j][1] - g[i][1] * g[j][0]});
  }
  return best;
}

struct AlignedPairs {
  long pairs = 0, touching = 0, tilted = 0;
  double max_error = 0.0;        // |g + F| / |alpha|, m
  double max_plane_error = 0.0;  // of the gap that alpha shows between the corners, and of the witnesses, likewise
  int max_passes = 0;
};

// Each component of an offset is zero, flush or random. Half of the pairs are rotated as a whole. Half are rotated
// against each other, independently. One third of the bases comes from another pair, one third is drawn from all
// corners, and one third is left by the previous pair. In every fourth query beta is fixed in body 2.
template <int n>
AlignedPairs meet_aligned_pairs(long pairs, std::uint64_t seed) {
  Random random(seed);
  std::vector<Zonotope<n>> shapes;
  for (const double a : {1.0, 1.0, 0.5, 2.0, 0.3}) {
    Vector<n> edges = Vector<n>::Constant(a);
    shapes.push_back(aligned_box<n>(edges));
    edges[0] = 1.7;
    shapes.push_back(aligned_box<n>(edges));
  }
  if constexpr (n == 3) shapes.push_back(aligned_prism(0.5, 1.0)), shapes.push_back(aligned_prism(0.2, 0.4));
  const auto any = [&](std::size_t size) { return static_cast<int>(random() % size); };
  std::uniform_real_distribution<double> offset(-1.3, 1.3), exponent(-17.0, -5.0);
  std::vector<Basis<n>> kept(64);
  Basis<n> last;
  AlignedPairs met;
  while (met.pairs < pairs) {
    const auto &k1 = shapes[any(shapes.size())], &k2 = shapes[any(shapes.size())];
    Frame<n> f1, f2;
    const auto extent = [](const Zonotope<n>& k, int axis) {
      double sum = 0.0;
      for (const auto& g : k.generators) sum += std::abs(g[axis]);
      return sum;
    };
    for (int a = 0; a < n; ++a) {
      const double flush = extent(k1, a) + extent(k2, a), inner = extent(k1, a) - extent(k2, a);
      const double offsets[] = {0.0, flush, -flush, inner, offset(random)};
      f1.position[a] = offsets[any(5)];
    }
    if (f1.position.norm() < 1e-6) continue;
    const bool tilt = random() & 1;
    if (tilt) {
      const double angle = std::pow(10.0, exponent(random));
      if constexpr (n == 2)
        f1.directors = Eigen::Rotation2Dd(angle).toRotationMatrix();
      else
        f1.directors = Eigen::AngleAxisd(angle, random_vector<3>(random).normalized()).toRotationMatrix();
    }
    if (random() & 1) {
      const Matrix<n> turn = random_rotation<n>(random);
      f1 = {turn * f1.position, turn * f1.directors};
      f2.directors = turn;
    }
    std::array<Basis<n>, 2> basis;
    for (auto& b : basis) switch (any(3)) {
        case 0:
          b = kept[any(kept.size())];
          break;
        case 1:
          b = last;
          break;
        default:
          b.size = static_cast<std::int16_t>(1 + any(n));
          for (int k = 0; k < n; ++k) {
            b.first[k] = static_cast<std::int16_t>(any(k1.polytope.size()));
            b.second[k] = static_cast<std::int16_t>(any(k2.polytope.size()));
          }
      }
    Contact<n> c;
    const bool fixed = any(4) == 0;
    const int passes =
        fixed ? find_contact(k1.polytope, f1, k2.polytope, f2, Vector<n>(Vector<n>::Unit(any(n))), basis, c)
              : find_contact(k1.polytope, f1, k2.polytope, f2, basis[0], c);
    const auto [value, steepness] = zonotope_value(k1, f1, k2, f2, c.beta);
    // a fixed beta parallel to a facet meets it at any of its points, or nowhere
    if (fixed && !(steepness < 1e8)) continue;
    last = kept[any(kept.size())] = basis[0];
    const double slope = c.alpha.norm();
    ++met.pairs;
    met.tilted += tilt;
    met.touching += std::abs(c.gap) < 1e-9 * slope;
    met.max_passes = std::max(met.max_passes, passes);
    const double error = std::abs(c.gap + value) / slope;
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const auto& v : k1.polytope.corners()) low = std::min(low, c.alpha.dot(f1(v)));
    for (const auto& v : k2.polytope.corners()) high = std::max(high, c.alpha.dot(f2(v)));
    const double plane = std::max(std::abs(low - high + c.gap), (c.separation() + c.gap * c.beta).norm()) / slope;
    met.max_error = error <= met.max_error ? met.max_error : error;  // NaN counts as an error
    met.max_plane_error = plane <= met.max_plane_error ? met.max_plane_error : plane;
  }
  return met;
}

}  // namespace dodyn::geometry
