// The corner of a polytope that is lowest in a direction: what pricing asks for, and all that touches every corner.
#pragma once

#include <cstdint>

#include "geometry/polytope.hpp"

namespace dodyn::geometry {

struct Support {
  int corner;
  double height;  // <direction, corner>, body coordinates, m
};

// The lowest corner in direction d (body coordinates), by a pass over all; leaves the height of each in `heights`, which
// has room for padded_size() numbers.
template <int n>
Support lowest(const Polytope<n>& k, const Vector<n>& d, double* heights);

// Returns the lowest corner by walking down edges from a corner that is low in a direction near d. A corner without a
// lower neighbour is lowest. Visits all corners of a body with at most few_corners.
template <int n>
Support descend_edges(const Polytope<n>& k, const Vector<n>& d);

// Numbers of the heights that are at most `limit`, ascending, into `list` (room for one more than there are). Returns
// how many.
int list_below(const double* heights, int size, double limit, std::int16_t* list);

}  // namespace dodyn::geometry
