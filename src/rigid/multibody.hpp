// The free and the joined bodies of a world in reduced coordinates: dof velocities nu (of a free body its twist),
// reduced momenta p = M_red nu, and configuration updates F_d. Trees of joined bodies carry null-space matrices; free
// bodies go without. Johnson 2013, sections 3.2.3 and 3.2.4.
#pragma once

#include <Eigen/Cholesky>
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
  // Where a body's dofs stand: of a joined body those of its whole tree. size 0: a fixed body.
  struct Range {
    int first = 0, size = 0;
  };

  // Throws std::invalid_argument where masses, tensors or joints make no sense.
  explicit Multibody(const World<n>& world);

  int size() const { return static_cast<int>(bodies_.size()); }
  int dofs() const { return dofs_; }
  bool is_free(int body) const { return bodies_[body].tree < 0 && !bodies_[body].fixed; }
  bool is_fixed(int body) const { return bodies_[body].fixed; }
  bool has_joints() const { return !trees_.empty(); }
  Range range(int body) const { return bodies_[body].range; }

  // q1 = F_d(u, q0)
  void reparametrise(const Poses& q0, const Eigen::VectorXd& u, Poses& q1) const;

  // Null-space and mass matrices at q; what follows refers to the last call.
  void set(const Poses& q);
  const Vector<n>& position(int body) const { return bodies_[body].position; }
  // P_ext^T w: the dofs' share of a wrench or a momentum at a body, range(body).size numbers
  void reduce(int body, const Twist<n>& w, double* out) const;
  void velocity(const Eigen::VectorXd& p, Eigen::VectorXd& nu) const;  // M_red^-1 p
  void solve(int body, double* x) const;                               // the same for one range, in place
  void momentum(const Eigen::VectorXd& nu, Eigen::VectorXd& p) const;  // M_red nu
  Eigen::MatrixXd mass_matrix(int body) const;                         // M_red of range(body)
  void twists(const Eigen::VectorXd& nu, Twists& out) const;
  void dof_velocities(const Twists& in, Eigen::VectorXd& nu) const;  // of twists that agree with the joints
  double kinetic(const Eigen::VectorXd& p, const Eigen::VectorXd& nu) const { return 0.5 * p.dot(nu); }
  // [momentum; angular momentum about the centre of mass] of a body with this twist
  Twist<n> body_momentum(int body, const Twist<n>& velocity) const;

  // Discrete momentum of each body over the interval (q0, q1): [m dphi; sum E_IJ d_I x d_J^+]/h, in the plane
  // [m dphi; J dtheta]/h. It is P_int^T of both -D1 and D2 of the kinetic discrete Lagrangian.
  Twist<n> interval_momentum(int body, const Pose<n>& q0, const Pose<n>& q1, double h) const;

  // Solves sum over bodies of J_b(q0)^T interval_momentum(b) = p for q1; q1 holds the guess. `set(q0)` must precede.
  // False if Newton's method does not converge. Of a free body the solution is direct in all but the spatial rotation.
  bool advance(const Poses& q0, const Eigen::VectorXd& p, double h, Poses& q1);

  // Largest residual of the internal and joint constraints, given the constants of the joints at the start.
  double constraint_residual(const Poses& q) const;
  void remember_joints(const Poses& q);
  void orthonormalise(Poses& q) const;

  double mass(int body) const { return bodies_[body].mass; }
  const Matrix<n>& euler_tensor(int body) const { return bodies_[body].euler_tensor; }
  auto body_inertia(int body) const { return bodies_[body].inertia; }

 private:
  using SpinMatrix = Eigen::Matrix<double, spin, spin>;
  using Jacobian = Eigen::Matrix<double, twist, Eigen::Dynamic>;
  struct Member {
    bool fixed = false;
    int tree = -1, joint = -1;
    Range range;                // of the tree, or of the free body
    int own = 0, own_size = 0;  // dofs that this body adds, counted from the tree's first
    double mass = 0.0;
    Vector<n> position = Vector<n>::Zero();  // at the configuration of set()
    Matrix<n> euler_tensor;
    SpinMatrix inertia, inverse;              // body axes (the plane: the polar moment)
    SpinMatrix world_inertia, world_inverse;  // at the configuration of set()
    Jacobian jacobian;                        // twist of this body by the tree's dofs; joined bodies only
  };
  struct Tree {
    Range range;
    std::vector<int> bodies;  // parents first
    Eigen::MatrixXd mass;
    Eigen::LLT<Eigen::MatrixXd> factor;
  };

  void jacobians(const Poses& q, const Tree& tree, std::vector<Jacobian>& out) const;
  bool advance_tree(const Poses& q0, const Eigen::VectorXd& p, double h, const Tree& tree, Poses& q1);
  void place(const Joint<n>& joint, const Poses& q, Pose<n>& child) const;
  void reparametrise_tree(const Tree& tree, const Poses& q0, const double* u, Poses& q1) const;

  std::vector<Member> bodies_;
  std::vector<Tree> trees_;
  std::vector<Joint<n>> joints_;
  std::vector<Vector<n>> axis_in_child_;  // of each revolute joint, child's coordinates, at the start
  std::vector<Jacobian> scratch_;
  mutable std::vector<Matrix<3>> rotation_;
  int dofs_ = 0;
};

extern template class Multibody<2>;
extern template class Multibody<3>;

}  // namespace dodyn::rigid
