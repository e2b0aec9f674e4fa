// Tests searches on typical difficulties: plateaus, failures, many minima, two objectives, and the time of the stop.
//
//   build:  cmake --preset release -DDODYN_BENCH=ON && cmake --build --preset release --target surrogate_benchmark_stops
//   run:    surrogate_benchmark_stops [--seeds 10] [--first-seed 0] [--only TEXT] [--strategy auto] [--gradient]
//           [--aside] [--budget N] [--tolerance X] [--noise SHARE [--errors]]
//           [--ranks N [--synchronous] [--seconds 1] [--equal]] [--csv FILE] [--verbose] [--list | --serve]
//
// Every strategy runs with the defaults and the stop rule of `dodyn run`. Only the seed is set, and gradients or
// constraints if a problem has them. Each seed is another instance: it determines the strategy's seed and the place of
// the feature (the bump, the disc, the edge of failure). Solved: within 1 % of the known minimum (0.1 % of the
// function's median over its box if the minimum is 0). A wrong stop: the strategy ended by its own rule, before the
// budget, without a solution. With two objectives the result is the hypervolume to (1.1, 1.1), as a share of that of
// the true front, at half of the budget and at its end. --aside runs the functions on which nothing was tuned.
//
// --noise adds errors to the costs of functions without noise; their standard deviation is this share of the difference
// between the median of the function and its minimum. With --errors each cost carries it. Solved: the true cost of the
// recommended design is above the minimum by at most half the standard deviation, the default of surrogate.indifference.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "measure.hpp"
#include "search_functions.hpp"
#include "surrogate/strategy_options.hpp"

namespace {

using namespace dodyn::bench;
using dodyn::Evaluation;
using dodyn::Status;
using namespace dodyn::surrogate;
using Eigen::VectorXd;

bool verbose = false;  // prints a line for each tell()
double tolerance = EgoOptions().tolerance;
double noise_share = 0;   // of the difference between median and minimum
bool has_errors = false;  // the costs carry their standard errors

double dominated(std::vector<Eigen::Vector2d> points) {
  std::sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a(0) < b(0); });
  double area = 0, below = 1.1;
  for (const auto& p : points) {
    if (p(0) >= 1.1 || p(1) >= below) continue;
    area += (1.1 - p(0)) * (below - p(1));
    below = p(1);
  }
  return area;
}

// Evaluates a design as a study does.
Evaluation evaluated(const Problem& p, const VectorXd& x, std::int64_t id, bool gradient, Random& noise) {
  Evaluation e;
  e.design = x;
  e.id = id;
  if (p.fails && p.fails(x)) {
    e.status = Status::failed;
    e.reason = "fails there";
    return e;
  }
  e.status = Status::ok;
  e.cost = p.f(x) + (p.noise > 0 ? p.noise * noise.normal() : 0);
  if (has_errors) e.cost_stderr = p.noise;
  e.metrics.resize(p.metrics.size());
  for (std::size_t k = 0; k < p.metrics.size(); ++k) e.metrics(k) = p.metrics[k](x);
  if (!gradient) return e;
  e.gradient.resize(x.size());
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    VectorXd up = x, down = x;
    const double h = 1e-6 * (p.box[i].upper - p.box[i].lower);
    up(i) += h, down(i) -= h;
    e.gradient(i) = (p.f(up) - p.f(down)) / (2 * h);
  }
  return e;
}

// Whether a design evaluates and satisfies the constraints. With two objectives the metric is no constraint.
bool is_usable(const Problem& p, const Evaluation& e) {
  return e.ok() && (p.two_objectives || e.metrics.size() == 0 || e.metrics.maxCoeff() <= 0);
}

bool solves(const Problem& p, const Evaluation& e, double allowed) {
  return is_usable(p, e) && e.cost - p.minimum <= allowed;
}

struct Run {
  int evaluations = 0, reached = 0;  // total; number at the solution, 0: not solved
  int unusable = 0;                  // evaluations that fail or violate a constraint
  bool stopped = false;
  double half = 0, full = 0;        // hypervolume
  double slowest = 0, seconds = 0;  // processor time of the slowest ask(), of all
  std::string reason;
  double reached_at = 0, ended_at = 0;  // simulated time, s
};

