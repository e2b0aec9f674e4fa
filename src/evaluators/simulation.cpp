#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <numbers>
#include <stdexcept>

#include "evaluators/dimensions.hpp"
#include "evaluators/kinds.hpp"
#include "evaluators/metrics.hpp"
#include "evaluators/parameters.hpp"
#include "evaluators/shapes.hpp"
#include "evaluators/simulation/keys.hpp"
#include "evaluators/simulation/outcome_statistics.hpp"
#include "record/text.hpp"
#include "systems/hybrid_model.hpp"
#include "systems/sections.hpp"

namespace dodyn::evaluators {
namespace {

using simulation::Formula;
using simulation::InitialStates;
using simulation::KeyframeRecorder;
using simulation::Runner;
using simulation::SimulationOptions;
using simulation::SimulationResult;
using simulation::Start;
using simulation::StateQuantity;

using Given = std::map<std::string, double>;

// Reads the model, with the parameters of the configuration. `given`: parameters that the study sets; the number of
// links may depend on them.
systems::HybridModel read_system(const Settings& settings, const NamedModel& named, const Given& given = {}) {
  systems::HybridModel system = systems::read_hybrid_model(named.text, named.path, given);
  systems::check_honoured(system.model, "simulation");
  add_parameters(settings, system.model);
  return system;
}

std::vector<DesignVariable> parameters_of(const Settings& so_far) {
  if (so_far.text("simulation.model").empty()) return {};
  auto variables = parameter_variables(read_system(so_far, named_model(so_far, "simulation.model")).model);
  const auto of_control = simulation::control_variables(so_far);
  variables.insert(variables.end(), of_control.begin(), of_control.end());
  return variables;
}

class SimulationEvaluator final : public Evaluator {
 public:
  explicit SimulationEvaluator(const Settings& settings)
      : settings_(settings),
        own_(simulation::read_simulation(settings)),
        named_(named_model(settings, "simulation.model")),
        system_(read_system(settings, named_, set(settings))),
        starts_(settings_, model_) {
    for (const Variable& free : settings.variables)
      if (const int at = model_.parameter(free.name); at >= 0 && model_.parameters[at].counts)
        throw settings.error(
            "design." + free.name + ".min",
            "the number of links depends on this parameter, so it cannot be free; give a value: design." + free.name +
                " = NUMBER");
    check_dimensions(settings, model_);
    SimulationOptions& run_options = own_.run_options;
    run_options.held = simulation::held_links(settings, model_);
    starts_.expect_moving(run_options.held);
    simulation::FormulaReader reader(model_, starts_.variables(), simulation::controllers(settings, model_));
    starts_.read(reader);
    run_options.feedback =
        simulation::read_feedback(settings, model_, reader, run_options.options.step, run_options.held);
    expect_driven_forces();
    for (const CustomSection* section : settings.sections_of("require"))
      for (const CustomEntry& entry : section->entries) requirements_.push_back({entry, reader.requirement(entry)});
    for (const CustomSection* section : settings.sections_of("outcome")) {
      const std::string& name = section->name;
      if (name == "end" || name == "failed" || (name == "unresolved" && run_options.coils))
        throw section->error(name == "end" ? "is reserved for runs that no outcome ends; choose another name"
                             : name == "failed"
                                 ? "is reserved for simulations that break down; choose another name"
                                 : "is reserved for runs that leave the range of coils.table; choose another name");
      run_options.rules.push_back(
          {name, reader.condition(*section->find("when")), section->real(simulation::dwell_key())});
    }
    read_cost(reader);
    control_ = simulation::Control::read(settings, model_, reader, run_options.options.step);
    statistics_.controlled = control_ || run_options.feedback;
    if (run_options.feedback) statistics_.effort_unit = simulation::effort_unit(*run_options.feedback, model_);
    read_metrics(reader);
    starts_.check_used(reader);
    if (own_.start > starts_.count())
      throw settings.error("simulation.initial-state",
                           "there are only " + std::to_string(starts_.count()) + " initial states; choose one of them");
    // Reports models that no design can make valid before the study starts. For example, bodies() supports only some
    // kinds of joints.
    const auto values = model_.evaluate<double>();
    channels_ = simulation::runner_channels(model_, values, run_options, control_.has_value());
    expect_contacts_by_impulses();
    try {
      if (model_.dimension == 2)
        describe<2>(values);
      else
        describe<3>(values);
    } catch (const std::invalid_argument& error) {
      throw settings.error("simulation.model", error.what());
    }
    if (run_options.uses(StateQuantity::largest_impulse) && !run_options.by_impulses())
      throw settings.error("simulation.contact-method",
                           "has no impulses, which max_impulse needs; allowed: projection, event-driven");
    expect_surfaces_of_penalty();
    if (own_.run_options.coils) try_coils(values);
    if (control_) try_control();
  }

