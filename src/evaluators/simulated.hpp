// One simulated motion, as `dodyn simulate` shows it.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <string>
#include <vector>

#include "record/trajectory.hpp"

namespace dodyn::evaluators {

// Numbers that came row by row, as a matrix.
inline Eigen::MatrixXd by_rows(const std::vector<double>& numbers, std::size_t columns) {
  using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  return Eigen::Map<const Rows>(numbers.data(),
                                static_cast<Eigen::Index>(numbers.size() / std::max<std::size_t>(columns, 1)),
                                static_cast<Eigen::Index>(columns));
}

struct Simulated {
  bool completed = false;  // it ran to its end; false: a contact could not be resolved, and the report says which
  std::string report;      // several lines: how it ended, energies and momenta, what it took
  Channels channels;       // as many nodes as the motion has: "t" first, then pose, twist, energies ...
  Trajectory trajectory;   // one matrix per channel
};

}  // namespace dodyn::evaluators
