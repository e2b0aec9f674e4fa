#include "evaluators/motion/motion.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "evaluators/motion/design.hpp"
#include "nlp/solve.hpp"
#include "record/random.hpp"
#include "record/text.hpp"
#include "settings/key_table.hpp"

namespace dodyn::evaluators {

namespace {

using nlp::SolveStatus;

struct MotionSearch {
  std::string model;
  int starts = 8;
  double tolerance = 1e-9;
  int max_iterations = 500;
  double start_seconds = 120.0;
  nlp::Backend solver = nlp::Backend::native;
};

const KeyTable<MotionSearch>& motion_keys() {
  static const KeyTable<MotionSearch> table =
      KeyTable<MotionSearch>("motion.")
          .add("model", &MotionSearch::model,
               {.type = Type::path, .description = "the system: a model (docs/models.md)"})
          .add("starts", &MotionSearch::starts,
               {.description = "cold starts per design; the best motion counts", .minimum = 1, .maximum = 10000})
          .add("tolerance", &MotionSearch::tolerance,
               {.unit = "1", .description = "KKT residual a motion must reach", .minimum = 1e-14, .maximum = 1e-2})
          .add("max-iterations", &MotionSearch::max_iterations,
               {.description = "iterations per start", .minimum = 1, .maximum = 1e6})
          .add("start-seconds", &MotionSearch::start_seconds,
               {.unit = "s", .description = "time limit per start", .minimum = 1e-3, .maximum = 1e7})
          .add("solver", &MotionSearch::solver, {{"native", nlp::Backend::native}, {"ipopt", nlp::Backend::ipopt}},
               {.description = "solver of the inner problem"});
  return table;
}

const std::vector<Quantity>& motion_metrics(const MotionDesigns& designs) {
  static thread_local std::vector<Quantity> list;
  list = {
      {"duration", "s", "of all phases"},
      {"largest_control", "", "largest |control|"},
      {"squared_control", "", "integral of the squared controls"},
      {"absolute_work", "J", "sum of |control x change of its coordinate|, of actuators on coordinates"},
      {"impact_loss", "J", "kinetic energy lost at events"},
      {"smallest_normal_force", "N",
       "smallest force along the last held coordinate; not a number where nothing is held"},
      {"energy_drift", "J", "largest change of the discrete energy from one interval to the next within a phase"},
      {"reintegration_error", "1",
       "largest difference of a coordinate when the controls drive the motion forward from its first node; infinite "
       "where "
       "a step has no root nearby"},
      {"kkt_residual", "1", "largest residual of the first-order optimality conditions"},
      {"iterations", "1", "iterations of the solver, all starts together"},
      {"starts", "1", "starts tried"},
      {"starts_solved", "1", "starts that ended at a first-order optimal point"},
  };
  for (const auto& phase : designs.phases()) list.push_back({"duration_" + phase.name, "s", "of the phase"});
  return list;
}

class MotionEvaluator final : public Evaluator {
 public:
  explicit MotionEvaluator(const Settings& settings) : designs_(settings), search_(motion_keys().read(settings)) {
    if (!nlp::available(search_.solver))
      throw settings.error("motion.solver", "this build has no Ipopt; allowed is native");
  }

  bool gradients() const override { return true; }
  std::vector<Quantity> metrics() const override { return motion_metrics(designs_); }
  Channels channels() const override;
  Outcome evaluate(const Task& task) const override;
  std::string report(const Outcome& outcome) const override;

 private:
  int nodes() const {
    int count = 0;
    for (const auto& phase : designs_.phases()) count += phase.intervals + 1;
    return count;
  }
  Eigen::VectorXd from_parent(const dmoc::MotionProblem& problem, const Trajectory& parent) const;
  void read_off(const dmoc::MotionProblem& problem, const nlp::Solution& best, Outcome& outcome) const;

