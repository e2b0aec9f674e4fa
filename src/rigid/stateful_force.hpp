// A force with an internal state, such as a controller.
//
//   world.forces.push_back(StatefulForceAdapter<n>{controller});   // before the simulation is made
//
// Copies of the world share the force. Within a step the force is a function of time and the bodies' state. So
// integrators may evaluate it repeatedly, and steps may be cut. Its internal state changes only at nodes. A simulation
// recognises such forces by their type.
#pragma once

#include <memory>

#include "rigid/world.hpp"

namespace dodyn::rigid {

template <int n>
class StatefulForce {
 public:
  virtual ~StatefulForce() = default;
  // Called at each node, at the start of a step.
  virtual void node(double t, std::span<const Pose<n>> poses, std::span<const Twist<n>> twists) = 0;
  // Adds to the wrench of each body, like a Force.
  virtual void act(double t, Frames<n>, std::span<const Twist<n>>, std::span<Twist<n>> wrench) = 0;
  // Called when the interval from t over h (s), the last one evaluated, is accepted. Other intervals were rejected.
  virtual void passed(double t, double h) = 0;
  // Called after passed() if contact has corrected the motion of that interval of h (s), with the state at its end.
  // Returns the change (J) of the force's own sum of work, to which passed() added the work along the predicted motion.
  virtual double corrected(double, std::span<const Pose<n>>, std::span<const Twist<n>>) { return 0.0; }
};

template <int n>
struct StatefulForceAdapter {
  std::shared_ptr<StatefulForce<n>> actor;
  void operator()(double t, Frames<n> at, std::span<const Twist<n>> twists, std::span<Twist<n>> wrench) const {
    actor->act(t, at, twists, wrench);
  }
};

}  // namespace dodyn::rigid
