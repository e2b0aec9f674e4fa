#include <algorithm>
#include <cmath>
#include <map>

#include "evaluators/dimensions.hpp"
#include "evaluators/examination.hpp"
#include "evaluators/hybrid/run.hpp"
#include "evaluators/kinds.hpp"
#include "evaluators/parameters.hpp"
#include "record/text.hpp"
#include "settings/key_table.hpp"
#include "systems/sections.hpp"

namespace dodyn::evaluators {
namespace {

using hybrid::Find;
using hybrid::HybridOptions;
using hybrid::HybridResult;
using hybrid::HybridRun;
using hybrid::Method;

const KeyTable<HybridOptions>& hybrid_keys() {
  using S = HybridOptions;
  const auto integrator = members_of(&S::integrator);
  const auto gait = members_of(&S::gait);
  using P = variational::IntegratorOptions;
  using G = variational::GaitOptions;
  static const auto table =
      KeyTable<S>("hybrid.")
          .add("model", &S::model,
               {.type = Type::path, .description = "the system: a shipped model or a model file (docs/models.md)"})
          .add("solve-for", &S::find, {{"motion", Find::motion}, {"gait", Find::gait}},
               {.description = "motion: the motion from the initial state; gait: a periodic motion, as a fixed point "
                               "of the map from reset to reset, and its Floquet multipliers"})
          .add("method", &S::method,
               {{"midpoint", Method::midpoint},
                {"stoermer-verlet", Method::stoermer_verlet},
                {"projected", Method::projected}},
               {.description = "integrator of the motion between events; projected: elastic impacts without resets, as "
                               "the image of a smooth motion, by the midpoint rule"})
          .add("projection-k", &S::k,
               or_word("auto", 0.0,
                       number(from(0, 1e12), "1/m2",
                              "method = projected: how fast the projection becomes a plain reflection")))
          .add("order", integrator(&P::order),
               number(from(2, 6), "order of the integrator; 4 and 6 compose several steps of order 2"))
          .add("step", integrator(&P::step), number(above(0, 10), "s", "longest time step"))
          .add("end", &S::end,
               number(above(0, 1e6), "s",
                      "end time of the motion; with solve-for = gait the longest duration of a stride"))
          .add("nodes", &S::nodes,
               number(from(2, 1000000),
                      "number of stored rows of a trajectory, evenly spaced in time; steps are shortened to meet them"))
          .add("jump", integrator(&P::jump),
               {{"momentum", variational::JumpLaw::momentum},
                {"discrete-energy", variational::JumpLaw::discrete_energy}},
               {.description = "energy that an elastic impact conserves; momentum: the energy at the impact; "
                               "discrete-energy: the discrete energy of the intervals next to it"})
          .add("rest-speed", integrator(&P::rest_speed),
               number(from(0, 1), "m/s", "a body that leaves a contact more slowly than this stays in contact"))
          .add("max-events", integrator(&P::max_events),
               number(from(1, 1e8), "largest number of events of a motion; more are a failure"))
          .add("stop-after-impacts", &S::impacts,
               number(from(0, 1e8), "number of impacts after which the motion ends; 0: it ends at hybrid.end"))
          .add("max-strides", gait(&G::strides),
               number(from(0, 100000), "with solve-for = gait: largest number of strides before the search begins"))
          .add("translating-coordinates", &S::travels,
               {.type = Type::text,
                .description = "with solve-for = gait: coordinates that advance with each stride; separated by commas"})
          .add("gradient", &S::gradient,
               {.description = "gradient of the cost for all free variables, through impacts; takes four more runs for "
                               "each variable; none where the order of events changes near the design"});
  return table;
}

systems::HybridModel model_of(const NamedModel& named) {
  systems::HybridModel system = systems::read_hybrid_model(named.text, named.path);
  systems::check_honoured(system.model, "hybrid");
  return system;
}

// Returns keys that have no effect because of others or of the model, and why (EvaluatorKind::idle).
std::vector<std::pair<std::string, std::string>> idle_hybrid_keys(const Settings& settings) {
  std::vector<std::pair<std::string, std::string>> idle;
  const auto add = [&](const std::string& reason, std::initializer_list<const char*> keys) {
    for (const char* key : keys) idle.emplace_back(std::string("hybrid.") + key, reason);
  };
  const std::string method = "hybrid.method = " + settings.text("hybrid.method");
  if (method != "hybrid.method = projected") add(method, {"projection-k"});
  if (settings.text("hybrid.solve-for") == "motion")
    add("hybrid.solve-for = motion", {"max-strides", "translating-coordinates"});
  if (settings.variables.empty() && settings.overruled.empty()) add("no design variable is free", {"gradient"});
  if (method == "hybrid.method = projected")
    add(method, {"jump", "rest-speed", "max-events"});
  else if (!settings.text("hybrid.model").empty() &&
           model_of(named_model(settings, "hybrid.model")).pieces.contacts.empty())
    add("the model has no contacts", {"jump", "rest-speed", "stop-after-impacts"});
  return idle;
}

std::vector<DesignVariable> variables_of(const Settings& so_far) {
  if (so_far.text("hybrid.model").empty()) return {};
  return parameter_variables(model_of(named_model(so_far, "hybrid.model")).model);
}

class HybridEvaluator final : public Evaluator {
 public:
  explicit HybridEvaluator(const Settings& settings)
      : settings_(settings), own_(hybrid_keys().read(settings)), system_(read_system()), model_(system_.model) {
    if (own_.integrator.order % 2) throw settings.error("hybrid.order", "is odd; allowed: 2, 4, 6");
    if (own_.integrator.jump == variational::JumpLaw::discrete_energy && own_.integrator.order != 2)
      throw settings.error("hybrid.jump", "works only with hybrid.order = 2; change one of them");
    if (own_.find == Find::gait && system_.pieces.resets.empty())
      throw settings.error(
          "hybrid.solve-for",
          "the model has no [reset], which ends a stride; add one, or choose hybrid.solve-for = motion");
    if (own_.find == Find::gait && own_.impacts > 0)
      throw settings.error("hybrid.stop-after-impacts",
                           "would end a stride before its reset; remove it, or choose hybrid.solve-for = motion");
    own_.gait.max_period = own_.end;
    if (own_.method == Method::projected && (own_.find == Find::gait || own_.impacts > 0))
      throw settings.error("hybrid.method",
                           "has no events, at which a motion could end; set hybrid.solve-for = motion and "
                           "hybrid.stop-after-impacts = 0");
    try {
      run_.emplace(system_, own_);
    } catch (const ConfigError& error) {
      throw settings.error(own_.method == Method::projected ? "hybrid.method" : "hybrid.translating-coordinates",
                           error.what());
    }
    check_dimensions(settings, model_);
    read_start();
    for (const CustomSection* section : settings.sections_of("require"))
      for (const CustomEntry& entry : section->entries) requirements_.emplace_back(entry, formula(entry, true, false));
    for (const CustomSection* section : settings.sections_of("cost"))
      if (const CustomEntry* cost = section->find("cost")) cost_ = formula(*cost, false, true);
    if (settings.variables.empty()) {  // refuses an invalid initial state at once
      const auto values = model_.evaluate<double>(designed({}));
      HybridOptions brief = own_;
      brief.find = Find::motion;
      brief.end = std::min(own_.end, own_.integrator.step);
      brief.nodes = 2;
      const HybridResult ran = HybridRun(system_, brief).run(values, started(values), false);
      if (ran.bad_start) throw settings.error("hybrid.model", ran.reason);
    }
  }

