#include "evaluators/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <numbers>
#include <stdexcept>

#include "evaluators/docking.hpp"
#include "evaluators/shapes.hpp"
#include "evaluators/simulation/runner.hpp"
#include "record/text.hpp"
#include "settings/key_table.hpp"
#include "settings/units.hpp"

namespace dodyn::evaluators {
namespace {

using simulation::Course;
using simulation::Ended;
using simulation::Formula;
using simulation::Runner;
using simulation::Seen;
using simulation::Start;
using simulation::Starts;

using Given = std::map<std::string, double>;

struct SimulationSettings {
  std::string model;
  Course course;
  int batch = 25, start = 1;
};

const KeyTable<SimulationSettings>& simulation_keys() {
  using S = SimulationSettings;
  const auto option = [](auto member) {
    return [member](S & s) -> auto& { return s.course.options.*member; };
  };
  const auto course = [](auto member) {
    return [member](S & s) -> auto& { return s.course.*member; };
  };
  using O = rigid::Options;
  static const auto table =
      KeyTable<S>("simulation.")
          .add("model", &S::model, {.type = Type::path, .description = "the system: a model file (docs/models.md)"})
          .add("end", course(&Course::end),
               {.unit = "s",
                .description = "runs that no outcome ends take so long",
                .minimum = 0,
                .maximum = 1e6,
                .open_minimum = true})
          .add("step", option(&O::step),
               {.unit = "s", .description = "h", .minimum = 0, .maximum = 10, .open_minimum = true})
          .add("largest-step", course(&Course::largest_step),
               {.unit = "s",
                .description = "steps of 4, 16, ... times step up to this, where bodies are far from each other",
                .minimum = 0,
                .maximum = 10,
                .word = "step",
                .word_value = 0.0})
          .add("response", option(&O::response),
               {{"none", rigid::Response::none},
                {"penalty", rigid::Response::penalty},
                {"exact", rigid::Response::exact},
                {"decomposition", rigid::Response::decomposition}},
               {.description = "what mends an overlap"})
          .add("stepper", option(&O::stepper),
               {{"variational", rigid::Stepper::variational},
                {"newmark-explicit", rigid::Stepper::newmark_explicit},
                {"newmark-implicit", rigid::Stepper::newmark_implicit}},
               {.description = "what moves bodies between contacts"})
          .add("jump", option(&O::jump),
               {{"kinetic-energy", rigid::JumpCondition::kinetic_energy},
                {"discrete-energy", rigid::JumpCondition::discrete_energy}},
               {.description = "exact response: what an impact keeps"})
          .add("friction-law", option(&O::friction),
               {{"cone", rigid::Friction::cone}, {"squared-ratio", rigid::Friction::squared_ratio}},
               {.description = "Coulomb's cone, or the ratio of squares as printed"})
          .add("restitution-law", option(&O::restitution),
               {{"newton", rigid::Restitution::newton}, {"poisson", rigid::Restitution::poisson}},
               {.description = "of velocities, or of impulses"})
          .add("group", option(&O::group), {{"each", rigid::Group::each}, {"sum", rigid::Group::sum}},
               {.description = "impulses per contact point, or along the sum of gradients as printed"})
          .add("stiffness", option(&O::stiffness),
               {.unit = "N/m",
                .description = "of the penalty response",
                .minimum = 0,
                .maximum = 1e15,
                .open_minimum = true})
          .add("tolerance", option(&O::tolerance),
               {.unit = "m", .description = "overlap left at a node", .minimum = 0, .maximum = 1, .open_minimum = true})
          .add("refine", option(&O::refine),
               {.unit = "1",
                .description = "a step is cut where a body would go deeper than this share of the thinner part",
                .minimum = 0,
                .maximum = 1,
                .open_minimum = true})
          .add("max-cuts", option(&O::max_cuts),
               {.description = "of one step, before it fails", .minimum = 0, .maximum = 1000})
          .add("resting-contact", option(&O::resting),
               {.unit = "1",
                .description =
                    "contacts that close slower than this many times what forces give in a step do not bounce",
                .minimum = 0,
                .maximum = 1e6})
          .add("rest-speed", course(&Course::rest_speed),
               {.unit = "m/s",
                .description =
                    "resting: no point of a body moves faster, seen from what is fixed or else from the first body",
                .minimum = 0,
                .maximum = 1e3,
                .open_minimum = true})
          .add("nodes", course(&Course::nodes),
               {.description = "rows of a trajectory, evenly spaced", .minimum = 2, .maximum = 1000000})
          .add("batch", &S::batch,
               {.description = "starts that a rank does at a time", .minimum = 1, .maximum = 1000000})
          .add("start", &S::start,
               {.description = "the start that dodyn simulate shows, the first one being 1",
                .minimum = 1,
                .maximum = 1000000,
                .identity = false});
  return table;
}

std::uint64_t fnv1a(const std::string& text) {
  std::uint64_t hash = 14695981039346656037ull;
  for (const unsigned char c : text) hash = (hash ^ c) * 1099511628211ull;
  return hash;
}

// The SI unit that numbers with a unit have, as "kg m/s2"; nothing where it is none.
std::string si_unit(const Unit& unit, bool angle) {
  static const char* const names[] = {"m", "kg", "s", "A", "B"};
  std::string above, below;
  for (std::size_t i = 0; i < 4; ++i) {
    const int exponent = unit.dimension[i];
    if (exponent == 0) continue;
    std::string& side = exponent > 0 ? above : below;
    side += (side.empty() ? "" : " ") + std::string(names[i]);
    if (std::abs(exponent) > 1) side += std::to_string(std::abs(exponent));
  }
  if (above.empty() && below.empty()) return angle ? "rad" : "1";
  if (above.empty()) above = "1";
  return below.empty() ? above : above + "/" + (below.find(' ') == std::string::npos ? below : "(" + below + ")");
}

// Of a parameter: from the number's own ("50 mm"), or from a comment that begins with it ("m, across").
std::string unit_of(const systems::Parameter& parameter) {
  const auto angle = [](const std::string& text) { return text == "deg" || text == "rad"; };
  const std::string& text = parameter.definition.text;
  const auto number_end = text.find_first_not_of("0123456789.+-eE ");
  if (number_end != std::string::npos && number_end > 0)
    if (const auto unit = parse_unit(text.substr(number_end))) return si_unit(*unit, angle(text.substr(number_end)));
  if (parameter.definition.expression.has_units()) return "1";
  std::string word = parameter.comment.substr(0, parameter.comment.find_first_of(",;:"));
  word = word.substr(0, word.find_last_not_of(' ') + 1);
  if (!word.empty())
    if (const auto unit = parse_unit(word); unit && (unit->in_si == 1.0)) return si_unit(*unit, angle(word));
  return "1";
}

systems::Model read_model(const Settings& settings, std::string* text = nullptr) {
  const std::string path = settings.path("simulation.model");
  std::string content;
  try {
    content = systems::model_text(path);
  } catch (const ConfigError& error) {
    throw settings.error("simulation.model", error.what());
  }
  if (text) *text = content;
  return systems::read_model(content, path);
}

std::vector<DesignVariable> parameters_of(const Settings& so_far) {
  if (so_far.text("simulation.model").empty()) return {};
  std::vector<DesignVariable> variables;
  for (const auto& parameter : read_model(so_far).parameters) {
    DesignVariable variable{parameter.name, unit_of(parameter), parameter.comment, 0.0, -1e300, 1e300};
    if (variable.description.empty()) variable.description = "parameter of the model";
    if (parameter.definition.expression.is_constant())
      variable.default_value = parameter.definition.expression.constant();
    else
      variable.formula = parameter.definition.text;
    variables.push_back(std::move(variable));
  }
  const auto of_control = simulation::control_variables(so_far);
  variables.insert(variables.end(), of_control.begin(), of_control.end());
  return variables;
}

// Of a part's answer, a row a start.
enum Column {
  outcome_column,
  time_column,
  cost_column,
  steps_column,
  contacts_column,
  energy_column,
  effort_column,
  columns
};

class SimulationEvaluator final : public Evaluator {
 public:
  explicit SimulationEvaluator(const Settings& settings)
      : settings_(settings), own_(simulation_keys().read(settings)), model_(named_model()), starts_(settings, model_) {
    Course& course = own_.course;
    if (course.end < course.options.step) throw settings.error("simulation.end", "is less than a step");
    if (course.largest_step > 0.0 && course.largest_step < course.options.step)
      throw settings.error("simulation.largest-step", "is less than simulation.step; allowed: step, or more than that");
    simulation::FormulaReader reader(model_, starts_.variables(), !settings.text("control.craft").empty());
    starts_.read(reader);
    for (const FreeSection* section : settings.sections_of("require"))
      for (const FreeEntry& entry : section->entries) requirements_.push_back({entry, reader.requirement(entry)});
    static const Key duration{.name = "for", .default_value = "0", .unit = "s", .minimum = 0, .maximum = 1e6};
    for (const FreeSection* section : settings.sections_of("outcome")) {
      const std::string& name = section->name;
      if (name == "end" || name == "failed")
        throw section->error(name == "end" ? "is the outcome of runs that no other one ends; allowed: another name"
                                           : "is the outcome of runs that break down; allowed: another name");
      course.rules.push_back({name, reader.condition(*section->find("when")), section->real(duration)});
    }
    read_cost(reader);
    control_ = simulation::Control::read(settings, model_, reader, course.options.step);
    starts_.check_used(reader);
    if (own_.start > starts_.count())
      throw settings.error("simulation.start", "there are " + std::to_string(starts_.count()) + " starts");
    // what no design can be is told before a study starts; of links' joints, for instance, a world has some kinds only
    const auto values = model_.evaluate<double>();
    channels_ = simulation::runner_channels(model_, values, course.nodes, control_.has_value());
    try {
      if (model_.dimension == 2)
        describe<2>(values);
      else
        describe<3>(values);
    } catch (const std::invalid_argument& error) {
      throw settings.error("simulation.model", error.what());
    }
    if (control_) try_control();
  }

