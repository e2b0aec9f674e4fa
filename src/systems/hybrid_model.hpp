// A model with what makes the motion of its variational view one in pieces (variational/hybrid.hpp).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "systems/model.hpp"

namespace dodyn::systems {

struct GapContact {
  std::string name;
  Formula<Number> gap;                                    // of positions, m or rad: not negative
  std::optional<Formula<Number>> slip;                    // position along the surface; none: no friction
  Number restitution = 1.0, friction = 0.0, latch = 0.0;  // latch: not zero, it pulls too once it is closed
  int line = 0;
};
struct Wire {
  std::string name;
  Formula<Number> zero;  // held at zero
};
struct Reset {
  std::string name;
  Formula<Number> guard;                                            // it happens where this falls through zero
  std::vector<std::pair<int, Formula<Number>>> coordinates, rates;  // their new values, of some of them
};
struct StartValue {
  int coordinate = 0;
  bool rate = false;
  Number value;
};
struct HybridParts {
  std::vector<GapContact> contacts;  // [contact NAME] and [stop NAME]
  std::vector<Wire> constraints;
  std::vector<Reset> resets;
  std::vector<StartValue> start;
};
struct HybridModel {
  Model model;
  HybridParts pieces;
};

// As read_model() with `judge` false.
HybridModel read_piece_model(std::string_view text, const std::string& origin);

}  // namespace dodyn::systems
