// The contact of a pair of convex bodies: the signed gap g of the supporting-separating-hyperplane linear program (SSH
// LP), its exact subgradient with respect to both configurations, and the separation vector.
//
// Notation and signs follow Johnson 2013, sections 2.4 and 3.3.2, with the misprints of (3.41), (3.48) and (3.49)
// corrected. Side 0 is "body 1" of the source, side 1 is "body 2":
//
//   g = - max { a1 - a2 :  <alpha, x> >= a1 for x in K1,  <alpha, y> <= a2 for y in K2,  <beta, alpha> = 1 }   (2.68)
//
//   g < 0  apart        g = 0  touching        g > 0  overlapping
//   alpha and beta point from body 2 to body 1
//   g is measured along beta;  normal_gap() = g/|alpha| is the same overlap along the contact normal alpha/|alpha|
//
// A configuration is q = [position; d_1; ...; d_n], n(n+1) coordinates (12 in 3D, 6 in 2D; 3.21).
#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <array>
#include <cstdint>

#include "geometry/frame.hpp"

namespace dodyn::geometry {

// Dimension of the contacting feature of a body's boundary.
enum class Feature : std::int8_t { vertex = 0, edge = 1, face = 2 };

// Maximum number of listed vertices of a feature. For larger features only the first vertices are listed.
inline constexpr int max_listed = 8;

template <int n>
struct Contact {
  static constexpr int coordinates = n * (n + 1);  // in q: position and directors
  using Gradient = Eigen::Matrix<double, coordinates, 1>;

  // Indices of the bodies and of their convex parts; set by the caller.
  std::array<int, 2> body{-1, -1};
  std::array<int, 2> part{-1, -1};

  double gap = 0.0;                     // signed gap g, m
  Vector<n> alpha = Vector<n>::Zero();  // separating direction, <beta, alpha> = 1, from body 2 to body 1
  Vector<n> beta = Vector<n>::Zero();   // unit vector along which the program measures
  std::array<Vector<n>, 2> witness;     // points in contact, sum_j pi_j x_j (3.41), world coordinates, m
  std::array<Vector<n>, 2> arm;         // the points in contact in body coordinates, c_I of (3.46), m

  // dg/dq = -+ ([1; lever] (x) alpha + [1; beta_lever] (x) beta_force). `lever` is the point of action of alpha (the
  // witness point). The second term is the change of beta with the bodies (3.49, 3.50, corrected). Use gradient()
  // below.
  std::array<Vector<n>, 2> lever, beta_lever;
  Vector<n> beta_force = Vector<n>::Zero();

  std::array<Feature, 2> feature{Feature::vertex, Feature::vertex};  // contact type: vertex on face, edge on edge, ...
  std::array<int, 2> feature_size{0, 0};                             // number of vertices of the feature
  // Indices in the part, and multipliers pi >= 0, of the first min(feature_size, max_listed) vertices; the other
  // entries are not set. The multipliers of all vertices of a side sum to 1.
  std::array<std::array<std::int16_t, max_listed>, 2> vertex;
  std::array<std::array<double, max_listed>, 2> dual;
  bool primal_degenerate = false;  // such as face on face: the multipliers have minimum norm (2.70)
  bool dual_degenerate = false;    // such as vertex on vertex: alpha has minimum norm (2.71)

  Vector<n> normal() const { return alpha.normalized(); }
  double normal_gap() const { return gap / alpha.norm(); }

  // Returns h = witness 1 - witness 2 = -g beta (3.47, 3.41 corrected); zero exactly if g is zero.
  Vector<n> separation() const { return witness[0] - witness[1]; }
};

namespace detail {
constexpr double sign(int side) { return side == 0 ? 1.0 : -1.0; }
}  // namespace detail

// Returns dg/dq of side 0 or 1, including the change of beta with q (3.45, 3.49): an element of the generalised
// gradient; the gradient if g is differentiable.
template <int n>
typename Contact<n>::Gradient gradient(const Contact<n>& c, int side) {
  typename Contact<n>::Gradient d;
  d.template head<n>() = c.alpha + c.beta_force;
  for (int i = 0; i < n; ++i)
    d.template segment<n>(n * (i + 1)) = c.lever[side][i] * c.alpha + c.beta_lever[side][i] * c.beta_force;
  return -detail::sign(side) * d;
}

}  // namespace dodyn::geometry
