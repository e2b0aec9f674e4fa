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

const std::vector<std::string> motion_parameters = {"step-length", "period", "step-width"};

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

}  // namespace

std::vector<std::pair<std::string, std::string>> idle_gait_keys(const Settings& settings) {
  std::vector<std::pair<std::string, std::string>> idle;
  const auto add = [&](const std::string& reason, const std::vector<std::string>& keys) {
    for (const std::string& key : keys) idle.emplace_back(key, reason);
  };
  const auto [name, text] = named_model(settings, "gait.model");
  const systems::Model model = systems::read_model(text, name, false);
  const bool width_named = std::ranges::any_of(settings.sections, [](const CustomSection& one) {
    return std::ranges::any_of(
        one.entries, [](const CustomEntry& entry) { return entry.value.find("step-width") != std::string::npos; });
  });
  if (model.dimension == 2 && !width_named) add("the walker is planar", {"design.step-width"});
  if (const std::string contact = settings.text("gait.contact"); contact != "friction-cone")
    add("gait.contact = " + contact, {"gait.friction"});
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
      {"step-width", "m", "distance between the feet, across the direction of walking; walkers in space", 0.2, 0.0,
       2.0},
  };
  const auto [name, text] = named_model(so_far, "gait.model");
  const systems::Model model = walker_model(text, name);
  for (DesignVariable& v : parameter_variables(model))
    if (std::ranges::none_of(all, [&](const DesignVariable& known) { return known.name == v.name; }))
      all.push_back(std::move(v));
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
  const GaitKeys keys = gait_keys().read(settings);
  gait_ = keys.gait;
  gait_.unilateral = keys.ground != GaitKeys::Ground::free;
  if (keys.ground == GaitKeys::Ground::friction_cone) gait_.friction = keys.friction;
  read_model(keys);
  read_parameters();
  read_cost();
  read_requirements();
  values(middle(settings));  // throws with a message if the values are invalid
}

void GaitDesigns::read_model(const GaitKeys& keys) {
  const NamedModel named = named_model(settings_, "gait.model");
  text_ = named.text;
  systems::Model model = walker_model(named.text, named.path);
  if (model.structure.actuators.empty()) model.fail(0, "no [actuator NAME]; a gait needs at least one");
  if (keys.frees_joints) free_joints(model);
  check_dimensions(settings_, model);
  walker_ = std::make_shared<const dmoc::Walker>(std::move(model), keys.order);
}

// Reads [parameters]: further parameters of the motion, and the expressions of step-length, period and step-width.
void GaitDesigns::read_parameters() {
  names_ = motion_parameters;
  const systems::Model& model = walker_->system->model();
  auto known = names_of(model.parameters);  // names defined before this entry
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

// Reads [cost]. A built-in name has a weight; any other name is an expression that is integrated over time.
void GaitDesigns::read_cost() {
  const auto sections = settings_.sections_of("cost");
  if (sections.empty()) return;
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
  if (gait_.costs.empty() && gait_.absolute_work + gait_.positive_work + gait_.squared_torque + gait_.loss == 0.0)
    throw sections.front()->error(
        "has no cost; allowed: absolute-work, positive-work, squared-torque, loss = weight above 0, or "
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

MotionValues GaitDesigns::values(const Eigen::VectorXd& design) const {
  const systems::Model& model = walker_->system->model();
  MotionValues all{
      walker_->system, model.evaluate<Coefficient>(given_parameters<Coefficient>(settings_, model, design)), {}};
  check_walker(model, model.tree<Coefficient>(all.model.numbers).plain());
  const auto follows = [&](const std::string& name) {
    return std::ranges::any_of(parameters_, [&](const auto& one) { return one.first == name; });
  };
  for (const std::string& name : motion_parameters)
    if (!follows(name)) all.motion.emplace_back(name, design_value(settings_, name, design));
  for (const auto& [name, expression] : parameters_)
    all.motion.emplace_back(
        name, settings_.design_given(name) ? design_value(settings_, name, design) : all.evaluated(expression));
  return all;
}

GaitDesigns::Rejection GaitDesigns::rejection(const Eigen::VectorXd& design) const {
  try {
    const MotionValues all = values(design);
    const double step = all.named("step-length").value, period = all.named("period").value;
    if (!(step > 0.0) || !(period > 0.0))
      return {formatted("invalid design: step length %g m and period %g s must be above 0", step, period)};
    for (const Requirement& r : requirements_)
      if (!all.satisfy(r.condition)) return {"required, " + r.text + " (" + r.source + ")", true};
  } catch (const ConfigError& error) {
    return {std::string("invalid design: ") + error.what()};
  }
  return {};
}

dmoc::WalkerGait GaitDesigns::problem(const Eigen::VectorXd& design, int intervals) const {
  const MotionValues all = values(design);
  dmoc::GaitSettings settings = gait_;
  settings.intervals = intervals;
  settings.step_length = all.named("step-length");
  settings.period = all.named("period");
  settings.step_width = all.named("step-width");
  settings.parameter = [all](const std::string& name) { return all.named(name); };
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
