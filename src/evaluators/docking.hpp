// The docking evaluator: the cost of a design is the rate at which two craft fail to dock, over a set of starts that is
// the same for every design.
#pragma once

#include <array>

#include "evaluators/evaluator.hpp"

namespace dodyn::evaluators {

EvaluatorKind docking_kind();

// Limits of Wilson's interval (1927) at 95 % for the probability behind `hits` of `tries`, tries > 0.
std::array<double, 2> wilson_interval(int hits, int tries);

}  // namespace dodyn::evaluators
