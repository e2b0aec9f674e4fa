#include "evaluators/simulation/runner.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "record/random.hpp"

namespace dodyn::evaluators::simulation {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// omega x r
rigid::Vector<2> turned(const rigid::Spin<2>& spin, const rigid::Vector<2>& r) {
  return spin[0] * rigid::Vector<2>(-r[1], r[0]);
}
rigid::Vector<3> turned(const rigid::Spin<3>& spin, const rigid::Vector<3>& r) { return spin.cross(r); }

template <int n>
void add(rigid::Ledger<n>& sum, const rigid::Ledger<n>& more) {
  sum.projection.kinetic += more.projection.kinetic;
  sum.projection.potential += more.projection.potential;
  sum.momentum.linear += more.momentum.linear;
  sum.momentum.angular += more.momentum.angular;
  sum.impact += more.impact;
  sum.forces += more.forces;
  sum.impulses += more.impulses;
  sum.cuts += more.cuts;
}

}  // namespace

bool Course::uses(Seen::Kind kind) const {
  return std::any_of(rules.begin(), rules.end(), [&](const Rule& rule) { return rule.when.uses(kind); }) ||
         (cost && cost->uses(kind));
}

template <int n>
Runner<n>::Runner(const systems::Model& model, const systems::Values<double>& values, const Course& course,
                  const std::optional<ControlPlan>& plan)
    : course_(course), values_(values), view_(systems::bodies<n>(model, values)) {
  if (plan) {
    controller_ = controller<n>(view_, *plan);
    control_seed_ = plan->seed;
    if (!plan->options.law.off()) view_.world.forces.push_back(rigid::Acting<n>{controller_});
  }
  const auto& world = view_.world;
  const int count = static_cast<int>(world.bodies.size());
  reference_ = 0;
  for (int b = count - 1; b >= 0; --b)
    if (world.bodies[b].fixed) reference_ = b;
  for (const auto& body : world.bodies) {
    radii_.push_back(rigid::radius(body));
    Box box{rigid::Vector<n>::Constant(infinite), rigid::Vector<n>::Constant(-infinite)};
    for (const auto& part : body.parts)
      for (const auto& corner : part.corners()) {
        box.low = box.low.cwiseMin(corner);
        box.high = box.high.cwiseMax(corner);
      }
    boxes_.push_back(box);
  }
  for (int b = 0; b < count; ++b)
    for (int a = 0; a < b; ++a) {
      const bool apart = std::any_of(world.no_contact.begin(), world.no_contact.end(), [&](const auto& both) {
        return both == std::pair(a, b) || both == std::pair(b, a);
      });
      const bool still = world.bodies[a].fixed && world.bodies[b].fixed;
      if (!apart && !still && !world.bodies[a].parts.empty() && !world.bodies[b].parts.empty())
        pairs_.push_back({b, a});
    }
  rigid::Options options = course.options;
  levels_.emplace_back(world, options);
  for (options.step *= 4.0; options.step <= course.largest_step * (1.0 + 1e-9); options.step *= 4.0) {
    options.response = rigid::Response::none;
    levels_.emplace_back(world, options);
  }
  accelerations_.resize(pairs_.size());
}

// Bound on the speed of any point of a body, seen from another one.
template <int n>
double Runner<n>::relative_speed(int body, int about) const {
  constexpr int spins = rigid::Spin<n>::RowsAtCompileTime;
  const auto poses = now().poses();
  const auto twists = now().twists();
  const rigid::Spin<n> spin = twists[about].template tail<spins>();
  const rigid::Vector<n> carried =
      twists[about].template head<n>() + turned(spin, poses[body].position - poses[about].position);
  return (twists[body].template head<n>() - carried).norm() +
         (twists[body].template tail<spins>() - spin).norm() * radii_[body];
}