  std::vector<Quantity> metrics() const override {
    std::vector<Quantity> list;
    for (const auto& name : outcomes()) {
      std::string key = name;
      std::replace_if(
          key.begin(), key.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
      list.push_back({key, "1",
                      name == "end"      ? "share of the starts that no outcome ends"
                      : name == "failed" ? "share of the starts whose contacts could not be resolved"
                                         : "share of the starts that end as " + name});
    }
    list.push_back({"wilson_low", "1",
                    "lower limit of Wilson's 95 % interval of the share of starts that fail, where one is told"});
    list.push_back({"wilson_high", "1", "upper limit of it"});
    list.push_back({"time", "s", "mean time at which runs end"});
    list.push_back({"energy_change", "J",
                    "largest of any start: of the total energy, less what impacts, projections, damping and driving account for"});
    list.push_back({"contacts", "1", "node updates with contact, of all starts"});
    list.push_back({"steps", "1", "time steps, of all starts"});
    if (control_) list.push_back({"effort", "N2 s", "mean of what commands come to: |force|^2 + |torque|^2 over time"});
    return list;
  }

  Channels channels() const override {
    const int n = starts_.count();
    Channels list;
    if (!starts_.variables().empty())
      list.push_back({"start", "", "what differs between starts, SI", n, starts_.variables()});
    std::string numbers;
    for (const auto& name : outcomes())
      numbers += (numbers.empty() ? "" : ", ") + std::to_string(&name - &names_[0]) + " " + name;
    list.push_back({"outcome", "", "how it ended: " + numbers + "; and when (s)", n, {"outcome", "time"}});
    list.insert(list.end(), channels_.begin(), channels_.end());
    list.push_back(shapes_channel(model_.dimension, corners_));
    return list;
  }

  std::vector<std::pair<std::string, std::string>> reads() const override {
    std::vector<std::pair<std::string, std::string>> all = {
        {"simulation.model-checksum", formatted("%016llx", static_cast<unsigned long long>(fnv1a(model_text_)))}};
    if (!starts_.file_text().empty())
      all.push_back(
          {"starts.file-checksum", formatted("%016llx", static_cast<unsigned long long>(fnv1a(starts_.file_text())))});
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
    } catch (const std::invalid_argument& error) {  // bodies overlap at the start, a shape has no volume
      refuse(outcome, error.what());
    }
    if (parts() > 1) return outcome;
    return join(task.evaluation, {std::move(outcome)});
  }

