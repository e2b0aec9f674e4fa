// Integrates the continuous equations of motion with a plan's controls: M(q) a = dL/dq - (d/dt M) v + forces, by the
// pair of Dormand and Prince (1980) with error control. It does not use the transcription, so its deviation from the
// plan measures the discretisation error of the plan's mesh. Holds of a phase
// (dmoc/position_constraint.hpp) add forces along their slopes G, such that G a + (d/dt G) v = 0.
//
// An unstable system amplifies the smallest difference. So a second integration adds feedback at every node, by the
// regulator of rollout/feedback.hpp with derivatives of the continuous equations. Its deviation is the distance to a
// motion that the machine can make.
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "dmoc/motion_problem.hpp"
#include "evaluators/rollout/feedback.hpp"
#include "record/evaluation.hpp"

namespace dodyn::evaluators {

// A phase of a plan, as its archive has it: coordinates without references, momenta along the joints' axes.
struct PlannedPhase {
  std::vector<int> held = {};
  double interval = 0.0;  // s
  Eigen::MatrixXd q;      // [K + 1, n]
  Eigen::MatrixXd p;      // [K + 1, n], just after the first node, just before later nodes
  Eigen::MatrixXd u;      // [K, actuators], constant in each interval; of higher orders [Kd], at the quadrature points
  bool restarts = true;   // the integration restarts at the first node of this phase, not at the end of the previous
                          // phase
  std::vector<dmoc::PositionConstraint> holds = {};
  int order = 2;  // of the plan (dmoc/scheme.hpp): its controls are polynomials of degree order/2 - 1
};

struct Deviation {
  // Largest difference of a coordinate from the plan (for a spherical joint: the angle between attitudes), m or rad.
  // at_end: at the last node before each restart and at the end of the last phase; largest: at any node. NaN: nothing
  // was integrated; infinite: the integration failed.
  double at_end = not_a_number, largest = not_a_number;
  // With feedback: the largest difference at any node, m or rad, and the largest correction of a control, N or N m.
  double tracked = not_a_number, correction = not_a_number;
};

// Returns lines for a report. `note`: the restarts and the phases that were not integrated, or empty.
std::string deviation_text(const Deviation& deviation, const std::string& note);

// Integrates the phases without and with feedback, and returns the deviations from the plan. `numbers`: parameters of
// the model. No phases: all deviations are NaN.
Deviation drive_continuously(const dmoc::System& system, const std::vector<double>& numbers,
                             const std::vector<PlannedPhase>& phases);

// Integrates the equations under the controls from the first node of the first phase. Returns the coordinates of each
// phase at its knots, one matrix [Kd + 1, n] per phase; empty: the integration failed. `rates`: initial rates, [n]; the
// plan's rate replaces each rate that is not finite. Less accurate than drive_continuously(), for initial guesses of
// models without spherical joints. Impacts between phases are left out.
std::vector<Eigen::MatrixXd> simulate_controls(const dmoc::System& system, const std::vector<double>& numbers,
                                               const std::vector<PlannedPhase>& phases, const Eigen::VectorXd& rates);

// The feedback of a phase at its nodes, with which Deviation::tracked is computed. The deviations x of Feedback are
// differences of the moving coordinates and rates from the plan; for spherical joints relative to the planned attitude
// of the node (dmoc/attitudes.hpp).
struct PhaseFeedback {
  std::vector<int> moving;
  Eigen::MatrixXd v;           // [K + 1, n] planned rates; for spherical joints about the planned attitude
  std::vector<Feedback> laws;  // [K]; empty: nothing is actuated, or an interval cannot be integrated
};
// Returns the feedback of each phase at its nodes. `numbers`: parameters of the model.
std::vector<PhaseFeedback> plan_feedback(const dmoc::System& system, const std::vector<double>& numbers,
                                         const std::vector<PlannedPhase>& phases);

}  // namespace dodyn::evaluators
