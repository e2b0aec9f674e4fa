// Lower bounds on the distances of parts over a whole motion, also between nodes. Between nodes, slides and hinges are
// assumed to move at a constant rate, and spherical joints about a fixed axis (Attitudes::between()).
//
// Consider a piece [a, b] of an interval with the length w = b - a, and a direction n that is fixed in one of the
// parts' links or in their common carrier. It separates the parts by sep(s) = min n.x - max n.y over their corners x
// and y. In the frame of n a corner deviates from the chord of its path by at most A w^2/8, with a bound A on its
// acceleration. So the distance is at least
//
//   min(sep(a), sep(b)) - (A_x + A_y) w^2/8.
//
// A piece is halved until the bound is sharp enough, at most ten times. At the middle of each piece the distance is
// computed by the hyperplane program or Gilbert's algorithm. For a link that follows an expression, A comes from
// samples of the expression.
#pragma once

#include <string>
#include <vector>

#include "dmoc/separation.hpp"

namespace dodyn::dmoc {

// Signed distances, m; negative: overlap. Without pairs the distances are infinite.
struct Clearance {
  double at_nodes = 0.0;  // minimum at the nodes
  // Lower bound at all times. It is at most 1e-6 of the width of the thinner part below the smallest distance, or less
  // accurate where the shortest piece does not suffice.
  double lower_bound = 0.0;
  int pair = -1;                    // index of the pair with the maximum relative violation of its margin; -1: none
  double violation = 0.0;           // upper bound on the violation of its margin, m; negative: the margin is satisfied
  double relative_violation = 0.0;  // upper bound for all pairs, relative to the width of a pair's thinner part
  double time = 0.0;                // time of the violation since the start of the motion, s
};
// Computes the clearance of these pairs over the whole motion of the unknowns x.
Clearance clearance(const MotionProblem& problem, const Eigen::VectorXd& x, const std::vector<PartPair>& pairs);

// Returns a text such as "green and wall overlap by 1.2 mm at t = 0.31 s", or that the parts are nearer than the
// margin.
std::string violation_text(const System& system, const PartPair& pair, double violation, double time);

}  // namespace dodyn::dmoc