// Prints the latest evaluation and the strategy's note.
void print(const Run& run, const Evaluation& e, const Strategy& strategy) {
  std::printf("%3d %-60s", run.evaluations, (e.ok() ? std::to_string(e.cost) : "fails").c_str());
  for (const double v : e.design) std::printf(" %.4f", v);
  std::printf("  | %s\n", strategy.describe(0).note.c_str());
}

StrategyOptions options(const Problem& p, const std::string& strategy_name, bool gradient, std::uint64_t seed) {
  StrategyOptions choice;
  choice.name = strategy_name;
  choice.ego.seed = choice.mesh_search.seed = choice.nlopt.seed = seed;
  choice.ego.gradient = choice.mesh_search.gradient = choice.spline.gradient = gradient;
  choice.ego.domains = p.domains;
  choice.ego.noise = p.noise > 0 && !has_errors;
  choice.ego.tolerance = tolerance;
  if (p.two_objectives)
    choice.ego.objectives = {-1, 0};
  else
    for (std::size_t k = 0; k < p.metrics.size(); ++k)
      choice.ego.constraints.push_back({"g" + std::to_string(k), static_cast<int>(k), 0, true});
  return choice;
}

Run run(const Problem& p, const std::string& strategy_name, bool gradient, std::uint64_t seed) {
  const StrategyOptions choice = options(p, strategy_name, gradient, seed);
  const auto strategy = dodyn::surrogate::make_strategy(choice, p.box);
  const double allowed = noise_share > 0 ? 0.5 * p.noise : allowance(p);
  Random noise(5000 + seed);
  Run out;
  std::vector<Eigen::Vector2d> points;
  Evaluation last;
  while (out.evaluations < p.budget) {
    const std::clock_t from = std::clock();
    const bool ended = !strategy->stopped().empty();
    const auto designs = ended ? std::vector<VectorXd>() : strategy->ask(8);  // study.batch
    const double seconds = static_cast<double>(std::clock() - from) / CLOCKS_PER_SEC;
    out.slowest = std::max(out.slowest, seconds), out.seconds += seconds;
    if (designs.empty()) {
      out.stopped = true;
      out.reason = strategy->stopped();
      break;
    }
    for (const VectorXd& x : designs) {
      if (out.evaluations >= p.budget) break;
      const Evaluation e = evaluated(p, x, out.evaluations++, gradient, noise);
      out.unusable += !is_usable(p, e);
      if (p.two_objectives) {
        points.push_back({e.cost, e.metrics(0)});
        if (out.evaluations == p.budget / 2) out.half = dominated(points) / p.whole;
      } else if (!out.reached && p.noise == 0 && solves(p, e, allowed)) {
        out.reached = out.evaluations;
      }
      strategy->tell(last = e);
    }
    const std::clock_t begin = std::clock();
    strategy->decide();
    const double decided = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    out.slowest = std::max(out.slowest, decided), out.seconds += decided;
    if (p.noise > 0 && out.evaluations >= 10) {  // checks the design that the strategy would recommend now
      const auto now = strategy->describe(0);
      const bool good = now.recommended.size() > 0 && p.f(now.recommended) - p.minimum <= allowed;
      out.reached = !good ? 0 : out.reached ? out.reached : out.evaluations;  // the recommendation must stay good
    }
    if (verbose) print(out, last, *strategy);
  }
  if (p.two_objectives) out.full = dominated(points) / p.whole;
  return out;
}

// Ranks of a simulated study.
struct Ranks {
  std::size_t count = 0;  // 0: no simulation of ranks
  bool asynchronous = true;
  double seconds = 1;  // mean duration of an evaluation
  bool equal = false;  // equal durations; otherwise log-normal, with the mean as standard deviation
};

double duration(const Ranks& ranks, Random& random) {
  const double variance = std::log(2.0);
  return ranks.seconds * (ranks.equal ? 1 : std::exp(std::sqrt(variance) * random.normal() - 0.5 * variance));
}