// Of the boxes about two bodies: in the plane their distance, in space a bound below it, along the axes of the boxes; 0
// where they overlap.
template <int n>
double Runner<n>::gap(int one, int other) const {
  double along = 0.0, corner_square = infinite;
  const auto poses = now().poses();
  for (const auto& [box, seen] : {std::pair(one, other), std::pair(other, one)}) {
    const auto a = poses[box].frame(), b = poses[seen].frame();
    const auto &l = boxes_[box].low, &h = boxes_[box].high;
    rigid::Vector<n> least = rigid::Vector<n>::Constant(infinite), most = -least;
    for (int i = 0; i < 1 << n; ++i) {
      rigid::Vector<n> corner;
      for (int k = 0; k < n; ++k) corner[k] = i >> k & 1 ? boxes_[seen].high[k] : boxes_[seen].low[k];
      const rigid::Vector<n> v = a.directors.transpose() * (b(corner) - a.position);
      least = least.cwiseMin(v);
      most = most.cwiseMax(v);
      corner_square = std::min(corner_square, (v - v.cwiseMax(l).cwiseMin(h)).squaredNorm());
    }
    along = std::max({along, (least - h).maxCoeff(), (l - most).maxCoeff()});
  }
  // of two rectangles apart, a corner of one is nearest
  return n == 2 && along > 0.0 ? std::sqrt(corner_square) : along;
}

// The longest step in which no two bodies, at this speed and acceleration, go more than a small part of the way to each
// other.
template <int n>
std::size_t Runner<n>::fitting_level() const {
  if (levels_.size() == 1 || steps_ == 0) return 0;
  std::size_t fits = levels_.size() - 1;
  for (std::size_t p = 0; p < pairs_.size() && fits > 0; ++p) {
    const auto [one, other] = pairs_[p];
    const double speed = relative_speed(one, other), room = gap(one, other);
    if (room < 0.025 * std::min(radii_[one], radii_[other])) return 0;
    while (fits > 0) {
      const double h = levels_[fits].options().step;
      if (h * (speed + h * accelerations_[p]) <= 0.02 * room) break;
      --fits;
    }
  }
  while (fits > 0 && controller_ && levels_[fits].options().step > controller_->longest_step()) --fits;
  while (fits > 0 && now().time() + levels_[fits].options().step > course_.end) --fits;
  return fits;
}

// One step. False: a contact could not be resolved.
template <int n>
bool Runner<n>::advance() {
  const std::size_t next = fitting_level();
  if (next != level_) {
    const std::vector<rigid::Pose<n>> q(now().poses().begin(), now().poses().end());
    const std::vector<rigid::Twist<n>> v(now().twists().begin(), now().twists().end());
    add(ledger_, now().ledger());
    levels_[next].start(q, v, now().time());
    level_ = next;
    impulses_ = 0;
  }
  std::vector<double>& speeds = accelerations_;  // until they are differences
  const bool several = levels_.size() > 1;
  for (std::size_t p = 0; several && p < pairs_.size(); ++p) speeds[p] = relative_speed(pairs_[p].one, pairs_[p].other);
  if (!levels_[level_].step()) return false;
  const double h = now().options().step;
  for (std::size_t p = 0; several && p < pairs_.size(); ++p)
    accelerations_[p] = std::abs(relative_speed(pairs_[p].one, pairs_[p].other) - speeds[p]) / h;
  ++steps_;
  return true;
}

template <int n>
double Runner<n>::energy_change() const {
  const auto& here = now().ledger();
  return now().energies().total() - start_energy_ - ledger_.projection.total() - ledger_.impact -
         here.projection.total() - here.impact - ledger_.forces - here.forces - (controller_ ? controller_->sums().work : 0.0);
}

template <int n>
typename Runner<n>::Moving Runner<n>::moving(const systems::Place<double>& place) const {
  constexpr int spins = rigid::Spin<n>::RowsAtCompileTime;
  Moving point{rigid::Vector<n>::Zero(), rigid::Vector<n>::Zero()};
  for (int i = 0; i < n; ++i) point.position[i] = place.at[i];
  if (place.link < 0) return point;
  const auto& [body, origin] = view_.links[place.link];
  for (int i = 0; i < n; ++i) point.position[i] += origin[i];
  const auto frame = now().poses()[body].frame();
  const rigid::Vector<n> arm = frame.directors * point.position;
  point.position = frame.position + arm;
  const auto& twist = now().twists()[body];
  const rigid::Spin<n> spin = twist.template tail<spins>();
  point.velocity = twist.template head<n>() + turned(spin, arm);
  return point;
}

