#include <cmath>

#include "evaluators/gait/design.hpp"
#include "evaluators/kinds.hpp"
#include "evaluators/motion/motion.hpp"
#include "record/text.hpp"

namespace dodyn::evaluators {

namespace {

Key real(const char* name, double value, const char* unit, const char* description, double minimum, double maximum,
         bool open_minimum = false) {
  return {std::string("gait.") + name, Type::real, to_text(value), unit, description, minimum, maximum, open_minimum};
}
// Returns the key of an optional limit.
Key limit(const char* name, double value, const char* unit, const char* description) {
  Key key = real(name, 0.0, unit, description, 0.0, 1e6);
  key.word = "none";
  key.named_number = nlp::infinity;
  key.zero_means_named = true;
  key.default_value = std::isfinite(value) ? to_text(value) : "none";
  return key;
}
Key boolean(const char* name, bool value, const char* description) {
  return {std::string("gait.") + name, Type::boolean, value ? "true" : "false", "", description};
}
Key integer(const char* name, int value, const char* description, double minimum, double maximum) {
  return {std::string("gait.") + name, Type::integer, std::to_string(value), "", description, minimum, maximum};
}
Key one_of(const char* name, const char* description, const std::vector<std::string>& words) {
  Key key{std::string("gait.") + name, Type::choice, words.front(), "", description};
  key.choices = words;
  return key;
}

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

std::vector<Key> gait_keys() {
  const dmoc::GaitSettings g;
  return {
      {"gait.model", Type::path, "planar-biped", "",
       "the walker; planar-biped, planar-underactuated (no torque at the ground), spatial-biped, another shipped model "
       "with a swing-foot, or a model file (docs/walkers.md)"},
      real("leg-length", 1, "m", "length of a leg, shank and thigh together", 0.1, 10.0),
      one_of("leg-mass-model",
             "masses of shank and thigh; uniform-density: linear-density times length; fixed-masses: shank-mass, "
             "thigh-mass; mass-split: leg-mass, divided by design.shank-fraction",
             {"uniform-density", "fixed-masses", "mass-split"}),
      real("linear-density", 5, "kg/m", "mass per length of a link, with leg-mass-model = uniform-density", 0.0, 1e3,
           true),
      real("shank-mass", 2, "kg", "mass of a shank, with leg-mass-model = fixed-masses", 0.0, 1e3, true),
      real("thigh-mass", 3, "kg", "mass of a thigh, with leg-mass-model = fixed-masses", 0.0, 1e3, true),
      real("hip-mass", 10, "kg", "mass of the hip, a point; of the walker planar-underactuated", 0.0, 1e3),
      real("inertia-factor", 0.041666666666666664, "1",
           "inertia of a link about its centre, over mass times length squared; planar walkers", 0.0, 1.0),
      one_of("rotation",
             "order of the rotations of stance shank and swing thigh; walker spatial-biped; z yaw, x roll, y pitch",
             {"ZXY", "XYZ", "YXZ", "XZY", "YZX", "ZYX"}),
      real("leg-mass", 5, "kg", "mass of a leg, shank and thigh, with leg-mass-model = mass-split", 0.0, 1e3, true),
      real("gravity", 9.81, "m/s2", "acceleration of gravity", 0.0, 100.0, true),
      integer("intervals", g.intervals, "number of time intervals of one step", 4, 10000),
      one_of("order",
             "order of the integrator; the error falls with this power of the interval; an interval has order/2 "
             "controls, and order/2 - 1 knots between its nodes",
             {"2", "4", "6"}),
      real("absolute-work", g.absolute_work, "1", "weight of the absolute work in the cost", 0.0, 1e6),
      real("positive-work", g.positive_work, "1", "weight of the positive work in the cost", 0.0, 1e6),
      real("squared-torque", g.squared_torque, "1/(N m s)", "weight of the integral of the squared torques in the cost",
           0.0, 1e6),
      one_of("work-rule",
             "work of a torque over a time step; ends: from the joint's rates at both ends; intervals: from the change "
             "of the angle, so that a joint which does not turn costs nothing; orders 4 and 6 add up quadrature points",
             {"ends", "intervals"}),
      limit("torque-limit", g.torque_limit, "N m",
            "limit of every torque, in addition to the limits of the model's actuators"),
      limit("joint-speed-limit", g.rate_limit, "rad/s", "limit of the speed of every joint"),
      one_of("joint-limits",
             "ranges of the joints; model: those of its [joint-limit] sections; none: joints turn freely",
             {"model", "none"}),
      boolean("knee-stops", g.knee_stops, "knees bend only in the direction of the model's [knee] sections"),
      real("clearance", g.clearance, "m",
           "height that the swing foot must reach in mid-swing; at the fraction s of the step it must reach 4 s (1 - "
           "s) times this",
           0.0, 1.0),
      integer("clearance-points", g.clearance_points,
              "number of points between nodes (and knots) at which the clearance applies", 0, 100),
      real("step-width", g.step_width.value, "m",
           "distance between the feet, across the direction of walking; walkers in space", 0.0, 2.0),
      real("leg-radius", g.leg_radius, "m",
           "smallest distance of each leg from the mid-plane between the hips; less near a hip; walkers in space; 0: "
           "legs may cross",
           0.0, 1.0),
      one_of("contact",
             "forces of the ground; free: any; unilateral: no pull; friction-cone: no pull and no slip (gait.friction)",
             {"free", "unilateral", "friction-cone"}),
      real("friction", 0.8, "1",
           "coefficient of friction, at touch-down too, with contact = friction-cone; in space a pyramid of eight "
           "sides inside the cone",
           0.0, 100.0, true),
  };
}

}  // namespace

EvaluatorKind gait_kind() {
  EvaluatorKind kind;
  kind.name = "gait";
  kind.description = "cost of transport of the best periodic gait of a walker";
  kind.variables = gait_variables;
  kind.keys = gait_keys();
  for (const auto& keys : {gait_search_keys().keys(), rollout_keys().keys()})
    kind.keys.insert(kind.keys.end(), keys.begin(), keys.end());
  kind.sections = {
      {.kind = "parameters",
       .any_key = true,
       .description = "further parameters: NAME = an expression of parameters and earlier entries; step-length, period "
                      "and step-width may be such a NAME"},
      {.kind = "cost",
       .any_key = true,
       .description =
           "weights of the cost, which replace those of [gait]; absolute-work, positive-work, squared-torque, loss = "
           "weight; any other NAME = an expression whose integral over the step is added"},
      {.kind = "require",
       .any_key = true,
       .description = "NAME = a condition of parameters (judges a design) or of the motion (a constraint)"}};
  kind.idle = idle_gait_keys;
  kind.make = [](const Settings& settings) {
    return make_motion_evaluator(settings, std::make_shared<GaitDesigns>(settings), gait_search_keys());
  };
  return kind;
}

}  // namespace dodyn::evaluators