  Outcome join(const Evaluation& asked, std::vector<Outcome> parts) const override {
    Outcome outcome{asked, {}};
    for (const auto& part : parts)
      if (!part.evaluation.ok()) {
        outcome.evaluation.status = part.evaluation.status;
        outcome.evaluation.reason = part.evaluation.reason;
        return outcome;
      }
    Eigen::MatrixXd tries(starts_.count(), columns);
    Eigen::Index row = 0;
    for (const auto& part : parts) {
      tries.middleRows(row, part.trajectory.values.at(0).rows()) = part.trajectory.values[0];
      row += part.trajectory.values[0].rows();
    }
    sum_up(tries, outcome.evaluation);
    if (outcome.evaluation.status == Status::failed) {  // which contact it was
      for (const auto& part : parts)
        if (outcome.evaluation.reason.find(';') == std::string::npos && !part.evaluation.reason.empty())
          outcome.evaluation.reason += "; the first: " + part.evaluation.reason;
    }
    auto& values = outcome.trajectory.values;
    if (!starts_.variables().empty()) values.push_back(where(designed(asked.design)));
    values.push_back(tries.leftCols<2>());
    auto& first = parts.front().trajectory.values;
    values.insert(values.end(), std::make_move_iterator(first.begin() + 1), std::make_move_iterator(first.end()));
    return outcome;
  }

