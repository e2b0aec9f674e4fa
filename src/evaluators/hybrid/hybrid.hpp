// Evaluator `hybrid`: simulates a model's motion with impacts and resets, or finds its periodic gait (docs/hybrid.md).
#pragma once

#include "evaluators/evaluator.hpp"

namespace dodyn::evaluators {

EvaluatorKind hybrid_kind();

}  // namespace dodyn::evaluators
