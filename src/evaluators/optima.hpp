// The distinct optima that the initial guesses of a design converged to.
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

namespace dodyn::evaluators {

struct Optimum {
  double cost = 0.0;
  int count = 0;  // number of initial guesses that converged to it
  double residual = 0.0;
  Eigen::VectorXd
      joints;  // joint coordinates at all nodes, without constants that have no meaning (dmoc/ignorable.hpp)
};

// Adds an optimum to a list of distinct ones, sorted by cost. Two optima are equal if their costs agree to 1e-6
// (relative) or to the residuals, which matter for costs near zero, and their motions to 1e-3 rad (root mean square).
void add(std::vector<Optimum>& optima, Optimum found);

// Returns the matrices [optimum, cost count residual distance], padded to `rows`, and [optimum, joint coordinates of
// all nodes].
Eigen::MatrixXd table(const std::vector<Optimum>& optima, int rows);
Eigen::MatrixXd joints_of(const std::vector<Optimum>& optima);

// ended: number of initial guesses that ended at an optimum; single: at an optimum that no other guess found.
// single/ended estimates the fraction of further guesses that would end at a new optimum (Good 1953, "The population
// frequencies of species").
struct GuessesByOptimum {
  int ended = 0, single = 0;
};
constexpr int few_guesses = 4;  // min GuessesByOptimum::ended for which the estimate is used
// Counts the initial guesses that ended at an optimum, and the optima that only one guess found. `table`: as from
// table(), or empty.
GuessesByOptimum guesses_by_optimum(const Eigen::MatrixXd& table);

// Returns lines of a report: how many initial guesses found the best optimum, and the list of optima. `table`: as from
// table(), or empty. `unit`: of distances.
std::string optima_text(const Eigen::MatrixXd& table, double guesses, double solved, const std::string& unit);

}  // namespace dodyn::evaluators
