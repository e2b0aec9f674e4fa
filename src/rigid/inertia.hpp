// A multibody at one configuration: its null-space and mass matrices. Relates velocities nu of the degrees of freedom,
// dofs (of a free body its twist), to reduced momenta p = M_red nu. Johnson 2013, sections 3.2.3 and 3.2.4.
#pragma once

#include <Eigen/Cholesky>
#include <vector>

#include "rigid/multibody.hpp"

namespace dodyn::rigid {

template <int n>
class Inertia {
 public:
  static constexpr int twist_size = Multibody<n>::twist, spin = Multibody<n>::spin;
  using Poses = std::vector<Pose<n>>;
  using Twists = std::vector<Twist<n>>;

  // The multibody must outlive this object.
  explicit Inertia(const Multibody<n>& bodies);
  Inertia(const Multibody<n>& bodies, const Poses& q) : Inertia(bodies) { set(q); }

  // Sets the configuration for all functions below.
  void set(const Poses& q);

  const Multibody<n>& bodies() const { return *bodies_; }
  // Returns the poses of set(); empty if there are no one-sided constraints.
  const Poses& poses() const { return poses_; }
  const Vector<n>& position(int body) const { return at_[body].position; }

  // Computes P_ext^T w: projects a wrench or a momentum of a body on to the dofs, range(body).size numbers.
  void reduce(int body, const Twist<n>& w, double* out) const;
  void add_reduced(int body, const Twist<n>& w, Eigen::VectorXd& p) const;
  // Fills the row that maps the body's dof velocities to the velocity of its point x (world, m) along a direction. Its
  // transpose maps an impulse there to dof momenta.
  void point_row(int body, const Vector<n>& x, const Vector<n>& direction, double* row) const;

  void velocity(const Eigen::VectorXd& p, Eigen::VectorXd& nu) const;  // M_red^-1 p
  void solve(int body, double* x) const;                               // M_red^-1 for one range, in place
  void momentum(const Eigen::VectorXd& nu, Eigen::VectorXd& p) const;  // M_red nu
  Eigen::MatrixXd mass_matrix(int body) const;                         // M_red of range(body)
  Twist<n> twist(int body, const Eigen::VectorXd& nu) const;
  void twists(const Eigen::VectorXd& nu, Twists& out) const;
  void dof_velocities(const Twists& in, Eigen::VectorXd& nu) const;  // `in`: twists that satisfy the joints
  // Returns [momentum; angular momentum about the centre of mass] of a body with this twist.
  Twist<n> body_momentum(int body, const Twist<n>& velocity) const;
  const Eigen::Matrix<double, twist_size, Eigen::Dynamic>& jacobian(int body) const { return jacobian_[body]; }

 private:
  using SpinMatrix = typename Multibody<n>::SpinMatrix;
  struct Place {
    Vector<n> position = Vector<n>::Zero();
    SpinMatrix inertia, inverse;  // world axes
  };
  struct TreeMass {
    Eigen::MatrixXd mass;
    Eigen::LLT<Eigen::MatrixXd> factor;
    typename Multibody<n>::Jacobian momentum;  // work space: momentum of a body by the dofs
  };

  const Multibody<n>* bodies_;
  Poses poses_;
  std::vector<Place> at_;
  std::vector<typename Multibody<n>::Jacobian> jacobian_;  // [bodies] Jacobians of the joined bodies
  std::vector<TreeMass> trees_;
};

// Transports momenta from one configuration to another: the lift (3.89), (3.99), (3.102). `nu`: work space.
template <int n>
void lift(const Inertia<n>& from, const std::vector<Pose<n>>& q_from, const Eigen::VectorXd& in, const Inertia<n>& to,
          const std::vector<Pose<n>>& q_to, Eigen::VectorXd& nu, Eigen::VectorXd& out);

extern template class Inertia<2>;
extern template class Inertia<3>;

}  // namespace dodyn::rigid
