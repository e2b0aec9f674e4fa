// The steps of two contact responses (simulation.hpp). `exact` divides a step where a gap closes and applies impulses
// there. `decomposition` reverses the closing part of the momenta.
#include <algorithm>
#include <cmath>

#include "elastic/simulation.hpp"
#include "record/text.hpp"

namespace dodyn::elastic {

template <int n>
rigid::Twist<n> Simulation<n>::turned(int body, const rigid::Twist<n>& of, bool inverse) const {
  const double mass = bodies_.bodies[body].mass;
  rigid::Twist<n> out;
  out.template head<n>() = inverse ? (of.template head<n>() / mass).eval() : (of.template head<n>() * mass).eval();
  const auto& moments = principal_[body].moments;
  if constexpr (n == 2) {
    out[2] = inverse ? of[2] / moments[0] : of[2] * moments[0];
  } else {
    const Matrix<3> R = poses_[body].directors * principal_[body].axes;
    const Vector<3> along = R.transpose() * of.template tail<3>();
    out.template tail<3>() = R * (inverse ? along.cwiseQuotient(moments).eval() : along.cwiseProduct(moments).eval());
  }
  return out;
}

template <int n>
std::vector<ContactRow<n>> Simulation<n>::rows(double above) const {
  std::vector<ContactRow<n>> all;
  for (const auto& c : detection_->found()) {
    if (c.normal_gap() <= above) continue;
    ContactRow<n> row;
    row.gap = c.gap;
    for (int s = 0; s < 2; ++s) {
      const std::size_t b = c.body[s];
      if (cell_of_[b] < 0 && bodies_.bodies[b].fixed) continue;
      const typename geometry::Contact<n>::Gradient d = geometry::gradient(c, s);
      const rigid::ConfigurationGradient<n> g = Eigen::Map<const rigid::ConfigurationGradient<n>>(d.data());
      if (cell_of_[b] < 0) {
        auto& one = row.bodies[s];
        one.body = c.body[s];
        one.gradient.template head<n>() = g.col(0);
        one.gradient.template tail<rigid::Multibody<n>::spin>() = rigid::torque<n>(g, frames_[b].directors);
        one.response = turned(c.body[s], one.gradient, true);
        row.inverse_mass += one.gradient.dot(one.response);
        continue;
      }
      const auto& cell = elements_.cell(cell_of_[b]);
      for (int j = 0; j <= n; ++j) {
        const int node = cell.node[j];
        const Vector<n> gradient = g.col(0) / (n + 1) + g.template rightCols<n>() * cell.gradient.col(j);
        const double mass = elements_.mass()[node];
        row.nodes.push_back({node, mass, gradient});
        row.inverse_mass += gradient.squaredNorm() / mass;
      }
    }
    if (row.inverse_mass > 0.0) all.push_back(std::move(row));
  }
  return all;
}

template <int n>
std::vector<rigid::Twist<n>> Simulation<n>::twists() const {
  std::vector<rigid::Twist<n>> all(momentum_.size(), rigid::Twist<n>::Zero());
  for (int b = 0; b < rigid_; ++b)
    if (!bodies_.bodies[b].fixed) all[b] = turned(b, momentum_[b], true);
  return all;
}

// P v is the velocity nearest to v, in the metric of the masses, that closes no overlap. The sweeps of push_apart()
// compute P v to their tolerance. The factor of v - P v is chosen such that the kinetic energy changes by -(1 - e^2) of
// the part that P removes. So elastic contacts conserve the kinetic energy to round-off.
template <int n>
void Simulation<n>::turn_round() {
  const auto closed = rows(0.0);
  const auto before = twists();
  auto after = before;
  Nodes<n> v = v_;
  double fastest = 0.0;
  {
    const Rates<n> rates{v, after};
    for (const auto& row : closed) fastest = std::max(fastest, rate(row, rates));
    if (fastest == 0.0) return;
    push_apart(closed, std::vector<double>(closed.size(), 0.0), 1e-4 * fastest, 100, rates);
  }
  double along = 0.0, square = 0.0;  // d.M v and d.M d with d = v - P v
  for (int i = 0; i < elements_.nodes(); ++i) {
    const Vector<n> d = v_.col(i) - v.col(i);
    const double mass = elements_.mass()[i];
    along += mass * d.dot(v_.col(i));
    square += mass * d.squaredNorm();
  }
  std::vector<rigid::Twist<n>> taken(before.size(), rigid::Twist<n>::Zero());  // momentum of the removed velocity d
  for (int b = 0; b < rigid_; ++b) {
    if (bodies_.bodies[b].fixed) continue;
    const rigid::Twist<n> d = before[b] - after[b];
    taken[b] = turned(b, d, false);
    along += d.dot(momentum_[b]);
    square += d.dot(taken[b]);
  }
  if (!(square > 0.0)) return;
  const double turn = (1.0 + options_.restitution) * along / square;
  v_ += turn * (v - v_);
  for (int b = 0; b < rigid_; ++b) momentum_[b] -= turn * taken[b];
}

// Applies impulses at closed gaps. They reverse the closing rates, times the restitution. Without closing gaps nothing
// changes. Returns false and sets reason_ if the sweeps of push_apart() do not converge.
template <int n>
bool Simulation<n>::collide() {
  const auto closed = rows(-near);
  if (closed.empty()) return true;
  auto twists = this->twists();
  const Rates<n> rates{v_, twists};
  std::vector<double> limits;
  bool hits = false;
  double fastest = 0.0;
  for (const auto& row : closed) {
    const double speed = rate(row, rates);
    limits.push_back(speed > 0.0 ? -options_.restitution * speed : 0.0);
    hits = hits || speed > 0.0;
    fastest = std::max(fastest, std::abs(speed));
  }
  if (!hits) return true;
  for (const auto& c : detection_->found())
    if (c.normal_gap() > -near) hit_.push_back(std::minmax(whole(c.body[0]), whole(c.body[1])));
  if (!push_apart(closed, limits, 1e-6 * fastest, 10000, rates)) {
    reason_ = formatted("the impulses of %zu contacts at t = %g s did not converge; choose a shorter step",
                        closed.size(), time_);
    return false;
  }
  for (int b = 0; b < rigid_; ++b)
    if (!bodies_.bodies[b].fixed) momentum_[b] = turned(b, twists[b], false);
  return true;
}

template <int n>
bool Simulation<n>::exact_step() {
  double left = options_.step;
  for (int impacts = 0; left > 1e-12 * options_.step; ++impacts) {
    if (impacts == options_.most_impacts) {
      reason_ = formatted(
          "a contact lasts at t = %g s: more than %d impacts within a step; choose another contact-method, or a "
          "shorter step",
          time_, options_.most_impacts);
      return false;
    }
    const auto x = x_, v = v_, force = force_;
    const auto poses = poses_;
    const auto momentum = momentum_, wrench = wrench_;
    const auto overlap_after = [&](double h) {
      x_ = x;
      v_ = v;
      force_ = force;
      poses_ = poses;
      momentum_ = momentum;
      wrench_ = wrench;
      kick(0.5 * h);
      drift(h);
      place();
      detection_->find(frames_, near);
      return overlap();
    };
    double h = left;
    if (overlap_after(h) > options_.tolerance) {
      double low = 0.0;
      for (int i = 0; i < 60; ++i) {
        const double middle = 0.5 * (low + h);
        const double there = overlap_after(middle);
        (there > options_.tolerance ? h : low) = middle;
        if (there > 0.0 && there <= options_.tolerance) break;
      }
      h = low;
      overlap_after(h);
    }
    if (!act()) return false;
    kick(0.5 * h);
    if (!collide()) return false;
    left -= h;
  }
  return true;
}

#define DODYN_RESPONSES(n)                                                                 \
  template rigid::Twist<n> Simulation<n>::turned(int, const rigid::Twist<n>&, bool) const; \
  template std::vector<ContactRow<n>> Simulation<n>::rows(double) const;                   \
  template std::vector<rigid::Twist<n>> Simulation<n>::twists() const;                     \
  template void Simulation<n>::turn_round();                                               \
  template bool Simulation<n>::collide();                                                  \
  template bool Simulation<n>::exact_step();
DODYN_RESPONSES(2)
DODYN_RESPONSES(3)
#undef DODYN_RESPONSES

}  // namespace dodyn::elastic
