// Uses any program as the inner problem. The program receives the design in a JSON file and environment variables, and
// writes its answer to a JSON file. Examples: configs/command-shell.cfg and configs/command-python.cfg.
#pragma once

#include "evaluators/evaluator.hpp"

namespace dodyn::evaluators {

EvaluatorKind command_kind();

}  // namespace dodyn::evaluators
