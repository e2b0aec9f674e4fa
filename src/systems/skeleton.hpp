// Lines of a picture: pairs of named points that are the ends of a link.
#pragma once

#include <string>
#include <vector>

#include "systems/model.hpp"

namespace dodyn::systems {

// Returns pairs of points: each link with a length, from its joint to its far end. `root` is the first link's origin,
// LINK_end the far end of a link. A joint at none of these points, such as in the middle of a link, is not joined.
std::vector<std::string> joined_points(const Tree<Number>& tree, const std::string& root);

}  // namespace dodyn::systems
