// Formulas of a simulation: what the rules, the costs and the starts of a configuration may speak of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "settings/expression.hpp"
#include "settings/settings.hpp"
#include "systems/model.hpp"

namespace dodyn::evaluators::simulation {

// A quantity that a formula holds. `one`, `other`: links, or in `one` the number of a start variable.
struct StateQuantity {
  enum Kind {
    model,           // `variable`: a parameter, coordinate, rate, point, distance, angle ...
    start,           // a variable of [initial-states]
    time,            // t, s
    at_end,          // time is up: the run ends at this node
    touching,        // contact forces have acted since the last node
    touched,         // ... since the start
    since_touch,     // s since they last did; infinite before
    resting,         // no point moves faster than simulation.rest-speed, and contact can hold what acts
    touching_links,  // in_contact(LINK, LINK): they touch at this node
    seen_from,       // x(POINT, LINK), y, z: of the point `variable` in the frame of the link `one`, m
    gap,             // gap(LINK, LINK): of the boxes about their bodies, m; 0 where these overlap
    kinetic,         // J
    potential,       // J
    energy_change,  // J: of the total energy since the start, less what impacts, projections, damping and driving account for
    largest_overlap,     // m: of any two bodies at a node up to now; negative: they never touched
    largest_spin,        // rad/s: of any body at a node up to now
    largest_impulse,     // N s: of any two bodies on each other in a step up to now
    cluster,             // bodies of the largest group that contacts of the last second connect
    radius_of_gyration,  // m: of the centres of mass of what moves
    effort,              // N^2 s: of the controller up to now
    position_error,      // m: of the craft that is flown
    attitude_error       // rad
  } kind = model;
  systems::Variable variable;
  int one = -1, other = -1;
};

struct Formula {
  Expression expression;
  std::vector<StateQuantity> arguments;  // what the expression's quantities are, in their order
  bool uses(StateQuantity::Kind kind) const;
};

// A condition, taken apart at its `and`s, `or`s and `not`s: what costs least to ask comes first, the rest is often not
// asked.
struct Condition {
  enum Kind { comparison, truth, all, any, opposite } kind = comparison;  // truth: of a quantity that is 0 or 1
  Formula one;                                                            // of the first two
  std::vector<Condition> parts;                                           // of the others
  bool uses(StateQuantity::Kind kind) const;
};

// Reads formulas of one model; names of [initial-states] come before those of the model. Mistakes are ConfigErrors.
class FormulaReader {
 public:
  // `controlled`: whether there is a controller to speak of.
  FormulaReader(const systems::Model& model, std::vector<std::string> start_variables, bool controlled = false)
      : model_(model), starts_(std::move(start_variables)), used_(starts_.size(), false), controlled_(controlled) {}

  Condition condition(const CustomEntry& entry);  // of a state
  Formula number(const CustomEntry& entry);       // of a state
  // Of parameters and start variables alone.
  Formula start(const CustomEntry& entry, const Expression& expression);
  Formula requirement(const CustomEntry& entry);  // of parameters alone: a condition
  Formula property(const CustomEntry& entry);     // ... a number

  bool used(std::size_t start_variable) const { return used_[start_variable]; }

 private:
  Condition condition(const CustomEntry& entry, std::string_view text);
  Formula read(const CustomEntry& entry, const Expression& expression, bool of_state);

  const systems::Model& model_;
  std::vector<std::string> starts_;
  std::vector<bool> used_;
  bool controlled_;
};

}  // namespace dodyn::evaluators::simulation
