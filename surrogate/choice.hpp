// Strategies by name. To add one: its file pair, its options in `Choice`, one line in choice.cpp.
#pragma once

#include "surrogate/ego.hpp"
#include "surrogate/strawman.hpp"
#include "surrogate/sweep.hpp"

namespace dodyn::surrogate {

struct Choice {
  std::string name = "strawman";
  StrawmanOptions strawman;
  EgoOptions ego;
  SweepOptions sweep;
};

struct StrategyKind {
  std::string name;
  std::string description;  // one line for --help
  std::unique_ptr<Strategy> (*make)(const std::vector<Variable>& variables, const Choice& choice);
};

const std::vector<StrategyKind>& strategy_kinds();

// Throws std::invalid_argument, in one line fit for a user, on an unknown name or options that do not suit the
// variables.
std::unique_ptr<Strategy> make_strategy(const Choice& choice, const std::vector<Variable>& variables);

}  // namespace dodyn::surrogate
