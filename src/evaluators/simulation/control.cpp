#include "evaluators/simulation/control.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>

#include "settings/key_table.hpp"

namespace dodyn::evaluators::simulation {
namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();

struct ControlKeys {
  std::string craft, receiver = "ground", docked, axis;
  double rate = 0.0;
  rigid::ControllerOptions options;
  std::uint64_t seed = 1;
};

const KeyTable<ControlKeys>& control_table() {
  using C = ControlKeys;
  const auto option = members_of(&C::options);
  const auto law = members_of(&C::options, &rigid::ControllerOptions::law);
  const auto curve = members_of(&C::options, &rigid::ControllerOptions::curve);
  const auto noise = [](const char* unit, const char* of) {
    return number(from(0, 1e3), unit,
                  std::string("standard deviation of the noise on the measured ") + of + ", per axis");
  };
  const auto limit = [](const char* unit) {
    return or_word("none", unlimited,
                   number(above(0, 1e9), unit, "largest command; a larger one is scaled down to it; none: no limit"));
  };
  using O = rigid::ControllerOptions;
  using L = rigid::ControlLaw;
  static const auto table =
      KeyTable<C>("control.")
          .add("craft", &C::craft,
               {.description = "the link that a controller flies to a port; empty: no controller (docs/control.md)"})
          .add("receiver", &C::receiver, {.description = "the link with the port, or ground"})
          .add("docked", &C::docked,
               {.description = "position (m) of the docked craft in the receiver's frame; expressions of the model's "
                               "parameters, separated by commas"})
          .add("axis", &C::axis,
               {.description = "direction out of the receiver's port, in the receiver's frame; the docked craft's x "
                               "axis points against it; empty: x"})
          .add("retraction", law(&L::retraction),
               {{"exponential", rigid::Retraction::exponential}, {"cayley", rigid::Retraction::cayley}},
               {.description = "map from the attitude error to a vector"})
          .add("feed-forward", law(&L::feed_forward),
               {.description = "whether commands contain the accelerations of the curve, and gravity"})
          .add("max-force", law(&L::largest_force), limit("N"))
          .add("max-torque", law(&L::largest_torque), limit("N m"))
          .add("sample-rate", &C::rate,
               or_word("continuous", 0.0,
                       number(above(0, 1e6), "1/s",
                              "rate of the commands, which are constant between samples; continuous: no sampling")))
          .add("delay", option(&O::delay), number(from(0, 1e3), "s", "delay from a measurement to its command"))
          .add("position-noise", option(&O::position_noise), noise("m", "position"))
          .add("attitude-noise", option(&O::attitude_noise), noise("deg", "attitude"))
          .add("velocity-noise", option(&O::velocity_noise), noise("m/s", "velocity"))
          .add("spin-noise", option(&O::spin_noise), noise("rad/s", "angular velocity"))
          .add("replan", option(&O::replan),
               or_word("never", 0.0,
                       number(above(0, 1e6), "m",
                              "distance of the craft from its curve at which a new curve is planned; never: no new "
                              "curve")))
          .add("roll", curve(&rigid::DipoleCurveOptions::roll),
               number(from(2, 3), "in space: axis of the craft that stays nearest to its docked direction; 2: y; 3: z"))
          .add("seed", &C::seed, number(from(0, 2147483647), "seed of the measurement noise"));
  return table;
}

// A design variable and the option that it sets.
struct OptionVariable {
  DesignVariable variable;
  void (*set)(ControlPlan&, double);
};
const std::vector<OptionVariable>& option_variables() {
  static const rigid::ControlLaw law;
  static const rigid::DipoleCurveOptions curve;
  static const std::vector<OptionVariable> all = {
      {{"gain-position", "N/m", "gain on the position error, k_phi", law.position_gain, 0, 1e9},
       [](ControlPlan& p, double x) { p.options.law.position_gain = x; }},
      {{"gain-velocity", "N s/m", "gain on the velocity error, k_v", law.velocity_gain, 0, 1e9},
       [](ControlPlan& p, double x) { p.options.law.velocity_gain = x; }},
      {{"gain-attitude", "N m", "gain on the attitude error, k_R", law.attitude_gain, 0, 1e9},
       [](ControlPlan& p, double x) { p.options.law.attitude_gain = x; }},
      {{"gain-spin", "N m s", "gain on the angular velocity error, k_omega", law.spin_gain, 0, 1e9},
       [](ControlPlan& p, double x) { p.options.law.spin_gain = x; }},
      {{"speed", "m/s", "speed parameter eta of the curve; the speed is from eta to 2 eta", curve.speed, 1e-9, 1e3},
       [](ControlPlan& p, double x) { p.options.curve.speed = x; }},
      {{"dipole-offset", "m", "distance of the dipole from the receiver's centre of mass, along the axis", 0, -1e3,
        1e3},
       [](ControlPlan& p, double x) { p.dipole_offset = x; }},
      {{"last-leg", "m", "length of the straight end of the curve; 0: none", curve.last_leg, 0, 1e3},
       [](ControlPlan& p, double x) { p.options.curve.last_leg = x; }},
  };
  return all;
}

CustomEntry entry_of(const Settings& settings, const std::string& key) {
  for (const auto& setting : settings.all)
    if (setting.key.name == key) return {key, setting.value, setting.source};
  return {key, "", ""};
}

std::vector<Formula> numbers(const CustomEntry& entry, int count, FormulaReader& reader) {
  const auto parts = split_list(entry.value);
  if (std::ssize(parts) != count)
    throw entry.error("has " + std::to_string(parts.size()) + " numbers; expected " + std::to_string(count) +
                      ", one per dimension of the model");
  std::vector<Formula> formulas;
  for (const auto& part : parts) formulas.push_back(reader.start(entry, entry.parsed(part)));
  for (const auto& formula : formulas)
    if (formula.uses(StateQuantity::start))
      throw entry.error("depends on the initial state; allowed: parameters of the model");
  return formulas;
}

rigid::Vector<3> values_of(const std::vector<Formula>& formulas, const systems::Values<double>& values) {
  rigid::Vector<3> all = rigid::Vector<3>::Zero();
  for (std::size_t i = 0; i < formulas.size(); ++i) {
    std::vector<double> x;
    for (const StateQuantity& seen : formulas[i].arguments) x.push_back(values.parameters[seen.variable.index]);
    all[i] = formulas[i].expression.evaluate<double>(x);
  }
  return all;
}

int link_named(const Settings& settings, const std::string& key, const std::string& name, const systems::Model& model) {
  const auto names = names_of(model.structure.links);
  const auto at = std::ranges::find(names, name);
  if (at == names.end())
    throw settings.error(key, "no link of that name" + did_you_mean(name, names) + "; allowed: " + listed(names));
  return static_cast<int>(at - names.begin());
}

}  // namespace

