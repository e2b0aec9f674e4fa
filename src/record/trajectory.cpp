#include "record/trajectory.hpp"

#include <algorithm>

namespace dodyn {

Eigen::VectorXd costs_of_states(const Channels& channels, const Trajectory& trajectory) {
  for (std::size_t i = 0; i < channels.size() && i < trajectory.values.size(); ++i) {
    if (channels[i].name != channel_of_states) continue;
    const auto& names = channels[i].coordinates;
    const auto at = std::ranges::find(names, cost_of_state);
    if (at == names.end()) continue;
    Eigen::VectorXd costs = trajectory.values[i].col(at - names.begin());
    return costs.allFinite() ? costs : Eigen::VectorXd();
  }
  return {};
}

}  // namespace dodyn
