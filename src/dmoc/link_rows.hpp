// Rows that constrain links: pose at a node relative to the ground or another link, velocity at an end, and rotation in
// an interval.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dmoc/motion_problem.hpp"

namespace dodyn::dmoc {

// A subset of the moving coordinates of a node, as inputs of elements.
struct NodeInputs {
  std::vector<int> coordinates;  // indices in the system, ascending
  std::vector<int> unknowns(const MotionProblem& problem, int phase, int node) const;
  std::string name() const;  // returns a suffix for the names of functions that are recorded for these coordinates
  template <class T>
  std::vector<T> whole(int n, const T* values) const {
    return dmoc::whole(n, coordinates, values);
  }
};
// Returns A^T r.
template <class T>
systems::Vector3<T> transposed_times(const systems::Matrix3<T>& A, const systems::Vector3<T>& r) {
  systems::Vector3<T> x;
  for (int i = 0; i < 3; ++i) x[i] = A[0][i] * r[0] + A[1][i] * r[1] + A[2][i] * r[2];
  return x;
}

// Returns the moving coordinates on which the poses of these links depend.
NodeInputs inputs_of(const MotionProblem& problem, int phase, const std::vector<int>& links);

// Required pose of a link's frame in the frame of the link `from`; -1: in the world. Components without a value are
// free. `place`: range of each component of the origin, m; equal limits fix the component.
struct LinkPose {
  int link = 0, from = -1;
  std::array<std::optional<std::pair<Coefficient, Coefficient>>, 3> place = {};
  std::optional<std::array<Coefficient, 9>> rotation = {};  // 3D: row by row
  std::optional<Coefficient> angle = {};                    // 2D, rad
};
// Adds the rows of a pose at a node. The rows of `rotation` contain the sine of the remaining rotation. So an
// attitude that differs by a half turn satisfies them, too.
void add_pose(MotionProblem& problem, int phase, int node, const LinkPose& pose);

// Required velocity of a link's centre of mass (m/s) and angular velocity of the link (rad/s; in 2D only the third
// component counts). Both are in world axes, relative to `from` as a rotating frame (-1: the ground). Empty: free.
struct LinkTwist {
  int link = 0, from = -1;
  std::optional<std::array<Coefficient, 3>> velocity = {}, spin = {};
};
// Adds the rows of a twist at the start of a phase, or at its end. Throws std::logic_error if the velocities there are
// not unknowns (Boundary::moving).
void add_twist(MotionProblem& problem, int phase, bool end, const LinkTwist& twist);

// Limits the rotation of a link relative to the ground over each interval to `limit` (rad, < pi), for all links with a
// rotating joint or follower. The momentum of directors is proportional to the sine of the rotation, so a rotation near
// pi would cost nothing. Also, the sag of a corner's arc between nodes grows with the rotation.
void add_turn_limit(MotionProblem& problem, int phase, double limit);

}  // namespace dodyn::dmoc