  std::optional<Simulated> simulate(const Task& task) const override {
    const Given design = designed(task.evaluation.design);
    check_requirements(design);
    try {
      return model_.dimension == 2 ? showing<2>(task, design) : showing<3>(task, design);
    } catch (const std::invalid_argument& error) {
      throw settings_.error("simulation.start", error.what());
    }
  }

  std::string report(const Outcome& outcome) const override {
    const auto& m = outcome.evaluation.metrics;
    const auto count = outcomes().size();
    if (m.size() < static_cast<Eigen::Index>(count)) return {};
    std::string lines;
    for (std::size_t k = 0; k < count; ++k)
      lines += formatted("%-14s  %.0f of %d\n", outcomes()[k].c_str(),
                         m[static_cast<Eigen::Index>(k)] * starts_.count(), starts_.count());
    const auto rest = m.tail(m.size() - static_cast<Eigen::Index>(count));
    if (failure_of_ >= 0)
      lines +=
          formatted("failure rate    %.4f, Wilson 95 %% [%.4f, %.4f]\n", outcome.evaluation.cost, rest[0], rest[1]);
    lines += formatted("time            %.6g s on average\nenergy change   %.3g J at most\n", rest[2], rest[3]);
    if (control_) lines += formatted("effort          %.6g N^2 s on average\n", rest[6]);
    return lines;
  }

 private:
  // [outcome]s, then end and failed.
  const std::vector<std::string>& outcomes() const { return names_; }

  systems::Model named_model() {
    if (own_.model.empty()) throw ConfigError(settings_.file + ": simulation.model is missing; allowed: a model file");
    return read_model(settings_, &model_text_);
  }

