// Models with repeated links ([link box_i], count = boxes).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "systems/model.hpp"

namespace dodyn::systems {

// Like read_model(), with other values of the parameters on which counts depend. The model is valid for these counts
// only: evaluate() refuses other values of those parameters.
Model read_model(std::string_view text, const std::string& origin, const std::map<std::string, double>& given);

}  // namespace dodyn::systems
