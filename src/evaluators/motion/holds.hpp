// What a phase of a motion keeps where it is, besides coordinates: [phase NAME] hold, and the model's [constraint NAME].
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dmoc/path_function.hpp"
#include "settings/settings.hpp"
#include "systems/hybrid_model.hpp"

namespace dodyn::evaluators {

struct HeldPlaces {
  // Of the components, as conditions on forces name them: "hand.x" of a point or of a pair's first one, an expression, or the
  // name of a constraint.
  std::vector<std::string> names;
  std::vector<bool> at_zero;  // of constraints; what else is held stays as it is at the phase's first node
  dmoc::NamedPositionFunction function;

  // The component that normal(POINT), tangential(POINT) or reaction(NAME) is the force of; -1: none.
  int component(const Expression::Quantity& force, int dimension) const;
};

// Nothing where a phase holds nothing so. `entry`: the phase's hold, or null; `fixed`: coordinates that it holds at zero.
// Throws ConfigError.
std::optional<HeldPlaces> read_holds(const dmoc::System& system, const std::vector<systems::Wire>& constraints,
                                     const CustomEntry* entry, const std::vector<int>& fixed,
                                     const std::vector<std::string>& parameters);

}  // namespace dodyn::evaluators
