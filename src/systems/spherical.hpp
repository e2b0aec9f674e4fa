// Spherical joints: three turns that together are any rotation.
#pragma once

#include <algorithm>
#include <vector>

#include "systems/tree.hpp"

namespace dodyn::systems {

// Returns whether a joint is spherical or spatial: its last three moves are turns, no two successive turns have the
// same axis, and its other moves are slides.
inline bool is_spherical(const std::vector<Move>& moves) {
  const auto is_turn = [](const Move& move) { return move.kind == Move::turn; };
  const auto same_axis = [](const Move& a, const Move& b) { return a.axis == b.axis; };
  if (std::ranges::count_if(moves, is_turn) != 3) return false;
  return std::all_of(moves.end() - 3, moves.end(), is_turn) &&
         std::adjacent_find(moves.end() - 3, moves.end(), same_axis) == moves.end();
}

// Returns whether all turns of a spherical joint are about x, y or z, so that directors can replace its angles.
inline bool has_chart(const std::vector<Move>& moves) {
  return is_spherical(moves) &&
         std::all_of(moves.end() - 3, moves.end(), [](const Move& m) { return !m.is_oblique(); });
}

}  // namespace dodyn::systems
