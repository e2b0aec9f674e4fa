// Newton's law of restitution at all contact points of a group together: u+ >= -e u-, complementary to the normal
// impulse; with Coulomb's cone.
#include <algorithm>
#include <cmath>
#include <limits>

#include "rigid/guess.hpp"
#include "rigid/impact.hpp"
#include "rigid/invariants.hpp"

namespace dodyn::rigid {

template <int n>
void Impact<n>::apply(const Eigen::VectorXd& p, Eigen::VectorXd& out) const {
  out = p;
  for (std::size_t i = 0; i < points.size(); ++i)
    for (int k = 0; k < n; ++k)
      if (impulse[n * i + k] != 0.0) rows.add_momentum(static_cast<int>(i), k, impulse[n * i + k], out);
}
template struct Impact<2>;
template struct Impact<3>;

namespace {

template <int n>
class Newton final : public ImpactLaw<n> {
 public:
  Newton(const World<n>& world, const Options& options) : world_(world), options_(options) {}
  void restart() override { guess_.clear(); }

  void resolve(const Inertia<n>& inertia, const Eigen::VectorXd& p, const Eigen::VectorXd& by_forces, double h,
               Impact<n>& impact) override {
    auto& [points, rows, impulse] = impact;
    inertia.velocity(p, nu_);
    inertia.velocity(by_forces, force_velocity_);
    rows.build(inertia, points, true);
    target_.resize(points.size());
    friction_.resize(points.size());
    double scale = 0.0;
    bool slippery = true;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const int c = static_cast<int>(i);
      const double u = rows.relative_velocity(c, 0, nu_);
      const double resting = options_.resting * rows.speed(c, 0, force_velocity_);
      scale = std::max(scale, std::abs(u));
      for (int k = 1; k < n; ++k) scale = std::max(scale, std::abs(rows.relative_velocity(c, k, nu_)));
      const bool rests = -u <= resting;
      if (points[i].gap >= -options_.tolerance)
        // that of a touching point that separates already is never used to reflect it
        target_[i] = rests && u <= 0.0 ? 0.0 : -restitution(world_, points[i]) * u;
      else  // not there yet: may close its gap within the next step, no more; a bounce waits until it touches
        target_[i] = rests && resting > 0.0 ? points[i].gap / h : -std::numeric_limits<double>::infinity();
      friction_[i] = options_.friction == Friction::cone ? friction(world_, points[i]) : 0.0;
      slippery = slippery && friction_[i] == 0.0;
    }
    const double tolerance = 1e-14 * scale, energy = kinetic_energy(p, nu_);
    const std::span<const double> rough = slippery ? std::span<const double>() : friction_;
    before_ = nu_;
    guess_.give(points, impulse);
    for (std::size_t i = 0; i < points.size(); ++i)
      for (int k = 0; k < n; ++k) {
        if (k > 0 && friction_[i] == 0.0) impulse[n * i + k] = 0.0;
        if (impulse[n * i + k] != 0.0) rows.add_impulse(static_cast<int>(i), k, impulse[n * i + k], nu_);
      }
    solver_.solve(rows, target_, rough, tolerance, nu_, impulse);
    impact.apply(p, after_);
    inertia.velocity(after_, nu_);
    if (kinetic_energy(after_, nu_) > energy * (1.0 + 1e-9) + 1e-300) {
      // Newton's law with unequal restitutions may feed energy in; plastic contact never does
      for (auto& t : target_)
        if (t != -std::numeric_limits<double>::infinity()) t = std::min(t, 0.0);
      nu_ = before_;
      std::fill(impulse.begin(), impulse.end(), 0.0);
      solver_.solve(rows, target_, rough, tolerance, nu_, impulse);
    }
    guess_.keep(points, impulse);
    if (options_.friction == Friction::squared_ratio)
      for (std::size_t i = 0; i < points.size(); ++i)
        if (impulse[n * i] > 0.0)
          printed_friction(static_cast<int>(i), friction(world_, points[i]), before_, nu_, impact);
  }

 private:
  const World<n>& world_;
  const Options& options_;
  ContactSolver<n> solver_;
  Guess<n> guess_;
  Eigen::VectorXd nu_, force_velocity_, before_, after_;
  std::vector<double> target_, friction_;
};

}  // namespace

template <int n>
std::unique_ptr<ImpactLaw<n>> make_newton(const World<n>& world, const Options& options) {
  return std::make_unique<Newton<n>>(world, options);
}
template std::unique_ptr<ImpactLaw<2>> make_newton(const World<2>&, const Options&);
template std::unique_ptr<ImpactLaw<3>> make_newton(const World<3>&, const Options&);

}  // namespace dodyn::rigid
