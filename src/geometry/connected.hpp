// Bodies that are not convex are unions of convex parts.
#pragma once

#include <string>
#include <vector>

#include "geometry/polytope.hpp"

namespace dodyn::geometry {

// Throws std::invalid_argument where parts (at least one) leave a gap between them, that is, where their union is not
// connected; touching within a millionth of the smaller part's radius counts as connected.
template <int n>
void require_connected(const std::string& name, const std::vector<Polytope<n>>& parts);

}  // namespace dodyn::geometry
