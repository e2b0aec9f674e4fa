// Counts evaluations of each strategy until its best cost is within 1 % of the known minimum, over many seeds.
//
//   build:  cmake --preset release -DDODYN_BENCH=ON && cmake --build --preset release --target surrogate_benchmark
//   run:    surrogate_benchmark [--seeds 30] [--first-seed 0] [--only TEXT] [--strategy TEXT] [--csv FILE] [--overhead]
//
// Every run is written to the CSV file. Runs that the file contains are not repeated, so an interrupted benchmark can
// be continued. Seeds 0 to 29 are for the table; tuning uses other seeds, from 1000 on. Within 1 %: f - f* <= 1 % of
// |f*|. If f* = 0: 0.1 % of the function's median over its box. For the noisy function the noise-free value of the
// recommended design counts. A run that does not reach the minimum counts as the whole budget. A quartile of such runs
// has a ">". Quartiles are in brackets. If not all seeds reach the minimum, their number follows.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <map>
#include <numbers>
#include <string>
#include <vector>

#include "search_functions.hpp"
#include "surrogate/random.hpp"
#include "surrogate/strategy_options.hpp"

namespace {

using dodyn::Evaluation;
using dodyn::Status;
using dodyn::Variable;
using dodyn::bench::branin, dodyn::bench::goldstein_price, dodyn::bench::hartman3, dodyn::bench::hartman6;
using dodyn::bench::cube, dodyn::bench::Scalar;
using dodyn::surrogate::Random;
using Eigen::VectorXd;
using std::numbers::pi;

struct Problem {
  std::string name;
  std::vector<Variable> box;
  double minimum;
  int budget;
  int published;  // evaluations of the published EGO; 0: not published
  Scalar f;
  std::function<bool(const VectorXd&)> fails = {};
  double noise = 0;  // standard deviation
};

double rosenbrock(const VectorXd& x) {
  double sum = 0;
  for (Eigen::Index i = 0; i + 1 < x.size(); ++i)
    sum += 100 * std::pow(x(i + 1) - x(i) * x(i), 2) + std::pow(1 - x(i), 2);
  return sum;
}

double ackley(const VectorXd& x) {
  const double d = static_cast<double>(x.size());
  return -20 * std::exp(-0.2 * std::sqrt(x.squaredNorm() / d)) - std::exp((2 * pi * x.array()).cos().sum() / d) + 20 +
         std::exp(1.0);
}

// A valley along a diagonal, a hundred times steeper across than along, with its minimum off the middle.
double valley(const VectorXd& x) {
  const double along = (x(0) + x(1)) / std::sqrt(2.0) - 0.6, across = (x(0) - x(1)) / std::sqrt(2.0) + 0.2;
  return 1 + along * along + 1e3 * across * across;
}

std::vector<Problem> problems() {
  std::vector<Variable> branin_box = {{"x1", "", -5, 10}, {"x2", "", 0, 15}};
  return {
      {"Forrester", cube(1, 0, 1), -6.020740, 40, 0,
       [](const VectorXd& x) { return std::pow(6 * x(0) - 2, 2) * std::sin(12 * x(0) - 4); }},
      {"Branin", branin_box, 0.397887, 80, 28, branin},
      {"Goldstein-Price", cube(2, -2, 2), 3, 100, 32, goldstein_price},
      {"Hartman 3", cube(3, 0, 1), -3.862780, 100, 34, hartman3},
      {"Hartman 6", cube(6, 0, 1), -3.322370, 160, 84, hartman6},
      {"Rosenbrock 2", cube(2, -2, 2), 0, 80, 0, rosenbrock},
      {"Rosenbrock 5", cube(5, -2, 2), 0, 160, 0, rosenbrock},
      {"Rosenbrock 10", cube(10, -2, 2), 0, 200, 0, rosenbrock},
      {"Ackley 5", cube(5, -10, 15), 0, 150, 0, ackley},
      {"Ackley 10", cube(10, -10, 15), 0, 200, 0, ackley},
      {"valley", cube(2, -1, 2), 1, 80, 0, valley},
      // Branin's function without one of its three minima. One of the other two is next to the region that fails.
      {"Branin, a third fails", branin_box, 0.397887, 80, 0, branin,
       [](const VectorXd& x) { return x(0) + 0.5 * x(1) > 8.2 && x(0) < 9.0; }},
      {"Branin, 10 % noise", branin_box, 0.397887, 80, 0, branin, {}, 30.8},
  };
}

// Half of the function's values over the box are below it, and that of their spread.
double median_of(const Problem& p) {
  Random random(1);
  std::vector<double> values;
  for (int i = 0; i < 2001; ++i) {
    VectorXd x(p.box.size());
    for (std::size_t k = 0; k < p.box.size(); ++k)
      x(k) = p.box[k].lower + random.uniform() * (p.box[k].upper - p.box[k].lower);
    values.push_back(p.f(x));
  }
  std::nth_element(values.begin(), values.begin() + 1000, values.end());
  return values[1000];
}

VectorXd gradient_of(const Problem& p, const VectorXd& x) {
  VectorXd g(x.size());
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    const double h = 1e-6 * (p.box[i].upper - p.box[i].lower);
    VectorXd up = x, down = x;
    up(i) += h, down(i) -= h;
    g(i) = (p.f(up) - p.f(down)) / (2 * h);
  }
  return g;
}

