#include "rigid/multibody.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace dodyn::rigid {
namespace {

// Discrete angular momentum, times h, of a spatial body that turns from X0 to X1: sum E_IJ d_I x d_J^+; and how it
// changes with a further rotation of X1 in world axes: tr(B) I - B, B = X1 E X0^T.
Vector<3> interval_spin(const Matrix<3>& E, const Matrix<3>& X0, const Matrix<3>& X1) {
  const Matrix<3> A = X0 * E * X1.transpose();  // sum E_IJ d_I d_J^+T
  return {A(1, 2) - A(2, 1), A(2, 0) - A(0, 2), A(0, 1) - A(1, 0)};
}
Matrix<3> interval_inertia(const Matrix<3>& E, const Matrix<3>& X0, const Matrix<3>& X1) {
  const Matrix<3> B = X1 * E * X0.transpose();
  return B.trace() * Matrix<3>::Identity() - B;
}

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument(what); }

template <int n>
std::string named(const std::vector<Body<n>>& bodies, int i) {
  return "body " + std::to_string(i) + " '" + bodies[i].name + "'";
}

}  // namespace

template <int n>
Multibody<n>::Multibody(const World<n>& world) : joints_(world.joints) {
  const auto& given = world.bodies;
  const int count = static_cast<int>(given.size());
  bodies_.resize(count);
  for (int b = 0; b < count; ++b) {
    auto& m = bodies_[b];
    m.fixed = given[b].fixed;
    if (m.fixed) continue;
    m.mass = given[b].mass;
    m.euler_tensor = given[b].euler_tensor;
    if (!(m.mass > 0.0) || !std::isfinite(m.mass))
      refuse("mass of " + named(given, b) + " is " + std::to_string(m.mass) + " kg, must be positive");
    if constexpr (n == 2)
      m.inertia(0, 0) = m.euler_tensor.trace();
    else
      m.inertia = m.euler_tensor.trace() * Matrix<n>::Identity() - m.euler_tensor;
    const Eigen::LLT<SpinMatrix> factor(m.inertia);
    if (!m.inertia.allFinite() || !m.euler_tensor.isApprox(m.euler_tensor.transpose(), 1e-9) ||
        factor.info() != Eigen::Success)
      refuse("inertia of " + named(given, b) + " is not symmetric and positive definite");
    m.inverse = m.inertia.inverse();
    m.world_inertia = m.inertia;
    m.world_inverse = m.inverse;
  }

  const auto root = [&](int b) {
    while (bodies_[b].joint >= 0 && !bodies_[joints_[bodies_[b].joint].parent].fixed)
      b = joints_[bodies_[b].joint].parent;
    return b;
  };
  for (int j = 0; j < static_cast<int>(joints_.size()); ++j) {
    auto& joint = joints_[j];
    const std::string where = "joint " + std::to_string(j);
    if (joint.parent < 0 || joint.child <= joint.parent || joint.child >= count)
      refuse(where + " joins body " + std::to_string(joint.parent) + " to " + std::to_string(joint.child) +
             "; the child must come after its parent, and both be among the " + std::to_string(count) + " bodies");
    if (bodies_[joint.child].fixed) refuse(where + ": its child, " + named(given, joint.child) + ", is fixed");
    if (bodies_[joint.child].joint >= 0)
      refuse(where + ": " + named(given, joint.child) + " has a parent already; chains may branch but not close");
    if constexpr (n == 3) {
      if (joint.kind == Joint<n>::Kind::revolute) {
        if (!(joint.axis.norm() > 0.0)) refuse(where + ": its axis is zero");
        joint.axis.normalize();
      }
    }
    bodies_[joint.child].joint = j;
  }
  axis_in_child_.assign(joints_.size(), Vector<n>::Zero());

  // trees: every body that takes part in a joint, with its free root
  std::vector<int> tree_of(count, -1);
  for (const auto& joint : joints_) {
    const int r = root(joint.child);
    if (tree_of[r] < 0) {
      tree_of[r] = static_cast<int>(trees_.size());
      trees_.emplace_back();
    }
  }
  for (int b = 0; b < count; ++b) {
    auto& m = bodies_[b];
    if (m.fixed) continue;
    const int t = tree_of[root(b)];
    if (t < 0) {
      m.range = {dofs_, twist};
      m.own_size = twist;
      dofs_ += twist;
      continue;
    }
    auto& tree = trees_[t];
    m.tree = t;
    m.own = tree.range.size;
    m.own_size = m.joint < 0 ? twist : n == 3 && joints_[m.joint].kind == Joint<n>::Kind::revolute ? 1 : spin;
    tree.range.size += m.own_size;
    tree.bodies.push_back(b);
  }
  for (auto& tree : trees_) {
    tree.range.first = dofs_;
    dofs_ += tree.range.size;
    tree.mass.resize(tree.range.size, tree.range.size);
    for (const int b : tree.bodies) {
      bodies_[b].range = tree.range;
      bodies_[b].jacobian = Jacobian::Zero(twist, tree.range.size);
    }
  }
  scratch_.resize(count);
  for (int b = 0; b < count; ++b) scratch_[b] = bodies_[b].jacobian;
  rotation_.assign(count, Matrix<3>::Identity());
}

