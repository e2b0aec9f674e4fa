#include "evaluators/gait/search.hpp"

#include <algorithm>
#include <cmath>

#include "record/random.hpp"

namespace dodyn::evaluators {

void SolveTimes::add(const nlp::Solution& solution) {
  ++solves;
  iterations += solution.iterations;
  seconds += solution.seconds;
  timing.functions += solution.timing.functions;
  timing.derivatives += solution.timing.derivatives;
  timing.factorisation += solution.timing.factorisation;
  timing.factorisations += solution.timing.factorisations;
}

namespace {

using nlp::SolveStatus;

// Joint coordinates of all nodes.
Eigen::VectorXd joints(const dmoc::WalkerGait& problem, const Eigen::VectorXd& x) {
  const int each = problem.walker().joints, nodes = problem.index().intervals + 1;
  Eigen::VectorXd theta(each * nodes);
  for (int k = 0; k < nodes; ++k) theta.segment(each * k, each) = x.segment(problem.index().theta(k), each);
  return theta;
}

bool is_solved(const nlp::Solution& s) { return s.status == SolveStatus::solved; }

bool better(const nlp::Solution& a, const nlp::Solution& b) {
  if (is_solved(a) != is_solved(b)) return is_solved(a);
  return is_solved(a) ? a.objective < b.objective : a.residuals.feasibility < b.residuals.feasibility;
}

// From touch-down to touch-down.
Departure departure_of(const dmoc::WalkerGait& problem, const Eigen::VectorXd& x) {
  const dmoc::GaitMotion m = problem.motion(x);
  const PlannedPhase step{problem.walker().feet(), m.t(1) - m.t(0), m.q, m.p, m.u};
  return drive_continuously(*problem.walker().system, autodiff::values_of(problem.numbers()), {step});
}

class Run {
 public:
  Run(const GaitSearch& search, int intervals, const std::function<dmoc::WalkerGait(int)>& problem_of, const Task& task,
      SolveTimes& times)
      : search_(search), problem_of_(problem_of), task_(task), times_(times), problem_(problem_of(intervals)) {
    found_.intervals = intervals;
    refined_ = search.options;
    refined_.warm_start = true;
    refined_.barrier = dmoc::barrier_of_refined;
    // In space such starts need twice the iterations and missed the spatial biped's best gait at a knee of 0.4 m.
    cold_ = search.options;
    if (problem_.walker().base == 2) cold_.push = dmoc::push_of_cold_start;
  }

  GaitFound run() {
    if (task_.part == 0 && !task_.warm_start.empty()) from_neighbour();
    if (search_.coarse_intervals > 0)
      from_coarse_starts();
    else
      from_cold_starts();
    if (found_.solved > 0) bend();
    if (found_.best && found_.best->x.allFinite()) found_.departure = departure_of(problem_, found_.best->x);
    if (found_.solved > 0) refine();
    found_.out_of_time = out_of_time();
    return std::move(found_);
  }

 private:
  bool out_of_time() const { return found_.best && task_.seconds_left() == 0.0; }

  // One solve, within the time that is left.
  nlp::Solution solve(const dmoc::WalkerGait& on, const Eigen::VectorXd& x0, const nlp::Options& options) {
    nlp::Options limited = options;
    limited.max_seconds = std::min(options.max_seconds, std::max(task_.seconds_left(), 1e-3));
    nlp::Solution solution = nlp::solve(on.problem(), x0, limited);
    times_.add(solution);
    found_.iterations += solution.iterations;
    return solution;
  }
  Eigen::VectorXd cold(const dmoc::WalkerGait& on, int start) const {
    return on.cold_start(splitmix64(task_.evaluation.seed + 0x9e3779b97f4a7c15ULL * static_cast<std::uint64_t>(start)));
  }
  void count(const nlp::Solution& solution) {
    ++found_.tried;
    ++found_.ends[static_cast<std::size_t>(solution.status)];
    found_.solved += is_solved(solution);
  }
  void keep(nlp::Solution solution, int start) {
    if (is_solved(solution))
      add(found_.optima, {solution.objective, 1, solution.residuals.largest(), joints(problem_, solution.x)});
    if (found_.best && !better(solution, *found_.best)) return;
    found_.best = std::move(solution);
    found_.best_start = start;
  }

