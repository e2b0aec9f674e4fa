// The supporting-separating-hyperplane linear program (SSH LP) between two convex polytopes: Johnson 2013, section 2.4.
//
//   F = max a1 - a2   s.t.  <alpha, x> >= a1 for the corners x of K1,  <alpha, y> <= a2 for the corners y of K2,
//                           <beta, alpha> = 1                                                          (2.29), g = -F
//
// Solution. The dual finds the lowest point of the Minkowski difference M = K1 - K2 on the line along beta: F is the
// smallest mu with mu beta in M. The optimal basis is a facet of M's lower hull that the line pierces: n corners x_i -
// y_j. The basis of the simplex method on the dual is such a facet. A pivot prices all |K1| |K2| columns by one pass
// over the corners of each body, in body coordinates: the lowest corner of M in the direction alpha is the lowest
// corner of K1 minus the highest corner of K2. In phase one the facet's projection across the line does not contain the
// line. Then an artificial column carries the missing weight, at a finite price per metre (the slope of alpha relative
// to beta). The price rises when it binds, so there is no loss of accuracy as with a big M.
//
// A query may start from the basis of the last one. It ends after one pass over the corners if that is still optimal.
// No memory is allocated.
//
// If the optimum is not unique, the solver chooses the one of minimum norm. It does not depend on the order of the
// corners or on the origin, so symmetric contacts stay symmetric (section 2.7.5):
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

// The last optimal basis of a pair: corners x_i - y_j of the Minkowski difference. Keep one for each pair of polytopes
// and pass it to each query. Any content, from any configuration, is a valid start.
template <int n>
struct Basis {
  std::array<std::int16_t, n> first{}, second{};  // indices i and j
  std::int16_t size = 0;                          // number of corners x_i - y_j, 0 to n

  // Returns whether entry k has corners of polytopes with size1 and size2 corners.
  bool is_valid(int k, int size1, int size2) const {
    return first[k] >= 0 && first[k] < size1 && second[k] >= 0 && second[k] < size2;
  }
};

// Distance within which a corner belongs to the contacting feature, relative to the smaller body's radius.
inline constexpr double feature_tolerance = 1e-9;

// Solves the program with beta = the unit vector from the centroid of K2 to the centroid of K1. They are inside, so
// the program is bounded and the sign of g is correct for every pair. If the centroids coincide, beta is the last
// director of body 2. Sets all of `contact` except `body` and `part`. Returns the number of passes over the corners.
// Throws std::runtime_error if the simplex method does not terminate (NaN in a configuration).
template <int n>
int find_contact(const Polytope<n>& k1, const Frame<n>& frame1, const Polytope<n>& k2, const Frame<n>& frame2,
                 Basis<n>& basis, Contact<n>& contact);

// Solves the program with beta fixed in body 2, a unit vector in its coordinates, such as the upward normal of a floor.
// A fixed beta can fail: the program is unbounded (no translation along beta brings the bodies together), or it reports
// an overlap although the bodies are apart in a direction more than 90 degrees from beta. Both cases are solved again
// with beta along the line of centroids, unless the centroids coincide. contact.beta shows which beta was used. beta is
// directors * beta_in_body2, of unit length if the directors are a rotation. `basis`: for the fixed beta, and for the
// line of centroids. Returns the number of passes over the corners. Throws std::runtime_error as above.
template <int n>
int find_contact(const Polytope<n>& k1, const Frame<n>& frame1, const Polytope<n>& k2, const Frame<n>& frame2,
                 const Vector<n>& beta_in_body2, std::array<Basis<n>, 2>& basis, Contact<n>& contact);

// Returns whether the polytopes overlap or touch. `plane`: normal of the last separating plane (world coordinates, from
// body 2 to body 1, any length; zero: unknown). One pass over the corners along the normal decides most pairs that were
// apart before. Otherwise the program ends as soon as a separating plane or a common point is found. Updates `plane` if
// the program finds another separating plane. Within rounding of touching both results are possible.
template <int n>
bool overlap(const Polytope<n>& k1, const Frame<n>& frame1, const Polytope<n>& k2, const Frame<n>& frame2,
             Basis<n>& basis, Vector<n>& plane);

template <int n>
struct Distance {
  double distance = 0.0;             // m; 0 if the polytopes overlap or touch
  std::array<Vector<n>, 2> nearest;  // nearest points in world coordinates, m; one common point if distance is 0
};

// Computes the Euclidean distance by the algorithm of Gilbert, Johnson and Keerthi (IEEE J. Robotics and Automation 4,
// 1988), starting from the feature of the last query in `basis`, and stores the new feature there. A contact's gap is
// along beta, and -normal_gap() is at most this distance. Relative error about 1e-12, or 1e-14 of the bodies' size.
template <int n>
Distance<n> find_distance(const Polytope<n>& k1, const Frame<n>& frame1, const Polytope<n>& k2, const Frame<n>& frame2,
                          Basis<n>& basis);

}  // namespace dodyn::geometry