// Points, in the plane angles, and places of roots follow from the poses of the bodies as they are.
template <int n>
std::optional<double> Runner<n>::direct(const systems::Variable& variable) const {
  using systems::Variable;
  const auto& tree = view_.tree;
  const auto point = [&](int index) { return moving(tree.named_points[index].place); };
  const auto angle = [&](int link) { return link < 0 ? 0.0 : body_angle(link); };
  switch (variable.kind) {
    case Variable::position:
      return point(variable.index).position[variable.axis];
    case Variable::velocity:
      return point(variable.index).velocity[variable.axis];
    case Variable::speed:
      return point(variable.index).velocity.norm();
    case Variable::distance:
      return (point(variable.index).position - point(variable.other).position).norm();
    case Variable::angle:
      return angle(variable.index) - angle(variable.other);
    case Variable::coordinate:
    case Variable::rate: {
      std::size_t l = tree.links.size() - 1;
      while (tree.links[l].first > variable.index || tree.links[l].moves.empty()) --l;
      const auto& link = tree.links[l];
      const auto& move = link.moves[static_cast<std::size_t>(variable.index - link.first)];
      if (move.kind == systems::Move::turn || link.parent >= 0) return std::nullopt;
      const auto origin = moving({static_cast<int>(l), {}});
      return variable.kind == Variable::rate ? origin.velocity[move.axis]
                                             : origin.position[move.axis] - link.at[move.axis];
    }
    default:
      return std::nullopt;
  }
}

// In the plane. Links fixed to others turn with their body.
template <int n>
double Runner<n>::body_angle(int link) const {
  if constexpr (n == 2)
    return now().poses()[view_.links[link].body].angle;
  else
    return 0.0;  // there is no such variable in space
}

template <int n>
double Runner<n>::value(const Seen& seen, const Start& start) {
  switch (seen.kind) {
    case Seen::start:
      return start.variables[static_cast<std::size_t>(seen.one)];
    case Seen::model: {
      if (seen.variable.kind == systems::Variable::parameter)
        return values_.parameters[static_cast<std::size_t>(seen.variable.index)];
      if (const auto known = direct(seen.variable)) return *known;
      if (!looked_) {
        const auto poses = now().poses();
        const auto twists = now().twists();
        auto coordinates = view_.coordinates({{poses.begin(), poses.end()}, {twists.begin(), twists.end()}});
        q_ = std::move(coordinates.q);
        v_ = std::move(coordinates.v);
        frames_ = view_.tree.template frames<double>(q_.data(), v_.data());
        looked_ = true;
      }
      return view_.tree.template value<double>(seen.variable, frames_, q_.data(), v_.data(), nullptr);
    }
    case Seen::time:
      return now().time();
    case Seen::touching:
      return touching_ ? 1.0 : 0.0;
    case Seen::touched:
      return touched_ >= 0.0 ? 1.0 : 0.0;
    case Seen::since_touch:
      return touched_ >= 0.0 ? now().time() - touched_ : infinite;
    case Seen::resting: {
      for (int b = 0; b < static_cast<int>(radii_.size()); ++b)
        if (!view_.world.bodies[b].fixed && b != reference_ && relative_speed(b, reference_) > course_.rest_speed)
          return 0.0;
      return 1.0;
    }
    case Seen::touching_links: {
      const int a = view_.links[seen.one].body, b = view_.links[seen.other].body;
      for (const auto& contact : levels_[0].contacts())
        if (level_ == 0 &&
            ((contact.body[0] == a && contact.body[1] == b) || (contact.body[0] == b && contact.body[1] == a)))
          return 1.0;
      return 0.0;
    }
    case Seen::gap:
      return gap(view_.links[seen.one].body, view_.links[seen.other].body);
    case Seen::kinetic:
      return now().energies().kinetic;
    case Seen::potential:
      return now().energies().potential;
    case Seen::energy_change:
      return energy_change();
    case Seen::largest_overlap:
      return overlap_;
    case Seen::largest_spin:
      return spin_;
    case Seen::effort:
      return controller_->sums().effort;
    case Seen::position_error:
      return tracking().position.norm();
    case Seen::attitude_error:
      return tracking().angle;
  }
  return 0.0;
}

