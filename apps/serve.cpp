// dodyn serve: evaluates designs, or proposes them, for another program. Each line of standard input is a request in
// JSON; each line of standard output is its answer (docs/python.md). Reads and writes no archive.
#include <cmath>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "command.hpp"
#include "farm/farm.hpp"
#include "record/random.hpp"
#include "report/predictions.hpp"
#include "report/report.hpp"
#include "study/observed_data.hpp"
#include "study/study.hpp"

namespace dodyn::apps {
namespace {

using Json = nlohmann::ordered_json;

constexpr int max_depth = 8;  // limit of nesting in a request; the deepest valid one has 3

struct RequestError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Checks the members of a request and their types. Throws RequestError.
void expect_members(const Json& object, const std::string& where, const std::vector<std::string>& names) {
  if (!object.is_object()) throw RequestError(where + ": " + shown(object.dump()) + "; expected an object");
  for (const auto& [name, value] : object.items())
    if (std::ranges::find(names, name) == names.end())
      throw RequestError(where + ": unknown member '" + shown(name) + "'" + did_you_mean(name, names) +
                         "; known: " + listed(names));
}

double number_in(const Json& value, const std::string& where) {
  if (value.is_null()) return not_a_number;
  if (!value.is_number()) throw RequestError(where + " = " + shown(value.dump()) + "; expected a number or null");
  return value.get<double>();
}

std::int64_t id_in(const Json& value, const std::string& where) {
  if (!value.is_number_integer() || value.get<std::int64_t>() < 0)
    throw RequestError(where + " = " + shown(value.dump()) + "; expected a whole number from 0");
  return value.get<std::int64_t>();
}

bool truth_in(const Json& value, const std::string& where) {
  if (!value.is_boolean()) throw RequestError(where + " = " + shown(value.dump()) + "; expected true or false");
  return value.get<bool>();
}

// Refuses a question whose value is not `true`.
void expect_true(const Json& value, const std::string& where) {
  if (value != true) throw RequestError(where + " = " + shown(value.dump()) + "; expected true");
}

// Reads one number for each name, and no other member. With `complete` false, a missing number is NaN.
Eigen::VectorXd numbers_in(const Json& object, const std::string& where, const std::vector<std::string>& names,
                           bool complete) {
  expect_members(object, where, names);
  Eigen::VectorXd values = Eigen::VectorXd::Constant(names.size(), not_a_number);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (object.contains(names[i]))
      values(i) = number_in(object[names[i]], where + "." + names[i]);
    else if (complete)
      throw RequestError(where + ": " + names[i] + " is missing; give a number for each of: " + listed(names));
  }
  return values;
}

class ServeSession {
 public:
  explicit ServeSession(const study::Problem& problem)
      : settings_(problem.settings),
        evaluator_(study::make_evaluator(problem)),
        farm_(farm::make_local_farm(study::make_work(evaluator_, settings_))),
        whole_(settings_.given("surrogate.integers") ? split_list(settings_.text("surrogate.integers"))
                                                     : std::vector<std::string>()) {
    contents_.layout = {
        .variables = settings_.variables, .metrics = evaluator_->metrics(), .channels = evaluator_->channels()};
    contents_.provenance.evaluator = settings_.evaluator;
    contents_.provenance.configuration = settings_.configuration();
  }

