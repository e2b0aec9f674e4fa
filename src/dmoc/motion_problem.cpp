#include "dmoc/motion_problem.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Geometry>
#include <Eigen/LU>
#include <Eigen/QR>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <stdexcept>

#include "dmoc/attitudes.hpp"
#include "dmoc/hold.hpp"

namespace dodyn::dmoc {

using nlp::AssembledProblem;
using Term = AssembledProblem::Term;
using autodiff::Var;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

std::vector<int> range(int first, int count) {
  std::vector<int> r(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) r[static_cast<std::size_t>(i)] = first + i;
  return r;
}
VectorXd joined(const VectorXd& a, const VectorXd& b) {
  VectorXd z(a.size() + b.size());
  z << a, b;
  return z;
}
int place_of(const std::vector<int>& list, int what) {
  const auto at = std::find(list.begin(), list.end(), what);
  return at == list.end() ? -1 : static_cast<int>(at - list.begin());
}
VectorXd picked(const VectorXd& whole, const std::vector<int>& which) {
  VectorXd v(static_cast<Eigen::Index>(which.size()));
  for (std::size_t i = 0; i < which.size(); ++i) v(static_cast<Eigen::Index>(i)) = whole(which[i]);
  return v;
}
VectorXd spread(const VectorXd& part, const std::vector<int>& which, int n) {
  VectorXd v = VectorXd::Zero(n);
  for (std::size_t i = 0; i < which.size(); ++i) v(which[i]) = part(static_cast<Eigen::Index>(i));
  return v;
}

// (u, theta, theta') -> work of a control over an interval
const Function& interval_work() {
  static const Function f =
      autodiff::record(3, 0, [](const auto& z, const auto&) { return std::vector<Var>{z[0] * (z[2] - z[1])}; });
  return f;
}
// (u, rate; h) -> h u rate / 2, and (u, rate, T; 1/K)
const Function& half_work() {
  static const Function f = autodiff::record(
      2, 1, [](const auto& z, const auto& p) { return std::vector<Var>{0.5 * (p[0] * (z[0] * z[1]))}; });
  return f;
}
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

void MotionProblem::set_impulse(int event, Impulse impulse) {
  events_[static_cast<std::size_t>(event)].impulse = std::move(impulse);
}

int MotionProblem::momentum_row(int phase, int knot) const {
  const PhaseLayout& laid = phases_[static_cast<std::size_t>(phase)];
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
  return std::all_of(moving.begin(), moving.end(), [&](int coordinate) { return place_of(still, coordinate) >= 0; });
}

std::vector<Term> MotionProblem::reactions(int phase, int knot) const {
  const PhaseLayout& laid = phases_[static_cast<std::size_t>(phase)];
  std::vector<Term> terms;
  // f = -(D4 + D2)/(weight h) - forces; unknowns of holds at inner knots contain 1/h
  const bool end = knot == 0 || knot == laid.index.knots() - 1;
  const Coefficient per = laid.index.duration >= 0 ? Coefficient(1.0) : 1.0 / step(phase);
  const double per_weight = -1.0 / knot_weight(phase, knot);
  add_force(terms, laid, laid.force_rows + static_cast<int>(laid.phase.forces.size()) * knot, 0,
            end ? per_weight * per : Coefficient(per_weight));
  return terms;
}

std::vector<Term> MotionProblem::impulse_reactions(int event) const {
  const EventLayout& joint = events_[static_cast<std::size_t>(event)];
  std::vector<Term> terms;
  add_force(terms, phases_[static_cast<std::size_t>(joint.event.to)], joint.impulse_rows, 0, -1.0);
  return terms;
}

Coefficient MotionProblem::step(int phase) const {
  const Phase& p = phases_[static_cast<std::size_t>(phase)].phase;
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
  const auto& all = phases_[static_cast<std::size_t>(phase)].phase.references;
  return all.empty() ? system_->no_reference() : all[static_cast<std::size_t>(k)];
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
    assert(degree == 1 || !phase.work);
    index = {size_,
             static_cast<int>(moving.size()),
             system_->inputs(),
             phase.intervals,
             phase.work ? (phase.work_at_ends ? 2 : 1) : 0,
             degree};
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
        const auto at = static_cast<std::size_t>(i % index.controls);
        if (at < phase.controls.size())
          problem_.add_variables(1, phase.controls[at].first, phase.controls[at].second);
        else
          problem_.add_variables(1, -inf, inf);
      }
      problem_.add_variables(2 * index.halves * index.controls, 0.0, inf);
    }
    size_ = index.theta(phase.intervals) + index.moving;
    if (phase.free_duration) {
      index.duration = problem_.add_variables(1, phase.free_duration->first, phase.free_duration->second);
      ++size_;
    }
  }
  // unknown velocities, if events or boundaries need them
  for (int p = 0; p < phases(); ++p) {
    PhaseIndex& index = phases_[static_cast<std::size_t>(p)].index;
    bool before = !phase(p).forces.empty(), after = before;
    for (const EventLayout& joint : events_) {
      before = before || joint.event.from == p;
      after = after || joint.event.to == p;
    }
    for (const Boundary& b : boundaries_)
      if (b.phase == p && (!b.rates.empty() || b.moving)) (b.end ? before : after) = true;
    for (int* const velocity : {before ? &index.velocity_before : nullptr, after ? &index.velocity_after : nullptr})
      if (velocity) {
        *velocity = problem_.add_variables(index.moving, -inf, inf);
        size_ += index.moving;
      }
  }
}

