// Evaluator `air-table`: measures the force field of an uneven air table with a controlled craft, and compensates it by
// the measurements (Johnson 2013, appendix B.0.5, Algorithms 4 and 5).
#pragma once

#include "settings/settings.hpp"

namespace dodyn::evaluators {

EvaluatorKind air_table_kind();

}  // namespace dodyn::evaluators
