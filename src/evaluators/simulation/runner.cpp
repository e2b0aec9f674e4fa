#include "evaluators/simulation/runner.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>

#include "record/random.hpp"
#include "record/text.hpp"
#include "rigid/overlap_drag.hpp"

namespace dodyn::evaluators::simulation {
namespace {

template <int n>
void add(rigid::ContactTotals<n>& sum, const rigid::ContactTotals<n>& more) {
  sum.projection.kinetic += more.projection.kinetic;
  sum.projection.potential += more.projection.potential;
  sum.momentum.linear += more.momentum.linear;
  sum.momentum.angular += more.momentum.angular;
  sum.impact += more.impact;
  sum.forces += more.forces;
  sum.impulses += more.impulses;
  sum.cuts += more.cuts;
  sum.energy_limited += more.energy_limited;
  sum.residual = std::max(sum.residual, more.residual);
}

}  // namespace

bool SimulationOptions::uses(StateQuantity::Kind kind) const {
  return std::ranges::any_of(rules, [&](const OutcomeRule& rule) { return rule.when.uses(kind); }) ||
         (cost && cost->uses(kind)) || std::ranges::any_of(finals, [&](const Formula& f) { return f.uses(kind); });
}

template <int n>
Runner<n>::Runner(const systems::HybridModel& system, const systems::Values<double>& values,
                  const SimulationOptions& run_options, const std::optional<ControlPlan>& plan)
    : run_options_(run_options),
      view_(systems::bodies<n>(system.model, values, {},
                               {.passive = run_options.feedback.has_value(), .one_sided = &system.pieces.contacts})) {
  const auto at_rest = held(view_, run_options.held);
  rigid::World<n> world = at_rest.world;
  if (plan) {
    controller_ = controller<n>(at_rest, *plan);
    control_seed_ = plan->seed;
    if (!plan->options.law.off()) world.forces.push_back(rigid::StatefulForceAdapter<n>{controller_});
  }
  if (run_options.feedback) {
    feedback_ = std::make_shared<FeedbackForce<n>>(view_, *run_options.feedback, values.parameters,
                                                   run_options.options.stepper);
    world.forces.push_back(rigid::StatefulForceAdapter<n>{feedback_});
  }
  if (run_options.disturbance.force > 0.0) {
    field_ = std::make_shared<DisturbanceField<n>>();
    std::vector<int> moving;
    for (std::size_t b = 0; b < world.bodies.size(); ++b)
      if (!world.bodies[b].fixed) moving.push_back(b);
    world.forces.push_back([field = field_, moving](double t, rigid::Frames<n> at, std::span<const rigid::Twist<n>>,
                                                    std::span<rigid::Twist<n>> wrench) {
      for (const int b : moving) wrench[b] += (*field)(at[b].position, t);
    });
  }
  if constexpr (n == 2)
    if (run_options.coils) {
      coils_.emplace(world, run_options.coils->form, run_options.coils->range);
      world.forces.push_back(*coils_);
    }
  const int count = world.bodies.size();
  for (int b = 0; b < count; ++b)
    for (int a = 0; a < b; ++a) {
      const bool apart = std::ranges::any_of(
          world.no_contact, [&](const auto& both) { return both == std::pair(a, b) || both == std::pair(b, a); });
      const bool still = world.bodies[a].fixed && world.bodies[b].fixed;
      if (!apart && !still && !world.bodies[a].parts.empty() && !world.bodies[b].parts.empty())
        pairs_.push_back({b, a});
    }
  rigid::Options options = run_options.options;
  if (run_options.contact_drag > 0.0) {
    rigid::World<n> with_drag = world;
    with_drag.forces.push_back(rigid::overlap_drag(run_options.contact_drag, world));
    levels_.emplace_back(with_drag, options);
  } else {
    levels_.emplace_back(world, options);
  }
  for (options.step *= 4.0; run_options.allows(options.step); options.step *= 4.0) {
    options.response = rigid::Response::none;
    levels_.emplace_back(world, options);
  }
  turns_matter_ = systems::has_forces_of_turns(view_.tree);
  observation_.emplace(view_, values.parameters, world, run_options.rest_speed,
                       turns_matter_ || run_options.uses(StateQuantity::spatial_angle), controller_.get(),
                       feedback_.get());
  if (run_options.uses(StateQuantity::cluster)) cluster_.emplace(world);
  speeds_.resize(pairs_.size() + world.one_sided.size());
  accelerations_.resize(speeds_.size());
}

// Observes the present node for formulas.
template <int n>
void Runner<n>::look() {
  observation_->look(now(), level_ == 0);
  if (levels_.size() > 1)
    for (std::size_t p = 0; p < pairs_.size(); ++p)
      speeds_[p] = observation_->relative_speed(pairs_[p].one, pairs_[p].other);
  for (std::size_t i = 0; levels_.size() > 1 && i < world().one_sided.size(); ++i)
    speeds_[pairs_.size() + i] = closing_speed(world().one_sided[i]);
}

// Returns a bound on the rate of a gap, whatever the directions of its bodies' velocities.
template <int n>
double Runner<n>::closing_speed(const rigid::OneSidedConstraint<n>& constraint) {
  const std::size_t count = constraint.bodies.size();
  slopes_.resize(2 * count);
  const std::span<rigid::Twist<n>> slopes(slopes_);
  constraint.gap(now().poses(), slopes.first(count), slopes.last(count));
  double sum = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& twist = now().twists()[constraint.bodies[i]];
    sum += slopes[i].template head<n>().norm() * twist.template head<n>().norm() +
           slopes[i].template tail<rigid::Spin<n>::RowsAtCompileTime>().norm() *
               twist.template tail<rigid::Spin<n>::RowsAtCompileTime>().norm();
  }
  return sum;
}

