// Conserved quantities: energies and momenta of a node, discrete energy of an interval.
#pragma once

#include "rigid/forces.hpp"
#include "rigid/inertia.hpp"

namespace dodyn::rigid {

// Returns the kinetic energy, J, of dof velocities nu and their momenta p.
inline double kinetic_energy(const Eigen::VectorXd& p, const Eigen::VectorXd& nu) { return 0.5 * p.dot(nu); }

// Returns the momenta of all moving bodies in sum. `poses` must be the configuration of `inertia`. nu: dof velocities.
template <int n>
Momenta<n> momenta(const Inertia<n>& inertia, const std::vector<Pose<n>>& poses, const Eigen::VectorXd& nu);

// Returns the discrete energy E_d of an interval of length h (s): kinetic energy of the mean velocities, potential
// energy at the midpoint.
template <int n>
double discrete_energy(const Multibody<n>& bodies, const Forces<n>& forces, const std::vector<Pose<n>>& q0,
                       const std::vector<Pose<n>>& q1, double h);

}  // namespace dodyn::rigid
