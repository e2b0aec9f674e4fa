// The motion behind an evaluation: a few named channels sampled at the nodes of a time grid. The evaluator declares the
// channels before the study starts (the archive must create its datasets up front) and fills them per evaluation.
#pragma once

#include <Eigen/Core>
#include <string>
#include <string_view>
#include <vector>

namespace dodyn {

//
// Pictures depend on these names (python/dodyn/motion.py): `points` with coordinates NAME_x, NAME_y[, NAME_z]; `q` with
// poses of bodies "BODY x", "BODY y", "BODY angle" or "BODY x", "y", "z", "q0", "qx", "qy", "qz"; `shapes`, the corners
// of the bodies' convex parts; `contact_force`.

struct Channel {
  std::string name;                        // dataset name: "t", "q", "p", "u", ...
  std::string unit;                        // unit of all coordinates, or empty if they differ
  std::string description;                 // one line
  int nodes = 0;                           // number of rows
  std::vector<std::string> coordinates;    // names of the columns
  std::vector<std::string> units = {};     // unit of each column; empty: `unit` applies to all
  std::vector<std::string> segments = {};  // only for `points`: pairs of names that pictures join by a line
};
using Channels = std::vector<Channel>;

// One matrix [nodes, coordinates] per channel, in the order of the declaration. Empty: the evaluation has no
// trajectory.
struct Trajectory {
  std::vector<Eigen::MatrixXd> values;
  bool empty() const { return values.empty(); }
};

// Names of the channel that has a row for each initial state, and of its column with the cost of each initial state.
// The mean of the column is the evaluation's cost. A study with scenarios has a channel "NAME:outcome" for each
// scenario instead.
inline constexpr std::string_view channel_of_states = "outcome", cost_of_state = "cost";
// Returns the column `cost_of_state` of the channel `channel_of_states`, [initial states]. Empty: the column does not
// exist, or a cost is not finite.
Eigen::VectorXd costs_of_states(const Channels& channels, const Trajectory& trajectory);

}  // namespace dodyn
