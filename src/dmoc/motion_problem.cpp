#include "dmoc/motion_problem.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "dmoc/interval_work.hpp"
#include "dmoc/vectors.hpp"

namespace dodyn::dmoc {

using nlp::AssembledProblem;
using Term = AssembledProblem::Term;
using autodiff::Var;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

std::vector<int> range(int first, int count) {
  std::vector<int> r(count);
  for (int i = 0; i < count; ++i) r[i] = first + i;
  return r;
}
int place_of(const std::vector<int>& list, int what) {
  const auto at = std::ranges::find(list, what);
  return at == list.end() ? -1 : static_cast<int>(at - list.begin());
}

// (u, coordinates; weights) -> u times the weighted sum
Function weighted_work(int coordinates) {
  return autodiff::record(1 + coordinates, coordinates, [&](const auto& z, const auto& weights) {
    Var change = weights[0] * z[1];
    for (std::size_t i = 1; i < weights.size(); ++i) change += weights[i] * z[i + 1];
    return std::vector<Var>{z[0] * change};
  });
}
// (u, rate; h) -> h u rate / 2
const Function& half_work() {
  static const Function f = autodiff::record(
      2, 1, [](const auto& z, const auto& p) { return std::vector<Var>{0.5 * (p[0] * (z[0] * z[1]))}; });
  return f;
}
// (u, rate, T; 1/K) -> h u rate / 2 with h = T/K
const Function& timed_half_work() {
  static const Function f = autodiff::record(
      3, 1, [](const auto& z, const auto& p) { return std::vector<Var>{0.5 * (p[0] * (z[2] * (z[0] * z[1])))}; });
  return f;
}
// (u, T; 1/K) -> h u / 2 and h u^2
const Function& timed_control() {
  static const Function f = autodiff::record(2, 1, [](const auto& z, const auto& p) {
    const Var h = z[1] * p[0];
    return std::vector<Var>{0.5 * (h * z[0]), h * (z[0] * z[0])};
  });
  return f;
}

}  // namespace

MotionProblem::MotionProblem(std::shared_ptr<const System> system, std::vector<Coefficient> numbers)
    : system_(std::move(system)), numbers_(std::move(numbers)), energy_(element(system_->energy(), numbers_)) {}

int MotionProblem::add_phase(Phase phase) {
  const PinnedSystem& functions = system_->pinned(phase.held);
  PhaseLayout& laid = phases_.emplace_back();
  laid.phase = std::move(phase);
  laid.functions = &functions;
  return phases() - 1;
}

int MotionProblem::add_event(Event event) {
  events_.push_back({std::move(event)});
  return static_cast<int>(events_.size()) - 1;
}

void MotionProblem::set_impulse(int event, Impulse impulse) { events_[event].impulse = std::move(impulse); }

int MotionProblem::momentum_row(int phase, int knot) const {
  const PhaseLayout& laid = phases_[phase];
  if (knot == 0) return laid.departure;
  return knot == laid.index.knots() - 1 ? laid.arrival : laid.dynamics + laid.index.moving * (knot - 1);
}

double MotionProblem::knot_weight(int phase, int knot) const {
  const Scheme& scheme = system_->scheme();
  const int in_interval = knot % scheme.degree;
  const bool end = knot == 0 || knot == scheme.degree * this->phase(phase).intervals;
  return (in_interval == 0 && !end ? 2.0 : 1.0) * scheme.knot_weights(in_interval);
}

void MotionProblem::add_boundary(Boundary boundary) { boundaries_.push_back(std::move(boundary)); }

bool MotionProblem::rests(int phase, bool end) const {
  std::vector<int> still;
  for (const Boundary& b : boundaries_) {
    if (b.phase != phase || b.end != end) continue;
    for (const auto& [coordinate, rate] : b.rates)
      if (rate.value == 0.0 && rate.gradient.size() == 0) still.push_back(coordinate);
  }
  const std::vector<int>& moving = functions(phase).moving;
  return std::ranges::all_of(moving, [&](int coordinate) { return place_of(still, coordinate) >= 0; });
}

