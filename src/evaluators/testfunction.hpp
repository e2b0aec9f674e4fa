// An evaluator with a known answer: the cost is an analytic test function of one or two variables. It is an example of
// an evaluator, and a fast test of archives, ranks, strategies and interruptions.
#pragma once

#include "evaluators/evaluator.hpp"

namespace dodyn::evaluators {

EvaluatorKind testfunction_kind();

}  // namespace dodyn::evaluators
