// Finds the lowest corner of a polytope in a direction: the pricing step, and all passes over corners.
#pragma once

#include <cstdint>

#include "geometry/polytope.hpp"

namespace dodyn::geometry {

struct Support {
  int corner;
  double height;  // <direction, corner>, body coordinates, m
};

// Returns the lowest corner in direction d (body coordinates) by a pass over all corners. Writes their heights to
// `heights` (padded_size() entries).
template <int n>
Support lowest(const Polytope<n>& k, const Vector<n>& d, double* heights);

// Returns the lowest corner by a walk along descending edges from a corner that is low in a direction near d. A corner
// without a lower neighbour is the lowest one. Visits all corners of a body with at most few_corners; otherwise d must
// not be zero.
template <int n>
Support descend_edges(const Polytope<n>& k, const Vector<n>& d);

// Writes the indices i < size with heights[i] <= limit, ascending, to `list`. Returns their number. Heights and list
// have padded_size() entries; heights beyond `size` are copies of the last corner's, as lowest() writes them.
int list_below(const double* heights, int size, double limit, std::int16_t* list);

}  // namespace dodyn::geometry