std::vector<Term> MotionProblem::reactions(int phase, int knot) const {
  const PhaseLayout& laid = phases_[phase];
  std::vector<Term> terms;
  // f = -(D4 + D2)/(weight h) - forces; unknowns of position constraints at inner knots contain 1/h
  const bool end = knot == 0 || knot == laid.index.knots() - 1;
  const Coefficient per = laid.index.duration >= 0 ? Coefficient(1.0) : 1.0 / step(phase);
  const double per_weight = -1.0 / knot_weight(phase, knot);
  add_force(terms, laid, laid.force_rows + std::ssize(laid.phase.forces) * knot, 0,
            end ? per_weight * per : Coefficient(per_weight));
  return terms;
}

std::vector<Term> MotionProblem::impulse_reactions(int event) const {
  const EventLayout& joint = events_[event];
  std::vector<Term> terms;
  add_force(terms, phases_[joint.event.to], joint.impulse_rows, 0, -1.0);
  return terms;
}

Coefficient MotionProblem::step(int phase) const {
  const Phase& p = phases_[phase].phase;
  return p.duration / static_cast<double>(p.intervals);
}

std::vector<int> MotionProblem::node(int phase, int k) const {
  return range(index(phase).theta(k), index(phase).moving);
}
std::vector<int> MotionProblem::knot(int phase, int r) const {
  return range(index(phase).knot(r), index(phase).moving);
}
std::vector<int> MotionProblem::interval(int phase, int k) const {
  const PhaseIndex& at = index(phase);
  return joined(range(at.theta(k), at.degree * at.moving), node(phase, k + 1));
}

const Reference& MotionProblem::reference(int phase, int k) const {
  const auto& all = phases_[phase].phase.references;
  return all.empty() ? system_->no_reference() : all[k];
}

std::vector<Element> MotionProblem::on_intervals(int phase, const Function& function,
                                                 const std::vector<Coefficient>& extra) const {
  std::map<std::pair<const void*, const void*>, Element> known;
  std::vector<Element> all;
  for (int k = 0; k < index(phase).intervals; ++k) {
    const Reference &first = reference(phase, k), &last = reference(phase, k + 1);
    Element& e = known[{first.get(), last.get()}];
    if (!e) e = element(function, numbers_, extra, {first, last});
    all.push_back(e);
  }
  return all;
}

void MotionProblem::lay_out() {
  const double inf = nlp::infinity;
  for (PhaseLayout& laid : phases_) {
    const Phase& phase = laid.phase;
    PhaseIndex& index = laid.index;
    const auto& moving = laid.functions->moving;
    const int degree = system_->scheme().degree;
    index = {size_,
             static_cast<int>(moving.size()),
             system_->inputs(),
             phase.intervals,
             phase.work ? (phase.work_at_ends && degree == 1 ? 2 : 1) : 0,
             degree,
             phase.work && phase.work_at_ends && degree > 1 ? static_cast<int>(moving.size()) : 0};
    for (int k = 0; k <= phase.intervals; ++k) {
      for (int knot = 0; knot < (k == phase.intervals ? 1 : degree); ++knot)
        for (const int coordinate : moving) {
          std::pair<Coefficient, Coefficient> bounds{-inf, inf};
          if (system_->is_chart(coordinate)) bounds = {-chart_limit, chart_limit};
          for (const auto& [ranged, given] : phase.ranges)
            if (ranged == coordinate) bounds = given;
          problem_.add_variables(1, bounds.first, bounds.second);
        }
      if (k == phase.intervals) break;
      for (int i = 0; i < degree * index.controls; ++i) {
        const std::size_t at = i % index.controls;
        if (at < phase.controls.size())
          problem_.add_variables(1, phase.controls[at].first, phase.controls[at].second);
        else
          problem_.add_variables(1, -inf, inf);
      }
      problem_.add_variables(2 * index.halves * degree * index.controls, 0.0, inf);
      problem_.add_variables(index.node_rates, -inf, inf);
    }
    size_ = index.theta(phase.intervals) + index.moving;
    if (index.node_rates > 0) index.velocity_before = index.rate(phase.intervals);
    if (phase.free_duration) {
      index.duration = problem_.add_variables(1, phase.free_duration->first, phase.free_duration->second);
      ++size_;
    }
  }
  // Velocities at an end are unknowns if events, boundaries, force conditions or node rates need them.
  for (int p = 0; p < phases(); ++p) {
    PhaseIndex& index = phases_[p].index;
    bool before = !phase(p).forces.empty() || index.node_rates > 0, after = before;
    for (const EventLayout& joint : events_) {
      before = before || joint.event.from == p;
      after = after || joint.event.to == p;
    }
    for (const Boundary& b : boundaries_)
      if (b.phase == p && (!b.rates.empty() || b.moving)) (b.end ? before : after) = true;
    for (int* const velocity : {before ? &index.velocity_before : nullptr, after ? &index.velocity_after : nullptr})
      if (velocity && *velocity < 0) {
        *velocity = problem_.add_variables(index.moving, -inf, inf);
        size_ += index.moving;
      }
  }
}

