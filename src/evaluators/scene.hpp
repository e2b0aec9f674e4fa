// The scene evaluator: one simulation of a small world of colliding bodies (models/scenes.hpp), by any stepper and any
// contact response.
#pragma once

#include "evaluators/evaluator.hpp"

namespace dodyn::evaluators {

EvaluatorKind scene_kind();

}  // namespace dodyn::evaluators
