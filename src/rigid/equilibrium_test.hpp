// Whether bodies that stand still would stay: rest is an equilibrium, not a moment without velocity.
#pragma once

#include <vector>

#include "rigid/contact_points.hpp"
#include "rigid/detection.hpp"
#include "rigid/forces.hpp"
#include "rigid/inertia.hpp"

namespace dodyn::rigid {

// The distance within which points count as touching. A body at rest in a simulation may hover: its centre below the fall
// of one step, its corners up to four times as high, the fall of two steps.
struct Margin {
  double least = 0.0;  // m
  double most = 0.0;   // m, of the height that bodies fall from in two steps; at least `least`
  double step = 0.0;   // s; 0: of a continuous motion
};

// Of a world at rest, the least acceleration that contact forces within their friction cones leave, as a share of the one that
// its forces would give without contact: the minimum over f >= 0 of |M^(-1/2) (w + G f)|/|M^(-1/2) w|, w what acts on the degrees of
// freedom and G the edges of the cones (in space pyramids of 8 edges inside them). It is 0 where the forces can be balanced
// and where there are none. By Gauss' principle of least constraint the minimum is the acceleration of bodies that stick.
template <int n>
class EquilibriumTest {
 public:
  // The world must outlive this.
  explicit EquilibriumTest(const World<n>& world);

  // At these poses and time (s), all velocities taken for zero. Points touch that are closer than the margin, m.
  double unbalanced(const std::vector<Pose<n>>& poses, double time, const Margin& margin);

 private:
  void add_column(const ContactPoint<n>& point, const Vector<n>& direction, int column);

  const World<n>* world_;
  Multibody<n> bodies_;
  Inertia<n> inertia_;
  Forces<n> forces_;
  Detection<n> detection_;
  ContactPoints<n> contact_points_;
  std::vector<geometry::Frame<n>> frames_;
  std::vector<ConfigurationGradient<n>> gradient_;
  std::vector<double> radius_;  // of the balls that hold bodies, m
  std::vector<Twist<n>> still_, wrench_, fall_;
  Eigen::VectorXd acceleration_;
  std::vector<ContactPoint<n>> points_;
  Eigen::MatrixXd edges_;
  Eigen::VectorXd row_;
};

// x >= 0 with the least |A x - b|, by Lawson and Hanson's active sets (Solving Least Squares Problems, 1974, chapter 23).
Eigen::VectorXd nonnegative_least_squares(const Eigen::MatrixXd& A, const Eigen::VectorXd& b);

extern template class EquilibriumTest<2>;
extern template class EquilibriumTest<3>;

}  // namespace dodyn::rigid
