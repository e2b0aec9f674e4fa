// Describes a model as text for the user: `dodyn check FILE.model`.
#pragma once

#include <string>

#include "systems/model.hpp"

namespace dodyn::systems {

std::string description(const Model& model, const Values<double>& values);

}  // namespace dodyn::systems