  std::vector<Quantity> metrics() const override {
    std::vector<Quantity> all = statistics_.metrics();
    if (misalignment_)
      all.push_back({"capture", "",
                     "largest misalignment, in SI units, up to which all initial states end as " +
                         statistics_.outcomes[statistics_.success_outcome] +
                         "; 0: the one with the smallest misalignment does not"});
    if (!own_metrics_) return all;
    const auto& own = own_metrics_->quantities();
    all.insert(all.end(), own.begin(), own.end());
    return all;
  }

  Pairing pairing() const override {
    if (statistics_.given_outcome >= 0 || starts_.count() < 2)
      return Pairing::none;  // designs differ in the states of a conditional mean
    return starts_.are_drawn() ? Pairing::extensible : Pairing::fixed;
  }

  std::function<std::string(const Eigen::VectorXd&)> infeasibility_test() const override {
    return [this](const Eigen::VectorXd& design) -> std::string {
      try {
        const Given given = designed(design);
        check_requirements(given);
        model_.evaluate<double>(given);
      } catch (const ConfigError& error) {
        return error.what();
      }
      return {};
    };
  }

  Channels channels() const override {
    const int n = starts_.count();
    Channels list;
    if (!starts_.variables().empty())
      list.push_back({"initial_state", "", "quantities that differ between the initial states, in SI units", n,
                      starts_.variables()});
    list.push_back(statistics_.channel(n));
    if (!filmed()) list.insert(list.end(), channels_.begin(), channels_.end());
    if (corners_ > 0) list.push_back(shapes_channel(model_.dimension, corners_));
    if (filmed()) list.push_back(simulation::film_channel(n, own_.frames, channels_[1]));
    return list;
  }

  std::vector<InputFile> input_files() const override {
    std::vector<InputFile> all = {
        {"simulation.model-checksum", checksum(named_.text), settings_.text("simulation.model"), named_.text}};
    if (!own_.coil_text.empty())
      all.push_back({"coils.table-checksum", checksum(own_.coil_text), settings_.text("coils.table"), own_.coil_text});
    if (const std::string& text = starts_.file_text(); !text.empty())
      all.push_back({"initial-states.file-checksum", checksum(text), starts_.file_name(), text});
    return all;
  }

  int parts() const override { return (starts_.count() + own_.batch - 1) / own_.batch; }

  Outcome evaluate(const Task& task) const override {
    Outcome outcome{task.evaluation, {}};
    try {
      const Given design = designed(task.evaluation.design);
      check_requirements(design);
      if (model_.dimension == 2)
        simulate_batch<2>(task, design, outcome);
      else
        simulate_batch<3>(task, design, outcome);
    } catch (const ConfigError& error) {  // the model refuses the design
      refuse(outcome, error.what());
    } catch (const std::invalid_argument& error) {  // bodies overlap at the start, or a shape has no volume
      refuse(outcome, error.what());
    }
    if (parts() > 1) return outcome;
    return join(task.evaluation, {std::move(outcome)});
  }

  Outcome join(const Evaluation& asked, std::vector<Outcome> parts) const override {
    Outcome outcome{asked, {}};
    const auto tries = statistics_.aggregate(parts, starts_.count(), outcome.evaluation);
    if (!tries) return outcome;
    Eigen::MatrixXd films(filmed() ? starts_.count() * own_.frames : 0, channels_[1].coordinates.size() + 1);
    Eigen::Index row = 0;
    for (auto& part : parts) {
      if (!filmed()) break;
      auto& values = part.trajectory.values;
      films.middleRows(row, values.back().rows()) = values.back();
      row += values.back().rows();
      values.pop_back();
    }
    add_metrics(*tries, outcome.evaluation);
    auto& values = outcome.trajectory.values;
    if (!starts_.variables().empty()) values.push_back(where(asked));
    values.push_back(statistics_.archived(*tries));
    auto& first = parts.front().trajectory.values;
    values.insert(values.end(), std::make_move_iterator(first.begin() + 1), std::make_move_iterator(first.end()));
    if (filmed()) values.push_back(std::move(films));
    return outcome;
  }

