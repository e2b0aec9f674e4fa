#include "variational/hybrid.hpp"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "record/text.hpp"
#include "variational/constraint_forces.hpp"
#include "variational/located_root.hpp"

namespace dodyn::variational {

using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

// Returns the stage lengths of a symmetric composition: Suzuki (1990) for order 4, Kahan and Li (1997) for order 6.
std::vector<double> composition(int order) {
  if (order == 2) return {1.0};
  if (order == 4) {
    const double s = 1.0 / (4.0 - std::cbrt(4.0));
    return {s, s, 1.0 - 4.0 * s, s, s};
  }
  const double a = 0.39216144400731413928, b = 0.33259913678935943860, c = -0.70624617255763935981,
               d = 0.082213596293550800230, e = 1.0 - 2.0 * (a + b + c + d);
  return {a, b, c, d, e, d, c, b, a};
}

}  // namespace

HybridIntegrator::HybridIntegrator(const Assembly& assembly, const IntegratorOptions& options)
    : assembly_(assembly), mechanics_(*assembly.mechanics), options_(options), stages_(composition(options.order)) {}

std::string HybridIntegrator::at(const std::string& what) const {
  char text[64];
  std::snprintf(text, sizeof text, "t = %.9g s: ", now_.time);
  return text + what;
}

void HybridIntegrator::note(Event::Kind kind, int which, double loss) {
  events_.push_back({kind, now_.time, which, loss});
  dissipated_energy_ += loss;
  if (stop_at_ && stop_at_(events_.back())) stop_ = true;
}

double HybridIntegrator::kinetic(const VectorXd& q, const VectorXd& p) const {
  return 0.5 * p.dot(mechanics_.velocity(q, p));
}

HybridIntegrator::ActiveRows HybridIntegrator::held(const Mode& mode, const VectorXd& q) const {
  const auto& rows = mechanics_.row(q);
  const int n = mechanics_.n();
  ActiveRows h;
  h.G.resize(n, n);
  h.B.resize(n, n);
  MatrixXd basis(n, n);
  int count = 0;
  // skips a row that depends linearly on the rows before it
  const auto add = [&](int row, double target) {
    if (count == n) return false;
    VectorXd rest = rows.gradient.row(row).transpose();
    const double size = rest.norm();
    for (int twice = 0; twice < 2; ++twice)
      for (int i = 0; i < count; ++i) rest -= basis.col(i).dot(rest) * basis.col(i);
    if (!(rest.norm() > 1e-8 * size)) return false;
    basis.col(count) = rest.normalized();
    h.G.row(count) = h.B.row(count) = rows.gradient.row(row);
    h.rows.push_back(row);
    h.targets.push_back(target);
    ++count;
    return true;
  };
  for (const int row : assembly_.constraints) add(row, 0.0);
  for (std::size_t i = 0; i < mode.states.size(); ++i) {
    const Contact& contact = assembly_.contacts[i];
    if (mode.states[i] != ContactState::open && add(contact.gap, 0.0) && mode.states[i] == ContactState::slide &&
        mode.slip_directions[i] != 0)
      h.B.row(count - 1) -= contact.friction * mode.slip_directions[i] * rows.gradient.row(contact.slip);
  }
  for (std::size_t i = 0; i < mode.states.size(); ++i)
    if (mode.states[i] == ContactState::stick) add(assembly_.contacts[i].slip, mode.anchors[i]);
  h.G.conservativeResize(count, n);
  h.B.conservativeResize(count, n);
  return h;
}

