// A force with a state of its own, as a controller has.
//
//   world.forces.push_back(StatefulForceAdapter<n>{controller});   // before the simulation is made; copies of the world share it
//
// Within a step it is a function of time and of the bodies' state, so that steppers may ask as often as they like and
// steps may be cut; its state changes at nodes. A simulation knows such forces by their type.
#pragma once

#include <memory>

#include "rigid/world.hpp"

namespace dodyn::rigid {

template <int n>
class StatefulForce {
 public:
  virtual ~StatefulForce() = default;
  // A step begins at this node.
  virtual void node(double t, std::span<const Pose<n>> poses, std::span<const Twist<n>> twists) = 0;
  // Adds to the wrench of each body, as a Force does.
  virtual void act(double t, Frames<n>, std::span<const Twist<n>>, std::span<Twist<n>> wrench) = 0;
  // The interval from t over h (s), the last one it acted in, is part of the motion. Others were tried and dropped.
  virtual void passed(double t, double h) = 0;
};

template <int n>
struct StatefulForceAdapter {
  std::shared_ptr<StatefulForce<n>> actor;
  void operator()(double t, Frames<n> at, std::span<const Twist<n>> twists, std::span<Twist<n>> wrench) const {
    actor->act(t, at, twists, wrench);
  }
};

}  // namespace dodyn::rigid
