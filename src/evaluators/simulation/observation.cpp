#include "evaluators/simulation/observation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dodyn::evaluators::simulation {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

template <int n>
constexpr int spins = rigid::Spin<n>::RowsAtCompileTime;

}  // namespace

template <int n>
Observation<n>::Observation(const systems::Bodies<n>& view, std::vector<double> parameters,
                            const rigid::World<n>& world, double rest_speed, bool follows_angles,
                            const rigid::Controller<n>* controller, FeedbackForce<n>* feedback)
    : view_(view),
      parameters_(std::move(parameters)),
      rest_speed_(rest_speed),
      controller_(controller),
      feedback_(feedback),
      kinematics_(view, follows_angles) {
  for (const auto& body : world.bodies) {
    fixed_.push_back(body.fixed);
    radii_.push_back(rigid::radius(body));
    Box box{rigid::Vector<n>::Constant(infinite), rigid::Vector<n>::Constant(-infinite)};
    for (const auto& part : body.parts)
      for (const auto& corner : part.corners()) {
        box.low = box.low.cwiseMin(corner);
        box.high = box.high.cwiseMax(corner);
      }
    boxes_.push_back(box);
  }
  const auto still = std::ranges::find(fixed_, true);
  reference_ = still == fixed_.end() ? 0 : static_cast<int>(still - fixed_.begin());
}

template <int n>
void Observation<n>::look(const rigid::Simulation<n>& simulation, bool in_contact) {
  simulation_ = &simulation;
  in_contact_ = in_contact;
  if (last_equilibrium_ && simulation.time() <= last_equilibrium_->time)
    last_equilibrium_.reset();  // another run has begun
  kinematics_.look_at_node(simulation.poses(), simulation.twists());
  resting_.reset();
  gaps_.clear();
}

template <int n>
double Observation<n>::relative_speed(int body, int about) const {
  const auto poses = simulation_->poses();
  const auto twists = simulation_->twists();
  const rigid::Spin<n> spin = twists[about].template tail<spins<n>>();
  const rigid::Vector<n> carried =
      twists[about].template head<n>() + spin_velocity(spin, poses[body].position - poses[about].position);
  return (twists[body].template head<n>() - carried).norm() +
         (twists[body].template tail<spins<n>>() - spin).norm() * radii_[body];
}

template <int n>
double Observation<n>::gap(int one, int other) {
  for (const Gap& known : gaps_)
    if (known.one == one && known.other == other) return known.size;
  double along = 0.0, corner_square = infinite;
  for (const auto& [box, seen] : {std::pair(one, other), std::pair(other, one)}) {
    const auto &a = kinematics_.frame(box), &b = kinematics_.frame(seen);
    const auto &l = boxes_[box].low, &h = boxes_[box].high;
    // corners of one box in the axes of the other: its rotated centre and edges
    const rigid::Vector<n> middle =
        a.directors.transpose() * (b(0.5 * (boxes_[seen].low + boxes_[seen].high)) - a.position);
    const rigid::Matrix<n> edges =
        a.directors.transpose() * b.directors * (0.5 * (boxes_[seen].high - boxes_[seen].low)).asDiagonal();
    const rigid::Vector<n> reach = edges.cwiseAbs().rowwise().sum();
    along = std::max({along, (middle - reach - h).maxCoeff(), (l - middle - reach).maxCoeff()});
    if (n > 2) continue;
    for (int i = 0; i < 1 << n; ++i) {
      rigid::Vector<n> v = middle;
      for (int k = 0; k < n; ++k) v += (i >> k & 1 ? 1.0 : -1.0) * edges.col(k);
      corner_square = std::min(corner_square, (v - v.cwiseMax(l).cwiseMin(h)).squaredNorm());
    }
  }
  // if two rectangles are apart, a corner of one is nearest
  const double size = n == 2 && along > 0.0 ? std::sqrt(corner_square) : along;
  gaps_.push_back({one, other, size});
  return size;
}

template <int n>
bool Observation<n>::resting() {
  if (resting_) return *resting_;
  resting_ = true;
  for (std::size_t b = 0; b < fixed_.size() && *resting_; ++b)
    resting_ = fixed_[b] || static_cast<int>(b) == reference_ || relative_speed(b, reference_) <= rest_speed_;
  return *resting_ = *resting_ && balanced();
}

// Tests whether contact forces can balance all other forces. Otherwise a body is only at a turning point, like a
// pendulum. Points touch if they are closer than the height of small bounces at rest, or than bodies fall in two steps.
template <int n>
bool Observation<n>::balanced() {
  constexpr double share = 1e-3;        // relative to the acceleration without contact
  constexpr double bounce = 1e-4;       // relative to the smallest body's radius
  constexpr double coarsest = 1e-2;     // relative to that radius: a larger fall in one step does not count as touching
  constexpr double while_still = 0.05;  // s, for which a result for still bodies is reused; forces depend on time
  if (!balance_) balance_.emplace(simulation_->world());
  double smallest = infinite;
  for (std::size_t b = 0; b < fixed_.size(); ++b)
    if (!fixed_[b] && radii_[b] > 0.0) smallest = std::min(smallest, radii_[b]);
  const double margin = smallest < infinite ? bounce * smallest : simulation_->options().tolerance;
  const auto poses = simulation_->poses();
  bool still = last_equilibrium_ && simulation_->time() - last_equilibrium_->time < while_still;
  for (std::size_t b = 0; b < fixed_.size() && still; ++b)
    still = fixed_[b] ||
            rigid::motion_bound(radii_[b], last_equilibrium_->poses[b].frame(), poses[b].frame()) <= 0.1 * margin;
  if (!still) {
    last_equilibrium_ = {simulation_->time(), {poses.begin(), poses.end()}, false};
    // the steps of free flight, far from all contacts, do not affect the margin
    const rigid::Margin touch{margin, std::max(margin, coarsest / bounce * margin),
                              in_contact_ ? simulation_->options().step : 0.0};
    last_equilibrium_->balanced =
        balance_->unbalanced(last_equilibrium_->poses, last_equilibrium_->time, touch) <= share;
  }
  return last_equilibrium_->balanced;
}

