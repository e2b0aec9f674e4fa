// The motion behind an evaluation: a few named channels sampled at the nodes of a time grid. The evaluator declares the
// channels before the study starts (the archive must create its datasets up front) and fills them per evaluation.
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

namespace dodyn {

//
// Pictures are drawn from what these names say (python/dodyn/motion.py): `points` with coordinates NAME_x, NAME_y[, NAME_z];
// `q` with poses of bodies "BODY x", "BODY y", "BODY angle" or "BODY x", "y", "z", "q0", "qx", "qy", "qz"; `shapes`, the
// corners of the bodies' convex parts; `contact_force`.

struct Channel {
  std::string name;                        // dataset name: "t", "q", "p", "u", ...
  std::string unit;                        // of every coordinate, or empty where they differ
  std::string description;                 // one line
  int nodes = 0;                           // rows
  std::vector<std::string> coordinates;    // names of the columns
  std::vector<std::string> units = {};     // of each column; empty: `unit` is that of all
  std::vector<std::string> segments = {};  // of points: names, two by two, of those that a picture joins by a line
};
using Channels = std::vector<Channel>;

// One matrix [node, coordinate] per channel, in the order of the declaration. Empty where an evaluation has no motion.
struct Trajectory {
  std::vector<Eigen::MatrixXd> values;
  bool empty() const { return values.empty(); }
};

}  // namespace dodyn
