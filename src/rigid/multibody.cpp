#include "rigid/multibody.hpp"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include "record/text.hpp"

namespace dodyn::rigid {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument(what); }

template <int n>
std::string named(const std::vector<Body<n>>& bodies, int i) {
  return "body " + std::to_string(i) + " '" + bodies[i].name + "'";
}

}  // namespace

Vector<3> interval_spin(const Matrix<3>& E, const Matrix<3>& X0, const Matrix<3>& X1) {
  const Matrix<3> A = X0 * E * X1.transpose();  // sum E_IJ d_I d_J^+T
  return {A(1, 2) - A(2, 1), A(2, 0) - A(0, 2), A(0, 1) - A(1, 0)};
}
Matrix<3> interval_inertia(const Matrix<3>& E, const Matrix<3>& X0, const Matrix<3>& X1) {
  const Matrix<3> B = X1 * E * X0.transpose();
  return B.trace() * Matrix<3>::Identity() - B;
}

template <int n>
Multibody<n>::Multibody(const World<n>& world) : joints_(world.joints), one_sided_(world.one_sided) {
  const auto& given = world.bodies;
  const int count = given.size();
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
    const bool slides = std::ranges::any_of(
        joints_, [&](const Joint<n>& joint) { return joint.child == b && joint.kind == Joint<n>::Kind::prismatic; });
    if (slides && m.inertia.isZero()) {  // a point mass, which rotates with its parent
      m.inverse.setZero();
      continue;
    }
    const Eigen::LLT<SpinMatrix> factor(m.inertia);
    if (!m.inertia.allFinite() || !m.euler_tensor.isApprox(m.euler_tensor.transpose(), 1e-9) ||
        factor.info() != Eigen::Success)
      refuse("inertia of " + named(given, b) + " is not symmetric and positive definite");
    m.inverse = m.inertia.inverse();
  }
  find_trees(world);
  check_one_sided();
}

template <int n>
void Multibody<n>::check_one_sided() const {
  for (const auto& constraint : one_sided_) {
    std::set<int> independent;
    for (const int b : constraint.bodies) {
      if (b < 0 || b >= size()) refuse("'" + constraint.name + "' depends on a body that does not exist");
      if (!is_fixed(b)) independent.insert(range(b).first);
    }
    if (independent.size() > 2)
      refuse("the gap of '" + constraint.name + "' depends on " + std::to_string(independent.size()) +
             " bodies without a common joint; allowed in a contact simulation: 2");
    if (!(constraint.restitution >= 0.0 && constraint.restitution <= 1.0))
      refuse("restitution of '" + constraint.name + "' is " + formatted("%g", constraint.restitution) +
             "; allowed: 0 to 1");
    if (!(constraint.friction >= 0.0 && std::isfinite(constraint.friction)))
      refuse("friction of '" + constraint.name + "' is " + formatted("%g", constraint.friction) +
             "; allowed: 0 or more");
  }
}

