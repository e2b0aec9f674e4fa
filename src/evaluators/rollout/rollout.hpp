// Applies the controls of an optimised motion in the contact simulation, from the motion's first state. The controls
// are constant over an interval, as in the optimisation; they act on the bodies of the model (systems/bodies.hpp).
//
// A standing foot has a point joint at its touch-down position, or is in contact with the ground. The foot that touches
// down is a narrow wedge (in space a pyramid) whose apex is the model's point. Its impact on the ground is plastic and
// has friction. An optional regulator keeps the motion near the planned one. Results are the deviation from the plan,
// and the controls that the regulator added.
#pragma once

#include <Eigen/Core>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "evaluators/simulated.hpp"
#include "record/evaluation.hpp"
#include "settings/key_table.hpp"
#include "systems/model.hpp"

namespace dodyn::evaluators {

struct RolloutSettings {
  enum class Stance { joint, contact };
  Stance stance = Stance::joint;
  enum class Feedback { none, regulator };
  Feedback feedback = Feedback::regulator;
  double step = 1e-3;     // largest step, s: an interval of the motion is a whole number of steps
  double friction = 0.8;  // between feet and ground
};
const KeyTable<RolloutSettings>& rollout_keys();

// A planned motion: its phases in their order.
struct PlannedMotion {
  struct Phase {
    std::string name;
    bool stands = false;    // the origin of the first link is fixed: a foot stands on the ground
    double interval = 0.0;  // interval h, s
    Eigen::MatrixXd q;      // [K + 1, coordinates]
    Eigen::MatrixXd p;      // [K + 1, coordinates] discrete momenta: just after the first node, just before later nodes
    Eigen::MatrixXd u;      // [K, actuators]
    // The foot that touches down at the end of the phase.
    std::optional<systems::Place<double>> landing = std::nullopt;
    double duration() const { return interval * static_cast<double>(u.rows()); }
  };
  std::vector<Phase> phases;
  double limit = std::numeric_limits<double>::infinity();  // limit of every control, besides the actuators' limits
  double loss = not_a_number;                              // kinetic energy lost at touch-downs, J
};

// Result of a rollout.
struct Rollout {
  struct Landing {
    std::string phase;                      // the phase that the touch-down ends
    double time = 0.0, planned_time = 0.0;  // s
    Eigen::VectorXd place, planned_place;   // position of the foot, m
    double loss = 0.0;                      // kinetic energy lost in the step of the touch-down, by all contacts, J
    double impulse = 0.0;                   // normal impulse of the ground on the foot, N s
    double other_impulse = 0.0;             // impulse on other feet in that step, N s
    double miss() const { return (place - planned_place).norm(); }
  };
  std::vector<Landing> landings;
  double deviation = 0.0;    // largest deviation of a coordinate at a node
  int worst_coordinate = 0;  // index of that coordinate
  double deviation_time = 0.0;
  double correction = 0.0;        // largest feedback on a control
  double slip = 0.0;              // largest distance of a standing foot from its position, m
  double foot_penetration = 0.0;  // largest depth of the swing foot below the ground before touch-down, m
  double time = 0.0;              // end of the rollout, s
  std::string failure;            // why it ended early; empty: it reached the end
  Channels channels;              // t, q, v, u, points, energy
  Trajectory trajectory;
};

// Applies the controls of a motion in the contact simulation. Throws ConfigError if a world of bodies cannot express
// the model or its standing foot.
Rollout rollout(const systems::Model& model, const systems::Values<double>& values, const PlannedMotion& motion,
                const RolloutSettings& settings);

// Returns the rollout with its report.
Simulated to_simulated(const Rollout& rollout, const systems::Model& model, const PlannedMotion& motion,
                       const RolloutSettings& settings);

}  // namespace dodyn::evaluators