// Runs the same on simulated ranks, as Study::run does. The clock counts the durations of the evaluations and the
// processor time of the strategy, since rank 0 receives one result after the other. A synchronous batch has one design
// for each rank.
Run run_on_ranks(const Problem& p, const std::string& strategy_name, bool gradient, std::uint64_t seed,
                 const Ranks& ranks) {
  StrategyOptions choice = options(p, strategy_name, gradient, seed);
  if (!ranks.asynchronous) choice.ego.batch = ranks.count;
  const auto strategy = dodyn::surrogate::make_strategy(choice, p.box);
  const double allowed = allowance(p);
  Random noise(5000 + seed), durations(9000 + seed);
  Run out;
  std::multimap<double, Evaluation> running;  // by end time
  double now = 0;
  int asked = 0;
  const auto timed = [&](auto&& step) {
    const std::clock_t from = std::clock();
    step();
    const double seconds = static_cast<double>(std::clock() - from) / CLOCKS_PER_SEC;
    now += seconds, out.seconds += seconds, out.slowest = std::max(out.slowest, seconds);
  };
  while (out.evaluations < p.budget) {
    while (running.size() < ranks.count && asked < p.budget && strategy->stopped().empty()) {
      std::vector<VectorXd> designs;
      const auto most = std::min(ranks.count - running.size(), std::size_t(p.budget - asked));
      timed([&] { designs = strategy->ask(most); });
      for (const VectorXd& x : designs)
        running.emplace(now + duration(ranks, durations), evaluated(p, x, asked++, gradient, noise));
      if (designs.empty() || !ranks.asynchronous) break;
    }
    if (running.empty()) {
      out.stopped = true;
      out.reason = strategy->stopped();
      break;
    }
    std::map<std::int64_t, Evaluation> results;  // by id
    do {
      const auto& [end, e] = *running.begin();
      now = std::max(now, end);
      ++out.evaluations;
      out.unusable += !is_usable(p, e);
      if (!out.reached && solves(p, e, allowed)) out.reached = out.evaluations, out.reached_at = now;
      results[e.id] = e;
      running.erase(running.begin());
    } while (!ranks.asynchronous && !running.empty());
    timed([&] {
      for (const auto& [id, e] : results) strategy->tell(e);
      strategy->decide();
    });
    if (verbose) print(out, results.rbegin()->second, *strategy);
  }
  out.ended_at = now;
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  int seeds = 10, first_seed = 0, budget = 0;
  Ranks ranks;
  std::string only, strategy = "auto", csv;
  bool gradient = false, aside = false, serves = false, lists = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] { return std::string(i + 1 < argc ? argv[++i] : ""); };
    if (word == "--seeds") {
      seeds = std::atoi(value().c_str());
    } else if (word == "--first-seed") {
      first_seed = std::atoi(value().c_str());
    } else if (word == "--budget") {  // instead of each function's own
      budget = std::atoi(value().c_str());
    } else if (word == "--tolerance") {  // surrogate.tolerance
      tolerance = std::atof(value().c_str());
    } else if (word == "--noise") {
      noise_share = std::atof(value().c_str());
    } else if (word == "--errors") {
      has_errors = true;
    } else if (word == "--ranks") {  // as a study on this number of simulated ranks
      ranks.count = std::strtoul(value().c_str(), nullptr, 10);
    } else if (word == "--synchronous") {
      ranks.asynchronous = false;
    } else if (word == "--seconds") {
      ranks.seconds = std::atof(value().c_str());
    } else if (word == "--equal") {
      ranks.equal = true;
    } else if (word == "--only") {
      only = value();
    } else if (word == "--strategy") {
      strategy = value();
    } else if (word == "--csv") {
      csv = value();
    } else if (word == "--gradient") {
      gradient = true;
    } else if (word == "--verbose") {
      verbose = true;
    } else if (word == "--serve") {  // serves the first function that matches --only, at the first seed
      serves = true;
    } else if (word == "--list") {
      lists = true;
    } else if (word == "--aside") {
      aside = true;
    } else {
      std::fprintf(stderr, "surrogate_benchmark_stops: unknown option '%s'\n", word.c_str());
      return 2;
    }
  }
  for (const Family& family : families()) {
    Random random(77777 + static_cast<std::uint64_t>(first_seed));
    if (lists && !family.instance(random).two_objectives) std::printf("%d %s\n", family.aside, family.name.c_str());
    if (!serves || family.name != only) continue;
    serve(family.instance(random), static_cast<std::uint64_t>(first_seed));
    return 0;
  }
  if (lists) return 0;
  std::ofstream file;
  if (!csv.empty()) file.open(csv, std::ios::app);
  std::printf("| function | solved | wrong stops | evaluations until solved | at the stop | %s |\n%s\n",
              ranks.count > 0 ? "solved after | ended after | rank 0" : "unusable, % | s per run | slowest ask",
              "|---|---|---|---|---|---|---|---|");
  int runs = 0, wrong_in_all = 0, stops_in_all = 0;
  for (const Family& family : families()) {
    if (family.aside != aside || (!only.empty() && family.name.find(only) == std::string::npos)) continue;
    int solved = 0, wrong = 0, evaluations = 0, unusable = 0;
    double slowest = 0, seconds = 0;
    std::vector<double> until, at_stop, half, full, reached_at, ended_at;
    for (int seed = first_seed; seed < first_seed + seeds; ++seed) {
      Random random(77777 + static_cast<std::uint64_t>(seed));
      Problem p = family.instance(random);
      if (budget > 0) p.budget = budget;
      if (noise_share > 0) {
        if (p.two_objectives || p.noise > 0) continue;
        p.noise = noise_share * (median_of(p) - p.minimum);
        if (!(p.noise > 0)) continue;
      }
      if (ranks.count > 0 && p.two_objectives) continue;
      const auto its_seed = static_cast<std::uint64_t>(seed);
      const Run r =
          ranks.count > 0 ? run_on_ranks(p, strategy, gradient, its_seed, ranks) : run(p, strategy, gradient, its_seed);
      reached_at.push_back(r.reached ? r.reached_at : HUGE_VAL), ended_at.push_back(r.ended_at);
      solved += r.reached > 0;
      evaluations += r.evaluations, unusable += r.unusable;
      const bool wrong_stop = !p.two_objectives && r.stopped && r.reached == 0;
      wrong += wrong_stop;
      runs += !p.two_objectives;
      slowest = std::max(slowest, r.slowest), seconds += r.seconds;
      if (r.reached) until.push_back(r.reached);
      if (r.stopped) at_stop.push_back(r.evaluations);
      if (p.two_objectives) half.push_back(r.half), full.push_back(r.full);
      if (file.is_open())
        file << family.name << ',' << strategy << (gradient ? "+gradient" : "") << ',' << seed << ',' << r.evaluations
             << ',' << r.reached << ',' << wrong_stop << ',' << r.half << ',' << r.full << ",\"" << r.reason << "\""
             << std::endl;
    }
    wrong_in_all += wrong, stops_in_all += static_cast<int>(at_stop.size());
    if (evaluations == 0) continue;  // another class of functions
    if (ranks.count > 0 && !reached_at.empty())
      std::printf("| %s | %d of %d | %d | %g | %g (%zu) | %.1f s | %.1f s | %.1f s |\n", family.name.c_str(), solved,
                  seeds, wrong, median(until), median(at_stop), at_stop.size(), median(reached_at), median(ended_at),
                  seconds / seeds);
    else if (full.empty())
      std::printf("| %s | %d of %d | %d | %g | %g (%zu) | %.0f | %.2f | %.2f |\n", family.name.c_str(), solved, seeds,
                  wrong, median(until), median(at_stop), at_stop.size(), 100.0 * unusable / evaluations,
                  seconds / seeds, slowest);
    else
      std::printf("| %s | hypervolume %.4f, then %.4f | | | %g (%zu) | | %.2f | %.2f |\n", family.name.c_str(),
                  median(half), median(full), median(at_stop), at_stop.size(), seconds / seeds, slowest);
    std::fflush(stdout);
  }
  std::printf("\nwrong stops: %d of %d stops in %d runs\n", wrong_in_all, stops_in_all, runs);
}
