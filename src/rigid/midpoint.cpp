// The constrained midpoint variational integrator in (q, p) form with null spaces and nodal reparametrisation: Johnson
// 2013, (3.13), (3.17). In the plane in x, y, theta.
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "rigid/anderson_acceleration.hpp"
#include "rigid/integrator.hpp"
#include "rigid/stateful_force.hpp"

namespace dodyn::rigid {
namespace {

// Returns the mean angular velocity over h.
Spin<2> mean_spin(const Pose<2>& a, const Pose<2>& b, double h) { return Spin<2>((b.angle - a.angle) / h); }
Spin<3> mean_spin(const Pose<3>& a, const Pose<3>& b, double h) {
  return logarithm(b.directors * a.directors.transpose()) / h;
}

// Returns an upper bound of the displacement of a corner of a body of this radius between the two poses.
double motion(double radius, const Pose<2>& a, const Pose<2>& b) {
  return (b.position - a.position).norm() + radius * std::abs(b.angle - a.angle);
}
double motion(double radius, const Pose<3>& a, const Pose<3>& b) { return motion_bound(radius, a.frame(), b.frame()); }

// Whether a step turns a body by at most a right angle. Beyond that the equations of a step have spurious roots with
// additional energy, which strong dampers can reach.
bool is_resolved(const Pose<2>& a, const Pose<2>& b) { return std::abs(b.angle - a.angle) <= 0.5 * std::numbers::pi; }
bool is_resolved(const Pose<3>& a, const Pose<3>& b) { return (a.directors.transpose() * b.directors).trace() >= 1.0; }

template <int n>
class Midpoint final : public Integrator<n> {
  using VectorX = Eigen::VectorXd;
  using Poses = std::vector<Pose<n>>;
  static constexpr int spin = Multibody<n>::spin;
  static constexpr int max_iterations = 100;  // limit of the iteration between forces and motion; then the step is cut
  // Largest contraction ratio for plain iteration. Above it iterates are mixed.
  static constexpr double max_contraction = 0.5;

 public:
  Midpoint(const World<n>& world, const Multibody<n>& bodies, const Forces<n>& forces, bool nodal)
      : bodies_(bodies), forces_(forces), nodal_(nodal), inertia0_(bodies), inertia1_(bodies) {
    for (const auto& body : world.bodies)  // radius of gyration, if a body has no shape
      radius_.push_back(
          std::max(radius(body), body.mass > 0.0 ? std::sqrt(body.euler_tensor.trace() / body.mass) : 0.0));
    for (const auto& force : world.forces) controlled_ |= force.template target<StatefulForceAdapter<n>>() != nullptr;
    flies_ = controlled_ && world.joints.empty();
    frames_.resize(bodies.size());
    gradient_.resize(bodies.size());
    jacobian_.resize(bodies.size());
    velocity_.assign(bodies.size(), Twist<n>::Zero());
    wrench_ = wrench1_ = velocity_;
  }

  void restart() override { acted_ = false; }

  bool advance(double t, double h, const State<n>& from, State<n>& to) override {
    const Poses& q0 = from.poses;
    Poses& q1 = to.poses;
    middle_ = t + 0.5 * h;
    interval_ = h;
    q1.resize(q0.size());
    inertia0_.set(q0);
    if (!solve(from, h, q1)) return false;
    force_ = (momentum_ - from.p) / h;
    acted_ = true;
    bodies_.orthonormalise(q1);
    inertia1_.set(q1);
    to.p.setZero(bodies_.dofs());
    for (int b = 0; b < bodies_.size(); ++b) {
      if (bodies_.is_fixed(b)) continue;
      Twist<n> w = force(b, q1, wrench1_);
      w *= 0.5 * h;
      // for a free body `momentum_` is the interval momentum, without the rounding of positions
      w += bodies_.is_free(b) ? Twist<n>(momentum_.segment<Multibody<n>::twist>(bodies_.range(b).first))
                              : bodies_.interval_momentum(b, q0[b], q1[b], h);
      inertia1_.add_reduced(b, w, to.p);
    }
    return true;
  }