  std::vector<Quantity> metrics() const override {
    static const std::map<std::string, std::pair<const char*, const char*>> meaning = {
        {"duration", {"s", "duration of the motion, or of a stride"}},
        {"impacts", {"1", "impacts"}},
        {"first_impact", {"s", "time of the first impact; not a number where there is none"}},
        {"last_impact", {"s", "time of the last impact; not a number where there is none"}},
        {"impact_interval", {"s", "time between the last two impacts"}},
        {"dissipated_energy", {"J", "kinetic energy lost at impacts and resets"}},
        {"energy_change",
         {"J", "change of the total energy that events do not explain: work of forces, and integration errors"}},
        {"max_penetration", {"", "largest depth of a gap (m, rad) below zero at a node"}},
        {"period", {"s", "period of the gait"}},
        {"floquet_multiplier", {"1", "modulus of the largest Floquet multiplier"}},
        {"second_floquet_multiplier", {"1", "modulus of the second largest Floquet multiplier"}},
        {"stride", {"", "advance of the first coordinate of hybrid.translating-coordinates"}}};
    std::vector<Quantity> list;
    for (const auto& name : run_->metric_names())
      list.push_back({name, meaning.at(name).first, meaning.at(name).second});
    return list;
  }

  bool has_gradients() const override { return own_.gradient; }

  Channels channels() const override { return run_->channels(own_.nodes); }

