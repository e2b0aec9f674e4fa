// The potential of many charges (3.51) by a tree of bodies: near charges in pairs, far ones by expansions about the
// centres of groups.
//
// Two groups at the distance R have the energy
//
//   V = K sum over |m| + |k| <= order of (-1)^|k| M_m N_k D_{m+k}(R),   M_m = sum q x^m / m!,   D_m = d^m (1/R),
//
// m and k multi-indices, x from the centre of the group. Each gradient is that of this V with fixed centres, so that
// the forces between two groups are opposite (Dehnen 2002). Groups are expanded if the truncation error, estimated by
// the norms of their moments, is at most `accuracy` times the sum of the magnitudes K |q q'| / R^2 of their forces. So
// the error of a force is at most that fraction of the sum of the magnitudes of its terms. Neutral bodies have small
// moments and are expanded at short distances.
#pragma once

#include <array>
#include <vector>

#include "rigid/world.hpp"

namespace dodyn::rigid {

template <int n>
class ChargeTree {
 public:
  static constexpr double accuracy = 1e-4;

  // The world must outlive the tree. Pairs of charges on one body, or on two fixed bodies, do not count.
  explicit ChargeTree(const World<n>& world);

  // Returns V (J) at these frames, which need not be rotations. Adds dV/dq of each body.
  double potential(Frames<n> at, std::span<ConfigurationGradient<n>> gradient);

 private:
  static constexpr int order = 5, most_in_leaf = 2;  // order of the moments; number of bodies in a leaf
  static constexpr int size = (order + 1) * (order + 2) * (order + 3) / 6;
  using Coefficients = std::array<double, size>;
  struct ChargedBody {      // A body with charges.
    int body, first, last;  // first and last: range of its charges in `own_`
    Vector<3> middle;
  };
  struct Cell {
    int first, last;      // range of bodies in tree order
    int charge, charges;  // first charge in tree order, and number of charges
    int child = -1;       // first child, -1: a leaf; the second child follows from `second`
    int second = -1;
    Vector<3> middle;
    double radius, magnitude;            // magnitude: sum of |q|
    std::array<double, order + 4> norm;  // norms of the moments by order; bounds above `order`
    Coefficients moment, local;
  };
  int build(int first, int last);
  void gather(Cell& cell);
  void interact(int a, int b);
  void within(int a);
  void direct(int first, int last, int other, int other_last);
  void expand(Cell& a, Cell& b, const Vector<3>& apart);
  void hand_down(int cell);
  bool far(const Cell& a, const Cell& b, double distance) const;

  const World<n>* world_;
  std::vector<int> own_;  // charges grouped by body
  std::vector<ChargedBody> bodies_;
  int moving_ = 0;  // number of bodies that are not fixed; they come first
  std::vector<Cell> cells_;
  std::vector<Vector<3>> place_;                // [charges of the world]
  std::vector<int> sorted_;                     // charges in tree order
  std::vector<double> x_[3], q_, gradient_[3];  // in tree order
  std::vector<int> start_;                      // first charge of each body in tree order
  double energy_ = 0.0;
};

extern template class ChargeTree<2>;
extern template class ChargeTree<3>;

}  // namespace dodyn::rigid
