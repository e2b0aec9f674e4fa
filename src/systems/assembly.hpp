// A model's motion in pieces: its Lagrangian, contacts, wires and exchanges, recorded for the hybrid integrator.
#pragma once

#include <memory>

#include "systems/hybrid_model.hpp"
#include "variational/hybrid.hpp"

namespace dodyn::systems {

// What is recorded, the model's numbers its parameters. Rows: of each contact its gap and, if it has one, its slip; then
// the wires. Watched: of each exchange its guard and what it makes.
variational::Formulation formulation(const HybridModel& system);

// The assembly of `mechanics`, whose parameters are the same numbers. Throws ConfigError: restitution outside of [0, 1].
variational::Assembly assembly(const HybridModel& system, const Values<double>& values,
                               const variational::Mechanics& mechanics);

}  // namespace dodyn::systems
