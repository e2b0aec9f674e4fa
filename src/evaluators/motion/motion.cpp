#include "evaluators/motion/motion.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <numeric>
#include <optional>

#include "dmoc/attitudes.hpp"
#include "evaluators/motion/design.hpp"
#include "evaluators/motion/findings.hpp"
#include "evaluators/motion/forward.hpp"
#include "evaluators/motion/pictures.hpp"
#include "evaluators/motion/rollout.hpp"
#include "evaluators/optima.hpp"
#include "evaluators/refinement.hpp"
#include "nlp/solve.hpp"
#include "record/random.hpp"
#include "record/text.hpp"
#include "settings/key_table.hpp"
#include "systems/skeleton.hpp"

namespace dodyn::evaluators {

namespace {

using nlp::SolveStatus;

struct MotionSearch {
  std::string model;
  int starts = 8;
  int steps = 1;
  double tolerance = 1e-9;
  int max_iterations = 500;
  double start_seconds = 120.0;
  double accuracy = 0.05;
  int refinements = 2;
  bool refuses = true;
  bool lets_go = false;
  bool penalty = false;
  double stiffness = 20.0, width = 1e-4;
  nlp::Backend solver = nlp::Backend::native;
};

const KeyTable<MotionSearch>& motion_keys() {
  static const KeyTable<MotionSearch> table =
      KeyTable<MotionSearch>("motion.")
          .add("model", &MotionSearch::model,
               {.type = Type::path, .description = "the system: a model (docs/models.md)"})
          .add("initial-guesses", &MotionSearch::starts,
               {.description = "cold starts per design; the best motion counts", .minimum = 1, .maximum = 10000})
          .add("tolerance", &MotionSearch::tolerance,
               {.unit = "1", .description = "KKT residual a motion must reach", .minimum = 1e-14, .maximum = 1e-2})
          .add("max-iterations", &MotionSearch::max_iterations,
               {.description = "iterations per start", .minimum = 1, .maximum = 1e6})
          .add("time-limit-per-guess", &MotionSearch::start_seconds,
               {.unit = "s", .description = "time limit per start", .minimum = 1e-3, .maximum = 1e7})
          .add("accuracy", &MotionSearch::accuracy,
               {.unit = "1",
                .description =
                    "largest deviation from the plan (m, rad) that the continuous equations of motion may have "
                    "with feedback; beyond it, intervals are halved; 0: any",
                .minimum = 0.0,
                .maximum = 1e6})
          .add(
              "refinements", &MotionSearch::refinements,
              {.description = "intervals are halved at most N times; a motion that misses the accuracy then is refused",
               .minimum = 0,
               .maximum = 10})
          .add("steps", &MotionSearch::steps,
               {.description = "dodyn simulate: steps of the contact simulation in an interval of the motion",
                .minimum = 1,
                .maximum = 10000,
                .identity = false})
          .add("first-guess", &MotionSearch::lets_go, {{"straight", false}, {"simulated", true}},
               {.description =
                    "start 0 goes straight by the way points, or as bodies go that nothing drives, through the "
                    "contact simulation"})
          .add("contact", &MotionSearch::penalty, {{"schedule", false}, {"penalty", true}},
               {.description = "contacts happen at their nodes, by an impulse, or push by an energy of overlap"})
          .add("contact-stiffness", &MotionSearch::stiffness,
               {.unit = "N/m",
                .description = "of a contact by penalty: C of the energy C/2 overlap^2 of every corner",
                .minimum = 1e-6,
                .maximum = 1e12})
          .add("contact-width", &MotionSearch::width,
               {.unit = "m",
                .description = "of a contact by penalty: over which its force sets in smoothly",
                .minimum = 1e-9,
                .maximum = 1.0})
          .add("validity-check", &MotionSearch::refuses, {{"reject", true}, {"warn", false}},
               {.description = "a motion that is impossible (a ground that pulls, parts inside each other) or that its "
                               "mesh does not resolve: refuse it as infeasible or not_converged, or report it"})
          .add("solver", &MotionSearch::solver, {{"native", nlp::Backend::native}, {"ipopt", nlp::Backend::ipopt}},
               {.description = "solver of the inner problem"});
  return table;
}

std::vector<Quantity> motion_metrics(const MotionDesigns& designs) {
  std::vector<Quantity> list = {
      {"duration", "s", "of all phases"},
      {"max_control", "", "largest |control|"},
      {"squared_control", "", "integral of the squared controls"},
      {"absolute_work", "J", "sum of |control x change of its coordinate|, of actuators on coordinates"},
      {"impact_loss", "J", "kinetic energy lost at events"},
      {"min_normal_force", "N", "smallest force along the last held coordinate; not a number where nothing is held"},
      {"energy_drift", "J", "largest change of the discrete energy from one interval to the next within a phase"},
      {"reintegration_error", "1",
       "largest difference of a coordinate when the difference scheme is re-solved forward from the first node; "
       "infinite where a step has no root nearby"},
      {"end_error", "1",
       "largest difference of a coordinate at the end when the controls drive the continuous equations of motion"},
      {"max_deviation", "1", "the same at any node"},
      {"tracking_error", "1", "the same at any node, where feedback corrects the controls at every node"},
      {"tracking_correction", "", "largest control that this feedback adds"},
      {"kkt_residual", "1", "largest residual of the first-order optimality conditions"},
      {"iterations", "1", "iterations of the solver, all starts together"},
      {"guesses", "1", "initial guesses tried"},
      {"guesses_solved", "1", "starts that ended at a first-order optimal point"},
      {"optima", "1", "distinct motions among these"},
      {"intervals", "1", "intervals of the mesh that the cost is of, all phases together"},
      {"refinement_change", "1", "relative change of the cost by the last refinement; 0 where there was none"},
  };
  for (const auto& phase : designs.phases()) list.push_back({"duration_" + phase.name, "s", "of the phase"});
  for (const auto& contact : designs.contacts()) {
    if (designs.penalty() == 0.0) {
      list.push_back({"contact_" + contact.name, "s", "when it touches"});
      continue;
    }
    list.push_back({"contact_" + contact.name, "s", "when it overlaps most"});
    list.push_back({"overlap_" + contact.name, "m", "how deep it overlaps then; apart: below 0"});
  }
  if (designs.keeps_clear()) {
    list.push_back(
        {"clearance_at_nodes", "m", "least distance of parts that keep clear of each other; overlap: below 0"});
    list.push_back({"clearance", "m", "the same on a mesh twenty times finer"});
  }
  return list;
}

// Controls and planes of a point, put into another one of the same layout.
Eigen::VectorXd controlled(const TranscribedMotion& planned, Eigen::VectorXd x, const Eigen::VectorXd& from) {
  const auto& problem = planned.problem;
  for (int i = 0; i < problem.phases(); ++i) {
    const auto& index = problem.index(i);
    for (int k = 0; k < index.intervals; ++k)
      x.segment(index.control(k), index.controls) = from.segment(index.control(k), index.controls);
  }
  problem.fill(x);
  x.tail(planned.separation.variables()) = from.tail(planned.separation.variables());
  return x;
}

double farthest_chart(const dmoc::MotionProblem& problem, const Eigen::VectorXd& x) {
  double farthest = 0.0;
  for (int i = 0; i < problem.phases(); ++i) {
    const auto& moving = problem.functions(i).moving;
    for (int k = 0; k <= problem.index(i).intervals; ++k)
      for (std::size_t j = 0; j < moving.size(); ++j)
        if (problem.system().is_chart(moving[j]))
          farthest = std::max(farthest, std::abs(x(problem.index(i).theta(k) + static_cast<int>(j))));
  }
  return farthest;
}

class MotionEvaluator final : public Evaluator {
 public:
  explicit MotionEvaluator(const Settings& settings)
      : designs_(settings), search_(motion_keys().read(settings)), rollout_(rollout_keys().read(settings)) {
    if (!nlp::available(search_.solver))
      throw settings.error("motion.solver", "this build has no Ipopt; allowed is native");
  }