  void read_cost(simulation::FormulaReader& reader) {
    for (const auto& rule : own_.course.rules) names_.push_back(rule.name);
    names_.insert(names_.end(), {"end", "failed"});
    for (const FreeSection* section : settings_.sections_of("cost")) {
      const FreeEntry *share = section->find("failure-of"), *formula = section->find("cost");
      read_among(*section);
      if (share && formula) throw formula->error("is given next to failure-of; allowed: one of them");
      if (formula) own_.course.cost = reader.number(*formula);
      if (!share) continue;
      failure_of_ = outcome_named(*share);
    }
  }

  int outcome_named(const FreeEntry& entry) const {
    const auto at = std::find(names_.begin(), names_.end() - 1, entry.value);
    if (at == names_.end() - 1)
      throw entry.error("no outcome of that name" + did_you_mean(entry.value, names_) +
                        "; allowed: " + listed({names_.begin(), names_.end() - 1}));
    return static_cast<int>(at - names_.begin());
  }

  // Which starts a mean is over, and how many may be left out.
  void read_among(const FreeSection& section) {
    const FreeEntry *among = section.find("among"), *others = section.find("others");
    if (const FreeEntry* share = section.find("failure-of"); share && (among || others))
      throw(among ? among : others)->error("is of a mean, and failure-of is a share; allowed: one of them");
    if (others && !among) throw others->error("is of no use without among; allowed: among = OUTCOME");
    if (!among) return;
    among_ = outcome_named(*among);
    static const Key key{.name = "others", .default_value = "1", .unit = "1", .minimum = 0, .maximum = 1};
    most_others_ = section.real(key);
  }

  template <int n>
  void describe(const systems::Values<double>& values) {
    const auto world = systems::bodies<n>(model_, values).world;
    for (const auto& body : world.bodies) bodies_.push_back(body.name);
    rigid::Simulation<n>(world, own_.course.options);
    corners_ = static_cast<int>(shapes(world).rows());
  }

  // A controller of a design in the middle, so that what no design can have is told before a study starts.
  void try_control() const {
    Eigen::VectorXd middle(static_cast<Eigen::Index>(settings_.variables.size()));
    for (Eigen::Index i = 0; i < middle.size(); ++i) {
      const auto& variable = settings_.variables[static_cast<std::size_t>(i)];
      middle[i] = 0.5 * (variable.lower + variable.upper);
    }
    try {
      const auto values = model_.evaluate<double>(designed(middle));
      const auto plan = control_->plan(settings_, middle, values);
      if (model_.dimension == 2)
        simulation::controller(systems::bodies<2>(model_, values), plan);
      else
        simulation::controller(systems::bodies<3>(model_, values), plan);
    } catch (const std::invalid_argument& error) {
      throw settings_.error("control.craft", error.what());
    }
  }

  static void refuse(Outcome& outcome, const std::string& reason) {
    outcome.evaluation.status = Status::infeasible;
    outcome.evaluation.reason = reason;
    outcome.trajectory.values.clear();
  }

  // Parameters that the study sets or frees; the others are as the model has them.
  Given designed(const Eigen::VectorXd& free) const {
    Given given;
    for (const auto& parameter : model_.parameters)
      if (settings_.design_given(parameter.name)) given[parameter.name] = settings_.design(parameter.name, free);
    return given;
  }