void MotionProblem::add_force(std::vector<Term>& terms, const PhaseLayout& laid, int row, int first_output,
                              const Coefficient& coefficient) const {
  for (std::size_t f = 0; f < laid.phase.forces.size(); ++f)
    for (const auto& [coordinate, weight] : laid.phase.forces[f].forces)
      terms.push_back({first_output + coordinate, row + static_cast<int>(f), weight * coefficient});
}

void MotionProblem::add_constant_force(const PhaseLayout& laid, int row, const Coefficient& force) {
  if (laid.index.duration >= 0)  // the row is in N s
    problem_.add_linear(row, laid.index.duration, force * (1.0 / laid.index.intervals));
  else
    problem_.add_constant(row, force);
}

void MotionProblem::add_dynamics(PhaseLayout& laid) {
  const int n = system_->n(), m = laid.index.moving, K = laid.phase.intervals, conditions = laid.phase.forces.size();
  const PhaseIndex& index = laid.index;
  const int degree = system_->scheme().degree;
  const auto& moving = laid.functions->moving;
  const bool timed = index.duration >= 0;
  const Coefficient per_K = 1.0 / static_cast<double>(K);
  const Coefficient h = timed ? Coefficient(0.0) : laid.phase.duration * per_K;
  const DynamicsScale scale{h, timed ? Coefficient(1.0) : 1.0 / h, K * degree};
  const int phase = &laid - phases_.data();
  const auto elements = [&](const Function& f, const Function& f_timed) {
    return timed ? on_intervals(phase, f_timed, {per_K}) : on_intervals(phase, f, {h});
  };
  laid.actions = elements(laid.functions->action, laid.functions->timed_action);
  const bool pushed = !system_->simply_actuated();
  if (pushed) laid.pushes = elements(laid.functions->forces, laid.functions->timed_forces);
  // Offset between the forces of neighbouring knots. For degree 1 without directors both ends have equal forces.
  const int pushes_by = degree > 1 || system_->directors() ? n : 0;
  const Element half = timed && !pushed ? element(timed_control(), {}, {per_K}) : nullptr;
  const auto with_time = [&](std::vector<int> inputs) {
    if (timed) inputs.push_back(index.duration);
    return inputs;
  };
  // weight h f = -(sum of slots); at the ends with the momentum of the velocity
  const auto force_scale = [&](int knot) { return (-1.0 / knot_weight(phase, knot)) * scale.inner; };

  for (int k = 0; k < K; ++k) {
    std::vector<Term> terms, pushes;
    for (int i = 0; i < m; ++i)
      for (int slot = 0; slot <= degree; ++slot) {
        const int knot = k * degree + slot, of_slot = moving[i];
        for (const auto& [row, factor] : rows_of_slot(laid, scale, knot, slot)) {
          terms.push_back({slot * n + of_slot, row + i, factor});
          pushes.push_back({slot * pushes_by + of_slot, row + i, factor});
        }
      }
    if (conditions > 0)
      for (const auto& [list, by] : {std::pair{&terms, n}, std::pair{&pushes, pushes_by}})
        for (int slot = 0; slot <= degree; ++slot) {
          const int knot = k * degree + slot;
          add_force(*list, laid, laid.force_rows + conditions * knot, slot * by, force_scale(knot));
        }
    problem_.add_element(laid.actions[k], with_time(interval(phase, k)), std::move(terms));
    if (pushed)
      problem_.add_element(laid.pushes[k],
                           with_time(joined(interval(phase, k), range(index.control(k), degree * index.controls))),
                           std::move(pushes));
    else
      for (int point = 0; point < degree; ++point)
        for (int i = 0; i < index.controls; ++i) add_control(laid, k, point, i, scale, half);
  }
  if (laid.node_rates < 0) return;
  const Element momentum = element(laid.functions->momentum, numbers_, {}, {reference(phase, 0)});
  for (int node = 1; node < K; ++node) {
    std::vector<Term> own;
    for (int i = 0; i < m; ++i) own.push_back({moving[i], laid.node_rates + m * (node - 1) + i, -1.0});
    problem_.add_element(momentum, joined(this->node(phase, node), range(index.rate(node), m)), std::move(own));
  }
}

