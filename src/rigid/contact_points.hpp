// Contact points for impulses: where bodies touch in a face or an edge, the one contact of the supporting-hyperplane
// program becomes several points, so that resting bodies stand on all of their corners.
#pragma once

#include <array>
#include <vector>

#include "rigid/detection.hpp"

namespace dodyn::rigid {

template <int n>
struct ContactPoint {
  PairKey pair = -1;  // of parts
  std::array<int, 2> body{-1, -1}, part{-1, -1};
  geometry::Vector<n> point, normal;  // world coordinates; from body 2 to body 1, unit
  double gap = 0.0;                   // along the normal, m; > 0 overlaps
  bool touches = false;               // set by the projection
};

// The flat faces of a polytope (edges in the plane): outward unit normals and corners in order, body coordinates.
template <int n>
struct Faces {
  explicit Faces(const geometry::Polytope<n>& polytope);
  std::vector<geometry::Vector<n>> normal;
  std::vector<std::vector<geometry::Vector<n>>> corners;
};

// Appends the contact's own point first, then the corners of the region in which the two faces most opposed to its
// normal lie over each other, seen along the normal, where they overlap or come within `margin` (m). Between the
// corners the gap is linear, so if none overlaps the faces do not. Where all corners are within the margin the own
// point lies between them and is left out, unless it is to be kept.
template <int n>
void contact_points(const geometry::Contact<n>& contact, PairKey pair, const Faces<n>& faces1,
                    const geometry::Frame<n>& frame1, const Faces<n>& faces2, const geometry::Frame<n>& frame2,
                    double margin, bool keep_own, std::vector<ContactPoint<n>>& out);

// The same for all contacts that a detection found last, at these frames.
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
