// Searches that begin from a cheaper study of the same variables, on published pairs of functions
// (tests/surrogate/two_fidelities.hpp).
//
//   build:  cmake --preset release -DDODYN_BENCH=ON && cmake --build --preset release --target two_fidelities
//   run:    two_fidelities [--seeds 20] [--limit 60]
//           two_fidelities --stops 3 [--seeds 20] [--first-seed 1] [--only TEXT]
//
// The cheaper study is a search of 20 evaluations for each variable, with the same seed. Prints a table in Markdown: the
// evaluations of the expensive function until it is within 1 % of its standard deviation over the box from its minimum.
// A pair with an unrelated cheaper function shows the price of a bad choice.
//
// --stops counts wrong stops: of the published pairs, and of pairs with misleading cheaper functions in one variable up to
// this number. Searches end by their own rule, or after 20 evaluations and 40 for each variable. A stop is wrong if
// `dodyn run` calls the search finished above the target.
#include "../tests/surrogate/two_fidelities.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "surrogate/ego.hpp"

namespace {

using dodyn::Evaluation;
using namespace dodyn::surrogate;
using Eigen::VectorXd;
using Cost = std::function<double(const VectorXd&)>;

constexpr int cheap_evaluations = 20;  // for each variable

struct Run {
  std::vector<Evaluation> evaluations;
  int to_target = 0;      // limit + 1: not reached
  double factor = 0;      // of the cheaper function, at the end
  bool finished = false;  // as `dodyn run` calls it
};

// `to_stop`: continues after the target, until the search ends by its own rule.
Run run(const std::vector<dodyn::Variable>& box, const EgoOptions& options, const Cost& cost, int limit, double target,
        bool to_stop = false) {
  const auto strategy = make_ego(box, options);
  Run out;
  out.to_target = limit + 1;
  while (strategy->stopped().empty() && std::ssize(out.evaluations) < limit && (to_stop || out.to_target > limit)) {
    for (const VectorXd& x : strategy->ask(1)) {
      Evaluation e;
      e.id = static_cast<std::int64_t>(out.evaluations.size());
      e.status = dodyn::Status::ok;
      e.design = x;
      e.cost = cost(x);
      out.evaluations.push_back(e);
      strategy->tell(e);
      if (e.cost <= target) out.to_target = std::min(out.to_target, static_cast<int>(out.evaluations.size()));
    }
    strategy->decide();
  }
  for (const auto& [name, value] : strategy->describe(0).numbers)
    if (name == low_fidelity_factor) out.factor = value;
  const std::string reason = strategy->stopped();
  out.finished = !reason.empty() && !reason.starts_with(mostly_undecided) && !reason.starts_with(same_cost);
  return out;
}

std::vector<Evaluation> cheap_study(const TwoFidelities& pair, const EgoOptions& options) {
  return run(pair.box, options, pair.low, cheap_evaluations * std::ssize(pair.box), -infinity).evaluations;
}

std::string quantiles(std::vector<int> counts, int limit) {
  std::sort(counts.begin(), counts.end());
  const auto at = [&](double part) {
    const int count = counts[static_cast<std::size_t>(part * static_cast<double>(counts.size() - 1) + 0.5)];
    return count > limit ? "> " + std::to_string(limit) : std::to_string(count);
  };
  return at(0.5) + " (" + at(0.1) + " to " + at(0.9) + ")";
}

// Searches of one pair that end by their own rule.
struct Stops {
  int finished = 0, wrong = 0, reached = 0;
  std::vector<int> evaluations;

