// The nonsmooth evaluator: a model's motion in pieces joined by impacts and exchanges, run forward, or its periodic gait
// (docs/nonsmooth.md).
#pragma once

#include "evaluators/evaluator.hpp"

namespace dodyn::evaluators {

EvaluatorKind nonsmooth_kind();

}  // namespace dodyn::evaluators
