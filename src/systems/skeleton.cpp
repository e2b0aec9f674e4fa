#include "systems/skeleton.hpp"

#include <algorithm>
#include <array>

namespace dodyn::systems {

std::vector<std::string> joined_points(const Tree<Number>& tree, const std::string& root) {
  const auto is_zero = [](const std::array<Number, 3>& place) {
    return std::ranges::all_of(place, [](const Number& x) { return x.is_zero(); });
  };
  const auto is_same = [](const std::array<Number, 3>& one, const std::array<Number, 3>& other) {
    return std::equal(one.begin(), one.end(), other.begin(), [](const Number& a, const Number& b) {
      return a.index == b.index && (a.index >= 0 || a.constant == b.constant);
    });
  };
  std::vector<std::string> origins, joined;  // origins: names of the points at each link's joint, empty if there is
                                             // none
  for (const auto& link : tree.links) {
    std::string origin;
    if (link.parent >= 0) {
      const std::size_t parent = link.parent;
      if (is_same(link.at, tree.links[parent].end))
        origin = tree.links[parent].name + "_end";
      else if (is_zero(link.at))
        origin = origins[parent];
    } else if (origins.empty()) {
      origin = root;
    }
    origins.push_back(origin);
    if (origin.empty() || is_zero(link.end)) continue;
    joined.push_back(origin);
    joined.push_back(link.name + "_end");
  }
  return joined;
}

}  // namespace dodyn::systems
