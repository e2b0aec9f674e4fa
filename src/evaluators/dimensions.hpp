// The dimensions of the expressions in a configuration's own sections.
#pragma once

#include "settings/settings.hpp"
#include "systems/model.hpp"

namespace dodyn::evaluators {

// Throws ConfigError, with both dimensions, of an entry of [parameters], [phase NAME], [initial-state], [goal], [require] and
// their like whose expression adds or compares two dimensions, or has not that of its coordinate. Names that are not
// known here are left to the readers of these sections. A [cost] is left out: its weights are numbers without units.
void check_dimensions(const Settings& settings, const systems::Model& model);

}  // namespace dodyn::evaluators
