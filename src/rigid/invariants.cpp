#include "rigid/invariants.hpp"

#include "rigid/integrator.hpp"

namespace dodyn::rigid {

template <int n>
Momenta<n> momenta(const Inertia<n>& inertia, const std::vector<Pose<n>>& poses, const Eigen::VectorXd& nu) {
  Momenta<n> sum;
  for (int b = 0; b < inertia.bodies().size(); ++b) {
    if (inertia.bodies().is_fixed(b)) continue;
    const Twist<n> own = inertia.body_momentum(b, inertia.twist(b, nu));
    sum.linear += own.template head<n>();
    sum.angular +=
        cross(poses[b].position, Vector<n>(own.template head<n>())) + own.template tail<Multibody<n>::spin>();
  }
  return sum;
}

template <int n>
double discrete_energy(const Multibody<n>& bodies, const Forces<n>& forces, const std::vector<Pose<n>>& q0,
                       const std::vector<Pose<n>>& q1, double h) {
  std::vector<geometry::Frame<n>> frames(q0.size());
  std::vector<ConfigurationGradient<n>> gradient(q0.size());
  double sum = 0.0;
  for (int b = 0; b < bodies.size(); ++b) {
    frames[b] = middle(q0[b], q1[b]);
    if (bodies.is_fixed(b)) continue;
    const auto& m = bodies.body(b);
    sum += 0.5 * m.mass * (q1[b].position - q0[b].position).squaredNorm() / (h * h);
    if constexpr (n == 2) {
      const double w = (q1[b].angle - q0[b].angle) / h;
      sum += 0.5 * m.inertia(0, 0) * w * w;
    } else {
      const Matrix<3> D = (q1[b].directors - q0[b].directors) / h;
      sum += 0.5 * (D.transpose() * D).cwiseProduct(m.euler_tensor).sum();
    }
  }
  return sum + forces.potential(frames, gradient);
}

template Momenta<2> momenta(const Inertia<2>&, const std::vector<Pose<2>>&, const Eigen::VectorXd&);
template Momenta<3> momenta(const Inertia<3>&, const std::vector<Pose<3>>&, const Eigen::VectorXd&);
template double discrete_energy(const Multibody<2>&, const Forces<2>&, const std::vector<Pose<2>>&,
                                const std::vector<Pose<2>>&, double);
template double discrete_energy(const Multibody<3>&, const Forces<3>&, const std::vector<Pose<3>>&,
                                const std::vector<Pose<3>>&, double);

}  // namespace dodyn::rigid
