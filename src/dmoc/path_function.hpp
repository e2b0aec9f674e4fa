// Costs and path constraints as expressions. Names: parameters, coordinates, rate(coordinate), points (foot.x),
// speed(point), distances, angles and actuators (u.hip), as systems::Model::variable resolves them; rates of controls,
// rate(u.hip); and the time t since the start of the motion.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dmoc/motion_problem.hpp"
#include "settings/expression.hpp"

namespace dodyn::dmoc {

// An expression along a phase, recorded once for all designs.
struct PathFunction {
  // Where an expression is evaluated. knots: it depends on positions alone. points: it depends on rates or controls, at
  // the quadrature points of the intervals; of order 2 these are the midpoints. jumps: it depends on rates of controls,
  // at inner nodes; rates and controls are means of both sides. Order 2 alone has jumps.
  enum class Place { knots, points, jumps };
  Expression expression;
  Place place = Place::points;
  bool of_time = false;                 // depends on t
  std::vector<std::string> parameters;  // parameters of the model or the motion, whose values an element needs
  // (unknowns[, T][, T of each earlier phase whose duration is unknown]) -> value, value times the time that it
  // represents. Unknowns at knots: theta; at points: theta of the interval's knots, u of the point; at jumps: theta of
  // three nodes, u before and after. At points one function for each, elsewhere a single one.
  std::vector<Function> functions;
};

// Unknown durations of a phase and of the phases before it.
struct PhaseClock {
  bool is_timed = false;  // the duration of this phase is an unknown
  int timed_earlier = 0;  // number of earlier phases whose durations are unknowns
};

// Records an expression. `motion_parameters`: names in addition to the model's parameters. `integrated`: the expression
// is a cost that is integrated over time. Throws ExpressionError if the expression contains another name, or if it is
// integrated and depends on parameters alone.
PathFunction path_function(const System& system, const std::vector<int>& held, const PhaseClock& clock,
                           const Expression& expression, const std::vector<std::string>& motion_parameters,
                           bool integrated = false);

// Records an expression of a posture and its rates: (theta, v) -> value. Its place is `knots` if it depends on positions
// alone, otherwise `points`.
PathFunction end_function(const System& system, const std::vector<int>& held, const Expression& expression,
                          const std::vector<std::string>& motion_parameters);

// Throws ExpressionError if an expression depends on anything except positions and parameters.
void check_position(const System& system, const Expression& expression,
                    const std::vector<std::string>& motion_parameters);

struct NamedPositionFunction {
  PositionFunction function;
  std::vector<std::string>
      parameters;  // names of the values in PositionConstraint::parameters, of the model or the motion
};
// Records expressions of positions with their slopes. Throws ExpressionError as check_position().
NamedPositionFunction position_function(const System& system, const std::vector<int>& held,
                                        const std::vector<Expression>& expressions,
                                        const std::vector<std::string>& motion_parameters);

using Lookup = std::function<Coefficient(const std::string& parameter)>;

// Adds value >= 0 (or == 0) at all knots, points or jumps of a phase, except at places that `skips` names: knot, point or
// jump, from 0.
void add_path_constraint(MotionProblem& problem, int phase, const PathFunction& f, const Lookup& values, bool equality,
                         const std::function<bool(int place)>& skips = nullptr);
// Limits the rate of a coordinate at the quadrature points to `speed` in both directions; no effect on a held
// coordinate.
void add_speed_limit(MotionProblem& problem, int phase, int coordinate, const Coefficient& speed);
// Adds the integral over a phase, times `weight`, to the objective. At jumps the first and the last value represent one
// and a half intervals.
void add_path_cost(MotionProblem& problem, int phase, const PathFunction& f, const Lookup& values,
                   const Coefficient& weight);

// Evaluates an expression at all its places in a phase of a solution: [places, 2], the value, and the value times the
// time that it represents, s. x: the unknowns.
Eigen::MatrixXd path_values(const MotionProblem& problem, int phase, const PathFunction& f, const Lookup& values,
                            const Eigen::VectorXd& x);

// Returns an end function of a design at a node.
Element end_element(const PathFunction& f, const std::vector<Coefficient>& numbers, const Lookup& values,
                    const Reference& reference);
// Adds value >= 0 (or == 0) at an end of a phase, or value times `weight` to the objective. The phase's velocities
// there must be unknowns.
void add_end_constraint(MotionProblem& problem, int phase, bool end, const PathFunction& f, const Lookup& values,
                        bool equality);
void add_end_cost(MotionProblem& problem, int phase, bool end, const PathFunction& f, const Lookup& values,
                  const Coefficient& weight);
// Returns an end function at an end of a phase of a solution. It is not a number if it has rates, the phase's velocities
// there are not unknowns, and position constraints act.
double end_value(const MotionProblem& problem, int phase, bool end, const PathFunction& f, const Lookup& values,
                 const Eigen::VectorXd& x);

}  // namespace dodyn::dmoc