bool HybridIntegrator::substep(ActiveRows& before, const VectorXd& q0, const VectorXd& p0, double h,
                               HybridState& to) const {
  VectorXd &q1 = to.q, &p1 = to.p;
  const int n = mechanics_.n();
  const int m = before.rows.size();
  VectorXd r = VectorXd::Zero(m), residual(n + m);
  MatrixXd jacobian = MatrixXd::Zero(n + m, n + m);
  q1 = q0 + h * mechanics_.velocity(q0, p0);
  bool converged = false;
  for (int iteration = 0; iteration < 30 && !converged; ++iteration) {
    const auto& interval = mechanics_.interval(q0, q1, h);
    residual.head(n) = p0 + interval.minus;
    jacobian.topLeftCorner(n, n) = interval.slope;
    if (m > 0) {
      residual.head(n) += before.B.transpose() * r;
      jacobian.topRightCorner(n, m) = before.B.transpose();
      const auto& rows = mechanics_.row(q1);
      for (int i = 0; i < m; ++i) {
        const int row = before.rows[i];
        residual(n + i) = rows.value(row) - before.targets[i];
        jacobian.block(n + i, 0, 1, n) = rows.gradient.row(row);
      }
    }
    const VectorXd correction = jacobian.partialPivLu().solve(residual);
    if (!correction.allFinite()) return false;
    q1 -= correction.head(n);
    r -= correction.tail(m);
    // The iteration converges quadratically, so the error after a correction this small is round-off.
    converged = correction.head(n).lpNorm<Eigen::Infinity>() <= 1e-11 * (1.0 + q1.lpNorm<Eigen::Infinity>());
  }
  if (!converged) return false;
  const auto& interval = mechanics_.interval(q0, q1, h);
  // p1 = plus, and p0 + minus + B^T r = 0. The sum of both equations contains p0 without error, even for short
  // intervals.
  p1 = p0 + (interval.minus + interval.plus);
  if (m > 0) p1 += before.B.transpose() * r;
  to.discrete_energy = interval.energy;
  if (m > 0) {
    ActiveRows after = held(to.mode, q1);
    const Eigen::LLT<MatrixXd> mass(mechanics_.mass(q1));
    const MatrixXd A = after.G * mass.solve(after.B.transpose());
    p1 -= after.B.transpose() * A.partialPivLu().solve(after.G * mass.solve(p1));
    before = std::move(after);
  }
  return p1.allFinite();
}

bool HybridIntegrator::flow(const HybridState& from, double h, HybridState& to) const {
  to.mode = from.mode;
  to.time = from.time + h;
  VectorXd q = from.q, p = from.p;
  ActiveRows rows = held(from.mode, q);
  for (const double share : stages_) {
    if (!substep(rows, q, p, share * h, to)) return false;
    q = to.q;
    p = to.p;
  }
  return true;
}

ConstraintForces constraint_forces(const Mechanics& mechanics, const HybridIntegrator::ActiveRows& held,
                                   const VectorXd& q, const VectorXd& v) {
  ConstraintForces b;
  const Eigen::LLT<MatrixXd> mass(mechanics.mass(q));
  const auto& state = mechanics.state(q, v);
  b.curvature = state.curvature;
  b.acceleration = mass.solve(state.bias);
  b.scale = 1e-12 + state.bias.lpNorm<Eigen::Infinity>();
  if (held.rows.empty()) return b;
  VectorXd row_acceleration = held.G * b.acceleration;
  for (std::size_t i = 0; i < held.rows.size(); ++i) row_acceleration(i) += state.curvature(held.rows[i]);
  const MatrixXd Minv_B = mass.solve(held.B.transpose());
  b.lambda = -(held.G * Minv_B).partialPivLu().solve(row_acceleration);
  b.acceleration += Minv_B * b.lambda;
  return b;
}

void HybridIntegrator::forces(VectorXd& normal, VectorXd& tangential) const {
  const Eigen::Index count = assembly_.contacts.size();
  normal = tangential = VectorXd::Zero(count);
  const ActiveRows h = held(now_.mode, now_.q);
  const ConstraintForces b = constraint_forces(mechanics_, h, now_.q, velocity());
  for (std::size_t k = 0; k < h.rows.size(); ++k)
    for (Eigen::Index i = 0; i < count; ++i) {
      const Contact& contact = assembly_.contacts[i];
      const double force = b.lambda(k);
      if (h.rows[k] == contact.gap) {
        normal(i) = force;
        if (now_.mode.states[i] == ContactState::slide)
          tangential(i) = -contact.friction * now_.mode.slip_directions[i] * force;
      }
      if (h.rows[k] == contact.slip && now_.mode.states[i] == ContactState::stick) tangential(i) = force;
    }
}

std::vector<HybridIntegrator::Guard> HybridIntegrator::guards(const Mode& mode) const {
  std::vector<Guard> all;
  for (int i = 0; i < std::ssize(assembly_.contacts); ++i) {
    if (mode.states[i] == ContactState::open) {
      all.push_back({Guard::gap, i});
      continue;
    }
    if (assembly_.contacts[i].latch) continue;
    all.push_back({Guard::push, i});
    if (mode.states[i] == ContactState::stick) all.insert(all.end(), {{Guard::cone_up, i}, {Guard::cone_down, i}});
    if (mode.states[i] == ContactState::slide && mode.slip_directions[i] != 0) all.push_back({Guard::slip, i});
  }
  for (int i = 0; applies_resets && i < std::ssize(assembly_.resets); ++i) all.push_back({Guard::resets, i});
  return all;
}