template <int n>
void Multibody<n>::find_trees(const World<n>& world) {
  const auto& given = world.bodies;
  const int count = given.size();
  const auto root = [&](int b) {
    while (bodies_[b].joint >= 0 && !bodies_[joints_[bodies_[b].joint].parent].fixed)
      b = joints_[bodies_[b].joint].parent;
    return b;
  };
  for (int j = 0; j < std::ssize(joints_); ++j) {
    auto& joint = joints_[j];
    const std::string where = "joint " + std::to_string(j);
    if (joint.parent < 0 || joint.child <= joint.parent || joint.child >= count)
      refuse(where + " joins body " + std::to_string(joint.parent) + " to " + std::to_string(joint.child) +
             "; the child must come after its parent, and both be among the " + std::to_string(count) + " bodies");
    if (bodies_[joint.child].fixed) refuse(where + ": its child, " + named(given, joint.child) + ", is fixed");
    if (bodies_[joint.child].joint >= 0)
      refuse(where + ": " + named(given, joint.child) + " has a parent already; chains may branch but not close");
    if (joint.kind == Joint<n>::Kind::prismatic || (n == 3 && joint.kind == Joint<n>::Kind::revolute)) {
      if (!(joint.axis.norm() > 0.0)) refuse(where + ": its axis is zero");
      joint.axis.normalize();
    }
    bodies_[joint.child].joint = j;
  }

  // trees: every body with a joint, with its free root
  std::vector<int> tree_of(count, -1);
  for (const auto& joint : joints_) {
    const int r = root(joint.child);
    if (tree_of[r] < 0) {
      tree_of[r] = trees_.size();
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
    m.own_size = m.joint < 0 ? twist : joints_[m.joint].kind == Joint<n>::Kind::spherical ? spin : 1;
    tree.range.size += m.own_size;
    tree.bodies.push_back(b);
  }
  for (auto& tree : trees_) {
    tree.range.first = dofs_;
    dofs_ += tree.range.size;
    for (const int b : tree.bodies) bodies_[b].range = tree.range;
  }
  rotation_.assign(count, Matrix<3>::Identity());
}

template <int n>
void Multibody<n>::place(const Joint<n>& joint, const Poses& q, Pose<n>& child, double slide) const {
  const auto parent = q[joint.parent].frame();
  child.position = parent(joint.parent_point) - child.frame().directors * joint.child_point;
  if (joint.kind == Joint<n>::Kind::prismatic) child.position += slide * (parent.directors * joint.axis);
}

template <int n>
double Multibody<n>::slide(const Joint<n>& joint, const Poses& q) const {
  if (joint.kind != Joint<n>::Kind::prismatic) return 0.0;
  const auto parent = q[joint.parent].frame();
  return (q[joint.child].frame()(joint.child_point) - parent(joint.parent_point)).dot(parent.directors * joint.axis);
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
      const bool slides = joint.kind == Joint<n>::Kind::prismatic;
      if constexpr (n == 3) {
        const bool fixed = bodies_[joint.parent].fixed;
        if (slides) {
          rotation_[b] = fixed ? Matrix<3>(Matrix<3>::Identity()) : rotation_[joint.parent];
        } else if (joint.kind == Joint<n>::Kind::spherical) {
          rotation_[b] = exponential(Eigen::Map<const Vector<3>>(own));
        } else {
          const Matrix<3> parent = fixed ? Matrix<3>(Matrix<3>::Identity()) : rotation_[joint.parent];
          rotation_[b] =
              joint::revolute_rotation(parent, logarithm(parent), own[0], q0[joint.parent].directors * joint.axis);
        }
        pose.directors = rotation_[b] * q0[b].directors;
      } else {
        pose.angle += slides ? q1[joint.parent].angle - q0[joint.parent].angle : own[0];
      }
      place(joint, q1, pose, slides ? slide(joint, q0) + own[0] : 0.0);
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

// Computes the Jacobians J_b of the bodies of a tree, parents first: twist_b = J_b nu, (3.28), (3.33).
template <int n>
void Multibody<n>::jacobians(const Poses& q, const Tree& tree, std::vector<Jacobian>& out) const {
  for (const int b : tree.bodies) {
    const auto& m = bodies_[b];
    auto& J = out[b];
    J.setZero(twist, tree.range.size);
    if (m.joint < 0) {
      J.middleCols(m.own, twist).setIdentity();
      continue;
    }
    const auto& joint = joints_[m.joint];
    const bool moving = !bodies_[joint.parent].fixed;
    if (joint.kind == Joint<n>::Kind::prismatic) {  // v2 = v1 + omega1 x (phi2 - phi1) + s' axis
      const Vector<n> apart = q[b].position - q[joint.parent].position;
      if (moving) {
        const auto& P = out[joint.parent];
        J = P;
        if constexpr (n == 2) {
          J.row(0) -= apart[1] * P.row(2);
          J.row(1) += apart[0] * P.row(2);
        } else {
          J.template topRows<3>().noalias() -= hat(apart) * P.template bottomRows<3>();
        }
      }
      J.col(m.own).template head<n>() += q[joint.parent].frame().directors * joint.axis;
      continue;
    }
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
      if (moving) J.noalias() = P.template leftCols<6>() * out[joint.parent];
      J.middleCols(m.own, m.own_size) += P.rightCols(m.own_size);
    }
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
double Multibody<n>::constraint_residual(const Poses& q0, const Poses& q) const {
  double worst = 0.0;
  if constexpr (n == 3)
    for (int b = 0; b < size(); ++b)
      if (!bodies_[b].fixed)
        worst = std::max(worst, director::constraint(director::coordinates(q[b].position, q[b].directors))
                                    .template lpNorm<Eigen::Infinity>());
  for (const auto& joint : joints_) {
    Vector<n> apart = q[joint.child].frame()(joint.child_point) - q[joint.parent].frame()(joint.parent_point);
    const auto turned = [&](const Poses& at) {  // attitude of the child relative to its parent
      return Matrix<n>(at[joint.parent].frame().directors.transpose() * at[joint.child].frame().directors);
    };
    if (joint.kind == Joint<n>::Kind::prismatic) {
      apart -= slide(joint, q) * (q[joint.parent].frame().directors * joint.axis);
      worst = std::max(worst, (turned(q) - turned(q0)).cwiseAbs().maxCoeff());
    }
    worst = std::max(worst, apart.template lpNorm<Eigen::Infinity>());
    if constexpr (n == 3)
      if (joint.kind == Joint<n>::Kind::revolute)
        worst = std::max(worst, (q[joint.parent].directors * joint.axis -
                                 q[joint.child].directors * (q0[joint.child].directors.transpose() *
                                                             (q0[joint.parent].directors * joint.axis)))
                                    .template lpNorm<Eigen::Infinity>());
  }
  return worst;
}

// Products of rotations drift off SO(3) by rounding. One Newton step on d^T d = 1 corrects this.
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
        if (const int j = bodies_[b].joint; j >= 0) place(joints_[j], q, q[b], slide(joints_[j], q));
  }
}

template class Multibody<2>;
template class Multibody<3>;

}  // namespace dodyn::rigid
