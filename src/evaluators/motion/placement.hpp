// Where links are and how they move at the start and the goal of a motion, as the configuration says it.
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
  std::array<std::optional<std::pair<Expression, Expression>>, 3> place;  // m; none: free
  bool attitude = false;
  std::vector<std::pair<int, Expression>> turns;  // one after the other about the link's own axes, rad
  std::optional<std::array<Expression, 3>> velocity, spin;
  std::string source;
  bool moves() const { return velocity || spin; }
};

// Whether an entry's key names a link, alone or `from` another one.
bool is_placement(const CustomEntry& entry, const dmoc::System& system);
// `read`: an expression of parameters, or an exception that says what is wrong with it. Throws ConfigError.
Placement read_placement(const CustomEntry& entry, const dmoc::System& system,
                         const std::function<Expression(const std::string&)>& read);

using Evaluate = std::function<dmoc::Coefficient(const Expression&)>;
dmoc::LinkPose pose_of(const Placement& placement, const Evaluate& evaluate, int dimension);
dmoc::LinkTwist twist_of(const Placement& placement, const Evaluate& evaluate);

// Puts links where placements say, as far as a link that moves freely can be put there, and turns those on joints of three
// turns: sets their coordinates in q, [n].
// Components that are free stay; ranges become their middles.
void put(const std::vector<Placement>& placements, const Evaluate& evaluate, const dmoc::System& system,
         const systems::Tree<double>& tree, Eigen::VectorXd& q);

}  // namespace dodyn::evaluators
