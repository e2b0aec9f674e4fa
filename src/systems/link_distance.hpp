// Describes the distance of two links as text for the user: `dodyn check FILE.model --distance LINK,LINK`.
#pragma once

#include <string>
#include <vector>

#include "systems/model.hpp"

namespace dodyn::systems {

// Returns lines about the nearest pair of shapes of two links at the coordinates q, [n]; if several pairs overlap,
// about the deepest. The lines contain distance or overlap, type of contact, normal, and on each link the nearest point
// and the corners of the closest feature. The overlap with a shape that has `outward` is along that direction, as in
// contact simulations; other overlaps are along the shortest translation. Throws ConfigError, one line, for unknown
// links, equal links, links without shapes, and models with fewer than two links with shapes.
std::string link_distance(const Model& model, const Values<double>& values, const std::vector<double>& q,
                          const std::string& one, const std::string& other);

}  // namespace dodyn::systems
