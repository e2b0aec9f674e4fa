// Records a model for the hybrid integrator: its Lagrangian, contacts, bilateral constraints and exchanges.
#pragma once

#include <memory>

#include "systems/hybrid_model.hpp"
#include "variational/hybrid.hpp"

namespace dodyn::systems {

// Records a model's functions, with its numbers as parameters. Rows: the gap of each contact and its slip, if any; then
// the constraints. Watched: the guard of each exchange and its new values.
variational::Formulation formulation(const HybridModel& system);

// Returns the assembly of `mechanics`, whose parameters must be the same numbers. Throws ConfigError if a contact
// that latches bounces.
variational::Assembly assembly(const HybridModel& system, const Values<double>& values,
                               const variational::Mechanics& mechanics);

}  // namespace dodyn::systems