std::vector<Key> control_keys() { return control_table().keys(); }

std::vector<DesignVariable> control_variables(const Settings& so_far) {
  std::vector<DesignVariable> list;
  if (so_far.text("control.craft").empty()) return list;
  for (const auto& one : option_variables()) list.push_back(one.variable);
  return list;
}

std::optional<Control> Control::read(const Settings& settings, const systems::Model& model, FormulaReader& reader,
                                     double step) {
  const ControlKeys keys = control_table().read(settings);
  if (keys.craft.empty()) {
    for (const Key& key : control_table().keys())
      if (settings.given(key.name))
        throw settings.error(key.name, "has no effect without control.craft; add control.craft = LINK");
    return {};
  }
  for (const auto& one : option_variables())
    for (const auto& parameter : model.parameters)
      if (parameter.name == one.variable.name)
        throw settings.error("control.craft",
                             "the model has a parameter '" + parameter.name +
                                 "', which is the name of a controller's design variable; rename the parameter");
  if (model.dimension == 2 && settings.given("control.roll"))
    throw settings.error("control.roll", "has no effect in a planar model; remove it");
  Control control;
  ControlPlan& plan = control.common_;
  plan.options = keys.options;
  plan.seed = keys.seed;
  plan.craft = link_named(settings, "control.craft", keys.craft, model);
  if (keys.receiver != "ground") plan.receiver = link_named(settings, "control.receiver", keys.receiver, model);
  if (plan.receiver == plan.craft)
    throw settings.error("control.receiver", "is the craft itself; choose another link, or ground");
  if (keys.docked.empty())
    throw settings.error("control.craft",
                         "control.docked is missing; add control.docked = the position of the docked craft, one number "
                         "(m) per dimension");
  control.docked_ = numbers(entry_of(settings, "control.docked"), model.dimension, reader);
  if (!keys.axis.empty()) control.axis_ = numbers(entry_of(settings, "control.axis"), model.dimension, reader);
  if (keys.rate > 0.0) {
    plan.options.period = 1.0 / keys.rate;
    if (plan.options.period < step * (1.0 - 1e-9))
      throw settings.error(
          "control.sample-rate",
          formatted("is faster than one sample per simulation.step; allowed: at most %g 1/s", 1.0 / step));
  } else {
    for (const char* key : {"delay", "position-noise", "attitude-noise", "velocity-noise", "spin-noise"})
      if (settings.real(std::string("control.") + key) > 0.0)
        throw settings.error(std::string("control.") + key,
                             "needs sampled commands; set control.sample-rate, or remove it");
  }
  return control;
}