template <int n>
void Multibody<n>::place(const Joint<n>& joint, const Poses& q, Pose<n>& child) const {
  const auto parent = q[joint.parent].frame();
  child.position = parent(joint.parent_point) - child.frame().directors * joint.child_point;
}

template <int n>
void Multibody<n>::reparametrise_tree(const Tree& tree, const Poses& q0, const double* u, Poses& q1) const {
  for (const int b : tree.bodies) {
    const auto& m = bodies_[b];
    const double* own = u + m.own;
    Pose<n> pose = q0[b];
    if (m.joint < 0) {
      pose.position += Eigen::Map<const Vector<n>>(own);
      const Spin<n> w = Eigen::Map<const Spin<n>>(own + n);
      rotate(pose, w);
      if constexpr (n == 3) rotation_[b] = exponential(w);
    } else {
      const auto& joint = joints_[m.joint];
      if constexpr (n == 3) {
        const bool fixed = bodies_[joint.parent].fixed;
        if (joint.kind == Joint<n>::Kind::spherical) {
          rotation_[b] = exponential(Eigen::Map<const Vector<3>>(own));
        } else {
          const Matrix<3> parent = fixed ? Matrix<3>(Matrix<3>::Identity()) : rotation_[joint.parent];
          rotation_[b] =
              joint::revolute_rotation(parent, logarithm(parent), own[0], q0[joint.parent].directors * joint.axis);
        }
        pose.directors = rotation_[b] * q0[b].directors;
      } else {
        pose.angle += own[0];
      }
      place(joint, q1, pose);
    }
    q1[b] = pose;
  }
}

template <int n>
void Multibody<n>::reparametrise(const Poses& q0, const Eigen::VectorXd& u, Poses& q1) const {
  for (int b = 0; b < size(); ++b) {
    const auto& m = bodies_[b];
    if (m.fixed) {
      q1[b] = q0[b];
    } else if (m.tree < 0) {
      Pose<n> pose = q0[b];
      pose.position += u.segment<n>(m.range.first);
      rotate(pose, Spin<n>(u.segment<spin>(m.range.first + n)));
      q1[b] = pose;
    }
  }
  for (const auto& tree : trees_) reparametrise_tree(tree, q0, u.data() + tree.range.first, q1);
}

