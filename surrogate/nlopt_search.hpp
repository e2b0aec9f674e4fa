// NLopt's derivative-free algorithms with the interface of ask() and tell(), as baselines for the surrogates.
//
// NLopt calls the function that it minimises, but here a strategy must return from ask(). All algorithms are
// deterministic (CRS for a given seed). So each ask() repeats the search from the start with the known results, and
// stops at the first unknown design. This needs no thread and no stored state, and a replay works without additional
// code.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "surrogate/strategy.hpp"

namespace dodyn::surrogate {

enum class NloptAlgorithm { bobyqa, cobyla, direct_l, crs };

struct NloptOptions {
  NloptAlgorithm algorithm = NloptAlgorithm::bobyqa;
  double tolerance = 1e-6;  // step at which a local search ends, relative to the range; > 0
  int restarts = 0;         // restarts of bobyqa and cobyla; the first run starts at the middle of the range, the
                            // others at quasi-random designs; >= 0
  int max_failures = 20;    // number of evaluations after which the search gives up if none has a usable cost;
                            // >= 1
  std::uint64_t seed = 1;
};

// Each ask() returns one design, and none while it is pending. A failed design gets the worst cost before it, or 1e10
// if there is none. Throws std::invalid_argument if a variable has no range, an option is out of range, or BOBYQA has
// one variable only.
std::unique_ptr<Strategy> make_nlopt_search(const std::vector<Variable>& variables, const NloptOptions& options);

// The keys of [surrogate] that fill the options; those of a local search include restarts.
const KeyTable<NloptOptions>& nlopt_keys(bool local);

}  // namespace dodyn::surrogate
