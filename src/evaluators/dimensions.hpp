// Checks the dimensions of the expressions in a configuration's own sections.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "settings/dimensions.hpp"
#include "settings/settings.hpp"
#include "systems/model.hpp"

namespace dodyn::evaluators {

// Checks the entries of [parameters], [phase NAME], [initial-state], [goal], [require] and similar sections. `model`:
// model of the study; an empty one if the configuration describes its bodies itself. Throws ConfigError, with both
// dimensions, if an expression adds or compares two dimensions, or does not have the dimension of its place, and if a
// number is not finite. Readers of these sections check unknown names. In [cost] only weights with units are checked:
// the cost of a gait must be a number, and all terms of a motion's cost must have the same dimension.
void check_dimensions(const Settings& settings, const systems::Model& model);

// Checks the entries of [metrics] in the same way. Returns their names, units and descriptions; unit "": not known.
// `known`: metrics of the evaluator. `aggregates`: functions of expressions that the entries may use.
std::vector<Quantity> metric_quantities(const Settings& settings, const systems::Model& model,
                                        const std::vector<Quantity>& known, const std::vector<std::string>& aggregates);

// Throws ConfigError, with both dimensions, if the dimension `found` of an entry's value differs from the dimension of
// `unit`.
void expect_unit(const CustomEntry& entry, Dimensions& dimensions, const Measure& found, std::string_view unit);

}  // namespace dodyn::evaluators
