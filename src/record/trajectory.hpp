// The motion behind an evaluation: a few named channels sampled at the nodes of a time grid. The evaluator declares the
// channels before the study starts (the archive must create its datasets up front) and fills them per evaluation.
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

namespace dodyn {

struct Channel {
  std::string name;                      // dataset name: "t", "q", "p", "u", ...
  std::string unit;                      // of every coordinate, or empty where they differ
  std::string description;               // one line
  int nodes = 0;                         // rows
  std::vector<std::string> coordinates;  // names of the columns
};
using Channels = std::vector<Channel>;

// One matrix [node, coordinate] per channel, in the order of the declaration. Empty where an evaluation has no motion.
struct Trajectory {
  std::vector<Eigen::MatrixXd> values;
  bool empty() const { return values.empty(); }
};

}  // namespace dodyn
