#include "rigid/controller.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "rigid/multibody.hpp"

namespace dodyn::rigid {

BodyState in_space(const geometry::Frame<2>& frame, const Twist<2>& twist) {
  BodyState state;
  state.position.head<2>() = frame.position;
  state.attitude.topLeftCorner<2, 2>() = frame.directors;
  state.velocity.head<2>() = twist.head<2>();
  state.spin[2] = twist[2];
  return state;
}

namespace {

constexpr double soon = 1e-9;  // a sample is due this much before its time, relative to the period

void must(bool good, const std::string& what) {
  if (!good) throw std::invalid_argument(what);
}

// Uses the nearest rotation, because the directors of a midpoint are not a rotation.
BodyState in_space(const geometry::Frame<3>& frame, const Twist<3>& twist) {
  const Matrix<3> R = nearest_rotation(frame.directors);
  return {frame.position, twist.head<3>(), R, R.transpose() * twist.tail<3>()};
}

Twist<2> wrench_of(const Command& command, const Matrix<3>&, Vector<2>) {
  return {command.force[0], command.force[1], command.torque[2]};
}
Twist<3> wrench_of(const Command& command, const Matrix<3>& attitude, Vector<3>) {
  return (Twist<3>() << command.force, attitude * command.torque).finished();
}

template <int n>
Vector<3> widened(const Vector<n>& v) {
  Vector<3> wide = Vector<3>::Zero();
  wide.template head<n>() = v;
  return wide;
}
Vector<3> spin_in_space(const Spin<2>& w) { return {0.0, 0.0, w[0]}; }
Vector<3> spin_in_space(const Spin<3>& w) { return w; }

Vector<3> shortened(const Vector<3>& v, double limit) {
  const double size = v.norm();
  return size > limit ? Vector<3>(limit / size * v) : v;
}

}  // namespace

TrackingError tracking_error(Retraction map, const BodyState& state, const Desired& desired) {
  const Matrix<3> R = state.attitude.transpose() * desired.attitude;  // R_e
  const auto [vector, angle] = attitude_error(map, R);
  return {state.position - desired.position, state.velocity - desired.velocity, vector, state.spin - R * desired.spin,
          angle};
}

Command command(const ControlLaw& law, const MassProperties& body, const BodyState& state, const Desired& desired,
                const Vector<3>& gravity, double* angle) {
  const auto e = tracking_error(law.retraction, state, desired);
  if (angle) *angle = e.angle;
  const Matrix<3>& J = body.inertia;
  Command give;
  give.force = -law.position_gain * e.position - law.velocity_gain * e.velocity;
  give.torque = law.attitude_gain * e.attitude - law.spin_gain * e.spin - Vector<3>(J * state.spin).cross(state.spin);
  if (law.retraction == Retraction::cayley)  // Gamma
    give.torque += 0.25 * law.attitude_gain * e.attitude.squaredNorm() * e.attitude;
  if (law.feed_forward) {
    give.force += body.mass * (desired.acceleration - gravity);
    const Vector<3> rate = state.attitude.transpose() * (desired.attitude * desired.spin_rate);
    give.torque += J * (rate - e.spin.cross(state.spin - e.spin));  // R_e' = -hat(e_omega) R_e
  }
  give.force = shortened(give.force, law.largest_force);
  give.torque = shortened(give.torque, law.largest_torque);
  return give;
}

template <int n>
Controller<n>::Controller(const World<n>& world, const ControllerOptions& options)
    : options_(options), curve_(options.curve) {
  const auto& law = options.law;
  for (const auto& [gain, name] :
       {std::pair(law.position_gain, "gain-position"), std::pair(law.velocity_gain, "gain-velocity"),
        std::pair(law.attitude_gain, "gain-attitude"), std::pair(law.spin_gain, "gain-spin")})
    must(gain > 0.0 || law.off(),
         std::string(name) + " is not positive; allowed: more than 0, or 0 for all four gains (no control)");
  const int count = world.bodies.size();
  must(options.body >= 0 && options.body < count && options.receiver >= -1 && options.receiver < count &&
           options.body != options.receiver,
       "a controller flies a body to another one that does not exist");
  const auto& body = world.bodies[options.body];
  must(!body.fixed, "'" + body.name + "' does not move, so it cannot be the craft");
  for (const auto& joint : world.joints)
    must(joint.child != options.body && joint.parent != options.body,
         "'" + body.name + "' is joined to another body; the craft must be a free body");
  must(law.largest_force > 0.0 && law.largest_torque > 0.0, "the largest force or torque is not positive");
  must(
      options.period > 0.0 || (options.delay == 0.0 && options.position_noise == 0.0 && options.attitude_noise == 0.0 &&
                               options.velocity_noise == 0.0 && options.spin_noise == 0.0),
      "noise and delay need sampled commands; set a sample rate");
  mass_.mass = body.mass;
  const double trace = body.euler_tensor.trace();
  if constexpr (n == 2) {
    mass_.inertia = trace * Matrix<3>::Identity();
    curve_ = DipoleCurve([&] {
      auto planar = options.curve;
      planar.roll = 3;  // rotations in the plane are about axis 3
      return planar;
    }());
  } else {
    mass_.inertia = trace * Matrix<3>::Identity() - body.euler_tensor;
  }
  gravity_ = widened<n>(world.gravity);
  receiver_stays_ = options.receiver < 0 || world.bodies[options.receiver].fixed;
}

template <int n>
void Controller<n>::start(double t, std::span<const Pose<n>> poses, std::span<const Twist<n>> twists,
                          std::uint64_t seed) {
  sums_ = {};
  before_ = last_ = {};
  active_command_ = {};
  queue_.clear();
  next_sample_ = t;
  random_.seed(seed);
  BodyState receiver;
  if (options_.receiver >= 0) receiver = in_space(poses[options_.receiver].frame(), twists[options_.receiver]);
  const Vector<3> at =
      receiver.attitude.transpose() * (widened<n>(Vector<n>(poses[options_.body].position)) - receiver.position);
  if (const auto why = curve_.refuses(at); !why.empty()) throw std::invalid_argument("the craft's start " + why);
  curve_.start(t, at);
  cached_reference_ = {};
}

template <int n>
double Controller<n>::longest_step() const {
  if (options_.law.off()) return std::numeric_limits<double>::infinity();
  if (options_.period > 0.0) return options_.period * (1.0 + 1e-9);
  double least = mass_.inertia.diagonal().minCoeff();
  return 0.5 / std::max(options_.law.velocity_gain / mass_.mass, options_.law.spin_gain / least);
}

// If the receiver moves, the curve moves with it. The acceleration of the receiver is not known and taken as zero.
template <int n>
Desired Controller<n>::desired(double t, Frames<n> frames, std::span<const Twist<n>> twists) const {
  const bool known = cached_reference_.time == t;
  if (!known) cached_reference_ = {t, curve_.at(t)};
  Desired d = cached_reference_.desired;
  if (options_.receiver < 0 || (known && receiver_stays_)) return d;
  const BodyState r = in_space(frames[options_.receiver], twists[options_.receiver]);
  const Matrix<3>& R = r.attitude;
  const Vector<3> w = R * r.spin, arm = R * d.position, along = R * d.velocity;
  const Vector<3> seen = d.attitude.transpose() * r.spin;  // spin of the receiver in the desired axes
  d.acceleration = R * d.acceleration + 2.0 * w.cross(along) + w.cross(w.cross(arm));
  d.velocity = r.velocity + along + w.cross(arm);
  d.position = r.position + arm;
  d.spin_rate -= d.spin.cross(seen);
  d.spin += seen;
  d.attitude = R * d.attitude;
  if (receiver_stays_) cached_reference_.desired = d;
  return d;
}

template <int n>
Command Controller<n>::commanded(double t, Frames<n> frames, std::span<const Twist<n>> twists) const {
  return commanded(t, in_space(frames[options_.body], twists[options_.body]), frames, twists).command;
}

template <int n>
typename Controller<n>::CommandWithAngle Controller<n>::commanded(double t, const BodyState& state, Frames<n> frames,
                                                                  std::span<const Twist<n>> twists) const {
  if (options_.law.off()) return {};
  if (options_.period > 0.0) return {{state.attitude * active_command_.force, active_command_.torque}};
  CommandWithAngle give;
  give.command = command(options_.law, mass_, state, desired(t, frames, twists), gravity_, &give.angle);
  return give;
}

template <int n>
TrackingError Controller<n>::error(double t, Frames<n> frames, std::span<const Twist<n>> twists) const {
  return tracking_error(options_.law.retraction, in_space(frames[options_.body], twists[options_.body]),
                        desired(t, frames, twists));
}

template <int n>
bool Controller<n>::sample_due(double t) const {
  return t >= next_sample_ - soon * options_.period;
}

template <int n>
void Controller<n>::take(double t) {
  while (!queue_.empty() && queue_.front().from <= t + soon * options_.period) {
    active_command_ = queue_.front().command;
    queue_.pop_front();
  }
}

template <int n>
void Controller<n>::node(double t, std::span<const Pose<n>> poses, std::span<const Twist<n>> twists) {
  if (options_.law.off()) return;
  if (options_.period > 0.0 && !sample_due(t)) return take(t);
  curve_.pass(t);
  if (options_.period == 0.0 && options_.replan == 0.0) return;
  frames_.resize(poses.size());
  for (std::size_t b = 0; b < poses.size(); ++b) frames_[b] = poses[b].frame();
  const BodyState state = in_space(frames_[options_.body], twists[options_.body]);
  Desired aim = desired(t, frames_, twists);
  if (options_.replan > 0.0 && !aim.docked && (state.position - aim.position).norm() > options_.replan) {
    BodyState receiver;
    if (options_.receiver >= 0) receiver = in_space(frames_[options_.receiver], twists[options_.receiver]);
    const Vector<3> at = receiver.attitude.transpose() * (state.position - receiver.position);
    if (curve_.refuses(at).empty()) {
      curve_.start(t, at);
      cached_reference_ = {};
      aim = desired(t, frames_, twists);
      ++sums_.replanned;
    }
  }
  if (options_.period > 0.0) sample(t, state, aim);
}

template <int n>
void Controller<n>::sample(double t, const BodyState& state, const Desired& aim) {
  const BodyState seen = measured(state);
  double angle = 0.0;
  Command give = command(options_.law, mass_, seen, aim, gravity_, &angle);
  sums_.largest_angle = std::max(sums_.largest_angle, angle);
  give.force = (seen.attitude.transpose() * give.force).eval();
  queue_.push_back({t + options_.delay, give});
  while (next_sample_ <= t + soon * options_.period) next_sample_ += options_.period;
  take(t);
}

template <int n>
double Controller<n>::normal() {
  // not from <random>, whose distributions differ between standard libraries
  const auto uniform = [&] { return static_cast<double>(random_() >> 11) * 0x1p-53; };
  const double u = 1.0 - uniform(), v = uniform();
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

template <int n>
BodyState Controller<n>::measured(const BodyState& state) {
  BodyState seen = state;
  const auto vary = [&](Vector<3>& x, double size, bool turns) {
    if (size == 0.0) return;
    for (int i = 0; i < 3; ++i)
      if (n == 3 || (i == 2) == turns) x[i] += size * normal();
  };
  vary(seen.position, options_.position_noise, false);
  vary(seen.velocity, options_.velocity_noise, false);
  vary(seen.spin, options_.spin_noise, true);
  Vector<3> turn = Vector<3>::Zero();
  vary(turn, options_.attitude_noise, true);
  seen.attitude = exponential(turn) * seen.attitude;
  return seen;
}

template <int n>
void Controller<n>::act(double t, Frames<n> frames, std::span<const Twist<n>> twists, std::span<Twist<n>> wrench) {
  if (options_.law.off()) return;
  const auto& frame = frames[options_.body];
  const Twist<n>& twist = twists[options_.body];
  const BodyState state = in_space(frame, twist);
  const auto [give, angle] = commanded(t, state, frames, twists);
  if (t != last_.time) before_ = last_;
  last_ = {t,
           wrench_of(give, state.attitude, frame.position),
           twist,
           frame.position,
           give.force.squaredNorm() + give.torque.squaredNorm(),
           angle};
  wrench[options_.body] += last_.wrench;
}

// The midpoint rule evaluates in the middle of an interval. Newmark's method evaluates at both ends and uses the
// trapezoidal rule.
template <int n>
void Controller<n>::passed(double t, double h) {
  if (options_.law.off()) return;
  const auto add = [&](const AppliedCommand& acted, double weight) {
    const Vector<n> force = acted.wrench.template head<n>();
    sums_.effort += weight * acted.squares;
    sums_.largest_angle = std::max(sums_.largest_angle, acted.angle);
    sums_.work += weight * acted.wrench.dot(acted.twist);
    sums_.impulse += weight * widened<n>(force);
    sums_.angular_impulse += weight * (widened<n>(acted.position).cross(widened<n>(force)) +
                                       spin_in_space(Spin<n>(acted.wrench.template tail<Multibody<n>::spin>())));
  };
  if (last_.time > t + 0.75 * h) {
    add(before_, 0.5 * h);
    add(last_, 0.5 * h);
  } else {
    add(last_, h);
  }
}

template class Controller<2>;
template class Controller<3>;

}  // namespace dodyn::rigid
