// Evaluator `elastic`: simulates deformable and rigid bodies that the configuration describes.
#pragma once

#include "evaluators/evaluator.hpp"

namespace dodyn::evaluators {

EvaluatorKind elastic_kind();

}  // namespace dodyn::evaluators
