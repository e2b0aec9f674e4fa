// An evaluator with a known answer: the cost is an analytic test function of one or two variables. It costs nothing, so
// it is there to try the machinery (archives, ranks, strategies, interruptions) and to show what an evaluator is.
#pragma once

#include "evaluators/evaluator.hpp"

namespace dodyn::evaluators {

EvaluatorKind testfunction_kind();

}  // namespace dodyn::evaluators
