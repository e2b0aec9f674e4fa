// The controls of a motion that was found, driven forward by the contact simulation: other code for the same bodies, which
// knows neither the rows of the optimisation nor its planes, and finds contacts by itself.
#pragma once

#include <optional>

#include "evaluators/motion/design.hpp"
#include "evaluators/simulated.hpp"

namespace dodyn::evaluators {

struct Forward {
  double departure = 0.0;  // largest distance of a body's centre of mass at a node from where it was planned, m,
  double turned = 0.0;     // largest angle between a body's attitude and the planned one, rad
  double overlap = 0.0;    // deepest, at nodes, m; below zero: the least distance that was looked at
  std::vector<std::pair<double, double>> impacts;  // steps in which bodies pushed each other: from, to, s
  double impact_energy = 0.0;                      // that impacts took, J, <= 0
  int cuts = 0;                                    // steps that the simulation cut in two or more
  double time = 0.0;                               // how far it came, s
  std::string failure;                             // empty, or why it did not come to its end
  std::string note;                                // what was not driven
  // Where bodies that graze each other pushed or cut steps, and no contact was planned: departures without any contact.
  std::optional<std::pair<double, double>> untouched;
  Channels channels;  // t, q, u, energy
  Trajectory trajectory;
};

// `motion`: t, q, p, u ... as the evaluator's channels have them. `steps`: of the simulation, an interval; 1: the intervals are
// its steps. Throws ConfigError where a world of bodies cannot express the model.
Forward drive(const MotionDesigns& designs, const Eigen::VectorXd& design, const Trajectory& motion, int steps);
// Returns the deviations as text.
Simulated to_simulated(const Forward& forward, int steps);

}  // namespace dodyn::evaluators