  std::vector<InputFile> input_files() const override {
    return {{"hybrid.model-checksum", checksum(model_text_), settings_.text("hybrid.model"), model_text_}};
  }

  Outcome evaluate(const Task& task) const override {
    Outcome outcome{task.evaluation, {}};
    Evaluation& e = outcome.evaluation;
    try {
      const auto values = model_.evaluate<double>(designed(e.design));
      if (e.reason = refusal(values); !e.reason.empty()) {
        e.status = Status::infeasible;
        return outcome;
      }
      HybridResult ran = run_->run(values, started(values), false);
      e.reason = ran.reason;
      if (!ran.reason.empty()) {
        const bool none = ran.bad_start || own_.find == Find::gait;
        e.status = none ? Status::infeasible : Status::failed;
        if (own_.find == Find::gait && !ran.bad_start) e.reason = "no gait: " + ran.reason;
        return outcome;
      }
      if (own_.gradient) e.gradient = gradient(e.design, ran);
      fill(std::move(ran), values, outcome);
    } catch (const ConfigError& error) {  // the model refuses the design
      e.status = Status::infeasible;
      e.reason = error.what();
    }
    return outcome;
  }

  std::optional<Simulated> simulate(const Task& task) const override {
    const auto values = model_.evaluate<double>(designed(task.evaluation.design));
    if (const std::string why = refusal(values); !why.empty()) throw ConfigError(why);
    HybridResult ran = run_->run(values, started(values), true);
    Simulated result;
    result.completed = ran.reason.empty();
    result.report = story(ran, values);
    const auto rows = ran.trajectory.empty() ? 0 : static_cast<int>(ran.trajectory.values[0].rows());
    result.channels = run_->channels(rows);
    result.trajectory = std::move(ran.trajectory);
    return result;
  }

  // Uses the outcome only; `dodyn simulate` prints the motion itself.
  std::string report(const Outcome& outcome) const override {
    const Evaluation& e = outcome.evaluation;
    if (e.metrics.size() == 0) return "";
    std::string lines;
    const auto list = metrics();
    for (std::size_t i = 0; i < list.size(); ++i)
      lines += formatted("%-18s %.10g%s\n", list[i].name.c_str(), e.metrics(i),
                         list[i].unit.empty() || list[i].unit == "1" ? "" : (" " + list[i].unit).c_str());
    if (own_.find == Find::gait) {
      const double m = e.metrics(9), T = e.metrics(8);
      lines += m < 1.0 ? formatted("halves a disturbance in %.6g s\n", m > 0.0 ? T * std::log(2.0) / -std::log(m) : 0.0)
                       : std::string("unstable: a disturbance grows\n");
    }
    return lines;
  }

 private:
  struct Formula {
    Expression expression;
    std::vector<std::string> names;  // names of its quantities
  };

  systems::HybridModel read_system() {
    const NamedModel named = named_model(settings_, "hybrid.model");
    model_text_ = named.text;
    return model_of(named);
  }

  // Returns a formula of parameters. If `of_end`, also of metrics and of coordinates and rates at the end.
  Formula formula(const CustomEntry& entry, bool condition, bool of_end) const {
    Formula f{condition ? entry.condition() : entry.number(), {}};
    auto known = names_of(model_.parameters);
    if (of_end) {
      for (const auto& name : HybridRun::all_metric_names()) known.push_back(name);
      for (const auto& name : model_.structure.coordinate_names)
        known.insert(known.end(), {name, "rate(" + name + ")"});
    }
    for (const auto& quantity : f.expression.quantities()) {
      f.names.push_back(quantity.text());
      if (std::ranges::count(known, f.names.back()) > 1)
        throw entry.error("'" + f.names.back() + "' is a metric and a name of the model; rename it in the model");
      if (std::ranges::find(known, f.names.back()) == known.end())
        throw entry.error("'" + shown(f.names.back()) + "' is unknown" + did_you_mean(f.names.back(), known) +
                          "; known here: " + (known.empty() ? "none" : listed(known)));
    }
    return f;
  }

  double value(const Formula& f, const systems::Values<double>& values, const hybrid::Numbers& seen) const {
    std::vector<double> x;
    for (const auto& name : f.names) {
      const int parameter = model_.parameter(name);
      const auto at = seen.find(name);
      x.push_back(parameter >= 0 ? values.parameters[parameter] : at != seen.end() ? at->second : not_a_number);
    }
    return f.expression.evaluate<double>(x);
  }

