// Full turns of angles in space: attitudes do not contain them.
#pragma once

#include <cmath>
#include <numbers>
#include <span>
#include <vector>

#include "systems/tree.hpp"

namespace dodyn::systems {

// Adds full turns to the angles of `q`, which Bodies<3>::coordinates() returns within half a turn, so that they are
// nearest to those of `near`. Both are coordinates of the tree, which is in space.
inline void add_full_turns(const Tree<double>& tree, std::vector<double>& q, std::span<const double> near) {
  constexpr double full = 2.0 * std::numbers::pi;
  for (const auto& link : tree.links)
    for (std::size_t i = 0; i < link.moves.size(); ++i)
      if (const std::size_t k = link.first + i; link.moves[i].kind == Move::turn)
        q[k] += full * std::round((near[k] - q[k]) / full);
}

}  // namespace dodyn::systems
