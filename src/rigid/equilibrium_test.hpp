// Tests whether bodies with zero velocity are in equilibrium: whether contact forces within the friction cones can
// balance all other forces.
#pragma once

#include <vector>

#include "rigid/contact_points.hpp"
#include "rigid/detection.hpp"
#include "rigid/forces.hpp"
#include "rigid/inertia.hpp"

namespace dodyn::rigid {

// The distance within which points count as touching. In a simulation a resting body may hover. The distance of its
// centre is up to the free fall of one step, of its corners up to the free fall of two steps (four times as far).
struct Margin {
  double least = 0.0;  // minimum, m
  double most = 0.0;   // maximum, m: the free fall of two steps, at least `least`
  double step = 0.0;   // time step, s; 0: a continuous motion
};

// Computes how far a world at rest is from equilibrium. The result is the minimum over f >= 0 of |M^(-1/2) (w + G
// f)|/|M^(-1/2) w|. w: the applied generalised forces; G: the edges of the friction cones (in space inscribed pyramids
// of 8 edges). So it is the smallest acceleration that admissible contact forces leave, relative to the acceleration
// without contact. 0: the forces can be balanced, or there are none. By Gauss' principle of least constraint the
// minimum is the acceleration of sticking bodies.
template <int n>
class EquilibriumTest {
 public:
  // The world must outlive the test.
  explicit EquilibriumTest(const World<n>& world);

  // Returns the relative acceleration defined above at these poses and time (s) with zero velocities. Points that are
  // closer than the margin (m) touch.
  double unbalanced(const std::vector<Pose<n>>& poses, double time, const Margin& margin);

 private:
  void add_column(const ContactPoint<n>& point, const Vector<n>& direction, int column);
  int add_constraints(const std::vector<Pose<n>>& poses, const Margin& margin, int column);

  const World<n>* world_;
  Multibody<n> bodies_;
  Inertia<n> inertia_;
  Forces<n> forces_;
  Detection<n> detection_;
  ContactPoints<n> contact_points_;
  std::vector<geometry::Frame<n>> frames_;
  std::vector<ConfigurationGradient<n>> gradient_;
  std::vector<double> radius_;  // radii of the bounding balls, m
  std::vector<Twist<n>> still_, wrench_, fall_;
  Eigen::VectorXd acceleration_;
  std::vector<ContactPoint<n>> points_;
  Eigen::MatrixXd edges_;
  Eigen::VectorXd row_;
  std::vector<Twist<n>> slopes_;
};

// Returns the x >= 0 that minimises |A x - b|, by the active-set method of Lawson and Hanson (Solving Least Squares
// Problems, 1974, chapter 23).
Eigen::VectorXd nonnegative_least_squares(const Eigen::MatrixXd& A, const Eigen::VectorXd& b);

extern template class EquilibriumTest<2>;
extern template class EquilibriumTest<3>;

}  // namespace dodyn::rigid
