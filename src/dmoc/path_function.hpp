// Costs and path constraints written as expressions: of parameters, coordinates, rate(coordinate), points (foot.x),
// speed(point), distances, angles and actuators (u.hip), as a model resolves them (systems::Model::variable); of rates of
// controls, rate(u.hip), and of the time t since the motion began.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dmoc/motion_problem.hpp"
#include "settings/expression.hpp"

namespace dodyn::dmoc {

// An expression along a phase, recorded once for all designs.
struct PathFunction {
  // What speaks of positions alone is taken at nodes; what speaks of rates or controls at the midpoints of intervals, with the
  // differences' rates; what speaks of rates of controls at the nodes inside, where controls jump: positions there, means of
  // rates and controls on either side.
  enum class Place { nodes, midpoints, jumps };
  Expression expression;
  Place place = Place::midpoints;
  bool of_time = false;                 // names t
  std::vector<std::string> parameters;  // of the model or the motion, whose values an element needs
  // (unknowns[, T][, T of each earlier phase whose duration is unknown]) -> value, value times the time that it stands for.
  // Unknowns at nodes: theta; at midpoints: theta, theta', u; at jumps: theta of three nodes, u before and after.
  Function function;
};

// How long phases last, as far as it is unknown.
struct PhaseClock {
  bool is_timed = false;  // this one's duration is an unknown
  int timed_earlier = 0;  // number of earlier phases whose durations are unknowns
};

// `motion_parameters`: names besides the model's parameters that the expression may use. `integrated`: never at nodes alone, as
// a cost is. Throws ExpressionError where it uses another name, or where it is integrated and depends on parameters alone.
PathFunction path_function(const System& system, const std::vector<int>& held, const PhaseClock& clock,
                           const Expression& expression, const std::vector<std::string>& motion_parameters,
                           bool integrated = false);

// The same of a posture and its rates, (theta, v) -> value.
PathFunction end_function(const System& system, const std::vector<int>& held, const Expression& expression,
                          const std::vector<std::string>& motion_parameters);

// Expressions of positions, of what a phase moves, and the parameters whose values the functions take besides the model's numbers.
struct NamedPositionFunction {
  PositionFunction function;
  std::vector<std::string> parameters;  // of the model or the motion
};
// Throws ExpressionError where an expression names something else, or no position.
NamedPositionFunction position_function(const System& system, const std::vector<int>& held,
                                        const std::vector<Expression>& expressions,
                                        const std::vector<std::string>& motion_parameters);

using Lookup = std::function<Coefficient(const std::string& parameter)>;

// Adds value >= 0 (or == 0) at all nodes, midpoints or jumps of a phase.
void add_path_constraint(MotionProblem& problem, int phase, const PathFunction& f, const Lookup& values, bool equality);
// Adds that a coordinate moves by at most `speed` h in an interval, either way; of one that the phase holds: nothing.
void add_speed_limit(MotionProblem& problem, int phase, int coordinate, const Coefficient& speed);
// Adds the integral over a phase, times `weight`, to the objective. At jumps the first and the last value stand for one and a half
// intervals.
void add_path_cost(MotionProblem& problem, int phase, const PathFunction& f, const Lookup& values,
                   const Coefficient& weight);

// Adds value >= 0 (or == 0) at the end of a phase, or value times `weight` to the objective. The phase's velocities there
// must be unknowns.
void add_end_constraint(MotionProblem& problem, int phase, bool end, const PathFunction& f, const Lookup& values,
                        bool equality);
void add_end_cost(MotionProblem& problem, int phase, bool end, const PathFunction& f, const Lookup& values,
                  const Coefficient& weight);

}  // namespace dodyn::dmoc