struct Run {
  int evaluations = 0;
  bool reached = false;
};

// A column of the table. Runs one seed of one problem.
struct Contender {
  std::string name;
  std::function<dodyn::surrogate::StrategyOptions(std::uint64_t seed, const Problem& p)> choose = {};
  bool random = false;
  int batch = 1;

  bool applies(const Problem& p) const {
    const std::size_t d = p.box.size();
    if (name == "bobyqa") return d > 1;
    if (name == "mesh-search") return p.noise == 0;
    if (name == "ego gradient") return p.noise == 0;
    if (name == "ego batch 4") return d < 10;
    return name != "trust-region" || d >= 5;
  }
  // Each gradient component adds a row to the model. In many variables the budget is reduced, at the same total time.
  int budget(const Problem& p) const {
    const std::size_t d = p.box.size();
    return name == "ego gradient" && d >= 5 ? (d >= 10 ? 25 : 40) : p.budget;
  }
};

Run run(const Problem& p, const Contender& c, std::uint64_t seed) {
  const double allowance = p.minimum != 0 ? 0.01 * std::abs(p.minimum) : 0.001 * median_of(p);
  const int budget = c.budget(p);
  Random random(1000 + seed);
  Run out;
  const auto evaluate = [&](const VectorXd& x) {
    Evaluation e;
    e.design = x;
    e.id = out.evaluations++;
    if (p.fails && p.fails(x)) {
      e.status = Status::infeasible;
      e.reason = "fails there";
      return e;
    }
    e.status = Status::ok;
    e.cost = p.f(x) + p.noise * random.normal();
    if (p.noise == 0) e.gradient = gradient_of(p, x);
    if (p.noise == 0 && e.cost - p.minimum <= allowance) out.reached = true;
    return e;
  };
  if (c.random) {
    while (!out.reached && out.evaluations < budget) {
      VectorXd x(p.box.size());
      for (std::size_t k = 0; k < p.box.size(); ++k)
        x(k) = p.box[k].lower + random.uniform() * (p.box[k].upper - p.box[k].lower);
      evaluate(x);
    }
    return out;
  }
  const auto strategy = dodyn::surrogate::make_strategy(c.choose(seed, p), p.box);
  VectorXd best;  // best design by the observed, noisy cost
  double best_cost = HUGE_VAL;
  while (!out.reached && out.evaluations < budget && strategy->stopped().empty()) {
    const auto designs = strategy->ask(c.batch);
    if (designs.empty()) break;
    std::vector<Evaluation> batch;
    for (const auto& x : designs) {
      if (out.reached || out.evaluations >= budget) break;
      batch.push_back(evaluate(x));
    }
    for (const auto& e : batch) {
      strategy->tell(e);
      if (e.ok() && e.cost < best_cost) best_cost = e.cost, best = e.design;
    }
    strategy->decide();
    if (p.noise > 0 && out.evaluations >= 12) {  // checks the design that the strategy would recommend now
      const auto i = strategy->describe(0);
      const VectorXd& x = i.recommended.size() > 0 ? i.recommended : best;
      if (p.f(x) - p.minimum <= 0.01 * 308) out.reached = true;
    }
  }
  return out;
}