  // Returns the work as force times mean velocity, with the forces that changed the momenta.
  double work() override {
    if (!forces_.has_wrench()) return 0.0;
    if (controlled_) {
      forces_.wrench(middle_, frames_, velocity_, wrench_, false);
      wrench1_ = wrench_;
    }
    double power = 0.0;
    for (int b = 0; b < bodies_.size(); ++b)
      if (!bodies_.is_fixed(b)) power += 0.5 * (wrench_[b] + wrench1_[b]).dot(velocity_[b]);
    return interval_ * power;
  }

 private:
  // Predicts q1 with the forces of the last step.
  void guess(const State<n>& from, double h, Poses& q1) {
    momentum_ = from.p;
    if (acted_) momentum_ += h * force_;
    inertia0_.velocity(momentum_, nu_);
    nu_ *= h;
    bodies_.reparametrise(from.poses, nu_, q1);
  }

  // Iterates between forces and motion until they are consistent: by plain iteration if that contracts, otherwise (and
  // with a controller's damping) by Anderson acceleration. Returns whether they are consistent.
  bool solve(const State<n>& from, double h, Poses& q1) {
    const Poses& q0 = from.poses;
    guess(from, h, q1);
    bool mixed = controlled_;
    int iterations = 0;  // since the prediction
    double last = std::numeric_limits<double>::infinity();
    for (int k = 0; k <= max_iterations; ++k) {
      act(q0, h, q1);
      momentum_ = from.p;
      for (int b = 0; b < bodies_.size(); ++b)
        if (!bodies_.is_fixed(b)) inertia0_.add_reduced(b, 0.5 * h * force(b, q0, wrench_), momentum_);
      before_ = q1;
      if (mixed) mix(iterations == 0);
      const bool solved = invert(q0, h, q1);
      if (solved && !forces_.vary()) return true;
      const double change = solved ? largest_change(q1) : std::numeric_limits<double>::infinity();
      if (!mixed && forces_.has_wrench() && iterations > 0 &&
          !(change <= max_contraction * last || change <= rounding(q1))) {
        mixed = true;
        iterations = 0;
        last = std::numeric_limits<double>::infinity();
        guess(from, h, q1);
        continue;
      }
      if (!(change < std::numeric_limits<double>::infinity())) return false;
      // Predicts the remaining change from the last contraction ratio, which is known from the second iteration on.
      const double next = mixed || iterations == 0 || change > 0.1 * last ? change : change / last * change;
      if (change <= 1e-14 || next <= 1e-16 || (change >= last && change <= rounding(q1))) {
        if (!mixed || iterations == 0) return true;
        momentum_ = unmixed_;  // uses the unmixed result, which agrees with the forces to the last bit
        return invert(q0, h, q1);
      }
      last = change;
      ++iterations;
    }
    return false;
  }

  // Computes the forces with a potential at the midpoint of the step from q0 to q1. Computes the other forces at this
  // midpoint too, or at both ends of the step if `nodal_`.
  void act(const Poses& q0, double h, const Poses& q1) {
    for (int b = 0; b < bodies_.size(); ++b) frames_[b] = middle(q0[b], q1[b]);
    forces_.potential(frames_, gradient_);
    if (!forces_.has_wrench()) return;
    for (int b = 0; b < bodies_.size(); ++b) {
      velocity_[b].template head<n>() = (q1[b].position - q0[b].position) / h;
      velocity_[b].template tail<spin>() = mean_spin(q0[b], q1[b], h);
    }
    if (nodal_) {
      frames_of(q0, node_);
      forces_.wrench(middle_, node_, velocity_, wrench_);
      frames_of(q1, node_);
      forces_.wrench(middle_, node_, velocity_, wrench1_);
    } else {
      forces_.wrench(middle_, frames_, velocity_, wrench_);
      wrench1_ = wrench_;
    }
  }

  // Returns the largest displacement of a body in the last iteration, relative to its radius plus 4 % of its distance
  // from the origin.
  double largest_change(const Poses& q1) const {
    double change = 0.0;
    for (int b = 0; b < bodies_.size(); ++b)
      if (!bodies_.is_fixed(b))
        change = std::max(change, motion(radius_[b], before_[b], q1[b]) / (radius_[b] + 0.04 * q1[b].position.norm()));
    return change;
  }

