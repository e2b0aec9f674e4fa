// Collision avoidance: a separating plane for each pair of convex parts and each interval or node. Its normal and
// offset are unknowns.
//
//   |a|^2 = 1,   a.x - b >= margin/2 at the corners x of one part, a.y - b <= -margin/2 at the corners y of the other,
//
// at both ends of the interval. So the parts are apart at nodes, and between them up to the sag of the corners' arcs
// (add_turn_limit()). Unlike the distance, these functions are smooth, and they are exact at contact.
//
// One plane for an interval hinders parts that turn past each other. Then the cost converges slowly with the step.
// Instead the plane can be affine in time, with (a_k, b_k) at node k. The height of a corner that moves evenly is then
// a polynomial of degree 2 in time, with the Bernstein coefficients
//
//   a_k.x_k - b_k,   (a_k.x_{k+1} - b_k + a_{k+1}.x_k - b_{k+1})/2,   a_{k+1}.x_{k+1} - b_{k+1}.
//
// It stays above margin/2 if all three do. |a| <= 1 between nodes, so the distance is at least the margin.
//
// Parts in scheduled contact that continue together can instead have a plane per node, whose turn between nodes is
// limited:
//
//   a_k.x_k - b_k >= margin/2,   a_k.y_k - b_k <= -margin/2,   a_k.a_{k+1} >= cos(plane_turn)
//
// Between nodes the inequalities then apply up to |a_{k+1} - a_k| |x_{k+1} - x_k|/4. clearance() (clearance.hpp) checks
// the motion between nodes for all kinds of planes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dmoc/link_rows.hpp"

namespace dodyn::dmoc {

struct PartPair {
  int one = 0, other = 0;    // indices of shapes of the model
  Coefficient margin = 0.0;  // minimum distance, m
  // Other margins in intervals at whose ends the parts are nearer or in contact: (phase, interval) -> margin. The plane
  // of a node has the smaller margin of its two intervals.
  std::vector<std::pair<std::pair<int, int>, Coefficient>> nearer = {};
  // Limit on the turn of a plane from node to node, rad. If it has a value, each node has its own plane: one plane for
  // both ends of an interval would stop parts in contact that move together.
  std::optional<double> plane_turn = {};
  bool affine = false;                                    // planes are affine in time between nodes; no plane_turn
  bool at_nodes() const { return affine || plane_turn; }  // a plane per node, not per interval
  const Coefficient& margin_in(int phase, int interval) const {
    const Coefficient* margin_there = &margin;
    for (const auto& [where, less] : nearer)
      if (where == std::pair{phase, interval}) margin_there = &less;
    return *margin_there;
  }
};

struct Plane {
  int phase = 0, interval = 0, pair = 0;  // interval of the plane (its node, if at_nodes()), and index of the pair
  int first = 0;                          // index of the first unknown: normal, [dimension], then offset
};

class SeparatingPlanes {
 public:
  SeparatingPlanes() = default;
  // Adds unknowns and rows to a transcribed problem before finish(). Phases in which neither part of a pair moves have
  // no planes. `size`: scale of the parts; below 1 for parts that grow later.
  SeparatingPlanes(MotionProblem& problem, std::vector<PartPair> pairs, double size = 1.0);

  const std::vector<PartPair>& pairs() const { return pairs_; }
  const std::vector<Plane>& planes() const { return planes_; }
  // Rows of the corners of one part at one node, for messages about violated rows. `plane`: index in planes().
  struct Rows {
    int plane = 0, first = 0, count = 0;
  };
  const std::vector<Rows>& rows() const { return rows_; }
  int variables() const { return variables_; }

  // Sets the planes in x from its postures. The hyperplane program computes the normal at the middle of the interval,
  // or at the node of the plane. The offset is midway between the parts.
  void fill(const MotionProblem& problem, Eigen::VectorXd& x) const;

 private:
  std::vector<PartPair> pairs_;
  std::vector<Plane> planes_;
  std::vector<Rows> rows_;
  double size_ = 1.0;
  int variables_ = 0;
};

// Returns the distances of the pairs, [pairs], m, in one posture q, [n], relative to a reference; negative: overlap.
std::vector<double> gaps(const System& system, const std::vector<double>& numbers, const Reference& reference,
                         const Eigen::VectorXd& q, const std::vector<PartPair>& pairs);

// Returns "shape of link" for a part, or only the link if both have that name.
std::string part_name(const System& system, int shape);

}  // namespace dodyn::dmoc
