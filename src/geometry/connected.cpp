#include "geometry/connected.hpp"

#include <algorithm>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "geometry/hyperplanes.hpp"

namespace dodyn::geometry {

// Grows a set from the first part by touching parts. Parts that remain are disconnected.
template <int n>
void require_connected(const std::string& name, const std::vector<Polytope<n>>& parts) {
  std::vector<std::size_t> reached{0};
  std::vector<bool> seen(parts.size(), false);
  std::vector<double> gap(parts.size(), std::numeric_limits<double>::infinity());
  seen[0] = true;
  for (std::size_t next = 0; next < reached.size(); ++next)
    for (std::size_t j = 0; j < parts.size(); ++j) {
      if (seen[j]) continue;
      const Polytope<n>& part = parts[reached[next]];
      Basis<n> basis;
      gap[j] = std::min(gap[j], find_distance(part, Frame<n>{}, parts[j], Frame<n>{}, basis).distance);
      if (gap[j] > 1e-6 * std::min(part.radius(), parts[j].radius())) continue;
      seen[j] = true;
      reached.push_back(j);
    }
  for (std::size_t j = 0; j < parts.size(); ++j)
    if (!seen[j]) {
      std::ostringstream what;
      what << "body " << name << ": parts leave a gap: part " << j + 1 << " of " << parts.size() << " is " << gap[j]
           << " m away from those connected to part 1; parts must touch or overlap";
      throw std::invalid_argument(what.str());
    }
}

template void require_connected(const std::string&, const std::vector<Polytope<2>>&);
template void require_connected(const std::string&, const std::vector<Polytope<3>>&);

}  // namespace dodyn::geometry