void MotionProblem::add_force(std::vector<Term>& terms, const PhaseLayout& laid, int row, int first_output,
                              const Coefficient& coefficient) const {
  for (std::size_t f = 0; f < laid.phase.forces.size(); ++f)
    for (const auto& [coordinate, weight] : laid.phase.forces[f])
      terms.push_back({first_output + coordinate, row + static_cast<int>(f), weight * coefficient});
}

// Adds the rows of the dynamics. They are in N m if h is known (momenta times 1/h), otherwise in N m s.
void MotionProblem::add_dynamics(PhaseLayout& laid) {
  const int n = system_->n(), m = laid.index.moving, K = laid.phase.intervals,
            conditions = static_cast<int>(laid.phase.forces.size());
  const PhaseIndex& index = laid.index;
  const Scheme& scheme = system_->scheme();
  const int degree = scheme.degree;
  const auto& moving = laid.functions->moving;
  const bool timed = index.duration >= 0;
  const Coefficient per_K = 1.0 / static_cast<double>(K);
  const Coefficient h = timed ? Coefficient(0.0) : laid.phase.duration * per_K;
  const Coefficient scale = timed ? Coefficient(1.0) : 1.0 / h;
  const int phase = static_cast<int>(&laid - phases_.data());
  const auto elements = [&](const Function& f, const Function& f_timed) {
    return timed ? on_intervals(phase, f_timed, {per_K}) : on_intervals(phase, f, {h});
  };
  laid.actions = elements(laid.functions->action, laid.functions->timed_action);
  const bool pushed = !system_->simply_actuated();
  if (pushed) laid.pushes = elements(laid.functions->forces, laid.functions->timed_forces);
  // where pushes at the knots of the interval stand: of degree 1 they are equal at both ends
  const int pushes_by = degree > 1 || system_->directors() ? n : 0;
  const Element half = timed && !pushed ? element(timed_control(), {}, {per_K}) : nullptr;
  const auto force_row = [&](int knot) { return laid.force_rows + conditions * knot; };
  const auto with_time = [&](std::vector<int> inputs) {
    if (timed) inputs.push_back(index.duration);
    return inputs;
  };
  // The first row that the slots of a knot belong to, and with which sign and scale; -1: none.
  const auto row_of = [&](int knot) { return momentum_row(phase, knot); };
  const auto is_first = [&](int knot) { return knot == 0; };
  const auto is_last = [&](int knot) { return knot == K * degree; };
  const auto scale_of = [&](int knot) {
    return is_first(knot) ? Coefficient(-1.0) : is_last(knot) ? Coefficient(1.0) : scale;
  };
  // weight h f = -(sum of slots); at the ends with the momentum of the velocity
  const auto force_scale = [&](int knot) { return (-1.0 / knot_weight(phase, knot)) * scale; };

  for (int k = 0; k < K; ++k) {
    std::vector<Term> terms, pushes;
    for (int i = 0; i < m; ++i)
      for (int slot = 0; slot <= degree; ++slot) {
        const int knot = k * degree + slot, of_slot = moving[static_cast<std::size_t>(i)];
        if (row_of(knot) < 0) continue;
        terms.push_back({slot * n + of_slot, row_of(knot) + i, scale_of(knot)});
        pushes.push_back({slot * pushes_by + of_slot, row_of(knot) + i, scale_of(knot)});
      }
    if (conditions > 0)
      for (const auto& [list, by] : {std::pair{&terms, n}, std::pair{&pushes, pushes_by}})
        for (int slot = 0; slot <= degree; ++slot)
          add_force(*list, laid, force_row(k * degree + slot), slot * by, force_scale(k * degree + slot));
    const auto at = static_cast<std::size_t>(k);
    problem_.add_element(laid.actions[at], with_time(interval(phase, k)), std::move(terms));
    if (pushed) {
      problem_.add_element(laid.pushes[at],
                           with_time(joined(interval(phase, k), range(index.control(k), degree * index.controls))),
                           std::move(pushes));
      continue;
    }
    for (int point = 0; point < degree; ++point)
      for (int i = 0; i < index.controls; ++i) {
        const int row = place_of(moving, system_->structure().actuators[static_cast<std::size_t>(i)].coordinate),
                  u = index.control(k, point) + i;
        const auto share = [&](int slot) { return scheme.weights(point) * scheme.values(point, slot); };
        std::vector<Term> all;  // of h u / 2
        if (row < 0) {          // it pushes what is held, and what holds takes that
          for (int f = 0; f < conditions; ++f)
            for (const auto& [coordinate, weight] : laid.phase.forces[static_cast<std::size_t>(f)]) {
              if (coordinate != system_->structure().actuators[static_cast<std::size_t>(i)].coordinate) continue;
              for (int slot = 0; slot <= degree; ++slot) {
                const int knot = k * degree + slot;
                const Coefficient factor = (-1.0 / knot_weight(phase, knot)) * weight * scale;
                if (timed)
                  all.push_back({0, force_row(knot) + f, 2.0 * share(slot) * factor});
                else
                  problem_.add_linear(force_row(knot) + f, u, share(slot) * h * factor);
              }
            }
        } else {
          for (int slot = 0; slot <= degree; ++slot) {
            const int knot = k * degree + slot;
            if (row_of(knot) < 0) continue;
            if (timed)
              all.push_back({0, row_of(knot) + row, 2.0 * share(slot) * scale_of(knot)});
            else
              problem_.add_linear(row_of(knot) + row, u,
                                  is_first(knot)  ? -share(slot) * h
                                  : is_last(knot) ? share(slot) * h
                                                  : Coefficient(share(slot)));
          }
        }
        if (!all.empty()) problem_.add_element(half, {u, index.duration}, std::move(all));
      }
  }
}