// Returns which coils have left the range of the table; empty: none has, or there is no table.
template <int n>
std::string Runner<n>::out_of_range() const {
  if constexpr (n == 2)
    if (coils_) {
      std::vector<geometry::Frame<n>> frames;
      for (const auto& pose : now().poses()) frames.push_back(pose.frame());
      return coils_->left(frames);
    }
  return {};
}

// Whether a step of this level closes at most a small fraction of `room`, a distance or a gap.
template <int n>
bool Runner<n>::allows(std::size_t level, double room, std::size_t part) const {
  const double h = levels_[level].options().step;
  return h * (speeds_[part] + h * accelerations_[part]) <= 0.02 * room;
}

// Returns the level of the longest step that satisfies three conditions at the present speeds and accelerations. No two
// bodies move by more than a small fraction of their distance. No one-sided constraint closes more than this fraction
// of its gap. In 3D no body turns by more than a small angle. Level 0 if bodies touch or nearly touch. The controller,
// the period of the feedback and the end of the run limit the step, too.
template <int n>
std::size_t Runner<n>::fitting_level() {
  if (levels_.size() == 1 || steps_ == 0 || progress_.touching) return 0;
  std::size_t fits = levels_.size() - 1;
  for (std::size_t p = 0; p < pairs_.size() && fits > 0; ++p) {
    const auto [one, other] = pairs_[p];
    const double room = observation_->gap(one, other);
    if (room < 0.025 * std::min(observation_->radius(one), observation_->radius(other))) return 0;
    while (fits > 0 && !allows(fits, room, p)) --fits;
  }
  for (std::size_t i = 0; i < world().one_sided.size() && fits > 0; ++i) {
    const double gap = world().one_sided[i].gap(now().poses(), {}, {});
    while (fits > 0 && !allows(fits, gap, pairs_.size() + i)) --fits;
  }
  if constexpr (n == 3) {
    constexpr double most_turn = 0.05;  // rad; the relative error of the angle is at most about its square/12
    double fastest = 0.0;
    for (const auto& twist : now().twists()) fastest = std::max(fastest, twist.template tail<3>().norm());
    while (fits > 0 && levels_[fits].options().step * fastest > most_turn) --fits;
  }
  while (fits > 0 && controller_ && levels_[fits].options().step > controller_->longest_step()) --fits;
  while (fits > 0 && feedback_ && levels_[fits].options().step > feedback_->period() * (1.0 + 1e-9)) --fits;
  while (fits > 0 && now().time() + levels_[fits].options().step > run_options_.end) --fits;
  return fits;
}

