// Applies the controls of a solved motion in the contact simulation, as an independent check. The simulation is
// separate code for the same bodies. It does not use the rows of the optimisation or its planes, and detects contacts
// itself.
#pragma once

#include <optional>

#include "evaluators/motion/phased_motion.hpp"
#include "evaluators/simulated.hpp"

namespace dodyn::evaluators {

struct OpenLoopRun {
  double max_position_error = 0.0;  // largest distance of a centre of mass from its planned position at a node, m
  double max_angle_error = 0.0;     // largest angle between a body's attitude and the planned one, rad
  double overlap = 0.0;             // largest overlap at nodes, m; negative: minus the smallest distance found
  std::vector<std::pair<double, double>> impacts;  // time intervals (from, to) with contact, s
  double impact_energy = 0.0;                      // energy lost by impacts, J, <= 0
  int cuts = 0;                                    // number of steps that the simulation divided
  double time = 0.0;                               // end of the simulation, s
  std::string failure;                             // why it ended early; empty: it reached the end
  std::string note;                                // parts of the plan that were not simulated
  // Deviations (m, rad) of a second simulation without contacts. Set if no contact was planned, but contact forces
  // acted or a step was divided.
  std::optional<std::pair<double, double>> without_contacts;
  Channels channels;  // t, q, u, energy
  Trajectory trajectory;
};

// Runs the simulation. `motion`: the evaluator's trajectory, channels t, q, p, u, ... `steps`: number of simulation
// steps per interval. Throws ConfigError if the model cannot be expressed as a world of bodies.
OpenLoopRun simulate_open_loop(const PhasedMotion& plan, const Eigen::VectorXd& design, const Trajectory& motion,
                               int steps);
// Returns the trajectory of the run, with its deviations as text.
Simulated to_simulated(const OpenLoopRun& forward, int steps);

}  // namespace dodyn::evaluators
