// The gait battery: seeded gait problems. The native solver and Ipopt (exact Hessian, MUMPS) solve each problem in the
// same run, with the same derivative callbacks. A problem with a cold start is also solved by the search of a study
// with gait.coarse-intervals = 40, gait.initial-guesses = 10, gait.refine-count = 10, gait.shifts = 1. The native
// solver makes ten cold starts on half of the intervals. Each optimum is refined to all intervals. The best one is
// shifted in time by one node as long as that lowers the cost. The first start of the search has the seed of the single
// cold start.
//
//   build/release/bench/gait_battery rows.txt [problems [kind]]      default: 200 problems of all six kinds
//
// Problem i is of kind i mod 6. Its knee lies between 0.35 and 0.75 m, and its start is drawn from the seed i. Every
// fourth round is warm: it starts from the solution and the multipliers of the design with the knee 5 mm lower. Each
// problem adds one line to rows.txt. Problems that rows.txt already has are not solved again, so the battery can run in
// several calls. The summary goes to standard output. Times are processor times of the thread. Costs within 1e-6
// (relative) count as equal. From one start, two solvers may end in two local optima. Ipopt uses its default scaling.
// Scaling the objective by hand shortens Ipopt's times, so these times are an upper bound.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "battery_gaits.hpp"
#include "dmoc/resample.hpp"
#include "measure.hpp"
#include "nlp/solve.hpp"

