// Mass matrices of trees in their coordinates.
#pragma once

#include <Eigen/Core>
#include <span>

#include "systems/tree.hpp"

namespace dodyn::systems {

// Returns M(q), [n, n]: dL/dv = M v.
Eigen::MatrixXd mass_matrix(const Tree<double>& tree, std::span<const double> q);

}  // namespace dodyn::systems
