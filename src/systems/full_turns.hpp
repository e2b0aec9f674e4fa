// Full turns of angles. The frames of bodies do not contain them, and forces in a contact simulation follow from
// frames.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "systems/tree.hpp"

namespace dodyn::systems {

// Adds full turns to the angles of `q`, which Bodies<3>::coordinates() returns within half a turn, so that each angle
// is nearest to the angle in `near`. Both are coordinates of the tree, [n].
void add_full_turns(const Tree<double>& tree, std::vector<double>& q, std::span<const double> near);

// Returns a sentence about an angle beyond half a turn, if springs, ranges, forces or energies of the tree are
// different at the angle without full turns. Then forces that follow from frames are wrong. Empty: there is no such
// angle.
std::string misread_angle(const Tree<double>& tree, const std::vector<double>& q, const std::vector<double>& v);

// Returns whether a spring, range, force or energy is a function of an angle. Otherwise misread_angle() is empty for
// all coordinates.
bool has_forces_of_turns(const Tree<double>& tree);

}  // namespace dodyn::systems