  // Returns the answer to a request, one line.
  std::string answer(const std::string& line) {
    Json answer;
    try {
      answer = answer_to(parsed(line));
    } catch (const std::exception& error) {
      answer = {{"error", error.what()}};
    }
    return answer.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

 private:
  // Reads a request. A member that is given twice is an error, because only one of its values could count.
  static Json parsed(const std::string& line) {
    std::vector<std::set<std::string>> members;  // of each open object
    try {
      return Json::parse(line, [&members](int depth, Json::parse_event_t event, Json& part) {
        if (depth > max_depth)
          throw RequestError("request: nested deeper than " + std::to_string(max_depth) + " levels");
        if (event == Json::parse_event_t::object_start) members.emplace_back();
        if (event == Json::parse_event_t::object_end) members.pop_back();
        if (event == Json::parse_event_t::key && !members.back().insert(part.get<std::string>()).second)
          throw RequestError("request: the member '" + shown(part.get<std::string>()) + "' is given twice");
        return true;
      });
    } catch (const Json::parse_error& error) {
      throw RequestError("request: " + shown(line) + " is not JSON; write one object on one line");
    } catch (const Json::out_of_range& error) {
      throw RequestError("request: " + shown(line) + " has a number beyond the range of doubles");
    }
  }

  Json answer_to(const Json& request) {
    if (!request.is_object()) throw RequestError("request: " + shown(request.dump()) + "; expected an object");
    if (request.contains("design")) return evaluate(request);
    if (request.contains("ask")) return ask(request);
    if (request.contains("tell")) return tell(request);
    if (request.contains("recommend")) return recommend(request);
    if (request.contains("describe")) return describe(request);
    throw RequestError("request: has none of: design, ask, tell, recommend, describe");
  }

  // ---- evaluate ----

  double design_value(const Variable& variable, const Json& value) const {
    const std::string where = "design." + variable.name;
    if (value.is_string()) {
      const auto name = value.get<std::string>();
      for (std::size_t i = 0; i < variable.choices.size(); ++i)
        if (variable.choices[i] == name) return static_cast<double>(i);
      throw RequestError(
          where + " = '" + shown(name) + "'" + did_you_mean(name, variable.choices) +
          (variable.choices.empty() ? "; expected a number" : "; expected one of: " + listed(variable.choices)));
    }
    const double number = number_in(value, where);
    if (!std::isfinite(number)) throw RequestError(where + " = null; expected a number");
    const auto count = static_cast<double>(variable.choices.size());
    if (count > 0 && !(number >= 0 && number < count && number == std::floor(number)))
      throw RequestError(where + " = " + value.dump() + "; expected one of: " + listed(variable.choices));
    if (const std::string complaint = study::find_fraction(settings_, variable, number); !complaint.empty())
      throw RequestError(where + " = " + value.dump() + complaint);
    return number;
  }

  Json evaluate(const Json& request) {
    expect_members(request, "request", {"design", "id", "seed", "time_limit", "trajectory"});
    const auto names = names_of(settings_.variables);
    const Json& values = request["design"];
    expect_members(values, "design", names);
    Task task;
    task.evaluation.design.resize(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!values.contains(names[i]))
        throw RequestError("design: " + names[i] + " is missing; give a value for each of: " + listed(names));
      task.evaluation.design(i) = design_value(settings_.variables[i], values[names[i]]);
    }
    task.evaluation.id = request.contains("id") ? id_in(request["id"], "id") : evaluated_;
    task.evaluation.seed = seed_of(task.evaluation.id);
    if (request.contains("seed")) {
      if (!request["seed"].is_number_unsigned())
        throw RequestError("seed = " + shown(request["seed"].dump()) + "; expected a whole number from 0");
      task.evaluation.seed = request["seed"].get<std::uint64_t>();
    }
    task.time_limit = settings_.real("study.time-limit");
    if (request.contains("time_limit") && !request["time_limit"].is_null())
      task.time_limit = number_in(request["time_limit"], "time_limit");
    if (task.time_limit < 0.0)
      throw RequestError("time_limit = " + shown(request["time_limit"].dump()) + "; expected 0 s or more; 0: no limit");
    const bool wants_trajectory = request.contains("trajectory") && truth_in(request["trajectory"], "trajectory");
    evaluated_ = std::max(evaluated_, task.evaluation.id + 1);  // a refused request takes no id
    Outcome outcome = study::evaluate(*evaluator_, *farm_, task);
    if (!wants_trajectory) outcome.trajectory = {};
    return Json::parse(report::outcome_json(outcome, contents_.layout));
  }

  std::uint64_t seed_of(std::int64_t id) const {
    return evaluation_seed(static_cast<std::uint64_t>(settings_.integer("study.seed")), id);
  }

  // ---- ask and tell ----

  // Returns the strategy. If results have arrived since its last decision, the strategy decides first. So it decides
  // once per batch, as in a synchronous study.
  surrogate::Strategy& strategy() {
    if (!strategy_) strategy_ = study::make_strategy(settings_, *evaluator_, false);
    if (std::exchange(undecided_, false)) {
      strategy_->decide();
      contents_.iterations.push_back(strategy_->describe(contents_.layout.grid_points));
    }
    return *strategy_;
  }