// twist_b = J_b nu, parents first: (3.28), (3.33).
template <int n>
void Multibody<n>::jacobians(const Poses& q, const Tree& tree, std::vector<Jacobian>& out) const {
  for (const int b : tree.bodies) {
    const auto& m = bodies_[b];
    auto& J = out[b];
    J.setZero();
    if (m.joint < 0) {
      J.middleCols(m.own, twist).setIdentity();
      continue;
    }
    const auto& joint = joints_[m.joint];
    const bool moving = !bodies_[joint.parent].fixed;
    const Vector<n> rho1 = q[joint.parent].frame().directors * joint.parent_point;
    const Vector<n> rho2 = q[b].frame().directors * joint.child_point;
    if constexpr (n == 2) {
      if (moving) {
        const auto& P = out[joint.parent];
        J.row(0) = P.row(0) - rho1[1] * P.row(2);
        J.row(1) = P.row(1) + rho1[0] * P.row(2);
      }
      J(2, m.own) = 1.0;
      J(0, m.own) += rho2[1];
      J(1, m.own) -= rho2[0];
    } else {
      const bool revolute = joint.kind == Joint<n>::Kind::revolute;
      Eigen::Matrix<double, 6, Eigen::Dynamic, 0, 6, 9> P(6, revolute ? 7 : 9);
      if (revolute)
        P = joint::revolute(rho1, rho2, q[joint.parent].directors * joint.axis);
      else
        P = joint::spherical(rho1, rho2);
      if (moving) J = P.template leftCols<6>() * out[joint.parent];
      J.middleCols(m.own, m.own_size) += P.rightCols(m.own_size);
    }
  }
}

template <int n>
void Multibody<n>::set(const Poses& q) {
  for (int b = 0; b < size(); ++b) bodies_[b].position = q[b].position;
  if constexpr (n == 3)
    for (int b = 0; b < size(); ++b) {
      auto& m = bodies_[b];
      if (m.fixed) continue;
      m.world_inertia = q[b].directors * m.inertia * q[b].directors.transpose();
      m.world_inverse = q[b].directors * m.inverse * q[b].directors.transpose();
    }
  for (auto& tree : trees_) {
    for (const int b : tree.bodies) scratch_[b].resize(twist, tree.range.size);
    jacobians(q, tree, scratch_);
    tree.mass.setZero();
    for (const int b : tree.bodies) {
      auto& m = bodies_[b];
      m.jacobian = scratch_[b];
      Jacobian MJ = m.jacobian;
      MJ.template topRows<n>() *= m.mass;
      MJ.template bottomRows<spin>() = (m.world_inertia * m.jacobian.template bottomRows<spin>()).eval();
      tree.mass.noalias() += m.jacobian.transpose() * MJ;
    }
    tree.factor.compute(tree.mass);
  }
}

template <int n>
void Multibody<n>::reduce(int body, const Twist<n>& w, double* out) const {
  const auto& m = bodies_[body];
  if (m.tree < 0)
    Eigen::Map<Twist<n>>{out} = w;
  else
    Eigen::Map<Eigen::VectorXd>(out, m.range.size).noalias() = m.jacobian.transpose() * w;
}

template <int n>
void Multibody<n>::solve(int body, double* x) const {
  const auto& m = bodies_[body];
  if (m.tree < 0) {
    for (int i = 0; i < n; ++i) x[i] /= m.mass;
    Eigen::Map<Spin<n>> w(x + n);
    w = (m.world_inverse * w).eval();
  } else {
    Eigen::Map<Eigen::VectorXd> map(x, m.range.size);
    trees_[m.tree].factor.solveInPlace(map);
  }
}

template <int n>
void Multibody<n>::velocity(const Eigen::VectorXd& p, Eigen::VectorXd& nu) const {
  nu = p;
  for (int b = 0; b < size(); ++b)
    if (is_free(b)) solve(b, nu.data() + bodies_[b].range.first);
  for (const auto& tree : trees_) solve(tree.bodies.front(), nu.data() + tree.range.first);
}

template <int n>
void Multibody<n>::momentum(const Eigen::VectorXd& nu, Eigen::VectorXd& p) const {
  p.resize(dofs_);
  for (int b = 0; b < size(); ++b)
    if (is_free(b))
      p.segment<twist>(bodies_[b].range.first) = body_momentum(b, nu.segment<twist>(bodies_[b].range.first));
  for (const auto& tree : trees_)
    p.segment(tree.range.first, tree.range.size) = tree.mass * nu.segment(tree.range.first, tree.range.size);
}

