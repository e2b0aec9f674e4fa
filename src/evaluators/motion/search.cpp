#include "evaluators/motion/search.hpp"

#include <algorithm>
#include <cmath>

#include "dmoc/ignorable.hpp"
#include "evaluators/motion/trajectory.hpp"
#include "record/text.hpp"

namespace dodyn::evaluators {

using nlp::SolveStatus;

KeyTable<MotionSearch> search_keys(const std::string& section, const std::string& unit, const MotionSearch& defaults) {
  using S = MotionSearch;
  using O = nlp::Options;
  const auto mesh = members_of(&S::mesh);
  const auto option = members_of(&S::options);
  return KeyTable<S>(section, defaults)
      .add("initial-guesses", &S::guesses,
           number(from(1, 10000), "number of initial guesses per design; the best result counts"))
      .add("guess-forces", &S::balances, {{"zero", false}, {"balanced", true}},
           {.description = "controls and forces on held points in initial guesses; zero: none; balanced: those that "
                           "best balance the momenta of the guess, which robots on held feet need"})
      .add("tasks", &S::tasks,
           number(from(1, 10000),
                  "number of tasks that share the initial guesses of a design; ranks run them at the same time"))
      .add("coarse-intervals", &S::coarse_intervals,
           number(from(0, 10000),
                  "number of time steps of the coarse mesh, all phases together; initial guesses are solved "
                  "on it first, then the best of each task on the full mesh; 0: no coarse mesh"))
      .add("refine-count", &S::candidates,
           number(from(1, 10000),
                  "number of coarse solutions that each task solves again on the full mesh; the best ones; "
                  "with coarse-intervals"))
      .add("shifts", &S::shifts,
           number(from(0, 100),
                  "largest shift, in nodes, of a phase of the best motion; it is solved again with the middle "
                  "of each phase 1, 2, ... nodes earlier and later; 0: off"))
      .add("accuracy", mesh(&MeshLimits::accuracy),
           number(from(0.0, 1e6), unit,
                  "largest deviation of the continuous equations of motion from the plan; with feedback at "
                  "every node; beyond it, time steps are halved; 0: no limit"))
      .add("refine-tolerance", mesh(&MeshLimits::tolerance),
           number(from(0.0, 1.0), "1",
                  "relative change of the cost below which the mesh is fine enough; until then time steps of "
                  "the best motion are halved; 0: never"))
      .add("refinements", mesh(&MeshLimits::refinements),
           number(
               from(0, 10),
               "largest number of times that time steps are halved; a motion that then misses the accuracy is refused"))
      .add(
          "gains", &S::gains,
          {.description = "each row of the archive has the gains of the feedback at every node, and the planned rates; "
                          "2 numbers per control and coordinate at each node"})
      .add("validity-check", &S::rejects, {{"reject", true}, {"warn", false}},
           {.description = "impossible or unresolved motions; reject: they are infeasible or not_converged; warn: only "
                           "a warning; impossible: the ground pulls, a knee bends the wrong way, parts overlap"})
      .add("solver", option(&O::backend), {{"native", nlp::Backend::native}, {"ipopt", nlp::Backend::ipopt}},
           {.description = "solver of the nonlinear program; ipopt needs a build with Ipopt"})
      .add("tolerance", option(&O::tolerance), number(from(1e-14, 1e-2), "1", "KKT residual at which the solver stops"))
      .add("max-iterations", option(&O::max_iterations),
           number(from(1, 1e6), "largest number of solver iterations per initial guess"))
      .add("time-limit-per-guess", option(&O::max_processor_seconds),
           number(from(1e-3, 1e7), "s", "limit of processor time per initial guess"));
}

std::vector<std::pair<std::string, std::string>> idle_search_keys(const Settings& settings,
                                                                  const std::string& section) {
  std::vector<std::pair<std::string, std::string>> idle;
  if (settings.integer(section + "coarse-intervals") == 0)
    idle.emplace_back(section + "refine-count", section + "coarse-intervals = 0");
  if (settings.integer(section + "refinements") == 0)
    idle.emplace_back(section + "refine-tolerance", section + "refinements = 0");
  return idle;
}

MotionSearch read_search(const KeyTable<MotionSearch>& keys, const Settings& settings,
                         const MotionDescription& description) {
  const std::string section = description.section() + ".";
  const MotionSearch search = keys.read(settings);
  if (!nlp::available(search.options.backend))
    throw settings.error(section + "solver", "this build has no Ipopt; allowed: native");
  if (search.tasks > search.guesses)
    throw settings.error(section + "tasks",
                         "is more than " + section + "initial-guesses = " + std::to_string(search.guesses));
  const int all = description.intervals(), coarse = search.coarse_intervals;
  if (coarse > 0 && (coarse >= all || !description.on_mesh(coarse)))
    throw settings.error(section + "coarse-intervals", "allowed: 0, or from 2 to less than the " + std::to_string(all) +
                                                           " intervals of the motion, so that each phase has a whole "
                                                           "number of them, 2 or more, and contacts are at nodes");
  return search;
}

void SolveTimes::add(const nlp::Solution& solution) {
  ++solves;
  iterations += solution.iterations;
  seconds += solution.seconds;
  timing.functions += solution.timing.functions;
  timing.derivatives += solution.timing.derivatives;
  timing.factorisation += solution.timing.factorisation;
  timing.factorisations += solution.timing.factorisations;
}

std::string times_text(const SolveTimes& times) {
  if (times.solves == 0) return "";
  const nlp::Timing& timing = times.timing;
  std::string text = "time of " + counted(times.solves, "solve") + ", " + counted(times.iterations, "iteration") + "\n";
  const auto line = [&](const char* what, double seconds) {
    text += std::string("  ") + what +
            formatted("%8.3f s  %5.1f %%  %7.3f ms an iteration\n", seconds, 100.0 * seconds / times.seconds,
                      1e3 * seconds / std::max(1, times.iterations));
  };
  if (timing.factorisations > 0) {  // only the native solver measures these times
    line("derivatives   ", timing.derivatives);
    line("factorisation ", timing.factorisation);
    line("line search   ", timing.functions);
    line("rest          ", times.seconds - timing.derivatives - timing.factorisation - timing.functions);
  }
  line("all           ", times.seconds);
  return text;
}

namespace {

// Solves with other touching corners: minimum number of a phase's intervals, maximum number of iterations, and number
// of motions that are solved again on the study's mesh.
constexpr int fewest_intervals = 3, corner_iterations = 150;
constexpr std::size_t corners_refined = 2;

// Optima other than the best one: number that is stored, and number that is tried if the best motion is refused or has
// become too expensive by its refinement.
constexpr std::size_t others_kept = 8;
constexpr int others_tried = 3;
// Relative excess of the refined motion's cost over another optimum from which this optimum is tried.
constexpr double costs_more = 0.01;
// Relative difference below which two costs belong to the same optimum.
constexpr double same_cost = 1e-6;

bool is_solved(const SolvedMotion& m) { return m.solution.status == SolveStatus::solved; }

bool better(const SolvedMotion& a, const SolvedMotion& b) {
  if (is_solved(a) != is_solved(b)) return is_solved(a);
  return is_solved(a) ? a.solution.objective < b.solution.objective
                      : a.solution.residuals.feasibility < b.solution.residuals.feasibility;
}

// Returns x with the controls and planes of another point of the same problem layout.
Eigen::VectorXd controlled(const TranscribedMotion& planned, Eigen::VectorXd x, const Eigen::VectorXd& from) {
  const auto& problem = planned.problem;
  for (int i = 0; i < problem.phases(); ++i) {
    const auto& index = problem.index(i);
    for (int k = 0; k < index.intervals; ++k)
      x.segment(index.control(k), index.degree * index.controls) =
          from.segment(index.control(k), index.degree * index.controls);
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
          farthest = std::max(farthest, std::abs(x(problem.index(i).theta(k) + j)));
  }
  return farthest;
}

class Search {
 public:
  Search(const MotionSearch& settings, std::shared_ptr<const MotionDescription> description, const Task& task,
         const Refusal& refusal, SolveTimes& times)
      : settings_(settings),
        study_(std::move(description)),
        task_(task),
        refusal_(refusal),
        times_(times),
        cold_(settings.options) {
    found_.mesh = study_;
    cold_.push = study_->push_of_cold_start();
    warm_ = refined_ = settings.options;
    warm_.warm_start = refined_.warm_start = true;
    refined_.barrier = study_->barrier_of_refined();
  }

