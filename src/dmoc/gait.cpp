#include "dmoc/gait.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <random>
#include <utility>

#include "dmoc/path_function.hpp"

namespace dodyn::dmoc {

using nlp::AssembledProblem;
using Term = AssembledProblem::Term;

namespace {

// Returns the conditions on the force of the ground on the foot. With finite friction: a friction cone by tangential
// directions (3D: the inscribed pyramid of eight sides). Otherwise, if `unilateral`: only the normal force. Otherwise
// none.
std::vector<ForceCondition> ground(const GaitSettings& settings, int base) {
  const bool cone = std::isfinite(settings.friction);
  if (!cone)
    return settings.unilateral ? std::vector<ForceCondition>{{.forces = {{base - 1, 1.0}}}}
                               : std::vector<ForceCondition>{};
  if (base == 2)
    return {{.forces = {{1, settings.friction}, {0, 1.0}}}, {.forces = {{1, settings.friction}, {0, -1.0}}}};
  std::vector<ForceCondition> facets;
  for (int f = 0; f < 8; ++f) {
    const double angle = (f + 0.5) * std::numbers::pi / 4.0;
    facets.push_back(
        {.forces = {
             {2, settings.friction * std::cos(std::numbers::pi / 8.0)}, {0, std::cos(angle)}, {1, std::sin(angle)}}});
  }
  return facets;
}

}  // namespace

WalkerGait::WalkerGait(std::shared_ptr<const Walker> walker, std::vector<Coefficient> numbers,
                       const GaitSettings& settings)
    : walker_(std::move(walker)),
      settings_(settings),
      design_(walker_->system->model().tree<Coefficient>(numbers)),
      legs_(walker_->legs(design_)),
      weight_(design_.weight()),
      swing_height_(element(walker_->swing_height, numbers)),
      exchanged_(element(walker_->exchanged, numbers)),
      points_(element(walker_->points, numbers)),
      segments_(element(walker_->segments, numbers)),
      motion_problem_(walker_->system, std::move(numbers)) {
  build();
}

// Returns the distance from the hip along the leg, m, beyond which the legs must have the full distance. Cylinders of
// radius r whose axes start at one point of the middle plane always overlap near it. Straight legs of length L with
// feet w apart reach w/2 from the plane at the feet. If the hip sways by w/4, w/4 remains. So the full distance r
// applies from 4 r L / w on; if w <= 4 r, only at the feet. For hips at least 2 r apart it applies from the hip on.
Coefficient WalkerGait::free_of_hip() const {
  const double r = settings_.leg_radius;
  if (!(legs_.hips.value < 2.0 * r)) return 0.0;
  const Coefficient &length = legs_.reach.back(), &w = settings_.step_width;
  return w.value > 4.0 * r ? 4.0 * r * length / w : length;
}

std::vector<Pair> WalkerGait::pairs() const {
  std::vector<Pair> all;
  const double free = free_of_hip().value;
  const auto beyond = [free](const Walker::Legs::Segment& s) {
    const double length = s.farther.value - s.nearer.value,
                 from = std::max(0.0, free - s.nearer.value) / (length > 0.0 ? length : 1.0);
    return s.begins_at_hip ? Part{from, 1.0} : Part{0.0, 1.0 - from};
  };
  for (std::size_t i = 0; i < legs_.segments.size(); ++i)
    for (std::size_t j = 0; j < legs_.segments.size(); ++j) {
      const auto &one = legs_.segments[i], &other = legs_.segments[j];
      if (one.swing || !other.swing) continue;
      Pair pair{static_cast<int>(i), static_cast<int>(j), {}, {}};
      if (may_cross()) {
        if (one.nearer.value + other.nearer.value + legs_.hips.value < 1e-9) continue;  // the links share a joint
      } else {
        pair.first = beyond(one);
        pair.second = beyond(other);
        if (pair.first.from >= pair.first.to || pair.second.from >= pair.second.to) continue;
      }
      all.push_back(pair);
    }
  return all;
}

void WalkerGait::build() {
  const int n = walker_->n(), base = walker_->base;
  const double inf = nlp::infinity;
  Phase stance;
  stance.name = "stance";
  stance.held = walker_->feet();
  stance.intervals = settings_.intervals;
  stance.duration = settings_.period;
  stance.work = settings_.absolute_work != 0.0 || settings_.positive_work != 0.0;
  stance.work_at_ends = settings_.work_at_ends;
  stance.forces = ground(settings_, base);
  for (const auto& actuator : design_.actuators) {
    Coefficient limit = settings_.torque_limit;
    if (actuator.limit && actuator.limit->value < limit.value) limit = *actuator.limit;
    stance.controls.emplace_back(-limit, limit);
  }
  for (const auto& range : design_.ranges)
    if (range.coordinate >= base && (range.from || range.to))
      stance.ranges.push_back({range.coordinate, {range.from.value_or(-inf), range.to.value_or(inf)}});

  Event touch_down;
  touch_down.configuration = exchanged_;
  touch_down.momentum = element(walker_->exchanged_momentum, numbers());
  touch_down.shift.assign(n, 0.0);
  touch_down.shift[0] = settings_.step_length;
  if (base == 3) touch_down.shift[1] = walker_->mirror(1) * settings_.step_width;

  motion_problem_.add_phase(std::move(stance));
  motion_problem_.add_event(std::move(touch_down));
  motion_problem_.transcribe();
  const int jump = motion_problem_.jump_row(0), joints = walker_->joints;
  conditions_ = {
      {jump, "momentum at touch-down"}, {jump + joints, "posture at touch-down"}, {jump + joints + n, "gait.contact"}};
  name_rows("gait.clearance");
  add_clearance();
  name_rows("gait.leg-radius");
  if (!may_cross()) add_sides();
  add_limits_of_joints();
  Effort effort{settings_.absolute_work, settings_.positive_work, settings_.squared_torque};
  if (settings_.loss != 0.0)
    for (const auto& actuator : design_.actuators) effort.loss.push_back(settings_.loss * actuator.loss);
  name_rows("[require]");
  for (const auto& [function, equality] : settings_.requirements)
    add_path_constraint(motion_problem_, 0, function, settings_.parameter, equality);
  const Coefficient per_step = 1.0 / (weight_ * settings_.step_length);
  for (const PathFunction& cost : settings_.costs)
    add_path_cost(motion_problem_, 0, cost, settings_.parameter, per_step);
  name_rows("the split into positive and negative work");
  motion_problem_.add_effort(0, effort, per_step);
  motion_problem_.problem().finish();
}

// Names the condition of the rows that are added next.
void WalkerGait::name_rows(const std::string& what) {
  conditions_.emplace_back(motion_problem_.problem().add_rows(0, 0.0, 0.0), what);
}

Element WalkerGait::inside(const Function& function, double share) const {
  const Eigen::VectorXd weights = walker_->system->scheme().values_at(share);
  return element(function, numbers(), {weights.begin(), weights.end()});
}

// Adds rows that keep the swing foot above the ground, at inner knots and between knots.
void WalkerGait::add_clearance() {
  const int K = settings_.intervals, knots = index().knots();
  const Scheme& scheme = walker_->system->scheme();
  AssembledProblem& p = motion_problem_.problem();
  const auto min_height = [&](double s) { return 4.0 * s * (1.0 - s) * settings_.clearance; };
  for (int r = 1; r + 1 < knots; ++r)
    p.add_element(swing_height_, motion_problem_.knot(0, r),
                  {{0, p.add_rows(1, min_height(scheme.position(r) / K), nlp::infinity), 1.0}});
  for (int i = 1; i <= settings_.clearance_points; ++i)
    for (int knot = 0; knot < scheme.degree; ++knot) {
      const double between = scheme.between(knot, i / (settings_.clearance_points + 1.0));
      const Element height = inside(walker_->height, between);
      for (int k = 0; k < K; ++k)
        p.add_element(height, motion_problem_.interval(0, k),
                      {{0, p.add_rows(1, min_height((k + between) / K), nlp::infinity), 1.0}});
    }
}

// Adds rows that keep each leg at the distance r from the vertical plane of walking through the middle of the hips:
// hips, knees and feet, and so every point of thighs and shanks. The plane is unbounded, so a leg cannot pass around
// the other one. For hips e < 2 r apart, a point at the distance s from the hip along the leg keeps e/2 + (r - e/2)
// s/d. This is r from d = free_of_hip() on.
void WalkerGait::add_sides() {
  const int K = settings_.intervals;
  AssembledProblem& p = motion_problem_.problem();
  const Coefficient free = free_of_hip(), half = 0.5 * legs_.hips;
  const double r = settings_.leg_radius;
  const bool narrow = free.value > 0.0;
  const auto own = [&] {
    std::vector<Term> terms;
    for (std::size_t i = 0; i <= legs_.reach.size(); ++i) {
      if (i == 0 && narrow) continue;
      const int row = p.add_rows(1, 0.0, nlp::infinity);
      p.add_constant(row, -(narrow ? half + (r - half) * legs_.reach[i - 1] / free : Coefficient(r)));
      terms.push_back({static_cast<int>(i), row, 1.0});
    }
    return terms;
  };
  const Scheme& scheme = walker_->system->scheme();
  for (int knot = 0; knot < scheme.degree; ++knot)
    for (const double step : {0.0, 0.5}) {  // at knots and midway between them
      const Element sides = inside(walker_->sides, scheme.between(knot, step));
      for (int k = 0; k < K; ++k) p.add_element(sides, motion_problem_.interval(0, k), own());
    }
  const Element last = inside(walker_->sides, 1.0);
  p.add_element(last, motion_problem_.interval(0, K - 1), own());
}

// Adds limits on joint speeds, and on the direction in which knees bend.
void WalkerGait::add_limits_of_joints() {
  AssembledProblem& p = motion_problem_.problem();
  const Coefficient per_h = 1.0 / motion_problem_.step(0);
  name_rows("gait.joint-speed-limit");
  const Scheme& scheme = walker_->system->scheme();
  if (std::isfinite(settings_.rate_limit))
    for (int r = 0; r + 1 < index().knots(); ++r)  // r: index of the quadrature point
      for (int i = 0; i < walker_->joints; ++i) {
        const int row = p.add_rows(1, -settings_.rate_limit, settings_.rate_limit), point = r % scheme.degree;
        for (int knot = scheme.degree; knot >= 0; --knot)
          p.add_linear(row, index().knot(r - point + knot) + i, scheme.slopes(point, knot) * per_h);
      }
  for (const auto& range : design_.ranges) {
    if (!range.speed) continue;
    name_rows("speed of [joint-limit " + range.name + "]");
    add_speed_limit(motion_problem_, 0, range.coordinate, *range.speed);
  }
  if (!settings_.knee_stops) return;
  name_rows("gait.knee-stops");
  for (const auto& knee : walker_->knees) {
    const bool ranged = std::ranges::any_of(design_.ranges, [&](const auto& range) {
      const auto& straight = knee.flexion > 0 ? range.from : range.to;
      return range.coordinate == walker_->base + knee.joint && straight && knee.flexion * straight->value >= 0.0;
    });
    if (ranged) continue;  // a bound has the same effect; an additional row would make both multipliers undetermined
    for (int r = 0; r < index().knots(); ++r)
      p.add_linear(p.add_rows(1, 0.0, nlp::infinity), index().knot(r) + knee.joint, static_cast<double>(knee.flexion));
  }
}

Eigen::MatrixXd WalkerGait::cold_path(std::uint64_t seed) const {
  const int joints = walker_->joints, K = index().intervals, knots = index().knots();
  std::mt19937_64 random(seed);
  // Uniform in [-1, 1). Unlike std::uniform_real_distribution, it gives equal numbers with every standard library.
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1.0p-52 - 1.0; };

