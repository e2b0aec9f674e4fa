// The free and the joined bodies of a world in reduced coordinates: their degrees of freedom (dofs), and the
// configuration updates F_d. Trees of joined bodies use null-space matrices, free bodies do not. Johnson 2013, sections
// 3.2.3 and 3.2.4. Masses and null spaces at a configuration: inertia.hpp.
#pragma once

#include <vector>

#include "rigid/director.hpp"
#include "rigid/world.hpp"

namespace dodyn::rigid {

inline Spin<2> cross(const Vector<2>& a, const Vector<2>& b) { return Spin<2>(a[0] * b[1] - a[1] * b[0]); }
inline Vector<2> cross(const Spin<2>& w, const Vector<2>& r) { return {-w[0] * r[1], w[0] * r[0]}; }
inline Vector<3> cross(const Vector<3>& a, const Vector<3>& b) { return a.cross(b); }

inline void rotate(Pose<2>& pose, const Spin<2>& w) { pose.angle += w[0]; }
inline void rotate(Pose<3>& pose, const Spin<3>& w) { pose.directors = exponential(w) * pose.directors; }

template <int n>
class Multibody {
 public:
  static constexpr int twist = n + (n * (n - 1)) / 2, spin = twist - n;
  using Poses = std::vector<Pose<n>>;
  using Twists = std::vector<Twist<n>>;
  using SpinMatrix = Eigen::Matrix<double, spin, spin>;
  using Jacobian = Eigen::Matrix<double, twist, Eigen::Dynamic>;  // maps the dofs of a tree to the twist of a body

  // Range of a body's dofs; for a joined body the dofs of its whole tree. size 0: a fixed body.
  struct Range {
    int first = 0, size = 0;
  };
  struct Member {
    bool fixed = false;
    int tree = -1, joint = -1;  // tree -1: free or fixed; joint -1: no parent
    Range range;                // dofs of the tree, or of the free body
    int own = 0, own_size = 0;  // dofs that this body adds, relative to the tree's first
    double mass = 0.0;
    Matrix<n> euler_tensor;
    SpinMatrix inertia, inverse;  // inertia in body axes (plane: the polar moment), and its inverse
  };
  struct Tree {
    Range range;
    std::vector<int> bodies;  // parents before children
  };

  // Throws std::invalid_argument if masses, tensors or joints are invalid.
  explicit Multibody(const World<n>& world);

  int size() const { return static_cast<int>(bodies_.size()); }
  int dofs() const { return dofs_; }
  const Member& body(int b) const { return bodies_[b]; }
  const std::vector<Tree>& trees() const { return trees_; }
  bool is_free(int b) const { return bodies_[b].tree < 0 && !bodies_[b].fixed; }
  bool is_fixed(int b) const { return bodies_[b].fixed; }
  bool has_joints() const { return !trees_.empty(); }
  Range range(int b) const { return bodies_[b].range; }
  const Joint<n>& joint(int index) const { return joints_[index]; }
  const std::vector<OneSidedConstraint<n>>& one_sided() const { return one_sided_; }

  // Sets q1 = F_d(u, q0). u: all dofs. q1 must have the size of q0.
  void reparametrise(const Poses& q0, const Eigen::VectorXd& u, Poses& q1) const;
  // Applies q1 = F_d(u, q0) to one tree; u: the dofs of the tree.
  void reparametrise_tree(const Tree& tree, const Poses& q0, const double* u, Poses& q1) const;

  // Computes the Jacobians of the bodies of one tree at q, (3.28), (3.33): out[body] has `twist` rows and one column
  // per dof of the tree.
  void jacobians(const Poses& q, const Tree& tree, std::vector<Jacobian>& out) const;

  // Returns the discrete momentum of a body over the interval (q0, q1): [m dphi; sum E_IJ d_I x d_J^+]/h, in the plane
  // [m dphi; J dtheta]/h. It is P_int^T of both -D1 and D2 of the kinetic discrete Lagrangian.
  Twist<n> interval_momentum(int body, const Pose<n>& q0, const Pose<n>& q1, double h) const;

  // Corrects the drift of rotations off SO(3) by rounding, with one Newton step, and places joined bodies at their
  // joints. No effect in the plane.
  void orthonormalise(Poses& q) const;

  // Returns the largest residual of the internal and joint constraints at q. q0 gives the constants of the joints.
  double constraint_residual(const Poses& q0, const Poses& q) const;

 private:
  void find_trees(const World<n>& world);
  void check_one_sided() const;
  // Places the child according to its joint and the slide displacement (m).
  void place(const Joint<n>& joint, const Poses& q, Pose<n>& child, double slide) const;
  double slide(const Joint<n>& joint, const Poses& q) const;

  std::vector<Member> bodies_;
  std::vector<Tree> trees_;
  std::vector<Joint<n>> joints_;
  std::vector<OneSidedConstraint<n>> one_sided_;
  mutable std::vector<Matrix<3>> rotation_;  // work space of reparametrise()
  int dofs_ = 0;
};

// Returns the derivative of interval_spin() by a further rotation of X1 in world axes: tr(B) I - B, B = X1 E X0^T.
Matrix<3> interval_inertia(const Matrix<3>& E, const Matrix<3>& X0, const Matrix<3>& X1);
// Returns h times the angular momentum of a time step h, in world axes: sum E_IJ d_I x d_J^+. E: Euler tensor; X0, X1:
// directors at the start and at the end of the step.
Vector<3> interval_spin(const Matrix<3>& E, const Matrix<3>& X0, const Matrix<3>& X1);

extern template class Multibody<2>;
extern template class Multibody<3>;

}  // namespace dodyn::rigid
