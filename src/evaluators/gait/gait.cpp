#include "evaluators/gait/gait.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "evaluators/gait/design.hpp"
#include "evaluators/gait/keys.hpp"
#include "evaluators/gait/metrics.hpp"
#include "evaluators/gait/rollout.hpp"
#include "evaluators/gait/search.hpp"
#include "record/text.hpp"

namespace dodyn::evaluators {

namespace {

constexpr std::size_t optima_channel = 8;

GaitSearch search_of(const Settings& settings) {
  GaitSearch search;
  search.cold = settings.integer("gait.initial-guesses");
  search.parts = settings.integer("gait.tasks");
  if (search.parts > search.cold)
    throw settings.error("gait.tasks", "there are no more than gait.initial-guesses = " + std::to_string(search.cold));
  search.shifts = settings.integer("gait.shifts");
  search.coarse_intervals = settings.integer("gait.coarse-intervals");
  search.candidates = settings.integer("gait.refine-count");
  if (search.coarse_intervals == 1 || search.coarse_intervals >= settings.integer("gait.intervals"))
    throw settings.error("gait.coarse-intervals", "allowed are 0 and 2 to less than gait.intervals = " +
                                                      std::to_string(settings.integer("gait.intervals")));
  search.mesh = {settings.real("gait.accuracy"), settings.real("gait.refine-tolerance"),
                 settings.integer("gait.refinements")};
  const std::string solver = settings.text("gait.solver");
  search.options.backend = solver == "slsqp"   ? nlp::Backend::slsqp
                           : solver == "ipopt" ? nlp::Backend::ipopt
                                               : nlp::Backend::native;
  if (!nlp::available(search.options.backend))
    throw settings.error("gait.solver", "this build has no Ipopt; allowed are native and slsqp");
  search.options.tolerance = settings.real("gait.tolerance");
  search.options.max_iterations = settings.integer("gait.max-iterations");
  search.options.max_seconds = settings.real("gait.time-limit-per-guess");
  return search;
}

// A refined motion on the mesh of the study: of nodes every so-manieth, of intervals the mean of so many.
Eigen::MatrixXd every(int stride, const Eigen::MatrixXd& nodes) {
  Eigen::MatrixXd m((nodes.rows() - 1) / stride + 1, nodes.cols());
  for (Eigen::Index k = 0; k < m.rows(); ++k) m.row(k) = nodes.row(stride * k);
  return m;
}
Eigen::MatrixXd mean_of(int stride, const Eigen::MatrixXd& of_intervals) {
  Eigen::MatrixXd m(of_intervals.rows() / stride, of_intervals.cols());
  for (Eigen::Index k = 0; k < m.rows(); ++k) m.row(k) = of_intervals.middleRows(stride * k, stride).colwise().mean();
  return m;
}

class GaitEvaluator final : public Evaluator {
 public:
  explicit GaitEvaluator(const Settings& settings)
      : designs_(settings),
        search_(search_of(settings)),
        rollout_(rollout_keys().read(settings)),
        refuses_(settings.text("gait.validity-check") == "reject") {}

  bool has_gradients() const override { return true; }
  bool uses_warm_start() const override { return true; }
  std::vector<Quantity> metrics() const override { return gait_metrics(); }
  Channels channels() const override;
  Outcome evaluate(const Task& task) const override;
  std::vector<InputFile> input_files() const override {
    return {{"gait.model-checksum", checksum(designs_.text()), designs_.model_name(), designs_.text()}};
  }
  int parts() const override { return search_.parts; }
  Outcome join(const Evaluation& asked, std::vector<Outcome> parts) const override;
  std::optional<Simulated> rollout(const Outcome& archived) const override;
  std::string report(const Outcome& outcome) const override;
  std::string details() const override;

 private:
  int optima_rows() const { return search_.cold + 2; }  // and that of a parent, and one found by bending
  // Status, and reason where it is not ok, of what a search found.
  void conclude(const GaitFound& found, const dmoc::WalkerGait& problem, Evaluation& e) const;
  // Says where the search may have missed the best gait: few starts that converged, or one alone that found it.
  void doubt(Outcome& outcome) const;
  std::vector<Finding> findings(const Outcome& outcome) const;
  bool may_cross() const { return designs_.walker().base == 2 || designs_.gait().leg_radius <= 0.0; }

