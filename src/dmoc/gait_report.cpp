// Computes gaits and their measures from the unknowns, without data of the solver.
#include <algorithm>
#include <cmath>

#include "dmoc/gait.hpp"

namespace dodyn::dmoc {

// Samples per interval of the legs' distance and the swing foot.
constexpr int leg_samples = 20;

GaitMotion WalkerGait::motion(const Eigen::VectorXd& x) const {
  const int K = index().intervals, joints = walker_->joints;
  Motion whole = motion_problem_.motion(x);
  PhaseMotion& stance = whole.phases.front();
  GaitMotion m;
  m.t = Eigen::VectorXd::LinSpaced(K + 1, 0.0, settings_.period.value);
  m.points.resize(K + 1, points_->outputs);
  m.swing_height.resize(K + 1);
  m.leg_distance = Eigen::VectorXd::Constant(K, nlp::infinity);
  const auto theta = [&](int k) -> Eigen::VectorXd { return stance.q.row(k).tail(joints).transpose(); };
  for (int k = 0; k <= K; ++k) {
    m.points.row(k) = value(*points_, theta(k)).transpose();
    m.swing_height(k) = value(*swing_height_, theta(k))(0);
  }
  m.wrong_side.assign(static_cast<std::size_t>(K), false);
  const std::vector<Pair> apart = pairs();
  for (int k = 0; k < K; ++k)
    for (int i = 0; i <= leg_samples; ++i) {
      const double f = static_cast<double>(i) / leg_samples;
      const auto ends = value(*segments_, (1.0 - f) * theta(k) + f * theta(k + 1));
      for (const Pair& pair : apart)
        m.leg_distance(k) = std::min(m.leg_distance(k), std::sqrt(squared_distance(ends.data(), pair)));
      if (walker_->base != 3) continue;
      for (std::size_t one = 0; one < legs_.segments.size(); ++one)
        for (std::size_t other = 0; other < legs_.segments.size(); ++other)
          if (!legs_.segments[one].swing && legs_.segments[other].swing &&
              passes_on_the_right(ends.data(), {static_cast<int>(one), static_cast<int>(other), {}, {}},
                                  std::max(settings_.leg_radius, 0.02)))
            m.wrong_side[static_cast<std::size_t>(k)] = true;
    }
  m.rate = Eigen::MatrixXd::Zero(K + 1, walker_->n());
  for (int k = 1; k < K; ++k) m.rate.row(k) = (stance.q.row(k + 1) - stance.q.row(k - 1)) / (2.0 * stance.h);
  m.rate.row(0) = stance.rate_after.transpose();
  m.rate.row(K) = stance.rate_before.transpose();
  m.q = std::move(stance.q);
  m.p = std::move(stance.p);
  m.u = std::move(stance.u);
  m.energy = std::move(stance.energy);
  m.contact_force = std::move(stance.held_force);
  m.impulse = whole.events.front().impulse.head(walker_->base);
  m.impact_loss = whole.events.front().loss;
  return m;
}

GaitReport WalkerGait::report(const Eigen::VectorXd& x) const {
  const GaitMotion m = motion(x);
  const int base = walker_->base, K = index().intervals;
  const double h = settings_.period.value / K;
  GaitReport r;
  const auto& actuators = walker_->system->structure().actuators;
  r.weight = weight_.value;
  r.step_length = settings_.step_length.value;
  for (int k = 0; k < K; ++k)
    for (int i = 0; i < walker_->inputs(); ++i) {
      const int joint = actuators[static_cast<std::size_t>(i)].coordinate;
      const double work = m.u(k, i) * (m.q(k + 1, joint) - m.q(k, joint));
      r.signed_work += work;
      const double halves[] = {0.5 * h * m.u(k, i) * m.rate(k, joint), 0.5 * h * m.u(k, i) * m.rate(k + 1, joint)};
      for (const double w : halves) {
        r.absolute_work += settings_.work_at_ends ? std::abs(w) : 0.5 * std::abs(work);
        r.positive_work += std::max(settings_.work_at_ends ? w : 0.5 * work, 0.0);
      }
      r.squared_torque += h * m.u(k, i) * m.u(k, i);
    }
  r.largest_torque = m.u.cwiseAbs().maxCoeff();

  const auto friction_ratio = [&](const auto& force) {
    const double normal = force(base - 1), tangential = force.head(base - 1).norm();
    return normal > 0.0 ? tangential / normal : nlp::infinity;
  };
  r.smallest_normal_force = m.contact_force.col(base - 1).minCoeff();
  for (int k = 0; k <= K; ++k)
    r.largest_friction_ratio = std::max(r.largest_friction_ratio, friction_ratio(m.contact_force.row(k)));
  r.normal_impulse = m.impulse(base - 1);
  r.impulse_friction_ratio = friction_ratio(m.impulse);

  r.smallest_clearance = m.swing_height.segment(1, K - 1).minCoeff();
  const auto foot_at = (1 + walker_->system->structure().swing_link) * base;  // index in the points
  Eigen::VectorXd before;                                                     // position of the foot at the last sample
  for (int k = 0; k < K; ++k)
    for (int i = k == 0 ? 0 : 1; i <= leg_samples; ++i) {
      const double f = static_cast<double>(i) / leg_samples;
      const Eigen::VectorXd theta = ((1.0 - f) * m.q.row(k) + f * m.q.row(k + 1)).tail(walker_->joints).transpose();
      r.largest_scuff = std::max(r.largest_scuff, -value(*swing_height_, theta)(0));
      const Eigen::VectorXd foot = value(*points_, theta).segment(foot_at, base);
      if (before.size() > 0) {
        const double way = (foot - before).head(base - 1).norm();
        r.foot_way += way;
        if (std::max(foot(base - 1), before(base - 1)) < scrape_height) r.scrape += way;
      }
      before = foot;
    }
  r.largest_lift = m.swing_height.maxCoeff();
  r.largest_turn = (m.q.bottomRows(K) - m.q.topRows(K)).cwiseAbs().maxCoeff();
  for (int k = 1; k + 1 < K; ++k)
    for (int i = 0; i < walker_->inputs(); ++i)
      r.largest_spike =
          std::max(r.largest_spike, std::abs(m.u(k, i)) - std::max(std::abs(m.u(k - 1, i)), std::abs(m.u(k + 1, i))));
  r.smallest_knee_flexion = nlp::infinity;
  for (const auto& knee : walker_->knees)
    r.largest_knee_flexion = std::max(r.largest_knee_flexion, (knee.flexion * m.q.col(base + knee.joint)).maxCoeff());
  for (const auto& knee : walker_->knees)
    r.smallest_knee_flexion = std::min(r.smallest_knee_flexion, (knee.flexion * m.q.col(base + knee.joint)).minCoeff());
  r.smallest_leg_distance = m.leg_distance.minCoeff();
  const double near = may_cross() ? 1e-9 : 1.8 * settings_.leg_radius;
  r.leg_crossings = static_cast<double>((m.leg_distance.array() < near).count());
  r.wrong_sides = static_cast<double>(std::count(m.wrong_side.begin(), m.wrong_side.end(), true));
  r.impact_loss = m.impact_loss;
  const auto plain = design_.plain();
  const double along = plain.tilted ? plain.mass() * plain.across[0] : 0.0;  // component of gravity along a slope, N
  r.energy_balance = r.signed_work + along * r.step_length - r.impact_loss;
  return r;
}

}  // namespace dodyn::dmoc
