// The source's literal laws of impact and friction, to compare with.
#include <Eigen/QR>
#include <numeric>

#include "rigid/impact.hpp"

namespace dodyn::rigid {
namespace {

// Impulse components that undo the motion of contact c which is kinetically orthogonal to its normal: p_slide of
// (3.115), in the directions of the contact, and its squared norm.
template <int n>
Vector<n> slide_impulse(const ContactRows<n>& rows, int c, const Eigen::VectorXd& nu, double& squared_norm) {
  Matrix<n> metric;
  Vector<n> u;
  for (int i = 0; i < n; ++i) {
    u[i] = rows.relative_velocity(c, i, nu);
    for (int j = 0; j < n; ++j) metric(i, j) = rows.metric(c, i, j);
  }
  const Vector<n> nonfix = metric.completeOrthogonalDecomposition().solve(u);
  Vector<n> slide = nonfix;
  slide[0] -= u[0] / metric(0, 0);
  squared_norm = slide.dot(metric * slide);
  return slide;
}

// Per group of bodies in contact one reflection along the sum of the gradients of its approaching contacts; frictional
// impulses from the momenta before, summed.
template <int n>
class Printed final : public ImpactLaw<n> {
 public:
  Printed(const World<n>& world, const Options& options) : world_(world), options_(options) {}

  void resolve(const Inertia<n>& inertia, const Eigen::VectorXd& p, const Eigen::VectorXd&, double,
               const std::function<const Eigen::VectorXd&()>&, Impact<n>& impact) override {
    auto& [points, rows, impulse, rests, residual, energy_limited, lasting, residual_projection_energy] = impact;
    const Multibody<n>& bodies = inertia.bodies();
    std::erase_if(points, [&](const auto& point) { return point.gap < -options_.tolerance; });
    // the program's own point of each pair, the first of its run, stands for the pair
    PairKey last_pair = -1;
    std::erase_if(points, [&](const auto& point) {
      const bool again = point.pair == last_pair;
      last_pair = point.pair;
      return again;
    });
    inertia.velocity(p, nu_);
    rows.build(inertia, points, true);
    impulse.assign(n * points.size(), 0.0);
    rests.assign(points.size(), 1);
    const int count = static_cast<int>(points.size());
    std::vector<int> group(bodies.size());
    std::iota(group.begin(), group.end(), 0);
    const auto root = [&](int b) {
      while (group[b] != b) b = group[b];
      return b;
    };
    const auto member = [&](int c) { return root(impact.points[c].body[bodies.is_fixed(impact.points[c].body[0])]); };
    for (int c = 0; c < count; ++c) {
      const auto [a, b] = points[c].body;
      if (!bodies.is_fixed(a) && !bodies.is_fixed(b)) group[root(a)] = root(b);
    }
    for (int g = 0; g < bodies.size(); ++g) {
      Eigen::VectorXd direction = Eigen::VectorXd::Zero(bodies.dofs()), column;
      double e = 0.0;
      int members = 0;
      for (int c = 0; c < count; ++c)
        if (member(c) == g && rows.relative_velocity(c, 0, nu_) < 0.0) {
          rows.add_momentum(c, 0, 1.0, direction);
          e += restitution(world_, points[c]);
          ++members;
        }
      if (members == 0) continue;
      inertia.velocity(direction, column);
      const double share = -(1.0 + e / members) * direction.dot(nu_) / direction.dot(column);
      for (int c = 0; c < count; ++c) {
        if (member(c) != g || rows.relative_velocity(c, 0, nu_) >= 0.0) continue;
        impulse[n * c] += share;
        const double mu = friction(world_, points[c]);
        if (mu <= 0.0) continue;
        double S;
        const Vector<n> slide = slide_impulse(rows, c, nu_, S);
        const double u = rows.relative_velocity(c, 0, nu_), N = u * u / rows.metric(c, 0, 0);
        double part = S <= mu * N ? 1.0 : mu * N / S;
        if (options_.friction == Friction::cone) {
          const double size = slide.template tail<n - 1>().norm();
          part = size <= mu * share ? 1.0 : mu * share / size;
        }
        impulse[n * c] -= part * slide[0];
        for (int k = 1; k < n; ++k) impulse[n * c + k] -= part * slide[k];
      }
    }
  }

 private:
  const World<n>& world_;
  const Options& options_;
  Eigen::VectorXd nu_;
};

}  // namespace

template <int n>
std::unique_ptr<ImpactLaw<n>> make_printed(const World<n>& world, const Options& options) {
  return std::make_unique<Printed<n>>(world, options);
}

template <int n>
void printed_friction(int c, double mu, const Eigen::VectorXd& nu_before, Eigen::VectorXd& nu, Impact<n>& impact) {
  const auto& rows = impact.rows;
  double S;
  const Vector<n> slide = slide_impulse(rows, c, nu, S);
  const double u = rows.relative_velocity(c, 0, nu_before), N = u * u / rows.metric(c, 0, 0);
  if (S <= 0.0) return;
  const double share = S <= mu * N ? 1.0 : mu * N / S;
  for (int k = 0; k < n; ++k) {
    rows.add_impulse(c, k, -share * slide[k], nu);
    impact.impulse[n * c + k] -= share * slide[k];
  }
}

template std::unique_ptr<ImpactLaw<2>> make_printed(const World<2>&, const Options&);
template std::unique_ptr<ImpactLaw<3>> make_printed(const World<3>&, const Options&);
template void printed_friction(int, double, const Eigen::VectorXd&, Eigen::VectorXd&, Impact<2>&);
template void printed_friction(int, double, const Eigen::VectorXd&, Eigen::VectorXd&, Impact<3>&);

}  // namespace dodyn::rigid
