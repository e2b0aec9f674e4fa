// Names the maximum violations at an infeasible point of a transcription.
#pragma once

#include <Eigen/Core>
#include <string>
#include <utility>
#include <vector>

#include "dmoc/motion_problem.hpp"

namespace dodyn::dmoc {

// First row of each condition, and its name in the configuration; ascending.
using NamedRows = std::vector<std::pair<int, std::string>>;

// Returns the worst row of all momentum balances and of each condition, at most four: "; momentum of hip at t = 0.3 s
// is missed by 2.1, [goal] by 0.4 (at the limit: motor in 17 of 20 intervals)". Rows before the first condition, or of
// a condition without a name, do not count. Empty if no row is violated by more than 1e-6, or if x is not finite.
std::string worst_row(const MotionProblem& problem, const NamedRows& conditions, const Eigen::VectorXd& x);

}  // namespace dodyn::dmoc
