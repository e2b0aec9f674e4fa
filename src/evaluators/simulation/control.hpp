// The section [control]: makes the controller of one link of a simulation's model (rigid/controller.hpp) from keys and
// design variables.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evaluators/simulation/formula.hpp"
#include "record/trajectory.hpp"
#include "rigid/controller.hpp"
#include "systems/bodies.hpp"

namespace dodyn::evaluators::simulation {

// Returns the keys of [control].
std::vector<Key> control_keys();
// Returns the design variables of a controlled craft; empty: control.craft names no link.
std::vector<DesignVariable> control_variables(const Settings& so_far);

// Options of a controller for one design and one initial state. Links stand in place of the bodies of
// rigid::ControllerOptions. `curve.dock` is the position of the craft's link in the receiver's link; `curve.behind` is
// not set yet.
struct ControlPlan {
  rigid::ControllerOptions options;
  int craft = -1, receiver = -1;  // link indices; receiver -1: the ground
  double dipole_offset = 0.0;     // distance from the receiver's centre of mass along the axis, m
  std::uint64_t seed = 1;
};

class Control {
 public:
  // Returns nullopt if control.craft is empty. Throws ConfigError.
  static std::optional<Control> read(const Settings& settings, const systems::Model& model, FormulaReader& reader,
                                     double step);
  ControlPlan plan(const Settings& settings, const Eigen::VectorXd& free, const systems::Values<double>& values) const;

 private:
  ControlPlan common_;
  std::vector<Formula> docked_, axis_;  // formulas of parameters
};

// Makes the controller for the bodies of the links. Throws std::invalid_argument if it cannot control that craft.
template <int n>
std::shared_ptr<rigid::Controller<n>> controller(const systems::Bodies<n>& view, const ControlPlan& plan);

// Returns the channel `control` of a trajectory with `nodes` rows.
Channel control_channel(int dimension, int nodes);
// Returns the row of the channel `control` at a state.
template <int n>
Eigen::RowVectorXd control_row(const rigid::Controller<n>& controller, double t, rigid::Frames<n> frames,
                               std::span<const rigid::Twist<n>> twists);

}  // namespace dodyn::evaluators::simulation