std::vector<std::pair<int, Coefficient>> MotionProblem::rows_of_slot(const PhaseLayout& laid,
                                                                     const DynamicsScale& scale, int knot,
                                                                     int slot) const {
  std::vector<std::pair<int, Coefficient>> rows;
  const int degree = laid.index.degree, node = knot / degree;
  if (const int row = momentum_row(&laid - phases_.data(), knot); row >= 0) rows.emplace_back(row, scale.at(knot));
  if (laid.node_rates >= 0 && knot % degree == 0 && node > 0 && node < laid.index.intervals)
    rows.emplace_back(laid.node_rates + laid.index.moving * (node - 1), slot == 0 ? -0.5 : 0.5);
  return rows;
}

void MotionProblem::add_control(const PhaseLayout& laid, int k, int point, int i, const DynamicsScale& scale,
                                const Element& half) {
  const PhaseIndex& index = laid.index;
  const Scheme& scheme = system_->scheme();
  const int phase = &laid - phases_.data(), degree = scheme.degree, u = index.control(k, point) + i,
            pushed = system_->structure().actuators[i].coordinate, row = place_of(laid.functions->moving, pushed),
            conditions = laid.phase.forces.size();
  const bool timed = index.duration >= 0;
  const auto share = [&](int slot) { return scheme.weights(point) * scheme.values(point, slot); };
  std::vector<Term> terms;  // terms of `half`, which is h u / 2; so their factors contain 2
  // The control of an actuator on a held coordinate enters the force that holds the coordinate.
  for (int f = 0; f < conditions && row < 0; ++f)
    for (const auto& [coordinate, weight] : laid.phase.forces[f].forces) {
      if (coordinate != pushed) continue;
      for (int slot = 0; slot <= degree; ++slot) {
        const int knot = k * degree + slot, force_row = laid.force_rows + conditions * knot + f;
        const Coefficient factor = (-1.0 / knot_weight(phase, knot)) * weight * scale.inner;
        if (timed)
          terms.push_back({0, force_row, 2.0 * share(slot) * factor});
        else
          problem_.add_linear(force_row, u, share(slot) * scale.h * factor);
      }
    }
  for (int slot = 0; slot <= degree && row >= 0; ++slot) {
    const int knot = k * degree + slot, momentum = momentum_row(phase, knot);
    for (const auto& [first, factor] : rows_of_slot(laid, scale, knot, slot))
      if (timed)
        terms.push_back({0, first + row, 2.0 * share(slot) * factor});
      else
        problem_.add_linear(first + row, u,
                            first == momentum && knot != 0 && knot != scale.last_knot
                                ? Coefficient(share(slot))  // fewer rounding errors than (share h) (1/h)
                                : share(slot) * scale.h * factor);
  }
  if (!terms.empty()) problem_.add_element(half, {u, index.duration}, std::move(terms));
}

void MotionProblem::add_event_rows(EventLayout& joint) {
  const Event& event = joint.event;
  const PhaseLayout &from = phases_[event.from], &to = phases_[event.to];
  const int n = system_->n(), K = from.index.intervals;
  const auto &before = from.functions->moving, &after = to.functions->moving;
  if (event.configuration) {
    std::vector<Term> terms;
    for (int i = 0; i < n; ++i) terms.push_back({i, joint.configuration + i, 1.0});
    problem_.add_element(event.configuration, node(event.from, K), std::move(terms));
  }
  int row = joint.configuration;
  for (int i = 0; i < n; ++i) {
    const int a = place_of(before, i), b = place_of(after, i);
    if (!event.configuration && a < 0 && b < 0) continue;
    if (!event.configuration && a >= 0) problem_.add_linear(row, from.index.theta(K) + a, 1.0);
    if (b >= 0) problem_.add_linear(row, to.index.theta(0) + b, -1.0);
    if (!event.shift.empty()) {
      const Coefficient& shift = event.shift[i];
      if (shift.value != 0.0 || shift.gradient.size() > 0) problem_.add_constant(row, -shift);
    }
    ++row;
  }
}