  void read_start() {
    for (const CustomSection* section : settings_.sections_of("initial-state"))
      for (const CustomEntry& entry : section->entries) {
        const bool rate = entry.key.starts_with("rate(") && entry.key.ends_with(")");
        const std::string name = rate ? entry.key.substr(5, entry.key.size() - 6) : entry.key;
        const auto& names = model_.structure.coordinate_names;
        const auto at = std::ranges::find(names, name);
        if (at == names.end())
          throw entry.error("no coordinate of that name" + did_you_mean(name, names) +
                            "; allowed: NAME or rate(NAME) of " + listed(names));
        start_.emplace_back(static_cast<std::size_t>(at - names.begin()) + (rate ? names.size() : 0),
                            formula(entry, false, false));
      }
  }

  std::vector<double> started(const systems::Values<double>& values) const {
    std::vector<double> all(2 * model_.structure.coordinate_names.size(), not_a_number);
    for (const auto& [at, f] : start_) all[at] = value(f, values, {});
    return all;
  }

  std::map<std::string, double> designed(const Eigen::VectorXd& free) const {
    return given_parameters<double>(settings_, model_, free);
  }

  std::string refusal(const systems::Values<double>& values) const {
    for (const auto& [entry, f] : requirements_)
      if (value(f, values, {}) == 0.0)
        return entry.source + ": " + entry.key + ": '" + shown(entry.value) + "' does not hold";
    return "";
  }

  void fill(HybridResult ran, const systems::Values<double>& values, Outcome& outcome) const {
    Evaluation& e = outcome.evaluation;
    const auto names = run_->metric_names();
    e.metrics.resize(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) e.metrics(i) = ran.seen.at(names[i]);
    e.cost = cost_of(ran, values);
    e.status = Status::ok;
    if (!std::isfinite(e.cost)) {
      e.status = Status::failed;
      e.reason = why_no_cost(ran);
      e.cost = not_a_number;
    } else if (!ran.warning.empty()) {
      e.reason = with_warning(ran.warning, e.reason);
    }
    outcome.trajectory = std::move(ran.trajectory);
  }

  double cost_of(const HybridResult& ran, const systems::Values<double>& values) const {
    return cost_ ? value(*cost_, values, ran.seen) : ran.seen.at("dissipated_energy");
  }

  // Returns d cost/d design by finite differences of fourth order, (8 (f(d) - f(-d)) - (f(2d) - f(-2d)))/(12 d). Events
  // are located to round-off, so the motion is a smooth function of its parameters as long as the sequence of events is
  // the same. Empty if the sequence differs, or if a neighbouring design fails or is refused.
  Eigen::VectorXd gradient(const Eigen::VectorXd& design, const HybridResult& ran) const {
    const auto same = [](const variational::Event& a, const variational::Event& b) {
      return a.kind == b.kind && a.which == b.which;
    };
    Eigen::VectorXd slope = Eigen::VectorXd::Zero(design.size());
    for (Eigen::Index i = 0; i < design.size(); ++i) {
      const auto& range = settings_.variables[i];
      const double d = 1e-3 * (range.upper - range.lower);
      for (const auto& [share, weight] : {std::pair(1.0, 8.0), {-1.0, -8.0}, {2.0, -1.0}, {-2.0, 1.0}}) {
        Eigen::VectorXd beside = design;
        beside(i) += share * d;
        try {
          const auto values = model_.evaluate<double>(designed(beside));
          const HybridResult other = run_->run(values, started(values), false);
          if (!other.reason.empty() || other.events.size() != ran.events.size() ||
              !std::equal(ran.events.begin(), ran.events.end(), other.events.begin(), same))
            return {};
          slope(i) += weight * cost_of(other, values) / (12.0 * d);
        } catch (const ConfigError&) {  // the model refuses the neighbouring design
          return {};
        }
      }
    }
    return slope.allFinite() ? slope : Eigen::VectorXd();
  }