  bool has_gradients() const override { return true; }
  bool uses_warm_start() const override { return true; }
  std::vector<InputFile> input_files() const override {
    return {{"motion.model-checksum", checksum(designs_.text()), designs_.model_name(), designs_.text()}};
  }
  std::vector<Quantity> metrics() const override { return motion_metrics(designs_); }
  Channels channels() const override;
  Outcome evaluate(const Task& task) const override;
  std::string report(const Outcome& outcome) const override;
  std::optional<Simulated> simulate(const Task& task) const override;
  std::optional<Simulated> rollout(const Outcome& outcome) const override;

 private:
  int optima_rows() const { return search_.starts + 1; }  // and that of a parent
  // A point that a start led to, with the problem that it solves.
  struct Found {
    TranscribedMotion planned;
    nlp::Solution solution;
    int iterations = 0;
  };
  MotionPath path_of(const Trajectory& parent, const Eigen::VectorXd& design) const;
  // `controls`: of a motion nearby, as the channel has them; or null.
  Found solve(const MotionDesigns& designs, const Task& task, const MotionPath& path,
              const Eigen::MatrixXd* controls) const;
  Eigen::VectorXd coordinates_of(const Found& found, const Eigen::VectorXd& design) const;  // at all nodes
  // Trajectory and metrics of a motion, at all nodes of its mesh.
  void read_off(const MotionDesigns& designs, const TranscribedMotion& planned, const nlp::Solution& best,
                Outcome& outcome) const;
  // Halves intervals until the best motion of the study's mesh is accurate, and returns the mesh that its trajectory has then.
  MotionDesigns refine(const Task& task, Found& best, Outcome& outcome) const;
  Eigen::Index place(const std::string& name) const;  // of a metric
  double metric(const Evaluation& e, const std::string& name) const;
  // `mesh`: of the trajectory.
  std::vector<Finding> findings(const MotionDesigns& mesh, const Outcome& outcome) const;