VectorXd HybridIntegrator::values(const HybridState& at, const std::vector<Guard>& guards, VectorXd* gap_rates) const {
  VectorXd x(guards.size());
  if (gap_rates) *gap_rates = VectorXd::Zero(x.size());
  const VectorXd v = mechanics_.velocity(at.q, at.p);
  const auto rows = mechanics_.row(at.q);  // a copy, because held() overwrites the buffer
  VectorXd normal = VectorXd::Zero(assembly_.contacts.size()), tangential = normal;
  double noise = 0.0;
  if (std::ranges::any_of(guards, [](const Guard& g) { return g.kind != Guard::gap && g.kind != Guard::resets; })) {
    const ActiveRows h = held(at.mode, at.q);
    const ConstraintForces b = constraint_forces(mechanics_, h, at.q, v);
    noise = 2.0 * force_noise * b.scale;
    for (std::size_t k = 0; k < h.rows.size(); ++k)
      for (std::size_t i = 0; i < assembly_.contacts.size(); ++i) {
        if (h.rows[k] == assembly_.contacts[i].gap) normal(i) = b.lambda(k);
        if (h.rows[k] == assembly_.contacts[i].slip) tangential(i) = b.lambda(k);
      }
  }
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    const Guard& guard = guards[i];
    const std::size_t k = guard.which;
    switch (guard.kind) {
      case Guard::gap:
        x(i) = rows.value(assembly_.contacts[k].gap);
        if (gap_rates) (*gap_rates)(i) = rows.gradient.row(assembly_.contacts[k].gap).dot(v);
        break;
      case Guard::push:
        x(i) = normal(guard.which) + noise;
        break;
      case Guard::cone_up:
        x(i) = assembly_.contacts[k].friction * normal(guard.which) - tangential(guard.which) + noise;
        break;
      case Guard::cone_down:
        x(i) = assembly_.contacts[k].friction * normal(guard.which) + tangential(guard.which) + noise;
        break;
      case Guard::slip:
        x(i) = at.mode.slip_directions[k] * rows.gradient.row(assembly_.contacts[k].slip).dot(v);
        break;
      case Guard::resets:
        x(i) = mechanics_.watched(at.q, v)(assembly_.resets[k].guard);
        break;
    }
  }
  return x;
}

double HybridIntegrator::locate(const Guard& guard, const HybridState& from, double h, double at_start) const {
  HybridState to;
  const std::vector<Guard> one = {guard};
  const auto f = [&](double s) { return flow(from, s, to) ? values(to, one, nullptr)(0) : -1.0; };
  double low = 0.0, value = at_start;
  // The gap of a contact that has just opened is zero. Search for a time at which it is positive.
  if (guard.kind == Guard::gap ? at_start <= closed : at_start <= 0.0) {
    double s = h;
    for (int i = 0; i < 60 && !(low > 0.0); ++i) {
      s *= 0.5;
      const double there = f(s);
      if (there > 0.0) {
        low = s;
        value = there;
      } else {
        h = s;
      }
    }
    if (!(low > 0.0)) return 0.0;
  }
  return located_root(f, low, value, h, f(h));
}

// Returns the time after `from` at which a contact closes, if it closes and opens again within a step h; otherwise -1.
// g0, v0, g1, v1: gap and its rate at both ends, v0 < 0 < v1. Searches only if the cubic with these values comes near
// zero.
double HybridIntegrator::locate_brief_closure(int contact, const HybridState& from, double h, double g0, double v0,
                                              double g1, double v1) const {
  double min_cubic = g0;
  for (int i = 1; i < 16; ++i) {
    const double x = i / 16.0, y = 1.0 - x;
    min_cubic = std::min(min_cubic, y * y * ((1 + 2 * x) * g0 + x * h * v0) + x * x * ((1 + 2 * y) * g1 - y * h * v1));
  }
  if (min_cubic > 0.1 * std::max(g0, g1)) return -1.0;
  HybridState to;
  const std::vector<Guard> one = {{Guard::gap, contact}};
  const auto rate = [&](double s) {
    VectorXd rates;
    if (!flow(from, s, to)) return 1.0;
    values(to, one, &rates);
    return rates(0);
  };
  const double lowest = located_root([&](double s) { return -rate(s); }, 0.0, -v0, h, -v1);
  if (lowest == 0.0 || !flow(from, lowest, to) || values(to, one, nullptr)(0) >= 0.0) return -1.0;
  return locate(one[0], from, lowest, g0);
}

