// Bodies that keep clear of each other: a separating plane per pair of convex parts and per interval, whose normal and
// offset are unknowns.
//
//   |a|^2 = 1,   a.x - b >= margin/2 at the corners x of one part, a.y - b <= -margin/2 at those y of the other,
//
// at both ends of the interval. So the parts are apart at nodes, and between them up to the sag of the arcs that corners
// go on (add_turn_limit()). It is smooth, where a distance is not, and exact where parts touch. Parts that touch on schedule
// and move on together have a plane per node instead, which goes from node to node as they do:
//
//   a_k.x_k - b_k >= margin/2,   a_k.y_k - b_k <= -margin/2,   a_k.a_{k+1} >= cos(plane_turn)
//
// Between nodes it is exact up to |a_{k+1} - a_k| |x_{k+1} - x_k|/4. clearance() (clearance.hpp) judges both.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dmoc/link_rows.hpp"

namespace dodyn::dmoc {

struct PartPair {
  int one = 0, other = 0;  // shapes of the model
  Coefficient margin = 0.0;
  // Intervals at whose first or last node the parts stand or touch closer than that: (phase, interval) -> margin
  std::vector<std::pair<std::pair<int, int>, Coefficient>> nearer = {};
  // One plane an interval, at both its ends, stops parts that touch and move on together. Of these parts each node has a plane of
  // its own, which turns by at most this from node to node, rad.
  std::optional<double> plane_turn = {};
  const Coefficient& margin_in(int phase, int interval) const {
    const Coefficient* margin_there = &margin;
    for (const auto& [where, less] : nearer)
      if (where == std::pair{phase, interval}) margin_there = &less;
    return *margin_there;
  }
};

struct Plane {
  int phase = 0, interval = 0, pair = 0;  // of planes that turn the node
  int first = 0;                          // its normal, [dimension], then its offset
};

class SeparatingPlanes {
 public:
  SeparatingPlanes() = default;
  // Adds unknowns and rows to a problem that is transcribed and not finished. `size`: scale of the parts; below 1 for
  // parts that grow to their size later.
  SeparatingPlanes(MotionProblem& problem, std::vector<PartPair> pairs, double size = 1.0);

  const std::vector<PartPair>& pairs() const { return pairs_; }
  const std::vector<Plane>& planes() const { return planes_; }
  // First of the corner rows of a plane, and how many: what a message names where they cannot be met.
  struct Rows {
    int plane = 0, first = 0, count = 0;
  };
  const std::vector<Rows>& rows() const { return rows_; }
  int variables() const { return variables_; }

  // Planes from the hyperplane program at the middle of every interval of the motion in x.
  void fill(const MotionProblem& problem, Eigen::VectorXd& x) const;

 private:
  std::vector<PartPair> pairs_;
  std::vector<Plane> planes_;
  std::vector<Rows> rows_;
  double size_ = 1.0;
  int variables_ = 0;
};

// Of one posture: q, [n], about these references. Distances of the pairs, [pairs]
std::vector<double> gaps(const System& system, const std::vector<double>& numbers, const Reference& reference,
                         const Eigen::VectorXd& q, const std::vector<PartPair>& pairs);

// "shape of link" of a part, or the link alone where both have that name.
std::string part_name(const System& system, int shape);

}  // namespace dodyn::dmoc
