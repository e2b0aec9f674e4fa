// Evaluates a design in several scenarios, and combines the costs.
//
//   cost = sum of weight x cost / reference over the sum of weights, or the largest cost / reference,
//
// with its gradient (of the first scenario if several have the largest value). Each scenario is the study's evaluator
// with the settings of that scenario. A part of an evaluation is a part of one scenario, so ranks share scenarios and
// their parts. All scenarios of an evaluation have its seed. Metrics and channels are those of all scenarios, with the
// prefix NAME: of the scenario. The first metric of each is its own cost.

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>

#include "evaluators/evaluator.hpp"
#include "record/text.hpp"

namespace dodyn::evaluators {

namespace {

// Returns the priority of a status when the statuses of scenarios are combined. Infeasible, which is final, has the
// highest one; statuses that another attempt may change follow.
int rank_of(Status status) {
  switch (status) {
    case Status::infeasible:
      return 5;
    case Status::lost:
      return 4;
    case Status::timed_out:
      return 3;
    case Status::failed:
      return 2;
    case Status::not_converged:
      return 1;
    case Status::ok:
      return 0;
  }
  return 0;
}

bool all_nan(const Trajectory& trajectory) {
  return std::ranges::all_of(trajectory.values,
                             [](const Eigen::MatrixXd& values) { return values.array().isNaN().all(); });
}

class Scenarios final : public Evaluator {
 public:
  Scenarios(const Settings& settings, std::unique_ptr<Evaluator> (*make)(const Settings& settings))
      : worst_(settings.text("study.scenario-aggregate") == "worst") {
    for (const Scenario& scenario : settings.scenarios) {
      Settings own = scenario.settings;
      own.variables = settings.variables;  // free variables may be set later, as by `dodyn solve`
      own.all.push_back({{.name = "scenario", .type = Type::text}, scenario.name, "[scenario " + scenario.name + "]"});
      ScenarioEvaluator one{scenario.name, scenario.weight, scenario.reference, make(own)};
      one.parts = one.evaluator->parts();
      one.metrics = one.evaluator->metrics();
      one.channels = one.evaluator->channels();
      parts_ += one.parts;
      weights_ += one.weight;
      scenarios_.push_back(std::move(one));
    }
  }

  int concurrency() const override {
    int least = scenarios_.front().evaluator->concurrency();
    for (const ScenarioEvaluator& one : scenarios_) least = std::min(least, one.evaluator->concurrency());
    return least;
  }
  bool has_gradients() const override {
    return std::ranges::all_of(scenarios_, [](const auto& one) { return one.evaluator->has_gradients(); });
  }

  bool uses_warm_start() const override {
    return std::ranges::any_of(scenarios_, [](const auto& one) { return one.evaluator->uses_warm_start(); });
  }

  std::vector<Quantity> metrics() const override {
    std::vector<Quantity> all;
    for (const ScenarioEvaluator& one : scenarios_) {
      all.push_back({one.name + ":cost", "1", "cost in scenario " + one.name});
      for (Quantity metric : one.metrics) {
        metric.name = one.name + ":" + metric.name;
        all.push_back(std::move(metric));
      }
    }
    return all;
  }

  Channels channels() const override {
    Channels all;
    for (const ScenarioEvaluator& one : scenarios_)
      for (Channel channel : one.channels) {
        channel.name = one.name + ":" + channel.name;
        all.push_back(std::move(channel));
      }
    return all;
  }

  std::vector<InputFile> input_files() const override {
    std::vector<InputFile> all;
    for (const ScenarioEvaluator& one : scenarios_)
      for (InputFile& file : one.evaluator->input_files()) {
        file.key = "scenario." + one.name + "." + file.key;
        all.push_back(std::move(file));
      }
    return all;
  }

  std::function<std::string(const Eigen::VectorXd&)> infeasibility_test() const override {
    return [this](const Eigen::VectorXd& design) -> std::string {
      for (const ScenarioEvaluator& one : scenarios_)
        if (const auto of_one = one.evaluator->infeasibility_test())
          if (const std::string reason = of_one(design); !reason.empty()) return one.name + ": " + reason;
      return {};
    };
  }

  int parts() const override { return parts_; }