  FoundMotion run() {
    if (task_.part == 0 && !task_.warm_start.empty()) from_neighbour();
    if (settings_.coarse_intervals > 0)
      from_coarse_guesses();
    else
      from_cold_guesses();
    if (found_.solved > 0) bend();
    if (found_.solved > 0) try_corners();
    if (found_.ends[static_cast<int>(SolveStatus::infeasible)] < found_.tried) look();
    if (found_.solved > 0) choose();
    found_.out_of_time = out_of_time();
    return std::move(found_);
  }

 private:
  struct Other {
    SolvedMotion motion;
    int guess = 0;  // as MotionOnMesh::best_guess
    double cost() const { return motion.solution.objective; }
  };

  bool out_of_time() const { return found_.best && task_.seconds_left() == 0.0; }
  const Eigen::VectorXd& design() const { return task_.evaluation.design; }

  // Solves from a path, with smaller bodies first if the description has growth steps. Solves again with new references
  // if attitudes are far from them. Solves again with other touching features if another corner is lower, or other
  // edges are nearer.
  SolvedMotion solve(const MotionDescription& mesh, MotionPath path, nlp::Options options) {
    const double processor_end = nlp::processor_seconds() + options.max_processor_seconds;
    if (path.references.empty()) mesh.refer(path, design());
    std::vector<TouchingFeature> touching = path.touching;
    const int steps = path.controls.empty() ? mesh.grow() : 0;
    SolvedMotion found{mesh.plan(design(), path, steps > 0 ? 1.0 / (steps + 1) : 1.0), {}, 0};
    Eigen::VectorXd x = mesh.start(found.planned, path, settings_.balances);
    // A simulated guess satisfies all rows except the goal. A large barrier parameter would move the iterates away from
    // it: 7 of 10 two-cubes problems then fail.
    if (path.simulated) options.warm_start = true, options.barrier = 1e-4;
    const auto run = [&] {
      dmoc::fix_ignorable(found.planned.problem, x);
      options.max_seconds = std::max(task_.seconds_left(), 1e-3);
      options.max_processor_seconds = std::max(processor_end - nlp::processor_seconds(), 1e-3);
      found.solution = nlp::solve(found.planned.problem.problem(), x, options);
      times_.add(found.solution);
      found.iterations += found.solution.iterations;
      x = found.solution.x;
    };
    const auto again = [&](double size) {
      const MotionPath so_far = mesh.path_of(found.planned.problem, x, design());
      touching = so_far.touching;
      const Eigen::VectorXd before = x;
      found.planned = mesh.plan(design(), so_far, size);
      x = controlled(found.planned, mesh.start(found.planned, so_far), before);
      run();
    };
    run();
    for (int step = 1; step <= steps && x.allFinite(); ++step) again((step + 1.0) / (steps + 1));
    for (int i = 0; i < 4 && is_solved(found); ++i) {
      if (farthest_chart(found.planned.problem, x) < 0.8 * dmoc::chart_limit &&
          mesh.path_of(found.planned.problem, x, design()).touching == touching)
        break;
      options.warm_start = true;
      again(1.0);
    }
    found_.iterations += found.iterations;
    return found;
  }
  SolvedMotion from_guess(const MotionDescription& mesh, int number) {
    return solve(mesh, mesh.initial_guess(design(), task_.evaluation.seed, number), cold_);
  }
  MotionPath path_about_none(const SolvedMotion& motion) const {
    return study_->path_about_none(motion.planned.problem, motion.solution.x);
  }
  // Interpolates a path on another mesh of the same phases.
  static MotionPath resampled(const MotionDescription& mesh, const MotionPath& path) {
    const auto phases = mesh.outline();
    return mapped(path, [&](const dmoc::Sampled& phase, std::size_t i) {
      return dmoc::resampled(mesh.system(), phase, phases[i].intervals);
    });
  }
  SolvedMotion resampled_solution(const MotionDescription& mesh, const SolvedMotion& motion) {
    return solve(mesh, resampled(mesh, path_about_none(motion)), refined_);
  }

