#include "surrogate/choice.hpp"

#include <stdexcept>

namespace dodyn::surrogate {
namespace {

std::unique_ptr<Strategy> strawman(const std::vector<Variable>& variables, const Choice& choice) {
  if (variables.size() != 1)
    throw std::invalid_argument("strawman: works on one free variable, not " + std::to_string(variables.size()));
  return make_strawman(variables[0], choice.strawman);
}

std::unique_ptr<Strategy> sweep(const std::vector<Variable>& variables, const Choice& choice) {
  return make_sweep(variables, choice.sweep);
}

std::unique_ptr<Strategy> ego(const std::vector<Variable>& variables, const Choice& choice) {
  return make_ego(variables, choice.ego);
}

}  // namespace

const std::vector<StrategyKind>& strategy_kinds() {
  static const std::vector<StrategyKind> kinds = {
      {"strawman", "one variable: a cubic spline through the samples, the next at its minimum", strawman},
      {"ego", "kriging, the next where the expected improvement is largest", ego},
      {"sweep", "a uniform grid, from coarse to fine", sweep},
  };
  return kinds;
}

std::unique_ptr<Strategy> make_strategy(const Choice& choice, const std::vector<Variable>& variables) {
  std::string names;
  for (const StrategyKind& kind : strategy_kinds()) {
    if (kind.name == choice.name) return kind.make(variables, choice);
    names += (names.empty() ? "" : ", ") + kind.name;
  }
  throw std::invalid_argument("no strategy '" + choice.name + "'; there are: " + names);
}

}  // namespace dodyn::surrogate
