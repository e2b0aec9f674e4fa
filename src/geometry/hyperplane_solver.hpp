// Solver of the supporting-separating-hyperplane program (hyperplanes.hpp) for one pair of polytopes at one
// configuration. The simplex method on the dual is in hyperplane_solver.cpp; the choices of minimum norm for non-unique
// optima are in least_norm.cpp.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "geometry/hyperplanes.hpp"
#include "geometry/supporting_corner.hpp"

namespace dodyn::geometry {

template <int n>
class HyperplaneSolver {
  static constexpr int across = n - 1;
  using Across = Eigen::Matrix<double, across, 1>;

 public:
  // beta: unit vector from body 2 to body 1.
  HyperplaneSolver(const Polytope<n>& k1, const Frame<n>& f1, const Polytope<n>& k2, const Frame<n>& f2,
                   const Vector<n>& beta);

  // unbounded: no translation along beta brings the bodies together. not_terminated: pivoting did not terminate (NaN
  // input). With Query::sign the solver ends in separated or overlapping as soon as a separating plane or a face of M
  // proves it.
  enum class Termination { optimal, unbounded, not_terminated, separated, overlapping };
  enum class Query { optimum, sign };
  Termination solve(Basis<n>& basis, Query query = Query::optimum);

  // Reads value, alpha, multipliers and features of the optimum into c. alpha and multipliers that are not unique have
  // minimum norm.
  void read(const Frame<n>& f1, const Frame<n>& f2, Contact<n>& c);

  Vector<n> across_beta() const { return axes_.template leftCols<across>() * t_; }  // (I - beta beta^T) alpha
  Vector<n> alpha() const { return across_beta() + axes_.col(across); }
  double gap() const { return -value_; }  // gap of the optimum of the last solve() or read()
  int passes() const { return passes_; }

 private:
  // A column of the dual: the corner x_i - y_j of the Minkowski difference, in coordinates across beta (z) and along it
  // (mu).
  struct Column {
    Across z;
    double mu;
    int i, j;
    double height(const Across& t) const { return mu + t.dot(z); }
  };

  // Returns the coordinates of a body's corner across beta and along it, from the body's position.
  Vector<n> project(int side, int corner) const { return turned_[side].transpose() * k_[side]->corner(corner); }
  Column column(int i, int j) const {
    const Vector<n> w = project(0, i) - project(1, j) + offset_;
    return {w.template head<across>() - shift_, w[across], i, j};
  }

  Column lowest_column() const { return column(lowest_[0].corner, lowest_[1].corner); }

  // in hyperplane_solver.cpp
  bool begin_at(const Basis<n>& basis);
  Termination simplex(Basis<n>& basis, Query query);
  void keep(Basis<n>& basis) const;
  bool is_certain(double lowest);
  double price();
  double descend();
  void shift(const Across& to);
  double segment(int a, int b, double& u) const;
  double make_basis(Across& direction);
  void replace(const Column& entering);
  void compute_areas();
  void weigh();
  void find_active();
  void list_feature(Contact<n>& c, int side) const;

  // in least_norm.cpp
  void resolve(Contact<n>& c);
  bool least_norm_multipliers();
  bool multipliers_on_support();
  void newton_multipliers();
  bool is_on_line() const;
  void basic_multipliers();
  bool is_well_inside() const;
  void least_norm_slope(int rank, const Across& along);

  std::array<const Polytope<n>*, 2> k_;
  Matrix<n> axes_;                   // columns: directions across beta, then beta
  std::array<Matrix<n>, 2> turned_;  // the axes in body coordinates
  Vector<n> offset_;                 // position of body 1 relative to body 2, in these axes
  Across shift_ = Across::Zero();    // shift of the line against cycling
  bool shifted_ = false;
  double size_, rounding_, feature_;  // sum of radii, rounding error of a height, reach of a feature: m
  int passes_ = 0;                    // number of passes over the corners

  std::array<Column, n> p_;  // basic columns
  int count_ = 0;
  Across t_;          // alpha = beta + t
  Vector<n> weight_;  // weights of the basic columns
  double value_ = 0.0;

  std::array<Support, 2> lowest_;  // result of the last pricing: K1's lowest corner and K2's highest corner
  std::array<std::array<double, max_corners>, 2> heights_;     // heights in the last pass over all corners
  std::array<std::array<std::int16_t, max_corners>, 2> list_;  // indices of the corners on the supporting planes
  std::array<int, 2> active_;                                  // number of corners in each list
  std::array<std::array<double, max_corners>, 2> pi_;          // multipliers of the listed corners
  std::array<std::array<Across, max_corners>, 2> across_;      // coordinates of the listed corners across beta
};

// Returns a x b with full accuracy, even if the products cancel (Kahan's difference of products). Its sign shows
// on which side of an edge the line is.
double cancelled_cross(const Vector<2>& a, const Vector<2>& b);
inline double cross(const Vector<2>& a, const Vector<2>& b) {
  const double first = a[0] * b[1], second = a[1] * b[0], difference = first - second;
  return std::abs(difference) > 1e-6 * (std::abs(first) + std::abs(second)) ? difference : cancelled_cross(a, b);
}

}  // namespace dodyn::geometry