  MotionDesigns designs_;
  MotionSearch search_;
};

Channels MotionEvaluator::channels() const {
  const auto& tree = designs_.system().structure();
  std::vector<std::string> controls, ends;
  for (const auto& actuator : tree.actuators) controls.push_back(actuator.name);
  const std::vector<std::string> letters = {"_x", "_y", "_z"};
  for (std::size_t p = 0; p <= tree.links.size(); ++p)
    for (int i = 0; i < tree.dimension; ++i)
      ends.push_back((p == 0 ? "root" : tree.links[p - 1].name + "_end") + letters[static_cast<std::size_t>(i)]);
  const int N = nodes();
  return {
      {"t", "s", "time since the start; the last node of a phase and the first of the next share it", N, {"t"}},
      {"q", "", "coordinates (m, rad)", N, tree.coordinate_names},
      {"p", "", "discrete momenta (N s, N m s): leaving at the first node of a phase, arriving at the others", N,
       tree.coordinate_names},
      {"u", "", "controls (N, N m) of the interval that begins at the node; the last node of a phase has the last ones",
       N, controls},
      {"held_force", "", "force (N, N m) on what is held; zero where it moves", N, tree.coordinate_names},
      {"energy", "J", "discrete energy of the interval that begins at the node", N, {"energy"}},
      {"points", "m", "the root and the ends of the links", N, ends},
      {"phase", "1", "number of the phase", N, {"phase"}},
  };
}

Eigen::VectorXd MotionEvaluator::from_parent(const dmoc::MotionProblem& problem, const Trajectory& parent) const {
  Eigen::VectorXd x = Eigen::VectorXd::Zero(problem.size());
  Eigen::Index row = 0;
  for (int i = 0; i < problem.phases(); ++i) {
    const auto& index = problem.index(i);
    const auto& moving = problem.functions(i).moving;
    for (int k = 0; k <= index.intervals; ++k) {
      for (std::size_t j = 0; j < moving.size(); ++j)
        x(index.theta(k) + static_cast<int>(j)) = parent.values[1](row + k, moving[j]);
      if (k < index.intervals) x.segment(index.control(k), index.controls) = parent.values[3].row(row + k).transpose();
    }
    if (index.duration >= 0) x(index.duration) = parent.values[0](row + index.intervals, 0) - parent.values[0](row, 0);
    row += index.intervals + 1;
  }
  problem.fill(x);
  return x;
}

Outcome MotionEvaluator::evaluate(const Task& task) const {
  Outcome outcome{task.evaluation, {}};
  Evaluation& e = outcome.evaluation;
  std::optional<dmoc::MotionProblem> problem;
  try {
    if (e.reason = designs_.refusal(e.design); !e.reason.empty()) {
      e.status = Status::infeasible;
      return outcome;
    }
    problem.emplace(designs_.problem(e.design));
  } catch (const ConfigError& error) {
    e.status = Status::failed;
    e.reason = std::string("invalid design: ") + error.what();
    return outcome;
  }
  nlp::Options options;
  options.backend = search_.solver;
  options.tolerance = search_.tolerance;
  options.max_iterations = search_.max_iterations;
  std::optional<nlp::Solution> best;
  int tried = 0, solved = 0, iterations = 0;
  std::array<int, 5> ends{};
  const auto attempt = [&](const Eigen::VectorXd& x0, bool warm) {
    nlp::Options limited = options;
    limited.warm_start = warm;
    limited.max_seconds = std::min(search_.start_seconds, std::max(task.seconds_left(), 1e-3));
    nlp::Solution s = nlp::solve(problem->problem(), x0, limited);
    ++tried;
    iterations += s.iterations;
    ++ends[static_cast<std::size_t>(s.status)];
    const bool is_solved = s.status == SolveStatus::solved;
    solved += is_solved;
    const bool better = !best || (is_solved != (best->status == SolveStatus::solved) ? is_solved
                                  : is_solved                                        ? s.objective < best->objective
                                              : s.residuals.feasibility < best->residuals.feasibility);
    if (better) best = std::move(s);
  };
  if (!task.warm_start.empty()) attempt(from_parent(*problem, task.warm_start), true);
  for (int start = 0; start < search_.starts && !(best && task.seconds_left() == 0.0); ++start)
    attempt(designs_.start(*problem, e.design, evaluation_seed(e.seed, start)), false);

  const std::string starts = std::to_string(tried) + " starts";
  if (solved > 0 && task.seconds_left() == 0.0) {
    e.status = Status::timed_out;
    e.reason = "time limit; the best so far, of " + starts;
  } else if (solved > 0) {
    e.status = Status::ok;
  } else if (ends[static_cast<std::size_t>(SolveStatus::infeasible)] == tried) {
    e.status = Status::infeasible;
    e.reason = "no motion satisfies the constraints from any of " + starts + ": " + best->reason;
    return outcome;
  } else {
    e.status = ends[static_cast<std::size_t>(SolveStatus::timed_out)] > 0 ? Status::timed_out : Status::not_converged;
    e.reason = "none of " + starts + " converged; the most feasible: " + best->reason;
  }
  if (!best->x.allFinite()) return outcome;
  e.cost = best->objective;
  if (e.status == Status::ok)
    e.gradient = problem->problem().design_gradient(best->x, best->multipliers, static_cast<int>(e.design.size()));
  read_off(*problem, *best, outcome);
  const std::array<std::pair<const char*, double>, 3> counts = {
      {{"iterations", iterations}, {"starts", tried}, {"starts_solved", solved}}};
  const auto& list = motion_metrics(designs_);
  for (std::size_t i = 0; i < list.size(); ++i)
    for (const auto& [name, value] : counts)
      if (list[i].name == name) e.metrics(static_cast<Eigen::Index>(i)) = value;
  return outcome;
}

void MotionEvaluator::read_off(const dmoc::MotionProblem& problem, const nlp::Solution& best, Outcome& outcome) const {
  const dmoc::Motion motion = problem.motion(best.x);
  const auto& tree = designs_.system().structure();
  const int n = problem.system().n(), N = nodes(), inputs = problem.system().inputs();
  std::vector<double> plain;
  for (const auto& x : problem.numbers()) plain.push_back(x.value);
  const auto drawn = designs_.system().model().tree<double>(plain);
  Eigen::MatrixXd t(N, 1), q(N, n), p(N, n), u(N, inputs), force = Eigen::MatrixXd::Zero(N, n), energy(N, 1),
                                                           phase(N, 1), points;
  double time = 0.0, largest = 0.0, squared = 0.0, work = 0.0, normal = not_a_number, drift = 0.0, loss = 0.0;
  std::vector<double> durations;
  Eigen::Index row = 0;
  for (int i = 0; i < problem.phases(); ++i) {
    const dmoc::PhaseMotion& m = motion.phases[static_cast<std::size_t>(i)];
    const auto& held = problem.functions(i).held;
    const Eigen::Index K = m.u.rows();
    for (Eigen::Index k = 0; k <= K; ++k, ++row) {
      t(row, 0) = time + static_cast<double>(k) * m.h;
      q.row(row) = m.q.row(k);
      p.row(row) = m.p.row(k);
      u.row(row) = m.u.row(std::min(k, K - 1));
      energy(row, 0) = m.energy(std::min(k, K - 1));
      phase(row, 0) = i;
      for (std::size_t j = 0; j < held.size(); ++j) force(row, held[j]) = m.held_force(k, static_cast<Eigen::Index>(j));
      const std::vector<double> at(m.q.row(k).begin(), m.q.row(k).end());
      const auto ends = drawn.points(at.data());
      if (points.size() == 0) points.resize(N, static_cast<Eigen::Index>(ends.size()));
      for (std::size_t j = 0; j < ends.size(); ++j) points(row, static_cast<Eigen::Index>(j)) = ends[j];
    }
    if (!held.empty() && held.front() == 0 && static_cast<int>(held.size()) >= tree.dimension) {
      const double least = m.held_force.col(tree.dimension - 1).minCoeff();
      normal = std::isfinite(normal) ? std::min(normal, least) : least;
    }
    for (Eigen::Index k = 0; k < K; ++k) {
      if (k > 0) drift = std::max(drift, std::abs(m.energy(k) - m.energy(k - 1)));
      for (int a = 0; a < inputs; ++a) {
        const int c = tree.actuators[static_cast<std::size_t>(a)].coordinate;
        if (c >= 0) work += std::abs(m.u(k, a) * (m.q(k + 1, c) - m.q(k, c)));
      }
    }
    if (m.u.size() > 0) largest = std::max(largest, m.u.cwiseAbs().maxCoeff());
    squared += m.h * m.u.squaredNorm();
    durations.push_back(m.h * static_cast<double>(K));
    time += durations.back();
  }
  for (const auto& event : motion.events) loss += event.loss;
  outcome.trajectory.values = {t, q, p, u, force, energy, points, phase};
  Eigen::VectorXd& metrics = outcome.evaluation.metrics;
  metrics.resize(static_cast<Eigen::Index>(motion_metrics(designs_).size()));
  metrics.head(12) << time, largest, squared, work, loss, normal, drift, problem.reintegrate(motion),
      best.residuals.largest(), 0.0, 0.0, 0.0;
  for (std::size_t i = 0; i < durations.size(); ++i) metrics(12 + static_cast<Eigen::Index>(i)) = durations[i];
}

std::string MotionEvaluator::report(const Outcome& outcome) const {
  const Evaluation& e = outcome.evaluation;
  if (e.metrics.size() == 0) return "";
  const auto& list = motion_metrics(designs_);
  const auto metric = [&](const std::string& name) {
    for (std::size_t i = 0; i < list.size(); ++i)
      if (list[i].name == name) return e.metrics(static_cast<Eigen::Index>(i));
    return not_a_number;
  };
  std::string s = "optimality\n";
  s += formatted("  %.0f of %.0f starts converged, %.0f iterations in all\n", metric("starts_solved"), metric("starts"),
                 metric("iterations"));
  s += formatted("  KKT residual %.1e (tolerance %.0e)\n", metric("kkt_residual"), search_.tolerance);
  s += "motion\n";
  for (const auto& phase : designs_.phases())
    s += formatted("  [phase %s] lasts %.5g s, on %d intervals\n", phase.name.c_str(), metric("duration_" + phase.name),
                   phase.intervals);
  s += formatted("  largest control %.4g; integral of squared controls %.5g; absolute work %.5g J\n",
                 metric("largest_control"), metric("squared_control"), metric("absolute_work"));
  s += formatted("  events lose %.4g J\n", metric("impact_loss"));
  if (const double normal = metric("smallest_normal_force"); std::isfinite(normal))
    s += normal >= -1e-6 ? formatted("  what is held is pushed with at least %.4g N\n", normal)
                         : formatted("  what is held would have to be pulled with %.4g N\n", -normal);
  s += formatted("  the controls, driven forward from the first node, reproduce the coordinates to %.1e\n",
                 metric("reintegration_error"));
  return s;
}

std::unique_ptr<Evaluator> make_motion(const Settings& settings) { return std::make_unique<MotionEvaluator>(settings); }

}  // namespace

EvaluatorKind motion_kind() {
  EvaluatorKind kind;
  kind.name = "motion";
  kind.description = "cost of the best motion of a system, in phases written down in the configuration";
  kind.variables = motion_variables;
  kind.keys = motion_keys().keys();
  kind.sections = motion_sections();
  kind.make = make_motion;
  return kind;
}

}  // namespace dodyn::evaluators
