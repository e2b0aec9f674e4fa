// The supporting-separating-hyperplane linear program (SSH LP) between two convex polytopes: Johnson 2013, section 2.4.
//
//   F = max a1 - a2   s.t.  <alpha, x> >= a1 for the corners x of K1,  <alpha, y> <= a2 for those y of K2,
//                           <beta, alpha> = 1                                                          (2.29), g = -F
//
// How it is solved. The dual asks for the lowest point of the Minkowski difference M = K1 - K2 on the line along beta:
// F is the smallest mu with mu beta in M, and the optimal basis is a facet of M's lower hull that the line pierces: n
// corners x_i - y_j. The simplex method on that dual keeps such a facet. A pivot prices all |K1| |K2| columns at once,
// because the corner of M lowest in the direction alpha is the corner of K1 lowest minus the corner of K2 highest: one
// pass over the corners of each, in body coordinates. Until the facet's shadow across the line contains the line
// (phase one) the missing weight is carried by an artificial column at a finite price per metre, the slope alpha may
// have against beta; the price rises when it binds, so nothing is lost to a big M.
//
// A query that is given the basis of a previous one starts there and ends after one pass over the corners if the basis
// is still optimal. No memory is allocated.
//
// Where the optimum is not unique the choices are those of minimum norm, which do not depend on the numbering of the
// corners nor on the origin, so that symmetric contacts stay symmetric (section 2.7.5):
// * several sets of multipliers pi (face on face, edge on face): the one of minimum norm among those with pi >= 0
//   (2.70 projects on the affine hull of the set and may leave it);
// * several directions alpha (vertex on vertex): the one of minimum |alpha|, which is closest to beta (2.71 minimises
//   |(alpha, a1, a2)|, which depends on where the origin is).
#pragma once

#include <array>
#include <cstdint>

#include "geometry/contact.hpp"
#include "geometry/polytope.hpp"

namespace dodyn::geometry {

// The last optimal basis of a pair: corners x_i - y_j of the Minkowski difference. Keep one per pair of polytopes and
// hand it to each query; any content, from any configuration, is a valid start.
template <int n>
struct Basis {
  std::array<std::int16_t, n> first{}, second{};
  std::int16_t size = 0;
};

// Distance within which a corner counts as part of the contacting feature, relative to the smaller body's radius.
inline constexpr double feature_tolerance = 1e-9;

// The program with beta = the unit vector from the centroid of K2 to the centroid of K1 (their volumes', so inside
// both: the program is bounded, and the sign of g is right for every pair). Where the centroids coincide, beta is the
// last director of body 2. Fills everything of `contact` but `body` and `part`. Returns the passes over the corners it
// took. Throws std::runtime_error if the simplex method does not end (configurations that are not numbers).
template <int n>
int find_contact(const Polytope<n>& k1, const Frame<n>& frame1, const Polytope<n>& k2, const Frame<n>& frame2,
                 Basis<n>& basis, Contact<n>& contact);

// The program with beta fixed in body 2, a unit vector in its coordinates: the floor and its upward normal, a wall. Two
// failures of a fixed beta are cured by solving with the centroids' line instead (contact.beta has it): the
// program is unbounded (no translation along beta brings the bodies together: they are apart), or it sees an overlap
// although the bodies are apart in a direction more than 90 degrees from beta.
// beta is directors * beta_in_body2, of unit length where the directors are a rotation.
template <int n>
int find_contact(const Polytope<n>& k1, const Frame<n>& frame1, const Polytope<n>& k2, const Frame<n>& frame2,
                 const Vector<n>& beta_in_body2, std::array<Basis<n>, 2>& basis, Contact<n>& contact);

// Whether the polytopes overlap or touch, nothing else: a pass over the corners along `plane`, the direction of the last
// plane between them (world coordinates, from body 2 to body 1, any length; zero: none known), settles most pairs that
// are apart and were before; else the program ends as soon as a plane or a point in common is found. Leaves the plane,
// if they are apart. Within rounding of touching the answer may be either.
template <int n>
bool overlap(const Polytope<n>& k1, const Frame<n>& frame1, const Polytope<n>& k2, const Frame<n>& frame2,
             Basis<n>& basis, Vector<n>& plane);

// Euclidean distance, m, and the nearest points in world coordinates. Of polytopes that overlap or touch the distance
// is 0 and the points are one in common (the program's gap says how far they overlap). By Gilbert, Johnson and Keerthi
// (IEEE J. Robotics and Automation 4, 1988), from the feature of the query before on, which `basis` keeps; the gap is
// along beta, and its normal_gap() at most this distance. Relative error about 1e-12, or 1e-14 of the bodies' size.
template <int n>
struct Distance {
  double distance = 0.0;
  std::array<Vector<n>, 2> nearest;
};
template <int n>
Distance<n> find_distance(const Polytope<n>& k1, const Frame<n>& frame1, const Polytope<n>& k2, const Frame<n>& frame2,
                          Basis<n>& basis);

}  // namespace dodyn::geometry
