#include "evaluators/gait/metrics.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

namespace dodyn::evaluators {

namespace {

const std::vector<Quantity> all_metrics = {
    {"absolute_work", "J", "of all joints, as gait.work-rule says"},
    {"positive_work", "J", "its positive part"},
    {"signed_work", "J", "torque x change of angle, what the equations of motion take up"},
    {"squared_torque", "N2 m2 s", "integral of the squared torques"},
    {"max_torque", "N m", "largest torque"},
    {"min_normal_force", "N", "smallest normal force of the ground on the stance foot; negative: it would pull"},
    {"max_friction_ratio", "1", "largest |tangential| / normal contact force; infinite where the ground would pull"},
    {"normal_impulse", "N s", "normal impulse on the new foot at touch-down"},
    {"impulse_friction_ratio", "1", "|tangential| / normal impulse at touch-down"},
    {"min_clearance", "m", "least height of the swing foot at inner nodes"},
    {"max_foot_penetration", "m", "how far the swing foot gets under the ground, between nodes too"},
    {"scrape", "m", "way of the swing foot while it is lower than 1 mm, between nodes too"},
    {"foot_way", "m", "whole way of the swing foot along the ground"},
    {"min_knee_flexion", "rad", "least flexion of a knee; negative: it overextends"},
    {"max_knee_flexion", "rad", "largest flexion of a knee"},
    {"max_joint_step", "rad", "largest turn of a joint in one time step"},
    {"max_foot_height", "m", "largest height of the swing foot"},
    {"max_torque_jump", "N m", "largest torque of one time step over those of both its neighbours"},
    {"min_leg_distance", "m", "least distance of links of different legs, at nodes and between them"},
    {"leg_crossings", "1",
     "time steps in which it is below twice gait.leg-radius by more than a tenth; in the plane, where they may, in "
     "which links cross"},
    {"leg_order_violations", "1",
     "time steps in which, seen from the side, the swing leg passes the stance leg on its wrong side; in space"},
    {"impact_loss", "J", "kinetic energy lost at touch-down"},
    {"energy_balance", "J",
     "signed work, and that of gravity on a slope, less impact loss: what dampers and other forces take; without them "
     "it "
     "vanishes with the square of the time step"},
    {"reintegration_error", "rad",
     "largest difference of an angle when the difference scheme is re-solved forward from the first node"},
    {"end_error", "rad",
     "largest difference of an angle at touch-down when the torques drive the continuous equations of motion"},
    {"max_deviation", "rad", "the same at any node"},
    {"tracking_error", "rad", "the same at any node, where feedback corrects the torques at every node"},
    {"tracking_correction", "N m", "largest torque that this feedback adds"},
    {"kkt_residual", "1", "largest residual of the first-order optimality conditions"},
    {"iterations", "1", "iterations of the solver, all starts together"},
    {"guesses", "1", "initial guesses tried"},
    {"guesses_solved", "1", "starts that ended at a first-order optimal point"},
    {"best_start", "1", "start of the best gait: 0, 1, ... cold, -1 from the trajectory of the parent"},
    {"optima", "1", "distinct gaits that the starts ended at"},
    {"intervals", "1", "time steps of the mesh that the cost is of"},
    {"refinement_change", "1", "relative change of the cost by the last refinement; 0 where there was none"},
};

}  // namespace

const std::vector<Quantity>& gait_metrics() { return all_metrics; }

Eigen::Index gait_metric(std::string_view name) {
  for (std::size_t i = 0; i < all_metrics.size(); ++i)
    if (all_metrics[i].name == name) return static_cast<Eigen::Index>(i);
  throw std::logic_error("no metric '" + std::string(name) + "'");
}

Eigen::VectorXd metrics_of(const dmoc::GaitReport& r, const GaitFound& found) {
  Eigen::VectorXd metrics = Eigen::VectorXd::Constant(static_cast<Eigen::Index>(all_metrics.size()), not_a_number);
  const std::pair<const char*, double> values[] = {
      {"absolute_work", r.absolute_work},
      {"positive_work", r.positive_work},
      {"signed_work", r.signed_work},
      {"squared_torque", r.squared_torque},
      {"max_torque", r.largest_torque},
      {"min_normal_force", r.smallest_normal_force},
      {"max_friction_ratio", r.largest_friction_ratio},
      {"normal_impulse", r.normal_impulse},
      {"impulse_friction_ratio", r.impulse_friction_ratio},
      {"min_clearance", r.smallest_clearance},
      {"max_foot_penetration", r.largest_scuff},
      {"scrape", r.scrape},
      {"foot_way", r.foot_way},
      {"min_knee_flexion", r.smallest_knee_flexion},
      {"max_knee_flexion", r.largest_knee_flexion},
      {"max_joint_step", r.largest_turn},
      {"max_foot_height", r.largest_lift},
      {"max_torque_jump", r.largest_spike},
      {"min_leg_distance", r.smallest_leg_distance},
      {"leg_crossings", r.leg_crossings},
      {"leg_order_violations", r.wrong_sides},
      {"impact_loss", r.impact_loss},
      {"energy_balance", r.energy_balance},
      {"reintegration_error", r.reintegration_error},
      {"end_error", found.departure.at_end},
      {"max_deviation", found.departure.largest},
      {"tracking_error", found.departure.tracked},
      {"tracking_correction", found.departure.correction},
      {"kkt_residual", found.best->residuals.largest()},
      {"iterations", found.iterations},
      {"guesses", found.tried},
      {"guesses_solved", found.solved},
      {"best_start", found.best_start},
      {"optima", static_cast<double>(found.optima.size())},
      {"intervals", found.intervals},
      {"refinement_change", found.change},
  };
  for (const auto& [name, value] : values) metrics(gait_metric(name)) = value;
  return metrics;
}

Examined examined(const Eigen::VectorXd& metrics, bool may_cross, bool damped) {
  const auto metric = [&](const char* name) { return metrics(gait_metric(name)); };
  Examined m;
  m.smallest_knee_flexion = metric("min_knee_flexion");
  m.largest_knee_flexion = metric("max_knee_flexion");
  m.pull = -metric("min_normal_force");
  m.pulls_at_touch_down = metric("normal_impulse") < -1e-9;
  if (!may_cross) m.close_legs = static_cast<int>(metric("leg_crossings"));
  m.wrong_sides = static_cast<int>(metric("leg_order_violations"));
  m.scuff = metric("max_foot_penetration");
  m.scrape = metric("scrape");
  m.foot_way = metric("foot_way");
  m.turn = metric("max_joint_step");
  m.work = metric("absolute_work");
  if (!damped) m.balance = metric("energy_balance");
  m.lift = metric("max_foot_height");
  m.spike = metric("max_torque_jump");
  m.largest_control = metric("max_torque");
  return m;
}

}  // namespace dodyn::evaluators