  void check_requirements(const Given& design) const {
    if (requirements_.empty()) return;
    const auto values = model_.evaluate<double>(design);
    for (const auto& [entry, formula] : requirements_) {
      std::vector<double> x;
      std::string numbers;
      for (std::size_t i = 0; i < formula.arguments.size(); ++i) {
        x.push_back(values.parameters[static_cast<std::size_t>(formula.arguments[i].variable.index)]);
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
      trajectory.values.push_back(Eigen::MatrixXd::Constant(
          channel.nodes, static_cast<Eigen::Index>(channel.coordinates.size()), not_a_number));
    return trajectory;
  }

  template <int n>
  void simulate_batch(const Task& task, const Given& design, Outcome& outcome) const {
    const int first = task.part * own_.batch, last = std::min(first + own_.batch, starts_.count());
    Eigen::MatrixXd tries(last - first, columns);
    Trajectory motion = first == 0 ? blank() : Trajectory{};
    std::optional<Runner<n>> runner;
    const auto late = [&] { return task.seconds_left() == 0.0; };
    for (int i = first; i < last; ++i) {
      const Start start = starts_.start(i, design);
      if (!runner || starts_.varies_model())
        runner.emplace(model_, start.values, own_.course, plan(task.evaluation.design, start));
      Ended ended;
      try {
        ended = runner->run(start, late, i == 0 ? &motion : nullptr);
      } catch (const std::invalid_argument& error) {
        throw std::invalid_argument(starts_.count() > 1 ? "start " + std::to_string(i + 1) + " of " +
                                                              std::to_string(starts_.count()) + ": " + error.what()
                                                        : error.what());
      }
      if (ended.timed_out) {
        outcome.evaluation.status = Status::timed_out;
        outcome.evaluation.reason = formatted("time limit after %d of %d starts", i - first, last - first);
        return;
      }
      if (outcome.evaluation.reason.empty() && !ended.reason.empty())
        outcome.evaluation.reason = "start " + std::to_string(i + 1) + ", " + ended.reason;
      tries.row(i - first) << ended.outcome, ended.time, ended.cost, static_cast<double>(ended.steps), ended.contacts,
          ended.energy_change, ended.effort;
    }
    outcome.evaluation.status = Status::ok;
    outcome.evaluation.cost = tries.col(cost_column).mean();
    outcome.trajectory.values = {std::move(tries)};
    if (first != 0) return;
    for (auto& values : motion.values) outcome.trajectory.values.push_back(std::move(values));
    const auto start = starts_.start(0, design);
    outcome.trajectory.values.push_back(shapes(systems::bodies<n>(model_, start.values).world));
  }

  void sum_up(const Eigen::MatrixXd& tries, Evaluation& e) const {
    const auto n = static_cast<double>(tries.rows());
    const auto kinds = static_cast<Eigen::Index>(outcomes().size());
    const auto broken = static_cast<double>(kinds - 1);
    e.metrics = Eigen::VectorXd::Zero(kinds + 6 + (control_ ? 1 : 0));
    Eigen::VectorXd count = Eigen::VectorXd::Zero(kinds);
    for (Eigen::Index i = 0; i < tries.rows(); ++i) count[static_cast<Eigen::Index>(tries(i, outcome_column))] += 1.0;
    e.metrics.head(kinds) = count / n;
    e.status = Status::ok;
    double low = not_a_number, high = not_a_number;
    if (failure_of_ >= 0) {
      const double failures = n - count[failure_of_];
      e.cost = failures / n;
      // of the binomial distribution, with two more hits and misses (Agresti and Coull 1998): not zero at 0 and 1
      const double p = (failures + 2.0) / (n + 4.0);
      e.cost_stderr = n > 1.0 ? std::sqrt(p * (1.0 - p) / (n + 4.0)) : 0.0;
      const auto interval = wilson_interval(static_cast<int>(failures), static_cast<int>(n));
      low = interval[0];
      high = interval[1];
    } else {
      // Of starts that did not break down, or that ended as they should, the mean; its standard error is that of a sample.
      double sum = 0.0, squares = 0.0, sound = 0.0;
      const Column column = own_.course.cost ? cost_column : time_column;
      const auto counts = [&](Eigen::Index i) {
        return among_ >= 0 ? tries(i, outcome_column) == among_ : tries(i, outcome_column) != broken;
      };
      for (Eigen::Index i = 0; i < tries.rows(); ++i) {
        if (!counts(i)) continue;
        sum += tries(i, column);
        sound += 1.0;
      }
      e.cost = sound > 0.0 ? sum / sound : not_a_number;
      for (Eigen::Index i = 0; i < tries.rows(); ++i)
        if (counts(i)) squares += std::pow(tries(i, column) - e.cost, 2);
      e.cost_stderr = sound > 1.0 ? std::sqrt(squares / (sound - 1.0) / sound) : 0.0;
      if (among_ >= 0 && n - sound > most_others_ * n + 1e-9) {
        e.status = Status::infeasible;
        e.reason = formatted("%.0f of %.0f starts do not end as %s; allowed: a share of %g", n - sound, n,
                             outcomes()[static_cast<std::size_t>(among_)].c_str(), most_others_);
      } else if (among_ >= 0 && sound == 0.0) {
        e.status = Status::infeasible;
        e.reason = "no start ends as " + outcomes()[static_cast<std::size_t>(among_)];
      } else if (!std::isfinite(e.cost)) {
        e.status = Status::failed;
        e.reason = "the cost is not a finite number";
      }
    }
    if (among_ >= 0) {
      const auto interval = wilson_interval(static_cast<int>(n - count[among_]), static_cast<int>(n));
      low = interval[0];
      high = interval[1];
    }
    if (control_) e.metrics[kinds + 6] = tries.col(effort_column).mean();
    e.metrics.segment<6>(kinds) << low, high, tries.col(time_column).mean(),
        tries.col(energy_column).cwiseAbs().maxCoeff(), tries.col(contacts_column).sum(), tries.col(steps_column).sum();
    if (const double failed = count[kinds - 1]; failed > 0.1 * n) {
      e.status = Status::failed;
      e.reason = formatted("%.0f of %.0f simulations could not resolve a contact", failed, n);
      e.cost = not_a_number;
    }
  }

  Eigen::MatrixXd where(const Given& design) const {
    Eigen::MatrixXd rows(starts_.count(), static_cast<Eigen::Index>(starts_.variables().size()));
    for (int i = 0; i < starts_.count(); ++i) {
      const auto start = starts_.start(i, design);
      for (Eigen::Index k = 0; k < rows.cols(); ++k) rows(i, k) = start.variables[static_cast<std::size_t>(k)];
    }
    return rows;
  }

  template <int n>
  Simulated showing(const Task& task, const Given& design) const {
    const Start start = starts_.start(own_.start - 1, design);
    Runner<n> runner(model_, start.values, own_.course, plan(task.evaluation.design, start));
    Trajectory motion = blank();
    simulation::Story<n> story;
    int rows = 0;
    const std::clock_t clock = std::clock();
    const Ended ended = runner.run(
        start, [&] { return task.seconds_left() == 0.0; }, &motion, &rows, &story);
    const double seconds = static_cast<double>(std::clock() - clock) / CLOCKS_PER_SEC;
    Simulated told;
    told.completed = ended.reason.empty() && !ended.timed_out;
    const auto& options = own_.course.options;
    told.report = formatted("model           %s, %zu bodies, %s\n", own_.model.c_str(), bodies_.size(),
                            n == 2 ? "planar" : "spatial") +
                  formatted("method          %s, %s, h = %g s\n", settings_.text("simulation.stepper").c_str(),
                            settings_.text("simulation.response").c_str(), options.step);
    if (starts_.count() > 1 || !start.variables.empty()) {
      told.report += formatted("start           %d of %d", own_.start, starts_.count());
      for (std::size_t i = 0; i < start.variables.size(); ++i)
        told.report += formatted("%s %s = %.6g", i ? "," : ":", starts_.variables()[i].c_str(), start.variables[i]);
      told.report += "\n";
    }
    told.report += ended.reason.empty()
                       ? formatted("ended           %s at t = %.6g s, %ld steps%s\n",
                                   outcomes()[static_cast<std::size_t>(ended.outcome)].c_str(), ended.time, ended.steps,
                                   ended.timed_out ? ", at its time limit" : "")
                       : "ended           failed: " + ended.reason + "\n";
    if (own_.course.cost) told.report += formatted("cost            %.9g\n", ended.cost);
    const auto& ledger = story.ledger;
    told.report +=
        formatted("energy          kinetic %.6g J -> %.6g J, potential %.6g J -> %.6g J\n", story.before.kinetic,
                  story.after.kinetic, story.before.potential, story.after.potential) +
        formatted("                by impacts %.4g J, by projections %.4g J, ", ledger.impact, ledger.projection.total()) +
        (ledger.forces != 0.0 ? formatted("by damping, drag and driving forces %.4g J, ", ledger.forces) : "") +
        formatted("unaccounted for %.4g J\n", ended.energy_change) +
        formatted("momentum        linear changed by %.3g N s, angular by %.3g N m s (by projections %.3g)\n",
                  (story.end.linear - story.start.linear).norm(), (story.end.angular - story.start.angular).norm(),
                  ledger.momentum.angular.norm()) +
        (control_
             ? formatted(
                   "control         effort %.6g N^2 s, work %.4g J, impulse %.4g N s, attitude off by %.4g rad at "
                   "most%s%s\n",
                   story.control.effort, story.control.work, story.control.impulse.norm(), story.control.largest_angle,
                   story.control.largest_angle > std::numbers::pi - rigid::half_turn_margin
                       ? ": half a turn, where its direction is arbitrary"
                       : "",
                   story.control.replanned > 0 ? formatted(", %d new curves", story.control.replanned).c_str() : "")
             : std::string()) +
        formatted("largest         overlap %.3g m, angular velocity %.4g rad/s\n", story.overlap, story.spin) +
        formatted("contact         %d node updates, %d cuts of a step, %zu pairs of parts touch at the end\n",
                  ledger.impulses, ledger.cuts, story.touching) +
        formatted("speed           %.4g s simulated per CPU second\n", ended.time / std::max(1e-9, seconds));
    told.channels = channels_;
    told.trajectory = std::move(motion);
    for (auto& channel : told.channels) channel.nodes = rows;
    for (auto& values : told.trajectory.values) values.conservativeResize(rows, Eigen::NoChange);
    return told;
  }

  Settings settings_;
  SimulationSettings own_;
  std::string model_text_;
  systems::Model model_;
  Starts starts_;
  std::optional<simulation::Control> control_;
  struct Requirement {
    FreeEntry entry;
    Formula formula;
  };
  std::vector<Requirement> requirements_;
  std::vector<std::string> names_, bodies_;
  int failure_of_ = -1, among_ = -1, corners_ = 0;
  double most_others_ = 1.0;
  Channels channels_;  // of a motion
};

}  // namespace

EvaluatorKind simulation_kind() {
  using Name = ini::SectionKind::Name;
  EvaluatorKind kind;
  kind.name = "simulation";
  kind.description = "a model in contact, from a set of starts: how often it ends as it should, or what its end costs";
  kind.variables = parameters_of;
  kind.keys = simulation_keys().keys();
  for (auto& key : simulation::control_keys()) kind.keys.push_back(std::move(key));
  kind.sections = {
      {"start", Name::none, {}, true, {}, false, "coordinates, rates and parameters that runs start with"},
      {"starts", Name::none, {}, true, {}, false, "what differs from start to start: ranges and count, or a file"},
      {"outcome", Name::required, {"when", "for"}, false, {"when"}, false, "how a run may end: the first that holds"},
      {"cost",
       Name::none,
       {"failure-of", "cost", "among", "others"},
       false,
       {},
       false,
       "share of an outcome, or mean over the starts"},
      {"require", Name::none, {}, true, {}, false, "conditions on the parameters; other designs are infeasible"},
  };
  kind.make = [](const Settings& settings) -> std::unique_ptr<Evaluator> {
    return std::make_unique<SimulationEvaluator>(settings);
  };
  return kind;
}

}  // namespace dodyn::evaluators
