// Evaluator `simulation`: a model, starts, and how runs end (docs/simulation.md).
#pragma once

#include "evaluators/evaluator.hpp"

namespace dodyn::evaluators {

EvaluatorKind simulation_kind();

}  // namespace dodyn::evaluators
