// Contacts of deformable and rigid bodies as rows: the gradient of each overlap with respect to nodes and rigid bodies, in the
// metric of their masses, and impulses that keep them from growing.
#pragma once

#include <array>
#include <vector>

#include "elastic/elements.hpp"
#include "geometry/contact.hpp"
#include "rigid/multibody.hpp"

namespace dodyn::elastic {

// One overlap g. Each side is nodes, or one rigid body that moves, or nothing (a wall).
template <int n>
struct ContactRow {
  struct Node {
    int node;
    double mass;         // kg
    Vector<n> gradient;  // dg/dx
  };
  struct Body {
    int body = -1;
    rigid::Twist<n> gradient;  // dg/dt = gradient . twist
    rigid::Twist<n> response;  // twist that a unit impulse along `gradient` gives
  };
  double gap = 0.0;  // m
  std::vector<Node> nodes;
  std::array<Body, 2> bodies;
  double inverse_mass = 0.0;  // G M^-1 G^T, 1/kg
};

// Velocities that rows act on.
template <int n>
struct Rates {
  Nodes<n>& nodes;
  std::vector<rigid::Twist<n>>& bodies;
};
template <int n>
double rate(const ContactRow<n>& row, const Rates<n>& rates);

// Smallest impulses r >= 0 along -dg/dq after which no row's rate exceeds its limit, by sweeps over the rows (projected
// Gauss-Seidel); where r > 0 the rate is the limit. False: not to `tolerance` within `most` sweeps.
template <int n>
bool push_apart(const std::vector<ContactRow<n>>& rows, const std::vector<double>& limits, double tolerance, int most,
                const Rates<n>& rates);

}  // namespace dodyn::elastic