  std::optional<Simulated> simulate(const Task& task) const override {
    const Given design = designed(task.evaluation.design);
    check_requirements(design);
    try {
      return model_.dimension == 2 ? showing<2>(task, design) : showing<3>(task, design);
    } catch (const std::invalid_argument& error) {
      throw settings_.error("simulation.initial-state", error.what());
    }
  }

  std::string report(const Outcome& outcome) const override {
    std::string lines = statistics_.report(outcome.evaluation, starts_.count());
    const Eigen::Index own = own_metrics_->quantities().size() + (misalignment_ ? 1u : 0u);
    const auto& metrics = outcome.evaluation.metrics;
    if (own == 0 || metrics.size() < own) return lines;
    const auto list = this->metrics();
    for (Eigen::Index k = metrics.size() - own; k < metrics.size(); ++k)
      lines += formatted("%-15s %.6g\n", list[k].name.c_str(), metrics[k]);
    return lines;
  }

 private:
  // Whether the archive stores keyframes of every run, not the motion of the first.
  bool filmed() const { return starts_.count() > 1 && own_.frames > 0; }

  void read_cost(simulation::FormulaReader& reader) {
    auto& names = statistics_.outcomes;
    for (const auto& rule : own_.run_options.rules) names.push_back(rule.name);
    names.insert(names.end(), {"end", "failed"});
    statistics_.failed = std::ssize(names) - 1;
    if (own_.run_options.coils) names.emplace_back("unresolved");
    statistics_.end = own_.run_options.end;
    for (const CustomSection* section : settings_.sections_of("cost")) {
      const CustomEntry *share = section->find("success"), *formula = section->find("cost"),
                        *misalignment = section->find("misalignment");
      read_among(*section);
      if (share && formula) throw formula->error("cannot be combined with success; remove one of them");
      if (formula) own_.run_options.cost = reader.number(*formula);
      statistics_.formula = formula != nullptr;
      if (misalignment && !share) throw misalignment->error("has no effect without success; add success = OUTCOME");
      if (misalignment) misalignment_ = reader.start(*misalignment, misalignment->parsed());
      if (!share) continue;
      statistics_.success_outcome = outcome_named(*share);
    }
  }

  // Reads [metrics]: aggregates of the final states of all runs, and parameters that all runs share.
  void read_metrics(simulation::FormulaReader& reader) {
    std::vector<std::string> parameters = names_of(model_.parameters);
    std::erase_if(parameters, [&](const std::string& name) {
      return std::ranges::find(starts_.variables(), name) != starts_.variables().end();
    });
    const auto read = [&](const CustomEntry& entry, const Aggregate& aggregate) {
      if (!aggregate.phase.empty()) throw entry.error("names a phase; runs have none; allowed: one expression");
      const Formula formula = reader.value(entry, aggregate.argument);
      if (aggregate.function == "share" && !formula.is_truth())
        throw entry.error("'" + aggregate.argument.text() + "' is a number; allowed in share: a condition");
      if (aggregate.function != "share" && aggregate.argument.is_condition())
        throw entry.error("'" + aggregate.argument.text() + "' is a condition; use share for its fraction of the runs");
      own_.run_options.finals.push_back(formula);
      statistics_.aggregates.push_back(aggregate.function);
    };
    own_metrics_.emplace(settings_, model_,
                         MetricExpressions::Names{{"mean", "share", "max_over", "min_over"}, parameters, metrics()},
                         read);
  }

  int outcome_named(const CustomEntry& entry) const {
    const auto& names = statistics_.outcomes;
    const auto judged = names.begin() + statistics_.failed, at = std::find(names.begin(), judged, entry.value);
    if (at == judged)
      throw entry.error("no outcome of that name" + did_you_mean(entry.value, names) +
                        "; allowed: " + listed({names.begin(), judged}));
    return static_cast<int>(at - names.begin());
  }