  std::vector<double> step(walker_->base, 0.0), first(walker_->n());
  step[0] = settings_.step_length.value;
  if (walker_->base == 3) step[1] = settings_.step_width.value;
  std::vector<double> last = design_.plain().touch_down(step);
  for (int i = 0; i < joints; ++i) last[i] += 0.1 * walker_->spread[i] * uniform();
  exchanged_->evaluate(last.data(), first.data());

  Eigen::MatrixXd q = Eigen::MatrixXd::Zero(knots, walker_->n());
  for (int i = 0; i < joints; ++i) {
    const double bow = 0.4 * walker_->spread[i] * uniform(), wave = 0.1 * walker_->spread[i] * uniform();
    for (int k = 0; k < knots; ++k) {
      const double s = walker_->system->scheme().position(k) / K, angle = std::numbers::pi * s;
      q(k, walker_->base + i) =
          (1.0 - s) * first[walker_->base + i] + s * last[i] + bow * std::sin(angle) + wave * std::sin(2.0 * angle);
    }
  }
  if (settings_.knee_stops)
    for (const auto& knee : walker_->knees)
      for (int k = 0; k < knots; ++k) {
        double& angle = q(k, walker_->base + knee.joint);
        angle = knee.flexion * std::abs(angle);
      }
  return q;
}

Eigen::VectorXd WalkerGait::cold_start(std::uint64_t seed) const {
  return warm_start(cold_path(seed), Eigen::MatrixXd::Zero(index().knots() - 1, walker_->inputs()));
}

Eigen::VectorXd WalkerGait::warm_start(const Eigen::MatrixXd& q, const Eigen::MatrixXd& u) const {
  Eigen::VectorXd x = Eigen::VectorXd::Zero(motion_problem_.size());
  const int degree = index().degree;
  for (int r = 0; r < index().knots(); ++r) {
    x.segment(index().knot(r), walker_->joints) = q.row(r).tail(walker_->joints).transpose();
    if (r < u.rows()) x.segment(index().control(r / degree, r % degree), walker_->inputs()) = u.row(r).transpose();
  }
  motion_problem_.fill(x);
  return x;
}

}  // namespace dodyn::dmoc
