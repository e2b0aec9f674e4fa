// Convex polytopes given by their corners, and the mass properties of solid bodies.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "geometry/frame.hpp"

namespace dodyn::geometry {

// Maximum number of corners of a polytope: the supporting-hyperplane program stores a value per corner on the stack. A
// multiple of 4.
inline constexpr int max_corners = 256;

// Number of corners above which neighbours are stored.
inline constexpr int few_corners = 64;

// A convex polytope of full dimension in body coordinates (m). Corners are stored axis by axis and padded to whole
// vector registers with copies of the last one. So a pass over all corners needs few instructions.
template <int n>
class Polytope {
 public:
  // Every point must be a corner of the convex hull of all points (not inside, on an edge, or repeated), and the hull
  // must have volume. Throws std::invalid_argument with the polytope's `name` if this is not so, if a coordinate is not
  // finite, or if there are more than max_corners points.
  explicit Polytope(const std::vector<Vector<n>>& corners, const std::string& name = "polytope");

  int size() const { return size_; }
  Vector<n> corner(int i) const {
    Vector<n> v;
    for (int axis = 0; axis < n; ++axis) v[axis] = coordinates_[axis * padded_ + i];
    return v;
  }
  std::vector<Vector<n>> corners() const;

  int padded_size() const { return padded_; }  // a multiple of 4
  const double* axis(int k) const { return coordinates_.data() + k * padded_; }

  // The boundary as outward-oriented simplices: edges counter-clockwise in the plane, triangles in space (a flat face
  // with more than three corners is several triangles).
  const std::vector<std::array<int, n>>& facets() const { return facets_; }
  // Returns the outward normal of a facet. Its length is twice the area of the triangle, or in 2D the edge's length.
  Vector<n> normal(const std::array<int, n>& facet) const;

  // Return the corners that share an edge of `facets()` with corner i, and the coordinates of these corners one after
  // the other. Only for polytopes with more than few_corners corners.
  std::span<const std::int16_t> neighbours(int i) const {
    return {neighbours_.data() + first_neighbour_[i], neighbours_.data() + first_neighbour_[i + 1]};
  }
  const double* neighbour_coordinates(int i) const { return neighbour_coordinates_.data() + n * first_neighbour_[i]; }

  // Returns a corner that is low in the direction d, as the start of a walk along edges: the lowest corner in the
  // direction of the centre of d's cell. The cells divide the faces of a cube around the origin. d must not be zero.
  // Only for polytopes with more than few_corners corners.
  int low_corner(const Vector<n>& d) const { return low_corner_[cell(d)]; }

  double volume() const { return volume_; }                   // m^n
  const Vector<n>& centroid() const { return centroid_; }     // centroid of the volume, m
  const Matrix<n>& second_moment() const { return moment_; }  // int (x - centroid)(x - centroid)^T dV, m^(n+2)
  double radius() const { return radius_; }                   // radius of the bounding ball about the centroid, m
  Polytope moved(const Frame<n>& frame) const;                // returns the polytope whose corners are frame(corner)

 private:
  void keep_neighbours(const std::vector<Vector<n>>& corners);  // also fills the low corners
  void set_moments(const std::vector<Vector<n>>& corners);
  int size_ = 0, padded_ = 0;
  std::vector<double> coordinates_;
  std::vector<std::array<int, n>> facets_;
  std::vector<std::int16_t> neighbours_;
  std::vector<int> first_neighbour_;  // the neighbours of corner i begin at first_neighbour_[i]
  std::vector<double> neighbour_coordinates_;
  std::vector<std::int16_t> low_corner_;  // [cells of the cube]

  static constexpr int cells = 8;  // number along a side of the cube
  static int cell(const Vector<n>& d) {
    int axis = 0;
    for (int a = 1; a < n; ++a)
      if (std::abs(d[a]) > std::abs(d[axis])) axis = a;
    int at = 2 * axis + (d[axis] > 0.0);
    const double scale = 0.5 * cells / std::abs(d[axis]);
    for (int a = 1; a < n; ++a)
      at = at * cells + std::min(static_cast<int>(scale * d[(axis + a) % n] + 0.5 * cells), cells - 1);
    return at;
  }
  double volume_ = 0.0, radius_ = 0.0;
  Vector<n> centroid_ = Vector<n>::Zero();
  Matrix<n> moment_ = Matrix<n>::Zero();
};

// Shapes with their centroid at the origin. Lengths in m. They throw std::invalid_argument unless lengths are positive
// and finite.
Polytope<2> rectangle(double width, double height);
Polytope<3> box(double x, double y, double z);

// Mass, centre of mass and second moment of mass. The latter is the Euler tensor E = tr(J)/2 I - J of the
// director formulation (Johnson 2013, section 3.2.4). In its principal axes the kinetic energy is
// (m |v|^2 + sum_I E_I |d_I'|^2)/2.
template <int n>
struct MassProperties {
  double mass = 0.0;                           // kg (kg per metre of depth in the plane)
  Vector<n> centre = Vector<n>::Zero();        // m
  Matrix<n> euler_tensor = Matrix<n>::Zero();  // int rho (x - centre)(x - centre)^T dV, kg m^2

  // Returns J about the centre; in the plane the polar moment.
  auto inertia() const {
    if constexpr (n == 2)
      return euler_tensor.trace();
    else
      return Matrix<n>(euler_tensor.trace() * Matrix<n>::Identity() - euler_tensor);
  }
};

// Returns the mass properties of a body of uniform density, kg/m^3 (2D: kg/m^2). Throws std::invalid_argument unless
// the density is positive and finite.
template <int n>
MassProperties<n> mass_properties(const Polytope<n>& polytope, double density);
// Returns the mass properties of the union of two bodies that do not overlap.
template <int n>
MassProperties<n> operator+(const MassProperties<n>& a, const MassProperties<n>& b);

}  // namespace dodyn::geometry
