#include "evaluators/simulation/feedback_force.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

namespace dodyn::evaluators::simulation {

template <int n>
FeedbackForce<n>::FeedbackForce(const systems::Bodies<n>& view, const FeedbackLaw& law, std::vector<double> parameters,
                                rigid::Stepper stepper)
    : law_(law),
      parameters_(std::move(parameters)),
      trapezoidal_(stepper == rigid::Stepper::newmark_explicit || stepper == rigid::Stepper::newmark_implicit),
      push_(systems::recorded_actuators(view)),
      kinematics_(view, law.uses(StateQuantity::spatial_angle)),
      u_(view.tree.actuators.size(), 0.0),
      trial_u_(u_),
      wrench_(view.world.bodies.size()) {
  for (const auto& actuator : view.tree.actuators)
    limits_.push_back(actuator.limit.value_or(std::numeric_limits<double>::infinity()));
}

template <int n>
void FeedbackForce<n>::start(double t, std::span<const rigid::Pose<n>> poses, std::span<const rigid::Twist<n>> twists,
                             const Start& start) {
  const auto count = std::ssize(law_.states);
  start_variables_ = start.variables;
  time_ = next_sample_ = t;
  node_.assign(poses.begin(), poses.end());
  node_twists_.assign(twists.begin(), twists.end());
  kinematics_.begin(start.q);
  kinematics_.look_at_node(poses, twists);
  states_.setZero(count);
  for (Eigen::Index i = 0; i < count; ++i)
    if (const auto& initial = law_.states[i].initial) states_[i] = value(*initial, t, states_, nullptr);
  rates_ = more_rates_ = Eigen::VectorXd::Zero(count);
  std::ranges::fill(u_, 0.0);
  queue_.clear();
  before_ = last_ = {};
  sums_ = {};
  sums_.largest.assign(law_.controls.size(), 0.0);
  sums_.limited_for = sums_.largest;
}

template <int n>
double FeedbackForce<n>::value(const Formula& formula, double t, const Eigen::VectorXd& states,
                               const std::vector<double>* u) {
  arguments_.clear();
  for (const StateQuantity& seen : formula.arguments) {
    double x = 0.0;
    if (seen.kind == StateQuantity::time)
      x = t;
    else if (seen.kind == StateQuantity::start)
      x = start_variables_[seen.one];
    else if (seen.kind == StateQuantity::law_state)
      x = states[seen.one];
    else if (seen.kind == StateQuantity::control)
      x = (*u)[seen.one];
    else if (seen.kind == StateQuantity::seen_from)
      x = kinematics_.seen_from(seen.one, seen.variable.index, seen.variable.axis);
    else if (seen.variable.kind == systems::Variable::parameter)
      x = parameters_[seen.variable.index];
    else
      x = kinematics_.value(seen.variable);
    arguments_.push_back(x);
  }
  return formula.expression.template evaluate<double>(std::span<const double>(arguments_));
}

template <int n>
void FeedbackForce<n>::set_controls(double t, const Eigen::VectorXd& states, std::vector<double>& u) {
  for (const auto& [actuator, formula] : law_.controls)
    u[actuator] = std::clamp(value(formula, t, states, nullptr), -limits_[actuator], limits_[actuator]);
}

// Sets the rates of the states, and trial_u_, because rates may depend on controls.
template <int n>
void FeedbackForce<n>::set_rates(double t, const Eigen::VectorXd& states, Eigen::VectorXd& rates) {
  set_controls(t, states, trial_u_);
  for (Eigen::Index i = 0; i < states.size(); ++i) rates[i] = value(law_.states[i].rate, t, states, &trial_u_);
}

// Solves z = base + factor f(z) for z = trial_ by Newton's method with differences. Sets rates_ and trial_u_.
template <int n>
void FeedbackForce<n>::solve_states(double t, const Eigen::VectorXd& base, double factor) {
  constexpr double rounding = 1e-15, difference = 1e-7;
  constexpr int most = 30;
  const Eigen::Index count = base.size();
  trial_ = base + factor * rates_;
  double last = std::numeric_limits<double>::infinity();
  for (int k = 0; k <= most; ++k) {
    set_rates(t, trial_, rates_);
    const Eigen::VectorXd residual = trial_ - base - factor * rates_;
    const double size = residual.norm(), scale = trial_.norm() + base.norm() + factor * rates_.norm();
    if (!(size > 2.0 * rounding * scale) || (size >= 0.5 * last && size <= 1e3 * rounding * scale)) {
      if (std::isnan(size)) throw std::runtime_error("a state of [feedback] is not a finite number");
      return;
    }
    last = size;
    if (k == 0) {  // exact if no rate depends on a state
      trial_ = base + factor * rates_;
      continue;
    }
    Eigen::MatrixXd slope = Eigen::MatrixXd::Identity(count, count);
    for (Eigen::Index i = 0; i < count; ++i) {
      Eigen::VectorXd near = trial_;
      const double by = difference * std::max(std::abs(near[i]), 1e-3 * scale);
      near[i] += by;
      set_rates(t, near, more_rates_);
      slope.col(i) -= factor / by * (more_rates_ - rates_);
    }
    trial_ -= slope.partialPivLu().solve(residual);
  }
  throw std::runtime_error("the states of [feedback] are not solved; choose a shorter simulation.step");
}

// Uses a state within a step. Directors determine the angle of a body in the plane only up to full turns. The nearest
// such angle to that of the last node is used.
template <int n>
void FeedbackForce<n>::look_between(rigid::Frames<n> frames, std::span<const rigid::Twist<n>> twists) {
  between_.resize(frames.size());
  for (std::size_t b = 0; b < frames.size(); ++b) {
    between_[b].position = frames[b].position;
    if constexpr (n == 2) {
      const double angle = std::atan2(frames[b].directors(1, 0), frames[b].directors(0, 0));
      constexpr double turn = 2.0 * std::numbers::pi;
      between_[b].angle = angle + turn * std::round((node_[b].angle - angle) / turn);
    } else {
      between_[b].directors = frames[b].directors;
    }
  }
  kinematics_.look(between_, twists);
}

template <int n>
void FeedbackForce<n>::act(double t, rigid::Frames<n> frames, std::span<const rigid::Twist<n>> twists,
                           std::span<rigid::Twist<n>> wrench) {
  if (t != last_.time) before_ = last_;
  if (!sampled()) {
    look_between(frames, twists);
    const double since = t - time_;
    if (trapezoidal_ && since > 0.0)
      solve_states(t, states_ + 0.5 * since * before_.rates, 0.5 * since);
    else
      solve_states(t, states_, since);
  }
  const auto& u = sampled() ? u_ : trial_u_;
  for (auto& one : wrench_) one.setZero();
  push_(frames, twists, u, wrench_);
  double power = 0.0;
  for (std::size_t b = 0; b < wrench_.size(); ++b) {
    wrench[b] += wrench_[b];
    power += wrench_[b].dot(twists[b]);
  }
  last_ = {t, power, u, rates_};
}

template <int n>
void FeedbackForce<n>::passed(double t, double h) {
  const auto add = [&](const AppliedControls& applied, double weight) {
    for (std::size_t i = 0; i < law_.controls.size(); ++i) {
      const int actuator = law_.controls[i].actuator;
      const double size = std::abs(applied.u[actuator]);
      sums_.effort += weight * size * size;
      sums_.largest[i] = std::max(sums_.largest[i], size);
      if (size >= limits_[actuator]) sums_.limited_for[i] += weight;
    }
    sums_.work += weight * applied.power;
    if (!sampled()) states_ += weight * applied.rates;
  };
  if (trapezoidal_) {
    add(before_, 0.5 * h);
    add(last_, 0.5 * h);
  } else {
    add(last_, h);
  }
  time_ = t + h;
}

// Returns the power (W) of controls in a state.
template <int n>
double FeedbackForce<n>::power(std::span<const rigid::Pose<n>> poses, std::span<const rigid::Twist<n>> twists,
                               const std::vector<double>& u) {
  frames_.resize(poses.size());
  for (std::size_t b = 0; b < poses.size(); ++b) frames_[b] = poses[b].frame();
  for (auto& one : wrench_) one.setZero();
  push_(frames_, twists, u, wrench_);
  double sum = 0.0;
  for (std::size_t b = 0; b < wrench_.size(); ++b) sum += wrench_[b].dot(twists[b]);
  return sum;
}

template <int n>
double FeedbackForce<n>::corrected(double h, std::span<const rigid::Pose<n>> poses,
                                   std::span<const rigid::Twist<n>> twists) {
  const double before = trapezoidal_ ? 0.5 * h * (before_.power + last_.power) : h * last_.power;
  const double change = 0.5 * h * (power(node_, node_twists_, last_.u) + power(poses, twists, last_.u)) - before;
  sums_.work += change;
  node_.assign(poses.begin(), poses.end());  // where the next interval of the step begins
  node_twists_.assign(twists.begin(), twists.end());
  return change;
}

// Whether the time `at` of a sample or of queued controls has come at t. Allows for rounding of times.
template <int n>
bool FeedbackForce<n>::due(double at, double t) const {
  constexpr double soon = 1e-9;
  return t >= at - soon * law_.period;
}

template <int n>
void FeedbackForce<n>::take(double t) {
  for (; !queue_.empty() && due(queue_.front().from, t); queue_.pop_front()) u_ = queue_.front().u;
}

template <int n>
void FeedbackForce<n>::sample(double t) {
  set_rates(t, states_, rates_);
  queue_.push_back({t + law_.delay, trial_u_});
  states_ += law_.period * rates_;
  while (due(next_sample_, t)) next_sample_ += law_.period;
}

template <int n>
void FeedbackForce<n>::node(double t, std::span<const rigid::Pose<n>> poses, std::span<const rigid::Twist<n>> twists) {
  node_.assign(poses.begin(), poses.end());
  node_twists_.assign(twists.begin(), twists.end());
  kinematics_.look_at_node(poses, twists);
  if (!sampled()) return;
  if (due(next_sample_, t)) sample(t);
  take(t);
}

template <int n>
const std::vector<double>& FeedbackForce<n>::controls(double t, std::span<const rigid::Pose<n>> poses,
                                                      std::span<const rigid::Twist<n>> twists) {
  if (sampled()) return u_;
  kinematics_.look(poses, twists);
  set_controls(t, states_, trial_u_);
  return trial_u_;
}

template class FeedbackForce<2>;
template class FeedbackForce<3>;

}  // namespace dodyn::evaluators::simulation
