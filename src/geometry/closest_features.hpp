// The type of collision, the closest features and the point of contact of two polytopes: Johnson 2013, section 2.8.
#pragma once

#include "geometry/hyperplanes.hpp"

namespace dodyn::geometry {

// Solves the program along the shortest translation after which the polytopes just touch. If they are apart,
// -normal_gap() is their Euclidean distance. Otherwise normal_gap() is the length of the shortest translation that
// separates them; if several translations are equally short, one of these is chosen. The witness points differ by this
// translation, along normal(). Directors must be rotations. `body` and `part` are not set.
template <int n>
Contact<n> find_closest_features(const Polytope<n>& k1, const Frame<n>& frame1, const Polytope<n>& k2,
                                 const Frame<n>& frame2);

}  // namespace dodyn::geometry
