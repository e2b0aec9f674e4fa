// Evaluator `coil-fit`: fits the form (B.1) to the forces between two electromagnets, and compares it with a table of
// coefficients.
#pragma once

#include "settings/settings.hpp"

namespace dodyn::evaluators {

EvaluatorKind coil_fit_kind();

}  // namespace dodyn::evaluators
