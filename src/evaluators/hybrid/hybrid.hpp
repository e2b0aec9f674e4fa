// The hybrid evaluator: a model's motion in pieces joined by impacts and resets, run forward, or its periodic gait
// (docs/hybrid.md).
#pragma once

#include "evaluators/evaluator.hpp"

namespace dodyn::evaluators {

EvaluatorKind hybrid_kind();

}  // namespace dodyn::evaluators