  void from_neighbour() {
    const Eigen::VectorXd x0 = problem_.warm_start(task_.warm_start.values[1], task_.warm_start.values[3]);
    nlp::Options warm = search_.options;
    warm.warm_start = true;
    nlp::Solution solution = solve(problem_, x0, warm);
    // multipliers of a neighbour may lead astray where its gait does not
    if (!is_solved(solution)) solution = solve(problem_, x0, cold_);
    count(solution);
    keep(std::move(solution), -1);
  }

  // This part's share of the cold starts.
  void from_cold_starts() {
    for (int start = task_.part; start < search_.cold && !out_of_time(); start += search_.parts) {
      nlp::Solution solution = solve(problem_, cold(problem_, start), cold_);
      count(solution);
      keep(std::move(solution), start);
    }
  }

  // The same on a coarse mesh; of its gaits the best ones come to the mesh of the study, each optimum once.
  void from_coarse_starts() {
    const dmoc::WalkerGait coarse = problem_of_(search_.coarse_intervals);
    struct Start {
      nlp::Solution solution;
      int number;
    };
    std::vector<Start> starts;  // the best first
    for (int number = task_.part; number < search_.cold && !(found_.best && task_.seconds_left() == 0.0);
         number += search_.parts) {
      nlp::Solution solution = solve(coarse, cold(coarse, number), cold_);
      count(solution);
      const auto after = std::find_if(starts.begin(), starts.end(),
                                      [&](const Start& known) { return better(solution, known.solution); });
      starts.insert(after, {std::move(solution), number});
    }
    int candidates = 0;
    for (std::size_t i = 0; i < starts.size() && candidates < search_.candidates && !out_of_time(); ++i) {
      const auto& [gait, number] = starts[i];
      if (i > 0 &&
          (!is_solved(gait) || gait.objective - starts[i - 1].solution.objective <= 1e-6 * std::abs(gait.objective)))
        continue;
      ++candidates;
      nlp::Solution solution = solve(problem_, problem_.refined(coarse.motion(gait.x)), refined_);
      if (!is_solved(solution)) solution = solve(problem_, cold(problem_, number), cold_);
      keep(std::move(solution), number);
    }
    if (!found_.optima.empty()) {
      found_.solved = std::max(found_.solved, 1);
    } else if (found_.solved > 0 && found_.best) {  // none of them is a gait of the study's mesh
      found_.ends = {};
      found_.ends[static_cast<std::size_t>(found_.best->status)] = found_.tried;
      found_.solved = 0;
    }
  }

  // The best gait time-warped, for as long as that finds a better one: see WalkerGait::shifted.
  void bend() {
    for (bool improved = search_.shifts > 0; improved;) {
      improved = false;
      const dmoc::GaitMotion motion = problem_.motion(found_.best->x);
      for (int i = 0; i < 2 * search_.shifts && !improved && !out_of_time(); ++i) {
        const double nodes = (i % 2 ? -1.0 : 1.0) * (1 + i / 2);
        nlp::Solution solution = solve(problem_, problem_.shifted(motion, nodes), refined_);
        improved = is_solved(solution) && solution.objective < (1.0 - 1e-9) * found_.best->objective;
        if (improved) keep(std::move(solution), found_.best_start);
      }
    }
  }

  void refine() {
    const auto finer = [&](Meshed& gait) -> std::string {
      if (out_of_time()) return "time limit";
      const dmoc::WalkerGait now = problem_of_(2 * found_.intervals), before = problem_of_(found_.intervals);
      nlp::Solution solution = solve(now, now.refined(before.motion(found_.best->x)), refined_);
      if (!is_solved(solution)) return solution.reason;
      found_.best = std::move(solution);
      found_.intervals *= 2;
      found_.departure = departure_of(now, found_.best->x);
      gait = {found_.best->objective, found_.departure.tracked};
      return "";
    };
    const Refinement done = evaluators::refine(search_.mesh, {found_.best->objective, found_.departure.tracked}, finer);
    found_.change = done.change;
    if (!done.failure.empty())
      found_.note =
          "the gait of " + std::to_string(found_.intervals) + " intervals could not be refined: " + done.failure;
  }

  const GaitSearch& search_;
  const std::function<dmoc::WalkerGait(int)>& problem_of_;
  const Task& task_;
  SolveTimes& times_;
  dmoc::WalkerGait problem_;
  nlp::Options cold_, refined_;
  GaitFound found_;
};

}  // namespace

GaitFound search_gait(const GaitSearch& search, int intervals, const std::function<dmoc::WalkerGait(int)>& problem_of,
                      const Task& task, SolveTimes& times) {
  return Run(search, intervals, problem_of, task, times).run();
}

}  // namespace dodyn::evaluators
