// A plan's controls driven forward through the continuous equations of motion: M(q) a = dL/dq - (d/dt M) v + forces, by the
// pair of Dormand and Prince (1980) with error control. The transcription's differences have no part in it, so how far it
// departs from the plan is what the plan's mesh leaves out. What a phase holds besides coordinates adds forces along its slopes G,
// with G a + (d/dt G) v = 0.
//
// An unstable system enlarges the smallest difference, so a second drive corrects the controls at every node, by the
// regulator of rollout/feedback.hpp about the plan, with slopes of the continuous equations. What is left then is the
// distance to a motion that the machine can make.
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "dmoc/motion_problem.hpp"
#include "record/evaluation.hpp"

namespace dodyn::evaluators {

// A phase of a plan, as its archive has it: coordinates about no reference, momenta along the axes that joints stand in.
struct PlannedPhase {
  std::vector<int> held = {};
  double interval = 0.0;               // s
  Eigen::MatrixXd q;                   // [K + 1, n]
  Eigen::MatrixXd p;                   // [K + 1, n], leaving the first node, arriving at the others
  Eigen::MatrixXd u;                   // [K, actuators], constant over an interval
  bool restarts = true;                // begins at its own first node, not where the phase before it ended
  std::vector<dmoc::Hold> holds = {};  // besides coordinates
};

struct Departure {
  // Largest difference of a coordinate (of a joint of three turns: the angle between attitudes), m or rad: at the end of
  // phases after which the next one restarts, and at any node. Not a number: nothing was driven; infinite: it has no end.
  double at_end = not_a_number, largest = not_a_number;
  // The same at any node, m or rad, with feedback; and the largest control that feedback adds, N or N m.
  double tracked = not_a_number, correction = not_a_number;
};

// A report's lines. `note`: where it restarted and what was not driven, or empty.
std::string departure_text(const Departure& departure, const std::string& note);

// `numbers`: the model's.
Departure drive_continuously(const dmoc::System& system, const std::vector<double>& numbers,
                             const std::vector<PlannedPhase>& phases);

}  // namespace dodyn::evaluators
