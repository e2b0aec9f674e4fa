#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "evaluators/dimensions.hpp"
#include "evaluators/elastic/initial_states.hpp"
#include "evaluators/elastic/run.hpp"
#include "evaluators/kinds.hpp"
#include "evaluators/simulation/outcome_statistics.hpp"
#include "record/text.hpp"

namespace dodyn::evaluators {
namespace {

using elastic_text::Numbers;
using elastic_text::RunResult;

class ElasticEvaluator final : public Evaluator {
 public:
  explicit ElasticEvaluator(const Settings& settings)
      : settings_(settings),
        own_(elastic_text::run_keys().read(settings)),
        dimension_(elastic_text::dimension(settings)),
        starts_(settings),
        outcomes_(settings) {
    if (own_.duration < own_.step)
      throw settings.error("elastic.duration", "is shorter than elastic.step; choose a longer one");
    if (own_.response == rigid::Response::penalty && own_.restitution != 1.0)
      throw settings.error(
          "elastic.restitution",
          "has no effect with contact-method = penalty; remove it, or choose elastic.contact-method = projection");
    if (own_.start > starts_.count())
      throw settings.error("elastic.initial-state",
                           formatted("there are only %d initial states; choose one of them", starts_.count()));
    statistics_.outcomes = outcomes_.names();
    statistics_.failed = std::ssize(statistics_.outcomes) - 1;
    statistics_.end = own_.duration;
    Eigen::VectorXd middle(settings.variables.size());
    for (std::size_t i = 0; i < settings.variables.size(); ++i)
      middle[i] = 0.5 * (settings.variables[i].lower + settings.variables[i].upper);
    check_dimensions(settings, {});
    const Numbers parameters = started(middle, 0);
    if (dimension_ == 2)
      learn<2>(parameters);
    else
      learn<3>(parameters);
    read_cost(parameters);
  }

  std::vector<Quantity> metrics() const override {
    return starts_.several() ? statistics_.metrics() : elastic_text::run_metrics();
  }

  Channels channels() const override {
    Channels run = elastic_text::run_channels(names_, dimension_, own_.nodes);
    if (own_.points) run.push_back(points_);
    if (!starts_.several()) return run;
    Channels list;
    if (!starts_.names().empty())
      list.push_back({"initial_state", "", "quantities that differ between the initial states, in SI units",
                      starts_.count(), starts_.names()});
    list.push_back(statistics_.channel(starts_.count()));
    list.insert(list.end(), run.begin(), run.end());
    return list;
  }

  int parts() const override { return (starts_.count() + own_.batch - 1) / own_.batch; }

  Outcome evaluate(const Task& task) const override {
    Outcome outcome{task.evaluation, {}};
    try {
      if (starts_.several())
        batch(task, outcome);
      else
        single(task, outcome);
    } catch (const ConfigError& error) {  // this design gives invalid bodies
      outcome.evaluation.status = Status::infeasible;
      outcome.evaluation.reason = error.what();
    } catch (const std::invalid_argument& error) {
      outcome.evaluation.status = Status::infeasible;
      outcome.evaluation.reason = error.what();
    }
    if (!starts_.several() || parts() > 1) return outcome;
    return join(task.evaluation, {std::move(outcome)});
  }

  Outcome join(const Evaluation& asked, std::vector<Outcome> parts) const override {
    Outcome outcome{asked, {}};
    const auto tries = statistics_.aggregate(parts, starts_.count(), outcome.evaluation);
    if (!tries) return outcome;
    auto& values = outcome.trajectory.values;
    if (const auto list = starts_.names(); !list.empty()) {
      Eigen::MatrixXd where(starts_.count(), list.size());
      const Numbers parameters = elastic_text::parameters(settings_, asked.design);
      for (int i = 0; i < starts_.count(); ++i) {
        const Numbers start = starts_.start(i, parameters);
        for (std::size_t k = 0; k < list.size(); ++k) where(i, k) = start.at(list[k]);
      }
      values.push_back(std::move(where));
    }
    values.push_back(statistics_.archived(*tries));
    auto& first = parts.front().trajectory.values;
    values.insert(values.end(), std::make_move_iterator(first.begin() + 1), std::make_move_iterator(first.end()));
    return outcome;
  }

