// Penalty contact: a potential C/2 g^2 of each overlap g (3.38), (3.39). An integrator treats it like any other
// potential.
#pragma once

#include "rigid/detection.hpp"

namespace dodyn::rigid {

// `stiffness`: C, N/m. The detection must outlive the potential. Each evaluation moves the detection to new frames.
template <int n>
Potential<n> penalty(double stiffness, Detection<n>& detection) {
  return [stiffness, &detection](Frames<n> at, std::span<ConfigurationGradient<n>> gradient) {
    double V = 0.0;
    for (const auto& c : detection.find(at)) {
      if (c.gap <= 0.0) continue;
      V += 0.5 * stiffness * c.gap * c.gap;
      for (int s = 0; s < 2; ++s) {
        const typename geometry::Contact<n>::Gradient d = geometry::gradient(c, s);
        gradient[c.body[s]] += stiffness * c.gap * Eigen::Map<const ConfigurationGradient<n>>(d.data());
      }
    }
    return V;
  };
}

}  // namespace dodyn::rigid