  std::string stop_reason() {
    if (std::string reason = strategy().stopped(); !reason.empty()) return reason;
    if (const int limit = settings_.integer("study.max-evaluations"); asked_ >= limit)
      return "reached study.max-evaluations = " + std::to_string(limit);
    return "";
  }

  Json design_json(const Eigen::VectorXd& design) const {
    Json named = Json::object();
    for (std::size_t i = 0; i < settings_.variables.size(); ++i) {
      const double value = design(i);
      const std::string* const word = settings_.variables[i].choice(value);
      const std::string& name = settings_.variables[i].name;
      const bool is_whole = std::ranges::find(whole_, name) != whole_.end() && std::abs(value) < 1e15;
      named[name] = word ? Json(*word) : is_whole ? Json(std::llround(value)) : Json(value);
    }
    return named;
  }

  Json ask(const Json& request) {
    expect_members(request, "request", {"ask"});
    const std::int64_t count = id_in(request["ask"], "ask");
    Json designs = Json::array();
    const std::string stopped = stop_reason();
    const std::int64_t room = settings_.integer("study.max-evaluations") - asked_;
    if (stopped.empty() && count > 0)
      for (const Eigen::VectorXd& design : strategy().ask(std::min(count, room))) {
        Evaluation& asked = pending_[asked_];
        asked.id = asked_++;
        asked.design = design;
        asked.seed = seed_of(asked.id);
        designs.push_back({{"id", asked.id}, {"seed", asked.seed}, {"design", design_json(design)}});
      }
    return {{"designs", designs}, {"stopped", stopped}};
  }

  // Throws RequestError if a result with a cost lacks a metric that constraints or objectives name. Without this metric
  // the design would count as one that satisfies no constraint.
  void expect_metrics(const Json& result) const {
    const auto& configuration = contents_.provenance.configuration;
    const auto names = names_of(contents_.layout.metrics);
    std::vector<int> needed =
        surrogate::parse_names(study::text_in(configuration, "surrogate.objectives"), names, true);
    for (const surrogate::Constraint& c :
         study::constraints_of(study::text_in(configuration, "surrogate.constraints"), contents_.layout.metrics))
      needed.push_back(c.metric);
    for (const int metric : needed)
      if (const std::string name = metric < 0 ? "" : names[metric];
          !name.empty() && !(result.contains("metrics") && result["metrics"].contains(name)))
        throw RequestError("tell.metrics: " + name +
                           " is missing, which constraints or objectives name; give a number; null: it has no value");
  }

  Json tell(const Json& request) {
    expect_members(request, "request", {"tell"});
    const Json& result = request["tell"];
    expect_members(result, "tell", {"id", "status", "reason", "cost", "cost_stderr", "gradient", "metrics"});
    if (!result.contains("id")) throw RequestError("tell: id is missing; give the id that ask returned");
    const auto asked = pending_.find(id_in(result["id"], "tell.id"));
    if (asked == pending_.end())
      throw RequestError("tell.id = " + result["id"].dump() +
                         ": no such design is waiting for its cost; ask for one first");
    Evaluation evaluation = asked->second;
    evaluation.metrics.setConstant(contents_.layout.metrics.size(), not_a_number);
    if (result.contains("cost")) evaluation.cost = number_in(result["cost"], "tell.cost");
    if (result.contains("cost_stderr")) evaluation.cost_stderr = number_in(result["cost_stderr"], "tell.cost_stderr");
    if (evaluation.cost_stderr < 0 || !std::isfinite(evaluation.cost_stderr))
      throw RequestError("tell.cost_stderr = " + result["cost_stderr"].dump() + "; expected a number from 0");
    if (result.contains("metrics"))
      evaluation.metrics = numbers_in(result["metrics"], "tell.metrics", names_of(contents_.layout.metrics), false);
    if (result.contains("gradient"))
      evaluation.gradient = numbers_in(result["gradient"], "tell.gradient", names_of(settings_.variables), true);
    evaluation.status = std::isfinite(evaluation.cost) ? Status::ok : Status::failed;
    for (const char* name : {"status", "reason"})
      if (result.contains(name) && !result[name].is_string())
        throw RequestError("tell." + std::string(name) + " = " + shown(result[name].dump()) + "; expected a text");
    if (result.contains("reason")) evaluation.reason = result["reason"].get<std::string>();
    if (result.contains("status")) {
      const auto word = result["status"].get<std::string>();
      const auto* const status =
          std::ranges::find_if(stated_statuses, [&](Status each) { return to_string(each) == word; });
      if (status == std::end(stated_statuses))
        throw RequestError("tell.status = '" + shown(word) + "'; expected ok, infeasible, not_converged or failed");
      evaluation.status = *status;
    }
    if (evaluation.ok() && !std::isfinite(evaluation.cost))
      throw RequestError("tell: status ok without a cost; give a cost, or status failed");
    if (evaluation.ok()) expect_metrics(result);
    strategy_->tell(evaluation);
    contents_.evaluations.push_back(evaluation);
    pending_.erase(asked);
    undecided_ = true;
    return {{"told", evaluation.id}};
  }

