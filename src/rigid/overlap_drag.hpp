// Damping for the penalty response: on each overlap g the generalised force -c (dg/dt) dg/dq, c in N s/m, during
// approach and separation. Johnson 2013, section 3.3.4, describes such damping but prints no law. Like the penalty it
// conserves linear and angular momentum. Its power -c (dg/dt)^2 is never positive.
#pragma once

#include <memory>

#include "rigid/detection.hpp"
#include "rigid/forces.hpp"
#include "rigid/multibody.hpp"

namespace dodyn::rigid {

// Has its own contact detection: use each object in one simulation only.
template <int n>
Force<n> overlap_drag(double coefficient, const World<n>& world) {
  struct DragState {
    explicit DragState(const World<n>& w) : world(w), detection(world) {}
    World<n> world;
    Detection<n> detection;
  };
  return [coefficient, state = std::make_shared<DragState>(world)](
             double, Frames<n> at, std::span<const Twist<n>> twist, std::span<Twist<n>> wrench) {
    constexpr int spin = Multibody<n>::spin;
    for (const auto& c : state->detection.find(at)) {
      if (c.gap <= 0.0) continue;
      Twist<n> slope[2];  // dg/dt is the product of this row with the twist
      double rate = 0.0;
      for (int s = 0; s < 2; ++s) {
        const std::size_t b = c.body[s];
        const typename geometry::Contact<n>::Gradient d = geometry::gradient(c, s);
        const ConfigurationGradient<n> g = Eigen::Map<const ConfigurationGradient<n>>(d.data());
        slope[s].template head<n>() = g.col(0);
        slope[s].template tail<spin>() = torque<n>(g, at[b].directors);
        rate += slope[s].dot(twist[b]);
      }
      for (int s = 0; s < 2; ++s) wrench[c.body[s]] -= coefficient * rate * slope[s];
    }
  };
}

}  // namespace dodyn::rigid
