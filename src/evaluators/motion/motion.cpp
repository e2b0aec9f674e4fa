#include "evaluators/motion/motion.hpp"

#include <algorithm>
#include <cmath>

#include "evaluators/kinds.hpp"
#include "evaluators/motion/design.hpp"
#include "evaluators/motion/metrics.hpp"
#include "evaluators/motion/read_motion.hpp"
#include "evaluators/motion/trajectory.hpp"
#include "record/text.hpp"

namespace dodyn::evaluators {

namespace {

using nlp::SolveStatus;

class MotionEvaluator final : public Evaluator {
 public:
  MotionEvaluator(const Settings& settings, std::shared_ptr<const MotionDescription> description,
                  const KeyTable<MotionSearch>& keys)
      : description_(std::move(description)),
        search_(read_search(keys, settings, *description_)),
        rollout_(rollout_keys().read(settings)) {
    if (search_.gains) {
      const std::string key = description_->section() + ".gains";
      if (description_->system().inputs() == 0)
        throw settings.error(key, "the model has no [actuator], so there is no feedback; allowed: false");
      if (description_->continuous_plan().restarts.empty())
        throw settings.error(key, "motions with contacts by penalty have no feedback; allowed: false");
    }
    for (const Measure& measure : measures(nullptr, nullptr)) metrics_.push_back(measure.quantity);
    own_metrics_.emplace(settings, *description_, metrics_);
    const auto& own = own_metrics_->quantities();
    metrics_.insert(metrics_.end(), own.begin(), own.end());
  }

  bool has_gradients() const override { return true; }
  bool uses_warm_start() const override { return true; }
  std::vector<InputFile> input_files() const override {
    const std::string& text = description_->text();
    return {{description_->section() + ".model-checksum", checksum(text), description_->model_name(), text}};
  }
  std::vector<Quantity> metrics() const override { return metrics_; }
  Channels channels() const override;
  int parts() const override { return search_.tasks; }
  Outcome evaluate(const Task& task) const override;
  Outcome join(const Evaluation& asked, std::vector<Outcome> parts) const override;
  std::optional<Simulated> simulate(const Task& task) const override;
  std::optional<Simulated> rollout(const Outcome& archived) const override;
  std::string report(const Outcome& outcome) const override;
  std::string details() const override { return times_text(times_); }

 private:
  // One row per guess, one for the parent's trajectory, and one for a motion with another touching corner.
  int optima_rows() const { return search_.guesses + 2; }
  std::size_t optima_channel() const { return channels().size() - 1; }
  // Returns the metrics except those of [metrics]: metrics of the description, then metrics of every motion. If the
  // pointers are null, the metrics have names but no values.
  std::vector<Measure> measures(const MotionDescription::MetricInputs* seen, const FoundMotion* found) const;
  Eigen::Index place(const std::string& name) const;  // index of a metric
  double metric(const Evaluation& e, const std::string& name) const {
    const Eigen::Index at = place(name);
    return at < e.metrics.size() ? e.metrics(at) : not_a_number;
  }
  Deviation deviation(const Evaluation& e) const {
    return {metric(e, "end_error"), metric(e, "max_deviation"), metric(e, "tracking_error"),
            metric(e, "tracking_correction")};
  }
  // Sets the status from the result of a search, and the reason if it is not ok.
  void conclude(const FoundMotion& found, Evaluation& e) const;
  // Sets cost and metrics from a motion, and judges it.
  void assess(const FoundMotion& found, Evaluation& e) const;
  // Warns if the search may have missed the best motion: few guesses converged, only one found the best motion, or many
  // ended at an optimum that no other guess found.
  void doubt(Outcome& outcome) const;
  // Examines a trajectory. `mesh`: its description on the trajectory's own mesh.
  std::vector<Finding> findings(const MotionDescription& mesh, const Evaluation& e, const Trajectory& trajectory) const;

