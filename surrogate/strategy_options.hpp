// Strategies by name. To add one, add its file pair with options and keys, its options in `StrategyOptions`, and one
// line in strategy_options.cpp.
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

// Replaces name = "auto" by a strategy that suits the number of variables and the properties of the costs in
// `choice.ego`. Sets `reason` to one line to print. Other names are unchanged, with an empty `reason`.
StrategyOptions automatic_choice(StrategyOptions choice, const std::vector<Variable>& variables, std::string& reason);

struct StrategyKind {
  std::string name;
  std::string description;  // one line for --help
  std::unique_ptr<Strategy> (*make)(const std::vector<Variable>& variables, const StrategyOptions& choice);
  KeyTable<StrategyOptions> keys;  // keys of the strategy in [surrogate]
};

const std::vector<StrategyKind>& strategy_kinds();

// Returns the strategies and their keys; the first is the default.
std::vector<StrategyKeys> strategy_keys();

// Returns the strategy that the settings name, with its options. Its random numbers follow from study.seed.
StrategyOptions read_choice(const Settings& settings);

// Makes the strategy that `choice` names. Throws std::invalid_argument, one line for the user, if the name is unknown
// or the options do not suit the variables.
std::unique_ptr<Strategy> make_strategy(const StrategyOptions& choice, const std::vector<Variable>& variables);

}  // namespace dodyn::surrogate