// Makes one step. Returns false if a contact could not be solved.
template <int n>
bool Runner<n>::advance() {
  const std::size_t next = fitting_level();
  if (next != level_) {
    const auto [poses, twists] = systems::Bodies<n>::state(now());
    add(contact_totals_, now().contact_totals());
    levels_[next].start(poses, twists, now().time());
    level_ = next;
    impulses_ = 0;
  }
  if (!levels_[level_].step()) return false;
  if (levels_.size() > 1) {
    accelerations_.swap(speeds_);
    look();
    const double h = now().options().step;
    for (std::size_t p = 0; p < speeds_.size(); ++p) accelerations_[p] = std::abs(speeds_[p] - accelerations_[p]) / h;
  } else {
    look();
  }
  ++steps_;
  return true;
}

// Returns the energy change by impacts, projections, damping, driving forces and controllers since the start, J.
template <int n>
double Runner<n>::booked() const {
  const auto& here = now().contact_totals();
  return contact_totals_.projection.total() + contact_totals_.impact + contact_totals_.forces +
         here.projection.total() + here.impact + here.forces + (controller_ ? controller_->sums().work : 0.0) +
         (feedback_ ? feedback_->sums().work : 0.0);
}

template <int n>
double Runner<n>::effort() const {
  return controller_ ? controller_->sums().effort : feedback_ ? feedback_->sums().effort : 0.0;
}

// Updates the largest impulse between two bodies with the last step. If `motion`, also adds the impulses of this step
// to pushes_, the sums since the last stored row.
template <int n>
void Runner<n>::record_impulses(bool motion) {
  std::map<std::array<int, 2>, rigid::Vector<n>> between;
  for (const auto& contact : now().impulses()) {
    rigid::Vector<n>& sum = between.try_emplace(contact.body, rigid::Vector<n>::Zero()).first->second;
    sum += contact.impulse;
    progress_.impulse = std::max(progress_.impulse, sum.norm());
    if (!motion) continue;
    for (const int side : {0, 1}) {
      const int body = contact.body[side];
      const rigid::Vector<n> push = (side == 0 ? 1.0 : -1.0) * contact.impulse;
      const rigid::Vector<n>& arm = contact.arm[side];
      pushes_[body].template head<n>() += push;
      if constexpr (n == 2)
        pushes_[body][2] += arm[0] * push[1] - arm[1] * push[0];
      else
        pushes_[body].template tail<3>() += arm.cross(push);
    }
  }
  for (const auto& each : now().constraint_impulses()) {
    progress_.impulse = std::max(progress_.impulse, each.impulse.template head<n>().norm());
    if (motion) pushes_[each.body] += each.impulse;
  }
}

