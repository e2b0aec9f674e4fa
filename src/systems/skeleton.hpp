// Lines of a picture: which named points of a system are the two ends of a link.
#pragma once

#include <string>
#include <vector>

#include "systems/model.hpp"

namespace dodyn::systems {

// Returns names of points, two by two: each link that has a length, from its joint to its far end. `root` names the first
// link's origin, LINK_end the far end of a link. A joint that is at none of these points, as in the middle of a link or on the
// ground elsewhere, is joined to nothing.
std::vector<std::string> joined_points(const Tree<Number>& tree, const std::string& root);

}  // namespace dodyn::systems
