// Examines a solved motion or gait for violations that the optimisation does not exclude: those by the machine, the
// ground or the mesh. Returns warnings. The limits are in docs/walkers.md, "What is examined".
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "dmoc/path_function.hpp"
#include "record/evaluation.hpp"

namespace dodyn::evaluators {

struct Finding {
  enum class Severity {
    suspicious,  // usable, but check it
    impossible,  // impossible for a leg or the ground
    unresolved   // the mesh is too coarse
  } severity;
  std::string words;
};

// Effort of an actuator without a limit.
struct ActuatorEffort {
  std::string actuator;
  double largest = 0.0;    // largest magnitude, N or N m
  double reference = 0.0;  // effort for the weight and a steady motion
  bool has_cost = true;    // whether the cost depends on this actuator
};

// Admissible violation of the margin between parts, between nodes, relative to the width of the thinner part. Above it
// the mesh is refined.
inline constexpr double overlap_limit = 0.01;

// Quantities of a motion that are examined. Not a number: the quantity does not apply.
struct ExaminedQuantities {
  double smallest_knee_flexion = not_a_number, largest_knee_flexion = not_a_number;  // rad
  double pull = not_a_number;  // largest force by which the ground would have to pull a foot, N
  bool pulls_at_touch_down = false;
  int close_legs = 0, leg_order_violations = 0;  // number of time steps
  double foot_penetration = not_a_number;        // largest depth of a foot under the ground, m
  double scrape = not_a_number;                  // path length of a foot that is lower than dmoc::scrape_height, m
  double foot_path = not_a_number;               // total path length of that foot, m
  double overlap = not_a_number;  // largest violation of the margin between parts, relative to the thinner one
  std::string overlap_text = {};  // describes that violation
  double turn = not_a_number;     // largest change of a joint's angle in one time step, rad
  double work = not_a_number;     // absolute work of the actuators, J
  double balance = not_a_number;  // work minus the change of energy and the losses, J
  double lift = not_a_number;     // largest height of a walker's foot, m
  double spike = 0.0;             // excess of a control over its values in both neighbouring time steps, N or N m
  double largest_control = 0.0;   // reference of `spike`, see examine_controls()
  std::vector<ActuatorEffort> actuator_efforts = {};
  struct Accuracy {
    double allowed = 0.0;           // allowed value of `tracked`, m or rad; 0: any
    double tracked = not_a_number;  // Deviation::tracked (evaluators/continuous.hpp)
    double intervals = 0.0;
    std::string evaluator;
  } accuracy = {};
};

std::vector<Finding> examine(const ExaminedQuantities& motion);

// Finds the control with the largest excess over its values in both neighbouring time steps, relative to its reference.
// The reference is the largest control of its kind (force or torque), or the actuator's limit if that is smaller.
// u: [rows, actuators]; a phase has one row more than intervals.
void examine_controls(const systems::Tree<double>& tree, const Eigen::MatrixXd& u, const std::vector<int>& intervals,
                      ExaminedQuantities& motion);

// Adds the findings to the reason of an evaluation that is ok, as "warning: ...; ...". If `rejects`, an impossible
// motion becomes infeasible, and one that its mesh does not resolve becomes not_converged. Both then lose their
// gradient, and the reason begins with the findings that refuse them.
void judge(const std::vector<Finding>& findings, bool rejects, Evaluation& evaluation);

// Returns a reason that begins with this warning.
std::string with_warning(const std::string& words, const std::string& reason);

// Returns the lines of a report: a title and the findings, or "none".
std::string warnings_text(const std::vector<Finding>& findings);

// Returns the efforts of the actuators without a limit. t: [nodes], s; q: [nodes, coordinates]; u: [rows, actuators];
// `has_cost`: [actuators]. The reference is the largest load of all coordinates of the actuator's kind (slide or turn):
// weight, springs and inertia times acceleration. The acceleration is the larger of 4 x range/duration^2 (from rest to
// rest) and 2 x speed^2/range (oscillation). For an actuator at a point, the reference is the control that overcomes
// the load of a coordinate. Actuators whose reference is zero are left out.
std::vector<ActuatorEffort> actuator_efforts(const systems::Tree<double>& tree, const Eigen::VectorXd& t,
                                             const Eigen::MatrixXd& q, const Eigen::MatrixXd& u,
                                             const std::vector<bool>& has_cost);

// Returns for every actuator whether the cost depends on it: by `all`, by resistive losses, or by a formula.
std::vector<bool> have_cost(const systems::Tree<systems::Number>& tree, bool all, bool losses,
                            const std::vector<dmoc::PathFunction>& costs);

}  // namespace dodyn::evaluators
