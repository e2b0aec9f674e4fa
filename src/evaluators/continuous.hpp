// A plan's controls driven forward through the continuous equations of motion: M(q) a = dL/dq - (d/dt M) v + forces, by the
// pair of Dormand and Prince (1980) with error control. The transcription's differences have no part in it, so how far it
// departs from the plan is what the plan's mesh leaves out.
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "dmoc/system.hpp"
#include "record/evaluation.hpp"

namespace dodyn::evaluators {

// A phase of a plan, as its archive has it: coordinates about no reference, momenta along the axes that joints stand in.
struct PlannedPhase {
  std::vector<int> held = {};
  double interval = 0.0;  // s
  Eigen::MatrixXd q;      // [K + 1, n]
  Eigen::VectorXd p;      // [n], leaving the first node
  Eigen::MatrixXd u;      // [K, actuators], constant over an interval
  bool restarts = true;   // begins at its own first node, not where the phase before it ended
};

struct Departure {
  // Largest difference of a coordinate (of a joint of three turns: the angle between attitudes), m or rad: at the end of
  // phases after which the next one restarts, and at any node. Not a number: nothing was driven; infinite: it has no end.
  double at_end = not_a_number, largest = not_a_number;
};

// A report's line. `note`: where it restarted and what was not driven, or empty.
std::string departure_text(double at_end, double largest, const std::string& note);

// `numbers`: the model's.
Departure drive_continuously(const dmoc::System& system, const std::vector<double>& numbers,
                             const std::vector<PlannedPhase>& phases);

}  // namespace dodyn::evaluators
