// Names what an infeasible point of a motion's transcription misses most.
#pragma once

#include <Eigen/Core>
#include <string>
#include <utility>
#include <vector>

#include "dmoc/motion_problem.hpp"

namespace dodyn::dmoc {

// What rows from this one on ask for, in the configuration's words; ascending.
using AskedRows = std::vector<std::pair<int, std::string>>;

// "; momentum of hip at t = 0.3 s is missed by 2.1, [goal] by 0.4 (at the limit: motor in 17 of 20 intervals)": the worst
// row of each condition, at most four. Empty where no row is missed by more than 1e-6.
std::string worst_row(const MotionProblem& problem, const AskedRows& asked, const Eigen::VectorXd& x);

}  // namespace dodyn::dmoc
