// What a motion keeps: energies and momenta of a node, discrete energy of an interval.
#pragma once

#include "rigid/forces.hpp"
#include "rigid/inertia.hpp"

namespace dodyn::rigid {

// J, of dof velocities nu and momenta p that belong together.
inline double kinetic_energy(const Eigen::VectorXd& p, const Eigen::VectorXd& nu) { return 0.5 * p.dot(nu); }

// Sums over all moving bodies at these poses, those of `inertia`, with dof velocities nu.
template <int n>
Momenta<n> momenta(const Inertia<n>& inertia, const std::vector<Pose<n>>& poses, const Eigen::VectorXd& nu);

// Discrete energy E_d of an interval of length h (s): kinetic of the mean velocities, potential at the middle.
template <int n>
double discrete_energy(const Multibody<n>& bodies, const Forces<n>& forces, const std::vector<Pose<n>>& q0,
                       const std::vector<Pose<n>>& q1, double h);

}  // namespace dodyn::rigid