  GaitDesigns designs_;
  GaitSearch search_;
  RolloutSettings rollout_;
  bool refuses_ = false;      // gaits that are no walk
  mutable SolveTimes times_;  // of the solves that this process did, for details()
};

Channels GaitEvaluator::channels() const {
  const int K = designs_.gait().intervals;
  const dmoc::Walker& walker = designs_.walker();
  const auto& q = walker.coordinate_names;
  const std::vector<std::string> force = walker.base == 2 ? std::vector<std::string>{"tangential", "normal"}
                                                          : std::vector<std::string>{"forward", "left", "normal"};
  const auto& tree = walker.system->structure();
  std::vector<bool> slides(q.size(), false);
  for (const auto& link : tree.links)
    for (std::size_t i = 0; i < link.moves.size(); ++i)
      slides[static_cast<std::size_t>(link.first) + i] = link.moves[i].kind == systems::Move::slide;
  std::vector<std::string> of_q, of_p;
  for (const bool slide : slides) {
    of_q.emplace_back(slide ? "m" : "rad");
    of_p.emplace_back(slide ? "N s" : "N m s");
  }
  Channel controls{"u", "N m", "torques, constant over an interval", K, walker.input_names};
  const auto turns = [&](const auto& actuator) {
    return actuator.coordinate >= 0 && !slides[static_cast<std::size_t>(actuator.coordinate)];
  };
  if (!std::all_of(tree.actuators.begin(), tree.actuators.end(), turns)) {
    controls.unit = "";
    controls.description = "torques and forces, constant over an interval";
    for (const auto& actuator : tree.actuators)  // one at a place gives a force and a torque
      controls.units.emplace_back(actuator.coordinate < 0 ? "" : turns(actuator) ? "N m" : "N");
  }
  return {
      {"t", "s", "time since touch-down", K + 1, {"t"}},
      {"q", "", "position of the stance foot, joint angles", K + 1, q, of_q},
      {"p", "", "discrete momenta: leaving at the first node, arriving at the others", K + 1, q, of_p},
      std::move(controls),
      {"contact_force", "N", "force of the ground on the stance foot", K + 1, force},
      {"energy", "J", "discrete energy of an interval", K, {"energy"}},
      {"points", "m", "the stance foot and the ends of the links", K + 1, walker.point_names,
       std::vector<std::string>(walker.point_names.size(), "m"), walker.joined_points},
      {"impulse", "N s", "impulse of the ground on the new foot at touch-down", 1, force},
      {"optima",
       "",
       "distinct gaits that the starts ended at, the best first: how many starts, KKT residual, distance to the best "
       "(rad, root mean square)",
       optima_rows(),
       {"cost", "count", "residual", "distance"}},
  };
}

Outcome GaitEvaluator::evaluate(const Task& task) const {
  Outcome outcome{task.evaluation, {}};
  Evaluation& e = outcome.evaluation;
  if (const auto refusal = designs_.refusal(e.design); !refusal.reason.empty()) {
    e.status = refusal.required ? Status::infeasible : Status::failed;
    e.reason = refusal.reason;
    return outcome;
  }
  const auto problem_of = [&](int intervals) { return designs_.problem(e.design, intervals); };
  const GaitFound found = search_gait(search_, designs_.gait().intervals, problem_of, task, times_);
  const dmoc::WalkerGait problem = problem_of(found.intervals);
  conclude(found, problem, e);
  if (e.status == Status::failed || e.status == Status::infeasible || !found.best || !found.best->x.allFinite())
    return outcome;

  const Eigen::VectorXd& x = found.best->x;
  e.cost = found.best->objective;
  // Envelope theorem: at a solution d cost / d design is the partial derivative of the Lagrangian.
  if (e.status == Status::ok)
    e.gradient = problem.problem().design_gradient(x, found.best->multipliers, static_cast<int>(e.design.size()));
  const dmoc::GaitMotion m = problem.motion(x);
  e.metrics = metrics_of(problem.report(x), found);

  const int stride = found.intervals / designs_.gait().intervals;
  outcome.trajectory.values = {every(stride, m.t),
                               every(stride, m.q),
                               every(stride, m.p),
                               mean_of(stride, m.u),
                               every(stride, m.contact_force),
                               mean_of(stride, m.energy),
                               every(stride, m.points),
                               m.impulse.transpose(),
                               table(found.optima, optima_rows())};
  judge(findings(outcome), refuses_, e);
  // parts carry the gaits themselves, so that join() can tell them apart
  if (search_.parts > 1)
    outcome.trajectory.values.push_back(joints_of(found.optima));
  else
    doubt(outcome);
  return outcome;
}

void GaitEvaluator::doubt(Outcome& outcome) const {
  Evaluation& e = outcome.evaluation;
  if (e.status != Status::ok) return;
  const auto say = [&](const std::string& words) { e.reason = with_warning(words, e.reason); };
  const double tried = e.metrics(gait_metric("guesses")), solved = e.metrics(gait_metric("guesses_solved"));
  if (2.0 * solved < tried) say(formatted("only %.0f of %.0f starts converged", solved, tried));
  const Eigen::MatrixXd& optima = outcome.trajectory.values[optima_channel];
  const bool from_neighbour = e.metrics(gait_metric("best_start")) < 0.0;
  if (from_neighbour || optima.rows() < 2 || !(optima(0, 1) == 1.0) || !std::isfinite(optima(1, 0))) return;
  const double next = optima(1, 0) / optima(0, 0) - 1.0;
  if (next > 0.01) say(formatted("one start alone led to it, the next best gait costs %.0f %% more", 100.0 * next));
}

// Of metrics, and of the torques where a trajectory is there.
std::vector<Finding> GaitEvaluator::findings(const Outcome& outcome) const {
  const auto& system = *designs_.walker().system;
  Examined gait = examined(outcome.evaluation.metrics, may_cross(), !system.simply_actuated());
  if (const auto& values = outcome.trajectory.values; !values.empty() && !std::isfinite(designs_.gait().torque_limit)) {
    const auto tree = system.model().tree<double>(designs_.plain(outcome.evaluation.design).numbers);
    gait.exertions = exertions(tree, values[0].col(0), values[1], values[3], designs_.has_cost());
  }
  const Eigen::VectorXd& metrics = outcome.evaluation.metrics;
  gait.accuracy = {search_.mesh.accuracy, metrics(gait_metric("tracking_error")), metrics(gait_metric("intervals")),
                   "gait"};
  return examine(gait);
}

void GaitEvaluator::conclude(const GaitFound& found, const dmoc::WalkerGait& problem, Evaluation& e) const {
  const auto count = [&](nlp::SolveStatus status) { return found.ends[static_cast<std::size_t>(status)]; };
  const std::string tried = std::to_string(found.tried) + " starts";
  e.reason = found.note;
  if (found.solved > 0 && found.out_of_time) {
    e.status = Status::timed_out;
    e.reason = "time limit; the best so far, of " + tried;
  } else if (found.solved > 0) {
    e.status = Status::ok;
  } else if (!found.best) {
    e.status = Status::timed_out;
    e.reason = "time limit before a gait of the study's mesh was found";
  } else if (count(nlp::SolveStatus::infeasible) == found.tried) {
    e.status = Status::infeasible;
    e.reason = "no gait satisfies the constraints from any of " + tried + ": " + found.best->reason +
               problem.missed(found.best->x);
  } else {
    e.status = count(nlp::SolveStatus::timed_out) > 0           ? Status::timed_out
               : count(nlp::SolveStatus::failed) == found.tried ? Status::failed
                                                                : Status::not_converged;
    e.reason =
        "none of " + tried + " converged; the most feasible: " + found.best->reason + problem.missed(found.best->x);
  }
}

// The parts' best is the best; their optima are told apart and their counts added up.
Outcome GaitEvaluator::join(const Evaluation&, std::vector<Outcome> parts) const {
  const auto has_cost = [](const Outcome& o) { return std::isfinite(o.evaluation.cost); };
  std::stable_sort(parts.begin(), parts.end(), [&](const Outcome& a, const Outcome& b) {
    if (a.evaluation.ok() != b.evaluation.ok()) return a.evaluation.ok();
    if (has_cost(a) != has_cost(b)) return has_cost(a);
    return a.evaluation.cost < b.evaluation.cost;
  });
  Outcome whole = parts.front();
  if (whole.trajectory.empty()) return whole;
  std::vector<Optimum> distinct;
  Eigen::VectorXd& sums = whole.evaluation.metrics;
  const Eigen::Index summed[] = {gait_metric("iterations"), gait_metric("guesses"), gait_metric("guesses_solved")};
  for (const Eigen::Index i : summed) sums(i) = 0.0;
  int given_up = 0;
  for (const Outcome& part : parts) {
    given_up += part.evaluation.status == Status::timed_out || part.evaluation.status == Status::lost;
    if (part.trajectory.empty()) continue;
    for (const Eigen::Index i : summed) sums(i) += part.evaluation.metrics(i);
    const Eigen::MatrixXd &rows = part.trajectory.values[optima_channel], &joints = part.trajectory.values.back();
    for (Eigen::Index i = 0; i < joints.rows() && i < rows.rows(); ++i)
      add(distinct, {rows(i, 0), static_cast<int>(rows(i, 1)), rows(i, 2), joints.row(i).transpose()});
  }
  sums(gait_metric("optima")) = static_cast<double>(distinct.size());
  whole.trajectory.values.pop_back();
  whole.trajectory.values[optima_channel] = table(distinct, optima_rows());
  doubt(whole);
  if (given_up > 0 && whole.evaluation.ok()) {
    whole.evaluation.status = Status::timed_out;
    whole.evaluation.reason = "time limit of " + std::to_string(given_up) + " parts; the best so far";
  }
  return whole;
}

std::optional<Simulated> GaitEvaluator::rollout(const Outcome& archived) const {
  const Evaluation& e = archived.evaluation;
  const systems::Model& model = designs_.walker().system->model();
  const PlannedMotion motion = planned(designs_, archived);
  return to_simulated(dodyn::evaluators::rollout(model, designs_.plain(e.design), motion, rollout_), model, motion,
                      rollout_);
}

std::string GaitEvaluator::details() const {
  if (times_.solves == 0) return "";
  const double rest =
      times_.seconds - times_.timing.derivatives - times_.timing.factorisation - times_.timing.functions;
  std::string s =
      "time of " + std::to_string(times_.solves) + " solves, " + std::to_string(times_.iterations) + " iterations\n";
  const auto line = [&](const char* what, double seconds) {
    s += std::string("  ") + what +
         formatted("%8.3f s  %5.1f %%  %7.3f ms an iteration\n", seconds, 100.0 * seconds / times_.seconds,
                   1e3 * seconds / std::max(1, times_.iterations));
  };
  if (search_.options.backend == nlp::Backend::native) {
    line("derivatives   ", times_.timing.derivatives);
    line("factorisation ", times_.timing.factorisation);
    line("line search   ", times_.timing.functions);
    line("rest          ", rest);
  }
  line("all           ", times_.seconds);
  return s;
}

std::string GaitEvaluator::report(const Outcome& outcome) const {
  const Evaluation& e = outcome.evaluation;
  if (e.metrics.size() == 0) return "";
  const auto metric = [&](const char* name) { return e.metrics(gait_metric(name)); };
  std::string s;
  const auto line = [&](const std::string& words) { s += "  " + words + "\n"; };

  s += "optimality\n";
  line(formatted("%.0f iterations in all", metric("iterations")));
  line(formatted("KKT residual %.1e (tolerance %.0e)", metric("kkt_residual"), search_.options.tolerance));
  if (const double last = metric("intervals"); last > designs_.gait().intervals)
    line(formatted("refined to %.0f intervals; the last refinement changed the cost by %.1e, relative", last,
                   metric("refinement_change")));
  s += optima_text(outcome.trajectory.empty() ? Eigen::MatrixXd() : outcome.trajectory.values[optima_channel],
                   metric("guesses"), metric("guesses_solved"), "rad");
  s += "work and torque\n";
  line(formatted("absolute work %.5g J, positive %.5g J, signed %.5g J", metric("absolute_work"),
                 metric("positive_work"), metric("signed_work")));
  line(formatted("integral of squared torque %.5g N2 m2 s, largest torque %.4g N m", metric("squared_torque"),
                 metric("max_torque")));
  line(formatted(
      "impact loss %.5g J; energy balance %.1e J (signed work less impact loss, %s)", metric("impact_loss"),
      metric("energy_balance"),
      designs_.walker().system->simply_actuated() ? "vanishes as h^2" : "what dampers and other forces take"));
  s += warnings_text(findings(outcome));
  s += "feasibility\n";
  const double normal = metric("min_normal_force"), friction = metric("max_friction_ratio");
  line(normal > 0.0 ? formatted("contact force: normal at least %.4g N, friction ratio at most %.3f", normal, friction)
                    : formatted("contact force: NOT FEASIBLE, the ground would have to pull with %.4g N", -normal));
  const double impulse = metric("normal_impulse");
  line(impulse > 0.0
           ? formatted("touch-down impulse: normal %.4g N s, friction ratio %.3f", impulse,
                       metric("impulse_friction_ratio"))
           : formatted("touch-down impulse: NOT FEASIBLE, the ground would have to pull with %.4g N s", -impulse));
  line(formatted("swing foot at least %.2e m above the ground at inner nodes, at most %.2e m under it between nodes",
                 metric("min_clearance"), metric("max_foot_penetration")));
  const double flexion = metric("min_knee_flexion");
  line(formatted("least knee flexion %.3f rad", flexion) +
       (flexion >= -1e-8             ? ""
        : designs_.gait().knee_stops ? " (the knee stops are violated)"
                                     : " (a knee overextends; gait.knee-stops would forbid it)"));
  if (designs_.walker().base == 2)
    line(formatted("legs cross in %.0f of %.0f time steps (they may, in the plane)", metric("leg_crossings"),
                   metric("intervals")));
  else if (designs_.gait().leg_radius == 0.0)
    line(formatted("legs at least %.4f m apart (gait.leg-radius would keep them apart)", metric("min_leg_distance")));
  else
    line(formatted(
        "legs at least %.4f m apart, between nodes too; closer than 1.8 gait.leg-radius in %.0f of %.0f time steps",
        metric("min_leg_distance"), metric("leg_crossings"), metric("intervals")));
  line(formatted("the difference scheme, re-solved forward through touch-down, reproduces the angles to %.1e rad",
                 metric("reintegration_error")));
  s += departure_text(
      {metric("end_error"), metric("max_deviation"), metric("tracking_error"), metric("tracking_correction")},
      "from touch-down to touch-down");
  return s;
}

std::unique_ptr<Evaluator> make_gait(const Settings& settings) { return std::make_unique<GaitEvaluator>(settings); }

}  // namespace

EvaluatorKind gait_kind() {
  EvaluatorKind kind;
  kind.name = "gait";
  kind.description = "cost of transport of the best periodic gait of a walker";
  kind.variables = gait_variables;
  kind.keys = gait_keys();
  for (const Key& key : rollout_keys().keys()) kind.keys.push_back(key);
  kind.sections = {
      {.kind = "parameters",
       .any_key = true,
       .description =
           "further parameters, and what step-length, period and step-width follow from: NAME = an expression "
           "of parameters, of those before it too"},
      {.kind = "cost",
       .any_key = true,
       .description = "weights of the cost instead of those of [gait], or NAME = an expression whose "
                      "integral over the step counts"},
      {.kind = "require",
       .any_key = true,
       .description = "NAME = a condition of parameters (judges a design) or of the motion (a constraint)"}};
  kind.idle = idle_gait_keys;
  kind.make = make_gait;
  return kind;
}

}  // namespace dodyn::evaluators