template <int n>
void Runner<n>::keep(Trajectory& shown, int row) {
  constexpr int twist = rigid::Twist<n>::RowsAtCompileTime;
  const auto& s = now();
  auto& values = shown.values;
  values[0](row, 0) = s.time();
  const auto poses = s.poses();
  for (std::size_t b = 0; b < poses.size(); ++b) {
    if constexpr (n == 2) {
      values[1].row(row).template segment<3>(3 * b) << poses[b].position.transpose(), poses[b].angle;
    } else {
      const Eigen::Quaterniond turn(poses[b].directors);
      values[1].row(row).template segment<7>(7 * b) << poses[b].position.transpose(), turn.w(), turn.x(), turn.y(),
          turn.z();
    }
    values[2].row(row).template segment<twist>(twist * b) = s.twists()[b].transpose();
  }
  const auto energies = s.energies();
  values[3].row(row) << energies.kinetic, energies.potential,
      contact_totals_.projection.total() + s.contact_totals().projection.total(),
      contact_totals_.impact + s.contact_totals().impact;
  std::size_t next = 4;
  if (run_options_.by_impulses()) {
    for (std::size_t b = 0; b < pushes_.size(); ++b)
      values[next].row(row).template segment<twist>(twist * static_cast<Eigen::Index>(b)) = pushes_[b].transpose();
    std::ranges::fill(pushes_, rigid::Twist<n>::Zero());
    ++next;
  }
  if (feedback_) {
    const auto& u = feedback_->controls(s.time(), poses, s.twists());
    auto to = values[next].row(row).begin();
    for (const auto& control : run_options_.feedback->controls) *to++ = u[control.actuator];
    for (const double state : feedback_->states()) *to++ = state;
    *to++ = feedback_->sums().effort;
    *to = feedback_->sums().work;
  }
  if (!controller_) return;
  std::vector<geometry::Frame<n>> frames;
  for (const auto& pose : poses) frames.push_back(pose.frame());
  values[next].row(row) = control_row<n>(*controller_, s.time(), frames, s.twists());
}

template <int n>
void Runner<n>::begin(const Start& start) {
  auto state = view_.state(start.q, start.v);
  for (const int link : run_options_.held) state.twists[view_.links[link].body].setZero();
  if (field_)
    *field_ = DisturbanceField<n>(run_options_.disturbance,
                                  static_cast<std::uint64_t>(run_options_.disturbance.seed) * 1000003u +
                                      static_cast<std::uint64_t>(start.number));
  level_ = 0;
  levels_[0].start(state.poses, state.twists);
  if (controller_)
    controller_->start(now().time(), now().poses(), now().twists(), evaluation_seed(control_seed_, start.number));
  if (feedback_) feedback_->start(now().time(), now().poses(), now().twists(), start);
  steps_ = 0;
  impulses_ = 0;
  pushes_.assign(now().poses().size(), rigid::Twist<n>::Zero());
  contact_totals_ = {};
  std::ranges::fill(accelerations_, 0.0);
  progress_ = {.overlap = -std::numeric_limits<double>::infinity(), .start_energy = now().energies().total()};
  if (cluster_) {
    cluster_->start();
    progress_.cluster = cluster_->largest();
  }
  observation_->begin(start.q);
  look();
}

// Returns which quantities of a run need an update in each step.
template <int n>
typename Runner<n>::RequestedQuantities Runner<n>::requested_quantities(const SimulationRecord<n>* kept) const {
  const bool summary = kept && kept->summary, motion = kept && kept->motion;
  return {.overlap = (summary || run_options_.uses(StateQuantity::largest_overlap)) && !pairs_.empty() &&
                     run_options_.options.response != rigid::Response::none,
          .spin = summary || run_options_.uses(StateQuantity::largest_spin),
          .energy = run_options_.uses(StateQuantity::energy_change),
          .impulses = summary || motion || run_options_.uses(StateQuantity::largest_impulse),
          .motion = motion};
}

template <int n>
void Runner<n>::watch(const RequestedQuantities& requested) {
  if (requested.overlap && level_ == 0) progress_.overlap = std::max(progress_.overlap, now().overlap());
  if (requested.spin)
    for (const auto& twist : now().twists())
      progress_.spin = std::max(progress_.spin, twist.template tail<rigid::Spin<n>::RowsAtCompileTime>().norm());
  if (requested.energy) progress_.booked = booked();
  progress_.effort = effort();
  progress_.at_end = now().time() >= run_options_.end - 0.5 * run_options_.options.step;
}

