// Formulas of a simulation: the quantities that the outcomes, the costs, the initial states and the feedback of a
// configuration may use.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "settings/expression.hpp"
#include "settings/settings.hpp"
#include "systems/model.hpp"

namespace dodyn::evaluators::simulation {

// A quantity in a formula. `one`, `other`: links; for a variable of [initial-states], an actuator or a state of
// [feedback] `one` is its index.
struct StateQuantity {
  enum Kind {
    model,               // `variable`: a parameter, coordinate, rate, point, distance, angle ... of the model
    spatial_angle,       // `variable`: a coordinate that is an angle in space, with its full turns, rad
    start,               // a variable of [initial-states]
    time,                // t, s
    at_end,              // the run ends at this node, because its time is over
    touching,            // contact forces have acted since the last node
    touched,             // contact forces have acted since the start
    since_touch,         // time since contact forces last acted, s; infinite before the first
    resting,             // no point moves faster than simulation.rest-speed, and contact forces can balance all others
    touching_links,      // in_contact(LINK, LINK): they touch at this node
    seen_from,           // x(POINT, LINK), y, z: coordinate of the point `variable` in the frame of the link `one`, m
    gap,                 // gap(LINK, LINK): distance of their bounding boxes, m; 0: these overlap
    kinetic,             // J
    potential,           // J
    energy_change,       // change of the total energy since the start, minus Progress::booked, J
    largest_overlap,     // largest overlap of any two bodies at a node up to now, m; negative: they never touched
    largest_spin,        // largest angular speed of any body at a node up to now, rad/s
    largest_impulse,     // largest impulse between two bodies in a step up to now, N s
    cluster,             // number of moving bodies in the largest cluster, see Cluster::largest()
    radius_of_gyration,  // of the centres of mass of moving bodies, m
    effort,              // integral of the squared controls up to now
    control,             // u.NAME: control of an actuator, N or N m
    law_state,           // a state of [feedback]
    position_error,      // of the controlled craft, m
    attitude_error       // rad
  } kind = model;
  systems::Variable variable;
  int one = -1, other = -1;
};

// Whether a name without arguments is a quantity of every run, such as t or resting.
bool is_run_quantity(const std::string& name);

struct Formula {
  Expression expression;
  std::vector<StateQuantity> arguments;  // the expression's quantities, in their order
  bool uses(StateQuantity::Kind kind) const;
  bool is_truth() const;  // a comparison, or a single quantity that is true or false
};

// A condition, split at `and`, `or` and `not`. The part with the lowest cost is evaluated first; further parts only if
// their values are needed.
struct Condition {
  enum Kind { comparison, truth, all, any, opposite } kind = comparison;  // truth: a quantity that is 0 or 1
  Formula one;                                                            // for comparison and truth
  std::vector<Condition> parts;                                           // for all, any and opposite
  bool uses(StateQuantity::Kind kind) const;
};

// The controllers of a simulation, whose quantities formulas may use.
struct Controllers {
  bool craft = false;               // [control]
  bool feedback = false;            // [feedback]
  std::vector<std::string> states;  // names of its states
};

// Reads the formulas of one model. In formulas of parameters, a name of [initial-states] hides the same name of the
// model. In other formulas, a coordinate, rate or parameter is that of the model. Throws ConfigError.
class FormulaReader {
 public:
  FormulaReader(const systems::Model& model, std::vector<std::string> start_variables, Controllers controllers = {})
      : model_(model),
        starts_(std::move(start_variables)),
        used_(starts_.size(), false),
        controllers_(std::move(controllers)) {}

  Condition condition(const CustomEntry& entry);  // reads a condition on the state
  Formula number(const CustomEntry& entry);       // reads a number that depends on the state
  // Reads a formula of parameters and variables of [initial-states].
  Formula start(const CustomEntry& entry, const Expression& expression);
  // Reads an expression of [feedback]: the control of an actuator, the rate of a state, or its initial value.
  // Quantities that are known at nodes only are not valid in it.
  enum class Law { control, rate, initial };
  Formula law(const CustomEntry& entry, Law law);
  Formula requirement(const CustomEntry& entry);  // a condition on parameters
  // Reads an expression of a state, a number or a condition.
  Formula value(const CustomEntry& entry, const Expression& expression) { return read(entry, expression, Scope::run); }

  bool used(std::size_t start_variable) const { return used_[start_variable]; }

 private:
  Condition condition(const CustomEntry& entry, const Expression& expression);
  // The place of a formula, which decides what it may use.
  enum class Scope {
    parameters,  // parameters and variables of [initial-states]
    run,         // all quantities
    control,     // the state of the model, the time and the states of [feedback]
    rate,        // as control, and the controls
    initial      // the state of the model and the time
  };
  Formula read(const CustomEntry& entry, const Expression& expression, Scope scope);
  std::optional<StateQuantity> quantity(const CustomEntry& entry, const Expression::Quantity& quantity, Scope scope);
  std::optional<StateQuantity> of_run(const CustomEntry& entry, const Expression::Quantity& quantity) const;
  bool known_in_run(StateQuantity::Kind kind) const;
  ConfigError unknown(const CustomEntry& entry, const Expression::Quantity& quantity, Scope scope) const;

  const systems::Model& model_;
  std::vector<std::string> starts_;
  std::vector<bool> used_;
  Controllers controllers_;
};

}  // namespace dodyn::evaluators::simulation