void MotionProblem::add_boundary_rows(const Boundary& boundary) {
  const PhaseLayout& laid = phases_[boundary.phase];
  const auto fix = [&](const std::vector<std::pair<int, Coefficient>>& values, int first) {
    for (const auto& [coordinate, given] : values) {
      const int at = place_of(laid.functions->moving, coordinate);
      if (at < 0) throw std::logic_error("a held coordinate cannot be given");
      const int row = problem_.add_rows(1, 0.0, 0.0);
      problem_.add_linear(row, first + at, 1.0);
      problem_.add_constant(row, -given);
    }
  };
  fix(boundary.coordinates, laid.index.theta(boundary.end ? laid.index.intervals : 0));
  fix(boundary.rates, boundary.end ? laid.index.velocity_before : laid.index.velocity_after);
}

void MotionProblem::add_row_ranges() {
  const int n = system_->n();
  for (PhaseLayout& laid : phases_) {
    const int m = laid.index.moving;
    laid.dynamics = problem_.add_rows(m * (laid.index.knots() - 2), 0.0, 0.0);
    if (laid.index.velocity_before >= 0) laid.arrival = problem_.add_rows(m, 0.0, 0.0);
    if (laid.index.velocity_after >= 0) laid.departure = problem_.add_rows(m, 0.0, 0.0);
    if (laid.index.node_rates > 0) laid.node_rates = problem_.add_rows(m * (laid.index.intervals - 1), 0.0, 0.0);
  }
  for (EventLayout& joint : events_) {
    const auto &before = phases_[joint.event.from].functions->moving,
               &after = phases_[joint.event.to].functions->moving;
    joint.jump = problem_.add_rows(after.size(), 0.0, 0.0);
    int rows = n;
    if (!joint.event.configuration)
      for (int i = 0; i < n; ++i) rows -= place_of(before, i) < 0 && place_of(after, i) < 0;
    joint.configuration = problem_.add_rows(rows, 0.0, 0.0);
  }
  for (PhaseLayout& laid : phases_) {
    laid.force_rows = problem_.add_rows(std::ssize(laid.phase.forces) * laid.index.knots(), 0.0, nlp::infinity);
    for (int row = laid.force_rows, k = 0; k < laid.index.knots(); ++k)
      for (const ForceCondition& condition : laid.phase.forces) {
        if (condition.has_constant()) add_constant_force(laid, row, condition.constant);
        ++row;
      }
  }
  for (EventLayout& joint : events_) {
    joint.impulse_rows = problem_.add_rows(0, 0.0, 0.0);
    for (const ForceCondition& condition : phases_[joint.event.to].phase.forces)
      problem_.add_rows(1, condition.has_constant() ? -nlp::infinity : 0.0, nlp::infinity);
  }
}

