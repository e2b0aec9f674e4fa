// Describes a model as text for the user: `dodyn check FILE.model`.
#pragma once

#include <string>
#include <vector>

#include "systems/hybrid_model.hpp"

namespace dodyn::systems {

// Returns the tables of a model's parts with these values. `contacts`: the model's [contact NAME] and [stop NAME].
std::string description(const Model& model, const Values<double>& values, const std::vector<GapContact>& contacts = {});

}  // namespace dodyn::systems