  std::optional<Simulated> simulate(const Task& task) const override {
    const Numbers parameters = started(task.evaluation.design, own_.start - 1);
    RunResult ran = simulated(parameters, task, true);
    Simulated result;
    result.completed = ran.reason.empty();
    if (starts_.several()) {
      result.report = formatted("initial state   %d of %d", own_.start, starts_.count());
      const char* separator = ": ";
      for (const std::string& name : starts_.names()) {
        result.report += formatted("%s%s = %.6g", separator, name.c_str(), parameters.at(name));
        separator = ", ";
      }
      result.report += "\n";
    }
    result.report += elastic_text::describe_run(ran, names_.size(), dimension_);
    const std::size_t which = outcome_of(ran, parameters);
    if (statistics_.outcomes.size() > 2) result.report += "outcome         " + statistics_.outcomes[which] + "\n";
    if (ran.reason.empty() && statistics_.success_outcome < 0)
      result.report += formatted("cost            %.10g\n", cost_of(ran, parameters));
    result.channels = elastic_text::run_channels(names_, dimension_, ran.rows);
    if (own_.points) result.channels.push_back(points_);
    for (auto& channel : result.channels) channel.nodes = ran.rows;
    result.trajectory = std::move(ran.trajectory);
    for (auto& values : result.trajectory.values) values.conservativeResize(ran.rows, Eigen::NoChange);
    return result;
  }

  std::string report(const Outcome& outcome) const override {
    if (starts_.several()) return statistics_.report(outcome.evaluation, starts_.count());
    const auto& m = outcome.evaluation.metrics;
    const auto& list = elastic_text::run_metrics();
    std::string lines;
    for (Eigen::Index i = 0; i < m.size(); ++i)
      lines += formatted("%-18s %.6g %s\n", list[i].name.c_str(), m(i), list[i].unit.c_str());
    return lines;
  }

 private:
  // Sets the names and channels of the bodies from the scene of these parameters. Throws ConfigError if two bodies have
  // the same name or, if no variable is free, if the simulation cannot start.
  template <int n>
  void learn(const Numbers& parameters) {
    const auto scene = elastic_text::scene<n>(settings_, parameters);
    names_ = elastic_text::names(scene);
    for (auto name = names_.begin(); name != names_.end(); ++name)
      if (std::find(names_.begin(), name, *name) != name)
        throw ConfigError(settings_.file + ": two bodies have the name '" + *name + "'; rename one of them");
    if (own_.points) points_ = elastic_text::points_channel(scene, own_.nodes);
    try {
      elastic::Simulation<n>(scene.world, elastic_text::options_of(scene, own_)).start(scene.start);
    } catch (const std::invalid_argument& error) {
      if (settings_.variables.empty()) throw ConfigError(settings_.file + ": " + error.what());
    }
  }

  // Tests the names in costs and conditions on an empty run.
  void read_cost(const Numbers& parameters) {
    Numbers known = parameters;
    std::map<std::string, std::string> taken = {{"pi", "the number pi"}};
    for (const char* name : {"x", "y", "z"}) taken[name] = "a place in inside and map";
    for (const char* name : {"i", "j", "k"}) taken[name] = "the number of a copy";
    for (const auto& metric : elastic_text::run_metrics()) {
      known[metric.name] = 1.0;
      taken[metric.name] = "a metric";
    }
    for (const CustomSection* section : settings_.sections_of("parameters"))
      for (const CustomEntry& entry : section->entries)
        if (const auto at = taken.find(entry.key); at != taken.end())
          throw entry.error("has the name of " + at->second + "; choose another name");
    for (const auto& name : names_)
      for (const auto& what : elastic_text::places(dimension_)) known[name + "." + what] = 1.0;
    outcomes_.of(known);
    for (const CustomSection* section : settings_.sections_of("cost")) {
      const CustomEntry *cost = section->find("cost"), *share = section->find("success");
      if (cost && share) throw share->error("cannot be combined with cost; remove one of them");
      if (cost) {
        cost_ = *cost;
        elastic_text::value(*cost_, cost_->value, known);
      }
      if (!share) continue;
      if (!starts_.several()) throw share->error("needs several initial states; add a section [initial-states]");
      const std::vector<std::string> list(statistics_.outcomes.begin(), statistics_.outcomes.end() - 1);
      const auto at = std::ranges::find(list, share->value);
      if (at == list.end())
        throw share->error("no outcome of that name" + did_you_mean(share->value, list) + "; allowed: " + listed(list));
      statistics_.success_outcome = at - list.begin();
    }
    statistics_.formula = statistics_.success_outcome < 0;
  }

  // Returns the parameters of one initial state of a design.
  Numbers started(const Eigen::VectorXd& design, int start) const {
    const Numbers plain = elastic_text::parameters(settings_, design);
    return starts_.several() ? elastic_text::parameters(settings_, design, starts_.start(start, plain)) : plain;
  }

  // Simulates one run. `shown`: whether to store its motion.
  RunResult simulated(const Numbers& parameters, const Task& task, bool shown) const {
    elastic_text::RunOptions own = own_;
    own.points &= shown;
    RunResult ran = dimension_ == 2 ? elastic_text::run<2>(elastic_text::scene<2>(settings_, parameters), own, task)
                                    : elastic_text::run<3>(elastic_text::scene<3>(settings_, parameters), own, task);
    // The archive has columns for one mesh: that at the middle of the ranges.
    if (const Eigen::Index columns = points_.coordinates.size();
        own.points && ran.trajectory.values.back().cols() != columns)
      ran.trajectory.values.back().setConstant(own.nodes, columns, not_a_number);
    return ran;
  }