  void add(const Run& found, int limit) {
    const int count = found.evaluations.size();
    evaluations.push_back(found.finished ? count : limit + 1);
    finished += found.finished;
    reached += found.to_target <= limit;
    wrong += found.finished && found.to_target > limit;
  }
};

void print_stops(const std::string& name, int variables, int seeds, int limit, const Stops& without,
                 const Stops& with) {
  std::printf("| %s | %d |", name.c_str(), variables);
  for (const Stops& one : {without, with})
    std::printf(" %d of %d | %d | %d | %s |", one.reached, seeds, one.finished, one.wrong,
                limit > 0 ? quantiles(one.evaluations, limit).c_str() : "");
  std::printf("\n");
  std::fflush(stdout);
}

void count_stops(int most_variables, int first_seed, int seeds, const std::string& only) {
  std::printf(
      "| pair | variables | solved, without | finished | wrong | evaluations | solved, with | finished | wrong | "
      "evaluations |\n|---|---|---|---|---|---|---|---|---|---|\n");
  Stops all, all_with;
  int searches = 0;
  const auto measure = [&](const std::string& name, int d, const auto& pair_of) {
    if (name.find(only) == std::string::npos) return;
    const int limit = 20 + 40 * d;
    Stops without, with;
    for (int seed = first_seed; seed < first_seed + seeds; ++seed) {
      const TwoFidelities pair = pair_of(static_cast<std::uint64_t>(seed));
      EgoOptions options;
      options.seed = static_cast<std::uint64_t>(seed);
      const Run alone = run(pair.box, options, pair.high, limit, pair.target, true);
      without.add(alone, limit), all.add(alone, limit);
      options.low_fidelity = cheap_study(pair, options);
      const Run helped = run(pair.box, options, pair.high, limit, pair.target, true);
      with.add(helped, limit), all_with.add(helped, limit);
    }
    print_stops(name, d, seeds, limit, without, with);
    searches += seeds;
  };
  const std::vector<TwoFidelities> published = published_two_fidelities();
  for (const TwoFidelities& pair : published) measure(pair.name, pair.box.size(), [&](std::uint64_t) { return pair; });
  for (int d = 1; d <= most_variables; ++d)
    for (std::size_t i = 0; i < misleading_two_fidelities(d, 1).size(); ++i)
      measure(misleading_two_fidelities(d, 1)[i].name, d,
              [&](std::uint64_t seed) { return misleading_two_fidelities(d, seed)[i]; });
  print_stops("all", 0, searches, 0, all, all_with);
}

}  // namespace

int main(int argc, char** argv) {
  int seeds = 20, limit = 60, most_variables = 0, first_seed = 1;
  std::string only;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string(argv[i]) == "--seeds") seeds = std::atoi(argv[i + 1]);
    if (std::string(argv[i]) == "--limit") limit = std::atoi(argv[i + 1]);
    if (std::string(argv[i]) == "--first-seed") first_seed = std::atoi(argv[i + 1]);
    if (std::string(argv[i]) == "--only") only = argv[i + 1];
    if (std::string(argv[i]) == "--stops") most_variables = std::atoi(argv[i + 1]);
  }
  if (most_variables > 0) {
    count_stops(most_variables, first_seed, seeds, only);
    return 0;
  }
  std::vector<TwoFidelities> pairs = published_two_fidelities();
  TwoFidelities unrelated = pairs[1];
  unrelated.name = "Branin, unrelated";
  unrelated.low = [](const VectorXd& x) { return std::sin(1.3 * x(0)) + std::cos(0.9 * x(1) + 1); };
  pairs.push_back(unrelated);
  std::printf(
      "| pair | variables | cheap evaluations | expensive evaluations, without | with | left out at the end |\n");
  std::printf("|---|---|---|---|---|---|\n");
  for (const TwoFidelities& pair : pairs) {
    std::vector<int> with, without, cheap;
    int left_out = 0;
    for (int seed = 1; seed <= seeds; ++seed) {
      EgoOptions options;
      options.seed = static_cast<std::uint64_t>(seed);
      without.push_back(run(pair.box, options, pair.high, limit, pair.target).to_target);
      options.low_fidelity = cheap_study(pair, options);
      cheap.push_back(options.low_fidelity.size());
      const Run found = run(pair.box, options, pair.high, limit, pair.target);
      with.push_back(found.to_target);
      left_out += found.factor == 0;
    }
    std::sort(cheap.begin(), cheap.end());
    std::printf("| %s | %d | %d | %s | %s | %d of %d |\n", pair.name.c_str(), static_cast<int>(pair.box.size()),
                cheap[cheap.size() / 2], quantiles(without, limit).c_str(), quantiles(with, limit).c_str(), left_out,
                seeds);
    std::fflush(stdout);
  }
}