  void count(const SolvedMotion& motion) {
    ++found_.tried;
    ++found_.ends[static_cast<int>(motion.solution.status)];
    found_.solved += is_solved(motion);
  }
  void keep(SolvedMotion motion, int guess) {
    const nlp::Solution& s = motion.solution;
    const int guesses = guess == guess_by_corner ? 0 : 1;
    if (is_solved(motion)) add(found_.optima, {s.objective, guesses, s.residuals.max(), coordinates(motion)});
    if (found_.best && !better(motion, *found_.best)) return add_other({std::move(motion), guess});
    if (found_.best) add_other({std::move(*found_.best), found_.best_guess});
    found_.best = std::move(motion);
    found_.best_guess = guess;
  }
  // Keeps a solved motion that is not the best one.
  void add_other(Other other) {
    if (!is_solved(other.motion)) return;
    const double cost = other.cost();
    const auto at = std::ranges::lower_bound(others_, cost, {}, &Other::cost);
    const auto same = [&](const auto& known) { return std::abs(known->cost() - cost) <= same_cost * std::abs(cost); };
    if ((at != others_.end() && same(at)) || (at != others_.begin() && same(std::prev(at)))) return;
    others_.insert(at, std::move(other));
    if (others_.size() > others_kept) others_.pop_back();
  }
  // Returns the coordinates that move, at all knots, without constants that have no meaning.
  Eigen::VectorXd coordinates(const SolvedMotion& motion) const {
    const dmoc::MotionProblem& problem = motion.planned.problem;
    Eigen::VectorXd constant(problem.system().n());
    for (int c = 0; c < constant.size(); ++c) constant(c) = dmoc::ignorable_start(problem, motion.solution.x, c);
    std::vector<double> all;
    for (const Eigen::MatrixXd& q : study_->path_of(problem, motion.solution.x, design()).q)
      for (int c = 0; c < q.cols(); ++c)
        if (moves(problem, c))
          for (const double position : q.col(c)) all.push_back(position - constant(c));
    return Eigen::Map<const Eigen::VectorXd>(all.data(), all.size());
  }
  static bool moves(const dmoc::MotionProblem& problem, int coordinate) {
    for (int i = 0; i < problem.phases(); ++i) {
      const auto& moving = problem.functions(i).moving;
      if (std::ranges::find(moving, coordinate) != moving.end()) return true;
    }
    return false;
  }

