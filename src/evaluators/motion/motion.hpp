// Evaluator `motion`: the best motion of a system, in phases written down in the configuration. Evaluator `gait` is the same
// with another description (evaluators/gait/design.hpp).
#pragma once

#include "evaluators/evaluator.hpp"
#include "evaluators/motion/search.hpp"

namespace dodyn::evaluators {

EvaluatorKind motion_kind();

// `keys`: those of the description's search.
std::unique_ptr<Evaluator> make_motion_evaluator(const Settings& settings,
                                                 std::shared_ptr<const MotionDescription> description,
                                                 const KeyTable<MotionSearch>& keys);

}  // namespace dodyn::evaluators
