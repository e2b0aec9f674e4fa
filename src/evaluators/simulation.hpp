// Evaluator `simulation`: simulates a model from many initial states and counts the outcomes (docs/simulation.md).
#pragma once

#include "evaluators/evaluator.hpp"

namespace dodyn::evaluators {

EvaluatorKind simulation_kind();

}  // namespace dodyn::evaluators