  Json recommend(const Json& request) {
    expect_members(request, "request", {"recommend"});
    expect_true(request["recommend"], "recommend");
    strategy();
    const surrogate::ObservedData observed = study::observed_data(contents_);
    Json answer = {{"id", nullptr}, {"design", nullptr}, {"front", Json::array()}};
    if (const Evaluation* const best = study::recommended_of(contents_, observed)) {
      answer["id"] = best->id;
      answer["design"] = design_json(best->design);
    }
    if (observed.objectives.size() > 1)
      for (const Evaluation* const e : report::front_of(observed)) answer["front"].push_back(e->id);
    answer["note"] = contents_.iterations.empty() ? "" : contents_.iterations.back().note;
    answer["stopped"] = stop_reason();
    return answer;
  }

  // ---- describe ----

  Json describe(const Json& request) const {
    expect_members(request, "request", {"describe"});
    expect_true(request["describe"], "describe");
    Json answer = {{"evaluator", settings_.evaluator},
                   {"variables", Json::array()},
                   {"metrics", Json::array()},
                   {"channels", Json::array()}};
    for (const auto& [name, unit, lower, upper, choices] : contents_.layout.variables) {
      answer["variables"].push_back({{"name", name}, {"unit", unit}, {"lower", lower}, {"upper", upper}});
      if (!choices.empty()) answer["variables"].back()["choices"] = choices;
    }
    for (const auto& [name, unit, description] : contents_.layout.metrics)
      answer["metrics"].push_back({{"name", name}, {"unit", unit}, {"description", description}});
    for (const Channel& channel : contents_.layout.channels)
      answer["channels"].push_back(
          {{"name", channel.name},
           {"coordinates", channel.coordinates},
           {"units", channel.units.empty() ? std::vector(channel.coordinates.size(), channel.unit) : channel.units},
           {"description", channel.description},
           {"segments", channel.segments}});
    Json configuration = Json::object();
    for (const auto& [key, value] : contents_.provenance.configuration) configuration[key] = value;
    answer["configuration"] = std::move(configuration);
    return answer;
  }

  const Settings settings_;
  const std::shared_ptr<const evaluators::Evaluator> evaluator_;
  const std::unique_ptr<farm::Farm> farm_;
  const std::vector<std::string> whole_;  // names of whole numbers
  archive::Contents contents_;            // contents of this session: layout, evaluations received, iterations
  std::int64_t evaluated_ = 0;            // the next id of an evaluation
  std::unique_ptr<surrogate::Strategy> strategy_;
  std::map<std::int64_t, Evaluation> pending_;  // proposed, without a result
  std::int64_t asked_ = 0;                      // the next id of a design
  bool undecided_ = false;                      // results have arrived since the last decision
};

}  // namespace

ExitCode serve(const Invocation& call) {
  const Arguments given = parse(call);
  const study::Problem problem = read_problem(given, study::Use::continued);
  ServeSession session(problem);
  for (const std::string& note : notes_on(problem, false)) std::cerr << note << "\n";
  for (std::string line; std::getline(std::cin, line);)
    if (!(std::cout << session.answer(line) << std::endl))
      throw std::runtime_error("standard output could not be written in full");
  return finished;
}

}  // namespace dodyn::apps
