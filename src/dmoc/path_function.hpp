// Costs and path constraints written as expressions: of parameters, coordinates, rate(coordinate), points (foot.x),
// speed(point), distances, angles and actuators (u.hip), as a model resolves them (systems::Model::variable).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dmoc/motion_problem.hpp"
#include "settings/expression.hpp"

namespace dodyn::dmoc {

// An expression along a phase, recorded once for all designs. What speaks of positions alone is taken at nodes, what
// speaks of rates or controls at the midpoints of intervals, with the differences' rates.
struct PathFunction {
  Expression expression;
  bool at_nodes = false;
  std::vector<std::string> parameters;  // of the model or the motion, whose values an element needs
  Function function;  // nodes: theta -> value, 0;  midpoints: (theta, theta', u[, T]) -> value, h value
};

// `motion_parameters`: names besides the model's parameters that the expression may use. `on_intervals`: at midpoints in any
// case, as a cost is. Throws ExpressionError where it uses another name.
PathFunction path_function(const System& system, const std::vector<int>& held, bool timed, const Expression& expression,
                           const std::vector<std::string>& motion_parameters, bool on_intervals = false);

// The same of a posture and its rates, (theta, v) -> value.
PathFunction end_function(const System& system, const std::vector<int>& held, const Expression& expression,
                          const std::vector<std::string>& motion_parameters);

using Lookup = std::function<Coefficient(const std::string& parameter)>;

// Adds value >= 0 (or == 0) at all nodes or intervals of a phase.
void add_path_constraint(MotionProblem& problem, int phase, const PathFunction& f, const Lookup& values, bool equality);
// Adds that a coordinate moves by at most `speed` h in an interval, either way; of one that the phase holds: nothing.
void add_speed_limit(MotionProblem& problem, int phase, int coordinate, const Coefficient& speed);
// Adds the integral over a phase, times `weight`, to the objective.
void add_path_cost(MotionProblem& problem, int phase, const PathFunction& f, const Lookup& values,
                   const Coefficient& weight);

// Adds value >= 0 (or == 0) at the end of a phase, or value times `weight` to the objective. The phase's velocities there
// must be unknowns.
void add_end_constraint(MotionProblem& problem, int phase, bool end, const PathFunction& f, const Lookup& values,
                        bool equality);
void add_end_cost(MotionProblem& problem, int phase, bool end, const PathFunction& f, const Lookup& values,
                  const Coefficient& weight);

}  // namespace dodyn::dmoc
