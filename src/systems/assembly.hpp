// Prepares a model for the hybrid integrator: its Lagrangian, contacts, bilateral constraints and resets.
#pragma once

#include <memory>

#include "systems/hybrid_model.hpp"
#include "variational/hybrid.hpp"

namespace dodyn::systems {

// Returns a model's functions for variational::record(). The model's numbers are the parameters. `system` must outlive
// the result. Rows: gap and slip (if any) of each contact, then the constraints. Watched: guard and new values of each
// reset.
variational::Formulation formulation(const HybridModel& system);

// Returns the assembly of `mechanics`, which must have values.numbers as parameters and must outlive the result. Throws
// ConfigError if a contact with latch has a restitution above 0.
variational::Assembly assembly(const HybridModel& system, const Values<double>& values,
                               const variational::Mechanics& mechanics);

}  // namespace dodyn::systems