template <int n>
double Runner<n>::evaluate(const Formula& formula, const Start& start) {
  arguments_.clear();
  for (const Seen& seen : formula.arguments) arguments_.push_back(value(seen, start));
  return formula.expression.template evaluate<double>(std::span<const double>(arguments_));
}

template <int n>
rigid::TrackingError Runner<n>::tracking() const {
  std::vector<geometry::Frame<n>> frames;
  for (const auto& pose : now().poses()) frames.push_back(pose.frame());
  return controller_->error(now().time(), frames, now().twists());
}

template <int n>
void Runner<n>::keep(Trajectory& shown, int row) const {
  const auto& s = now();
  auto& values = shown.values;
  values[0](row, 0) = s.time();
  const auto poses = s.poses();
  for (std::size_t b = 0; b < poses.size(); ++b) {
    const auto i = static_cast<Eigen::Index>(b);
    if constexpr (n == 2) {
      values[1].row(row).template segment<3>(3 * i) << poses[b].position.transpose(), poses[b].angle;
    } else {
      const Eigen::Quaterniond turn(poses[b].directors);
      values[1].row(row).template segment<7>(7 * i) << poses[b].position.transpose(), turn.w(), turn.x(), turn.y(),
          turn.z();
    }
    constexpr int twist = rigid::Twist<n>::RowsAtCompileTime;
    values[2].row(row).template segment<twist>(twist * i) = s.twists()[b].transpose();
  }
  const auto energies = s.energies();
  values[3].row(row) << energies.kinetic, energies.potential,
      ledger_.projection.total() + s.ledger().projection.total(), ledger_.impact + s.ledger().impact;
  if (!controller_) return;
  std::vector<geometry::Frame<n>> frames;
  for (const auto& pose : poses) frames.push_back(pose.frame());
  values[4].row(row) = control_row<n>(*controller_, s.time(), frames, s.twists());
}