template <int n>
Eigen::MatrixXd Multibody<n>::mass_matrix(int body) const {
  const auto& m = bodies_[body];
  if (m.tree >= 0) return trees_[m.tree].mass;
  Eigen::MatrixXd mass = Eigen::MatrixXd::Zero(twist, twist);
  mass.diagonal().head(n).setConstant(m.mass);
  mass.bottomRightCorner(spin, spin) = m.world_inertia;
  return mass;
}

template <int n>
Twist<n> Multibody<n>::body_momentum(int body, const Twist<n>& velocity) const {
  const auto& m = bodies_[body];
  Twist<n> p;
  p.template head<n>() = m.mass * velocity.template head<n>();
  p.template tail<spin>() = m.world_inertia * velocity.template tail<spin>();
  return p;
}

template <int n>
void Multibody<n>::twists(const Eigen::VectorXd& nu, Twists& out) const {
  for (int b = 0; b < size(); ++b) {
    const auto& m = bodies_[b];
    if (m.fixed)
      out[b].setZero();
    else if (m.tree < 0)
      out[b] = nu.segment<twist>(m.range.first);
    else
      out[b].noalias() = m.jacobian * nu.segment(m.range.first, m.range.size);
  }
}

template <int n>
void Multibody<n>::dof_velocities(const Twists& in, Eigen::VectorXd& nu) const {
  nu.setZero(dofs_);
  for (int b = 0; b < size(); ++b) {
    const auto& m = bodies_[b];
    if (m.fixed) continue;
    const int first = m.range.first + m.own;
    if (m.joint < 0)
      nu.segment<twist>(first) = in[b];
    else if (m.own_size == spin)
      nu.segment<spin>(first) = in[b].template tail<spin>();
    else  // the whole spin about the axis, P(3:5, 6) = n
      nu[first] = in[b].template tail<spin>().dot(m.jacobian.template bottomRows<spin>().col(m.own));
  }
}

template <int n>
Twist<n> Multibody<n>::interval_momentum(int body, const Pose<n>& q0, const Pose<n>& q1, double h) const {
  const auto& m = bodies_[body];
  Twist<n> t;
  t.template head<n>() = m.mass / h * (q1.position - q0.position);
  if constexpr (n == 2)
    t[2] = m.inertia(0, 0) / h * (q1.angle - q0.angle);
  else
    t.template tail<3>() = interval_spin(m.euler_tensor, q0.directors, q1.directors) / h;
  return t;
}

template <int n>
bool Multibody<n>::advance(const Poses& q0, const Eigen::VectorXd& p, double h, Poses& q1) {
  for (int b = 0; b < size(); ++b) {
    const auto& m = bodies_[b];
    if (!is_free(b)) continue;
    const auto own = p.segment<twist>(m.range.first);
    q1[b].position = q0[b].position + h / m.mass * own.template head<n>();
    if constexpr (n == 2) {
      q1[b].angle = q0[b].angle + h / m.inertia(0, 0) * own[2];
    } else {
      const Vector<3> target = h * own.template tail<3>();
      // to round-off of the interval's own arithmetic
      const double small = 4e-16 * (target.norm() + 1e-2 * m.euler_tensor.trace());
      double last = 1e300;
      for (int k = 0;; ++k) {
        const Vector<3> r = interval_spin(m.euler_tensor, q0[b].directors, q1[b].directors) - target;
        const double size = r.norm();
        if (size <= small || (size >= last && last < 1e3 * small)) break;
        if (k == 30 || !(size < 1e100)) return false;
        last = size;
        rotate(q1[b], Vector<3>(-interval_inertia(m.euler_tensor, q0[b].directors, q1[b].directors).inverse() * r));
      }
      // Beyond a turn of pi/2 or so the equation has other roots; a step that large is not resolved.
      if ((q0[b].directors.transpose() * q1[b].directors).trace() < 1.0) return false;
    }
  }
  for (const auto& tree : trees_)
    if (!advance_tree(q0, p, h, tree, q1)) return false;
  return true;
}

