// An optimised motion driven through the contact simulation: its controls, held constant over an interval as optimal
// control held them, push the bodies of its model (systems/bodies.hpp) from its first state on.
//
// What stands does so by a point joint where the foot was put down, or in contact with the ground. The foot that comes
// down is a narrow wedge (in space a pyramid) whose apex is the model's point; it lands on the ground plastically and
// with friction. A regulator keeps the motion near the one that was planned, where it is asked for; what is measured is
// how far it is off, and what the regulator had to add.
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
  double step = 1e-3;       // s, at most: an interval of the motion is a whole number of steps
  double friction = 0.8;    // between feet and ground
  double max_delay = 0.25;  // how much longer than planned a foot is waited for, of the motion's duration
};
const KeyTable<RolloutSettings>& rollout_keys();

// A motion as it was found: its phases in their order.
struct PlannedMotion {
  struct Phase {
    std::string name;
    bool stands = false;    // whether the origin of the first link stays where it is, a foot on the ground
    double interval = 0.0;  // h, s
    Eigen::MatrixXd q;      // [K + 1, coordinates]
    Eigen::MatrixXd p;      // [K + 1, coordinates] discrete momenta: leaving the first node, arriving at the others
    Eigen::MatrixXd u;      // [K, actuators]
    // The foot that comes down at the end of the phase.
    std::optional<systems::Place<double>> landing = std::nullopt;
    double duration() const { return interval * static_cast<double>(u.rows()); }
  };
  std::vector<Phase> phases;
  double limit = std::numeric_limits<double>::infinity();  // of every control, besides those of actuators
  double loss = not_a_number;                              // kinetic energy that landings take, J
};

// What became of it.
struct Rollout {
  struct Landing {
    std::string phase;                      // that it ends
    double time = 0.0, planned_time = 0.0;  // s
    Eigen::VectorXd place, planned_place;   // of the foot, m
    double loss = 0.0;           // kinetic energy that it took, J: of all contacts in the step in which it touched
    double impulse = 0.0;        // of the ground on the foot, normal, N s
    double other_impulse = 0.0;  // on other feet in that step, N s
    double miss() const { return (place - planned_place).norm(); }
  };
  std::vector<Landing> landings;
  double departure = 0.0;  // largest difference of a coordinate at a node of the motion
  int departed = 0;        // which coordinate
  double departed_at = 0.0;
  double correction = 0.0;  // largest that feedback added to a control
  double slip = 0.0;        // farthest that a foot which should stand was from its place, m
  double scuff = 0.0;       // how deep the foot that swings was under the ground before it came down, m
  double time = 0.0;        // when it ended, s
  std::string failure;      // empty, or why it did not come to its end
  Channels channels;        // t, q, v, u, points, energy
  Trajectory trajectory;
};

// Throws ConfigError where a world of bodies cannot express the model or what stands.
Rollout rollout(const systems::Model& model, const systems::Values<double>& values, const PlannedMotion& motion,
                const RolloutSettings& settings);

// Returns the rollout as text.
Simulated to_simulated(const Rollout& rollout, const systems::Model& model, const PlannedMotion& motion,
                       const RolloutSettings& settings);

}  // namespace dodyn::evaluators
