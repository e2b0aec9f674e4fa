// Rows of a motion that speak of links: where one is at a node, seen from the ground or from another link, how it moves
// at an end, and how far it turns in an interval.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dmoc/motion_problem.hpp"

namespace dodyn::dmoc {

// Some coordinates of a node, those that move in a phase, as inputs of elements.
struct NodeInputs {
  std::vector<int> coordinates;  // of the system, ascending
  std::vector<int> unknowns(const MotionProblem& problem, int phase, int node) const;
  std::string name() const;  // of functions that are recorded for them
  template <class T>
  std::vector<T> whole(int n, const T* values) const {
    return dmoc::whole(n, coordinates, values);
  }
};
// Those that the places of these links depend on.
NodeInputs inputs_of(const MotionProblem& problem, int phase, const std::vector<int>& links);

// The place of a link's frame and its attitude, in the frame of the link `from`; -1: in the world. Components that are
// not given are free; those with different ends lie between them, m.
struct LinkPose {
  int link = 0, from = -1;
  std::array<std::optional<std::pair<Coefficient, Coefficient>>, 3> place = {};
  std::optional<std::array<Coefficient, 9>> rotation = {};  // in space: row by row
  std::optional<Coefficient> angle = {};                    // in the plane: rad
};
void add_pose(MotionProblem& problem, int phase, int node, const LinkPose& pose);

// The velocity of a link's centre of mass (m/s) and its angular velocity (rad/s; in the plane the third), along the
// world's axes, as seen from `from`, which they turn with. At the start of a phase, or its end; the phase's velocities
// there must be unknowns (Boundary::moving).
struct LinkTwist {
  int link = 0, from = -1;
  std::optional<std::array<Coefficient, 3>> velocity = {}, spin = {};
};
void add_twist(MotionProblem& problem, int phase, bool end, const LinkTwist& twist);

// No link with mass turns by more than `limit` (rad, below pi) in an interval. Momentum goes with the sine of the turn in
// directors, so a turn of nearly pi would cost nothing; and what lies between nodes strays from what separates them by
// the sag of the arc.
void add_turn_limit(MotionProblem& problem, int phase, double limit);

}  // namespace dodyn::dmoc
