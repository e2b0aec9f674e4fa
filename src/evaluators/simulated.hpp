// One simulated motion, for `dodyn simulate`.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <string>
#include <vector>

#include "record/trajectory.hpp"

namespace dodyn::evaluators {

// Returns numbers in row-major order as a matrix.
inline Eigen::MatrixXd by_rows(const std::vector<double>& numbers, std::size_t columns) {
  using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  return Eigen::Map<const Rows>(numbers.data(), numbers.size() / std::max<std::size_t>(columns, 1), columns);
}

struct Simulated {
  bool completed = false;  // reached its end; false: failed or out of time, and the report states why
  std::string report;      // several lines: the end, energies and momenta, numbers of steps
  Channels channels;       // with the number of nodes of this motion: "t" first, then pose, twist, energies ...
  Trajectory trajectory;   // one matrix per channel
};

}  // namespace dodyn::evaluators