void MotionProblem::add_end_momenta(int p) {
  PhaseLayout& laid = phases_[p];
  const PhaseIndex& index = laid.index;
  const int K = index.intervals, conditions = laid.phase.forces.size();
  const auto& moving = laid.functions->moving;
  const Coefficient scale = index.duration >= 0 ? Coefficient(1.0) : 1.0 / step(p);
  laid.momentum_first = element(laid.functions->momentum, numbers_, {}, {reference(p, 0)});
  laid.momentum_last = reference(p, K) == reference(p, 0)
                           ? laid.momentum_first
                           : element(laid.functions->momentum, numbers_, {}, {reference(p, K)});
  const auto own = [&](int row) {
    std::vector<Term> terms;
    for (int i = 0; i < index.moving; ++i) terms.push_back({moving[i], row + i, -1.0});
    return terms;
  };
  if (index.velocity_before >= 0) {
    std::vector<Term> terms = own(laid.arrival);
    add_force(terms, laid, laid.force_rows + conditions * (index.knots() - 1), 0,
              (1.0 / knot_weight(p, index.knots() - 1)) * scale);
    for (const EventLayout& joint : events_) {
      if (joint.event.from != p || joint.event.momentum) continue;
      const auto& after = phases_[joint.event.to].functions->moving;
      for (std::size_t i = 0; i < after.size(); ++i) terms.push_back({after[i], joint.jump + static_cast<int>(i), 1.0});
      add_force(terms, phases_[joint.event.to], joint.impulse_rows, 0, -1.0);
    }
    problem_.add_element(laid.momentum_last, joined(node(p, K), range(index.velocity_before, index.moving)),
                         std::move(terms));
  }
  if (index.velocity_after >= 0) {
    std::vector<Term> terms = own(laid.departure);
    for (const EventLayout& joint : events_)
      if (joint.event.to == p)
        for (int i = 0; i < index.moving; ++i) terms.push_back({moving[i], joint.jump + i, -1.0});
    add_force(terms, laid, laid.force_rows, 0, (-1.0 / knot_weight(p, 0)) * scale);
    for (const EventLayout& joint : events_)
      if (joint.event.to == p) add_force(terms, laid, joint.impulse_rows, 0, 1.0);
    problem_.add_element(laid.momentum_first, joined(node(p, 0), range(index.velocity_after, index.moving)),
                         std::move(terms));
  }
}

void MotionProblem::add_event_momentum(const EventLayout& joint) {
  const PhaseLayout &from = phases_[joint.event.from], &to = phases_[joint.event.to];
  std::vector<Term> terms;
  for (int i = 0; i < to.index.moving; ++i) terms.push_back({to.functions->moving[i], joint.jump + i, 1.0});
  add_force(terms, to, joint.impulse_rows, 0, -1.0);
  problem_.add_element(
      joint.event.momentum,
      joined(node(joint.event.from, from.index.intervals), range(from.index.velocity_before, from.index.moving)),
      std::move(terms));
}

void MotionProblem::transcribe() {
  lay_out();
  add_row_ranges();
  for (PhaseLayout& laid : phases_) add_dynamics(laid);
  for (int p = 0; p < phases(); ++p) add_end_momenta(p);
  for (const EventLayout& joint : events_)
    if (joint.event.momentum) add_event_momentum(joint);
  for (EventLayout& joint : events_) add_event_rows(joint);
  for (const Boundary& boundary : boundaries_) add_boundary_rows(boundary);
}

int MotionProblem::driven(const PhaseLayout& laid, int control) const {
  return place_of(laid.functions->moving, system_->structure().actuators[control].coordinate);
}

void MotionProblem::add_effort(int p, const Effort& effort, const Coefficient& per) {
  const PhaseLayout& laid = phases_[p];
  const PhaseIndex& index = laid.index;
  const bool timed = index.duration >= 0;
  const Element square = timed ? element(timed_control(), {}, {1.0 / static_cast<double>(index.intervals)}) : nullptr;
  const Scheme& scheme = system_->scheme();
  for (int k = 0; k < index.intervals; ++k)
    for (int i = 0; i < index.controls; ++i) {
      Coefficient weight = effort.squared_control;
      if (!effort.loss.empty()) weight += effort.loss[i];
      if (weight.value == 0.0 && weight.gradient.size() == 0) continue;
      for (int point = 0; point < scheme.degree; ++point) {
        const int u = index.control(k, point) + i;
        const double share = scheme.weights(point);
        if (timed)
          problem_.add_element(square, {u, index.duration},
                               {{1, AssembledProblem::objective_row, share * weight * per}});
        else
          problem_.add_square(u, share * weight * step(p) * per);
      }
    }
  if (index.halves == 0) return;
  if (index.degree == 1)
    add_work_of_intervals(laid, effort, per);
  else
    add_parts_of_work(laid, effort, per);
}