  Outcome evaluate(const Task& task) const override {
    Task inner = task;
    std::size_t at = 0;
    while (inner.part >= scenarios_[at].parts) inner.part -= scenarios_[at++].parts;
    inner.warm_start = own(task.warm_start, at);
    Outcome answer = scenarios_[at].evaluator->evaluate(inner);
    if (parts_ > 1) return answer;
    std::vector<Outcome> one;
    one.push_back(std::move(answer));
    return join(task.evaluation, std::move(one));
  }

  Outcome join(const Evaluation& asked, std::vector<Outcome> parts) const override;
  std::string report(const Outcome& outcome) const override;

  std::optional<Simulated> simulate(const Task& task) const override {
    if (scenarios_.size() > 1)
      throw ConfigError("choose one scenario with --study.scenarios NAME; there are: " + listed(names_of(scenarios_)));
    Task inner = task;
    inner.warm_start = own(task.warm_start, 0);
    return scenarios_.front().evaluator->simulate(inner);
  }

  std::string details() const override {
    std::string all;
    for (const ScenarioEvaluator& one : scenarios_)
      if (const std::string text = one.evaluator->details(); !text.empty()) all += "scenario " + one.name + "\n" + text;
    return all;
  }

 private:
  struct ScenarioEvaluator {
    std::string name;
    double weight, reference;
    std::unique_ptr<Evaluator> evaluator;
    int parts = 1;
    std::vector<Quantity> metrics = {};
    Channels channels = {};
  };

  // Returns the trajectory of one scenario from the joint one; empty if it has none.
  Trajectory own(const Trajectory& whole, std::size_t scenario) const {
    std::size_t first = 0;
    for (std::size_t i = 0; i < scenario; ++i) first += scenarios_[i].channels.size();
    const std::size_t count = scenarios_[scenario].channels.size();
    Trajectory part;
    if (whole.values.size() < first + count) return part;
    const auto begin = whole.values.begin() + first;
    part.values.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
    return all_nan(part) ? Trajectory{} : part;
  }