  std::string story(const HybridResult& ran, const systems::Values<double>& values) const {
    const auto& names = model_.structure.coordinate_names;
    std::string text = formatted("model           %s, %zu coordinates, %zu contacts, %zu constraints, %zu resets\n",
                                 own_.model.c_str(), names.size(), system_.pieces.contacts.size(),
                                 system_.pieces.constraints.size(), system_.pieces.resets.size());
    text += formatted("method          %s, order %d, steps of at most %g s\n", settings_.text("hybrid.method").c_str(),
                      own_.integrator.order, own_.integrator.step);
    if (!ran.warning.empty()) text += "warning         " + ran.warning + "\n";
    if (ran.k > 0.0) text += formatted("projection      k = %g 1/m2, above k_c = %.9g\n", ran.k, ran.least_k);
    if (!ran.reason.empty()) text += "ended           failed: " + ran.reason + "\n";
    if (ran.trajectory.empty()) return text;
    if (own_.find == Find::gait) {
      text += formatted("gait            period %.9g s, a state and its image differ by %.1e\n", ran.gait.period,
                        ran.gait.miss);
      for (const auto& m : ran.gait.multipliers) {
        text += formatted("multiplier      %.9g", m.real());
        text += m.imag() == 0.0 ? "\n" : formatted(" %+.9g i\n", m.imag());
      }
    } else if (ran.reason.empty()) {
      text += formatted("ended           at t = %.9g s, %ld steps\n", ran.seen.at("duration"), ran.steps);
    }
    text += formatted("events          %zu\n", ran.events.size());
    const std::size_t most = 40;
    for (std::size_t i = 0; i < std::min(most, ran.events.size()); ++i) {
      const auto& event = ran.events[i];
      text += formatted("  %14.9f s  %s", event.time, run_->event_name(event).c_str());
      text += std::abs(event.loss) > 1e-12 * (1.0 + std::abs(ran.energy_before))
                  ? formatted(", loses %.6g J\n", event.loss)
                  : std::string("\n");
    }
    if (ran.events.size() > most) text += formatted("  and %zu more\n", ran.events.size() - most);
    text += formatted("energy          %.9g J -> %.9g J; events lost %.6g J; ", ran.energy_before, ran.energy_after,
                      ran.dissipated_energy);
    if (std::abs(ran.reset_energy) > 1e-12 * (1.0 + std::abs(ran.energy_before)))
      text += formatted("resets raised %.6g J of potential energy; ", ran.reset_energy);
    text += formatted("by forces and errors of steps %.3g J\n", ran.energy_change());
    if (ran.seen.count("max_penetration"))
      text += formatted("feasibility     deepest at a node %.3g m\n", ran.seen.at("max_penetration"));
    for (const auto& name : names)
      if (ran.seen.count(name))
        text +=
            formatted("%-15s %.9f, rate %.9f\n", name.c_str(), ran.seen.at(name), ran.seen.at("rate(" + name + ")"));
    if (!cost_ || !ran.reason.empty()) return text;
    const double cost = value(*cost_, values, ran.seen);
    return text + (std::isfinite(cost) ? formatted("cost            %.10g\n", cost)
                                       : "cost            none: " + why_no_cost(ran) + "\n");
  }

  // Returns why a cost is not a finite number: it uses a quantity that this motion does not have.
  std::string why_no_cost(const HybridResult& ran) const {
    for (const std::string& name : cost_ ? cost_->names : std::vector<std::string>{}) {
      if (model_.parameter(name) >= 0) continue;
      const auto at = ran.seen.find(name);
      if (at == ran.seen.end()) return "the cost uses " + name + ", which only hybrid.solve-for = gait gives";
      if (!std::isfinite(at->second)) return "the cost uses " + name + ", which this motion does not have";
    }
    return "the cost is not a finite number";
  }

  Settings settings_;
  HybridOptions own_;
  std::string model_text_;
  systems::HybridModel system_;
  const systems::Model& model_;
  std::optional<HybridRun> run_;
  std::vector<std::pair<std::size_t, Formula>> start_;
  std::vector<std::pair<CustomEntry, Formula>> requirements_;
  std::optional<Formula> cost_;
};

}  // namespace

EvaluatorKind hybrid_kind() {
  EvaluatorKind kind;
  kind.name = "hybrid";
  kind.description = "simulates a model's motion in pieces joined by impacts and resets, or finds its periodic gait";
  kind.variables = variables_of;
  kind.keys = hybrid_keys().keys();
  kind.idle = idle_hybrid_keys;
  kind.sections = {
      {.kind = "initial-state",
       .any_key = true,
       .description =
           "values at the start, which replace those of the model's [initial-state]: COORDINATE = expression, "
           "rate(COORDINATE) = expression"},
      {.kind = "cost",
       .keys = {"cost"},
       .description = "cost = an expression of parameters, metrics, and coordinates and rates at the end"},
      {.kind = "require", .any_key = true, .description = "conditions on the parameters; other designs are infeasible"},
  };
  kind.make = make<HybridEvaluator>;
  return kind;
}

}  // namespace dodyn::evaluators
