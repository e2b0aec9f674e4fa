// Checks that convex parts form one connected body.
#pragma once

#include <string>
#include <vector>

#include "geometry/polytope.hpp"

namespace dodyn::geometry {

// Throws std::invalid_argument if the union of the parts (at least one) is not connected. Parts within 1e-6 of the
// smaller part's radius touch.
template <int n>
void require_connected(const std::string& name, const std::vector<Polytope<n>>& parts);

}  // namespace dodyn::geometry