  void from_neighbour() {
    const MotionPath path = path_from(*study_, task_.warm_start);
    SolvedMotion motion = solve(*study_, path, warm_);
    // With the multipliers of a neighbour, the solver may fail although the motion is a good guess.
    if (!is_solved(motion)) motion = solve(*study_, path, cold_);
    count(motion);
    keep(std::move(motion), -1);
  }

  // Solves this task's share of the cold starts.
  void from_cold_guesses() {
    for (int number = task_.part; number < settings_.guesses && !out_of_time(); number += settings_.tasks) {
      SolvedMotion motion = from_guess(*study_, number);
      count(motion);
      keep(std::move(motion), number);
    }
  }

  // Solves this task's share of the cold starts on a coarse mesh. The best ones are solved again on the study's mesh,
  // each optimum once.
  void from_coarse_guesses() {
    const auto coarse = study_->on_mesh(settings_.coarse_intervals);
    struct Guess {
      SolvedMotion motion;
      int number;
    };
    std::vector<Guess> guesses;  // the best first
    for (int number = task_.part; number < settings_.guesses && !out_of_time(); number += settings_.tasks) {
      SolvedMotion motion = from_guess(*coarse, number);
      count(motion);
      const auto after =
          std::ranges::find_if(guesses, [&](const Guess& known) { return better(motion, known.motion); });
      guesses.insert(after, {std::move(motion), number});
    }
    int candidates = 0;
    for (std::size_t i = 0; i < guesses.size() && candidates < settings_.candidates && !out_of_time(); ++i) {
      const auto& [motion, number] = guesses[i];
      const double cost = motion.solution.objective;
      if (i > 0 &&
          (!is_solved(motion) || cost - guesses[i - 1].motion.solution.objective <= same_cost * std::abs(cost)))
        continue;
      ++candidates;
      SolvedMotion fine = resampled_solution(*study_, motion);
      if (!is_solved(fine)) fine = from_guess(*study_, number);
      keep(std::move(fine), number);
    }
    if (!found_.optima.empty()) {
      found_.solved = std::max(found_.solved, 1);
    } else if (found_.solved > 0 && found_.best) {  // solved on the coarse mesh only: not a result of the study's mesh
      found_.ends = {};
      found_.ends[static_cast<int>(found_.best->solution.status)] = found_.tried;
      found_.solved = 0;
    }
  }

