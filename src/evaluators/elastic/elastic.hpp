// The evaluator `elastic`: one simulation of deformable bodies beside rigid ones, of sections in the configuration.
#pragma once

#include "evaluators/evaluator.hpp"

namespace dodyn::evaluators {

EvaluatorKind elastic_kind();

}  // namespace dodyn::evaluators
