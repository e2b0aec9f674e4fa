#include "settings/renamed.hpp"

#include <algorithm>
#include <utility>

namespace dodyn {

namespace {

// Names before 1.0, and now: keys with their section, sections, words of choices, names in formulas, metrics and
// columns. An old name may have had several meanings; only those among the candidates are suggested.
constexpr std::pair<std::string_view, std::string_view> names[] = {
    {"clear", "avoid"},
    {"coil-fit.largest-distance", "coil-fit.max-distance"},
    {"coil-fit.least-distance", "coil-fit.min-distance"},
    {"coils.largest-distance", "coils.max-distance"},
    {"coils.least-distance", "coils.min-distance"},
    {"control.largest-force", "control.max-force"},
    {"control.largest-torque", "control.max-torque"},
    {"cost.among", "cost.given-outcome"},
    {"cost.effort", "cost.squared-control"},
    {"cost.failure-of", "cost.success"},
    {"cost.others", "cost.max-other-share"},
    {"decomposition", "projection"},
    {"deepest", "max_penetration"},
    {"driven", "rotor"},
    {"elastic.batch", "elastic.initial-states-per-task"},
    {"elastic.response", "elastic.contact-method"},
    {"elastic.start", "elastic.initial-state"},
    {"exact", "event-driven"},
    {"exchange", "reset"},
    {"for", "dwell"},
    {"free", "none"},
    {"gait.candidates", "gait.refine-count"},
    {"gait.examination", "gait.validity-check"},
    {"gait.parts", "gait.tasks"},
    {"gait.ranges", "gait.joint-limits"},
    {"gait.rate-limit", "gait.joint-speed-limit"},
    {"gait.start-seconds", "gait.time-limit-per-guess"},
    {"gait.starts", "gait.initial-guesses"},
    {"grow", "growth-steps"},
    {"hold", "fixed"},
    {"largest_control", "max_control"},
    {"largest_deviation", "max_deviation"},
    {"largest_friction_ratio", "max_friction_ratio"},
    {"largest_impulse", "max_impulse"},
    {"largest_knee_flexion", "max_knee_flexion"},
    {"largest_lift", "max_foot_height"},
    {"largest_overlap", "max_overlap"},
    {"largest_scuff", "max_foot_penetration"},
    {"largest_spike", "max_torque_jump"},
    {"largest_spin", "max_spin"},
    {"largest_torque", "max_torque"},
    {"largest_turn", "max_joint_step"},
    {"lost", "dissipated_energy"},
    {"motion.end", "hybrid.end"},
    {"motion.events", "hybrid.max-events"},
    {"motion.examination", "motion.validity-check"},
    {"motion.find", "hybrid.solve-for"},
    {"motion.first-start", "motion.first-guess"},
    {"motion.gradient", "hybrid.gradient"},
    {"motion.impacts", "hybrid.stop-after-impacts"},
    {"motion.jump", "hybrid.jump"},
    {"motion.k", "hybrid.projection-k"},
    {"motion.method", "hybrid.method"},
    {"motion.nodes", "hybrid.nodes"},
    {"motion.order", "hybrid.order"},
    {"motion.rest-speed", "hybrid.rest-speed"},
    {"motion.start-seconds", "motion.time-limit-per-guess"},
    {"motion.starts", "motion.initial-guesses"},
    {"motion.step", "hybrid.step"},
    {"motion.strides", "hybrid.max-strides"},
    {"motion.travels", "hybrid.translating-coordinates"},
    {"multiplier", "floquet_multiplier"},
    {"nonsmooth", "hybrid"},
    {"parent", "warm_start_id"},
    {"partner", "counterpart"},
    {"range", "joint-limit"},
    {"refuse", "reject"},
    {"replay", "rollout"},
    {"replay.feedback", "rollout.feedback"},
    {"replay.friction", "rollout.friction"},
    {"replay.stance", "rollout.stance"},
    {"replay.step", "rollout.step"},
    {"report", "warn"},
    {"seconds", "wall_time"},
    {"simulate", "simulated"},
    {"simulation.batch", "simulation.initial-states-per-task"},
    {"simulation.contact-drag", "simulation.contact-damping"},
    {"simulation.hold", "simulation.fixed"},
    {"simulation.largest-step", "simulation.max-step"},
    {"simulation.response", "simulation.contact-method"},
    {"simulation.start", "simulation.initial-state"},
    {"since_touch", "time_since_contact"},
    {"smallest_clearance", "min_clearance"},
    {"smallest_jacobian", "min_jacobian"},
    {"smallest_knee_flexion", "min_knee_flexion"},
    {"smallest_leg_distance", "min_leg_distance"},
    {"smallest_normal_force", "min_normal_force"},
    {"smf", "mesh-search"},
    {"start", "initial-state"},
    {"started", "start_time"},
    {"starts", "initial-states"},
    {"starts_solved", "guesses_solved"},
    {"strawman", "spline"},
    {"study.across", "study.scenario-aggregate"},
    {"study.attempts", "study.max-attempts"},
    {"study.copy", "study.snapshot"},
    {"study.duplicate-after", "study.speculate-after"},
    {"study.failure-minimum", "study.failure-rate-after"},
    {"study.grace", "study.grace-period"},
    {"study.silence", "study.heartbeat-timeout"},
    {"surrogate.designs", "surrogate.initial-designs"},
    {"surrogate.logarithmic", "surrogate.log-scale"},
    {"surrogate.repeat", "surrogate.replicate"},
    {"surrogate.samples", "surrogate.prior-evaluations"},
    {"surrogate.within", "surrogate.design-constraints"},
    {"tick", "impact_interval"},
    {"touched", "has_touched"},
    {"touching", "in_contact"},
    {"turn", "max-rotation"},
    {"way", "waypoint"},
    {"when", "guard"},
    {"wilson_high", "failure_rate_high"},
    {"wilson_low", "failure_rate_low"},
    {"wire", "constraint"},
    {"wrong_sides", "leg_order_violations"},
};

std::string_view rest_of(std::string_view name) { return name.substr(name.find('.') + 1); }

}  // namespace

std::string renamed(std::string_view name, const std::vector<std::string>& candidates) {
  const auto is_there = [&](std::string_view now) { return std::ranges::find(candidates, now) != candidates.end(); };
  for (const auto& [before, now] : names) {
    const bool bare = before.find('.') != before.npos && rest_of(before) == name;
    if ((before == name || bare) && is_there(now)) return std::string(now);
    // a key without its section, as in the file below `[section]`
    if (bare && is_there(rest_of(now))) return std::string(rest_of(now));
  }
  return "";
}

}  // namespace dodyn
