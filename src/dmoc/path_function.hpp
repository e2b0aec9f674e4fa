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
  // Where an expression is evaluated. knots: if it depends on positions alone. points (the quadrature points of the
  // intervals; for order 2 the midpoints): if it depends on rates or controls, or is integrated. jumps (the inner
  // nodes): if it depends on rates of controls; rates and controls are means of both sides. Only order 2 has jumps.
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
// is a cost that is integrated over time. Throws ExpressionError if the expression contains another name or an angle of
// a spherical joint, or if it is integrated and depends on parameters alone. It also throws for rates of controls if
// the order is above 2, and for points of a system with charts if the place is not `knots`.
PathFunction path_function(const System& system, const std::vector<int>& held, const PhaseClock& clock,
                           const Expression& expression, const std::vector<std::string>& motion_parameters,
                           bool integrated = false);

// Records an expression of a posture and its rates: (theta, v) -> value. Its place is `knots` if it depends on
// positions alone, otherwise `points`. Throws ExpressionError if it contains controls, t or angles of spherical joints.
PathFunction end_function(const System& system, const std::vector<int>& held, const Expression& expression,
                          const std::vector<std::string>& motion_parameters);

// Throws ExpressionError if an expression depends on anything except positions and parameters, if it depends on no
// position, or if it contains angles of spherical joints.
void check_position(const System& system, const Expression& expression,
                    const std::vector<std::string>& motion_parameters);

struct NamedPositionFunction {
  PositionFunction function;
  std::vector<std::string>
      parameters;  // names of the values in PositionConstraint::parameters, of the model or the motion
};
// Records expressions of positions with their derivatives. Throws ExpressionError as check_position() does.
NamedPositionFunction position_function(const System& system, const std::vector<int>& held,
                                        const std::vector<Expression>& expressions,
                                        const std::vector<std::string>& motion_parameters);

using Lookup = std::function<Coefficient(const std::string& parameter)>;

// Adds value >= 0 (or == 0) at all knots, points or jumps of a phase, except where `skips` is true. Its argument is the
// index of the knot, of the point's interval, or of the jump's node.
void add_path_constraint(MotionProblem& problem, int phase, const PathFunction& f, const Lookup& values, bool equality,
                         const std::function<bool(int place)>& skips = nullptr);
// Limits the rate of a coordinate at the quadrature points to `speed` in both directions; no effect on a held
// coordinate.
void add_speed_limit(MotionProblem& problem, int phase, int coordinate, const Coefficient& speed);
// Adds the integral over a phase, times `weight`, to the objective. At jumps the first and the last value represent 1.5
// intervals; a single jump represents the whole phase.
void add_path_cost(MotionProblem& problem, int phase, const PathFunction& f, const Lookup& values,
                   const Coefficient& weight);

// Evaluates an expression at all its places in a phase of a solution. Columns: the value, and the value times the time
// that it represents, s (0 at knots). Rows: knots or jumps; or all intervals at the first point, then all intervals at
// the second point, and so on. x: the unknowns.
Eigen::MatrixXd path_values(const MotionProblem& problem, int phase, const PathFunction& f, const Lookup& values,
                            const Eigen::VectorXd& x);

// Returns the element of an end function (see end_function()) for a design and the reference of a node.
Element end_element(const PathFunction& f, const std::vector<Coefficient>& numbers, const Lookup& values,
                    const Reference& reference);
// Adds value >= 0 (or == 0) at an end of a phase, or value times `weight` to the objective. The phase's velocities
// there must be unknowns.
void add_end_constraint(MotionProblem& problem, int phase, bool end, const PathFunction& f, const Lookup& values,
                        bool equality);
void add_end_cost(MotionProblem& problem, int phase, bool end, const PathFunction& f, const Lookup& values,
                  const Coefficient& weight);
// Returns the value of an end function at an end of a phase of a solution. It is NaN if the function depends on rates,
// the phase's velocities there are not unknowns, and position constraints act.
double end_value(const MotionProblem& problem, int phase, bool end, const PathFunction& f, const Lookup& values,
                 const Eigen::VectorXd& x);

}  // namespace dodyn::dmoc
