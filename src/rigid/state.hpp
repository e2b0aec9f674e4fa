// Where a simulation is, and what it keeps of it.
#pragma once

#include <Eigen/Core>
#include <array>
#include <vector>

#include "rigid/world.hpp"

namespace dodyn::rigid {

// Configuration and momenta at a node.
template <int n>
struct State {
  std::vector<Pose<n>> poses;  // of every body
  Eigen::VectorXd p;           // reduced momenta of all degrees of freedom (multibody.hpp)
};

template <int n>
void frames_of(const std::vector<Pose<n>>& poses, std::vector<geometry::Frame<n>>& out) {
  out.resize(poses.size());
  for (std::size_t b = 0; b < poses.size(); ++b) out[b] = poses[b].frame();
}

template <int n>
struct Energies {
  double kinetic = 0.0, potential = 0.0;  // potential: gravity, charges, users'; of the penalty too
  double total() const { return kinetic + potential; }
};
template <int n>
struct Momenta {
  Vector<n> linear = Vector<n>::Zero();
  Spin<n> angular = Spin<n>::Zero();  // about the origin
};

// An impulse of contact during a step.
template <int n>
struct ContactImpulse {
  std::array<int, 2> body, part;
  Vector<n> point;    // world coordinates, m
  Vector<n> normal;   // unit, from body 2 to body 1
  Vector<n> impulse;  // on body 1 (on body 2 the opposite), world axes, N s
};

// What the decomposition response changed since start(), in sums: subtract from the invariants before judging them.
template <int n>
struct Ledger {
  // By moving overlapping bodies apart, momenta lifted; by the normal impulses of contacts that last; and what forces
  // without potential did along the prediction and not along the motion that came of it.
  Energies<n> projection;
  Momenta<n> momentum;         // the same, of momentum (about the origin)
  double impact = 0.0;         // kinetic energy change by impacts and friction, J: <= 0
  double forces = 0.0;         // work of what has no potential, J: as integrated; by trapezoids in steps with contact
  int impulses = 0, cuts = 0;  // node updates with contact; refined steps
  int energy_limited = 0;      // impacts of islands held back where the law of restitution would have made energy
  double residual = 0.0;       // largest error of a contact's velocity that a solution for impulses left, m/s
};

}  // namespace dodyn::rigid