namespace {

using namespace dodyn;
using bench::cpu_seconds, bench::median, bench::battery_gait;
using Gait = dmoc::WalkerGait;

struct Result {
  int status = -1, iterations = 0;  // -1: not asked for
  double cost = 0.0, residual = 0.0, milliseconds = 0.0;
  bool solved() const { return status == static_cast<int>(nlp::SolveStatus::solved); }
};

Result result(const nlp::Solution& s, int iterations, double begin) {
  return {static_cast<int>(s.status), iterations, s.objective, s.residuals.max(), 1e3 * (cpu_seconds() - begin)};
}

template <class Start>
Result solve(nlp::Backend backend, const Gait& problem, const Start& start) {
  nlp::Options options;
  options.backend = backend;
  options.max_seconds = 600.0;
  options.barrier = dmoc::barrier_of_neighbour;  // for warm starts
  options.push = dmoc::push_of_cold_start;       // for cold starts
  const double begin = cpu_seconds();
  const nlp::Solution s = nlp::solve(problem.problem(), start, options);
  return result(s, s.iterations, begin);
}

Result search(const Gait& problem, const Gait& coarse, std::uint64_t seed) {
  const auto better = [](const nlp::Solution& a, const nlp::Solution& b) {
    return a.status == nlp::SolveStatus::solved &&
           (b.status != nlp::SolveStatus::solved || a.objective < (1.0 - 1e-9) * b.objective);
  };
  const double begin = cpu_seconds();
  int iterations = 0;
  nlp::Solution found;
  nlp::Options cold, warm;
  cold.push = dmoc::push_of_cold_start;
  warm.warm_start = true;
  warm.barrier = dmoc::barrier_of_refined;
  const auto attempt = [&](const Eigen::VectorXd& start) {
    nlp::Solution s = nlp::solve(problem.problem(), start, warm);
    iterations += s.iterations;
    if (!better(s, found)) return false;
    found = std::move(s);
    return true;
  };
  const dmoc::System& system = *problem.walker().system;
  const auto from = [&](const dmoc::Sampled& motion) { return problem.warm_start(motion.q, motion.u); };
  std::vector<nlp::Solution> gaits;
  for (std::uint64_t start = 0; start < 10; ++start) {
    gaits.push_back(nlp::solve(coarse.problem(), coarse.cold_start(seed + start), cold));
    iterations += gaits.back().iterations;
    if (gaits.back().status != nlp::SolveStatus::solved) gaits.pop_back();
  }
  std::sort(gaits.begin(), gaits.end(), [](const auto& a, const auto& b) { return a.objective < b.objective; });
  for (std::size_t i = 0; i < gaits.size(); ++i)
    if (i == 0 || gaits[i].objective - gaits[i - 1].objective > 1e-6 * std::abs(gaits[i].objective)) {
      const dmoc::GaitMotion motion = coarse.motion(gaits[i].x);
      attempt(from(dmoc::resampled(system, {motion.q, motion.u}, problem.index().intervals)));
    }
  for (bool improved = found.status == nlp::SolveStatus::solved; improved;) {
    const dmoc::GaitMotion motion = problem.motion(found.x);
    const auto warped = [&](double nodes) {
      return attempt(from(dmoc::time_warped(system, {motion.q, motion.u}, nodes)));
    };
    improved = warped(1.0) || warped(-1.0);
  }
  return result(found, iterations, begin);
}

struct Row {
  int problem, kind;
  bool warm;
  double shank;
  Result native, ipopt, searched;
};

template <class R, class Visitor>
void for_each_result(R& row, Visitor visit) {
  for (auto* r : {&row.native, &row.ipopt, &row.searched}) visit(*r);
}

Row solve(int problem_number) {
  const int kind = problem_number % bench::gait_kinds;
  std::mt19937_64 random(static_cast<std::uint64_t>(problem_number));
  const double shank = 0.35 + 0.4 * static_cast<double>(random() >> 11) * 0x1.0p-53;
  const std::uint64_t seed = random();
  Row row{problem_number, kind, problem_number / bench::gait_kinds % 4 == 3, shank, {}, {}, {}};
  const Gait problem = battery_gait(kind, shank);
  if (row.warm) {
    const Gait lower = battery_gait(kind, shank - 0.005);
    nlp::Solution neighbour;
    for (std::uint64_t k = 0; k < 5 && neighbour.status != nlp::SolveStatus::solved; ++k)
      neighbour = nlp::solve(lower.problem(), lower.cold_start(seed + k));
    row.native = solve(nlp::Backend::native, problem, neighbour);
    row.ipopt = solve(nlp::Backend::ipopt, problem, neighbour);
  } else {
    row.native = solve(nlp::Backend::native, problem, problem.cold_start(seed));
    row.ipopt = solve(nlp::Backend::ipopt, problem, problem.cold_start(seed));
    row.searched = search(problem, battery_gait(kind, shank, 40), seed);
  }
  return row;
}

// Prints one line of the table: `ours` next to Ipopt.
void summarise(const std::string& name, const std::vector<Row>& rows, Result Row::*ours) {
  std::vector<double> our_ms, their_ms, our_iterations, their_iterations, ratio;
  int n = 0, solved = 0, ipopt = 0, same = 0, better = 0;
  double slowest = 0.0;
  for (const Row& row : rows) {
    const Result &a = row.*ours, &b = row.ipopt;
    if (a.status < 0) continue;
    ++n;
    solved += a.solved();
    ipopt += b.solved();
    if (a.solved()) slowest = std::max(slowest, a.milliseconds);
    if (!a.solved() || !b.solved()) continue;
    our_ms.push_back(a.milliseconds);
    their_ms.push_back(b.milliseconds);
    our_iterations.push_back(a.iterations);
    their_iterations.push_back(b.iterations);
    ratio.push_back(b.milliseconds / a.milliseconds);
    const double margin = 1e-6 * std::abs(b.cost);
    same += std::abs(a.cost - b.cost) <= margin;
    better += a.cost < b.cost - margin;
  }
  if (n == 0) return;
  const int both = ratio.size();
  std::printf(
      "| %-35s | %3d | %3d / %3d | %3d / %3d / %3d | %3.0f %% | %4.0f / %4.0f | %6.1f / %6.1f | %5.1f | %5.1f | %6.1f "
      "|\n",
      name.c_str(), n, solved, ipopt, better, same, both - better - same, 100.0 * (better + same) / both,
      median(our_iterations), median(their_iterations), median(our_ms), median(their_ms),
      median(their_ms) / median(our_ms), median(ratio), slowest);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "gait_battery ROWS.txt [problems [kind]]\n");
    return 2;
  }
  const int problems = argc > 2 ? std::atoi(argv[2]) : 200, only = argc > 3 ? std::atoi(argv[3]) : -1;
  std::map<int, Row> rows;
  {
    std::ifstream in(argv[1]);
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      Row row{};
      words >> row.problem >> row.kind >> row.warm >> row.shank;
      for_each_result(row,
                      [&](Result& r) { words >> r.status >> r.cost >> r.residual >> r.iterations >> r.milliseconds; });
      if (words) rows[row.problem] = row;
    }
  }
  std::ofstream out(argv[1], std::ios::app);
  out.precision(12);
  for (int i = 0; i < problems; ++i) {
    if (rows.contains(i) || (only >= 0 && i % bench::gait_kinds != only)) continue;
    Row row = rows[i] = solve(i);
    out << row.problem << ' ' << row.kind << ' ' << row.warm << ' ' << row.shank;
    for_each_result(row, [&](const Result& r) {
      out << "  " << r.status << ' ' << r.cost << ' ' << r.residual << ' ' << r.iterations << ' ' << r.milliseconds;
    });
    out << std::endl;
  }
  std::printf(
      "| problems (ours / Ipopt) | n | solved | cost better / same / worse | same or better | median iterations | "
      "median "
      "ms | ratio of medians | median ratio | slowest of ours, ms |\n|---|---|---|---|---|---|---|---|---|---|\n");
  const auto table = [&](const char* what, bool warm, Result Row::*ours) {
    std::vector<Row> all;
    for (int kind = 0; kind < bench::gait_kinds; ++kind) {
      std::vector<Row> some;
      for (const auto& [i, row] : rows)
        if (row.kind == kind && row.warm == warm) some.push_back(row);
      all.insert(all.end(), some.begin(), some.end());
      summarise(std::string(bench::gait_kind_names[kind]) + what, some, ours);
    }
    summarise(std::string("all") + what, all, ours);
  };
  table(", cold", false, &Row::native);
  table(", search", false, &Row::searched);
  table(", warm", true, &Row::native);
}
