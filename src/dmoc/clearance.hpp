// How near parts come over a whole motion, with a proof: between nodes slides and hinges go at a steady rate, and joints of three
// turns about the axis that leads from one attitude to the other (Attitudes::between()).
//
// Over a piece [a, b] of an interval, w = b - a of it long, a direction n that is fixed in one of their links, or in the one that
// carries both, separates the parts by sep(s) = min n.x - max n.y over their corners x and y. As seen from there a corner leaves the
// chord of its way by at most A w^2/8, A a bound of its acceleration from the rates of the joints. So the distance is at least
//
//   min(sep(a), sep(b)) - (A_x + A_y) w^2/8.
//
// A piece is halved until this decides, ten times at most. The distance itself is found at its middle, by the hyperplane program or Gilbert's
// algorithm. Of a link that follows an expression, A comes from samples of the expression.
#pragma once

#include <string>
#include <vector>

#include "dmoc/separation.hpp"

namespace dodyn::dmoc {

// Signed distances, overlap is negative, m.
struct Clearance {
  double at_nodes = 0.0;  // the least at the nodes
  // No distance is less, at any time. It is below the least distance that is reached by 1e-6 of a part's width, or by what the
  // shortest piece leaves open.
  double least = 0.0;
  int pair = -1;  // that misses its margin by the largest share of the width of its thinner part; -1: there is none
  double missing = 0.0;  // by how much it misses the margin at most, m; below 0: it keeps that much more
  double share = 0.0;    // `missing` over that width
  double time = 0.0;     // s since the start of the motion
};
Clearance clearance(const MotionProblem& problem, const Eigen::VectorXd& x, const std::vector<PartPair>& pairs);

// "green and wall overlap by 1.2 mm at t = 0.31 s", or that they are nearer than their margin.
std::string missing_text(const System& system, const PartPair& pair, double missing, double time);

}  // namespace dodyn::dmoc
