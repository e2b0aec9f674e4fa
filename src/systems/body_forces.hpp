// Records springs, energies, forces and actuators of a model as potentials and forces of its world.
#pragma once

#include "systems/bodies.hpp"

namespace dodyn::systems {

// Returns the energy of springs and users' potentials with its gradient.
template <int n>
rigid::Potential<n> recorded_potential(const Bodies<n>& view);

// Limits of a coordinate. Beyond its range a spring and a damper push it back (never pull). Beyond its maximum speed a
// damper brakes it. Angles are known within half a turn.
struct Stop {
  int coordinate = 0;
  double from = 0.0, to = 0.0, speed = 0.0;  // ends of the range, and maximum speed; infinite: none
  double stiffness = 0.0, damping = 0.0;     // N/m and N s/m; for angles N m/rad and N m s/rad
};
constexpr double stop_time = 5e-3;  // time constant of stops, s
// Returns the stops of a tree's ranges. They are critically damped, with the time constant stop_time, for the minimum
// inertia of the coordinate at 16 test postures.
std::vector<Stop> stops_of(const Tree<double>& tree);

// Returns the forces of damping, loads, actuators and stops as wrenches on the bodies. Controls are clipped to the
// actuators' limits; without a `control` they are zero.
template <int n>
rigid::Force<n> recorded_force(const Bodies<n>& view, Control control, const std::vector<Stop>& stops);

// Returns whether a force depends on the control of an actuator.
bool uses_controls(const AppliedForce<double>& force);

// Adds the forces of actuators, and of [force] sections that use controls, to the wrenches of the bodies. u: controls,
// [actuators]. Limits do not apply.
template <int n>
using ActuatorForce = std::function<void(rigid::Frames<n>, std::span<const rigid::Twist<n>>, std::span<const double> u,
                                         std::span<rigid::Twist<n>> wrench)>;
template <int n>
ActuatorForce<n> recorded_actuators(const Bodies<n>& view);

extern template ActuatorForce<2> recorded_actuators(const Bodies<2>&);
extern template ActuatorForce<3> recorded_actuators(const Bodies<3>&);
extern template rigid::Potential<2> recorded_potential(const Bodies<2>&);
extern template rigid::Potential<3> recorded_potential(const Bodies<3>&);
extern template rigid::Force<2> recorded_force(const Bodies<2>&, Control, const std::vector<Stop>&);
extern template rigid::Force<3> recorded_force(const Bodies<3>&, Control, const std::vector<Stop>&);

}  // namespace dodyn::systems