// Stores the next row of the trajectory if its time has come, or if `last`, the final state.
template <int n>
void Runner<n>::keep_row(SimulationRecord<n>* kept, bool last) {
  if (!kept || !kept->motion || kept->rows >= run_options_.nodes) return;
  if (last ? kept->rows > 0 && kept->motion->values[0](kept->rows - 1, 0) == now().time()
           : now().time() < kept->rows * run_options_.end / (run_options_.nodes - 1) - 0.5 * run_options_.options.step)
    return;
  keep(*kept->motion, kept->rows++);
}

// Returns the first rule whose condition has been true for its duration; -1: none. `since`: time at which each
// condition became true, s; -1: it is false.
template <int n>
int Runner<n>::fulfilled_rule(const Start& start, std::vector<double>& since) {
  for (std::size_t r = 0; r < run_options_.rules.size(); ++r) {
    const bool holds = observation_->holds(run_options_.rules[r].when, start, progress_);
    if (!holds) since[r] = -1.0;
    if (holds && since[r] < 0.0) since[r] = now().time();
    if (holds && now().time() - since[r] >= run_options_.rules[r].duration) return static_cast<int>(r);
  }
  return -1;
}

template <int n>
void Runner<n>::record_step(const RequestedQuantities& requested) {
  const int updates = now().contact_totals().impulses;
  progress_.touching =
      run_options_.options.response == rigid::Response::penalty ? !now().contacts().empty() : updates > impulses_;
  impulses_ = updates;
  if (requested.impulses && level_ == 0) record_impulses(requested.motion);
  if (progress_.touching) progress_.touched = now().time();
  if (!cluster_) return;
  cluster_->see(now());
  progress_.cluster = cluster_->largest();
}

template <int n>
SimulationResult Runner<n>::run(const Start& start, const std::function<bool()>& stop, SimulationRecord<n>* kept) {
  begin(start);
  SimulationSummary<n>* summary = kept ? kept->summary : nullptr;
  const RequestedQuantities requested = requested_quantities(kept);
  if (summary) summary->before = now().energies(), summary->start = now().momenta();
  if (kept && kept->film) kept->film->start();
  std::vector<double> since(run_options_.rules.size(), -1.0);
  rigid::Energies<n> largest;  // largest magnitudes up to now
  const auto note_energies = [&] {
    const auto here = now().energies();
    largest.kinetic = std::max(largest.kinetic, here.kinetic);
    largest.potential = std::max(largest.potential, std::abs(here.potential));
  };
  note_energies();

  SimulationResult ended;
  ended.outcome = run_options_.rules.size();
  for (;;) {
    watch(requested);
    keep_row(kept, false);
    if (kept && kept->film) kept->film->take(now());
    if (const int rule = fulfilled_rule(start, since); rule >= 0) {
      ended.outcome = rule;
      break;
    }
    if (const auto why = out_of_range(); !why.empty()) {
      ended.outcome = std::ssize(run_options_.rules) + 2;
      ended.reason = why + formatted(", at t = %.6g s", now().time());
      break;
    }
    if (const auto why = turns_matter_ ? observation_->misread_angle() : ""; !why.empty()) {
      ended.outcome = std::ssize(run_options_.rules) + 1;
      ended.reason = why + formatted(", at t = %.6g s", now().time());
      break;
    }
    if (progress_.at_end) break;
    if (stop && steps_ % 16 == 0 && stop()) {
      ended.timed_out = true;
      break;
    }
    if (!advance()) {
      ended.outcome = std::ssize(run_options_.rules) + 1;
      ended.reason = now().outcome().reason;
      look();
      break;
    }
    record_step(requested);
    if (steps_ % 16 == 0 && progress_.touched < 0.0) note_energies();
  }
  keep_row(kept, true);
  ended.time = now().time();
  ended.steps = steps_;
  progress_.booked = booked();
  ended.energy_change = now().energies().total() - progress_.start_energy - progress_.booked;
  ended.effort = progress_.effort = effort();
  if (run_options_.cost) ended.cost = observation_->evaluate(*run_options_.cost, start, progress_);
  for (const Formula& formula : run_options_.finals)
    ended.finals.push_back(observation_->evaluate(formula, start, progress_));
  add(contact_totals_, now().contact_totals());
  ended.contacts = contact_totals_.impulses;
  if (summary) summarise(*summary);
  // Without contact, energy that appears or vanishes is an error of the integration: poles that meet, too long a step.
  // most: relative to the largest kinetic energy and the work of forces; rounding: to the largest potential energy
  constexpr double most = 0.5, rounding = 1e-6;
  if (ended.reason.empty() && !ended.timed_out && progress_.touched < 0.0) {
    note_energies();
    const double change = std::abs(ended.energy_change);
    if (change > most * (largest.kinetic + std::abs(progress_.booked)) && change > rounding * largest.potential) {
      ended.outcome = std::ssize(run_options_.rules) + 1;
      ended.reason = formatted(
          "the energy changes by %.4g J without contact, of at most %.4g J of kinetic energy; choose a shorter "
          "simulation.step, or give shapes to bodies whose charges meet",
          ended.energy_change, largest.kinetic);
    }
  }
  return ended;
}

