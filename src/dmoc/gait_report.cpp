// Computes gaits and their measures from the unknowns, without data of the solver.
#include <algorithm>
#include <cmath>

#include "dmoc/gait.hpp"

namespace dodyn::dmoc {

// Samples per interval of the legs' distance and the swing foot.
constexpr int leg_samples = 20;

namespace {

// Returns the rates at the knots of a gait, [Kd + 1, n]. At both ends they are the velocities of the jump.
Eigen::MatrixXd rates_of(const Scheme& scheme, const PhaseMotion& stance) {
  const int degree = scheme.degree, knots = stance.q.rows();
  Eigen::MatrixXd rate = Eigen::MatrixXd::Zero(knots, stance.q.cols());
  rate.row(0) = stance.rate_after.transpose();
  rate.row(knots - 1) = stance.rate_before.transpose();
  const auto inside = [&](int first, double share) -> Eigen::RowVectorXd {
    return scheme.slopes_at(share).transpose() * stance.q.middleRows(first, degree + 1) / stance.h;
  };
  for (int r = 1; r + 1 < knots; ++r) {
    const int first = r - r % degree;
    if (degree == 1)
      rate.row(r) = (stance.q.row(r + 1) - stance.q.row(r - 1)) / (2.0 * stance.h);
    else if (first == r)
      rate.row(r) = 0.5 * (inside(r - degree, 1.0) + inside(r, 0.0));
    else
      rate.row(r) = inside(first, scheme.position(r) - scheme.position(first));
  }
  return rate;
}

}  // namespace

Eigen::VectorXd WalkerGait::joints_at(const Eigen::MatrixXd& q, int interval, double share) const {
  const Scheme& scheme = walker_->system->scheme();
  const auto knots = q.middleRows(interval * scheme.degree, scheme.degree + 1).rightCols(walker_->joints);
  return knots.transpose() * scheme.values_at(share);
}

GaitMotion WalkerGait::motion(const Eigen::VectorXd& x) const {
  const int K = index().intervals, knots = index().knots(), joints = walker_->joints;
  Motion whole = motion_problem_.motion(x);
  PhaseMotion& stance = whole.phases.front();
  GaitMotion m;
  const Scheme& scheme = walker_->system->scheme();
  m.t.resize(knots);
  m.points.resize(knots, points_->outputs);
  m.swing_height.resize(knots);
  m.leg_distance = Eigen::VectorXd::Constant(K, nlp::infinity);
  const auto theta = [&](int r) -> Eigen::VectorXd { return stance.q.row(r).tail(joints).transpose(); };
  for (int r = 0; r < knots; ++r) {
    m.t(r) = settings_.period.value * scheme.position(r) / K;
    m.points.row(r) = value(*points_, theta(r)).transpose();
    m.swing_height(r) = value(*swing_height_, theta(r))(0);
  }
  m.wrong_side.assign(K, false);
  const std::vector<Pair> apart = pairs();
  for (int k = 0; k < K; ++k)
    for (int i = 0; i <= leg_samples; ++i) {
      const double f = static_cast<double>(i) / leg_samples;
      const auto ends = value(*segments_, joints_at(stance.q, k, f));
      for (const Pair& pair : apart)
        m.leg_distance(k) = std::min(m.leg_distance(k), std::sqrt(squared_distance(ends.data(), pair)));
      if (walker_->base != 3) continue;
      for (std::size_t one = 0; one < legs_.segments.size(); ++one)
        for (std::size_t other = 0; other < legs_.segments.size(); ++other)
          if (!legs_.segments[one].swing && legs_.segments[other].swing &&
              passes_on_the_right(ends.data(), {static_cast<int>(one), static_cast<int>(other), {}, {}},
                                  std::max(settings_.leg_radius, 0.02)))
            m.wrong_side[k] = true;
    }
  m.rate = rates_of(scheme, stance);
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
  const int base = walker_->base, K = index().intervals, knots = index().knots();
  const double h = settings_.period.value / K;
  const Scheme& scheme = walker_->system->scheme();
  GaitReport r;
  const MotionWork work = motion_problem_.work(0, x, settings_.work_at_ends);
  r.absolute_work = work.absolute;
  r.positive_work = work.positive;
  r.signed_work = work.signed_sum;
  r.weight = weight_.value;
  r.step_length = settings_.step_length.value;
  for (int row = 0; row + 1 < knots; ++row)
    for (int i = 0; i < walker_->inputs(); ++i)
      r.squared_torque += scheme.weights(row % scheme.degree) * h * m.u(row, i) * m.u(row, i);
  r.max_torque = m.u.cwiseAbs().maxCoeff();

  const auto friction_ratio = [&](const auto& force) {
    const double normal = force(base - 1), tangential = force.head(base - 1).norm();
    return normal > 0.0 ? tangential / normal : nlp::infinity;
  };
  r.min_normal_force = m.contact_force.col(base - 1).minCoeff();
  for (int row = 0; row < knots; ++row)
    r.max_friction_ratio = std::max(r.max_friction_ratio, friction_ratio(m.contact_force.row(row)));
  r.normal_impulse = m.impulse(base - 1);
  r.impulse_friction_ratio = friction_ratio(m.impulse);

  r.min_clearance = m.swing_height.segment(1, knots - 2).minCoeff();
  const auto foot_at = (1 + walker_->system->structure().swing_link) * base;  // index in the points
  Eigen::VectorXd before;                                                     // position of the foot at the last sample
  for (int k = 0; k < K; ++k)
    for (int i = k == 0 ? 0 : 1; i <= leg_samples; ++i) {
      const double f = static_cast<double>(i) / leg_samples;
      const Eigen::VectorXd theta = joints_at(m.q, k, f);
      r.max_foot_penetration = std::max(r.max_foot_penetration, -value(*swing_height_, theta)(0));
      const Eigen::VectorXd foot = value(*points_, theta).segment(foot_at, base);
      if (before.size() > 0) {
        const double way = (foot - before).head(base - 1).norm();
        r.foot_path += way;
        if (std::max(foot(base - 1), before(base - 1)) < scrape_height) r.scrape += way;
      }
      before = foot;
    }
  r.max_foot_height = m.swing_height.maxCoeff();
  r.max_joint_step = (m.q.bottomRows(knots - 1) - m.q.topRows(knots - 1)).cwiseAbs().maxCoeff();
  for (int row = 1; row + 1 < m.u.rows(); ++row)
    for (int i = 0; i < walker_->inputs(); ++i)
      r.max_torque_jump = std::max(
          r.max_torque_jump, std::abs(m.u(row, i)) - std::max(std::abs(m.u(row - 1, i)), std::abs(m.u(row + 1, i))));
  r.min_knee_flexion = nlp::infinity;
  for (const auto& knee : walker_->knees)
    r.max_knee_flexion = std::max(r.max_knee_flexion, (knee.flexion * m.q.col(base + knee.joint)).maxCoeff());
  for (const auto& knee : walker_->knees)
    r.min_knee_flexion = std::min(r.min_knee_flexion, (knee.flexion * m.q.col(base + knee.joint)).minCoeff());
  r.min_leg_distance = m.leg_distance.minCoeff();
  const double near = may_cross() ? 1e-9 : 1.8 * settings_.leg_radius;
  r.leg_crossings = static_cast<double>((m.leg_distance.array() < near).count());
  r.leg_order_violations = static_cast<double>(std::ranges::count(m.wrong_side, true));
  r.impact_loss = m.impact_loss;
  const auto plain = design_.plain();
  const double along = plain.has_lateral_gravity ? plain.mass() * plain.lateral_gravity[0]
                                                 : 0.0;  // component of gravity along a slope, N
  r.energy_balance = r.signed_work + along * r.step_length - r.impact_loss;
  return r;
}

}  // namespace dodyn::dmoc
