// Contact points for impulses. Where bodies touch in a face or an edge, the one contact of the supporting-hyperplane
// program becomes several points. So a resting body is supported at all of its corners.
#pragma once

#include <array>
#include <vector>

#include "rigid/detection.hpp"

namespace dodyn::rigid {

template <int n>
struct ContactPoint {
  PairKey pair = -1;  // key of the pair of parts, or constraint_key()
  std::array<int, 2> body{-1, -1}, part{-1, -1};
  geometry::Vector<n> point, normal;  // world coordinates; from body 2 to body 1, unit
  double gap = 0.0;                   // along the normal, m; > 0 overlaps
  bool touches = false;               // set by the projection
  // Index in World::one_sided; then point, normal, bodies and parts are not set. -1: a point of two shapes.
  int constraint = -1;
};

// The flat faces of a polytope (edges in the plane): outward unit normals and corners in order, body coordinates.
template <int n>
struct Faces {
  explicit Faces(const geometry::Polytope<n>& polytope);
  std::vector<geometry::Vector<n>> normal;
  std::vector<std::vector<geometry::Vector<n>>> corners;
};

// Appends the contact points of a pair: its own point first, then the corners of the overlap of two faces. The faces
// are the ones most opposed to the normal, projected along the normal. Points are added if they overlap or are closer
// than `margin` (m). The gap is linear between the corners, so if no corner overlaps, the faces do not. If all corners
// are within the margin, the own point lies between them and is left out, unless `keep_own` is set.
template <int n>
void contact_points(const geometry::Contact<n>& contact, PairKey pair, const Faces<n>& faces1,
                    const geometry::Frame<n>& frame1, const Faces<n>& faces2, const geometry::Frame<n>& frame2,
                    double margin, bool keep_own, std::vector<ContactPoint<n>>& out);

// Collects the points of all contacts of the detection's last find(), at these frames.
template <int n>
class ContactPoints {
 public:
  explicit ContactPoints(const World<n>& world);
  void collect(const Detection<n>& detection, Frames<n> at, double margin, bool keep_own,
               std::vector<ContactPoint<n>>& out) const;  // overwritten

 private:
  std::vector<std::vector<Faces<n>>> faces_;  // [body][part]
};

extern template class ContactPoints<2>;
extern template class ContactPoints<3>;

}  // namespace dodyn::rigid
