// A motion in explicit phases, as the sections of a configuration describe it. read_motion() fills these structs; free
// functions make postures (postures.hpp), initial guesses (initial_guess.hpp) and the optimisation problem
// (transcription.hpp) from them.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dmoc/path_function.hpp"
#include "evaluators/motion/holds.hpp"
#include "evaluators/motion/placement.hpp"
#include "evaluators/motion/relabel.hpp"
#include "settings/settings.hpp"

namespace dodyn::evaluators {

// Additional overlap that is allowed in the first or last interval for parts in contact at the start or the goal, m.
// Without it the constraints of the separating plane have no interior.
inline constexpr double contact_slack = 1e-7;

struct MotionKeys {
  std::string model;
  int order = 2;  // order of the integrator (dmoc/scheme.hpp)
  int steps = 1;
  bool simulated = false;  // a simulation without controls computes the first initial guess
  bool penalty = false;
  bool corners = true;                    // try guesses in which other corners touch
  bool affine_planes = false;             // separating planes are affine in time between nodes
  bool node_planes = false;               // planes at nodes between two moving bodies in contact
  double stiffness = 20.0, width = 1e-4;  // stiffness (N/m) and width (m) of the penalty
};

struct MotionPhase {
  std::string name;
  std::vector<int> held;
  std::optional<HeldPlaces> holds;
  int intervals = 20;
  // Range of the duration, s; equal: the duration is given
  Expression shortest, longest;
  std::vector<std::pair<dmoc::PathFunction, bool>> constraints;  // function, and whether it is an equality
  std::vector<Expression> forces;  // linear expressions >= 0 of normal(POINT), tangential(POINT), reaction(COORDINATE)
  std::vector<Expression> hold_forces;  // linear expressions >= 0 of the forces of `holds`
  std::vector<dmoc::PathFunction> costs;
  bool timed() const { return !(shortest == longest); }
};

// A scheduled contact at the end of a phase.
struct MotionContact {
  std::string name;
  int phase = 0, point = -1, part = -1, shape = 0;
  std::optional<std::array<double, 3>>
      side;  // direction of the touched face, in axes of the shape's link; nullopt: the shape's own outward direction
  Expression restitution = 1.0;
  bool sticks = false, slides = false, stays = false;
  bool edges = false;  // an edge of the part touches an edge of the shape
  std::optional<Expression> friction;
  int node = 0;  // for penalty contacts: node of the phase at which initial guesses touch
};

// Value of a coordinate or a rate.
struct GivenCoordinate {
  int coordinate = 0;
  bool rate = false;
  Expression value;
  std::string source;
};

// The start or the goal: given coordinates and placements, conditions on positions and rates, and terms of the cost.
struct MotionEnd {
  std::vector<GivenCoordinate> given;
  std::vector<Placement> placements;
  std::vector<std::pair<dmoc::PathFunction, bool>> conditions;  // function, and whether it is an equality
  std::vector<dmoc::PathFunction> costs;
  bool gives(int coordinate) const;  // whether `given` has a value of the coordinate (not its rate)
  bool has_functions() const { return !conditions.empty() || !costs.empty(); }
};

// A point through which initial guesses pass.
struct Waypoint {
  double share = 0.5;  // fraction of the motion's duration
  std::vector<Placement> placements;
  std::vector<GivenCoordinate> given;
};

// Two links that must not overlap.
struct AvoidedPair {
  int one = 0, other = 0;
  Expression margin;  // m
};

// A phase of the configuration that contacts split.
struct CutPhase {
  int first = 0, count = 0;
  Expression shortest, longest;  // range of the total duration, s
};

struct PhasedMotion {
  Settings settings;
  MotionKeys keys;
  std::string text;  // content of the model file
  std::shared_ptr<const dmoc::System> system;
  std::vector<std::pair<std::string, Expression>> parameters;  // entries of [parameters]
  std::vector<std::string> names;                              // names of [parameters], and `weight`
  std::vector<MotionPhase> phases;
  std::vector<CutPhase> cut_phases;
  std::vector<MotionContact> contacts;
  double penalty =
      0.0;  // stiffness of contacts by penalty (dmoc/penalty.hpp) instead of events, N/m; 0: contacts are events
  bool periodic = false;
  std::optional<Relabelling> exchange;  // map applied at the end of a periodic motion
  std::optional<Expression> period;     // total duration of all phases of a periodic motion, s
  std::vector<GivenCoordinate> shift;   // differences between end and start of a periodic motion
  MotionEnd start, goal;
  std::vector<GivenCoordinate> guess;
  std::vector<Waypoint> waypoints;
  std::vector<AvoidedPair> avoided;
  Expression max_rotation = 1.0;  // maximum rotation of a body in an interval, rad
  int growth_steps = 0;
  std::vector<std::pair<std::string, Expression>> requirements;
  dmoc::Effort effort;
  std::optional<Expression> loss, time;  // weights in the cost
  Expression per = 1.0;

  int degree() const { return system->scheme().degree; }
  const MotionEnd& at(bool end) const { return end ? goal : start; }
};

// Numbers of a design, with derivatives with respect to the design variables.
struct MotionValues {
  std::shared_ptr<const dmoc::System> system;
  systems::Values<dmoc::Coefficient> model;
  std::vector<std::pair<std::string, dmoc::Coefficient>> motion;  // entries of [parameters], and weight

  dmoc::Coefficient named(const std::string& name) const;
  dmoc::Coefficient evaluated(const Expression& e) const;
  bool satisfy(const Expression& condition) const;
  systems::Values<double> plain() const;  // returns the model's numbers without derivatives
};
// Returns the numbers of a design. Throws ConfigError if the model refuses the design.
MotionValues motion_values(const PhasedMotion& motion, const Eigen::VectorXd& design);
// Returns the model's numbers without derivatives.
systems::Values<double> plain_values(const PhasedMotion& motion, const Eigen::VectorXd& design);

// Returns the middle of the design variables' ranges.
Eigen::VectorXd middle_design(const PhasedMotion& motion);

// Returns the held coordinate on which a force acts, such as normal(POINT); -1: the quantity is not a force.
// `names`: of the coordinates.
int held_coordinate(const std::vector<std::string>& names, const Expression::Quantity& force);
// Whether the quantity is normal(POINT), tangential(POINT) or reaction(NAME).
bool is_force(const Expression::Quantity& quantity);

}  // namespace dodyn::evaluators