ControlPlan Control::plan(const Settings& settings, const Eigen::VectorXd& free,
                          const systems::Values<double>& values) const {
  ControlPlan plan = common_;
  for (const auto& one : option_variables()) one.set(plan, settings.design(one.variable.name, free));
  plan.options.curve.dock = values_of(docked_, values);
  if (!axis_.empty()) {
    const rigid::Vector<3> axis = values_of(axis_, values);
    if (!(axis.norm() > 0.0)) throw settings.error("control.axis", "is zero; allowed: a direction");
    plan.options.curve.axis = axis.normalized();
  }
  return plan;
}

template <int n>
std::shared_ptr<rigid::Controller<n>> controller(const systems::Bodies<n>& view, const ControlPlan& plan) {
  const auto origin = [&](int link) {
    const auto& o = view.links[link].origin;
    return rigid::Vector<3>(o[0], o[1], o[2]);
  };
  auto options = plan.options;
  auto& curve = options.curve;
  options.body = view.links[plan.craft].body;
  if (plan.receiver >= 0) {
    options.receiver = view.links[plan.receiver].body;
    curve.dock += origin(plan.receiver);
  }
  // vector from the craft's link to its centre of mass in the docked pose
  const auto docked = rigid::DipoleCurve([&] {
                        auto any = curve;
                        any.behind = 1.0;
                        return any;
                      }())
                          .docked_attitude();
  curve.dock -= docked * origin(plan.craft);
  curve.behind = curve.axis.dot(curve.dock) - plan.dipole_offset;
  if (std::abs(curve.behind) < 1e-12) curve.behind = 0.0;
  return std::make_shared<rigid::Controller<n>>(view.world, options);
}

Channel control_channel(int dimension, int nodes) {
  Channel channel{
      "control", "", "commanded force and torque, desired pose of the craft, effort and work up to now", nodes, {}};
  const auto add = [&](const char* name, const char* unit) {
    channel.coordinates.emplace_back(name);
    channel.units.emplace_back(unit);
  };
  const bool plane = dimension == 2;
  for (const char* axis : {"force x", "force y", "force z"})
    if (!plane || axis[6] != 'z') add(axis, "N");
  if (plane) {
    add("torque", "N m");
  } else {
    for (const char* axis : {"torque x", "torque y", "torque z"}) add(axis, "N m");
  }
  for (const char* axis : {"desired x", "desired y", "desired z"})
    if (!plane || axis[8] != 'z') add(axis, "m");
  if (plane) {
    add("desired angle", "rad");
  } else {
    for (const char* part : {"desired q0", "desired qx", "desired qy", "desired qz"}) add(part, "1");
  }
  add("effort", "N2 s");
  add("work", "J");
  return channel;
}

template <int n>
Eigen::RowVectorXd control_row(const rigid::Controller<n>& controller, double t, rigid::Frames<n> frames,
                               std::span<const rigid::Twist<n>> twists) {
  const auto give = controller.commanded(t, frames, twists);
  const auto aim = controller.desired(t, frames, twists);
  const auto& sums = controller.sums();
  if constexpr (n == 2) {
    Eigen::RowVectorXd row(8);
    row << give.force[0], give.force[1], give.torque[2], aim.position[0], aim.position[1],
        std::atan2(aim.attitude(1, 0), aim.attitude(0, 0)), sums.effort, sums.work;
    return row;
  } else {
    const Eigen::Quaterniond turn(aim.attitude);
    Eigen::RowVectorXd row(15);
    row << give.force.transpose(), give.torque.transpose(), aim.position.transpose(), turn.w(), turn.x(), turn.y(),
        turn.z(), sums.effort, sums.work;
    return row;
  }
}

template std::shared_ptr<rigid::Controller<2>> controller(const systems::Bodies<2>&, const ControlPlan&);
template std::shared_ptr<rigid::Controller<3>> controller(const systems::Bodies<3>&, const ControlPlan&);
template Eigen::RowVectorXd control_row(const rigid::Controller<2>&, double, rigid::Frames<2>,
                                        std::span<const rigid::Twist<2>>);
template Eigen::RowVectorXd control_row(const rigid::Controller<3>&, double, rigid::Frames<3>,
                                        std::span<const rigid::Twist<3>>);

}  // namespace dodyn::evaluators::simulation