  // Reads the outcome over which the mean is taken, and the largest fraction of other outcomes.
  void read_among(const CustomSection& section) {
    const CustomEntry *given_outcome = section.find("given-outcome"), *others = section.find("max-other-share");
    if (const CustomEntry* share = section.find("success"); share && (given_outcome || others))
      throw(given_outcome ? given_outcome : others)->error("cannot be combined with success; remove one of them");
    if (others && !given_outcome)
      throw others->error("has no effect without given-outcome; add given-outcome = OUTCOME");
    if (!given_outcome) return;
    statistics_.given_outcome = outcome_named(*given_outcome);
    static const Key key{.name = "max-other-share", .default_value = "1", .unit = "1", .minimum = 0, .maximum = 1};
    statistics_.max_other_share = section.real(key);
  }

  template <int n>
  void describe(const systems::Values<double>& values) {
    const auto world = systems::bodies<n>(model_, values, {}, {.one_sided = &system_.pieces.contacts}).world;
    for (const auto& body : world.bodies) bodies_.push_back(body.name);
    rigid::Simulation<n>(world, own_.run_options.options);
    expect_long_steps_fit(world);
    corners_ = shapes(world).rows();
  }

  // Throws if a force depends on the control of an actuator that rests.
  void expect_driven_forces() const {
    const auto& feedback = own_.run_options.feedback;
    for (const auto& load : model_.structure.loads)
      for (const auto& component : load.components)
        for (const auto& [variable, parameter] : component.arguments) {
          if (variable.kind != systems::Variable::control || (feedback && feedback->drives(variable.index))) continue;
          const std::string& name = model_.structure.actuators[variable.index].name;
          model_.fail(0, "[force " + load.name + "] depends on u." + name + ", but actuators rest without a law; add " +
                             name + " = EXPRESSION to [feedback], or use a parameter instead");
        }
  }

  // Throws if steps may grow although forces need short steps. The gaps between bodies bound the steps, without regard
  // to the period of a spring.
  template <int n>
  void expect_long_steps_fit(const rigid::World<n>& world) const {
    const auto& run_options = own_.run_options;
    if (!run_options.allows(4.0 * run_options.options.step)) return;
    const auto& system = model_.structure;
    const bool charged_points =
        std::ranges::any_of(world.charges, [&](const auto& charge) { return world.bodies[charge.body].parts.empty(); });
    const char* cause = !world.joints.empty()        ? "joints"
                        : !system.springs.empty()    ? "[spring]"
                        : !system.potentials.empty() ? "[potential]"
                        : !world.forces.empty()      ? "[force], [joint-limit] or damping"
                        : charged_points             ? "[charge] on a body without shapes"
                        : run_options.feedback && run_options.feedback->period == 0.0 ? "[feedback] without sample-rate"
                                                                                      : nullptr;
    if (cause)
      throw settings_.error("simulation.max-step", std::string("does not support a model with ") + cause +
                                                       ", which needs short steps far from contact, too; allowed: "
                                                       "step, or less than 4 times simulation.step");
  }

  // Throws if the model has [contact NAME] or [stop NAME], and the contact method does not resolve contacts by
  // impulses.
  void expect_contacts_by_impulses() const {
    if (own_.run_options.by_impulses()) return;
    for (const systems::Model::Section& section : model_.sections)
      if (section.kind == "stop" || (section.kind == "contact" && !section.name.empty()))
        throw settings_.error("simulation.contact-method", "does not close [" + section.kind + " " + section.name +
                                                               "]; allowed here: projection, event-driven");
  }

  // Throws if [surface] has losses, because the springs between overlapping bodies have neither friction nor
  // restitution.
  void expect_surfaces_of_penalty() const {
    if (own_.run_options.options.response != rigid::Response::penalty) return;
    const auto expect_no_losses = [&](const std::vector<double>& numbers) {
      for (const systems::Surface& surface : model_.surfaces)
        if (systems::Model::at(surface.restitution, numbers) != 1.0 ||
            systems::Model::at(surface.friction, numbers) != 0.0)
          throw settings_.error("simulation.contact-method",
                                "does not support friction or restitution, but [surface" +
                                    (surface.name.empty() ? "" : " " + surface.name) +
                                    "] has them; set restitution = 1 and friction = 0, or choose another method");
    };
    for (const bool upper : {false, true}) {
      Given given = set(settings_);
      for (const Variable& free : settings_.variables) given[free.name] = upper ? free.upper : free.lower;
      if (!starts_.varies_model()) {
        expect_no_losses(model_.evaluate<double>(given).numbers);
        continue;
      }
      for (int i = 0; i < starts_.count(); ++i) {  // [initial-states] may set the parameters of a surface
        std::optional<Start> start;
        try {
          start = starts_.start(i, given);
        } catch (const ConfigError&) {  // such a design is infeasible
        }
        if (start) expect_no_losses(start->values.numbers);
      }
    }
  }

