#include "evaluators/simulation/observation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dodyn::evaluators::simulation {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// returns omega x r
rigid::Vector<2> turned(const rigid::Spin<2>& spin, const rigid::Vector<2>& r) {
  return spin[0] * rigid::Vector<2>(-r[1], r[0]);
}
rigid::Vector<3> turned(const rigid::Spin<3>& spin, const rigid::Vector<3>& r) { return spin.cross(r); }

template <int n>
constexpr int spins = rigid::Spin<n>::RowsAtCompileTime;

}  // namespace

template <int n>
Observation<n>::Observation(const systems::Bodies<n>& view, std::vector<double> parameters,
                            const rigid::World<n>& world, double rest_speed, const rigid::Controller<n>* controller)
    : view_(view), parameters_(std::move(parameters)), rest_speed_(rest_speed), controller_(controller) {
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
  frame_known_.resize(fixed_.size());
  frames_.resize(fixed_.size());
}

template <int n>
void Observation<n>::look(const rigid::Simulation<n>& simulation, bool in_contact) {
  simulation_ = &simulation;
  in_contact_ = in_contact;
  if (last_equilibrium_ && simulation.time() <= last_equilibrium_->time)
    last_equilibrium_.reset();  // another run has begun
  coordinates_known_ = false;
  resting_.reset();
  std::ranges::fill(frame_known_, false);
  gaps_.clear();
}

template <int n>
const geometry::Frame<n>& Observation<n>::frame(int body) {
  if (!frame_known_[body]) {
    frames_[body] = simulation_->poses()[body].frame();
    frame_known_[body] = true;
  }
  return frames_[body];
}

template <int n>
double Observation<n>::relative_speed(int body, int about) const {
  const auto poses = simulation_->poses();
  const auto twists = simulation_->twists();
  const rigid::Spin<n> spin = twists[about].template tail<spins<n>>();
  const rigid::Vector<n> carried =
      twists[about].template head<n>() + turned(spin, poses[body].position - poses[about].position);
  return (twists[body].template head<n>() - carried).norm() +
         (twists[body].template tail<spins<n>>() - spin).norm() * radii_[body];
}

template <int n>
double Observation<n>::gap(int one, int other) {
  for (const Gap& known : gaps_)
    if (known.one == one && known.other == other) return known.size;
  double along = 0.0, corner_square = infinite;
  for (const auto& [box, seen] : {std::pair(one, other), std::pair(other, one)}) {
    const auto &a = frame(box), &b = frame(seen);
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
rigid::Vector<n> Observation<n>::position(const systems::Place<double>& place) {
  rigid::Vector<n> at;
  for (int i = 0; i < n; ++i) at[i] = place.at[i];
  if (place.link < 0) return at;
  const auto& [body, origin, ring] = view_.links[place.link];
  for (int i = 0; i < n; ++i) at[i] += origin[i];
  return frame(body)(at);
}

template <int n>
rigid::Vector<n> Observation<n>::velocity(const systems::Place<double>& place) {
  if (place.link < 0) return rigid::Vector<n>::Zero();
  const int body = view_.links[place.link].body;
  const auto& twist = simulation_->twists()[body];
  const rigid::Spin<n> spin = twist.template tail<spins<n>>();
  return twist.template head<n>() + turned(spin, position(place) - frame(body).position);
}

// Points, angles in the plane, and positions of roots follow from the bodies' poses.
template <int n>
std::optional<double> Observation<n>::direct(const systems::Variable& variable) {
  using systems::Variable;
  const auto& tree = view_.tree;
  const auto place = [&](int index) -> const auto& { return tree.named_points[index].place; };
  // In the plane only; there is no such variable in space. Links that are fixed to others rotate with their body.
  const auto angle = [&](int link) {
    if constexpr (n == 2) return link < 0 ? 0.0 : simulation_->poses()[view_.links[link].body].angle;
    return 0.0;
  };
  switch (variable.kind) {
    case Variable::position:
      return position(place(variable.index))[variable.axis];
    case Variable::velocity:
      return velocity(place(variable.index))[variable.axis];
    case Variable::speed:
      return velocity(place(variable.index)).norm();
    case Variable::distance:
      return (position(place(variable.index)) - position(place(variable.other))).norm();
    case Variable::angle:
      return angle(variable.index) - angle(variable.other);
    case Variable::coordinate:
    case Variable::rate: {
      std::size_t l = tree.links.size() - 1;
      while (tree.links[l].first > variable.index || tree.links[l].moves.empty()) --l;
      const auto& link = tree.links[l];
      const auto& move = link.moves[variable.index - link.first];
      if (move.kind == systems::Move::turn || move.is_oblique() || link.parent >= 0) return std::nullopt;
      const systems::Place<double> origin{static_cast<int>(l), {}};
      return variable.kind == Variable::rate ? velocity(origin)[move.axis]
                                             : position(origin)[move.axis] - link.at[move.axis];
    }
    default:
      return std::nullopt;
  }
}

template <int n>
bool Observation<n>::resting() {
  if (resting_) return *resting_;
  resting_ = true;
  for (std::size_t b = 0; b < fixed_.size() && *resting_; ++b)
    resting_ = fixed_[b] || static_cast<int>(b) == reference_ || relative_speed(b, reference_) <= rest_speed_;
  return *resting_ = *resting_ && balanced();
}

// Tests whether contact forces can balance all others. Otherwise the body is only at a turning point, like a pendulum.
// Points touch if they are closer than the height of small bounces at rest, or than bodies fall in two steps.
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
    case StateQuantity::model: {
      if (seen.variable.kind == systems::Variable::parameter) return parameters_[seen.variable.index];
      if (const auto known = direct(seen.variable)) return *known;
      if (!coordinates_known_) {
        auto coordinates = view_.coordinates(view_.state(*simulation_));
        q_ = std::move(coordinates.q);
        v_ = std::move(coordinates.v);
        links_ = view_.tree.template frames<double>(q_.data(), v_.data());
        coordinates_known_ = true;
      }
      return view_.tree.template value<double>(seen.variable, links_, q_.data(), v_.data(), nullptr);
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
    case StateQuantity::seen_from: {
      const auto& [body, origin, ring] = view_.links[seen.one];
      const rigid::Vector<n> at = frame(body).directors.transpose() *
                                  (position(view_.tree.named_points[seen.variable.index].place) - frame(body).position);
      return at[seen.variable.axis] - origin[seen.variable.axis];
    }
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
      return controller_->sums().effort;
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
