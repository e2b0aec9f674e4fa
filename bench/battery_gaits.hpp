// The gaits of the battery: six kinds of problems with the masses of the source and a free knee position.
#pragma once

#include <memory>
#include <string>

#include "dmoc/gait.hpp"

namespace dodyn::bench {

inline constexpr int gait_kinds = 6;
inline const char* const gait_kind_names[gait_kinds] = {
    "squared torque",           "squared torque, knee stops",    "bounded work",
    "bounded work, knee stops", "underactuated, squared torque", "underactuated, bounded work"};

// `shank`: m.
inline dmoc::WalkerGait battery_gait(int kind, double shank, int intervals = 80) {
  const bool work = kind == 2 || kind == 3 || kind == 5, underactuated = kind >= 4;
  dmoc::GaitSettings s;  // squared torque
  s.intervals = intervals;
  if (work) {
    s.absolute_work = 1.0;
    s.squared_torque = 0.02;
    s.torque_limit = underactuated ? 40.0 : 20.0;
    s.friction = 0.8;
  }
  s.knee_stops = kind == 1 || kind == 3;
  static const auto walker = [](const std::string& name) {
    systems::Model model = systems::find_model(name);
    model.structure.ranges.clear();
    return std::make_shared<const dmoc::Walker>(std::move(model));
  };
  static const auto planar = walker("planar-biped"), other = walker("planar-underactuated");
  const auto& w = underactuated ? other : planar;
  return dmoc::WalkerGait(w, w->numbers({{"knee", shank}}), s);
}

}  // namespace dodyn::bench