template <int n>
double Observation<n>::radius_of_gyration() const {
  const auto poses = simulation_->poses();
  rigid::Vector<n> sum = rigid::Vector<n>::Zero();
  double squares = 0.0;
  int count = 0;
  for (std::size_t b = 0; b < fixed_.size(); ++b) {
    if (fixed_[b]) continue;
    sum += poses[b].position;
    squares += poses[b].position.squaredNorm();
    ++count;
  }
  return count == 0 ? 0.0 : std::sqrt(std::max(0.0, squares / count - (sum / count).squaredNorm()));
}

template <int n>
rigid::TrackingError Observation<n>::tracking() const {
  std::vector<geometry::Frame<n>> frames;
  for (const auto& pose : simulation_->poses()) frames.push_back(pose.frame());
  return controller_->error(simulation_->time(), frames, simulation_->twists());
}

template <int n>
double Observation<n>::value(const StateQuantity& seen, const Start& start, const Progress& progress) {
  switch (seen.kind) {
    case StateQuantity::start:
      return start.variables[seen.one];
    case StateQuantity::spatial_angle:
    case StateQuantity::model: {
      if (seen.variable.kind == systems::Variable::parameter) return parameters_[seen.variable.index];
      return kinematics_.value(seen.variable);
    }
    case StateQuantity::time:
      return simulation_->time();
    case StateQuantity::at_end:
      return progress.at_end ? 1.0 : 0.0;
    case StateQuantity::touching:
      return progress.touching ? 1.0 : 0.0;
    case StateQuantity::touched:
      return progress.touched >= 0.0 ? 1.0 : 0.0;
    case StateQuantity::since_touch:
      return progress.touched >= 0.0 ? simulation_->time() - progress.touched : infinite;
    case StateQuantity::resting:
      return resting() ? 1.0 : 0.0;
    case StateQuantity::touching_links: {
      const int a = view_.links[seen.one].body, b = view_.links[seen.other].body;
      if (!in_contact_) return 0.0;
      for (const auto& contact : simulation_->contacts())
        if ((contact.body[0] == a && contact.body[1] == b) || (contact.body[0] == b && contact.body[1] == a))
          return 1.0;
      return 0.0;
    }
    case StateQuantity::seen_from:
      return kinematics_.seen_from(seen.one, seen.variable.index, seen.variable.axis);
    case StateQuantity::gap:
      return gap(view_.links[seen.one].body, view_.links[seen.other].body);
    case StateQuantity::kinetic:
      return simulation_->energies().kinetic;
    case StateQuantity::potential:
      return simulation_->energies().potential;
    case StateQuantity::energy_change:
      return simulation_->energies().total() - progress.start_energy - progress.booked;
    case StateQuantity::largest_overlap:
      return progress.overlap;
    case StateQuantity::largest_spin:
      return progress.spin;
    case StateQuantity::largest_impulse:
      return progress.impulse;
    case StateQuantity::cluster:
      return progress.cluster;
    case StateQuantity::radius_of_gyration:
      return radius_of_gyration();
    case StateQuantity::effort:
      return progress.effort;
    case StateQuantity::control:
      return feedback_->controls(simulation_->time(), simulation_->poses(), simulation_->twists())[seen.one];
    case StateQuantity::law_state:
      return feedback_->states()[seen.one];
    case StateQuantity::position_error:
      return tracking().position.norm();
    case StateQuantity::attitude_error:
      return tracking().angle;
  }
  return 0.0;
}

template <int n>
double Observation<n>::evaluate(const Formula& formula, const Start& start, const Progress& progress) {
  arguments_.clear();
  for (const StateQuantity& seen : formula.arguments) arguments_.push_back(value(seen, start, progress));
  return formula.expression.template evaluate<double>(std::span<const double>(arguments_));
}

template <int n>
bool Observation<n>::holds(const Condition& condition, const Start& start, const Progress& progress) {
  switch (condition.kind) {
    case Condition::comparison:
      return evaluate(condition.one, start, progress) != 0.0;
    case Condition::truth:
      return value(condition.one.arguments[0], start, progress) != 0.0;
    case Condition::opposite:
      return !holds(condition.parts[0], start, progress);
    case Condition::all:
      return std::ranges::all_of(condition.parts, [&](const Condition& part) { return holds(part, start, progress); });
    case Condition::any:
      return std::ranges::any_of(condition.parts, [&](const Condition& part) { return holds(part, start, progress); });
  }
  return false;
}

template class Observation<2>;
template class Observation<3>;

}  // namespace dodyn::evaluators::simulation
