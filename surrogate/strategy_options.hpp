// Strategies by name. To add one: its file pair with its options and their keys, its options in `StrategyOptions`, one line in
// strategy_options.cpp.
#pragma once

#include "settings/key_table.hpp"
#include "surrogate/ego.hpp"
#include "surrogate/mesh_search.hpp"
#include "surrogate/morris.hpp"
#include "surrogate/named.hpp"
#include "surrogate/nlopt_search.hpp"
#include "surrogate/spline.hpp"
#include "surrogate/sweep.hpp"

namespace dodyn::surrogate {

struct StrategyOptions {
  std::string name = "auto";
  SplineOptions spline;
  EgoOptions ego;
  MeshSearchOptions mesh_search;
  NloptOptions nlopt;
  SweepOptions sweep;
  MorrisOptions morris;
  Named named;
};

// What is known of the costs before any is computed, for `automatic_choice`.
struct CostTraits {
  bool gradient = false;  // evaluations come with gradients
  bool noise = false;     // costs are noisy
};

// Settles name = "auto" from the number of variables and what is known of the costs; `reason` is one line to print.
// Any other name is left alone, and `reason` empty.
StrategyOptions automatic_choice(StrategyOptions choice, const std::vector<Variable>& variables,
                                 const CostTraits& prospect, std::string& reason);

struct StrategyKind {
  std::string name;
  std::string description;  // one line for --help
  std::unique_ptr<Strategy> (*make)(const std::vector<Variable>& variables, const StrategyOptions& choice);
  KeyTable<StrategyOptions> keys;  // its keys of [surrogate]
};

const std::vector<StrategyKind>& strategy_kinds();

// What the settings know of them; the first is the default.
std::vector<StrategyKeys> strategy_keys();

// The strategy that the settings name, with its options; random numbers from study.seed.
StrategyOptions read_choice(const Settings& settings);

// Throws std::invalid_argument, in one line fit for a user, on an unknown name or options that do not suit the
// variables.
std::unique_ptr<Strategy> make_strategy(const StrategyOptions& choice, const std::vector<Variable>& variables);

}  // namespace dodyn::surrogate
