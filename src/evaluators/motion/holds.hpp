// Reads the points and expressions that a phase holds constant: `hold` of [phase NAME], and the model's [constraint
// NAME].
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dmoc/path_function.hpp"
#include "settings/settings.hpp"
#include "systems/hybrid_model.hpp"

namespace dodyn::evaluators {

struct HeldPlaces {
  // [size] names of the components, by which conditions refer to their forces: "hand.x" for a point or the first point
  // of a pair, an expression, or the name of a constraint
  std::vector<std::string> names;
  std::vector<bool> at_zero;            // [size] true: a constraint; false: the value at the phase's first node is kept
  std::vector<Expression> expressions;  // [size]
  dmoc::NamedPositionFunction function;

  // Returns the names for messages: the constraints, and "hold in [phase NAME]" if there are others.
  std::string described(const std::string& phase) const;
  // Returns whether the earlier phase holds all components of this one, too.
  bool continues(const HeldPlaces& before) const;
  // Returns the index of the component whose force is normal(POINT), tangential(POINT) or reaction(NAME); -1: none.
  int component(const Expression::Quantity& force, int dimension) const;
};

// Reads the holds of a phase; nullopt: it has none. `entry`: its key hold, or null. `fixed`: its coordinates that are
// fixed at zero. `parameters`: names that expressions may use in addition to the model's. Throws ConfigError.
std::optional<HeldPlaces> read_holds(const dmoc::System& system,
                                     const std::vector<systems::HolonomicConstraint>& constraints,
                                     const CustomEntry* entry, const std::vector<int>& fixed,
                                     const std::vector<std::string>& parameters);

}  // namespace dodyn::evaluators
