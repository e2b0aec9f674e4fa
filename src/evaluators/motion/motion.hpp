// Evaluator `motion`: finds the best motion of a system in the phases of a configuration. Evaluator `gait` is the same
// with another description (evaluators/gait/design.hpp).
#pragma once

#include "evaluators/evaluator.hpp"
#include "evaluators/motion/search.hpp"

namespace dodyn::evaluators {

// Makes the evaluator of a description. `keys`: the keys of the search. Throws ConfigError.
std::unique_ptr<Evaluator> make_motion_evaluator(const Settings& settings,
                                                 std::shared_ptr<const MotionDescription> description,
                                                 const KeyTable<MotionSearch>& keys);

}  // namespace dodyn::evaluators
