// Springs, energies, forces and actuators of a model as potentials and forces of its world, recorded.
#pragma once

#include "systems/bodies.hpp"

namespace dodyn::systems {

// The energy of springs and users' potentials with its gradient.
template <int n>
rigid::Potential<n> recorded_potential(const Bodies<n>& view);

// Damping, loads and actuators as wrenches on the bodies.
template <int n>
rigid::Force<n> recorded_force(const Bodies<n>& view, Control control);

extern template rigid::Potential<2> recorded_potential(const Bodies<2>&);
extern template rigid::Potential<3> recorded_potential(const Bodies<3>&);
extern template rigid::Force<2> recorded_force(const Bodies<2>&, Control);
extern template rigid::Force<3> recorded_force(const Bodies<3>&, Control);

}  // namespace dodyn::systems
