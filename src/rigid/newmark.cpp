// Newmark's method (3.3) with gamma = 1/2 and beta = 0 or 1/4, for free bodies. Rotations use the exponential map of
// the increment in body axes.
#include <Eigen/Cholesky>
#include <algorithm>
#include <limits>

#include "rigid/integrator.hpp"

namespace dodyn::rigid {
namespace {

template <int n>
class Newmark final : public Integrator<n> {
  using Poses = std::vector<Pose<n>>;
  using Twists = std::vector<Twist<n>>;
  static constexpr int spin = Multibody<n>::spin;

 public:
  Newmark(double beta, const Multibody<n>& bodies, const Forces<n>& forces)
      : beta_(beta), bodies_(bodies), forces_(forces), inertia_(bodies) {
    gradient_.resize(bodies.size());
    for (auto* list : {&v0_, &v1_, &wrench_, &acceleration0_, &acceleration1_})
      list->assign(bodies.size(), Twist<n>::Zero());
  }

  bool advance(double t, double h, const State<n>& from, State<n>& to) override {
    const Poses& q0 = from.poses;
    Poses& q1 = to.poses;
    inertia_.set(q0);
    inertia_.velocity(from.p, nu_);
    inertia_.twists(nu_, v0_);
    accelerations(t, q0, v0_, acceleration0_);
    acceleration1_ = acceleration0_;
    q1 = q0;
    double last = std::numeric_limits<double>::infinity();
    for (int k = 0;; ++k) {
      double change = 0.0;
      for (int b = 0; b < bodies_.size(); ++b) {
        v1_[b].setZero();
        if (bodies_.is_fixed(b)) continue;
        Twist<n> v = v0_[b];
        if constexpr (n == 3) v.template tail<3>() = q0[b].directors.transpose() * v0_[b].template tail<3>();
        const Twist<n> u =
            h * v + 0.5 * h * h * ((1.0 - 2.0 * beta_) * acceleration0_[b] + 2.0 * beta_ * acceleration1_[b]);
        v1_[b] = v + 0.5 * h * (acceleration0_[b] + acceleration1_[b]);
        q1[b] = q0[b];
        q1[b].position += u.template head<n>();
        if constexpr (n == 2) {
          q1[b].angle += u[2];
        } else {
          q1[b].directors = q0[b].directors * exponential(u.template tail<3>());
          v1_[b].template tail<3>() = (q1[b].directors * v1_[b].template tail<3>()).eval();
        }
      }
      before_ = acceleration1_;
      accelerations(t + h, q1, v1_, acceleration1_);
      for (int b = 0; b < bodies_.size(); ++b)
        change = std::max(change, (acceleration1_[b] - before_[b]).norm() * h / (1e-3 / h + v1_[b].norm()));
      if (change <= 1e-15 || (change >= last && change < 1e-12)) break;
      if (!(change < 1e100) || k == 100) return false;
      last = change;
    }
    bodies_.orthonormalise(q1);
    inertia_.set(q1);
    to.p.setZero(bodies_.dofs());
    for (int b = 0; b < bodies_.size(); ++b)
      if (!bodies_.is_fixed(b)) inertia_.add_reduced(b, inertia_.body_momentum(b, v1_[b]), to.p);
    time_ = t;
    interval_ = h;
    frames_of(q0, frames0_);
    return true;
  }

  // Returns the work by the trapezoidal rule, like the velocity update.
  double work() override {
    if (!forces_.has_wrench()) return 0.0;
    double power = 0.0;
    const auto add = [&](double t, const auto& frames, const Twists& velocity) {
      forces_.wrench(t, frames, velocity, wrench_, false);
      for (int b = 0; b < bodies_.size(); ++b)
        if (!bodies_.is_fixed(b)) power += 0.5 * wrench_[b].dot(velocity[b]);
    };
    add(time_, frames0_, v0_);
    add(time_ + interval_, frames_, v1_);
    return interval_ * power;
  }

 private:
  // Computes the accelerations of the moving bodies at a node: linear ones in world axes, angular ones in body axes.
  void accelerations(double t, const Poses& q, const Twists& velocity, Twists& a) {
    frames_of(q, frames_);
    forces_.potential(frames_, gradient_);
    forces_.wrench(t, frames_, velocity, wrench_);
    for (int b = 0; b < bodies_.size(); ++b) {
      if (bodies_.is_fixed(b)) continue;
      const auto& m = bodies_.body(b);
      a[b].template head<n>() = (wrench_[b].template head<n>() - gradient_[b].col(0)) / m.mass;
      const Spin<n> moment = wrench_[b].template tail<spin>() - torque<n>(gradient_[b], frames_[b].directors);
      if constexpr (n == 2) {
        a[b][2] = moment[0] / m.inertia(0, 0);
      } else {
        const Matrix<3>&X = frames_[b].directors, J = m.inertia;
        const Vector<3> w = X.transpose() * velocity[b].template tail<3>();
        a[b].template tail<3>() = J.ldlt().solve(X.transpose() * moment - w.cross(J * w));
      }
    }
  }

  double beta_;
  const Multibody<n>& bodies_;
  const Forces<n>& forces_;
  Inertia<n> inertia_;
  Eigen::VectorXd nu_;
  double time_ = 0.0, interval_ = 0.0;                // start and length of the last step, s
  std::vector<geometry::Frame<n>> frames0_, frames_;  // at the start of the last step, and at the last evaluation
  std::vector<ConfigurationGradient<n>> gradient_;
  Twists v0_, v1_, wrench_, acceleration0_, acceleration1_, before_;
};

}  // namespace

template <int n>
std::unique_ptr<Integrator<n>> make_newmark(double beta, const Multibody<n>& bodies, const Forces<n>& forces) {
  return std::make_unique<Newmark<n>>(beta, bodies, forces);
}

template <int n>
std::unique_ptr<Integrator<n>> make_integrator(Stepper stepper, const World<n>& world, const Multibody<n>& bodies,
                                               const Forces<n>& forces) {
  switch (stepper) {
    case Stepper::newmark_explicit:
      return make_newmark(0.0, bodies, forces);
    case Stepper::newmark_implicit:
      return make_newmark(0.25, bodies, forces);
    case Stepper::variational:
    case Stepper::variational_nodal:
      break;
  }
  return make_midpoint(world, bodies, forces, stepper == Stepper::variational_nodal);
}

template std::unique_ptr<Integrator<2>> make_integrator(Stepper, const World<2>&, const Multibody<2>&,
                                                        const Forces<2>&);
template std::unique_ptr<Integrator<3>> make_integrator(Stepper, const World<3>&, const Multibody<3>&,
                                                        const Forces<3>&);

}  // namespace dodyn::rigid