void MotionProblem::add_event_rows(EventLayout& joint) {
  const Event& event = joint.event;
  const PhaseLayout &from = phases_[static_cast<std::size_t>(event.from)],
                    &to = phases_[static_cast<std::size_t>(event.to)];
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
      const Coefficient& shift = event.shift[static_cast<std::size_t>(i)];
      if (shift.value != 0.0 || shift.gradient.size() > 0) problem_.add_constant(row, -shift);
    }
    ++row;
  }
}

void MotionProblem::add_boundary_rows(const Boundary& boundary) {
  const PhaseLayout& laid = phases_[static_cast<std::size_t>(boundary.phase)];
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

void MotionProblem::transcribe() {
  const int n = system_->n();
  lay_out();
  for (PhaseLayout& laid : phases_) {
    const int m = laid.index.moving;
    laid.dynamics = problem_.add_rows(m * (laid.index.knots() - 2), 0.0, 0.0);
    if (laid.index.velocity_before >= 0) laid.arrival = problem_.add_rows(m, 0.0, 0.0);
    if (laid.index.velocity_after >= 0) laid.departure = problem_.add_rows(m, 0.0, 0.0);
  }
  for (EventLayout& joint : events_) {
    const auto &before = phases_[static_cast<std::size_t>(joint.event.from)].functions->moving,
               &after = phases_[static_cast<std::size_t>(joint.event.to)].functions->moving;
    joint.jump = problem_.add_rows(static_cast<int>(after.size()), 0.0, 0.0);
    int rows = n;
    if (!joint.event.configuration)
      for (int i = 0; i < n; ++i) rows -= place_of(before, i) < 0 && place_of(after, i) < 0;
    joint.configuration = problem_.add_rows(rows, 0.0, 0.0);
  }
  for (PhaseLayout& laid : phases_)
    laid.force_rows =
        problem_.add_rows(static_cast<int>(laid.phase.forces.size()) * laid.index.knots(), 0.0, nlp::infinity);
  for (EventLayout& joint : events_)
    joint.impulse_rows = problem_.add_rows(
        static_cast<int>(phases_[static_cast<std::size_t>(joint.event.to)].phase.forces.size()), 0.0, nlp::infinity);

  for (PhaseLayout& laid : phases_) add_dynamics(laid);

  // momenta of the velocities at both ends of a phase
  for (int p = 0; p < phases(); ++p) {
    PhaseLayout& laid = phases_[static_cast<std::size_t>(p)];
    const PhaseIndex& index = laid.index;
    const int K = index.intervals, conditions = static_cast<int>(laid.phase.forces.size());
    const auto& moving = laid.functions->moving;
    const Coefficient scale = index.duration >= 0 ? Coefficient(1.0) : 1.0 / step(p);
    laid.momentum_first = element(laid.functions->momentum, numbers_, {}, {reference(p, 0)});
    laid.momentum_last = reference(p, K) == reference(p, 0)
                             ? laid.momentum_first
                             : element(laid.functions->momentum, numbers_, {}, {reference(p, K)});
    const auto own = [&](int row) {
      std::vector<Term> terms;
      for (int i = 0; i < index.moving; ++i) terms.push_back({moving[static_cast<std::size_t>(i)], row + i, -1.0});
      return terms;
    };
    const auto after_rows = [&](const EventLayout& joint) -> const std::vector<int>& {
      return phases_[static_cast<std::size_t>(joint.event.to)].functions->moving;
    };
    if (index.velocity_before >= 0) {
      std::vector<Term> terms = own(laid.arrival);
      add_force(terms, laid, laid.force_rows + conditions * (index.knots() - 1), 0,
                (1.0 / knot_weight(p, index.knots() - 1)) * scale);
      for (const EventLayout& joint : events_) {
        if (joint.event.from != p || joint.event.momentum) continue;
        const auto& after = after_rows(joint);
        for (std::size_t i = 0; i < after.size(); ++i)
          terms.push_back({after[i], joint.jump + static_cast<int>(i), 1.0});
        add_force(terms, phases_[static_cast<std::size_t>(joint.event.to)], joint.impulse_rows, 0, -1.0);
      }
      problem_.add_element(laid.momentum_last, joined(node(p, K), range(index.velocity_before, index.moving)),
                           std::move(terms));
    }
    if (index.velocity_after >= 0) {
      std::vector<Term> terms = own(laid.departure);
      for (const EventLayout& joint : events_)
        if (joint.event.to == p)
          for (int i = 0; i < index.moving; ++i)
            terms.push_back({moving[static_cast<std::size_t>(i)], joint.jump + i, -1.0});
      add_force(terms, laid, laid.force_rows, 0, (-1.0 / knot_weight(p, 0)) * scale);
      for (const EventLayout& joint : events_)
        if (joint.event.to == p) add_force(terms, laid, joint.impulse_rows, 0, 1.0);
      problem_.add_element(laid.momentum_first, joined(node(p, 0), range(index.velocity_after, index.moving)),
                           std::move(terms));
    }
  }
  for (const EventLayout& joint : events_) {
    if (!joint.event.momentum) continue;
    const PhaseLayout &from = phases_[static_cast<std::size_t>(joint.event.from)],
                      &to = phases_[static_cast<std::size_t>(joint.event.to)];
    std::vector<Term> terms;
    for (int i = 0; i < to.index.moving; ++i)
      terms.push_back({to.functions->moving[static_cast<std::size_t>(i)], joint.jump + i, 1.0});
    add_force(terms, to, joint.impulse_rows, 0, -1.0);
    problem_.add_element(
        joint.event.momentum,
        joined(node(joint.event.from, from.index.intervals), range(from.index.velocity_before, from.index.moving)),
        std::move(terms));
  }
  for (EventLayout& joint : events_) add_event_rows(joint);
  for (const Boundary& boundary : boundaries_) add_boundary_rows(boundary);
}

void MotionProblem::add_effort(int p, const Effort& effort, const Coefficient& per) {
  const PhaseLayout& laid = phases_[static_cast<std::size_t>(p)];
  const PhaseIndex& index = laid.index;
  const bool timed = index.duration >= 0;
  const Coefficient per_K = 1.0 / static_cast<double>(index.intervals);
  const Element work = element(interval_work(), {}), half_work_of_rate = timed ? element(timed_half_work(), {}, {per_K})
                                                                               : element(half_work(), {}, {step(p)});
  const Element square = timed ? element(timed_control(), {}, {per_K}) : nullptr;
  const Scheme& scheme = system_->scheme();
  for (int k = 0; k < index.intervals; ++k)
    for (int i = 0; i < index.controls; ++i) {
      Coefficient weight = effort.squared_control;
      if (!effort.loss.empty()) weight += effort.loss[static_cast<std::size_t>(i)];
      if (weight.value != 0.0 || weight.gradient.size() > 0)
        for (int point = 0; point < scheme.degree; ++point) {
          const int u = index.control(k, point) + i;
          const double share = scheme.weights(point);
          if (timed)
            problem_.add_element(square, {u, index.duration},
                                 {{1, AssembledProblem::objective_row, share * weight * per}});
          else
            problem_.add_square(u, share * weight * step(p) * per);
        }
      const int u = index.control(k) + i;
      // w+ - w- = work
      const int coordinate = system_->structure().actuators[static_cast<std::size_t>(i)].coordinate,
                joint = place_of(laid.functions->moving, coordinate);
      for (int half = 0; half < index.halves; ++half) {
        const int row = problem_.add_rows(1, 0.0, 0.0);
        if (joint >= 0) {
          const Work w = work_of(index, k, half, joint);
          if (w.rate < 0)
            problem_.add_element(work, {u, index.theta(w.from) + joint, index.theta(w.to) + joint},
                                 {{0, row, w.share}});
          else if (timed)
            problem_.add_element(half_work_of_rate, {u, w.rate, index.duration}, {{0, row, 1.0}});
          else
            problem_.add_element(half_work_of_rate, {u, w.rate}, {{0, row, 1.0}});
        }
        problem_.add_linear(row, index.positive(k, half) + i, -1.0);
        problem_.add_linear(row, index.negative(k, half) + i, 1.0);
        problem_.add_linear(AssembledProblem::objective_row, index.positive(k, half) + i,
                            (effort.absolute_work + effort.positive_work) * per);
        problem_.add_linear(AssembledProblem::objective_row, index.negative(k, half) + i, effort.absolute_work * per);
      }
    }
}

// (h/2) u v. With the central difference v = (theta' - theta) / (2 h) this is u/4 times the change over two intervals.
MotionProblem::Work MotionProblem::work_of(const PhaseIndex& index, int k, int half, int joint) {
  if (index.halves == 1) return {1.0, k, k + 1, -1};
  const int node = k + half;
  if (node > 0 && node < index.intervals) return {0.25, node - 1, node + 1, -1};
  const int rate = half == 0 ? index.velocity_after : index.velocity_before;
  return {0.5, k, k + 1, rate < 0 ? -1 : rate + joint};
}

namespace {

double step_of(const Phase& phase, const PhaseIndex& index, const VectorXd& x) {
  return (index.duration >= 0 ? x(index.duration) : phase.duration.value) / index.intervals;
}

}  // namespace

void MotionProblem::fill(VectorXd& x) const {
  for (const PhaseLayout& laid : phases_) {
    const PhaseIndex& index = laid.index;
    const int K = index.intervals;
    const double h = step_of(laid.phase, index, x);
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
    for (int k = 0; k < K; ++k)
      for (int i = 0; i < index.controls; ++i) {
        const int joint =
            place_of(laid.functions->moving, system_->structure().actuators[static_cast<std::size_t>(i)].coordinate);
        for (int half = 0; half < index.halves; ++half) {
          const Work w = work_of(index, k, half, joint);
          const double u = x(index.control(k) + i),
                       work = joint < 0    ? 0.0
                              : w.rate < 0 ? w.share * u * (theta(w.to)(joint) - theta(w.from)(joint))
                                           : 0.5 * h * u * x(w.rate);
          x(index.positive(k, half) + i) = std::max(work, 0.0);
          x(index.negative(k, half) + i) = std::max(-work, 0.0);
        }
      }
  }
}

VectorXd MotionProblem::slots(const PhaseLayout& laid, int k, double h, const VectorXd& theta, const VectorXd& u,
                              MatrixXd* jacobian_of_next) const {
  const int n = system_->n(), m = laid.index.moving, degree = laid.index.degree;
  const bool timed = laid.index.duration >= 0;
  const VectorXd time = VectorXd::Constant(timed ? 1 : 0, h * laid.index.intervals);
  const VectorXd z = joined(theta, time);
  const Element& action = laid.actions[static_cast<std::size_t>(k)];
  VectorXd s = value(*action, z);
  if (jacobian_of_next) *jacobian_of_next = jacobian(*action, z).middleCols(m, degree * m);
  if (!laid.pushes.empty()) {
    const Element& pushes = laid.pushes[static_cast<std::size_t>(k)];
    const VectorXd y = joined(joined(theta, u), time);
    const VectorXd push = value(*pushes, y);
    MatrixXd J;
    if (jacobian_of_next) J = jacobian(*pushes, y).middleCols(m, degree * m);
    const Eigen::Index by = push.size() > n ? n : 0;  // equal at both ends otherwise
    for (int slot = 0; slot <= degree; ++slot) {
      s.segment(slot * n, n) += push.segment(slot * by, n);
      if (jacobian_of_next) jacobian_of_next->middleRows(slot * n, n) += J.middleRows(slot * by, n);
    }
    return s;
  }
  const Scheme& scheme = system_->scheme();
  const Eigen::Index controls = laid.index.controls;
  for (int point = 0; point < degree; ++point)
    for (Eigen::Index i = 0; i < controls; ++i) {
      const int coordinate = system_->structure().actuators[static_cast<std::size_t>(i)].coordinate;
      for (int slot = 0; slot <= degree; ++slot)
        s(slot * n + coordinate) += scheme.weights(point) * scheme.values(point, slot) * h * u(point * controls + i);
    }
  return s;
}

MatrixXd MotionProblem::inner_momenta(const PhaseLayout& laid, double h, const MatrixXd& knots, const VectorXd& first,
                                      const VectorXd& last) const {
  const Scheme& scheme = system_->scheme();
  const int degree = scheme.degree;
  const auto& moving = laid.functions->moving;
  MatrixXd known(degree + 1, knots.cols()), all(degree - 1, knots.cols());
  for (int point = 0; point < degree; ++point) {
    const VectorXd q = (scheme.values.row(point) * knots).transpose(),
                   v = (scheme.slopes.row(point) * knots).transpose() / h;
    known.row(point + 1) = value(*laid.momentum_first, joined(picked(q, moving), picked(v, moving))).transpose();
  }
  for (int inner = 1; inner < degree; ++inner) {
    VectorXd mean = VectorXd::Zero(knots.cols());
    for (const bool end : {false, true}) {
      known.row(0) = (end ? last : first).transpose();
      VectorXd abscissae(degree + 1);
      abscissae << (end ? 1.0 : 0.0), scheme.points;
      const VectorXd weights = 0.5 * lagrange(abscissae, scheme.position(inner));
      for (int i = 0; i <= degree; ++i) mean += weights(i) * known.row(i).transpose();
    }
    all.row(inner - 1) = mean.transpose();
  }
  return all;
}

Motion MotionProblem::motion(const VectorXd& x) const {
  const int n = system_->n();
  const Scheme& scheme = system_->scheme();
  Motion motion;
  for (int phase = 0; phase < phases(); ++phase) {
    const PhaseLayout& laid = phases_[static_cast<std::size_t>(phase)];
    const PhaseIndex& index = laid.index;
    const auto &moving = laid.functions->moving, &held = laid.functions->held;
    const int K = index.intervals, m = index.moving, degree = index.degree, knots = index.knots();
    const double h = step_of(laid.phase, index, x);
    PhaseMotion p;
    p.h = h;
    p.q = MatrixXd::Zero(knots, n);
    p.p = MatrixXd::Zero(knots, n);
    p.u.resize(knots - 1, index.controls);
    p.held_force = MatrixXd::Zero(knots, static_cast<Eigen::Index>(held.size()));
    p.energy.resize(knots - 1);
    const auto theta = [&](int k) -> VectorXd { return x.segment(index.theta(k), m); };
    for (int r = 0; r < knots; ++r) p.q.row(r) = spread(x.segment(index.knot(r), m), moving, n).transpose();
    for (int k = 0; k < K; ++k) {
      const VectorXd u = x.segment(index.control(k), degree * index.controls);
      for (int point = 0; point < degree; ++point)
        p.u.row(k * degree + point) = u.segment(point * index.controls, index.controls).transpose();
      const MatrixXd of_interval = p.q.middleRows(k * degree, degree + 1);
      const VectorXd s = slots(laid, k, h, x(interval(phase, k)), u);
      p.p.row((k + 1) * degree) = s.tail(n).transpose();
      if (k == 0) p.p.row(0) = -s.head(n).transpose();
      if (degree > 1)
        p.p.middleRows(k * degree + 1, degree - 1) = inner_momenta(laid, h, of_interval, -s.head(n), s.tail(n));
      // as in add_dynamics(): weight h f = -(sum of slots) inside, and dL/dv- or -dL/dv+ besides at the ends
      for (int slot = 0; slot <= degree; ++slot) {
        const int knot = k * degree + slot;
        p.held_force.row(knot) -=
            (1.0 / knot_weight(phase, knot)) / h * picked(s.segment(slot * n, n), held).transpose();
      }
      double energy = 0.0;
      for (int point = 0; point < degree; ++point) {
        VectorXd middle, rate;
        if (degree == 1) {
          middle = 0.5 * (p.q.row(k) + p.q.row(k + 1));
          rate = (p.q.row(k + 1) - p.q.row(k)) / h;
        } else {
          middle = (scheme.values.row(point) * of_interval).transpose();
          rate = (scheme.slopes.row(point) * of_interval).transpose() / h;
        }
        energy += scheme.weights(point) * (system_->directors()
                                               ? value(*element(laid.functions->energy, numbers_, {h},
                                                                {reference(phase, k), reference(phase, k + 1)}),
                                                       joined(theta(k), theta(k + 1)))(0)
                                               : value(*energy_, joined(middle, rate))(0));
      }
      p.energy.segment(k * degree, degree).setConstant(energy);
    }
    if (index.velocity_after >= 0) {
      const VectorXd v = x.segment(index.velocity_after, m);
      p.rate_after = spread(v, moving, n);
      p.held_force.row(0) -= (1.0 / knot_weight(phase, 0)) / h *
                             picked(value(*laid.momentum_first, joined(theta(0), v)), held).transpose();
    }
    if (index.velocity_before >= 0) {
      const VectorXd v = x.segment(index.velocity_before, m);
      p.rate_before = spread(v, moving, n);
      p.held_force.row(knots - 1) += (1.0 / knot_weight(phase, knots - 1)) / h *
                                     picked(value(*laid.momentum_last, joined(theta(K), v)), held).transpose();
    }
    for (const Hold& hold : laid.holds)
      for (int r = 0; r < knots; ++r)
        if (const int first = hold.multipliers[static_cast<std::size_t>(r)]; first >= 0)
          p.held_force.row(r) -=
              force_per_multiplier(*this, phase, r, x) * picked(hold_push(*this, hold, r, first, x), held).transpose();
    motion.phases.push_back(std::move(p));
  }
  for (const EventLayout& joint : events_) {
    const PhaseLayout &from = phases_[static_cast<std::size_t>(joint.event.from)],
                      &to = phases_[static_cast<std::size_t>(joint.event.to)];
    const VectorXd last = x.segment(from.index.theta(from.index.intervals), from.index.moving),
                   v_before = x.segment(from.index.velocity_before, from.index.moving),
                   first = x.segment(to.index.theta(0), to.index.moving),
                   v_after = x.segment(to.index.velocity_after, to.index.moving);
    const VectorXd before = value(*from.momentum_last, joined(last, v_before)),
                   after = value(*to.momentum_first, joined(first, v_after)),
                   arriving = joint.event.momentum ? value(*joint.event.momentum, joined(last, v_before)) : before;
    EventMotion e;
    e.impulse = VectorXd::Zero(n);
    for (const int i : to.functions->held) e.impulse(i) = after(i) - arriving(i);
    for (const Hold& hold : to.holds)
      if (hold.impulse >= 0) {
        const VectorXd push = hold_push(*this, hold, 0, hold.impulse, x);
        for (const int i : to.functions->held) e.impulse(i) -= push(i);
      }
    // Posture, and therefore potential energy, is equal on both sides.
    e.loss =
        0.5 * (picked(before, from.functions->moving).dot(v_before) - picked(after, to.functions->moving).dot(v_after));
    motion.events.push_back(std::move(e));
  }
  return motion;
}

VectorXd MotionProblem::ahead(const PhaseLayout& laid, int k, const VectorXd& before, const VectorXd& now,
                              double share) const {
  VectorXd next = now + share * (now - before);
  if (system_->charts().empty()) return next;
  const int phase = static_cast<int>(&laid - phases_.data());
  const auto& moving = laid.functions->moving;
  const Attitudes attitudes(*system_);
  const VectorXd q = spread(now, moving, system_->n());
  const VectorXd p = spread(before, moving, system_->n());
  VectorXd all = spread(next, moving, system_->n());
  for (std::size_t c = 0; c < system_->charts().size(); ++c) {
    const Eigen::Matrix3d here = attitudes.rotation(c, q, reference(phase, k)),
                          there = attitudes.rotation(c, p, reference(phase, std::max(k - 1, 0)));
    const Eigen::AngleAxisd turn(here * there.transpose());
    attitudes.set(c, Eigen::AngleAxisd(share * turn.angle(), turn.axis()) * here, reference(phase, k + 1), all);
  }
  return picked(all, moving);
}

VectorXd MotionProblem::relabelled(const Event& event, const VectorXd& theta) const {
  VectorXd q = event.configuration
                   ? value(*event.configuration, theta)
                   : spread(theta, phases_[static_cast<std::size_t>(event.from)].functions->moving, system_->n());
  for (std::size_t i = 0; i < event.shift.size(); ++i) q(static_cast<Eigen::Index>(i)) -= event.shift[i].value;
  return q;
}

double MotionProblem::reintegrate(const Motion& motion) const {
  double worst = 0.0;
  VectorXd theta, p;  // of what moves; p arrives, or leaves at the first node
  const auto compare = [&](const PhaseLayout& laid, const PhaseMotion& m, int k) {
    worst = std::max(
        worst,
        (theta - picked(m.q.row(k * laid.index.degree).transpose(), laid.functions->moving)).lpNorm<Eigen::Infinity>());
  };
  const auto mass = [&](const PhaseLayout& laid, const Element& momentum) {
    const int m = laid.index.moving;
    const MatrixXd J = jacobian(*momentum, joined(theta, VectorXd::Zero(m)));
    MatrixXd M(m, m);
    for (int i = 0; i < m; ++i) M.row(i) = J.row(laid.functions->moving[static_cast<std::size_t>(i)]).tail(m);
    return M;
  };
  std::vector<HeldPostures> held;  // of the phases
  for (const PhaseLayout& laid : phases_) held.emplace_back(laid.holds, numbers_);
  VectorXd kept;  // values of what the phase holds besides coordinates
  const auto values_at = [&](const PhaseLayout& laid, int k, const VectorXd& at) {
    const auto phase = &laid - phases_.data();
    return held[static_cast<std::size_t>(phase)].values(reference(static_cast<int>(phase), k), at);
  };
  const auto slopes_at = [&](const PhaseLayout& laid, int k, const VectorXd& at) {
    const auto phase = &laid - phases_.data();
    return held[static_cast<std::size_t>(phase)].slopes(reference(static_cast<int>(phase), k), at);
  };
  const auto keep = [&](const PhaseLayout& laid) {
    kept = values_at(laid, 0, theta);
    Eigen::Index i = 0;
    for (const Hold& hold : laid.holds)
      for (const bool zero : hold.at_zero) {
        if (zero) kept(i) = 0.0;
        ++i;
      }
  };
  // Changes p at a node so that its velocity satisfies the holds.
  const auto let_hold = [&](const PhaseLayout& laid, const Element& momentum, int k) {
    if (!laid.holds.empty()) p = with_holding_force(mass(laid, momentum), slopes_at(laid, k, theta), p);
  };
  // Takes one step by damped Newton iterations for the interval's other knots and the forces of holds: theta and p become
  // those of the next node. Returns false if it fails.
  const int degree = system_->scheme().degree;
  const auto advance = [&](const PhaseLayout& laid, const PhaseMotion& m, int k, const VectorXd& guess) {
    const int n = system_->n();
    const Eigen::Index size = laid.index.moving, holds = kept.size(), all = degree * size, forces = degree * holds;
    const auto& moving = laid.functions->moving;
    VectorXd u(degree * m.u.cols());
    for (int point = 0; point < degree; ++point)
      u.segment(point * m.u.cols(), m.u.cols()) = m.u.row(k * degree + point).transpose();
    VectorXd next(all + forces), s;
    for (int knot = 1; knot <= degree; ++knot)
      next.segment((knot - 1) * size, size) =
          knot == degree ? guess : VectorXd(theta + system_->scheme().position(knot) * (guess - theta));
    next.tail(forces).setZero();
    MatrixXd J;
    // slopes of the holds at a knot of the interval
    const auto held_at = [&](int knot, const VectorXd& at) {
      return knot == 0 ? slopes_at(laid, k, theta) : slopes_at(laid, k + 1, at.segment((knot - 1) * size, size));
    };
    const auto residual_at = [&](const VectorXd& at, MatrixXd* slope) -> VectorXd {
      s = slots(laid, k, m.h, joined(theta, at.head(all)), u, slope);
      VectorXd residual(all + forces);
      for (int knot = 0; knot < degree; ++knot) {
        auto balance = residual.segment(knot * size, size);
        balance = picked(s.segment(knot * n, n), moving);
        if (knot == 0) balance += p;
        if (holds == 0) continue;
        balance += held_at(knot, at).transpose() * at.segment(all + knot * holds, holds);
        residual.segment(all + knot * holds, holds) = values_at(laid, k + 1, at.segment(knot * size, size)) - kept;
      }
      return residual;
    };
    const auto corrected = [&](const VectorXd& residual) -> VectorXd {
      MatrixXd D = MatrixXd::Zero(all + forces, all + forces);
      for (int knot = 0; knot < degree; ++knot)
        for (int i = 0; i < laid.index.moving; ++i)
          D.row(knot * size + i).head(all) = J.row(knot * n + moving[static_cast<std::size_t>(i)]);
      if (holds == 0) return D.partialPivLu().solve(residual);
      for (int knot = 0; knot < degree; ++knot) {  // without the change of the slopes at inner knots
        D.block(knot * size, all + knot * holds, size, holds) = held_at(knot, next).transpose();
        D.block(all + knot * holds, knot * size, holds, size) = held_at(knot + 1, next);
      }
      return D.completeOrthogonalDecomposition().solve(residual);  // holds may depend on each other
    };
    VectorXd residual = residual_at(next, &J);
    for (int iteration = 0; iteration < 40; ++iteration) {
      const VectorXd correction = corrected(residual);
      const double turned = correction.head(all).lpNorm<Eigen::Infinity>();
      if (!(correction.lpNorm<Eigen::Infinity>() < 1e100)) return false;
      if (residual.lpNorm<Eigen::Infinity>() <= 1e-12 || turned <= 1e-15 * (1.0 + next.lpNorm<Eigen::Infinity>())) {
        p = picked(s.tail(n), moving);
        theta = next.segment(all - size, size);
        return true;
      }
      // no more than a radian at a time, and less where the residual would grow
      double share = std::min(1.0, 1.0 / turned);
      const double before = residual.norm();
      int cuts = 0;
      while (!(residual_at(next - share * correction, nullptr).norm() < before) && ++cuts < 8) share *= 0.5;
      if (cuts == 8 && before > 1e-9) return false;
      next -= share * correction;
      residual = residual_at(next, &J);
    }
    return false;
  };

  constexpr double guesses[] = {1.0, 0.5, 0.0, -0.5, 1.5};  // of an increment, in those of the step before
  int now = 0;
  const auto start = [&](int phase) {
    const auto& moving = phases_[static_cast<std::size_t>(phase)].functions->moving;
    const PhaseMotion& m = motion.phases[static_cast<std::size_t>(phase)];
    theta = picked(m.q.row(0).transpose(), moving);
    p = picked(m.p.row(0).transpose(), moving);
  };
  start(0);
  std::vector<bool> done(phases_.size(), false);
  for (;;) {
    const PhaseLayout& laid = phases_[static_cast<std::size_t>(now)];
    const PhaseMotion& m = motion.phases[static_cast<std::size_t>(now)];
    const bool again = done[static_cast<std::size_t>(now)];  // round the cycle: one more step is enough
    VectorXd last_but_one = theta - m.h * mass(laid, laid.momentum_first).llt().solve(p);
    keep(laid);
    for (int k = 0; k < (again ? 1 : laid.index.intervals); ++k) {
      const VectorXd before = theta;
      // on coarse meshes controls may turn a joint round within a step
      const bool found = std::any_of(std::begin(guesses), std::end(guesses), [&](double share) {
        return advance(laid, m, k, ahead(laid, k, last_but_one, before, share));
      });
      if (!found) return nlp::infinity;
      last_but_one = before;
      compare(laid, m, k + 1);
    }
    if (again) return worst;
    done[static_cast<std::size_t>(now)] = true;
    const auto joint =
        std::find_if(events_.begin(), events_.end(), [&](const EventLayout& j) { return j.event.from == now; });
    if (joint == events_.end()) return worst;
    const PhaseLayout& next = phases_[static_cast<std::size_t>(joint->event.to)];
    const bool together =
        std::any_of(next.holds.begin(), next.holds.end(), [](const Hold& h) { return h.event.has_value(); });
    if (joint->impulse && together) return worst;  // one impulse depends on the other
    let_hold(laid, laid.momentum_last, laid.index.intervals);
    const MatrixXd M = mass(laid, laid.momentum_last);
    const VectorXd v = M.llt().solve(p);
    const VectorXd arriving =
        value(joint->event.momentum ? *joint->event.momentum : *laid.momentum_last, joined(theta, v));
    const VectorXd push = joint->impulse ? joint->impulse(theta, v, M) : VectorXd();
    theta = picked(relabelled(joint->event, theta), next.functions->moving);
    p = picked(arriving, next.functions->moving);
    if (push.size() > 0) p += push;
    now = joint->event.to;
    let_hold(next, next.momentum_first, 0);
    compare(next, motion.phases[static_cast<std::size_t>(now)], 0);
  }
}

}  // namespace dodyn::dmoc
