// The distinct motions that the starts of a design ended at.
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

namespace dodyn::evaluators {

struct Optimum {
  double cost = 0.0;
  int count = 0;  // of the initial guesses
  double residual = 0.0;
  Eigen::VectorXd joints;  // at all nodes
};

// Adds a motion to a list of distinct ones, the best first. The same motion: of the same cost (relative 1e-6) and motion
// (1e-3 rad, root mean square).
void add(std::vector<Optimum>& optima, Optimum found);

// The matrices [optimum, cost count residual distance], padded to `rows`, and [optimum, joint coordinates of all nodes].
Eigen::MatrixXd table(const std::vector<Optimum>& optima, int rows);
Eigen::MatrixXd joints_of(const std::vector<Optimum>& optima);

// Returns lines of a report: how many of the initial guesses found the best optimum, and the distinct ones. `table`: as
// above, or empty. `unit`: of distances.
std::string optima_text(const Eigen::MatrixXd& table, double guesses, double solved, const std::string& unit);

}  // namespace dodyn::evaluators
