// The evaluators of the registry, one function each.
#pragma once

#include <memory>

#include "evaluators/evaluator.hpp"

namespace dodyn::evaluators {

EvaluatorKind air_table_kind();     // measures and cancels the force field of an air table
EvaluatorKind coil_fit_kind();      // fits a force law to the forces between two electromagnets
EvaluatorKind command_kind();       // any program
EvaluatorKind elastic_kind();       // deformable and rigid bodies that the configuration describes
EvaluatorKind gait_kind();          // the best periodic gait of a walker
EvaluatorKind hybrid_kind();        // a motion in pieces that impacts and resets join, or a periodic gait of it
EvaluatorKind motion_kind();        // the best motion of a system, in the phases of the configuration
EvaluatorKind simulation_kind();    // a model from many initial states; counts the outcomes
EvaluatorKind testfunction_kind();  // an analytic function: an example of an evaluator, and a fast test of studies

// Returns an evaluator of a class whose constructor reads the settings, for EvaluatorKind::make.
template <class Kind>
std::unique_ptr<Evaluator> make(const Settings& settings) {
  return std::make_unique<Kind>(settings);
}

}  // namespace dodyn::evaluators
