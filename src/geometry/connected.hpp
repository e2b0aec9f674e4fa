// Checks that convex parts form one connected body.
#pragma once

#include <string>
#include <vector>

#include "geometry/polytope.hpp"

namespace dodyn::geometry {

// Throws std::invalid_argument, with the body's `name` and the distance, if the union of the parts (at least one, in
// the body's coordinates, m) is not connected. Parts touch if their distance is at most 1e-6 of the smaller radius.
template <int n>
void require_connected(const std::string& name, const std::vector<Polytope<n>>& parts);

}  // namespace dodyn::geometry