std::string HybridIntegrator::advance(double time, const std::function<bool(const Event&)>& stop) {
  stop_at_ = stop;
  stopped_ = stop_ = false;
  int at_once = 0;
  while (now_.time < time - 1e-14 * std::max(1.0, std::abs(time))) {
    double h = time - now_.time;
    // Repeated events at one instant: the contact force is zero and the gap does not open to the resolution of this
    // step. Shorter steps separate them, since rounding alone closes the gap.
    const bool hovers = at_once > 3;
    if (hovers) h *= std::pow(0.5, at_once - 3);
    HybridState end;
    for (int halvings = 0; !flow(now_, h, end); ++halvings) {
      if (halvings == 20) return at("the step has no solution");
      h *= 0.5;
    }
    const auto all = guards(now_.mode);
    VectorXd rates_before, rates_after;
    const VectorXd before = values(now_, all, &rates_before), after = values(end, all, &rates_after);
    double earliest = h;
    const Guard* hit = nullptr;
    for (std::size_t i = 0; i < all.size(); ++i) {
      double s = -1.0;
      if (hovers && all[i].kind == Guard::gap && after(i) > -closed) continue;
      if (after(i) < 0.0)
        s = locate(all[i], now_, h, before(i));
      else if (all[i].kind == Guard::gap && rates_before(i) < 0.0 && rates_after(i) > 0.0)
        s = locate_brief_closure(all[i].which, now_, h, before(i), rates_before(i), after(i), rates_after(i));
      if (s < 0.0 || (hit && s >= earliest)) continue;
      earliest = s;
      hit = &all[i];
    }
    if (!hit) {
      at_once = 0;
      now_ = end;
      for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i].kind == Guard::gap) max_penetration_ = std::max(max_penetration_, -after(i));
      continue;
    }
    at_once = earliest > 1e-13 ? 0 : at_once + 1;
    if (earliest > 0.0) {
      HybridState event;
      if (!flow(now_, earliest, event)) return at("the step up to an event has no solution");
      now_ = event;
    }
    if (observer) observer(now_);
    const Guard guard = *hit;
    if (std::string reason = handle(guard, time - now_.time); !reason.empty()) return reason;
    if (observer) observer(now_);
    if (stop_) {
      stopped_ = true;
      return "";
    }
    if (at_once > 100) return at("events follow each other without end");
    if (std::ssize(events_) > options_.max_events) return at("more events than hybrid.max-events allows");
  }
  now_.time = time;
  return "";
}

std::string HybridIntegrator::handle(const Guard& guard, double rest_of_step) {
  const std::size_t k = guard.which;
  switch (guard.kind) {
    case Guard::gap:
      return collide(rest_of_step);
    case Guard::push:
      note(Event::lift_off, guard.which, 0.0);
      return choose_mode(ForbiddenTransition{guard.which, {}});
    case Guard::cone_up:
    case Guard::cone_down:
      note(Event::slip, guard.which, 0.0);
      return choose_mode(ForbiddenTransition{guard.which, ContactState::stick});
    case Guard::slip:
      note(Event::stick, guard.which, 0.0);
      return choose_mode(ForbiddenTransition{guard.which, ContactState::slide, now_.mode.slip_directions[k]});
    case Guard::resets:
      return apply_reset(guard.which);
  }
  return "";
}

void HybridIntegrator::resume(const HybridState& state) {
  now_ = state;
  events_.clear();
  dissipated_energy_ = reset_energy_ = max_penetration_ = 0.0;
  stopped_ = stop_ = false;
  stop_at_ = {};
}

std::string HybridIntegrator::start(double time, const VectorXd& q, const VectorXd& v) {
  const std::size_t count = assembly_.contacts.size();
  resume({time,
          q,
          VectorXd::Zero(q.size()),
          {std::vector<ContactState>(count, ContactState::open), std::vector<int>(count, 0),
           std::vector<double>(count, 0.0)}});
  const MatrixXd M = mechanics_.mass(q);
  if (M.llt().info() != Eigen::Success) return "the mass matrix is singular at the start";
  const auto rows = mechanics_.row(q);
  for (std::size_t i = 0; i < count; ++i) {
    const double gap = rows.value(assembly_.contacts[i].gap);
    if (!(gap >= -1e-9))
      return "the initial state violates " + assembly_.contacts[i].name +
             formatted(", whose gap is %.6g (SI); change its positions", gap);
  }
  const ActiveRows constraints = held(now_.mode, q);
  if (constraints.rows.size() < assembly_.constraints.size())
    return "the constraints are dependent at the start: one follows from the others";
  for (std::size_t i = 0; i < assembly_.constraints.size(); ++i)
    if (const double value = rows.value(assembly_.constraints[i]); !(std::abs(value) <= 1e-9))
      return "the initial state violates " + assembly_.constraint_names[i] +
             formatted(", by %.6g (SI); change its positions", value);
  now_.p = M * v;
  if (!constraints.rows.empty()) {
    const Eigen::LLT<MatrixXd> mass(M);
    now_.p -= constraints.G.transpose() *
              (constraints.G * mass.solve(constraints.G.transpose())).llt().solve(constraints.G * v);
  }
  return collide(0.0);
}

}  // namespace dodyn::variational
