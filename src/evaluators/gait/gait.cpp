#include "evaluators/gait/design.hpp"
#include "evaluators/kinds.hpp"
#include "evaluators/motion/metrics.hpp"
#include "evaluators/motion/motion.hpp"

namespace dodyn::evaluators {

namespace {

const KeyTable<MotionSearch>& gait_search_keys() {
  static const KeyTable<MotionSearch> table = [] {
    MotionSearch defaults;
    defaults.shifts = 3;
    defaults.mesh = {.accuracy = 0.1, .refinements = 3};
    defaults.options.max_iterations = 300;
    return search_keys("gait.", "rad", defaults);
  }();
  return table;
}

}  // namespace

// Returns the table of the keys, in the order of --help.
const KeyTable<GaitKeys>& gait_keys() {
  using K = GaitKeys;
  using G = dmoc::GaitSettings;
  const auto gait = members_of(&K::gait);
  const auto limit = [](const char* unit, const char* description) {
    Key key = or_word("none", nlp::infinity, number(from(0, 1e6), unit, description));
    key.zero_means_named = true;
    return key;
  };
  static const auto table =
      KeyTable<K>("gait.")
          .add("model", &K::model,
               {.type = Type::path,
                .description = "the walker; planar-biped, planar-underactuated (no torque at the ground), "
                               "spatial-biped, another shipped model with a swing-foot, or a model file "
                               "(docs/walkers.md)"})
          .add("intervals", gait(&G::intervals), number(from(4, 10000), "number of time intervals of one step"))
          .add("order", &K::order, {{"2", 2}, {"4", 4}, {"6", 6}},
               {.description = "order of the integrator; the error falls with this power of the interval; an interval "
                               "has order/2 controls, and order/2 - 1 knots between its nodes"})
          .add("work-rule", gait(&G::work_at_ends), {{"ends", true}, {"intervals", false}},
               {.description = "work of a torque over a time step; ends: from the joint's rates at both ends; "
                               "intervals: from the change of the angle, so that a joint which does not turn costs "
                               "nothing; orders 4 and 6 add up quadrature points"})
          .add("torque-limit", gait(&G::torque_limit),
               limit("N m", "limit of every torque, in addition to the limits of the model's actuators"))
          .add("joint-speed-limit", gait(&G::rate_limit), limit("rad/s", "limit of the speed of every joint"))
          .add("joint-limits", &K::frees_joints, {{"model", false}, {"none", true}},
               {.description =
                    "ranges of the joints; model: those of its [joint-limit] sections; none: joints turn freely"})
          .add("knee-stops", gait(&G::knee_stops),
               {.description = "knees bend only in the direction of the model's [knee] sections"})
          .add("clearance", gait(&G::clearance),
               number(from(0, 1), "m",
                      "height that the swing foot must reach in mid-swing; at the fraction s of the step it must reach "
                      "4 s (1 - s) times this"))
          .add("clearance-points", gait(&G::clearance_points),
               number(from(0, 100), "number of points between nodes (and knots) at which the clearance applies"))
          .add("leg-radius", gait(&G::leg_radius),
               number(from(0, 1), "m",
                      "smallest distance of each leg from the mid-plane between the hips; less near a hip; walkers in "
                      "space; 0: legs may cross"))
          .add("contact", &K::ground,
               {{"free", K::Ground::free},
                {"unilateral", K::Ground::unilateral},
                {"friction-cone", K::Ground::friction_cone}},
               {.description = "forces of the ground; free: any; unilateral: no pull; friction-cone: no pull and no "
                               "slip (gait.friction)"})
          .add("friction", &K::friction,
               number(above(0, 100), "1",
                      "coefficient of friction, at touch-down too, with contact = friction-cone; in space a pyramid of "
                      "eight sides inside the cone"));
  return table;
}

EvaluatorKind gait_kind() {
  EvaluatorKind kind;
  kind.name = "gait";
  kind.description = "cost of transport of the best periodic gait of a walker";
  kind.variables = gait_variables;
  kind.keys = gait_keys().keys();
  for (const auto& keys : {gait_search_keys().keys(), rollout_keys().keys()})
    kind.keys.insert(kind.keys.end(), keys.begin(), keys.end());
  kind.sections = {
      {.kind = "parameters",
       .any_key = true,
       .description = "further parameters: NAME = an expression of parameters and earlier entries; step-length, period "
                      "and step-width may be such a NAME"},
      {.kind = "cost",
       .any_key = true,
       .description = "weights of the cost; without this section squared-torque = 1; absolute-work, positive-work, "
                      "squared-torque, loss = "
                      "weight; any other NAME = an expression whose integral over the step is added"},
      {.kind = "require",
       .any_key = true,
       .description = "NAME = a condition of parameters (judges a design) or of the motion (a constraint)"},
      motion_metrics_section()};
  kind.idle = idle_gait_keys;
  kind.make = [](const Settings& settings) {
    return make_motion_evaluator(settings, std::make_shared<GaitDesigns>(settings), gait_search_keys());
  };
  return kind;
}

}  // namespace dodyn::evaluators
