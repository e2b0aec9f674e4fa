// Strategies by name. To add one: its file pair with its options and their keys, its options in `Choice`, one line in
// choice.cpp.
#pragma once

#include "settings/key_table.hpp"
#include "surrogate/ego.hpp"
#include "surrogate/mesh_search.hpp"
#include "surrogate/nlopt_search.hpp"
#include "surrogate/strawman.hpp"
#include "surrogate/sweep.hpp"

namespace dodyn::surrogate {

// What a study tells a strategy by the names of variables and metrics, or in files; study/ reads them into EgoOptions.
struct Named {
  std::string designs, samples;                               // files
  std::string constraints, objectives, integers, categories;  // lists
};

struct Choice {
  std::string name = "auto";
  StrawmanOptions strawman;
  EgoOptions ego;
  MeshSearchOptions mesh_search;
  NloptOptions nlopt;
  SweepOptions sweep;
  Named named;
};

// What is known of the costs before any is computed, for `automatic_choice`.
struct Prospect {
  bool gradient = false;  // evaluations come with gradients
  bool noise = false;     // costs are noisy
};

// Settles name = "auto" from the number of variables and what is known of the costs; `reason` is one line to print.
// Any other name is left alone, and `reason` empty.
Choice automatic_choice(Choice choice, const std::vector<Variable>& variables, const Prospect& prospect,
                        std::string& reason);

// "largest_torque <= 15, smallest_normal_force >= 0": constraints on metrics, or on "cost". Empty text: none. Throws
// std::invalid_argument, in one line that shows the names there are.
std::vector<Constraint> parse_constraints(const std::string& text, const std::vector<std::string>& metrics);

// "cost, largest_torque": indices in `names`, -1 for "cost" where `cost` allows it. Errors as above.
std::vector<int> parse_names(const std::string& text, const std::vector<std::string>& names, bool cost);

struct StrategyKind {
  std::string name;
  std::string description;  // one line for --help
  std::unique_ptr<Strategy> (*make)(const std::vector<Variable>& variables, const Choice& choice);
  KeyTable<Choice> keys;  // its keys of [surrogate]
};

const std::vector<StrategyKind>& strategy_kinds();

// What the settings know of them; the first is the default.
std::vector<StrategyKeys> strategy_keys();

// The strategy that the settings name, with its options; random numbers from study.seed.
Choice read_choice(const Settings& settings);

// Throws std::invalid_argument, in one line fit for a user, on an unknown name or options that do not suit the
// variables.
std::unique_ptr<Strategy> make_strategy(const Choice& choice, const std::vector<Variable>& variables);

}  // namespace dodyn::surrogate
