// The potential of many charges (3.51) by a tree of bodies: near ones in pairs, far ones by expansions about the middles
// of groups.
//
// Two groups at the distance R exchange the energy
//
//   V = K sum over |m| + |k| <= order of (-1)^|k| M_m N_k D_{m+k}(R),   M_m = sum q x^m / m!,   D_m = d^m (1/R),
//
// m and k multi-indices, x from the middle of the group; each gradient is that of this V with the middles held, so that
// every two groups push each other by opposite forces (Dehnen 2002). Groups are taken as a whole where what the
// expansion leaves out, estimated by the norms of their moments, is at most `accuracy` of the sum of the magnitudes
// K |q q'| / R^2 of their forces. The error of a force is therefore at most that share of the sum of the magnitudes
// of its parts. Neutral bodies have small moments and are grouped at short distance.
#pragma once

#include <array>
#include <vector>

#include "rigid/world.hpp"

namespace dodyn::rigid {

template <int n>
class ChargeTree {
 public:
  static constexpr double accuracy = 1e-4;

  // The world must outlive this. Pairs of charges on one body, or on two fixed ones, do not count.
  explicit ChargeTree(const World<n>& world);

  // V (J) at these frames, which need not be rotations; adds dV/dq of each body.
  double potential(Frames<n> at, std::span<ConfigurationGradient<n>> gradient);

 private:
  static constexpr int order = 5, most_in_leaf = 2;  // of moments; bodies in a leaf
  static constexpr int size = (order + 1) * (order + 2) * (order + 3) / 6;
  using Coefficients = std::array<double, size>;
  struct Charged {          // a body
    int body, first, last;  // of its charges, as `own_` has them
    Vector<3> middle;
  };
  struct Cell {
    int first, last;      // of moments; bodies in a leaf in tree order
    int charge, charges;  // first charge in tree order, number
    int child = -1;       // the other one follows from `second`
    int second = -1;
    Vector<3> middle;
    double radius, magnitude;            // sum of |q|
    std::array<double, order + 4> norm;  // of the moments of each order, those beyond `order` bounded
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
  std::vector<int> own_;  // charges, body by body
  std::vector<Charged> bodies_;
  int moving_ = 0;  // of moments; bodies in a leaf that are not fixed come first
  std::vector<Cell> cells_;
  std::vector<Vector<3>> place_;                // by charge of the world
  std::vector<int> sorted_;                     // charges in tree order
  std::vector<double> x_[3], q_, gradient_[3];  // in tree order
  std::vector<int> start_;                      // first charge of each body, in tree order
  double energy_ = 0.0;
};

extern template class ChargeTree<2>;
extern template class ChargeTree<3>;

}  // namespace dodyn::rigid