  void single(const Task& task, Outcome& outcome) const {
    Evaluation& e = outcome.evaluation;
    const Numbers parameters = started(e.design, 0);
    RunResult ran = simulated(parameters, task, true);
    const auto& list = elastic_text::run_metrics();
    e.metrics.resize(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
      const auto at = ran.seen.find(list[i].name);
      e.metrics(i) = at == ran.seen.end() ? not_a_number : at->second;
    }
    e.status = ran.timed_out ? Status::timed_out : ran.reason.empty() ? Status::ok : Status::failed;
    e.reason = ran.reason;
    e.cost = not_a_number;
    outcome.trajectory = std::move(ran.trajectory);
    if (!e.ok()) return;
    e.cost = cost_of(ran, parameters);
    if (std::isfinite(e.cost)) return;
    e.status = Status::failed;
    e.reason = "the cost is not a finite number";
  }

  // Simulates the initial states of a task. Stores a row of numbers for each, and the motion of the first initial
  // state.
  void batch(const Task& task, Outcome& outcome) const {
    Evaluation& e = outcome.evaluation;
    const int first = task.part * own_.batch, end = std::min(first + own_.batch, starts_.count());
    outcome.trajectory.values.emplace_back(Eigen::MatrixXd::Zero(end - first, simulation::columns));
    for (int i = first; i < end; ++i) {
      const Numbers parameters = started(e.design, i);
      RunResult ran = simulated(parameters, task, i == 0);
      if (ran.timed_out) {
        e.status = Status::timed_out;
        e.reason = ran.reason;
        return;
      }
      if (!ran.reason.empty() && e.reason.empty()) e.reason = formatted("start %d: ", i + 1) + ran.reason;
      const double cost = ran.reason.empty() && statistics_.formula ? cost_of(ran, parameters) : 0.0;
      auto result = outcome.trajectory.values[0].row(i - first);
      result[simulation::outcome_column] = outcome_of(ran, parameters);
      result[simulation::time_column] = ran.end;
      result[simulation::cost_column] = cost;
      result[simulation::steps_column] = static_cast<double>(ran.steps);
      result[simulation::contacts_column] = static_cast<double>(ran.touched);
      result[simulation::energy_column] = ran.seen.at("energy_change");
      if (i == 0)
        for (auto& values : ran.trajectory.values) outcome.trajectory.values.push_back(std::move(values));
    }
    e.status = Status::ok;
    e.cost = 0.0;  // join() sets the cost of the design
  }

  int outcome_of(const RunResult& ran, const Numbers& parameters) const {
    if (!ran.reason.empty()) return statistics_.failed;
    Numbers known = parameters;
    known.insert(ran.seen.begin(), ran.seen.end());
    return outcomes_.of(known);
  }

  double cost_of(const RunResult& ran, const Numbers& parameters) const {
    if (!cost_) return ran.seen.at("energy_change");
    Numbers known = parameters;
    known.insert(ran.seen.begin(), ran.seen.end());
    return elastic_text::value(*cost_, cost_->value, known);
  }

  Settings settings_;
  elastic_text::RunOptions own_;
  int dimension_;
  elastic_text::InitialStates starts_;
  elastic_text::Outcomes outcomes_;
  simulation::OutcomeStatistics statistics_;
  std::vector<std::string> names_;
  Channel points_;
  std::optional<CustomEntry> cost_;
};

// Returns keys that have no effect because of others, and why (EvaluatorKind::idle).
std::vector<std::pair<std::string, std::string>> idle_elastic_keys(const Settings& settings) {
  std::vector<std::pair<std::string, std::string>> idle;
  if (const std::string method = settings.text("elastic.contact-method"); method != "penalty")
    idle.emplace_back("world.stiffness", "elastic.contact-method = " + method);
  if (settings.sections_of("initial-states").empty())
    for (const char* key : {"elastic.initial-states-per-task", "elastic.initial-state"})
      idle.emplace_back(key, "there is no [initial-states]");
  return idle;
}

}  // namespace

EvaluatorKind elastic_kind() {
  EvaluatorKind kind;
  kind.name = "elastic";
  kind.description =
      "simulates deformable and rigid bodies in contact (explicit Newmark), once or from each initial state";
  kind.variables = elastic_text::variables;
  kind.keys = elastic_text::run_keys().keys();
  kind.sections = elastic_text::sections();
  kind.idle = idle_elastic_keys;
  kind.make = make<ElasticEvaluator>;
  return kind;
}

}  // namespace dodyn::evaluators