// w+ - w- = work
void MotionProblem::add_work_of_intervals(const PhaseLayout& laid, const Effort& effort, const Coefficient& per) {
  const PhaseIndex& index = laid.index;
  const bool timed = index.duration >= 0;
  const int p = &laid - phases_.data();
  const Element half_work_of_rate = timed ? element(timed_half_work(), {}, {1.0 / static_cast<double>(index.intervals)})
                                          : element(half_work(), {}, {step(p)});
  std::map<std::vector<double>, Element> of_weights;  // works with equal weights share an element
  const auto add_work = [&](const Work& work, int u, int row) {
    if (!work.coordinates.empty()) {
      std::vector<int> inputs = {u};
      std::vector<double> weights;
      for (const auto& [unknown, weight] : work.coordinates) {
        inputs.push_back(unknown);
        weights.push_back(weight);
      }
      Element& e = of_weights[weights];
      if (!e) e = weighted(weights);
      problem_.add_element(e, std::move(inputs), {{0, row, 1.0}});
    }
    for (const auto& [rate, weight] : work.rates)
      problem_.add_element(half_work_of_rate,
                           timed ? std::vector<int>{u, rate, index.duration} : std::vector<int>{u, rate},
                           {{0, row, weight}});
  };
  for (int k = 0; k < index.intervals; ++k)
    for (int i = 0; i < index.controls; ++i)
      for (int half = 0; half < index.halves; ++half) {
        const int row = problem_.add_rows(1, 0.0, 0.0), joint = driven(laid, i);
        if (joint >= 0) add_work(work_of(index, k, half, index.halves, joint), index.control(k) + i, row);
        const int done = index.positive(k, half) + i, taken = index.negative(k, half) + i;
        problem_.add_linear(row, done, -1.0);
        problem_.add_linear(row, taken, 1.0);
        problem_.add_linear(AssembledProblem::objective_row, done, (effort.absolute_work + effort.positive_work) * per);
        problem_.add_linear(AssembledProblem::objective_row, taken, effort.absolute_work * per);
      }
}

// w+ - w- = parts of the work. Positive work is half of |work| + work.
void MotionProblem::add_parts_of_work(const PhaseLayout& laid, const Effort& effort, const Coefficient& per) {
  const PhaseIndex& index = laid.index;
  const Scheme& scheme = system_->scheme();
  const Element parts = split_work(laid, index.node_rates > 0);
  std::vector<Element> at_points;
  for (int point = 0; point < index.degree; ++point) {
    const Eigen::VectorXd weights = scheme.weights(point) * scheme.slopes.row(point).transpose();
    at_points.push_back(weighted({weights.begin(), weights.end()}));
  }
  const Coefficient of_parts = (effort.absolute_work + 0.5 * effort.positive_work) * per;
  for (int k = 0; k < index.intervals; ++k)
    for (int i = 0; i < index.controls; ++i) {
      const int first = problem_.add_rows(index.degree, 0.0, 0.0), joint = driven(laid, i);
      for (int part = 0; part < index.degree; ++part)
        for (const auto& [unknown, sign] :
             {std::pair{index.positive(k, 0, part) + i, -1.0}, {index.negative(k, 0, part) + i, 1.0}}) {
          problem_.add_linear(first + part, unknown, sign);
          problem_.add_linear(AssembledProblem::objective_row, unknown, of_parts);
        }
      if (joint < 0) continue;
      std::vector<Term> terms;
      for (int part = 0; part < index.degree; ++part) terms.push_back({part, first + part, 1.0});
      problem_.add_element(parts, split_inputs(index, k, i, joint), std::move(terms));
      if (effort.positive_work == 0.0) continue;
      for (int point = 0; point < index.degree; ++point) {
        std::vector<int> inputs = {index.control(k, point) + i};
        for (int knot = 0; knot <= index.degree; ++knot) inputs.push_back(index.knot(k * index.degree + knot) + joint);
        problem_.add_element(at_points[point], std::move(inputs),
                             {{0, AssembledProblem::objective_row, 0.5 * effort.positive_work * per}});
      }
    }
}

Element MotionProblem::weighted(const std::vector<double>& weights) const {
  const int count = weights.size();
  return element(system_->known_as("work of " + std::to_string(count), [&] { return weighted_work(count); }), {},
                 {weights.begin(), weights.end()});
}

Element MotionProblem::split_work(const PhaseLayout& laid, bool at_ends) const {
  const bool timed = laid.index.duration >= 0;
  const int p = &laid - phases_.data();
  return interval_work(system_->scheme(), at_ends, timed ? StepInput::unknown : StepInput::given,
                       timed ? Coefficient(1.0 / static_cast<double>(laid.index.intervals)) : step(p));
}