  MotionDesigns designs_;
  MotionSearch search_;
  RolloutSettings rollout_;
};

int nodes_of(const MotionDesigns& designs) {
  int count = 0;
  for (const auto& phase : designs.phases()) count += phase.intervals + 1;
  return count;
}

// On twice as many intervals: a path whose new nodes lie half way, and controls that last as long.
MotionPath halved(const MotionDesigns& designs, const MotionPath& path) {
  const dmoc::System& system = designs.system();
  const dmoc::Attitudes attitudes(system);
  MotionPath finer;
  finer.duration = path.duration;
  for (const Eigen::MatrixXd& q : path.q) {
    Eigen::MatrixXd& all = finer.q.emplace_back(2 * q.rows() - 1, q.cols());
    for (Eigen::Index k = 0; k < q.rows(); ++k) {
      all.row(2 * k) = q.row(k);
      if (k + 1 < q.rows())
        all.row(2 * k + 1) = attitudes
                                 .between(q.row(k).transpose(), system.no_reference(), q.row(k + 1).transpose(),
                                          system.no_reference(), 0.5)
                                 .transpose();
    }
  }
  return finer;
}
Eigen::MatrixXd halved(const MotionDesigns& designs, const Eigen::MatrixXd& controls) {
  Eigen::MatrixXd finer(2 * controls.rows() - static_cast<Eigen::Index>(designs.phases().size()), controls.cols());
  Eigen::Index from = 0, to = 0;
  for (const auto& phase : designs.phases()) {
    for (int k = 0; k <= 2 * phase.intervals; ++k) finer.row(to++) = controls.row(from + k / 2);
    from += phase.intervals + 1;
  }
  return finer;
}

// At the nodes of a mesh with `stride` times fewer intervals; controls and energies are the mean of these.
Trajectory thinned(const MotionDesigns& designs, const Trajectory& fine, int stride) {
  constexpr std::size_t controls = 3, energies = 5;  // channels
  constexpr std::size_t shapes = 9;                  // and this one, which has no nodes
  Trajectory all;
  for (std::size_t c = 0; c < fine.values.size(); ++c) {
    const Eigen::MatrixXd& rows = fine.values[c];
    if (c == shapes) {
      all.values.push_back(rows);
      continue;
    }
    const bool mean = c == controls || c == energies;
    Eigen::MatrixXd& kept = all.values.emplace_back(nodes_of(designs), rows.cols());
    Eigen::Index from = 0, to = 0;
    for (const auto& phase : designs.phases()) {
      for (int k = 0; k <= phase.intervals; ++k, ++to) {
        const Eigen::Index at = from + static_cast<Eigen::Index>(stride) * std::min(k, phase.intervals - 1);
        if (mean)
          kept.row(to) = rows.middleRows(at, stride).colwise().mean();
        else
          kept.row(to) = rows.row(from + static_cast<Eigen::Index>(stride) * k);
      }
      from += static_cast<Eigen::Index>(stride) * phase.intervals + 1;
    }
  }
  return all;
}

Channels MotionEvaluator::channels() const {
  const auto& tree = designs_.system().structure();
  std::vector<std::string> controls, ends;
  for (const auto& actuator : tree.actuators) controls.push_back(actuator.name);
  const std::vector<std::string> letters = {"_x", "_y", "_z"};
  for (std::size_t p = 0; p <= tree.links.size(); ++p)
    for (int i = 0; i < tree.dimension; ++i)
      ends.push_back((p == 0 ? "root" : tree.links[p - 1].name + "_end") + letters[static_cast<std::size_t>(i)]);
  const int N = nodes_of(designs_);
  Channels list = {
      {"t", "s", "time since the start; the last node of a phase and the first of the next share it", N, {"t"}},
      {"q", "", "coordinates (m, rad)", N, tree.coordinate_names},
      {"p", "", "discrete momenta (N s, N m s): leaving at the first node of a phase, arriving at the others", N,
       tree.coordinate_names},
      {"u", "", "controls (N, N m) of the interval that begins at the node; the last node of a phase has the last ones",
       N, controls},
      {"held_force", "", "force (N, N m) on what is held; zero where it moves", N, tree.coordinate_names},
      {"energy", "J", "discrete energy of the interval that begins at the node", N, {"energy"}},
      {"points", "m", "the root and the ends of the links", N, ends, {}, systems::joined_points(tree, "root")},
      {"phase", "1", "number of the phase", N, {"phase"}},
  };
  for (Channel& channel : picture_channels(designs_, N)) list.push_back(std::move(channel));
  list.push_back(
      {"optima",
       "",
       "distinct motions that the starts ended at, the best first: how many starts, KKT residual, distance to the "
       "best (of coordinates, root mean square)",
       optima_rows(),
       {"cost", "count", "residual", "distance"}});
  return list;
}

MotionPath MotionEvaluator::path_of(const Trajectory& parent, const Eigen::VectorXd& design) const {
  MotionPath path;
  Eigen::Index row = 0;
  for (const auto& phase : designs_.phases()) {
    path.q.push_back(parent.values[1].middleRows(row, phase.intervals + 1));
    path.duration.push_back(parent.values[0](row + phase.intervals, 0) - parent.values[0](row, 0));
    row += phase.intervals + 1;
  }
  designs_.refer(path, design);
  return path;
}

// From a path: where bodies are to be grown, through smaller ones; then, where attitudes have come far from their
// references, again about new ones; and where another corner has come to lie lower than the one that touches,
// or other edges nearer, with those.
MotionEvaluator::Found MotionEvaluator::solve(const MotionDesigns& designs, const Task& task, const MotionPath& path,
                                              const Eigen::MatrixXd* controls) const {
  nlp::Options options;
  options.backend = search_.solver;
  options.tolerance = search_.tolerance;
  options.max_iterations = search_.max_iterations;
  const double limit = std::min(search_.start_seconds, std::max(task.seconds_left(), 1e-3));
  const auto began = std::chrono::steady_clock::now();
  const auto left = [&] {
    const std::chrono::duration<double> used = std::chrono::steady_clock::now() - began;
    return std::max(limit - used.count(), 1e-3);
  };
  const auto solved = [](const nlp::Solution& s) { return s.status == SolveStatus::solved; };
  const Eigen::VectorXd& design = task.evaluation.design;
  std::vector<Touching> touching = path.touching;
  const int steps = controls ? 0 : designs.grow();
  Found found{designs.plan(design, path, steps > 0 ? 1.0 / (steps + 1) : 1.0), {}, 0};
  Eigen::VectorXd x = designs.start(found.planned, path);
  if (controls) {
    Eigen::Index row = 0;
    for (int i = 0; i < found.planned.problem.phases(); ++i) {
      const auto& index = found.planned.problem.index(i);
      for (int k = 0; k < index.intervals; ++k)
        x.segment(index.control(k), index.controls) = controls->row(row + k).transpose();
      row += index.intervals + 1;
    }
    found.planned.problem.fill(x);
  }
  options.warm_start = controls != nullptr || path.simulated;
  // What nothing drives obeys all but the goal; a large barrier would throw that away (of ten two-cubes, seven then fail).
  if (path.simulated) options.barrier = 1e-4;
  const auto run = [&] {
    options.max_seconds = left();
    found.solution = nlp::solve(found.planned.problem.problem(), x, options);
    found.iterations += found.solution.iterations;
    x = found.solution.x;
  };
  run();
  for (int step = 1; step <= steps && x.allFinite(); ++step) {
    const MotionPath so_far = designs.path_of(found.planned.problem, x, design);
    touching = so_far.touching;
    found.planned = designs.plan(design, so_far, (step + 1.0) / (steps + 1));
    const Eigen::VectorXd planes = x;
    x = controlled(found.planned, designs.start(found.planned, so_far), planes);
    run();
  }
  for (int again = 0; again < 4 && solved(found.solution); ++again) {
    const MotionPath so_far = designs.path_of(found.planned.problem, x, design);
    if (farthest_chart(found.planned.problem, x) < 0.8 * dmoc::chart_limit && so_far.touching == touching) break;
    const Eigen::VectorXd before = x;
    touching = so_far.touching;
    found.planned = designs.plan(design, so_far);
    x = controlled(found.planned, designs.start(found.planned, so_far), before);
    options.warm_start = true;
    run();
  }
  return found;
}

Eigen::VectorXd MotionEvaluator::coordinates_of(const Found& found, const Eigen::VectorXd& design) const {
  std::vector<double> all;
  for (const Eigen::MatrixXd& q : designs_.path_of(found.planned.problem, found.solution.x, design).q)
    all.insert(all.end(), q.reshaped().begin(), q.reshaped().end());
  return Eigen::Map<const Eigen::VectorXd>(all.data(), static_cast<Eigen::Index>(all.size()));
}

Outcome MotionEvaluator::evaluate(const Task& task) const {
  Outcome outcome{task.evaluation, {}};
  Evaluation& e = outcome.evaluation;
  std::optional<Found> best;
  int tried = 0, solved = 0, iterations = 0;
  std::vector<Optimum> optima;
  std::array<int, 5> ends{};
  const auto attempt = [&](const MotionPath& path, const Eigen::MatrixXd* controls) {
    Found found = solve(designs_, task, path, controls);
    const nlp::Solution& s = found.solution;
    ++tried;
    iterations += found.iterations;
    ++ends[static_cast<std::size_t>(s.status)];
    const bool is_solved = s.status == SolveStatus::solved;
    solved += is_solved;
    if (is_solved) add(optima, {s.objective, 1, s.residuals.largest(), coordinates_of(found, e.design)});
    const auto better = [&](const nlp::Solution& than) {
      return is_solved != (than.status == SolveStatus::solved) ? is_solved
             : is_solved                                       ? s.objective < than.objective
                                                               : s.residuals.feasibility < than.residuals.feasibility;
    };
    if (!best || better(best->solution)) best = std::move(found);
  };
  try {
    if (e.reason = designs_.refusal(e.design); !e.reason.empty()) {
      e.status = Status::infeasible;
      return outcome;
    }
    if (!task.warm_start.empty()) attempt(path_of(task.warm_start, e.design), &task.warm_start.values[3]);
    for (int start = 0; start < search_.starts && !(best && task.seconds_left() == 0.0); ++start)
      attempt(designs_.path(e.design, evaluation_seed(e.seed, start), start), nullptr);
  } catch (const ConfigError& error) {
    e.status = Status::failed;
    e.reason = std::string("invalid design: ") + error.what();
    return outcome;
  }

  const std::string starts = std::to_string(tried) + " starts";
  const nlp::Solution& found = best->solution;
  if (solved > 0 && task.seconds_left() == 0.0) {
    e.status = Status::timed_out;
    e.reason = "time limit; the best so far, of " + starts;
  } else if (solved > 0) {
    e.status = Status::ok;
  } else if (ends[static_cast<std::size_t>(SolveStatus::infeasible)] == tried) {
    e.status = Status::infeasible;
    e.reason = "no motion satisfies the constraints from any of " + starts + ": " + found.reason +
               missed(best->planned, found.x);
    return outcome;
  } else {
    e.status = ends[static_cast<std::size_t>(SolveStatus::timed_out)] > 0 ? Status::timed_out : Status::not_converged;
    e.reason = "none of " + starts + " converged; the most feasible: " + found.reason + missed(best->planned, found.x);
  }
  if (!found.x.allFinite()) return outcome;
  read_off(designs_, best->planned, found, outcome);
  e.metrics(place("intervals")) = nodes_of(designs_) - static_cast<double>(designs_.phases().size());
  e.metrics(place("refinement_change")) = 0.0;
  const MotionDesigns mesh = e.status == Status::ok ? refine(task, *best, outcome) : designs_;
  e.cost = best->solution.objective;
  if (e.status == Status::ok)
    e.gradient = best->planned.problem.problem().design_gradient(best->solution.x, best->solution.multipliers,
                                                                 static_cast<int>(e.design.size()));
  e.metrics(place("iterations")) = iterations;
  e.metrics(place("guesses")) = tried;
  e.metrics(place("guesses_solved")) = solved;
  e.metrics(place("optima")) = static_cast<double>(optima.size());
  judge(findings(mesh, outcome), search_.refuses, e);
  if (const int stride = mesh.phases().front().intervals / designs_.phases().front().intervals; stride > 1)
    outcome.trajectory = thinned(designs_, outcome.trajectory, stride);
  outcome.trajectory.values.push_back(table(optima, optima_rows()));
  return outcome;
}

MotionDesigns MotionEvaluator::refine(const Task& task, Found& best, Outcome& outcome) const {
  Evaluation& e = outcome.evaluation;
  MotionDesigns mesh = designs_;
  const auto finer = [&](Meshed& motion) -> std::string {
    if (task.seconds_left() == 0.0) return "time limit";
    MotionDesigns next = mesh.halved();
    MotionPath path = halved(mesh, mesh.path_of(best.planned.problem, best.solution.x, e.design));
    next.refer(path, e.design);
    const Eigen::MatrixXd controls = halved(mesh, outcome.trajectory.values[3]);
    Found found = solve(next, task, path, &controls);
    if (found.solution.status != SolveStatus::solved) return found.solution.reason;
    best = std::move(found);
    mesh = std::move(next);
    const double intervals = 2.0 * e.metrics(place("intervals"));
    read_off(mesh, best.planned, best.solution, outcome);
    e.metrics(place("intervals")) = intervals;
    motion = {best.solution.objective, e.metrics(place("tracking_error"))};
    return "";
  };
  const Refinement done = evaluators::refine({search_.accuracy, 0.0, search_.refinements},
                                             {best.solution.objective, e.metrics(place("tracking_error"))}, finer);
  e.metrics(place("refinement_change")) = done.change;
  if (!done.failure.empty())
    e.reason = formatted("%.0f intervals could not be halved: ", e.metrics(place("intervals"))) + done.failure;
  return mesh;
}

Eigen::Index MotionEvaluator::place(const std::string& name) const {
  const auto list = motion_metrics(designs_);
  const auto at = std::find_if(list.begin(), list.end(), [&](const Quantity& q) { return q.name == name; });
  return at - list.begin();
}

double MotionEvaluator::metric(const Evaluation& e, const std::string& name) const {
  const Eigen::Index at = place(name);
  return at < e.metrics.size() ? e.metrics(at) : not_a_number;
}

std::vector<Finding> MotionEvaluator::findings(const MotionDesigns& mesh, const Outcome& outcome) const {
  const Evaluation& e = outcome.evaluation;
  Examined motion = examined(mesh, e.design, outcome.trajectory, metric(e, "clearance"));
  int intervals = 0;
  for (const auto& phase : mesh.phases()) intervals += phase.intervals;
  if (metric(e, "intervals") > intervals) {  // a thinned trajectory shows no time steps
    motion.turn = motion.balance = not_a_number;
    motion.spike = 0.0;
  }
  motion.accuracy = {search_.accuracy, metric(e, "tracking_error"), metric(e, "intervals"), "motion"};
  return examine(motion);
}

void MotionEvaluator::read_off(const MotionDesigns& designs, const TranscribedMotion& planned,
                               const nlp::Solution& best, Outcome& outcome) const {
  const dmoc::MotionProblem& problem = planned.problem;
  const dmoc::Attitudes attitudes(problem.system());
  const dmoc::Motion motion = problem.motion(best.x);
  const auto& tree = designs.system().structure();
  const int n = problem.system().n(), N = nodes_of(designs), inputs = problem.system().inputs();
  const auto drawn = designs.system().model().tree<double>(autodiff::values_of(problem.numbers()));
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
      const dmoc::Reference& reference = problem.reference(i, static_cast<int>(k));
      q.row(row) = attitudes.moved(m.q.row(k).transpose(), reference, problem.system().no_reference()).transpose();
      p.row(row) = attitudes.along_axes(m.p.row(k).transpose(), m.q.row(k).transpose(), reference).transpose();
      u.row(row) = m.u.row(std::min(k, K - 1));
      energy(row, 0) = m.energy(std::min(k, K - 1));
      phase(row, 0) = i;
      for (std::size_t j = 0; j < held.size(); ++j) force(row, held[j]) = m.held_force(k, static_cast<Eigen::Index>(j));
      const std::vector<double> at(q.row(row).begin(), q.row(row).end());
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
  for (auto& values : pictures(designs, outcome.evaluation.design, q))
    outcome.trajectory.values.push_back(std::move(values));
  Eigen::VectorXd& metrics = outcome.evaluation.metrics;
  metrics.resize(static_cast<Eigen::Index>(motion_metrics(designs).size()));
  const Departure departure = drive_continuously(problem.system(), autodiff::values_of(problem.numbers()),
                                                 continuous_plan(designs, outcome.trajectory).phases);
  constexpr Eigen::Index first = 19;  // behind those that every motion has
  metrics.head(first) << time, largest, squared, work, loss, normal, drift, problem.reintegrate(motion),
      departure.at_end, departure.largest, departure.tracked, departure.correction, best.residuals.largest(), 0.0, 0.0,
      0.0, 0.0, 0.0, 0.0;
  for (std::size_t i = 0; i < durations.size(); ++i) metrics(first + static_cast<Eigen::Index>(i)) = durations[i];
  auto next = first + static_cast<Eigen::Index>(durations.size());
  for (const auto& contact : designs.contacts()) {
    if (designs.penalty() > 0.0) {
      Eigen::Index deepest = 0;
      const double depth = designs.depths(contact, outcome.evaluation.design, q).maxCoeff(&deepest);
      metrics(next++) = t(deepest, 0);
      metrics(next++) = depth;
      continue;
    }
    metrics(next++) = std::accumulate(durations.begin(), durations.begin() + contact.phase + 1, 0.0);
  }
  if (!designs.keeps_clear()) return;
  const dmoc::Clearance clear = dmoc::clearance(problem, best.x, planned.separation.pairs(), 20);
  metrics.tail(2) << clear.at_nodes, clear.between;
}

std::string MotionEvaluator::report(const Outcome& outcome) const {
  const Evaluation& e = outcome.evaluation;
  if (e.metrics.size() == 0) return "";
  const auto metric = [&](const std::string& name) { return this->metric(e, name); };
  std::string s = "optimality\n";
  s += formatted("  %.0f iterations in all\n", metric("iterations"));
  s += formatted("  KKT residual %.1e (tolerance %.0e)\n", metric("kkt_residual"), search_.tolerance);
  s += optima_text(outcome.trajectory.empty() ? Eigen::MatrixXd() : outcome.trajectory.values.back(), metric("guesses"),
                   metric("guesses_solved"), "of coordinates");
  if (metric("refinement_change") != 0.0)
    s += formatted("  refined to %.0f intervals; the last refinement changed the cost by %.1e, relative\n",
                   metric("intervals"), metric("refinement_change"));
  s += "motion\n";
  for (const auto& phase : designs_.phases())
    s += formatted("  [phase %s] lasts %.5g s, on %d intervals\n", phase.name.c_str(), metric("duration_" + phase.name),
                   phase.intervals);
  for (const auto& contact : designs_.contacts())
    s += designs_.penalty() > 0.0
             ? formatted("  [contact %s] overlaps by %.4g mm at %.4g s\n", contact.name.c_str(),
                         1e3 * metric("overlap_" + contact.name), metric("contact_" + contact.name))
             : formatted("  [contact %s] touches at %.6g s\n", contact.name.c_str(), metric("contact_" + contact.name));
  s += formatted("  largest control %.4g; integral of squared controls %.5g; absolute work %.5g J\n",
                 metric("max_control"), metric("squared_control"), metric("absolute_work"));
  s += formatted("  events lose %.4g J\n", metric("impact_loss"));
  if (const double normal = metric("min_normal_force"); std::isfinite(normal))
    s += normal >= -1e-6 ? formatted("  what is held is pushed with at least %.4g N\n", normal)
                         : formatted("  what is held would have to be pulled with %.4g N\n", -normal);
  if (designs_.keeps_clear())
    s += formatted("  parts keep %.4g mm clear at nodes, %.4g mm on a mesh twenty times finer\n",
                   1e3 * metric("clearance_at_nodes"), 1e3 * metric("clearance"));
  s += formatted("  the difference scheme, re-solved forward from the first node, reproduces the coordinates to %.1e\n",
                 metric("reintegration_error"));
  s += departure_text(
      {metric("end_error"), metric("max_deviation"), metric("tracking_error"), metric("tracking_correction")},
      continuous_plan(designs_, {}).note);
  s += warnings_text(findings(designs_, outcome));
  return s;
}

// The best motion, then its controls driven forward.
std::optional<Simulated> MotionEvaluator::simulate(const Task& task) const {
  const Outcome outcome = evaluate(task);
  const Evaluation& e = outcome.evaluation;
  if (e.status != Status::ok)
    return Simulated{false, "there is no motion to drive forward: " + e.reason + "\n", {}, {}};
  auto simulated = rollout(outcome);
  simulated->report = formatted("the best of %d starts, cost %.6g, driven forward by the contact simulation\n",
                                search_.starts, e.cost) +
                      simulated->report;
  return simulated;
}

// What stands and lands is driven by feet on the ground; bodies that fly, by themselves.
std::optional<Simulated> MotionEvaluator::rollout(const Outcome& archived) const {
  const bool stands = std::any_of(designs_.phases().begin(), designs_.phases().end(),
                                  [](const MotionDesigns::Phase& phase) { return !phase.held.empty(); });
  const Eigen::VectorXd& design = archived.evaluation.design;
  if (!stands) return to_simulated(drive(designs_, design, archived.trajectory, search_.steps), search_.steps);
  const systems::Model& model = designs_.system().model();
  const PlannedMotion motion = planned(designs_, archived);
  return to_simulated(dodyn::evaluators::rollout(model, designs_.plain(design), motion, rollout_), model, motion,
                      rollout_);
}

std::unique_ptr<Evaluator> make_motion(const Settings& settings) { return std::make_unique<MotionEvaluator>(settings); }

}  // namespace

EvaluatorKind motion_kind() {
  EvaluatorKind kind;
  kind.name = "motion";
  kind.description = "cost of the best motion of a system, in phases written down in the configuration";
  kind.variables = motion_variables;
  kind.keys = motion_keys().keys();
  for (const Key& key : rollout_keys().keys()) kind.keys.push_back(key);
  kind.sections = motion_sections();
  kind.make = make_motion;
  return kind;
}

}  // namespace dodyn::evaluators