  // Returns the relative change due to rounding. Differences of angles have the rounding of the angles.
  static double rounding(const Poses& q1) {
    double angle = 0.0;
    if constexpr (n == 2)
      for (const auto& pose : q1) angle = std::max(angle, std::abs(pose.angle));
    return 1e-12 + 1e-15 * angle;
  }

  // Replaces `momentum_`, the image of the last argument under the map, by the next argument.
  void mix(bool restart) {
    AndersonAcceleration& mixing = flies_ ? control_mixing_ : damping_mixing_;
    unmixed_ = momentum_;
    if (restart) {
      mixing.restart(momentum_.size());
    } else {
      mixing.next(asked_, unmixed_);
      momentum_ = asked_;
    }
    asked_ = momentum_;
  }

  // Returns the wrench on a body at the node q: `wrench` of the forces without potential, plus the wrench of the
  // potentials at the midpoint. Lever arms follow the directors of the node in space, of the midpoint in the plane.
  Twist<n> force(int b, const Poses& q, const std::vector<Twist<n>>& wrench) const {
    Twist<n> w = wrench[b];
    w.template head<n>() -= gradient_[b].col(0);
    if constexpr (n == 2)
      w.template tail<spin>() -= torque<n>(gradient_[b], frames_[b].directors);
    else
      w.template tail<spin>() -= torque<n>(gradient_[b], q[b].directors);
    return w;
  }

  // Solves sum over bodies of J_b(q0)^T interval_momentum(b) = `momentum_` for q1, whose entry value is the guess.
  // Returns false if Newton's method does not converge, or if a body turns by more than a right angle in space or in a
  // tree. For a free body only the rotation in space needs Newton's method.
  bool invert(const Poses& q0, double h, Poses& q1) {
    for (int b = 0; b < bodies_.size(); ++b)
      if (bodies_.is_free(b) &&
          !invert_free(bodies_.body(b), momentum_.segment<Multibody<n>::twist>(bodies_.range(b).first), h, q0[b],
                       q1[b]))
        return false;
    for (const auto& tree : bodies_.trees())
      if (!invert_tree(tree, q0, h, q1)) return false;
    return true;
  }

  static bool invert_free(const typename Multibody<n>::Member& m, const Twist<n>& p, double h, const Pose<n>& q0,
                          Pose<n>& q1) {
    q1.position = q0.position + h / m.mass * p.template head<n>();
    if constexpr (n == 2) {
      q1.angle = q0.angle + h / m.inertia(0, 0) * p[2];
      return true;
    } else {
      const Vector<3> target = h * p.template tail<3>();
      // round-off of the interval's arithmetic
      const double small = 4e-16 * (target.norm() + 1e-2 * m.euler_tensor.trace()), near_rounding = 1e3 * small;
      double last = 1e300;
      for (int k = 0;; ++k) {
        const Vector<3> r = interval_spin(m.euler_tensor, q0.directors, q1.directors) - target;
        const double size = r.norm();
        if (size <= small || (size >= last && last < near_rounding)) break;
        if (k == 30) {
          // Corrections below the rounding of the directors change only small components. The residual of a body
          // without spin would decrease forever.
          if (size < near_rounding) break;
          return false;
        }
        if (!(size < 1e100)) return false;
        last = size;
        rotate(q1, Vector<3>(-interval_inertia(m.euler_tensor, q0.directors, q1.directors).inverse() * r));
      }
      return is_resolved(q0, q1);
    }
  }