  void try_coils(const systems::Values<double>& values) const {
    if (model_.dimension != 2)
      throw settings_.error("coils.table", "applies to planar models, but this model is spatial; remove it");
    auto world = systems::bodies<2>(model_, values).world;
    try {
      rigid::CoilForce(world, own_.run_options.coils->form, own_.run_options.coils->range);
    } catch (const std::invalid_argument& error) {
      throw settings_.error("coils.table", std::string("the model ") + error.what());
    }
  }

  // Makes a controller with the settings that are equal for all designs, so that errors are reported before the study
  // starts.
  void try_control() const {
    Eigen::VectorXd any(settings_.variables.size());
    for (Eigen::Index i = 0; i < any.size(); ++i) any[i] = settings_.variables[i].lower;
    try {
      const bool free = any.size() > 0;
      const auto values = free ? model_.evaluate<double>() : model_.evaluate<double>(designed(any));
      auto plan_of = control_->plan(settings_, any, values);
      if (free) {  // uses valid gains and a valid dipole; the values of a design are checked when it is evaluated
        plan_of.options.law = {};
        plan_of.dipole_offset = -1e3;
      }
      if (model_.dimension == 2)
        simulation::controller(simulation::held(systems::bodies<2>(model_, values), own_.run_options.held), plan_of);
      else
        simulation::controller(simulation::held(systems::bodies<3>(model_, values), own_.run_options.held), plan_of);
    } catch (const std::invalid_argument& error) {
      throw settings_.error("control.craft", error.what());
    }
  }

  // Returns the design variables that have one value in the whole study.
  static Given set(const Settings& settings) {
    Given given;
    for (const auto& name : settings.given_variables)
      if (std::ranges::none_of(settings.variables, [&](const Variable& free) { return free.name == name; }))
        given[name] = settings.design(name, {});
    return given;
  }

  // Appends the metrics of misalignments and of [metrics] to the metrics of the outcomes.
  void add_metrics(const Eigen::MatrixXd& tries, Evaluation& e) const {
    const Given design = designed(e.design);
    std::vector<double> all(e.metrics.begin(), e.metrics.end());
    if (misalignment_) {
      std::vector<std::pair<double, bool>> states;  // size of the misalignment, and whether the state succeeds
      for (int i = 0; i < starts_.count(); ++i)
        states.emplace_back(std::abs(starts_.start(i, design, set_of(e)).value(*misalignment_)),
                            tries(i, simulation::outcome_column) == statistics_.success_outcome);
      std::ranges::sort(states);  // equal states: those that fail come first
      const auto failing = std::ranges::find_if(states, [](const auto& state) { return !state.second; });
      all.push_back(failing == states.begin() ? 0.0 : std::prev(failing)->first);
    }
    const systems::Values<double> values = model_.evaluate<double>(design);
    const auto parameter = [&](const std::string& name) { return values.parameters[model_.parameter(name)]; };
    const std::vector<double> own = own_metrics_->values(all, parameter, statistics_.aggregated(tries));
    all.insert(all.end(), own.begin(), own.end());
    e.metrics = Eigen::Map<const Eigen::VectorXd>(all.data(), std::ssize(all));
  }

  static void refuse(Outcome& outcome, const std::string& reason) {
    outcome.evaluation.status = Status::infeasible;
    outcome.evaluation.reason = reason;
    outcome.trajectory.values.clear();
  }

  // Returns the parameters that the study sets or frees; all other parameters have the model's values.
  Given designed(const Eigen::VectorXd& free) const { return given_parameters<double>(settings_, model_, free); }

  void check_requirements(const Given& design) const {
    if (requirements_.empty()) return;
    const auto values = model_.evaluate<double>(design);
    for (const auto& [entry, formula] : requirements_) {
      std::vector<double> x;
      std::string numbers;
      for (std::size_t i = 0; i < formula.arguments.size(); ++i) {
        x.push_back(values.parameters[formula.arguments[i].variable.index]);
        numbers += (i ? ", " : "") + formula.expression.quantities()[i].text() + " = " + formatted("%.6g", x.back());
      }
      if (!formula.expression.holds(x))
        throw ConfigError(entry.source + ": " + entry.key + ": '" + shown(entry.value) + "' does not hold, " + numbers);
    }
  }

