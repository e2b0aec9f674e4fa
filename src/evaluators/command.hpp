// Any program as the inner problem: the design is handed over in a JSON file and environment variables, the answer is
// read back from a JSON file. configs/command-shell.cfg and configs/command-python.cfg are examples.
#pragma once

#include "evaluators/evaluator.hpp"

namespace dodyn::evaluators {

EvaluatorKind command_kind();

}  // namespace dodyn::evaluators