  std::vector<ScenarioEvaluator> scenarios_;
  int parts_ = 0;
  double weights_ = 0.0;
  bool worst_;
};

Outcome Scenarios::join(const Evaluation& asked, std::vector<Outcome> parts) const {
  std::vector<Outcome> each;  // [scenarios]
  auto next = parts.begin();
  for (const ScenarioEvaluator& one : scenarios_) {
    std::vector<Outcome> own(std::make_move_iterator(next), std::make_move_iterator(next + one.parts));
    next += one.parts;
    each.push_back(one.parts == 1 ? std::move(own.front()) : one.evaluator->join(asked, std::move(own)));
  }

  Outcome whole{asked, {}};
  Evaluation& e = whole.evaluation;
  e.status = Status::ok;
  for (const Outcome& outcome : each)
    if (rank_of(outcome.evaluation.status) > rank_of(e.status)) e.status = outcome.evaluation.status;
  for (const bool of_the_status : {true, false})
    for (std::size_t i = 0; i < each.size(); ++i)
      if (const Evaluation& own = each[i].evaluation; !own.reason.empty() && (own.status == e.status) == of_the_status)
        e.reason += (e.reason.empty() ? "" : "; ") + scenarios_[i].name + ": " + own.reason;

  // Derivatives of the cost with respect to the scenarios' costs. For the mean: weight / reference over the sum of
  // weights. For the worst case: 1 / reference of the worst scenario, 0 for the others.
  std::vector<double> shares;
  for (const ScenarioEvaluator& one : scenarios_)
    shares.push_back(worst_ ? 0.0 : one.weight / (weights_ * one.reference));
  if (worst_) {
    std::size_t worst = 0;
    const auto relative = [&](std::size_t i) { return each[i].evaluation.cost / scenarios_[i].reference; };
    for (std::size_t i = 1; i < each.size(); ++i)
      if (relative(i) > relative(worst) || std::isnan(relative(i))) worst = i;
    shares[worst] = 1.0 / scenarios_[worst].reference;
  }
  e.cost = 0.0;
  e.cost_stderr = 0.0;  // an upper bound: scenarios share their random numbers, so their errors may be fully correlated
  e.gradient = Eigen::VectorXd::Zero(asked.design.size());
  Eigen::Index metrics = 0, at = 0;
  for (const ScenarioEvaluator& one : scenarios_) metrics += 1 + static_cast<Eigen::Index>(one.metrics.size());
  e.metrics = Eigen::VectorXd::Constant(metrics, not_a_number);
  for (std::size_t i = 0; i < each.size(); ++i) {
    const Evaluation& own = each[i].evaluation;
    if (shares[i] > 0.0) {
      e.cost += shares[i] * own.cost;
      e.cost_stderr += shares[i] * own.cost_stderr;
      if (own.gradient.size() != e.gradient.size())
        e.gradient.resize(0);
      else
        e.gradient += shares[i] * own.gradient;
    }
    e.metrics(at) = own.cost;
    const Eigen::Index count = scenarios_[i].metrics.size();
    if (own.metrics.size() == count)
      e.metrics.segment(at + 1, count) = own.metrics;
    else if (own.metrics.size() > 0)
      throw std::logic_error("scenario " + scenarios_[i].name + " has other metrics than declared");
    at += 1 + count;
  }
  if (!e.ok()) e.gradient.resize(0);

  if (std::ranges::any_of(each, [](const Outcome& own) { return !own.trajectory.empty(); }))
    for (std::size_t i = 0; i < each.size(); ++i) {
      const Channels& channels = scenarios_[i].channels;
      auto& values = each[i].trajectory.values;
      if (!values.empty() && values.size() != channels.size())
        throw std::logic_error("scenario " + scenarios_[i].name + " has other channels than declared");
      for (std::size_t c = 0; c < channels.size(); ++c)
        whole.trajectory.values.push_back(
            values.empty() ? Eigen::MatrixXd::Constant(channels[c].nodes, channels[c].coordinates.size(), not_a_number)
                           : std::move(values[c]));
    }
  return whole;
}

std::string Scenarios::report(const Outcome& outcome) const {
  const Evaluation& e = outcome.evaluation;
  std::string text;
  Eigen::Index at = 0;
  for (std::size_t i = 0; i < scenarios_.size(); ++i) {
    const ScenarioEvaluator& one = scenarios_[i];
    const Eigen::Index count = one.metrics.size();
    Outcome own{e, this->own(outcome.trajectory, i)};
    own.evaluation.gradient.resize(0);
    own.evaluation.cost = e.metrics.size() > at ? e.metrics(at) : not_a_number;
    own.evaluation.metrics.resize(0);
    if (e.metrics.size() >= at + 1 + count && !e.metrics.segment(at + 1, count).array().isNaN().all())
      own.evaluation.metrics = e.metrics.segment(at + 1, count);
    at += 1 + count;
    text += (i ? "\n" : "") + ("scenario " + one.name) + formatted(": cost %.8g", own.evaluation.cost);
    if (one.reference != 1.0)
      text += formatted(", %.6g times its reference of %.6g", own.evaluation.cost / one.reference, one.reference);
    if (!worst_) text += formatted("; weight %g", one.weight);
    text += "\n" + one.evaluator->report(own);
  }
  return text;
}

// Throws if a metric has the name of another metric, of a column of every study, or of a free design variable:
// constraints, objectives and columns are called by their names.
void expect_own_names(const std::vector<Quantity>& metrics, const Settings& settings) {
  std::map<std::string, std::string> taken = {{"cause", "a column of every study"},
                                              {"source", "a column of merged studies"}};
  Evaluation any;
  for_each_field(any, [&](const Field& field, const auto&) { taken.emplace(field.name, "a column of every study"); });
  for (const Variable& variable : settings.variables) taken.emplace(variable.name, "a design variable");
  for (const Quantity& metric : metrics)
    if (const auto [other, is_new] = taken.emplace(metric.name, "another metric"); !is_new) {
      const std::string complaint = "has the name of " + other->second + "; choose another name";
      for (const CustomSection* section : settings.sections_of("metrics"))
        if (const CustomEntry* entry = section->find(metric.name)) throw entry->error(complaint);
      throw ConfigError(settings.file + ": metric '" + shown(metric.name) + "' " + complaint);
    }
}

}  // namespace

std::unique_ptr<Evaluator> make_evaluator(const Settings& settings) {
  for (const auto& kind : evaluator_kinds())
    if (kind.name == settings.evaluator) {
      std::unique_ptr<Evaluator> made;
      if (settings.scenarios.empty())
        made = kind.make(settings);
      else
        made = std::make_unique<Scenarios>(settings, kind.make);
      expect_own_names(made->metrics(), settings);
      return made;
    }
  throw std::logic_error("no evaluator '" + settings.evaluator + "'");
}

}  // namespace dodyn::evaluators
