// Reads what a phase of a motion holds besides coordinates: [phase NAME] hold, and the model's [constraint NAME].
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dmoc/path_function.hpp"
#include "settings/settings.hpp"
#include "systems/hybrid_model.hpp"

namespace dodyn::evaluators {

struct HeldPlaces {
  // [size] names of the components, by which conditions refer to their forces: "hand.x" of a point or of the first point of
  // a pair, an expression, or the name of a constraint
  std::vector<std::string> names;
  std::vector<bool> at_zero;  // [size] of constraints; other components keep their values at the phase's first node
  dmoc::NamedPositionFunction function;

  // Whether an earlier phase has all components of this one.
  bool continues(const HeldPlaces& before) const;
  // Returns the component whose force is normal(POINT), tangential(POINT) or reaction(NAME); -1: none.
  int component(const Expression::Quantity& force, int dimension) const;
};

// Returns nothing if the phase has no holds. `entry`: its key hold, or null; `fixed`: its coordinates that are fixed at zero;
// `parameters`: names that expressions may use besides the model's. Throws ConfigError.
std::optional<HeldPlaces> read_holds(const dmoc::System& system, const std::vector<systems::Wire>& constraints,
                                     const CustomEntry* entry, const std::vector<int>& fixed,
                                     const std::vector<std::string>& parameters);

}  // namespace dodyn::evaluators
