// The state of a simulation, and its conserved quantities.
#pragma once

#include <Eigen/Core>
#include <array>
#include <vector>

#include "rigid/world.hpp"

namespace dodyn::rigid {

// Configuration and momenta at a node.
template <int n>
struct State {
  std::vector<Pose<n>> poses;  // [bodies]
  Eigen::VectorXd p;           // reduced momenta of all degrees of freedom (multibody.hpp)
};

template <int n>
void frames_of(const std::vector<Pose<n>>& poses, std::vector<geometry::Frame<n>>& out) {
  out.resize(poses.size());
  for (std::size_t b = 0; b < poses.size(); ++b) out[b] = poses[b].frame();
}

template <int n>
struct Energies {
  double kinetic = 0.0, potential = 0.0;  // potential: of gravity, charges, users' potentials and the penalty
  double total() const { return kinetic + potential; }
};
template <int n>
struct Momenta {
  Vector<n> linear = Vector<n>::Zero();
  Spin<n> angular = Spin<n>::Zero();  // about the origin
};

// A contact impulse during a step.
template <int n>
struct ContactImpulse {
  std::array<int, 2> body, part;
  Vector<n> point;               // world coordinates, m
  Vector<n> normal;              // unit, from body 2 to body 1
  Vector<n> impulse;             // impulse on body 1 (opposite on body 2), world axes, N s
  std::array<Vector<n>, 2> arm;  // vectors from each body's centre of mass at the impact to the point, m
};

// The impulse of a one-sided constraint on one of its bodies during a step: [N s; N m s about the centre of mass],
// world axes.
template <int n>
struct ConstraintImpulse {
  int constraint = -1, body = -1;
  Twist<n> impulse;
};

// Sums of the changes by contact since start(). Subtract them from the invariants to test conservation.
template <int n>
struct ContactTotals {
  // Energy change by three causes: the projection and lift of overlapping bodies; normal impulses of lasting contacts;
  // and the difference in work of forces without potential between the prediction and the corrected motion.
  Energies<n> projection;
  Momenta<n> momentum;         // change of momentum by the projection (about the origin)
  double impact = 0.0;         // kinetic energy change by impacts and friction, J: <= 0
  double forces = 0.0;         // work of forces without potential, J: as integrated; in steps with contact by the
                               // trapezoidal rule
  int impulses = 0, cuts = 0;  // number of intervals with contact impulses (`exact`: of impacts); number of cuts
  int energy_limited = 0;      // island impacts that were limited because the law of restitution would have increased
                               // the energy
  double residual = 0.0;       // largest error of a contact velocity after an impulse solution, m/s
};

}  // namespace dodyn::rigid
