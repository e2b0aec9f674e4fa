// Rows of a problem at given unknowns, for tests that compare them with formulas of their own.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <string>

#include "dmoc/motion_problem.hpp"
#include "systems/model.hpp"

namespace dodyn::dmoc {

inline MotionProblem problem_of(const std::string& text, bool directors = false, int order = 2) {
  systems::Model model = systems::read_model(text, "test");
  auto numbers = model.evaluate<Coefficient>({}).numbers;
  return {std::make_shared<System>(std::move(model), directors, std::vector<Energy>(), order), std::move(numbers)};
}

// Where the next row and the next unknown of a problem that is not finished will be.
inline int next_row(MotionProblem& problem) { return problem.problem().add_rows(0, 0.0, 0.0); }
inline int next_variable(MotionProblem& problem) { return problem.problem().add_variables(0, 0.0, 0.0); }

// Unknowns that differ from each other, between -1 and 1; and all rows there.
inline Eigen::VectorXd some_point(const nlp::AssembledProblem& problem) {
  Eigen::VectorXd x(problem.variables());
  for (Eigen::Index i = 0; i < x.size(); ++i) x(i) = std::sin(1.0 + 2.3 * static_cast<double>(i));
  return x;
}
inline Eigen::VectorXd rows_at(const nlp::AssembledProblem& problem, const Eigen::VectorXd& x) {
  Eigen::VectorXd c = Eigen::VectorXd::Zero(problem.constraints());
  problem.constraint_values(x, c);
  return c;
}

}  // namespace dodyn::dmoc
