// The maps of coordinates and momenta by which a model's [reset NAME] acts at the end of a periodic motion.
#pragma once

#include <vector>

#include "dmoc/system.hpp"
#include "systems/hybrid_model.hpp"

namespace dodyn::evaluators {

// Functions of an exchange, recorded with the model's numbers as parameters (dmoc::Event): from theta_K to coordinates,
// and from (theta_K, v-) to dL/dv after the exchange. `moving`: the coordinates that move before the exchange.
struct Relabelling {
  dmoc::Function configuration, momentum;
};
Relabelling relabelling(const systems::Model& model, const systems::Reset& exchange, const std::vector<int>& moving);

}  // namespace dodyn::evaluators
