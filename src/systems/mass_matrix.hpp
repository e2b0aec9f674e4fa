// Mass matrices of trees in their coordinates.
#pragma once

#include <Eigen/Core>
#include <span>
#include <string>
#include <vector>

#include "systems/tree.hpp"

namespace dodyn::systems {

// Returns M(q), [n, n]: dL/dv = M v.
Eigen::MatrixXd mass_matrix(const Tree<double>& tree, std::span<const double> q);

// Returns a link's inertia about its centre of mass, along its own axes, kg m2: [3, 3].
Eigen::Matrix3d inertia_of(const Link<double>& link);

// Returns the coordinates with which no mass moves at q.
std::vector<int> massless_coordinates(const Tree<double>& tree, std::span<const double> q);

// Returns the sentence that refuses a massless coordinate. `more`: a further reason, such as ", and no force acts on
// it".
std::string massless_text(const Tree<double>& tree, int coordinate, const char* more = "");

}  // namespace dodyn::systems
