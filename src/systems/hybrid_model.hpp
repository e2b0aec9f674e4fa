// A model with the contacts, constraints and resets of a hybrid motion (variational/hybrid.hpp).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "systems/model.hpp"

namespace dodyn::systems {

struct GapContact {
  std::string name;
  Formula<Number> gap;                                    // function of positions, m or rad; >= 0
  std::optional<Formula<Number>> slip;                    // position along the surface; nullopt: no friction
  Number restitution = 1.0, friction = 0.0, latch = 0.0;  // latch: if not zero, the contact is bilateral after it has
                                                          // closed
  int line = 0;
};
struct HolonomicConstraint {
  std::string name;
  Formula<Number> zero;  // function that is held at zero
};
struct Reset {
  std::string name;
  // The reset occurs when the guard crosses zero downwards
  Formula<Number> guard;
  std::vector<std::pair<int, Formula<Number>>> coordinates, rates;  // indices and new values of what changes
};
struct StartValue {
  int coordinate = 0;
  bool rate = false;
  Number value;
};
struct HybridParts {
  std::vector<GapContact> contacts;  // [contact NAME] and [stop NAME]
  std::vector<HolonomicConstraint> constraints;
  std::vector<Reset> resets;
  std::vector<StartValue> start;
};
struct HybridModel {
  Model model;
  HybridParts pieces;
};

// Reads a model and its hybrid parts like read_model() with `judge` false.
HybridModel read_hybrid_model(std::string_view text, const std::string& origin);
// Reads a model and its hybrid parts like read_model() with `given` (repetition.hpp): the values are checked.
HybridModel read_hybrid_model(std::string_view text, const std::string& origin,
                              const std::map<std::string, double>& given);

}  // namespace dodyn::systems