struct Quartiles {
  double lower, median, upper;
};
Quartiles quartiles(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  const auto at = [&](double q) {
    const double i = q * static_cast<double>(v.size() - 1);
    const auto k = static_cast<std::size_t>(i);
    return k + 1 < v.size() ? v[k] + (i - static_cast<double>(k)) * (v[k + 1] - v[k]) : v[k];
  };
  return {at(0.25), at(0.5), at(0.75)};
}

void overhead() {
  struct Case {
    int variables, samples;
    bool gradient;
  };
  std::printf(
      "| variables | samples | gradients | median ask, s of processor time | worst of 60 |\n|---|---|---|---|---|\n");
  for (const auto& [d, n, gradient] :
       {Case{6, 100, false}, {6, 300, false}, {6, 1000, false}, {10, 1000, false}, {6, 100, true}, {6, 300, true}}) {
    const auto box = cube(d, 0, 1);
    dodyn::surrogate::StrategyOptions choice;
    choice.name = "ego";
    choice.ego.gradient = gradient;
    const auto f = [&](const VectorXd& x) { return hartman6(x.head(6)) + (x.array() - 0.4).square().sum(); };
    const Problem p{"", box, 0, 0, 0, f};
    const auto strategy = dodyn::surrogate::make_strategy(choice, box);
    Random random(1);
    const auto tell = [&, gradient = gradient](const VectorXd& x, int id) {
      Evaluation e;
      e.id = id;
      e.design = x;
      e.status = Status::ok;
      e.cost = f(x);
      if (gradient) e.gradient = gradient_of(p, x);
      strategy->tell(e);
    };
    int id = 0;
    for (const auto& x : strategy->ask(100)) tell(x, id++);
    while (id < n) {
      VectorXd x(d);
      for (double& v : x) v = random.uniform();
      tell(x, id++);
    }
    std::vector<double> seconds;
    for (int i = 0; i < 60; ++i) {
      const std::clock_t from = std::clock();  // time of this process: the machine may be shared
      const auto designs = strategy->ask(1);
      seconds.push_back(static_cast<double>(std::clock() - from) / CLOCKS_PER_SEC);
      tell(designs.at(0), id++);
    }
    std::printf("| %d | %d | %s | %.3f | %.3f |\n", d, n, gradient ? "yes" : "no", quartiles(seconds).median,
                *std::max_element(seconds.begin(), seconds.end()));
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int seeds = 30, first_seed = 0;
  std::string only, strategy, csv;
  bool measure_overhead = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] { return std::string(i + 1 < argc ? argv[++i] : ""); };
    if (word == "--seeds") {
      seeds = std::atoi(value().c_str());
    } else if (word == "--first-seed") {
      first_seed = std::atoi(value().c_str());
    } else if (word == "--only") {
      only = value();
    } else if (word == "--strategy") {
      strategy = value();
    } else if (word == "--csv") {
      csv = value();
    } else if (word == "--overhead") {
      measure_overhead = true;
    } else {
      std::fprintf(stderr, "surrogate_benchmark: unknown option '%s'\n", word.c_str());
      return 2;
    }
  }
  if (measure_overhead) {
    overhead();
    return 0;
  }
  const auto named = [](const char* name, auto&& adjust) {
    return [name, adjust](std::uint64_t seed, const Problem& p) {
      dodyn::surrogate::StrategyOptions choice;
      choice.name = name;
      choice.ego.seed = seed;
      choice.ego.noise = p.noise > 0;
      choice.ego.tolerance = 0;
      adjust(choice, seed, p);
      return choice;
    };
  };
  using dodyn::surrogate::StrategyOptions;
  std::vector<Contender> contenders = {
      {"ego", named("ego", [](StrategyOptions&, std::uint64_t, const Problem&) {})},
      {"ego gradient", named("ego", [](StrategyOptions& c, std::uint64_t, const Problem&) { c.ego.gradient = true; })},
      {"ego batch 4", named("ego", [](StrategyOptions& c, std::uint64_t, const Problem&) { c.ego.batch = 4; }), false,
       4},
      {"trust-region", named("trust-region", [](StrategyOptions&, std::uint64_t, const Problem&) {})},
      {"mesh-search",
       named("mesh-search", [](StrategyOptions& c, std::uint64_t seed, const Problem&) { c.mesh_search.seed = seed; })},
      {"bobyqa", named("bobyqa",
                       [](StrategyOptions& c, std::uint64_t seed, const Problem&) {
                         c.nlopt.restarts = 1000;
                         c.nlopt.tolerance = 1e-4;
                         c.nlopt.seed = seed;
                       })},
      {"direct-l", named("direct-l", [](StrategyOptions&, std::uint64_t, const Problem&) {})},
      {"crs", named("crs", [](StrategyOptions& c, std::uint64_t seed, const Problem&) { c.nlopt.seed = seed; })},
      {"random", {}, true},
  };
  std::map<std::string, Run> done;  // "problem,strategy,seed"
  std::ofstream file;
  if (!csv.empty()) {
    std::ifstream before(csv);
    for (std::string line; std::getline(before, line);) {
      const auto reached = line.rfind(','), evaluations = line.rfind(',', reached - 1);
      if (reached == std::string::npos || evaluations == std::string::npos || line.back() == 'd') continue;
      done[line.substr(0, evaluations)] = {std::atoi(line.c_str() + evaluations + 1), line.back() == '1'};
    }
    file.open(csv, std::ios::app);
    if (done.empty()) file << "problem,strategy,seed,evaluations,reached\n";
  }
  std::vector<Contender> columns;
  for (const auto& c : contenders)
    if (strategy.empty() || c.name == strategy ||
        (strategy.back() == '*' && c.name.starts_with(strategy.substr(0, strategy.size() - 1))))
      columns.push_back(c);
  std::printf("| function | published EGO |");
  for (const auto& c : columns) std::printf(" %s |", c.name.c_str());
  std::printf("\n|---|---|");
  for (std::size_t i = 0; i < columns.size(); ++i) std::printf("---|");
  std::printf("\n");
  for (const Problem& p : problems()) {
    if (!only.empty() && p.name.find(only) == std::string::npos) continue;
    std::printf("| %s | %s |", p.name.c_str(), p.published ? std::to_string(p.published).c_str() : "");
    std::fflush(stdout);
    for (const auto& c : columns) {
      if (!c.applies(p)) {
        std::printf(" |");
        continue;
      }
      std::vector<double> evaluations;
      int reached = 0;
      for (int seed = first_seed; seed < first_seed + seeds; ++seed) {
        const std::string key = '"' + p.name + "\"," + c.name + ',' + std::to_string(seed);
        if (!done.contains(key)) {
          done[key] = run(p, c, static_cast<std::uint64_t>(seed));
          if (file.is_open()) file << key << ',' << done[key].evaluations << ',' << done[key].reached << std::endl;
        }
        const Run& r = done[key];
        evaluations.push_back(r.reached ? r.evaluations : c.budget(p) + 1);
        reached += r.reached;
      }
      const Quartiles q = quartiles(evaluations);
      const auto shown = [&](double value) {
        char buffer[32];
        if (value > c.budget(p))
          std::snprintf(buffer, sizeof buffer, ">%d", c.budget(p));
        else
          std::snprintf(buffer, sizeof buffer, "%g", value);
        return std::string(buffer);
      };
      std::printf(" %s [%s, %s]%s |", shown(q.median).c_str(), shown(q.lower).c_str(), shown(q.upper).c_str(),
                  reached < seeds ? (" " + std::to_string(reached)).c_str() : "");
      std::fflush(stdout);
    }
    std::printf("\n");
  }
}
