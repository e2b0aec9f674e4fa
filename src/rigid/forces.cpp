#include "rigid/forces.hpp"

#include <algorithm>
#include <cmath>

#include "rigid/multibody.hpp"
#include "rigid/stateful_force.hpp"

namespace dodyn::rigid {

template <int n>
Forces<n>::Forces(const World<n>& world, std::vector<Potential<n>> more)
    : world_(&world), more_(std::move(more)), gradient_(world.bodies.size()) {
  const auto& charges = world.charges;
  if (world.charge_constant != 0.0)
    for (std::size_t i = 0; i < charges.size(); ++i)
      for (std::size_t j = i + 1; j < charges.size(); ++j)
        if (charges[i].body != charges[j].body &&
            !(world.bodies[charges[i].body].fixed && world.bodies[charges[j].body].fixed))
          charge_pairs_.emplace_back(static_cast<int>(i), static_cast<int>(j));
  drag_ =
      std::ranges::any_of(world.bodies, [](const auto& b) { return b.linear_drag != 0.0 || b.angular_drag != 0.0; });
}

template <int n>
double Forces<n>::potential(Frames<n> at, std::span<ConfigurationGradient<n>> gradient) const {
  double V = 0.0;
  const bool slopes = !gradient.empty();
  for (std::size_t b = 0; b < world_->bodies.size(); ++b) {
    const auto& body = world_->bodies[b];
    if (slopes) gradient[b].setZero();
    if (body.fixed) continue;
    V -= body.mass * world_->gravity.dot(at[b].position);
    if (slopes) gradient[b].col(0) = -body.mass * world_->gravity;
  }
  if (!charge_pairs_.empty()) {
    const auto& charges = world_->charges;
    charge_at_.assign(2 * charges.size(), Vector<n>::Zero());
    Vector<n>* const slope = charge_at_.data() + charges.size();
    for (std::size_t i = 0; i < charges.size(); ++i) charge_at_[i] = at[charges[i].body](charges[i].at);
    for (const auto& [i, j] : charge_pairs_) {  // (3.51)
      const Vector<n> d = charge_at_[i] - charge_at_[j];
      const double closeness = 1.0 / d.squaredNorm();
      const double v = world_->charge_constant * charges[i].value * charges[j].value * std::sqrt(closeness);
      V += v;
      if (!slopes) continue;
      const Vector<n> by = (-v * closeness) * d;
      slope[i] += by;
      slope[j] -= by;
    }
    for (std::size_t i = 0; slopes && i < charges.size(); ++i) {
      if (world_->bodies[charges[i].body].fixed) continue;  // not needed: no equation uses it
      auto& sum = gradient[charges[i].body];
      sum.col(0) += slope[i];
      for (int k = 0; k < n; ++k) sum.col(k + 1) += charges[i].at[k] * slope[i];
    }
  }
  for (const auto& user : world_->potentials) V += user(at, gradient);
  for (const auto& own : more_) V += own(at, gradient);
  return V;
}

template <int n>
double Forces<n>::energy(const std::vector<Pose<n>>& poses) {
  frames_of(poses, frames_);
  const bool own = world_->potentials.empty() && more_.empty();
  return potential(frames_, own ? std::span<ConfigurationGradient<n>>() : std::span(gradient_));
}

template <int n>
void Forces<n>::wrench(double t, Frames<n> at, std::span<const Twist<n>> velocity, std::span<Twist<n>> out,
                       bool actors) const {
  constexpr int spin = Multibody<n>::spin;
  for (auto& w : out) w.setZero();
  if (drag_)
    for (std::size_t b = 0; b < world_->bodies.size(); ++b) {
      out[b].template head<n>() -= world_->bodies[b].linear_drag * velocity[b].template head<n>();
      out[b].template tail<spin>() -= world_->bodies[b].angular_drag * velocity[b].template tail<spin>();
    }
  for (const auto& user : world_->forces)
    if (actors || !user.template target<StatefulForceAdapter<n>>()) user(t, at, velocity, out);
}

template <int n>
Spin<n> torque(const ConfigurationGradient<n>& gradient, const Matrix<n>& directors) {
  Spin<n> sum = Spin<n>::Zero();
  for (int i = 0; i < n; ++i) sum += cross(Vector<n>(directors.col(i)), Vector<n>(gradient.col(i + 1)));
  return sum;
}

template class Forces<2>;
template class Forces<3>;
template Spin<2> torque<2>(const ConfigurationGradient<2>&, const Matrix<2>&);
template Spin<3> torque<3>(const ConfigurationGradient<3>&, const Matrix<3>&);

}  // namespace dodyn::rigid
