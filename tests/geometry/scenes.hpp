// Random bodies, and the program solved by brute force, for the tests and the benchmark of geometry.
#pragma once

#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include "geometry/hyperplanes.hpp"

namespace dodyn::geometry {

using Random = std::mt19937_64;

template <int n>
Vector<n> random_vector(Random& random, double size = 1.0) {
  std::normal_distribution<double> normal(0.0, size);
  Vector<n> v;
  for (int i = 0; i < n; ++i) v[i] = normal(random);
  return v;
}

template <int n>
Matrix<n> random_rotation(Random& random) {
  if constexpr (n == 2) {
    return Eigen::Rotation2Dd(std::uniform_real_distribution<double>(-3.2, 3.2)(random)).toRotationMatrix();
  } else {
    const Eigen::Vector4d q = random_vector<4>(random);
    return Eigen::Quaterniond(q).normalized().toRotationMatrix();
  }
}

// Corners on a stretched sphere (ellipse), so that all are corners.
template <int n>
Polytope<n> random_polytope(Random& random, int corners) {
  std::uniform_real_distribution<double> stretch(0.5, 1.5);
  for (;;) {
    Vector<n> axes;
    for (int i = 0; i < n; ++i) axes[i] = stretch(random);
    std::vector<Vector<n>> x;
    for (int i = 0; i < corners; ++i) x.push_back(axes.cwiseProduct(random_vector<n>(random).normalized()));
    try {
      const Polytope<n> polytope(x);
      if (polytope.volume() > 0.02) return polytope;
    } catch (const std::invalid_argument&) {  // corners too near each other: another draw
    }
  }
}

// F of (2.29) by brute force: the optimal alpha is a facet normal of the Minkowski difference, which is a facet normal
// of one of the bodies or, in space, orthogonal to an edge of each. along(beta): the best F over those with
// <beta, alpha> > 0. slab(): the widest slab between the bodies, whose sign tells apart from overlapping.
template <int n>
class BruteForce {
 public:
  BruteForce(const Polytope<n>& k1, const Frame<n>& f1, const Polytope<n>& k2, const Frame<n>& f2) {
    add(k1, f1, x_, edges_[0]);
    add(k2, f2, y_, edges_[1]);
    if constexpr (n == 3)
      for (const auto& e : edges_[0])
        for (const auto& d : edges_[1]) normals_.push_back(e.cross(d));
  }

  double along(const Vector<n>& beta) const { return value(&beta); }
  double slab() const { return value(nullptr); }

 private:
  double value(const Vector<n>* beta) const {
    double best = -std::numeric_limits<double>::infinity();
    for (Vector<n> a : normals_) {
      if (a.norm() < 1e-12) continue;
      a.normalize();
      for (int sign = 0; sign < 2; ++sign, a = -a) {
        const double along = beta ? beta->dot(a) : 1.0;
        if (along <= 1e-9) continue;
        double low = std::numeric_limits<double>::infinity(), high = -low;
        for (const auto& x : x_) low = std::min(low, a.dot(x));
        for (const auto& y : y_) high = std::max(high, a.dot(y));
        best = std::max(best, (low - high) / along);
      }
    }
    return best;
  }

  void add(const Polytope<n>& k, const Frame<n>& f, std::vector<Vector<n>>& points, std::vector<Vector<n>>& edges) {
    for (const auto& v : k.corners()) points.push_back(f(v));
    for (const auto& facet : k.facets()) {
      if constexpr (n == 2) {
        const Vector<2> e = points[facet[1]] - points[facet[0]];
        normals_.push_back({e[1], -e[0]});
      } else {
        const Vector<3> e = points[facet[1]] - points[facet[0]], d = points[facet[2]] - points[facet[0]];
        normals_.push_back(e.cross(d));
        for (int i = 0; i < 3; ++i)
          if (facet[i] < facet[(i + 1) % 3]) edges.push_back(points[facet[(i + 1) % 3]] - points[facet[i]]);
      }
    }
  }

  std::vector<Vector<n>> x_, y_, normals_;
  std::array<std::vector<Vector<n>>, 2> edges_;
};

}  // namespace dodyn::geometry
