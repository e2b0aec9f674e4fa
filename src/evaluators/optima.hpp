// The distinct motions that the starts of a design ended at.
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

namespace dodyn::evaluators {

struct Optimum {
  double cost = 0.0;
  int count = 0;  // of the starts
  double residual = 0.0;
  Eigen::VectorXd joints;  // at all nodes
};

// Adds a motion to a list of distinct ones, the best first. The same motion: of the same cost (relative 1e-6) and motion
// (1e-3 rad, root mean square).
void add(std::vector<Optimum>& optima, Optimum found);

// The matrices [optimum, cost count residual distance], padded to `rows`, and [optimum, joint coordinates of all nodes].
Eigen::MatrixXd table(const std::vector<Optimum>& optima, int rows);
Eigen::MatrixXd joints_of(const std::vector<Optimum>& optima);

// Lines of a report: of so many starts, how many ended at an optimum and how many at which. `table`: as above, or empty.
// `unit`: of distances.
std::string optima_text(const Eigen::MatrixXd& table, double starts, double solved, const std::string& unit);

}  // namespace dodyn::evaluators