template <int n>
Ended Runner<n>::run(const Start& start, const std::function<bool()>& stop, Trajectory* shown, int* rows,
                     Story<n>* story) {
  constexpr int spins = rigid::Spin<n>::RowsAtCompileTime;
  const auto state = view_.state(start.q, start.v);
  level_ = 0;
  levels_[0].start(state.poses, state.twists);
  if (controller_)
    controller_->start(now().time(), now().poses(), now().twists(), evaluation_seed(control_seed_, start.number));
  steps_ = 0;
  touching_ = false;
  touched_ = -1.0;
  impulses_ = 0;
  ledger_ = {};
  std::fill(accelerations_.begin(), accelerations_.end(), 0.0);
  start_energy_ = now().energies().total();
  overlap_ = -infinite;
  spin_ = 0.0;
  const bool penalty = course_.options.response == rigid::Response::penalty;
  const bool overlaps = (story || course_.uses(Seen::largest_overlap)) && !pairs_.empty() &&
                        course_.options.response != rigid::Response::none;
  const bool spinning = story || course_.uses(Seen::largest_spin);
  if (story) story->before = now().energies(), story->start = now().momenta();
  std::vector<double> since(course_.rules.size(), -1.0);

  Ended ended;
  ended.outcome = static_cast<int>(course_.rules.size());
  int row = 0;
  const auto keep_rows = [&](bool last) {
    if (!shown || row >= course_.nodes) return;
    if (last ? row > 0 && shown->values[0](row - 1, 0) == now().time()
             : now().time() < row * course_.end / (course_.nodes - 1) - 0.5 * course_.options.step)
      return;
    keep(*shown, row++);
  };
  for (bool over = false;;) {
    looked_ = false;
    if (overlaps && level_ == 0) overlap_ = std::max(overlap_, now().overlap());
    if (spinning)
      for (const auto& twist : now().twists()) spin_ = std::max(spin_, twist.template tail<spins>().norm());
    keep_rows(false);
    for (std::size_t r = 0; r < course_.rules.size() && !over; ++r) {
      const Formula& when = course_.rules[r].when;
      const bool possible = std::all_of(when.guards.begin(), when.guards.end(),
                                        [&](const Seen& guard) { return value(guard, start) != 0.0; });
      const bool holds = possible && evaluate(when, start) != 0.0;
      if (!holds) since[r] = -1.0;
      if (holds && since[r] < 0.0) since[r] = now().time();
      if (!holds || now().time() - since[r] < course_.rules[r].duration) continue;
      ended.outcome = static_cast<int>(r);
      over = true;
    }
    if (over || now().time() >= course_.end - 0.5 * course_.options.step) break;
    if (stop && steps_ % 16 == 0 && stop()) {
      ended.timed_out = true;
      break;
    }
    if (!advance()) {
      ended.outcome = static_cast<int>(course_.rules.size()) + 1;
      ended.reason = now().outcome().reason;
      looked_ = false;
      break;
    }
    const int impulses = now().ledger().impulses;
    touching_ = penalty ? !now().contacts().empty() : impulses > impulses_;
    impulses_ = impulses;
    if (touching_) touched_ = now().time();
  }
  keep_rows(true);
  ended.time = now().time();
  ended.steps = steps_;
  ended.energy_change = energy_change();
  if (course_.cost) ended.cost = evaluate(*course_.cost, start);
  if (controller_) ended.effort = controller_->sums().effort;
  add(ledger_, now().ledger());
  ended.contacts = ledger_.impulses;
  if (rows) *rows = row;
  if (story) {
    story->after = now().energies();
    story->end = now().momenta();
    story->ledger = ledger_;
    if (controller_) story->control = controller_->sums();
    story->overlap = overlap_;
    story->spin = spin_;
    story->touching = level_ == 0 ? now().contacts().size() : 0;
  }
  return ended;
}

Channels runner_channels(const systems::Model& model, const systems::Values<double>& values, int nodes,
                         bool controlled) {
  const bool plane = model.dimension == 2;
  std::vector<std::string> bodies, q, v;
  const auto names = [&](const auto& world) {
    for (const auto& body : world.bodies) bodies.push_back(body.name);
  };
  if (plane)
    names(systems::bodies<2>(model, values).world);
  else
    names(systems::bodies<3>(model, values).world);
  std::vector<std::string> q_units, v_units;
  const auto add = [](std::vector<std::string>& labels, std::vector<std::string>& units, const std::string& body,
                      const std::vector<std::pair<const char*, const char*>>& columns) {
    for (const auto& [name, unit] : columns) {
      labels.push_back(body + " " + name);
      units.emplace_back(unit);
    }
  };
  for (const auto& body : bodies) {
    if (plane) {
      add(q, q_units, body, {{"x", "m"}, {"y", "m"}, {"angle", "rad"}});
      add(v, v_units, body, {{"x", "m/s"}, {"y", "m/s"}, {"angle", "rad/s"}});
    } else {
      add(q, q_units, body, {{"x", "m"}, {"y", "m"}, {"z", "m"}, {"q0", "1"}, {"qx", "1"}, {"qy", "1"}, {"qz", "1"}});
      add(v, v_units, body,
          {{"x", "m/s"}, {"y", "m/s"}, {"z", "m/s"}, {"wx", "rad/s"}, {"wy", "rad/s"}, {"wz", "rad/s"}});
    }
  }
  Channels list = {{"t", "s", "time", nodes, {"t"}},
                   {"q", "", plane ? "centres, angles" : "centres, unit quaternions", nodes, q, q_units},
                   {"v", "", "velocities, angular velocities", nodes, v, v_units},
                   {"energy",
                    "J",
                    "energies, and their change by projections and impacts so far",
                    nodes,
                    {"kinetic", "potential", "projection", "impact"}}};
  if (controlled) list.push_back(control_channel(model.dimension, nodes));
  return list;
}

template class Runner<2>;
template class Runner<3>;

}  // namespace dodyn::evaluators::simulation
