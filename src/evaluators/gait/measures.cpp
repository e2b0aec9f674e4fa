// Metrics, examination and report of gaits.
#include <cmath>
#include <utility>

#include "evaluators/gait/design.hpp"
#include "evaluators/motion/trajectory.hpp"
#include "record/text.hpp"

namespace dodyn::evaluators {

std::vector<Measure> GaitDesigns::measures(const MetricInputs* seen) const {
  using dmoc::GaitReport;
  static const std::vector<std::pair<Quantity, double GaitReport::*>> columns = {
      {{"absolute_work", "J", "absolute work of all joints, by gait.work-rule"}, &GaitReport::absolute_work},
      {{"positive_work", "J", "positive work of all joints, by gait.work-rule"}, &GaitReport::positive_work},
      {{"signed_work", "J", "work of all joints, torque times change of angle, as in the equations of motion"},
       &GaitReport::signed_work},
      {{"squared_torque", "N2 m2 s", "integral of the squared torques"}, &GaitReport::squared_torque},
      {{"max_torque", "N m", "largest torque"}, &GaitReport::max_torque},
      {{"min_normal_force", "N", "smallest normal force of the ground on the stance foot; negative: it would pull"},
       &GaitReport::min_normal_force},
      {{"max_friction_ratio", "1", "largest |tangential| / normal contact force; infinite where the ground would pull"},
       &GaitReport::max_friction_ratio},
      {{"normal_impulse", "N s", "normal impulse on the new foot at touch-down"}, &GaitReport::normal_impulse},
      {{"impulse_friction_ratio", "1", "|tangential| / normal impulse at touch-down"},
       &GaitReport::impulse_friction_ratio},
      {{"min_clearance", "m", "smallest height of the swing foot at inner nodes"}, &GaitReport::min_clearance},
      {{"max_foot_penetration", "m", "largest depth of the swing foot under the ground, between nodes too"},
       &GaitReport::max_foot_penetration},
      {{"scrape", "m", "horizontal path length of the swing foot while it is lower than 1 mm, between nodes too"},
       &GaitReport::scrape},
      {{"foot_way", "m", "horizontal path length of the swing foot"}, &GaitReport::foot_path},
      {{"min_knee_flexion", "rad", "smallest flexion of a knee; negative: it overextends"},
       &GaitReport::min_knee_flexion},
      {{"max_knee_flexion", "rad", "largest flexion of a knee"}, &GaitReport::max_knee_flexion},
      {{"max_joint_step", "rad", "largest rotation of a joint in one time step"}, &GaitReport::max_joint_step},
      {{"max_foot_height", "m", "largest height of the swing foot"}, &GaitReport::max_foot_height},
      {{"max_torque_jump", "N m",
        "largest amount by which a torque exceeds its values in both neighbouring time steps"},
       &GaitReport::max_torque_jump},
      {{"min_leg_distance", "m", "smallest distance of links of different legs, at nodes and between them"},
       &GaitReport::min_leg_distance},
      {{"leg_crossings", "1",
        "number of time steps in which the legs are closer than 1.8 gait.leg-radius; in the plane, or if it is 0: in "
        "which links cross"},
       &GaitReport::leg_crossings},
      {{"leg_order_violations", "1",
        "number of time steps in which, seen from the side, the swing leg passes the stance leg on its wrong side; "
        "walkers in space"},
       &GaitReport::leg_order_violations},
      {{"energy_balance", "J",
        "signed work, plus work of gravity on a slope, less impact loss; without dampers and other forces it vanishes "
        "as the mesh is refined"},
       &GaitReport::energy_balance},
  };
  GaitReport report;
  if (seen) report = problem(seen->design, gait_.intervals).report(seen->solved.solution.x);
  std::vector<Measure> all;
  for (const auto& [quantity, member] : columns) all.push_back({quantity, seen ? report.*member : not_a_number});
  return all;
}

ExaminedQuantities GaitDesigns::examined(const Eigen::VectorXd& design, const Trajectory& trajectory,
                                         const MetricOf& metric) const {
  ExaminedQuantities m;
  m.smallest_knee_flexion = metric("min_knee_flexion");
  m.largest_knee_flexion = metric("max_knee_flexion");
  m.pull = -metric("min_normal_force");
  m.pulls_at_touch_down = metric("normal_impulse") < -1e-9;
  if (!may_cross()) m.close_legs = static_cast<int>(metric("leg_crossings"));
  m.leg_order_violations = static_cast<int>(metric("leg_order_violations"));
  m.foot_penetration = metric("max_foot_penetration");
  m.scrape = metric("scrape");
  m.foot_path = metric("foot_way");
  m.turn = metric("max_joint_step");
  m.work = metric("absolute_work");
  if (system().simply_actuated()) m.balance = metric("energy_balance");
  m.lift = metric("max_foot_height");
  m.spike = metric("max_torque_jump");
  m.largest_control = metric("max_torque");
  if (!trajectory.empty() && !std::isfinite(gait_.torque_limit)) {
    using C = MotionChannel;
    const auto& values = trajectory.values;
    m.actuator_efforts = actuator_efforts(system().model().tree<double>(plain(design).numbers), values[C::time].col(0),
                                          values[C::coordinates], values[C::controls], has_cost());
  }
  return m;
}

std::string GaitDesigns::report(const MetricOf& metric) const {
  std::string s;
  const auto line = [&](const std::string& words) { s += "  " + words + "\n"; };
  s += "work and torque\n";
  line(formatted("absolute work %.5g J, positive %.5g J, signed %.5g J", metric("absolute_work"),
                 metric("positive_work"), metric("signed_work")));
  line(formatted("integral of squared torque %.5g N2 m2 s, largest torque %.4g N m", metric("squared_torque"),
                 metric("max_torque")));
  line(formatted("impact loss %.5g J; energy balance %.1e J (signed work less impact loss, %s)", metric("impact_loss"),
                 metric("energy_balance"),
                 system().simply_actuated() ? formatted("vanishes as h^%d", system().scheme().order()).c_str()
                                            : "what dampers and other forces take"));
  s += "feasibility\n";
  const double normal = metric("min_normal_force"), friction = metric("max_friction_ratio");
  line(normal > 0.0 ? formatted("contact force: normal at least %.4g N, friction ratio at most %.3f", normal, friction)
                    : formatted("contact force: NOT FEASIBLE, the ground would have to pull with %.4g N", -normal));
  const double impulse = metric("normal_impulse");
  line(impulse > 0.0
           ? formatted("touch-down impulse: normal %.4g N s, friction ratio %.3f", impulse,
                       metric("impulse_friction_ratio"))
           : formatted("touch-down impulse: NOT FEASIBLE, the ground would have to pull with %.4g N s", -impulse));
  line(formatted("swing foot at least %.2e m above the ground at inner nodes, at most %.2e m under it between nodes",
                 metric("min_clearance"), metric("max_foot_penetration")));
  const double flexion = metric("min_knee_flexion");
  line(formatted("smallest knee flexion %.3f rad", flexion) +
       (flexion >= -1e-8   ? ""
        : gait_.knee_stops ? " (the knee stops are violated)"
                           : " (a knee overextends; gait.knee-stops = true prevents it)"));
  if (walker().base == 2)
    line(formatted("legs cross in %.0f of %.0f time steps (they may, in the plane)", metric("leg_crossings"),
                   metric("intervals")));
  else if (gait_.leg_radius == 0.0)
    line(formatted("legs at least %.4f m apart (set gait.leg-radius to keep them apart)", metric("min_leg_distance")));
  else
    line(formatted(
        "legs at least %.4f m apart, between nodes too; closer than 1.8 gait.leg-radius in %.0f of %.0f time steps",
        metric("min_leg_distance"), metric("leg_crossings"), metric("intervals")));
  return s;
}

namespace {

std::vector<std::string> force_names(int base) {
  return base == 2 ? std::vector<std::string>{"tangential", "normal"}
                   : std::vector<std::string>{"forward", "left", "normal"};
}

}  // namespace

MotionDescription::Forces GaitDesigns::forces() const {
  return {"contact_force", "N", "force of the ground on the stance foot", walker_->feet(), force_names(walker_->base)};
}

Channels GaitDesigns::more_channels() const {
  return {{"impulse", "N s", "impulse of the ground on the new foot at touch-down", 1, force_names(walker_->base)}};
}

std::vector<Eigen::MatrixXd> GaitDesigns::more_values(const MetricInputs& seen) const {
  return {seen.motion.events.front().impulse.head(walker_->base).transpose()};
}

}  // namespace dodyn::evaluators