template <int n>
void Runner<n>::summarise(SimulationSummary<n>& summary) const {
  summary.after = now().energies();
  summary.end = now().momenta();
  summary.contact_totals = contact_totals_;
  if (controller_) summary.control = controller_->sums();
  if (feedback_) summary.feedback = feedback_->sums();
  summary.overlap = progress_.overlap;
  summary.spin = progress_.spin;
  summary.impulse = progress_.impulse;
  summary.touching = level_ == 0 ? now().contacts().size() : 0;
}

Channels runner_channels(const systems::Model& model, const systems::Values<double>& values,
                         const SimulationOptions& run_options, bool controlled) {
  const int nodes = run_options.nodes;
  const bool plane = model.dimension == 2;
  std::vector<std::string> bodies, q, v, j;
  const auto names = [&](const auto& world) {
    for (const auto& body : world.bodies) bodies.push_back(body.name);
  };
  if (plane)
    names(systems::bodies<2>(model, values).world);
  else
    names(systems::bodies<3>(model, values).world);
  std::vector<std::string> q_units, v_units, j_units;
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
      add(j, j_units, body, {{"x", "N s"}, {"y", "N s"}, {"angle", "N m s"}});
    } else {
      add(q, q_units, body, {{"x", "m"}, {"y", "m"}, {"z", "m"}, {"q0", "1"}, {"qx", "1"}, {"qy", "1"}, {"qz", "1"}});
      add(v, v_units, body,
          {{"x", "m/s"}, {"y", "m/s"}, {"z", "m/s"}, {"wx", "rad/s"}, {"wy", "rad/s"}, {"wz", "rad/s"}});
      add(j, j_units, body,
          {{"x", "N s"}, {"y", "N s"}, {"z", "N s"}, {"wx", "N m s"}, {"wy", "N m s"}, {"wz", "N m s"}});
    }
  }
  Channels list = {{"t", "s", "time", nodes, {"t"}},
                   {"q", "", plane ? "centres, angles" : "centres, unit quaternions", nodes, q, q_units},
                   {"v", "", "velocities, angular velocities", nodes, v, v_units},
                   {"energy",
                    "J",
                    "energies, and their change by projections and impacts up to now",
                    nodes,
                    {"kinetic", "potential", "projection", "impact"}}};
  if (run_options.by_impulses())
    list.push_back(
        {"impulse", "", "what contacts gave bodies since the row before, about their centres", nodes, j, j_units});
  if (run_options.feedback) list.push_back(feedback_channel(*run_options.feedback, model, nodes));
  if (controlled) list.push_back(control_channel(model.dimension, nodes));
  return list;
}

template class Runner<2>;
template class Runner<3>;

}  // namespace dodyn::evaluators::simulation