// Newton's method on the manifold: the correction is applied by F_d at the iterate, so the constraints hold throughout.
template <int n>
bool Multibody<n>::advance_tree(const Poses& q0, const Eigen::VectorXd& p, double h, const Tree& tree, Poses& q1) {
  const auto target = p.segment(tree.range.first, tree.range.size);
  Eigen::VectorXd residual(tree.range.size), correction(tree.range.size);
  Eigen::MatrixXd slope(tree.range.size, tree.range.size);
  double last = 1e300;
  for (int k = 0;; ++k) {
    jacobians(q1, tree, scratch_);
    residual = -target;
    slope.setZero();
    double scale = 0.0;
    for (const int b : tree.bodies) {
      const auto& m = bodies_[b];
      const Twist<n> t = interval_momentum(b, q0[b], q1[b], h);
      scale += t.norm() + 1e-2 * m.mass / h * (1e-3 + q1[b].position.norm());
      residual.noalias() += m.jacobian.transpose() * t;
      Jacobian KJ = scratch_[b];
      KJ.template topRows<n>() *= m.mass / h;
      if constexpr (n == 2)
        KJ.row(2) *= m.inertia(0, 0) / h;
      else
        KJ.template bottomRows<3>() = (interval_inertia(m.euler_tensor, q0[b].directors, q1[b].directors) / h *
                                       scratch_[b].template bottomRows<3>())
                                          .eval();
      slope.noalias() += m.jacobian.transpose() * KJ;
    }
    const double size = residual.norm();
    if (size <= 1e-15 * scale || (size >= last && last < 1e-12 * scale)) return true;
    if (k == 30 || !(size < 1e100)) return false;
    last = size;
    correction = slope.partialPivLu().solve(-residual);
    const Poses iterate = q1;
    reparametrise_tree(tree, iterate, correction.data(), q1);
  }
}

template <int n>
void Multibody<n>::remember_joints(const Poses& q) {
  if constexpr (n == 3)
    for (std::size_t j = 0; j < joints_.size(); ++j)
      axis_in_child_[j] =
          q[joints_[j].child].directors.transpose() * (q[joints_[j].parent].directors * joints_[j].axis);
}

template <int n>
double Multibody<n>::constraint_residual(const Poses& q) const {
  double worst = 0.0;
  if constexpr (n == 3)
    for (int b = 0; b < size(); ++b)
      if (!bodies_[b].fixed)
        worst = std::max(worst, director::constraint(director::coordinates(q[b].position, q[b].directors))
                                    .template lpNorm<Eigen::Infinity>());
  for (std::size_t j = 0; j < joints_.size(); ++j) {
    const auto& joint = joints_[j];
    const Vector<n> apart = q[joint.child].frame()(joint.child_point) - q[joint.parent].frame()(joint.parent_point);
    worst = std::max(worst, apart.template lpNorm<Eigen::Infinity>());
    if constexpr (n == 3)
      if (joint.kind == Joint<n>::Kind::revolute)
        worst = std::max(worst, (q[joint.parent].directors * joint.axis - q[joint.child].directors * axis_in_child_[j])
                                    .template lpNorm<Eigen::Infinity>());
  }
  return worst;
}

// Rounding lets products of rotations drift off SO(3); one Newton step on d^T d = 1 takes them back.
template <int n>
void Multibody<n>::orthonormalise(Poses& q) const {
  if constexpr (n == 3) {
    for (int b = 0; b < size(); ++b)
      if (!bodies_[b].fixed) {
        const Matrix<3> X = q[b].directors;
        q[b].directors = 0.5 * X * (3.0 * Matrix<3>::Identity() - X.transpose() * X);
      }
    for (const auto& tree : trees_)
      for (const int b : tree.bodies)
        if (bodies_[b].joint >= 0) place(joints_[bodies_[b].joint], q, q[b]);
  }
}

template class Multibody<2>;
template class Multibody<3>;

}  // namespace dodyn::rigid