  std::optional<simulation::ControlPlan> plan(const Eigen::VectorXd& free, const Start& start) const {
    if (!control_) return {};
    return control_->plan(settings_, free, start.values);
  }

  Trajectory blank() const {
    Trajectory trajectory;
    for (const auto& channel : channels_)
      trajectory.values.push_back(Eigen::MatrixXd::Constant(channel.nodes, channel.coordinates.size(), not_a_number));
    return trajectory;
  }

  template <int n>
  void simulate_batch(const Task& task, const Given& design, Outcome& outcome) const {
    const int first = task.part * own_.batch, last = std::min(first + own_.batch, starts_.count());
    const int set = set_of(task.evaluation);
    Eigen::MatrixXd tries(last - first, simulation::columns + std::ssize(statistics_.aggregates));
    Eigen::MatrixXd films(filmed() ? (last - first) * own_.frames : 0, channels_[1].coordinates.size() + 1);
    Trajectory motion = first == 0 && !filmed() ? blank() : Trajectory{};
    std::optional<Runner<n>> runner;
    std::optional<KeyframeRecorder<n>> film;
    const auto late = [&] { return task.seconds_left() == 0.0; };
    for (int i = first; i < last; ++i) {
      const Start start = starts_.start(i, design, set);
      if (!runner || starts_.varies_model()) {
        runner.emplace(system_, start.values, own_.run_options, plan(task.evaluation.design, start));
        if (filmed()) film.emplace(runner->world());
      }
      simulation::SimulationRecord<n> kept;
      kept.motion = i == 0 && !filmed() ? &motion : nullptr;
      kept.film = film ? &*film : nullptr;
      SimulationResult ended;
      try {
        ended = runner->run(start, late, &kept);
      } catch (const std::invalid_argument& error) {
        throw std::invalid_argument(starts_.count() > 1 ? "start " + std::to_string(i + 1) + " of " +
                                                              std::to_string(starts_.count()) + ": " + error.what()
                                                        : error.what());
      }
      if (ended.timed_out) {
        outcome.evaluation.status = Status::timed_out;
        outcome.evaluation.reason = formatted("time limit after %d of %d initial states", i - first, last - first);
        return;
      }
      if (outcome.evaluation.reason.empty() && !ended.reason.empty())
        outcome.evaluation.reason = "start " + std::to_string(i + 1) + ", " + ended.reason;
      tries.row(i - first).template head<simulation::columns>() << ended.outcome, ended.time, ended.cost,
          static_cast<double>(ended.steps), ended.contacts, ended.energy_change, ended.effort;
      tries.row(i - first).tail(std::ssize(ended.finals)) =
          Eigen::Map<const Eigen::RowVectorXd>(ended.finals.data(), std::ssize(ended.finals));
      if (film) films.middleRows((i - first) * own_.frames, own_.frames) = film->keyframes(own_.frames);
    }
    outcome.evaluation.status = Status::ok;
    outcome.evaluation.cost = tries.col(simulation::cost_column).mean();
    outcome.trajectory.values = {std::move(tries)};
    if (first == 0) {
      for (auto& values : motion.values) outcome.trajectory.values.push_back(std::move(values));
      const auto start = starts_.start(0, design, set);
      if (corners_ > 0) outcome.trajectory.values.push_back(shapes(systems::bodies<n>(model_, start.values).world));
    }
    if (filmed()) outcome.trajectory.values.push_back(std::move(films));
  }

  // Returns the number of the set of initial states of an evaluation, which is its seed; see Pairing::extensible. 0 if
  // the seed does not number a set.
  int set_of(const Evaluation& asked) const {
    constexpr std::uint64_t max_sets = 1000;
    return pairing() == Pairing::extensible && asked.seed < max_sets ? static_cast<int>(asked.seed) : 0;
  }

  Eigen::MatrixXd where(const Evaluation& asked) const {
    const Given design = designed(asked.design);
    const int set = set_of(asked);
    Eigen::MatrixXd rows(starts_.count(), starts_.variables().size());
    for (int i = 0; i < starts_.count(); ++i) {
      const auto start = starts_.start(i, design, set);
      for (Eigen::Index k = 0; k < rows.cols(); ++k) rows(i, k) = start.variables[k];
    }
    return rows;
  }

