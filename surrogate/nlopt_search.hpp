// NLopt's derivative-free algorithms through ask and tell: honest baselines for the surrogates.
//
// NLopt calls the function it minimises; here the function must be asked for. All its algorithms are deterministic
// (CRS given its seed), so each ask runs the search again from the start, answers what is evaluated already, and stops it
// at its first question that was not: no thread, no state to keep, and a replay needs nothing of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "surrogate/strategy.hpp"

namespace dodyn::surrogate {

enum class NloptAlgorithm { bobyqa, cobyla, direct_l, crs };

struct NloptOptions {
  NloptAlgorithm algorithm = NloptAlgorithm::bobyqa;
  double tolerance = 1e-6;  // of the range: step at which a local search ends; > 0
  int restarts = 0;         // of bobyqa and cobyla, from quasi-random designs after the middle of the range; >= 0
  int max_failures = 20;    // evaluations without a usable cost, while there is none at all, before giving up; >= 1
  std::uint64_t seed = 1;
};

// One design per ask; none while it is pending. A failed design counts as the worst cost before it. Throws
// std::invalid_argument on a variable without a range or an option out of range.
std::unique_ptr<Strategy> make_nlopt_search(const std::vector<Variable>& variables, const NloptOptions& options);

// The keys of [surrogate] that fill the options; of a local search its restarts, too.
const KeyTable<NloptOptions>& nlopt_keys(bool local);

}  // namespace dodyn::surrogate