  std::shared_ptr<const MotionDescription> description_;
  MotionSearch search_;
  RolloutSettings rollout_;
  std::vector<Quantity> metrics_;
  std::optional<MotionMetrics> own_metrics_;  // [metrics]
  mutable SolveTimes times_;                  // times of the solves that this process did, for details()
};

std::vector<Measure> MotionEvaluator::measures(const MotionDescription::MetricInputs* seen,
                                               const FoundMotion* found) const {
  std::vector<Measure> all = description_->measures(nullptr);
  if (seen) all = found->mesh->measures(seen);
  const auto add = [&](const char* name, const char* unit, const char* meaning, const auto& value) {
    all.push_back({{name, unit, meaning}, found ? static_cast<double>(value()) : not_a_number});
  };
  const auto residual = [&] { return found->best->solution.residuals.max(); };
  const auto loss = [&] {
    double sum = 0.0;
    for (const auto& event : seen->motion.events) sum += event.loss;
    return sum;
  };
  add("impact_loss", "J", "kinetic energy lost at events", loss);
  add("reintegration_error", "1",
      "largest difference of a coordinate (m, rad) if the difference scheme is solved forward from the first node; "
      "infinite if a step has no solution nearby",
      [&] { return seen->solved.planned.problem.reintegrate(seen->motion); });
  add("end_error", "1",
      "largest difference of a coordinate (m, rad) at the end, if the controls drive the continuous equations of "
      "motion",
      [&] { return found->deviation.at_end; });
  add("max_deviation", "1",
      "largest difference of a coordinate (m, rad) at any node, if the controls drive the continuous equations of "
      "motion",
      [&] { return found->deviation.largest; });
  add("tracking_error", "1",
      "largest difference of a coordinate (m, rad) at any node, if feedback corrects the controls at every node",
      [&] { return found->deviation.tracked; });
  add("tracking_correction", "", "largest control that the feedback of tracking_error adds",
      [&] { return found->deviation.correction; });
  add("kkt_residual", "1", "largest residual of the first-order optimality conditions", residual);
  add("iterations", "1", "iterations of the solver, of all initial guesses together",
      [&] { return found->iterations; });
  add("guesses", "1", "initial guesses tried", [&] { return found->tried; });
  add("guesses_solved", "1", "initial guesses that ended at a first-order optimal point",
      [&] { return found->solved; });
  add("best_guess", "1",
      "initial guess of the best motion; 0, 1, ...: its number; -1: the motion of the warm-start evaluation; -2: "
      "another motion, with another touching corner",
      [&] { return found->best_guess; });
  add("optima", "1", "distinct optima that the initial guesses ended at", [&] { return found->optima.size(); });
  add("intervals", "1", "time steps of the mesh on which the cost was found, all phases together",
      [&] { return found->mesh->intervals(); });
  add("refinement_change", "1", "relative change of the cost by the last refinement; 0 without refinement",
      [&] { return found->change; });
  return all;
}

Eigen::Index MotionEvaluator::place(const std::string& name) const {
  const auto at = std::ranges::find_if(metrics_, [&](const Quantity& q) { return q.name == name; });
  if (at == metrics_.end()) throw std::logic_error("no metric '" + name + "'");
  return at - metrics_.begin();
}

Channels MotionEvaluator::channels() const {
  Channels list = motion_channels(*description_);
  if (search_.gains)
    for (Channel& channel : feedback_channels(*description_)) list.push_back(std::move(channel));
  list.push_back({"optima",
                  "",
                  "distinct optima of the initial guesses, the best first: cost, number of guesses, KKT residual, "
                  "distance to the best (root mean square of coordinates)",
                  optima_rows(),
                  {"cost", "count", "residual", "distance"}});
  return list;
}

Outcome MotionEvaluator::evaluate(const Task& task) const {
  Outcome outcome{task.evaluation, {}};
  Evaluation& e = outcome.evaluation;
  FoundMotion found;
  try {
    if (const auto rejection = description_->rejection(e.design); !rejection.reason.empty()) {
      e.status = rejection.required ? Status::infeasible : Status::failed;
      e.reason = rejection.reason;
      return outcome;
    }
    const auto refusal = [&](const FoundMotion& one) {
      Evaluation trial = task.evaluation;
      trial.status = Status::ok;
      trial.reason.clear();
      assess(one, trial);
      return trial.ok() ? "" : trial.reason;
    };
    found = search_motion(search_, description_, task, refusal, times_);
  } catch (const ConfigError& error) {
    e.status = Status::failed;
    e.reason = std::string("invalid design: ") + error.what();
    return outcome;
  }
  conclude(found, e);
  if (e.status == Status::failed || e.status == Status::infeasible || found.trajectory.empty()) return outcome;
  assess(found, e);
  // Envelope theorem: at a solution, d cost / d design equals the partial derivative of the Lagrangian.
  if (const nlp::Solution& solution = found.best->solution; e.ok())
    e.gradient =
        found.best->planned.problem.problem().design_gradient(solution.x, solution.multipliers, e.design.size());
  const int stride = found.mesh->intervals() / description_->intervals();
  outcome.trajectory = stride > 1 ? thinned(*description_, found.trajectory, stride) : std::move(found.trajectory);
  if (search_.gains)
    for (auto& values : feedback_values(*description_, outcome.trajectory, found.best->planned.problem))
      outcome.trajectory.values.push_back(std::move(values));
  outcome.trajectory.values.push_back(table(found.optima, optima_rows()));
  // Results of tasks contain the motions, so that join() can distinguish optima.
  if (search_.tasks > 1)
    outcome.trajectory.values.push_back(joints_of(found.optima));
  else
    doubt(outcome);
  return outcome;
}

void MotionEvaluator::assess(const FoundMotion& found, Evaluation& e) const {
  e.cost = found.best->solution.objective;
  const MotionDescription::MetricInputs seen{e.design, *found.best, found.motion, found.trajectory, found.clearance};
  std::vector<double> all;
  for (const Measure& measure : measures(&seen, &found)) all.push_back(measure.value);
  const std::vector<double> own = own_metrics_->values(seen, description_->values(e.design), all);
  all.insert(all.end(), own.begin(), own.end());
  e.metrics = Eigen::Map<const Eigen::VectorXd>(all.data(), static_cast<Eigen::Index>(all.size()));
  judge(findings(*found.mesh, e, found.trajectory), search_.rejects, e);
}

// Fraction of initial guesses that ended at an optimum which no other guess found. From this value on a row has a
// warning.
constexpr double many_single = 0.5;

void MotionEvaluator::doubt(Outcome& outcome) const {
  Evaluation& e = outcome.evaluation;
  if (e.status != Status::ok) return;
  const auto say = [&](const std::string& words) { e.reason = with_warning(words, e.reason); };
  const double tried = metric(e, "guesses"), solved = metric(e, "guesses_solved");
  if (2.0 * solved < tried) say(formatted("only %.0f of %.0f initial guesses converged", solved, tried));
  const Eigen::MatrixXd& optima = outcome.trajectory.values[optima_channel()];
  const bool from_neighbour = metric(e, "best_guess") < 0.0;
  if (from_neighbour || !std::isfinite(optima(1, 0))) return;
  const double next = optima(1, 0) / optima(0, 0) - 1.0;
  if (optima(0, 1) == 1.0 && next > 0.01)
    say(formatted("only one initial guess led to it; the next best %s costs %.0f %% more",
                  description_->section().c_str(), 100.0 * next));
  else if (const GuessesByOptimum by = guesses_by_optimum(optima);
           by.ended >= few_guesses && by.single >= many_single * by.ended)
    say(formatted("%d of %d initial guesses ended at an optimum of their own; more guesses may find a better one",
                  by.single, by.ended));
}

std::vector<Finding> MotionEvaluator::findings(const MotionDescription& mesh, const Evaluation& e,
                                               const Trajectory& trajectory) const {
  ExaminedQuantities motion =
      mesh.examined(e.design, trajectory, [&](const std::string& name) { return metric(e, name); });
  motion.accuracy = {search_.mesh.accuracy, metric(e, "tracking_error"), metric(e, "intervals"),
                     description_->section()};
  return examine(motion);
}

void MotionEvaluator::conclude(const FoundMotion& found, Evaluation& e) const {
  const auto count = [&](SolveStatus status) { return found.ends[static_cast<int>(status)]; };
  const std::string tried = std::to_string(found.tried) + " initial guesses", what = description_->section();
  e.reason = found.note;
  if (found.solved > 0) {
    e.status = found.out_of_time ? Status::timed_out : Status::ok;
    if (found.out_of_time) e.reason = "time limit; best result of " + tried;
    return;
  }
  if (!found.best) {
    e.status = Status::timed_out;
    e.reason = "time limit before a " + what + " on the study's mesh was found";
    return;
  }
  const std::string reason =
      found.best->solution.reason + describe_violations(found.best->planned, found.best->solution.x);
  if (count(SolveStatus::infeasible) == found.tried) {
    e.status = Status::infeasible;
    e.reason = "no " + what + " satisfies the constraints from any of " + tried + ": " + reason;
    return;
  }
  e.status = count(SolveStatus::timed_out) > 0           ? Status::timed_out
             : count(SolveStatus::failed) == found.tried ? Status::failed
                                                         : Status::not_converged;
  e.reason = "none of " + tried + " converged; the most feasible: " + reason;
}

// Returns the best result of the tasks. Merges their optima; counts of equal ones are added.
Outcome MotionEvaluator::join(const Evaluation&, std::vector<Outcome> parts) const {
  const auto has_cost = [](const Outcome& o) { return std::isfinite(o.evaluation.cost); };
  std::ranges::stable_sort(parts, [&](const Outcome& a, const Outcome& b) {
    if (a.evaluation.ok() != b.evaluation.ok()) return a.evaluation.ok();
    if (has_cost(a) != has_cost(b)) return has_cost(a);
    return a.evaluation.cost < b.evaluation.cost;
  });
  Outcome whole = parts.front();
  if (whole.trajectory.empty()) return whole;
  const std::size_t optima = optima_channel();
  std::vector<Optimum> distinct;
  Eigen::VectorXd& sums = whole.evaluation.metrics;
  const Eigen::Index summed[] = {place("iterations"), place("guesses"), place("guesses_solved")};
  for (const Eigen::Index i : summed) sums(i) = 0.0;
  int given_up = 0;
  for (const Outcome& part : parts) {
    given_up += part.evaluation.status == Status::timed_out || part.evaluation.status == Status::lost;
    if (part.trajectory.empty()) continue;
    for (const Eigen::Index i : summed) sums(i) += part.evaluation.metrics(i);
    const Eigen::MatrixXd &rows = part.trajectory.values[optima], &joints = part.trajectory.values.back();
    for (Eigen::Index i = 0; i < joints.rows() && i < rows.rows(); ++i)
      add(distinct, {rows(i, 0), static_cast<int>(rows(i, 1)), rows(i, 2), joints.row(i).transpose()});
  }
  sums(place("optima")) = static_cast<double>(distinct.size());
  whole.trajectory.values.pop_back();
  whole.trajectory.values[optima] = table(distinct, optima_rows());
  doubt(whole);
  if (given_up > 0 && whole.evaluation.ok()) {
    whole.evaluation.status = Status::timed_out;
    whole.evaluation.reason = "time limit of " + std::to_string(given_up) + " tasks; best result up to then";
  }
  return whole;
}

std::string MotionEvaluator::report(const Outcome& outcome) const {
  const Evaluation& e = outcome.evaluation;
  if (e.metrics.size() == 0) return "";
  const auto metric = [&](const std::string& name) { return this->metric(e, name); };
  std::string s = "optimality\n";
  s += formatted("  %.0f iterations in all\n", metric("iterations"));
  const bool to_rounding = e.ok() && metric("kkt_residual") > search_.options.tolerance;
  s += formatted("  KKT residual %.1e (tolerance %.0e%s)\n", metric("kkt_residual"), search_.options.tolerance,
                 to_rounding ? ", exceeded by rounding alone" : "");
  if (metric("intervals") > description_->intervals())
    s += formatted("  refined to %.0f intervals; the last refinement changed the cost by %.1e, relative\n",
                   metric("intervals"), metric("refinement_change"));
  s += optima_text(outcome.trajectory.empty() ? Eigen::MatrixXd() : outcome.trajectory.values[optima_channel()],
                   metric("guesses"), metric("guesses_solved"), "of coordinates");
  if (metric("best_guess") == guess_by_corner)
    s += "  the best one was found from another motion: another corner touches\n";
  s += description_->report(metric);
  s += formatted("  the difference scheme, re-solved forward from the first node, reproduces the coordinates to %.1e\n",
                 metric("reintegration_error"));
  s += deviation_text(deviation(e), description_->continuous_plan().note);
  return s + warnings_text(findings(*description_, e, outcome.trajectory));
}

// Solves all tasks, then applies the controls of the best motion in a simulation.
std::optional<Simulated> MotionEvaluator::simulate(const Task& task) const {
  std::vector<Outcome> answers;
  for (Task part = task; part.part < parts(); ++part.part) answers.push_back(evaluate(part));
  const Outcome outcome = parts() > 1 ? join(task.evaluation, std::move(answers)) : std::move(answers.front());
  const Evaluation& e = outcome.evaluation;
  if (e.status != Status::ok)
    return Simulated{false, "there is no motion to drive forward: " + e.reason + "\n", {}, {}};
  auto simulated = rollout(outcome);
  simulated->report = formatted("the best of %d initial guesses, cost %.6g, driven forward by the contact simulation\n",
                                search_.guesses, e.cost) +
                      simulated->report;
  return simulated;
}

// Simulates an archived motion: open_loop_run() if the description has it, otherwise evaluators::rollout().
std::optional<Simulated> MotionEvaluator::rollout(const Outcome& archived) const {
  if (auto driven = description_->open_loop_run(archived)) return driven;
  const systems::Model& model = description_->system().model();
  const PlannedMotion motion = planned(*description_, archived, metric(archived.evaluation, "impact_loss"));
  return to_simulated(
      dodyn::evaluators::rollout(model, description_->plain(archived.evaluation.design), motion, rollout_), model,
      motion, rollout_);
}

const KeyTable<MotionSearch>& motion_search_keys() {
  static const KeyTable<MotionSearch> table = search_keys("motion.", "1", {});
  return table;
}

}  // namespace

std::unique_ptr<Evaluator> make_motion_evaluator(const Settings& settings,
                                                 std::shared_ptr<const MotionDescription> description,
                                                 const KeyTable<MotionSearch>& keys) {
  return std::make_unique<MotionEvaluator>(settings, std::move(description), keys);
}

EvaluatorKind motion_kind() {
  EvaluatorKind kind;
  kind.name = "motion";
  kind.description = "finds the best motion of a system, in the phases of the configuration; cost: that of [cost]";
  kind.variables = motion_variables;
  kind.keys = motion_keys().keys();
  for (const auto& keys : {motion_search_keys().keys(), rollout_keys().keys()})
    kind.keys.insert(kind.keys.end(), keys.begin(), keys.end());
  kind.sections = motion_sections();
  kind.idle = idle_motion_keys;
  kind.make = [](const Settings& settings) {
    return make_motion_evaluator(settings, std::make_shared<MotionDesigns>(settings), motion_search_keys());
  };
  return kind;
}

}  // namespace dodyn::evaluators
