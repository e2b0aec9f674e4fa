// Contacts of deformable and rigid bodies as rows: gradients of the overlaps with respect to nodes and rigid bodies, in
// the metric of their masses. Computes impulses that prevent the growth of overlaps.
#pragma once

#include <array>
#include <vector>

#include "elastic/elements.hpp"
#include "geometry/contact.hpp"
#include "rigid/multibody.hpp"

namespace dodyn::elastic {

// One overlap g. Each side is a set of nodes, a moving rigid body, or a wall (empty).
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
    rigid::Twist<n> response;  // twist by a unit impulse along `gradient`
  };
  double gap = 0.0;  // overlap, m
  std::vector<Node> nodes;
  std::array<Body, 2> bodies;
  double inverse_mass = 0.0;  // G M^-1 G^T, 1/kg
};

// The velocities on which rows act.
template <int n>
struct Rates {
  Nodes<n>& nodes;
  std::vector<rigid::Twist<n>>& bodies;
};
// Returns dg/dt, m/s; positive: the overlap grows.
template <int n>
double rate(const ContactRow<n>& row, const Rates<n>& rates);

// Applies impulses r >= 0 along -dg/dq to `rates`, after which no row's rate exceeds its limit; if r > 0 the rate
// equals the limit. Sweeps over the rows (projected Gauss-Seidel). `limits`: [rows], m/s. Returns false if the changes
// of the rates do not fall to `tolerance` (m/s) within `most` sweeps; the impulses are then applied, too.
template <int n>
bool push_apart(const std::vector<ContactRow<n>>& rows, const std::vector<double>& limits, double tolerance, int most,
                const Rates<n>& rates);

}  // namespace dodyn::elastic
