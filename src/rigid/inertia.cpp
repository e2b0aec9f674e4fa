#include "rigid/inertia.hpp"

namespace dodyn::rigid {

template <int n>
Inertia<n>::Inertia(const Multibody<n>& bodies)
    : bodies_(&bodies), at_(bodies.size()), jacobian_(bodies.size()), trees_(bodies.trees().size()) {
  for (int b = 0; b < bodies.size(); ++b) {
    at_[b].inertia = bodies.body(b).inertia;
    at_[b].inverse = bodies.body(b).inverse;
  }
}

template <int n>
void Inertia<n>::set(const Poses& q) {
  if (!bodies_->one_sided().empty()) poses_ = q;
  for (int b = 0; b < bodies_->size(); ++b) at_[b].position = q[b].position;
  if constexpr (n == 3)
    for (int b = 0; b < bodies_->size(); ++b) {
      const auto& m = bodies_->body(b);
      if (m.fixed) continue;
      at_[b].inertia = q[b].directors * m.inertia * q[b].directors.transpose();
      at_[b].inverse = q[b].directors * m.inverse * q[b].directors.transpose();
    }
  for (std::size_t t = 0; t < trees_.size(); ++t) {
    const auto& tree = bodies_->trees()[t];
    bodies_->jacobians(q, tree, jacobian_);
    auto& mass = trees_[t].mass;
    mass.setZero(tree.range.size, tree.range.size);
    for (const int b : tree.bodies) {
      auto& MJ = trees_[t].momentum;
      MJ.resize(twist_size, tree.range.size);
      MJ.template topRows<n>() = bodies_->body(b).mass * jacobian_[b].template topRows<n>();
      MJ.template bottomRows<spin>().noalias() = at_[b].inertia * jacobian_[b].template bottomRows<spin>();
      mass.noalias() += jacobian_[b].transpose() * MJ;
    }
    trees_[t].factor.compute(mass);
  }
}

template <int n>
void Inertia<n>::reduce(int body, const Twist<n>& w, double* out) const {
  const auto& m = bodies_->body(body);
  if (m.tree < 0)
    Eigen::Map<Twist<n>>{out} = w;
  else
    Eigen::Map<Eigen::VectorXd>(out, m.range.size).noalias() = jacobian_[body].transpose() * w;
}

template <int n>
void Inertia<n>::add_reduced(int body, const Twist<n>& w, Eigen::VectorXd& p) const {
  const auto& m = bodies_->body(body);
  if (m.tree < 0)
    p.segment<twist_size>(m.range.first) += w;
  else
    p.segment(m.range.first, m.range.size).noalias() += jacobian_[body].transpose() * w;
}

template <int n>
void Inertia<n>::point_row(int body, const Vector<n>& x, const Vector<n>& direction, double* row) const {
  Twist<n> w;
  w.template head<n>() = direction;
  w.template tail<spin>() = cross(Vector<n>(x - at_[body].position), direction);
  reduce(body, w, row);
}

template <int n>
void Inertia<n>::solve(int body, double* x) const {
  const auto& m = bodies_->body(body);
  if (m.tree < 0) {
    for (int i = 0; i < n; ++i) x[i] /= m.mass;
    Eigen::Map<Spin<n>> w(x + n);
    w = (at_[body].inverse * w).eval();
  } else {
    Eigen::Map<Eigen::VectorXd> map(x, m.range.size);
    trees_[m.tree].factor.solveInPlace(map);
  }
}

template <int n>
void Inertia<n>::velocity(const Eigen::VectorXd& p, Eigen::VectorXd& nu) const {
  nu = p;
  for (int b = 0; b < bodies_->size(); ++b)
    if (bodies_->is_free(b)) solve(b, nu.data() + bodies_->range(b).first);
  for (const auto& tree : bodies_->trees()) solve(tree.bodies.front(), nu.data() + tree.range.first);
}

template <int n>
void Inertia<n>::momentum(const Eigen::VectorXd& nu, Eigen::VectorXd& p) const {
  p.resize(bodies_->dofs());
  for (int b = 0; b < bodies_->size(); ++b)
    if (const int first = bodies_->range(b).first; bodies_->is_free(b))
      p.segment<twist_size>(first) = body_momentum(b, nu.segment<twist_size>(first));
  for (std::size_t t = 0; t < trees_.size(); ++t) {
    const auto range = bodies_->trees()[t].range;
    p.segment(range.first, range.size) = trees_[t].mass * nu.segment(range.first, range.size);
  }
}

template <int n>
Eigen::MatrixXd Inertia<n>::mass_matrix(int body) const {
  const auto& m = bodies_->body(body);
  if (m.tree >= 0) return trees_[m.tree].mass;
  Eigen::MatrixXd mass = Eigen::MatrixXd::Zero(twist_size, twist_size);
  mass.diagonal().head(n).setConstant(m.mass);
  mass.bottomRightCorner(spin, spin) = at_[body].inertia;
  return mass;
}

template <int n>
Twist<n> Inertia<n>::body_momentum(int body, const Twist<n>& velocity) const {
  Twist<n> p;
  p.template head<n>() = bodies_->body(body).mass * velocity.template head<n>();
  p.template tail<spin>() = at_[body].inertia * velocity.template tail<spin>();
  return p;
}

template <int n>
Twist<n> Inertia<n>::twist(int body, const Eigen::VectorXd& nu) const {
  const auto& m = bodies_->body(body);
  if (m.fixed) return Twist<n>::Zero();
  if (m.tree < 0) return nu.segment<twist_size>(m.range.first);
  Twist<n> out;
  out.noalias() = jacobian_[body] * nu.segment(m.range.first, m.range.size);
  return out;
}

template <int n>
void Inertia<n>::twists(const Eigen::VectorXd& nu, Twists& out) const {
  out.resize(bodies_->size());
  for (int b = 0; b < bodies_->size(); ++b) out[b] = twist(b, nu);
}

template <int n>
void Inertia<n>::dof_velocities(const Twists& in, Eigen::VectorXd& nu) const {
  nu.setZero(bodies_->dofs());
  for (int b = 0; b < bodies_->size(); ++b) {
    const auto& m = bodies_->body(b);
    if (m.fixed) continue;
    const int first = m.range.first + m.own;
    const Joint<n>* joint = m.joint < 0 ? nullptr : &bodies_->joint(m.joint);
    if (!joint)
      nu.segment<twist_size>(first) = in[b];
    else if (joint->kind == Joint<n>::Kind::prismatic) {
      const auto& parent = in[joint->parent];
      const Vector<n> apart = at_[b].position - at_[joint->parent].position;
      const Spin<n> turn = parent.template tail<spin>();
      Vector<n> carried;
      if constexpr (n == 2)
        carried = cross(turn, apart);
      else
        carried = turn.cross(apart);
      nu[first] = (in[b] - parent).template head<n>().dot(jacobian_[b].template topRows<n>().col(m.own)) -
                  carried.dot(jacobian_[b].template topRows<n>().col(m.own));
    } else if (m.own_size == spin)
      nu.segment<spin>(first) = in[b].template tail<spin>();
    else  // the total spin about the axis, P(3:5, 6) = n
      nu[first] = in[b].template tail<spin>().dot(jacobian_[b].template bottomRows<spin>().col(m.own));
  }
}

template <int n>
void lift(const Inertia<n>& from, const std::vector<Pose<n>>& q_from, const Eigen::VectorXd& in, const Inertia<n>& to,
          const std::vector<Pose<n>>& q_to, Eigen::VectorXd& nu, Eigen::VectorXd& out) {
  const Multibody<n>& bodies = from.bodies();
  if (n == 2 && !bodies.has_joints()) {
    out = in;
    return;
  }
  from.velocity(in, nu);
  out.setZero(bodies.dofs());
  for (int b = 0; b < bodies.size(); ++b) {
    if (bodies.is_fixed(b)) continue;
    Twist<n> w = from.body_momentum(b, from.twist(b, nu));
    if constexpr (n == 3)
      w.template tail<3>() = (q_to[b].directors * (q_from[b].directors.transpose() * w.template tail<3>())).eval();
    to.add_reduced(b, w, out);
  }
}

template class Inertia<2>;
template class Inertia<3>;
template void lift(const Inertia<2>&, const std::vector<Pose<2>>&, const Eigen::VectorXd&, const Inertia<2>&,
                   const std::vector<Pose<2>>&, Eigen::VectorXd&, Eigen::VectorXd&);
template void lift(const Inertia<3>&, const std::vector<Pose<3>>&, const Eigen::VectorXd&, const Inertia<3>&,
                   const std::vector<Pose<3>>&, Eigen::VectorXd&, Eigen::VectorXd&);

}  // namespace dodyn::rigid
