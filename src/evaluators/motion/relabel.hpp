// A model's [reset NAME] at the end of a periodic motion: what its coordinates and momenta are seen as there.
#pragma once

#include <vector>

#include "dmoc/system.hpp"
#include "systems/hybrid_model.hpp"

namespace dodyn::evaluators {

// Recorded with the model's numbers as parameters (dmoc::Event): theta_K -> coordinates, and (theta_K, v-) -> dL/dv at the
// state that the exchange makes of it. `moving`: the coordinates that move before it.
struct Relabelling {
  dmoc::Function configuration, momentum;
};
Relabelling relabelling(const systems::Model& model, const systems::Reset& exchange, const std::vector<int>& moving);

}  // namespace dodyn::evaluators
