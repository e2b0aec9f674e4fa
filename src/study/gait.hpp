// The gait evaluator: the cost of a design is the cost of transport of the best periodic gait it allows.
#pragma once

#include "study/evaluator.hpp"

namespace dodyn::study {

EvaluatorKind gait_kind();

}  // namespace dodyn::study
