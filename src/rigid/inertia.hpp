// A multibody at one configuration: its null-space and mass matrices, and what dof velocities nu (of a free body its
// twist) and reduced momenta p = M_red nu mean there. Johnson 2013, sections 3.2.3 and 3.2.4.
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

  // The multibody must outlive this.
  explicit Inertia(const Multibody<n>& bodies);
  Inertia(const Multibody<n>& bodies, const Poses& q) : Inertia(bodies) { set(q); }

  // The configuration that all that follows refers to.
  void set(const Poses& q);

  const Multibody<n>& bodies() const { return *bodies_; }
  const Vector<n>& position(int body) const { return at_[body].position; }

  // P_ext^T w: the dofs' share of a wrench or a momentum at a body, range(body).size numbers.
  void reduce(int body, const Twist<n>& w, double* out) const;
  void add_reduced(int body, const Twist<n>& w, Eigen::VectorXd& p) const;
  // The row that takes the body's dof velocities to the velocity of its point x (world, m) along a direction; its
  // transpose takes an impulse there to the dofs' momenta.
  void point_row(int body, const Vector<n>& x, const Vector<n>& direction, double* row) const;

  void velocity(const Eigen::VectorXd& p, Eigen::VectorXd& nu) const;  // M_red^-1 p
  void solve(int body, double* x) const;                               // the same for one range, in place
  void momentum(const Eigen::VectorXd& nu, Eigen::VectorXd& p) const;  // M_red nu
  Eigen::MatrixXd mass_matrix(int body) const;                         // M_red of range(body)
  Twist<n> twist(int body, const Eigen::VectorXd& nu) const;
  void twists(const Eigen::VectorXd& nu, Twists& out) const;
  void dof_velocities(const Twists& in, Eigen::VectorXd& nu) const;  // of twists that agree with the joints
  // [momentum; angular momentum about the centre of mass] of a body with this twist
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
    typename Multibody<n>::Jacobian momentum;  // scratch: of a body, by the dofs
  };

  const Multibody<n>* bodies_;
  std::vector<Place> at_;
  std::vector<typename Multibody<n>::Jacobian> jacobian_;  // of joined bodies
  std::vector<TreeMass> trees_;
};

// Momenta turned along as bodies go from one configuration to another: the lift (3.89), (3.99), (3.102). `nu` is
// room to work in.
template <int n>
void lift(const Inertia<n>& from, const std::vector<Pose<n>>& q_from, const Eigen::VectorXd& in, const Inertia<n>& to,
          const std::vector<Pose<n>>& q_to, Eigen::VectorXd& nu, Eigen::VectorXd& out);

extern template class Inertia<2>;
extern template class Inertia<3>;

}  // namespace dodyn::rigid