  template <int n>
  Simulated showing(const Task& task, const Given& design) const {
    const Start start = starts_.start(own_.start - 1, design, set_of(task.evaluation));
    Runner<n> runner(system_, start.values, own_.run_options, plan(task.evaluation.design, start));
    Trajectory motion = blank();
    simulation::SimulationSummary<n> summary;
    simulation::SimulationRecord<n> kept{.motion = &motion, .summary = &summary};
    const std::clock_t clock = std::clock();
    const SimulationResult ended = runner.run(
        start, [&] { return task.seconds_left() == 0.0; }, &kept);
    const double seconds = static_cast<double>(std::clock() - clock) / CLOCKS_PER_SEC;
    Simulated result;
    const bool cost_is_finite = !own_.run_options.cost || std::isfinite(ended.cost);
    result.completed = ended.reason.empty() && !ended.timed_out && cost_is_finite;
    const auto& options = own_.run_options.options;
    result.report = formatted("model           %s, %zu bodies, %s\n", own_.model.c_str(), bodies_.size(),
                              n == 2 ? "planar" : "spatial") +
                    formatted("method          %s, %s, h = %g s\n", settings_.text("simulation.stepper").c_str(),
                              settings_.text("simulation.contact-method").c_str(), options.step);
    if (starts_.count() > 1 || !start.variables.empty()) {
      result.report += formatted("initial state   %d of %d", own_.start, starts_.count());
      const std::size_t most = 8;  // maximum number of values in a line
      for (std::size_t i = 0; i < std::min(most, start.variables.size()); ++i)
        result.report += formatted("%s %s = %.6g", i ? "," : ":", starts_.variables()[i].c_str(), start.variables[i]);
      result.report += "\n";
    }
    result.report +=
        ended.reason.empty()
            ? formatted("ended           %s at t = %.6g s, %ld steps%s\n", statistics_.outcomes[ended.outcome].c_str(),
                        ended.time, ended.steps, ended.timed_out ? ", at its time limit" : "")
            : "ended           " + statistics_.outcomes[ended.outcome] + ": " + ended.reason + "\n";
    if (own_.run_options.cost)
      result.report += cost_is_finite ? formatted("cost            %.9g\n", ended.cost)
                                      : std::string("cost            is not a finite number\n");
    const auto& contact_totals = summary.contact_totals;
    result.report +=
        formatted("energy          kinetic %.6g J -> %.6g J, potential %.6g J -> %.6g J\n", summary.before.kinetic,
                  summary.after.kinetic, summary.before.potential, summary.after.potential) +
        formatted("                by impacts and friction %.4g J, by projections %.4g J, ", contact_totals.impact,
                  contact_totals.projection.total()) +
        (contact_totals.forces != 0.0 ? formatted("by damping, drag and driving forces %.4g J, ", contact_totals.forces)
                                      : "") +
        formatted("unaccounted for %.4g J\n", ended.energy_change) +
        formatted("momentum        linear changed by %.3g N s, angular by %.3g N m s (by projections %.3g)\n",
                  (summary.end.linear - summary.start.linear).norm(),
                  (summary.end.angular - summary.start.angular).norm(), contact_totals.momentum.angular.norm()) +
        feedback_report(summary.feedback, ended.time) +
        (control_
             ? formatted(
                   "control         effort %.6g N^2 s, work %.4g J, impulse %.4g N s, attitude off by %.4g rad at "
                   "most%s%s\n",
                   summary.control.effort, summary.control.work, summary.control.impulse.norm(),
                   summary.control.largest_angle,
                   summary.control.largest_angle > std::numbers::pi - rigid::half_turn_margin
                       ? ": half a turn, where its direction is arbitrary"
                       : "",
                   summary.control.replanned > 0 ? formatted(", %d new curves", summary.control.replanned).c_str() : "")
             : std::string()) +
        formatted("largest         overlap %.3g m, angular velocity %.4g rad/s", std::max(summary.overlap, 0.0),
                  summary.spin) +
        (own_.run_options.by_impulses() ? formatted(", impulse of two bodies in a step %.4g N s\n", summary.impulse)
                                        : "\n") +
        formatted("contact         %d updates of contacts, %d shortened steps, %zu pairs of shapes touch at the end\n",
                  contact_totals.impulses, contact_totals.cuts, summary.touching) +
        formatted("                %d impacts limited so that they add no energy, velocities solved to %.2g m/s\n",
                  contact_totals.energy_limited, contact_totals.residual) +
        formatted("speed           %.4g s simulated per CPU second\n", ended.time / std::max(1e-9, seconds));
    result.channels = channels_;
    result.trajectory = std::move(motion);
    for (auto& channel : result.channels) channel.nodes = kept.rows;
    for (auto& values : result.trajectory.values) values.conservativeResize(kept.rows, Eigen::NoChange);
    return result;
  }