  // Solves for the poses of a tree by Newton's method on the manifold: F_d at the iterate applies the correction, so
  // all iterates satisfy the constraints.
  bool invert_tree(const typename Multibody<n>::Tree& tree, const Poses& q0, double h, Poses& q1) {
    const auto target = momentum_.segment(tree.range.first, tree.range.size);
    VectorX &residual = residual_, &correction = correction_;
    residual.resize(tree.range.size);
    slope_.resize(tree.range.size, tree.range.size);
    interval_jacobian_.resize(Multibody<n>::twist, tree.range.size);
    double last = 1e300;
    for (int k = 0;; ++k) {
      bodies_.jacobians(q1, tree, jacobian_);
      residual = -target;
      slope_.setZero();
      double scale = 0.0, turned = 0.0;
      for (const int b : tree.bodies) {
        const auto& m = bodies_.body(b);
        const Twist<n> t = bodies_.interval_momentum(b, q0[b], q1[b], h);
        scale += t.norm() + 1e-2 * m.mass / h * (1e-3 + q1[b].position.norm());
        residual.noalias() += inertia0_.jacobian(b).transpose() * t;
        interval_jacobian_.template topRows<n>() = m.mass / h * jacobian_[b].template topRows<n>();
        if constexpr (n == 2) {
          interval_jacobian_.row(2) = m.inertia(0, 0) / h * jacobian_[b].row(2);
          turned += m.inertia(0, 0) / h * std::abs(q1[b].angle);
        } else {
          const Matrix<3> inertia = interval_inertia(m.euler_tensor, q0[b].directors, q1[b].directors) / h;
          turned += m.euler_tensor.trace() / h;
          interval_jacobian_.template bottomRows<3>().noalias() = inertia * jacobian_[b].template bottomRows<3>();
        }
        slope_.noalias() += inertia0_.jacobian(b).transpose() * interval_jacobian_;
      }
      const double size = residual.norm();
      // Accepts also the accuracy that rounding allows: differences of angles and directors have the rounding of the
      // angles and directors.
      if (size <= 1e-15 * scale || (size >= 0.5 * last && last < 1e-12 * (scale + 1e-2 * turned)))
        return std::ranges::all_of(tree.bodies, [&](int b) { return is_resolved(q0[b], q1[b]); });
      if (k == 30 || !(size < 1e100)) return false;
      last = size;
      residual = -residual;
      correction = factor_.compute(slope_).solve(residual);
      iterate_ = q1;
      bodies_.reparametrise_tree(tree, iterate_, correction.data(), q1);
    }
  }

  const Multibody<n>& bodies_;
  const Forces<n>& forces_;
  const bool nodal_;
  std::vector<double> radius_;
  Inertia<n> inertia0_, inertia1_;
  Poses before_;
  VectorX nu_, momentum_;                                        // velocities and momenta of the interval
  VectorX force_;                                                // reduced generalised force of the previous step
  bool acted_ = false;                                           // whether force_ holds the force of a previous step
  double middle_ = 0.0, interval_ = 0.0;                         // midpoint time and length of the step, s
  bool controlled_ = false, flies_ = false;                      // whether there is a controller; and no joint
  AndersonAcceleration control_mixing_{3}, damping_mixing_{24};  // 24: one rate of convergence for each damped joint
                                                                 // of a robot
  VectorX asked_, unmixed_;                                      // last argument of the map, and its image
  std::vector<geometry::Frame<n>> frames_, node_;                // frames at the midpoint of the step; frames at a node
  std::vector<ConfigurationGradient<n>> gradient_;
  std::vector<Twist<n>> velocity_, wrench_, wrench1_;  // mean velocity of the step; wrenches for its start and its end
  std::vector<typename Multibody<n>::Jacobian> jacobian_;

  // work space of Newton's method for a tree
  VectorX residual_, correction_;
  Eigen::MatrixXd slope_;
  Eigen::PartialPivLU<Eigen::MatrixXd> factor_;
  typename Multibody<n>::Jacobian interval_jacobian_;
  Poses iterate_;
};

}  // namespace

template <int n>
std::unique_ptr<Integrator<n>> make_midpoint(const World<n>& world, const Multibody<n>& bodies, const Forces<n>& forces,
                                             bool nodal) {
  return std::make_unique<Midpoint<n>>(world, bodies, forces, nodal);
}

template std::unique_ptr<Integrator<2>> make_midpoint(const World<2>&, const Multibody<2>&, const Forces<2>&, bool);
template std::unique_ptr<Integrator<3>> make_midpoint(const World<3>&, const Multibody<3>&, const Forces<3>&, bool);

}  // namespace dodyn::rigid
