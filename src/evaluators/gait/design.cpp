#include "evaluators/gait/design.hpp"

#include <algorithm>
#include <cmath>

#include "evaluators/dimensions.hpp"
#include "evaluators/examination.hpp"
#include "evaluators/motion/search.hpp"
#include "evaluators/parameters.hpp"
#include "record/random.hpp"
#include "record/text.hpp"
#include "settings/units.hpp"
#include "systems/sections.hpp"

namespace dodyn::evaluators {

using dmoc::Coefficient;

namespace {

// Built-in walkers, to which these settings apply. Any other model contains this information itself.
const std::vector<std::string> built_in_walkers = {"planar-biped", "planar-biped-tree", "planar-underactuated",
                                                   "spatial-biped"};
const std::vector<std::string> built_in_keys = {
    "gait.leg-length", "gait.leg-mass-model", "gait.linear-density", "gait.shank-mass",     "gait.thigh-mass",
    "gait.leg-mass",   "gait.hip-mass",       "gait.gravity",        "gait.inertia-factor", "gait.rotation"};
const std::vector<std::string> motion_parameters = {"step-length", "period", "step-width"};

bool is_file(const std::string& model) { return std::ranges::find(built_in_walkers, model) == built_in_walkers.end(); }

// Returns the text of the model that the settings name.
std::string text_of(const Settings& settings) {
  auto [model, text] = named_model(settings, "gait.model");
  if (!is_file(model)) {  // "spherical ZXY": the order of the turns
    const std::string order = settings.text("gait.rotation");
    for (std::size_t at = 0; (at = text.find("spherical ZXY", at)) != std::string::npos; ++at)
      text.replace(at + 10, 3, order);
  }
  return text;
}

systems::Model walker_model(const std::string& text, const std::string& name) {
  systems::Model model = systems::read_model(text, name, false);
  systems::check_honoured(model, "gait");
  return model;
}

// Takes the ranges of joints from the model's limits. Limits on speed stay.
void free_joints(systems::Model& model) {
  auto& ranges = model.structure.ranges;
  for (std::size_t i = ranges.size(); i-- > 0;) {
    ranges[i].from.reset();
    ranges[i].to.reset();
    if (ranges[i].speed) continue;
    ranges.erase(ranges.begin() + i);
    model.range_lines.erase(model.range_lines.begin() + i);
  }
}

// Parses an entry of [parameters].
Expression parsed(const CustomEntry& entry) {
  const bool motion = std::ranges::find(motion_parameters, entry.key) != motion_parameters.end();
  if (!motion && entry.key.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") !=
                     std::string::npos)
    throw entry.error("not a valid name; allowed: letters, digits and _, or one of " + listed(motion_parameters));
  return entry.parsed(motion_parameters);
}

// Sets parameters of a built-in walker that follow from [gait]: numbers, or expressions of other variables, as in
// GaitDesigns::values().
void follow_settings(const Settings& so_far, std::vector<DesignVariable>& all) {
  const auto text = [&](const char* key) { return to_text(so_far.real(std::string("gait.") + key)); };
  const std::string leg = text("leg-length"), legs = so_far.text("gait.leg-mass-model");
  const bool by_length = legs == "uniform-density", fixed = legs == "fixed-masses";
  const std::string of = text(by_length ? "linear-density" : "leg-mass") + "*";
  const std::map<std::string, std::string> values = {
      {"leg", leg},
      {"shank_mass", fixed ? text("shank-mass") : of + (by_length ? "knee" : "shank-fraction")},
      {"thigh_mass", fixed ? text("thigh-mass") : of + (by_length ? "(" + leg + " - knee)" : "(1 - shank-fraction)")},
      {"hip_mass", text("hip-mass")},
      {"inertia_factor", text("inertia-factor")},
      {"gravity", text("gravity")}};
  for (DesignVariable& variable : all)
    if (const auto at = values.find(variable.name); at != values.end()) {
      const Expression value = Expression::parse(at->second, std::vector<std::string>{"shank-fraction"});
      if (value.is_constant())
        variable.default_value = value.constant();
      else
        variable.formula = at->second;
    }
}

}  // namespace

std::vector<std::pair<std::string, std::string>> idle_gait_keys(const Settings& settings) {
  std::vector<std::pair<std::string, std::string>> idle;
  const auto add = [&](const std::string& reason, const std::vector<std::string>& keys) {
    for (const std::string& key : keys) idle.emplace_back(key, reason);
  };
  const std::string name = settings.path("gait.model"),
                    legs = "gait.leg-mass-model = " + settings.text("gait.leg-mass-model");
  const systems::Model model = systems::read_model(text_of(settings), name, false);
  if (is_file(name)) {
    add(name + " specifies it", built_in_keys);
  } else {
    if (legs != "gait.leg-mass-model = uniform-density") add(legs, {"gait.linear-density"});
    if (legs != "gait.leg-mass-model = fixed-masses") add(legs, {"gait.shank-mass", "gait.thigh-mass"});
    if (legs != "gait.leg-mass-model = mass-split") add(legs, {"gait.leg-mass", "design.shank-fraction"});
    if (model.parameter("hip_mass") < 0) add("gait.model = " + name, {"gait.hip-mass"});
    if (model.parameter("inertia_factor") < 0) add("gait.model = " + name, {"gait.inertia-factor"});
    if (model.dimension == 2) add("gait.model = " + name, {"gait.rotation"});
  }
  const bool width_named = std::ranges::any_of(settings.sections, [](const CustomSection& one) {
    return std::ranges::any_of(
        one.entries, [](const CustomEntry& entry) { return entry.value.find("step-width") != std::string::npos; });
  });
  if (model.dimension == 2 && !width_named)
    add("the walker is planar", {"design.step-width", "gait.step-width"});
  else if (settings.design_given("step-width"))
    add("design.step-width is given", {"gait.step-width"});
  if (const std::string contact = settings.text("gait.contact"); contact != "friction-cone")
    add("gait.contact = " + contact, {"gait.friction"});
  if (!settings.sections_of("cost").empty())
    add("[cost] replaces it", {"gait.absolute-work", "gait.positive-work", "gait.squared-torque"});
  if (model.dimension == 2) add("the walker is planar", {"gait.leg-radius"});
  if (model.structure.knees.empty()) add("the model has no [knee]", {"gait.knee-stops"});
  if (model.structure.ranges.empty()) add("the model has no [joint-limit]", {"gait.joint-limits"});
  for (auto& one : idle_search_keys(settings, "gait.")) idle.push_back(std::move(one));
  return idle;
}

std::vector<DesignVariable> gait_variables(const Settings& so_far) {
  std::vector<DesignVariable> all = {
      {"step-length", "m", "length of a step", 0.56, 0.05, 1.5},
      {"period", "s", "duration of a step", 0.9, 0.1, 5.0},
      {"step-width", "m",
       "distance between the feet, across the direction of walking; walkers in space; by default gait.step-width", 0.2,
       0.0, 2.0},
  };
  const std::string name = so_far.path("gait.model");
  if (!is_file(name))
    all.push_back({"shank-fraction", "1", "fraction of a leg's mass in the shank, with leg-mass-model = mass-split",
                   0.4, 0.01, 0.99});
  const systems::Model model = walker_model(text_of(so_far), name);
  for (DesignVariable v : parameter_variables(model)) {
    if (std::ranges::any_of(all, [&](const DesignVariable& known) { return known.name == v.name; })) continue;
    const bool knee = !is_file(name) && v.name == "knee";
    if (knee) v.minimum = 0.05, v.maximum = 0.95;
    // the knee is first, for compatibility
    all.insert(knee ? all.begin() : all.end(), std::move(v));
  }
  for (DesignVariable& v : all)
    if (v.name == "step-width") v.default_value = so_far.real("gait.step-width");
  if (!is_file(name)) follow_settings(so_far, all);
  for (const CustomSection* section : so_far.sections_of("parameters"))
    for (const CustomEntry& entry : section->entries) {
      expect_new_name(model, entry);
      const Expression e = parsed(entry);
      const auto at = std::ranges::find_if(all, [&](const DesignVariable& known) { return known.name == entry.key; });
      const bool built_in = at != all.end();
      DesignVariable v =
          built_in ? *at : DesignVariable{entry.key, stated_unit(entry.value), "of the motion", 0.0, -1e308, 1e308};
      if (e.is_constant()) v.default_value = e.constant();
      if (!e.is_constant()) v.formula = entry.value;
      if (built_in)
        *at = std::move(v);
      else
        all.push_back(std::move(v));
    }
  return all;
}

GaitDesigns::GaitDesigns(const Settings& settings) : settings_(settings) {
  for (const Variable& variable : settings.variables)
    if (variable.name == "shank-fraction" && settings.text("gait.leg-mass-model") != "mass-split")
      throw settings.error("gait.leg-mass-model",
                           "design.shank-fraction is free, which needs gait.leg-mass-model = mass-split");
  gait_.intervals = settings.integer("gait.intervals");
  gait_.clearance = settings.real("gait.clearance");
  gait_.clearance_points = settings.integer("gait.clearance-points");
  gait_.leg_radius = settings.real("gait.leg-radius");
  gait_.torque_limit = settings.real("gait.torque-limit");
  gait_.rate_limit = settings.real("gait.joint-speed-limit");
  gait_.work_at_ends = settings.text("gait.work-rule") == "ends";
  gait_.knee_stops = settings.boolean("gait.knee-stops");
  gait_.unilateral = settings.text("gait.contact") != "free";
  if (settings.text("gait.contact") == "friction-cone") gait_.friction = settings.real("gait.friction");
  read_model();
  read_parameters();
  read_cost();
  read_requirements();
  values(middle(settings));  // throws with a message if the values are invalid
}

void GaitDesigns::read_model() {
  model_ = settings_.path("gait.model");
  from_file_ = is_file(model_);
  text_ = text_of(settings_);
  systems::Model model = walker_model(text_, model_);
  if (model.structure.actuators.empty()) model.fail(0, "no [actuator NAME]; a gait needs at least one");
  if (settings_.text("gait.joint-limits") == "none") free_joints(model);
  check_dimensions(settings_, model);
  walker_ = std::make_shared<const dmoc::Walker>(std::move(model), std::stoi(settings_.text("gait.order")));
  if (!from_file_) return;
  for (const Setting& setting : settings_.all)
    if (setting.source != "default" && std::ranges::find(built_in_keys, setting.key.name) != built_in_keys.end())
      throw settings_.error(setting.key.name, "applies only to planar-biped, planar-underactuated and spatial-biped; " +
                                                  model_ + " has its own [parameters], which [design] sets");
}

// Reads [parameters]: further parameters of the motion, and the expressions of step-length, period and step-width.
void GaitDesigns::read_parameters() {
  names_ = motion_parameters;
  const systems::Model& model = walker_->system->model();
  std::vector<std::string> known;  // names defined before this entry
  for (const systems::Parameter& p : model.parameters) known.push_back(p.name);
  const auto sections = settings_.sections_of("parameters");
  for (const std::string& name : motion_parameters)
    if (sections.empty() || settings_.design_given(name) || !sections.front()->find(name)) known.push_back(name);
  for (const CustomSection* section : sections)
    for (const CustomEntry& entry : section->entries) {
      if (settings_.design_given(entry.key) && std::ranges::count(known, entry.key) > 0) continue;
      const Expression e = parsed(entry);
      for (const auto& q : e.quantities())
        if (!q.arguments.empty() || std::ranges::count(known, q.name) == 0)
          throw entry.error("unknown parameter '" + q.text() + "'" + did_you_mean(q.text(), known) +
                            "; allowed: parameters of the model, and earlier entries");
      parameters_.emplace_back(entry.key, e);
      known.push_back(entry.key);
      if (std::ranges::count(names_, entry.key) == 0) names_.push_back(entry.key);
    }
}

// Reads [cost], which replaces the weights of [gait]. A built-in name has a weight; any other name is an expression
// that is integrated over time.
void GaitDesigns::read_cost() {
  const auto sections = settings_.sections_of("cost");
  if (sections.empty()) {
    gait_.absolute_work = settings_.real("gait.absolute-work");
    gait_.positive_work = settings_.real("gait.positive-work");
    gait_.squared_torque = settings_.real("gait.squared-torque");
    if (gait_.absolute_work == 0.0 && gait_.positive_work == 0.0 && gait_.squared_torque == 0.0)
      throw settings_.error("gait.squared-torque",
                            "every weight of the cost is 0; at least one of absolute-work, positive-work and "
                            "squared-torque must be positive");
    return;
  }
  gait_.squared_torque = 0.0;
  const auto& system = *walker_->system;
  for (const CustomEntry& entry : sections.front()->entries) try {
      const Expression e = Expression::parse(entry.value, motion_parameters);
      const auto weight = [&] {
        if (!e.is_constant() || !(e.constant() >= 0.0)) throw entry.error("is a weight; allowed: a number, 0 or more");
        return e.constant();
      };
      if (entry.key == "absolute-work")
        gait_.absolute_work = weight();
      else if (entry.key == "positive-work")
        gait_.positive_work = weight();
      else if (entry.key == "squared-torque")
        gait_.squared_torque = weight();
      else if (entry.key == "loss")
        gait_.loss = weight();
      else
        gait_.costs.push_back(dmoc::path_function(system, walker_->feet(), {}, e, names_, true));
    } catch (const ExpressionError& error) {
      throw entry.error(error.what() +
                        did_you_mean(entry.key, {"absolute-work", "positive-work", "squared-torque", "loss"}));
    }
  const auto& actuators = system.structure().actuators;
  if (const CustomEntry* entry = sections.front()->find("loss");
      entry && std::ranges::all_of(actuators, [](const auto& one) { return one.loss.is_zero(); }))
    throw entry->error("no [actuator] of the model has a loss; add loss to one, or remove this entry");
  if (sections.front()->entries.empty())
    throw sections.front()->error(
        "is empty; allowed: absolute-work, positive-work, squared-torque, loss = weight, or "
        "NAME = an expression whose integral over the step counts");
}

std::vector<bool> GaitDesigns::has_cost() const {
  return have_cost(walker_->system->structure(),
                   gait_.squared_torque > 0.0 || gait_.absolute_work > 0.0 || gait_.positive_work > 0.0,
                   gait_.loss > 0.0, gait_.costs);
}

// Reads [require]. Conditions on parameters judge a design; conditions on the motion become path constraints.
void GaitDesigns::read_requirements() {
  const auto& system = *walker_->system;
  for (const CustomSection* section : settings_.sections_of("require"))
    for (const CustomEntry& entry : section->entries) try {
        const Expression e = Expression::parse(entry.value, motion_parameters);
        const bool of_parameters = std::ranges::all_of(e.quantities(), [&](const Expression::Quantity& q) {
          const auto v = system.model().variable(q);
          return (q.arguments.empty() && std::ranges::find(names_, q.name) != names_.end()) ||
                 (v && v->kind == systems::Variable::parameter);
        });
        if (of_parameters) {
          if (!e.is_condition())
            throw entry.error("is not a condition; allowed: comparisons (<, <=, ==, >=, >), and, or, not");
          requirements_.push_back({entry.key + ": " + entry.value, entry.source, e});
          continue;
        }
        for (const auto& comparison : e.comparisons())
          gait_.requirements.push_back(
              {dmoc::path_function(system, walker_->feet(), {}, comparison.what, names_), comparison.equality});
      } catch (const ExpressionError& error) {
        throw entry.error(error.what());
      }
}

Coefficient GaitDesigns::variable(const std::string& name, const Eigen::VectorXd& design) const {
  return design_value(settings_, name, design);
}

GaitDesigns::Values GaitDesigns::values(const Eigen::VectorXd& design) const {
  const systems::Model& model = walker_->system->model();
  auto given = given_parameters<Coefficient>(settings_, model, design);
  const auto give = [&](const char* name, const Coefficient& value) {
    if (model.parameter(name) >= 0 && !given.count(name)) given[name] = value;
  };
  if (!from_file_) {
    const Coefficient knee = variable("knee", design), leg(settings_.real("gait.leg-length"));
    const Coefficient density(settings_.real("gait.linear-density")), leg_mass(settings_.real("gait.leg-mass"));
    Coefficient shank_mass(settings_.real("gait.shank-mass")), thigh_mass(settings_.real("gait.thigh-mass"));
    if (const std::string legs = settings_.text("gait.leg-mass-model"); legs == "uniform-density") {
      shank_mass = density * knee;
      thigh_mass = density * (leg - knee);
    } else if (legs == "mass-split") {
      shank_mass = leg_mass * variable("shank-fraction", design);
      thigh_mass = leg_mass - shank_mass;
    }
    give("knee", knee);
    give("leg", leg);
    give("shank_mass", shank_mass);
    give("thigh_mass", thigh_mass);
    give("hip_mass", settings_.real("gait.hip-mass"));
    give("inertia_factor", settings_.real("gait.inertia-factor"));
    give("gravity", settings_.real("gait.gravity"));
  }
  Values all;
  const auto follows = [&](const std::string& name) {
    return std::ranges::any_of(parameters_, [&](const auto& one) { return one.first == name; });
  };
  for (const std::string& name : motion_parameters)
    if (name == "step-width" && !settings_.design_given(name))
      all.motion[name] = settings_.real("gait.step-width");
    else if (!follows(name))
      all.motion[name] = variable(name, design);
  all.model = model.evaluate<Coefficient>(given);
  check_walker(model, model.tree<Coefficient>(all.model.numbers).plain());
  for (const auto& [name, expression] : parameters_) {
    if (settings_.design_given(name)) {
      all.motion[name] = variable(name, design);
      continue;
    }
    std::vector<Coefficient> of;
    for (const auto& q : expression.quantities()) of.push_back(named(all, q.name));
    all.motion[name] = expression.evaluate<Coefficient>(of);
  }
  return all;
}

systems::Values<double> GaitDesigns::plain(const Eigen::VectorXd& design) const {
  const Values all = values(design);
  return {autodiff::values_of(all.model.parameters), autodiff::values_of(all.model.numbers)};
}

Coefficient GaitDesigns::named(const Values& values, const std::string& parameter) const {
  if (const auto at = values.motion.find(parameter); at != values.motion.end()) return at->second;
  return values.model.parameters[walker_->system->model().parameter(parameter)];
}

GaitDesigns::Rejection GaitDesigns::rejection(const Eigen::VectorXd& design) const {
  const double leg = from_file_ ? 0.0 : settings_.real("gait.leg-length");
  if (!from_file_)
    if (const double knee = settings_.design("knee", design); !(knee > 0.0 && knee < leg))
      return {formatted("invalid design: knee = %g m is not between 0 and the leg length %g m", knee, leg)};
  try {
    const Values all = values(design);
    const double step = all.step_length().value, period = all.period().value;
    if (!from_file_ && step >= 2.0 * leg)
      return {formatted("invalid design: step length %g m (period %g s) is not below twice the leg length %g m", step,
                        period, leg)};
    if (!(step > 0.0) || !(period > 0.0))
      return {formatted("invalid design: step length %g m and period %g s must be above 0", step, period)};
    for (const Requirement& r : requirements_) {
      std::vector<double> numbers;
      for (const auto& q : r.condition.quantities()) numbers.push_back(named(all, q.name).value);
      if (!r.condition.holds(numbers)) return {"required, " + r.text + " (" + r.source + ")", true};
    }
  } catch (const ConfigError& error) {
    return {std::string("invalid design: ") + error.what()};
  }
  return {};
}

dmoc::WalkerGait GaitDesigns::problem(const Eigen::VectorXd& design, int intervals) const {
  Values all = values(design);
  dmoc::GaitSettings settings = gait_;
  settings.intervals = intervals;
  settings.step_length = all.step_length();
  settings.period = all.period();
  settings.step_width = all.step_width();
  settings.parameter = [this, all](const std::string& name) { return named(all, name); };
  return dmoc::WalkerGait(walker_, all.model.numbers, settings);
}

std::shared_ptr<const MotionDescription> GaitDesigns::on_mesh(int intervals) const {
  if (intervals < 2) return nullptr;
  auto other = std::make_shared<GaitDesigns>(*this);
  other->gait_.intervals = intervals;
  return other;
}

TranscribedMotion GaitDesigns::plan(const Eigen::VectorXd& design, const MotionPath&, double) const {
  dmoc::WalkerGait gait = problem(design, gait_.intervals);
  dmoc::NamedRows asked = gait.conditions();
  return {std::move(gait).motion_problem(), {}, {}, std::move(asked)};
}

MotionPath GaitDesigns::initial_guess(const Eigen::VectorXd& design, std::uint64_t seed, int number) const {
  const std::uint64_t own = splitmix64(seed + 0x9e3779b97f4a7c15ULL * static_cast<std::uint64_t>(number));
  const dmoc::WalkerGait gait = problem(design, gait_.intervals);
  MotionPath path;
  path.q = {gait.cold_path(own)};
  path.duration = {gait.motion_problem().phase(0).duration.value};
  return path;
}

// In space this push doubles the iterations, and it missed the spatial biped's best gait at a knee of 0.4 m.
double GaitDesigns::push_of_cold_start() const { return walker_->base == 2 ? dmoc::push_of_cold_start : 0.0; }

std::optional<systems::Place<double>> GaitDesigns::landing(int, const Eigen::VectorXd& design) const {
  const int swing = system().structure().swing_link;
  const auto tree = system().model().tree<double>(plain(design).numbers);
  return systems::Place<double>{swing, tree.links[swing].end};
}

}  // namespace dodyn::evaluators