  // Solves from time warps of the best motion until none gives a better one.
  void bend() {
    for (bool improved = settings_.shifts > 0; improved;) {
      improved = false;
      const MotionPath path = path_about_none(*found_.best);
      for (int i = 0; i < 2 * settings_.shifts && !improved && !out_of_time(); ++i) {
        const double nodes = (i % 2 ? -1.0 : 1.0) * (1 + i / 2);
        const auto warped = [&](const dmoc::Sampled& phase, std::size_t) {
          return dmoc::time_warped(study_->system(), phase, nodes);
        };
        SolvedMotion motion = solve(*study_, mapped(path, warped), refined_);
        improved = is_solved(motion) && motion.solution.objective < (1.0 - 1e-9) * found_.best->solution.objective;
        if (improved) keep(std::move(motion), found_.best_guess);
      }
    }
  }

  // Tries each other corner near the best motion, on the coarsest mesh. The best of these motions are solved again on
  // the study's mesh. Repeats while that finds a better motion.
  void try_corners() {
    for (bool improved = true; improved && !out_of_time();) {
      improved = false;
      const auto coarse = coarsest();
      nlp::Options few = cold_;
      few.max_iterations = std::min(few.max_iterations, corner_iterations);
      std::vector<SolvedMotion> tried;  // the best first
      for (const MotionPath& path : study_->with_other_corners(path_about_none(*found_.best), design())) {
        if (out_of_time()) break;
        SolvedMotion motion = solve(*coarse, resampled(*coarse, path), few);
        if (!is_solved(motion)) continue;
        const auto after =
            std::ranges::find_if(tried, [&](const SolvedMotion& known) { return better(motion, known); });
        tried.insert(after, std::move(motion));
      }
      for (std::size_t i = 0; i < tried.size() && i < corners_refined && !improved && !out_of_time(); ++i) {
        SolvedMotion motion = resampled_solution(*study_, tried[i]);
        improved = is_solved(motion) && motion.solution.objective < (1.0 - 1e-6) * found_.best->solution.objective;
        if (improved) keep(std::move(motion), guess_by_corner);
      }
    }
  }
  // Returns the mesh of fewest intervals on which every phase has at least fewest_intervals; if none, the study's mesh.
  std::shared_ptr<const MotionDescription> coarsest() const {
    for (int count = 1; count < study_->intervals(); ++count) {
      const auto mesh = study_->on_mesh(count);
      if (!mesh) continue;
      const auto phases = mesh->outline();
      if (std::ranges::all_of(phases, [](const PhaseOutline& phase) { return phase.intervals >= fewest_intervals; }))
        return mesh;
    }
    return study_;
  }

