// Searches that begin from a cheaper study of the same variables, on published pairs of functions
// (tests/surrogate/two_fidelities.hpp).
//
//   build:  cmake --preset release -DDODYN_BENCH=ON && cmake --build --preset release --target two_fidelities
//   run:    two_fidelities [--seeds 20] [--limit 60]
//
// The cheaper study is a search of 20 evaluations for each variable, with the same seed. Prints a table in Markdown: the
// evaluations of the expensive function until it is within 1 % of its standard deviation over the box from its minimum.
// A pair with an unrelated cheaper function shows the price of a bad choice.
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
  int to_target = 0;  // limit + 1: not reached
  double factor = 0;  // of the cheaper function, at the end
};

Run run(const std::vector<dodyn::Variable>& box, const EgoOptions& options, const Cost& cost, int limit,
        double target) {
  const auto strategy = make_ego(box, options);
  Run out;
  out.to_target = limit + 1;
  while (strategy->stopped().empty() && static_cast<int>(out.evaluations.size()) < limit && out.to_target > limit) {
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
  return out;
}

std::string quantiles(std::vector<int> counts, int limit) {
  std::sort(counts.begin(), counts.end());
  const auto at = [&](double part) {
    const int count = counts[static_cast<std::size_t>(part * static_cast<double>(counts.size() - 1) + 0.5)];
    return count > limit ? "> " + std::to_string(limit) : std::to_string(count);
  };
  return at(0.5) + " (" + at(0.1) + " to " + at(0.9) + ")";
}

}  // namespace

int main(int argc, char** argv) {
  int seeds = 20, limit = 60;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string(argv[i]) == "--seeds") seeds = std::atoi(argv[i + 1]);
    if (std::string(argv[i]) == "--limit") limit = std::atoi(argv[i + 1]);
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
      options.low_fidelity =
          run(pair.box, options, pair.low, cheap_evaluations * static_cast<int>(pair.box.size()), -infinity)
              .evaluations;
      cheap.push_back(static_cast<int>(options.low_fidelity.size()));
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
