#pragma once

#include <vector>

#include "settings/key.hpp"

namespace dodyn::evaluators {

std::vector<Key> gait_keys();

}  // namespace dodyn::evaluators
