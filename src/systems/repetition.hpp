// Models with links that are there several times ([link box_i], count = boxes).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "systems/model.hpp"

namespace dodyn::systems {

// read_model() where these parameters, which counts may speak of, are not what the text says. A model is for the counts
// that it was read with: other values of those parameters are refused by evaluate().
Model read_model(std::string_view text, const std::string& origin, const std::map<std::string, double>& given);

}  // namespace dodyn::systems
