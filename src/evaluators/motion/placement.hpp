// Placements: pose and velocity of links at the start and the goal of a motion, from the configuration.
//
//   chaser = pose 0.2 0.1 0, turn z 180 deg, rest
//   chaser from target = pose 0 0.1 0, turn z 90 deg
//   cube = place free 0.1..0.2 0, velocity 0 -0.25 0, spin 0 0 0
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dmoc/link_rows.hpp"
#include "settings/settings.hpp"

namespace dodyn::evaluators {

struct Placement {
  int link = 0, from = -1;
  std::array<std::optional<std::pair<Expression, Expression>>, 3> place;  // ranges of the coordinates, m; nullopt: free
  bool attitude = false;
  std::vector<std::pair<int, Expression>> turns;  // successive rotations about the link's own axes: axis and angle, rad
  std::optional<std::array<Expression, 3>> velocity, spin;
  std::string source;
  bool moves() const { return velocity || spin; }
};

// Whether an entry's key is a link, or a link `from` another one.
bool is_placement(const CustomEntry& entry, const dmoc::System& system);
// Returns the expressions in the clauses of a placement with their units: {"2*side", "m"}.
std::vector<std::pair<std::string, std::string>> quantities_of(const std::string& value);
// Parses a placement. `read`: parses an expression of parameters; throws an exception with the error. Throws
// ConfigError.
Placement read_placement(const CustomEntry& entry, const dmoc::System& system,
                         const std::function<Expression(const std::string&)>& read);

using Evaluate = std::function<dmoc::Coefficient(const Expression&)>;
dmoc::LinkPose pose_of(const Placement& placement, const Evaluate& evaluate, int dimension);
dmoc::LinkTwist twist_of(const Placement& placement, const Evaluate& evaluate);

// Sets the coordinates of the placed links in q, [n]: positions of links on the ground whose joint begins with
// translations along all axes, in 2D also their angles, and attitudes of links on spherical joints. Placements of other
// links have no effect here. Unset components keep their values; a range sets its middle.
void put(const std::vector<Placement>& placements, const Evaluate& evaluate, const dmoc::System& system,
         const systems::Tree<double>& tree, Eigen::VectorXd& q);

}  // namespace dodyn::evaluators