  // Sets the trajectory of the best motion, its deviation in a continuous integration, and its clearance.
  void look() {
    if (!found_.best || !found_.best->solution.x.allFinite()) return;
    const dmoc::MotionProblem& problem = found_.best->planned.problem;
    found_.motion = problem.motion(found_.best->solution.x);
    found_.trajectory = read_off(*found_.mesh, design(), *found_.best, found_.motion);
    found_.deviation = drive_continuously(problem.system(), autodiff::values_of(problem.numbers()),
                                          planned_phases(*found_.mesh, found_.trajectory, problem));
    if (const auto& pairs = found_.best->planned.separation.pairs(); !pairs.empty())
      found_.clearance = dmoc::clearance(problem, found_.best->solution.x, pairs);
  }

  MeshResult meshed() const {
    return {found_.best->solution.objective, found_.deviation.tracked,
            found_.clearance.relative_violation > overlap_limit};
  }

  void refine() {
    const auto finer = [&](MeshResult& meshed) -> std::string {
      if (out_of_time()) return "time limit";
      const auto next = found_.mesh->on_mesh(2 * found_.mesh->intervals());
      SolvedMotion motion = resampled_solution(*next, *found_.best);
      if (!is_solved(motion)) return motion.solution.reason;
      found_.best = std::move(motion);
      found_.mesh = next;
      look();
      meshed = this->meshed();
      return "";
    };
    const Refinement done = evaluators::refine(settings_.mesh, meshed(), finer);
    found_.change = done.change;
    if (!done.failure.empty())
      found_.note = "the " + study_->section() + " of " + std::to_string(found_.mesh->intervals()) +
                    " intervals could not be refined: " + done.failure;
  }

  // Refines the best motion. If it is refused, or its refinement costs more than another optimum, tries that one. Keeps
  // the best accepted motion; if none is accepted, the first one.
  void choose() {
    MotionOnMesh chosen;
    bool accepted = false;
    std::string refusals;
    std::vector<double> refused;  // costs on the study's mesh
    for (int tried = 0;; ++tried) {
      const double cost = found_.best->solution.objective;
      refine();
      const std::string reason = refusal_(found_);
      if (!reason.empty()) {
        refused.push_back(cost);
        refusals += formatted("; a %s that costs %.6g was refused: ", study_->section().c_str(), cost) + reason;
      }
      const bool first = tried == 0;
      if (first || (reason.empty() && (!accepted || found_.best->solution.objective < cost_of(chosen))))
        chosen = std::move(static_cast<MotionOnMesh&>(found_));
      accepted = accepted || reason.empty();
      if (others_.empty() || tried == others_tried || task_.seconds_left() == 0.0 ||
          (accepted && others_.front().cost() >= cost_of(chosen) - costs_more * std::abs(cost_of(chosen))))
        break;
      take_other();
    }
    static_cast<MotionOnMesh&>(found_) = std::move(chosen);
    if (!accepted || refused.empty()) return;
    std::erase_if(found_.optima, [&](const Optimum& one) {
      return std::ranges::any_of(refused,
                                 [&](double cost) { return std::abs(one.cost - cost) <= same_cost * std::abs(cost); });
    });
    found_.note += found_.note.empty() ? refusals.substr(2) : refusals;
  }
  static double cost_of(const MotionOnMesh& motion) { return motion.best->solution.objective; }
  // Makes the next of the other optima the best motion.
  void take_other() {
    static_cast<MotionOnMesh&>(found_) = {};
    found_.mesh = study_;
    found_.best = std::move(others_.front().motion);
    found_.best_guess = others_.front().guess;
    others_.erase(others_.begin());
    look();
  }

  const MotionSearch& settings_;
  const std::shared_ptr<const MotionDescription> study_;
  const Task& task_;
  const Refusal& refusal_;
  SolveTimes& times_;
  nlp::Options cold_, warm_, refined_;
  FoundMotion found_;
  std::vector<Other> others_;  // solved motions but the best, by cost
};

}  // namespace

FoundMotion search_motion(const MotionSearch& search, std::shared_ptr<const MotionDescription> description,
                          const Task& task, const Refusal& refusal, SolveTimes& times) {
  return Search(search, std::move(description), task, refusal, times).run();
}

}  // namespace dodyn::evaluators