std::vector<int> MotionProblem::split_inputs(const PhaseIndex& index, int k, int control, int joint) const {
  std::vector<int> inputs;
  for (int point = 0; point < index.degree; ++point) inputs.push_back(index.control(k, point) + control);
  for (int knot = 0; knot <= index.degree; ++knot) inputs.push_back(index.knot(k * index.degree + knot) + joint);
  if (index.node_rates > 0)
    for (const int node : {k, k + 1}) inputs.push_back(index.rate(node) + joint);
  if (index.duration >= 0) inputs.push_back(index.duration);
  return inputs;
}

double MotionProblem::Work::of(double u, double h, const VectorXd& x) const {
  double change = 0.0, rate = 0.0;
  for (const auto& [unknown, weight] : coordinates) change += weight * x(unknown);
  for (const auto& [unknown, weight] : rates) rate += weight * x(unknown);
  return u * change + 0.5 * h * u * rate;
}

// The rate of an inner node is the central difference: (h/2) u v is u/4 times the change over two intervals.
MotionProblem::Work MotionProblem::work_of(const PhaseIndex& index, int k, int half, int halves, int joint) const {
  const int K = index.intervals, node = k + half;
  const auto change = [&](int from, int to, double weight) {
    return Work::Weights{{index.theta(from) + joint, -weight}, {index.theta(to) + joint, weight}};
  };
  if (halves == 1) return {change(k, k + 1, 1.0)};
  const int rate = node == 0 ? index.velocity_after : node == K ? index.velocity_before : -1;
  if (rate >= 0) return {{}, {{rate + joint, 1.0}}};
  if (node == 0 || node == K) return {change(k, k + 1, 0.5)};
  return {change(node - 1, node + 1, 0.25)};
}

double MotionProblem::step_of(const PhaseLayout& laid, const VectorXd& x) {
  return (laid.index.duration >= 0 ? x(laid.index.duration) : laid.phase.duration.value) / laid.index.intervals;
}

void MotionProblem::fill(VectorXd& x) const {
  for (const PhaseLayout& laid : phases_) {
    const PhaseIndex& index = laid.index;
    const int K = index.intervals;
    const double h = step_of(laid, x);
    const auto theta = [&](int k) { return x.segment(index.theta(k), index.moving); };
    const auto rate = [&](int k, double s) -> VectorXd {
      if (index.degree == 1) return (theta(k + 1) - theta(k)) / h;
      const VectorXd slopes = system_->scheme().slopes_at(s);
      VectorXd sum = VectorXd::Zero(index.moving);
      for (int j = 0; j <= index.degree; ++j)
        sum += slopes(j) * x.segment(index.knot(k * index.degree + j), index.moving);
      return sum / h;
    };
    if (index.velocity_before >= 0) x.segment(index.velocity_before, index.moving) = rate(K - 1, 1.0);
    if (index.velocity_after >= 0) x.segment(index.velocity_after, index.moving) = rate(0, 0.0);
    for (int node = 1; node < K && index.node_rates > 0; ++node)
      x.segment(index.rate(node), index.moving) = 0.5 * (rate(node - 1, 1.0) + rate(node, 0.0));
    if (index.halves == 0) continue;
    const Element parts = index.degree > 1 ? split_work(laid, index.node_rates > 0) : nullptr;
    for (int k = 0; k < K; ++k)
      for (int i = 0; i < index.controls; ++i) {
        const int joint = driven(laid, i);
        VectorXd work = VectorXd::Zero(index.halves * index.degree);
        if (joint >= 0 && parts)
          work = value(*parts, x(split_inputs(index, k, i, joint)));
        else if (joint >= 0)
          for (int half = 0; half < index.halves; ++half)
            work(half) = work_of(index, k, half, index.halves, joint).of(x(index.control(k) + i), h, x);
        for (int at = 0; at < work.size(); ++at) {
          const int half = parts ? 0 : at, part = parts ? at : 0;
          x(index.positive(k, half, part) + i) = std::max(work(at), 0.0);
          x(index.negative(k, half, part) + i) = std::max(-work(at), 0.0);
        }
      }
  }
}

}  // namespace dodyn::dmoc
