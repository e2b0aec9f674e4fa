#include "dmoc/gait.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

namespace dodyn::dmoc {

using nlp::AssembledProblem;
using Term = AssembledProblem::Term;

namespace {

// What the ground may do, on the coordinates of the foot: a cone's tangential directions forth and back, in space eight,
// the pyramid inscribed in the circle; or a normal force alone.
std::vector<ForceCondition> ground(const GaitSettings& settings, int base) {
  const bool cone = std::isfinite(settings.friction);
  if (!cone)
    return settings.unilateral ? std::vector<ForceCondition>{{{base - 1, 1.0}}} : std::vector<ForceCondition>{};
  if (base == 2) return {{{1, settings.friction}, {0, 1.0}}, {{1, settings.friction}, {0, -1.0}}};
  std::vector<ForceCondition> facets;
  for (int f = 0; f < 8; ++f) {
    const double angle = (f + 0.5) * std::numbers::pi / 4.0;
    facets.push_back(
        {{2, settings.friction * std::cos(std::numbers::pi / 8.0)}, {0, std::cos(angle)}, {1, std::sin(angle)}});
  }
  return facets;
}

}  // namespace

WalkerGait::WalkerGait(std::shared_ptr<const Walker> walker, std::vector<Coefficient> numbers,
                       const GaitSettings& settings)
    : walker_(std::move(walker)),
      settings_(settings),
      design_(walker_->system->model().tree<Coefficient>(numbers)),
      pairs_(walker_->pairs(design_)),
      weight_(design_.weight()),
      swing_height_(element(walker_->swing_height, numbers)),
      exchanged_(element(walker_->exchanged, numbers)),
      points_(element(walker_->points, numbers)),
      segments_(element(walker_->segments, numbers)),
      motion_problem_(walker_->system, std::move(numbers)) {
  build();
}

// What of two links is kept apart. Cylinders of radius r whose axes leave one point at an angle touch up to a distance
// of r / sin(angle / 2) from it, so that links that share a joint are kept apart beyond a free distance d only; since
// beyond d they diverge, this is 2 d sin(angle / 2) >= 2 r, smooth in the joint coordinates, whether the links reach d
// or not. By default d is what straight legs of length L with their feet w apart need: 2 r L / w, and from hips e < 2 r
// apart L (2 r - e) / (w - e). The swing leg's link must besides pass the other one on its own side, the left, as hips
// side by side enforce, however close: see Pair::ordered. Limits: the axes are those of straight links, left is that of
// the world, not of a pelvis, and what is nearer than d to the joint may overlap.
Pair WalkerGait::pair(const Walker::Links& links) const {
  const double r = settings_.leg_radius, e = links.gap.value;
  const Coefficient& w = settings_.step_width;
  if (!(e < 2.0 * r)) return {links.one, links.other};
  Coefficient d = settings_.crossing_free;
  if (d.value == 0.0) d = w.value > 2.0 * r ? links.height * (2.0 * r - links.gap) / (w - links.gap) : links.height;
  const auto beyond = [](const Coefficient& free, int joint) {
    Part part;
    (joint == 0 ? part.from : part.to) = joint == 0 ? free : 1.0 - free;
    if (free.value > 1.0) (joint == 0 ? part.to : part.from) = joint == 0 ? part.from : part.to;
    return part;
  };
  return {links.one, links.other, beyond(d / links.length, links.joint),
          beyond(d / links.other_length, links.other_joint), true};
}

std::vector<Pair> WalkerGait::pairs_apart() const {
  std::vector<Pair> all;
  for (const auto& links : pairs_) all.push_back(pair(links));
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
  stance.forces = ground(settings_, base);
  for (const auto& actuator : design_.actuators) {
    Coefficient limit = settings_.torque_limit;
    if (actuator.limit && actuator.limit->value < limit.value) limit = *actuator.limit;
    stance.controls.emplace_back(-limit, limit);
  }
  for (const auto& range : design_.ranges)
    if (range.coordinate >= base)
      stance.ranges.push_back({range.coordinate, {range.from.value_or(-inf), range.to.value_or(inf)}});

  Event touch_down;
  touch_down.configuration = exchanged_;
  touch_down.momentum = element(walker_->exchanged_momentum, numbers());
  touch_down.shift.assign(static_cast<std::size_t>(n), 0.0);
  touch_down.shift[0] = settings_.step_length;
  if (base == 3) touch_down.shift[1] = walker_->mirror(1) * settings_.step_width;

  motion_problem_.add_phase(std::move(stance));
  motion_problem_.add_event(std::move(touch_down));
  motion_problem_.transcribe();
  add_clearance();
  if (!may_cross()) add_legs_apart();
  add_limits_of_joints();
  Effort effort{settings_.absolute_work, settings_.positive_work, settings_.squared_torque};
  if (settings_.loss != 0.0)
    for (const auto& actuator : design_.actuators) effort.loss.push_back(settings_.loss * actuator.loss);
  for (const auto& [function, equality] : settings_.requirements)
    add_path_constraint(motion_problem_, 0, function, settings_.parameter, equality);
  const Coefficient per_step = 1.0 / (weight_ * settings_.step_length);
  for (const PathFunction& cost : settings_.costs)
    add_path_cost(motion_problem_, 0, cost, settings_.parameter, per_step);
  motion_problem_.add_effort(0, effort, per_step);
  motion_problem_.problem().finish();
}

// The swing foot above the ground at inner nodes, and between nodes.
void WalkerGait::add_clearance() {
  const int K = settings_.intervals;
  AssembledProblem& p = motion_problem_.problem();
  const auto least_height = [&](double s) { return 4.0 * s * (1.0 - s) * settings_.clearance; };
  for (int k = 1; k < K; ++k)
    p.add_element(swing_height_, motion_problem_.node(0, k),
                  {{0, p.add_rows(1, least_height(static_cast<double>(k) / K), nlp::infinity), 1.0}});
  for (int i = 1; i <= settings_.clearance_points; ++i) {
    const double between = i / (settings_.clearance_points + 1.0);
    const Element height = element(walker_->height, numbers(), {between});
    for (int k = 0; k < K; ++k)
      p.add_element(height, motion_problem_.interval(0, k),
                    {{0, p.add_rows(1, least_height((k + between) / K), nlp::infinity), 1.0}});
  }
}

void WalkerGait::add_legs_apart() {
  const int K = settings_.intervals;
  AssembledProblem& p = motion_problem_.problem();
  const std::vector<Pair> pairs = pairs_apart();
  const int count = static_cast<int>(pairs.size());
  const auto apart = [&] {
    const int rows = p.add_rows(count, 4.0 * settings_.leg_radius * settings_.leg_radius, nlp::infinity);
    std::vector<Term> terms;
    for (int i = 0; i < count; ++i) terms.push_back({i, rows + i, 1.0});
    return terms;
  };
  const Element crossing = crossing_element(segments_, pairs);
  for (int k = 0; k <= K; ++k) p.add_element(crossing, motion_problem_.node(0, k), apart());
  for (int i = 1; i <= settings_.crossing_points; ++i) {
    const Element between = crossing_element(segments_, pairs, i / (settings_.crossing_points + 1.0));
    for (int k = 0; k < K; ++k) p.add_element(between, motion_problem_.interval(0, k), apart());
  }
}

// Joints of limited speed, and knees that bend one way.
void WalkerGait::add_limits_of_joints() {
  AssembledProblem& p = motion_problem_.problem();
  const Coefficient per_h = 1.0 / motion_problem_.step(0);
  if (std::isfinite(settings_.rate_limit))
    for (int k = 0; k < settings_.intervals; ++k)
      for (int i = 0; i < walker_->joints; ++i) {
        const int row = p.add_rows(1, -settings_.rate_limit, settings_.rate_limit);
        p.add_linear(row, index().theta(k + 1) + i, per_h);
        p.add_linear(row, index().theta(k) + i, -per_h);
      }
  if (settings_.knee_stops)
    for (int k = 0; k <= settings_.intervals; ++k)
      for (const auto& knee : walker_->knees)
        p.add_linear(p.add_rows(1, 0.0, nlp::infinity), index().theta(k) + knee.joint,
                     static_cast<double>(knee.flexion));
}

}  // namespace dodyn::dmoc
