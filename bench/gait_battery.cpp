// The gait battery: seeded gait problems, each solved by the native solver and by Ipopt (exact Hessian, MUMPS) with the
// same derivative callbacks in the same run.
//
//   build/release/bench/gait_battery [problems [kind]]      default: 200 problems of all four kinds
//
// Problem i is of kind i mod 4, its knee between 0.35 and 0.75 m and its start drawn from the seed i; every fourth
// round is warm: it starts from the solution (multipliers included) of the design whose knee sits 5 mm lower. One line
// per problem on standard output, then the summary. Times are of the thread's processor clock. A cost within 1e-6
// (relative) is the same; from one start two solvers may well end in two local optima.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "control/gait.hpp"
#include "models/planar_biped.hpp"
#include "nlp/solve.hpp"

namespace {

using namespace dodyn;
using Biped = models::PlanarBiped<control::Coefficient>;
using Gait = control::Gait<models::PlanarBiped>;

constexpr int kinds = 4;
const char* kind_names[kinds] = {"squared torque", "squared torque, knee stops", "bounded work",
                                 "bounded work, knee stops"};

Gait gait(int kind, double shank) {
  control::GaitSettings s;  // 80 intervals, squared torque
  if (kind >= 2) {
    s.absolute_work = 1.0;
    s.squared_torque = 0.02;
    s.torque_limit = 20.0;
    s.friction = 0.8;
  }
  s.knee_stops = kind % 2 == 1;
  return Gait(Biped::with_masses(shank, 1.0, {2.0, 3.0, 3.0, 2.0}), s);
}

double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct Result {
  nlp::Solution solution;
  double milliseconds = 0.0;
  bool solved() const { return solution.status == nlp::SolveStatus::solved; }
};

template <class Start>
Result solve(nlp::Backend backend, const Gait& problem, const Start& start) {
  nlp::Options options;
  options.backend = backend;
  options.max_iterations = 1000;
  Result r;
  const double begin = cpu_seconds();
  r.solution = nlp::solve(problem.problem(), start, options);
  r.milliseconds = 1e3 * (cpu_seconds() - begin);
  return r;
}

struct Pair {
  int kind;
  bool warm;
  Result native, ipopt;
};

double median(std::vector<double> v) {
  if (v.empty()) return std::nan("");
  std::sort(v.begin(), v.end());
  return 0.5 * (v[(v.size() - 1) / 2] + v[v.size() / 2]);
}

template <class Of>
double median_of(const std::vector<Pair>& pairs, Of of) {
  std::vector<double> v;
  for (const Pair& p : pairs)
    if (p.native.solved() && p.ipopt.solved()) v.push_back(of(p));
  return median(v);
}

void summarise(const std::string& name, const std::vector<Pair>& pairs) {
  if (pairs.empty()) return;
  int native = 0, ipopt = 0, both = 0, same = 0, better = 0;
  double slowest = 0.0;
  for (const Pair& p : pairs) {
    native += p.native.solved();
    ipopt += p.ipopt.solved();
    if (p.native.solved()) slowest = std::max(slowest, p.native.milliseconds);
    if (!p.native.solved() || !p.ipopt.solved()) continue;
    ++both;
    const double a = p.native.solution.objective, b = p.ipopt.solution.objective, margin = 1e-6 * std::abs(b);
    same += std::abs(a - b) <= margin;
    better += a < b - margin;
  }
  const double a = median_of(pairs, [](const Pair&p) { return p.native.milliseconds; }),
               b = median_of(pairs, [](const Pair&p) { return p.ipopt.milliseconds; });
  std::printf(
      "| %-32s | %3zu | %3d / %3d | %3d / %3d / %3d | %4.0f / %4.0f | %6.1f / %6.1f | %5.1f | %5.1f | %6.1f |\n",
      name.c_str(), pairs.size(), native, ipopt, better, same, both - better - same,
      median_of(pairs, [](const Pair& p) { return static_cast<double>(p.native.solution.iterations); }),
      median_of(pairs, [](const Pair& p) { return static_cast<double>(p.ipopt.solution.iterations); }), a, b, b / a,
      median_of(pairs, [](const Pair& p) { return p.ipopt.milliseconds / p.native.milliseconds; }), slowest);
}

}  // namespace

int main(int argc, char** argv) {
  const int problems = argc > 1 ? std::atoi(argv[1]) : 200, only = argc > 2 ? std::atoi(argv[2]) : -1;
  std::vector<Pair> pairs;
  for (int i = 0; i < problems; ++i) {
    const int kind = i % kinds;
    if (only >= 0 && kind != only) continue;
    std::mt19937_64 random(static_cast<std::uint64_t>(i));
    const double shank = 0.35 + 0.4 * static_cast<double>(random() >> 11) * 0x1.0p-53;
    const std::uint64_t seed = random();
    Pair p{kind, i / kinds % 4 == 3, {}, {}};
    const Gait problem = gait(kind, shank);
    if (p.warm) {
      const Gait lower = gait(kind, shank - 0.005);
      Result neighbour;
      for (std::uint64_t k = 0; k < 5 && !neighbour.solved(); ++k)
        neighbour = solve(nlp::Backend::native, lower, lower.cold_start(seed + k));
      p.native = solve(nlp::Backend::native, problem, neighbour.solution);
      p.ipopt = solve(nlp::Backend::ipopt, problem, neighbour.solution);
    } else {
      p.native = solve(nlp::Backend::native, problem, problem.cold_start(seed));
      p.ipopt = solve(nlp::Backend::ipopt, problem, problem.cold_start(seed));
    }
    std::printf("%3d %-26s %s L1 %.4f", i, kind_names[kind], p.warm ? "warm" : "cold", shank);
    for (const Result* r : {&p.native, &p.ipopt})
      std::printf(" | status %d cost %.8f KKT %.1e it %4d %7.1f ms", static_cast<int>(r->solution.status),
                  r->solution.objective, r->solution.residuals.largest(), r->solution.iterations, r->milliseconds);
    std::printf("\n");
    std::fflush(stdout);
    pairs.push_back(std::move(p));
  }
  std::printf(
      "\n| problems (native / Ipopt) | n | solved | cost better / same / worse | median iterations | median ms | ratio "
      "of "
      "medians | median ratio | slowest native ms |\n|---|---|---|---|---|---|---|---|---|\n");
  for (const bool warm : {false, true})
    for (int kind = 0; kind < kinds; ++kind) {
      std::vector<Pair> some;
      for (const Pair& p : pairs)
        if (p.kind == kind && p.warm == warm) some.push_back(p);
      summarise(std::string(kind_names[kind]) + (warm ? ", warm" : ", cold"), some);
    }
  summarise("all", pairs);
}
