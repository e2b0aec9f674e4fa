// Describes the distance of two links as text for the user: `dodyn check FILE.model --distance LINK,LINK`.
#pragma once

#include <string>
#include <vector>

#include "systems/model.hpp"

namespace dodyn::systems {

// Returns lines about the nearest shapes of two links (or, of several that overlap, the deepest) at the coordinates q,
// [n]: distance or overlap, type of contact, normal, and on each link the nearest point and the corners of the closest
// feature. A shape with `outward` overlaps along that direction, as in contact simulations; others along the shortest
// translation. Throws ConfigError, one line, for unknown links, equal ones and those without shapes.
std::string link_distance(const Model& model, const Values<double>& values, const std::vector<double>& q,
                          const std::string& one, const std::string& other);

}  // namespace dodyn::systems