  // Returns the line of the law in the report of a run that lasted `time`.
  std::string feedback_report(const simulation::FeedbackSums& sums, double time) const {
    const auto& law = own_.run_options.feedback;
    if (!law) return {};
    const std::string unit = simulation::effort_unit(*law, model_);
    std::string text = formatted("feedback        effort %.6g%s, work %.4g J\n", sums.effort,
                                 unit.empty() ? "" : (" " + unit).c_str(), sums.work);
    for (std::size_t i = 0; i < law->controls.size(); ++i) {
      const int actuator = law->controls[i].actuator;
      text += formatted("                %s: at most %.4g %s", model_.structure.actuators[actuator].name.c_str(),
                        sums.largest[i], std::string(model_.unit({systems::Variable::control, actuator})).c_str());
      if (sums.limited_for[i] > 0.0)
        text += formatted(", its limit, for %.3g %% of the time", 100.0 * sums.limited_for[i] / time);
      text += "\n";
    }
    return text;
  }

  Settings settings_;
  simulation::SimulationSettings own_;
  NamedModel named_;
  systems::HybridModel system_;
  const systems::Model& model_ = system_.model;
  InitialStates starts_;
  std::optional<simulation::Control> control_;
  struct Requirement {
    CustomEntry entry;
    Formula formula;
  };
  std::vector<Requirement> requirements_;
  std::optional<MetricExpressions> own_metrics_;  // [metrics]
  std::optional<Formula> misalignment_;
  std::vector<std::string> bodies_;
  int corners_ = 0;
  simulation::OutcomeStatistics statistics_;
  Channels channels_;  // channels of a motion
};

}  // namespace

EvaluatorKind simulation_kind() {
  using Name = ini::SectionKind::Name;
  EvaluatorKind kind;
  kind.name = "simulation";
  kind.description =
      "simulates a model with contacts from a set of initial states; cost: failure rate, or mean of an expression";
  kind.variables = parameters_of;
  kind.keys = simulation::simulation_keys().keys();
  for (auto* keys : {simulation::control_keys, simulation::coil_keys})
    for (auto& key : keys()) kind.keys.push_back(std::move(key));
  kind.idle = simulation::idle_simulation_keys;
  kind.sections = {
      {.kind = "parameters",
       .any_key = true,
       .description = "further parameters: NAME = an expression of parameters and earlier entries"},
      {.kind = "initial-state",
       .any_key = true,
       .description =
           "values at the start of a run: NAME = expression, for coordinates, rate(COORDINATE) and parameters"},
      {.kind = "initial-states",
       .any_key = true,
       .description = "values that differ between initial states: NAME = LOW .. HIGH; count, sampling, seed; or file = "
                      "a CSV file"},
      {.kind = "outcome",
       .name = Name::required,
       .keys = {"when", "dwell"},
       .needed = {"when"},
       .description = "a way in which a run may end: when = condition; dwell = time (s) for which it must hold; the "
                      "first fulfilled outcome ends the run"},
      {.kind = "disturbance",
       .keys = simulation::disturbance_keys(),
       .needed = {"force"},
       .description = "a smooth random force field on all moving bodies, different for each initial state"},
      simulation::feedback_section(),
      {.kind = "cost",
       .keys = {"success", "misalignment", "cost", "given-outcome", "max-other-share"},
       .description = "success = OUTCOME: the cost is the fraction of runs that end otherwise; or cost = an expression "
                      "at the end: the cost is its mean, over the runs that end as given-outcome"},
      {.kind = "require", .any_key = true, .description = "conditions on the parameters; other designs are infeasible"},
      {.kind = "metrics",
       .any_key = true,
       .description =
           "further metrics: NAME = an expression of mean, share, max_over, min_over of an expression at the "
           "end of all runs, of parameters and of metrics above"},
  };
  kind.make = make<SimulationEvaluator>;
  return kind;
}

}  // namespace dodyn::evaluators
