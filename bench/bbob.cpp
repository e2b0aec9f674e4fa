// dodyn's search on the functions of BBOB (bbob_functions.hpp), by the defaults and the stop rule of `dodyn run`.
//
//   run:    bbob [--variables 2] [--per-variable 100] [--instances 3] [--first-instance 1] [--tolerance 1e-6] [--only TEXT]
//                [--strategy auto]
//   tables: bench/bbob.py
//
// Each run prints one line: function; instance; evaluations; 1 if `dodyn run` calls the run finished; the minimum; the
// median of the function above its minimum. Then follow pairs of a count of evaluations and the lowest cost up to it.
// --serve evaluates designs for other optimisers (search_functions.hpp).
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "bbob_functions.hpp"
#include "surrogate/strategy_options.hpp"

namespace {

using dodyn::Evaluation;
using dodyn::bench::Problem;
using Eigen::VectorXd;

struct Options {
  int variables = 2, per_variable = 100, instances = 3, first_instance = 1;
  double tolerance = 1e-6;
  std::string only, strategy = "auto";
  bool serves = false;
};

void run(const Problem& p, std::uint64_t seed, double tolerance, const std::string& strategy_name) {
  dodyn::surrogate::StrategyOptions choice;
  choice.name = strategy_name;
  choice.ego.seed = seed;
  choice.ego.tolerance = tolerance;
  choice.nlopt.restarts = p.budget;  // local searches restart until the budget is spent
  const auto strategy = dodyn::surrogate::make_strategy(choice, p.box);
  std::string improvements;
  double least = HUGE_VAL;
  int evaluations = 0;
  while (evaluations < p.budget && strategy->stopped().empty()) {
    for (const VectorXd& x : strategy->ask(p.budget - evaluations)) {
      Evaluation e;
      e.id = evaluations++;
      e.design = x;
      e.status = dodyn::Status::ok;
      e.cost = p.f(x);
      strategy->tell(e);
      if (!(e.cost < least)) continue;
      least = e.cost;
      char text[64];
      std::snprintf(text, sizeof text, ";%d;%.17g", evaluations, least);
      improvements += text;
    }
    strategy->decide();
  }
  const double above_minimum =
      1000 * dodyn::bench::allowance({p.box, 0, 0, [&](const VectorXd& x) { return p.f(x) - p.minimum; }});
  const std::string reason = strategy->stopped();
  const bool finished = !reason.empty() && !reason.starts_with(dodyn::surrogate::mostly_undecided);
  std::printf("%d;%d;%.17g;%.17g%s\n", evaluations, finished, p.minimum, above_minimum, improvements.c_str());
  std::fflush(stdout);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::string value = word != "--serve" && i + 1 < argc ? argv[++i] : "";
    if (word == "--variables") {
      options.variables = std::atoi(value.c_str());
    } else if (word == "--per-variable") {
      options.per_variable = std::atoi(value.c_str());
    } else if (word == "--instances") {
      options.instances = std::atoi(value.c_str());
    } else if (word == "--first-instance" || word == "--first-seed") {
      options.first_instance = std::atoi(value.c_str());
    } else if (word == "--tolerance") {
      options.tolerance = std::atof(value.c_str());
    } else if (word == "--only") {
      options.only = value;
    } else if (word == "--strategy") {
      options.strategy = value;
    } else if (word == "--serve") {
      options.serves = true;
    } else {
      std::fprintf(stderr, "bbob: unknown option '%s'\n", word.c_str());
      std::exit(2);
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  for (int function = 1; function <= dodyn::bench::bbob_functions; ++function) {
    const std::string name = dodyn::bench::bbob_name(function);
    if (name.find(options.only) == std::string::npos) continue;
    for (int i = options.first_instance; i < options.first_instance + options.instances; ++i) {
      Problem p = dodyn::bench::bbob(function, options.variables, i);
      p.budget = options.per_variable * options.variables;
      const auto seed = static_cast<std::uint64_t>(i);
      if (options.serves) {
        dodyn::bench::serve(p, seed);
        return 0;
      }
      std::printf("%s;%d;", name.c_str(), i);
      run(p, seed, options.tolerance, options.strategy);
    }
  }
}
