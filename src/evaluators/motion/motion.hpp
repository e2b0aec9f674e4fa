// The motion evaluator: the cost of a design is that of the best motion it allows, in phases that the configuration writes
// down (docs/motions.md).
#pragma once

#include "evaluators/evaluator.hpp"

namespace dodyn::evaluators {

EvaluatorKind motion_kind();

}  // namespace dodyn::evaluators
