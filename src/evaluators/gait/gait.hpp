// The gait evaluator: the cost of a design is the cost of transport of the best periodic gait it allows.
#pragma once

#include "evaluators/evaluator.hpp"

namespace dodyn::evaluators {

EvaluatorKind gait_kind();

}  // namespace dodyn::evaluators
