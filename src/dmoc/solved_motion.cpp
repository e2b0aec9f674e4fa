// The motion at a solution of the problem, and its integration as a check.
#include <Eigen/Cholesky>
#include <Eigen/Geometry>
#include <Eigen/LU>
#include <Eigen/QR>
#include <algorithm>

#include "dmoc/attitudes.hpp"
#include "dmoc/motion_problem.hpp"
#include "dmoc/position_constraint.hpp"
#include "dmoc/vectors.hpp"

namespace dodyn::dmoc {

using Eigen::MatrixXd;
using Eigen::VectorXd;

VectorXd MotionProblem::slots(const PhaseLayout& laid, int k, double h, const VectorXd& theta, const VectorXd& u,
                              MatrixXd* jacobian_of_next) const {
  const int n = system_->n(), m = laid.index.moving, degree = laid.index.degree;
  const bool timed = laid.index.duration >= 0;
  const VectorXd time = VectorXd::Constant(timed ? 1 : 0, h * laid.index.intervals);
  const VectorXd z = joined(theta, time);
  const Element& action = laid.actions[k];
  VectorXd s = value(*action, z);
  if (jacobian_of_next) *jacobian_of_next = jacobian(*action, z).middleCols(m, degree * m);
  if (!laid.pushes.empty()) {
    const Element& pushes = laid.pushes[k];
    const VectorXd y = joined(joined(theta, u), time);
    const VectorXd push = value(*pushes, y);
    MatrixXd J;
    if (jacobian_of_next) J = jacobian(*pushes, y).middleCols(m, degree * m);
    const Eigen::Index by = push.size() > n ? n : 0;  // 0: `push` has one force for both ends
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
      const int coordinate = system_->structure().actuators[i].coordinate;
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

double MotionProblem::interval_energy(const PhaseLayout& laid, int k, double h, const MatrixXd& knots,
                                      const VectorXd& nodes) const {
  const Scheme& scheme = system_->scheme();
  const int phase = &laid - phases_.data();
  double energy = 0.0;
  for (int point = 0; point < scheme.degree; ++point) {
    VectorXd middle, rate;
    if (scheme.degree == 1) {
      middle = 0.5 * (knots.row(0) + knots.row(1));
      rate = (knots.row(1) - knots.row(0)) / h;
    } else {
      middle = (scheme.values.row(point) * knots).transpose();
      rate = (scheme.slopes.row(point) * knots).transpose() / h;
    }
    energy +=
        scheme.weights(point) *
        (system_->directors()
             ? value(*element(laid.functions->energy, numbers_, {h}, {reference(phase, k), reference(phase, k + 1)}),
                     nodes)(0)
             : value(*energy_, joined(middle, rate))(0));
  }
  return energy;
}

PhaseMotion MotionProblem::phase_motion(int phase, const VectorXd& x) const {
  const int n = system_->n();
  const PhaseLayout& laid = phases_[phase];
  const PhaseIndex& index = laid.index;
  const auto &moving = laid.functions->moving, &held = laid.functions->held;
  const int K = index.intervals, m = index.moving, degree = index.degree, knots = index.knots();
  const double h = step_of(laid, x);
  PhaseMotion p;
  p.h = h;
  p.q = MatrixXd::Zero(knots, n);
  p.p = MatrixXd::Zero(knots, n);
  p.u.resize(knots - 1, index.controls);
  p.held_force = MatrixXd::Zero(knots, held.size());
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
    // as in add_dynamics(): weight h f = -(sum of slots) at inner knots; at the ends plus dL/dv- or -dL/dv+
    for (int slot = 0; slot <= degree; ++slot) {
      const int knot = k * degree + slot;
      p.held_force.row(knot) -= (1.0 / knot_weight(phase, knot)) / h * picked(s.segment(slot * n, n), held).transpose();
    }
    const double energy = interval_energy(laid, k, h, of_interval, joined(theta(k), theta(k + 1)));
    p.energy.segment(k * degree, degree).setConstant(energy);
  }
  if (index.velocity_after >= 0) {
    const VectorXd v = x.segment(index.velocity_after, m);
    p.rate_after = spread(v, moving, n);
    p.held_force.row(0) -=
        (1.0 / knot_weight(phase, 0)) / h * picked(value(*laid.momentum_first, joined(theta(0), v)), held).transpose();
  }
  if (index.velocity_before >= 0) {
    const VectorXd v = x.segment(index.velocity_before, m);
    p.rate_before = spread(v, moving, n);
    p.held_force.row(knots - 1) += (1.0 / knot_weight(phase, knots - 1)) / h *
                                   picked(value(*laid.momentum_last, joined(theta(K), v)), held).transpose();
  }
  for (const PositionConstraint& constraint : laid.constraints)
    for (int r = 0; r < knots; ++r)
      if (const int first = constraint.multipliers[r]; first >= 0)
        p.held_force.row(r) -= force_per_multiplier(*this, phase, r, x) *
                               picked(generalised_constraint_force(*this, constraint, r, first, x), held).transpose();
  return p;
}

MatrixXd MotionProblem::node_rates(int p, const VectorXd& x) const {
  const PhaseLayout& laid = phases_[p];
  const PhaseIndex& index = laid.index;
  MatrixXd rates(index.intervals + 1, index.moving);
  MatrixXd momenta;  // momenta at nodes whose rates are not unknowns
  for (int node = 0; node <= index.intervals; ++node) {
    const int first = node == index.intervals             ? index.velocity_before
                      : node == 0 || index.node_rates > 0 ? index.rate(node)
                                                          : -1;
    if (first >= 0) {
      rates.row(node) = x.segment(first, index.moving).transpose();
      continue;
    }
    if (momenta.size() == 0) momenta = phase_motion(p, x).p;
    const Element momentum = element(laid.functions->momentum, numbers_, {}, {reference(p, node)});
    const VectorXd theta = x.segment(index.theta(node), index.moving);
    const MatrixXd by_all = jacobian(*momentum, joined(theta, VectorXd::Zero(index.moving)));
    MatrixXd mass(index.moving, index.moving);
    for (int i = 0; i < index.moving; ++i) mass.row(i) = by_all.row(laid.functions->moving[i]).tail(index.moving);
    const VectorXd arriving = picked(momenta.row(node * index.degree).transpose(), laid.functions->moving);
    rates.row(node) = mass.llt().solve(arriving).transpose();
  }
  return rates;
}

MotionWork MotionProblem::work(int p, const VectorXd& x, bool at_ends) const {
  const PhaseLayout& laid = phases_[p];
  const PhaseIndex& index = laid.index;
  const Scheme& scheme = system_->scheme();
  const double h = step_of(laid, x);
  MotionWork sum;
  const Element parts = index.degree > 1 ? split_work(laid, at_ends) : nullptr;
  const MatrixXd rates = parts && at_ends ? node_rates(p, x) : MatrixXd();
  for (int k = 0; k < index.intervals; ++k)
    for (int i = 0; i < index.controls; ++i) {
      const int joint = driven(laid, i);
      if (joint < 0) continue;
      VectorXd work, u(index.degree), q(index.degree + 1);
      for (int point = 0; point < index.degree; ++point) u(point) = x(index.control(k, point) + i);
      for (int knot = 0; knot <= index.degree; ++knot) q(knot) = x(index.knot(k * index.degree + knot) + joint);
      double signed_work = 0.0;
      for (int point = 0; point < index.degree; ++point) signed_work += u(point) * scheme.change(point, q, 0, 0);
      if (parts) {
        VectorXd z = joined(u, q);
        if (at_ends) z = joined(z, rates.col(joint).segment(k, 2));
        if (index.duration >= 0) z = joined(z, VectorXd::Constant(1, x(index.duration)));
        work = value(*parts, z);
      } else {
        work.resize(at_ends ? 2 : 1);
        for (int half = 0; half < work.size(); ++half)
          work(half) = work_of(index, k, half, work.size(), joint).of(u(0), h, x);
      }
      sum.signed_sum += signed_work;
      sum.absolute += work.lpNorm<1>();
      sum.positive += parts ? 0.5 * (work.lpNorm<1>() + signed_work) : work.cwiseMax(0.0).sum();
    }
  return sum;
}

EventMotion MotionProblem::event_motion(const EventLayout& joint, const VectorXd& x) const {
  const PhaseLayout &from = phases_[joint.event.from], &to = phases_[joint.event.to];
  const VectorXd last = x.segment(from.index.theta(from.index.intervals), from.index.moving),
                 v_before = x.segment(from.index.velocity_before, from.index.moving),
                 first = x.segment(to.index.theta(0), to.index.moving),
                 v_after = x.segment(to.index.velocity_after, to.index.moving);
  const VectorXd before = value(*from.momentum_last, joined(last, v_before)),
                 after = value(*to.momentum_first, joined(first, v_after)),
                 arriving = joint.event.momentum ? value(*joint.event.momentum, joined(last, v_before)) : before;
  EventMotion e;
  e.impulse = VectorXd::Zero(system_->n());
  for (const int i : to.functions->held) e.impulse(i) = after(i) - arriving(i);
  for (const PositionConstraint& constraint : to.constraints)
    if (constraint.impulse >= 0) {
      const VectorXd push = generalised_constraint_force(*this, constraint, 0, constraint.impulse, x);
      for (const int i : to.functions->held) e.impulse(i) -= push(i);
    }
  // Posture, and therefore potential energy, is equal on both sides.
  e.loss =
      0.5 * (picked(before, from.functions->moving).dot(v_before) - picked(after, to.functions->moving).dot(v_after));
  return e;
}

Motion MotionProblem::motion(const VectorXd& x) const {
  Motion motion;
  for (int phase = 0; phase < phases(); ++phase) motion.phases.push_back(phase_motion(phase, x));
  for (const EventLayout& joint : events_) motion.events.push_back(event_motion(joint, x));
  return motion;
}

VectorXd MotionProblem::ahead(const PhaseLayout& laid, int k, const VectorXd& before, const VectorXd& now,
                              double share) const {
  VectorXd next = now + share * (now - before);
  if (system_->charts().empty()) return next;
  const int phase = &laid - phases_.data();
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
  VectorXd q = event.configuration ? value(*event.configuration, theta)
                                   : spread(theta, phases_[event.from].functions->moving, system_->n());
  for (std::size_t i = 0; i < event.shift.size(); ++i) q(i) -= event.shift[i].value;
  return q;
}

// Integrates a motion phase after phase.
class MotionProblem::Reintegration {
 public:
  Reintegration(const MotionProblem& problem, const Motion& motion) : problem_(problem), motion_(motion) {
    for (const PhaseLayout& laid : problem.phases_) held_.emplace_back(laid.constraints, problem.numbers_);
  }
  // See reintegrate().
  double run();

 private:
  // An interval of the integration. Its unknowns are the coordinates of all knots except the first, then the forces of
  // position constraints: [d moving + d constraints].
  struct Step {
    const PhaseLayout& laid;
    int k;
    double h;
    VectorXd u;                      // [d controls]
    Eigen::Index size, constraints;  // numbers of moving coordinates and of constraints at a knot
    Eigen::Index all, forces;        // the same numbers for the d unknown knots of the interval
    VectorXd s = {};                 // [(d + 1) n] MotionProblem::slots() of the interval at the last residual
    MatrixXd J = {};                 // derivatives of `s`
  };

  const PhaseLayout& laid(int phase) const { return problem_.phases_[phase]; }
  const PhaseMotion& planned(int phase) const { return motion_.phases[phase]; }
  int number(const PhaseLayout& laid) const { return &laid - problem_.phases_.data(); }
  VectorXd values_at(const PhaseLayout& laid, int k, const VectorXd& at) {
    return held_[number(laid)].values(problem_.reference(number(laid), k), at);
  }
  MatrixXd slopes_at(const PhaseLayout& laid, int k, const VectorXd& at) {
    return held_[number(laid)].slopes(problem_.reference(number(laid), k), at);
  }
  // Returns the derivatives of the position constraints at a knot of the interval.
  MatrixXd held_at(const Step& step, int knot, const VectorXd& at) {
    return knot == 0 ? slopes_at(step.laid, step.k, theta_)
                     : slopes_at(step.laid, step.k + 1, at.segment((knot - 1) * step.size, step.size));
  }
  void compare(const PhaseLayout& laid, int k);
  MatrixXd mass(const PhaseLayout& laid, const Element& momentum) const;
  void set_targets(const PhaseLayout& laid);
  // Changes p at a node so that its velocity satisfies the position constraints.
  void satisfy_constraints(const PhaseLayout& laid, const Element& momentum, int k) {
    if (!laid.constraints.empty()) p_ = with_constraint_force(mass(laid, momentum), slopes_at(laid, k, theta_), p_);
  }
  VectorXd residual(Step& step, const VectorXd& at, bool with_slopes);
  VectorXd correction(const Step& step, const VectorXd& at, const VectorXd& residual);
  bool advance(const PhaseLayout& laid, int k, const VectorXd& guess);
  bool drive(const PhaseLayout& laid, int intervals);
  void pass(const EventLayout& joint);

  const MotionProblem& problem_;
  const Motion& motion_;
  std::vector<ConstraintEvaluator> held_;  // one per phase
  VectorXd targets_;                       // values of the position constraints in the phase
  VectorXd theta_, p_;  // moving coordinates at the current node; momenta before it, at a phase's first node after it
  double max_difference_ = 0.0;
};

void MotionProblem::Reintegration::compare(const PhaseLayout& laid, int k) {
  const auto row = planned(number(laid)).q.row(k * laid.index.degree);
  max_difference_ =
      std::max(max_difference_, (theta_ - picked(row.transpose(), laid.functions->moving)).lpNorm<Eigen::Infinity>());
}

MatrixXd MotionProblem::Reintegration::mass(const PhaseLayout& laid, const Element& momentum) const {
  const int m = laid.index.moving;
  const MatrixXd J = jacobian(*momentum, joined(theta_, VectorXd::Zero(m)));
  MatrixXd M(m, m);
  for (int i = 0; i < m; ++i) M.row(i) = J.row(laid.functions->moving[i]).tail(m);
  return M;
}

void MotionProblem::Reintegration::set_targets(const PhaseLayout& laid) {
  targets_ = values_at(laid, 0, theta_);
  Eigen::Index i = 0;
  for (const PositionConstraint& constraint : laid.constraints)
    for (const bool zero : constraint.at_zero) {
      if (zero) targets_(i) = 0.0;
      ++i;
    }
}

VectorXd MotionProblem::Reintegration::residual(Step& step, const VectorXd& at, bool with_slopes) {
  const int n = problem_.system_->n(), degree = step.laid.index.degree;
  const Eigen::Index size = step.size, constraints = step.constraints, all = step.all;
  step.s =
      problem_.slots(step.laid, step.k, step.h, joined(theta_, at.head(all)), step.u, with_slopes ? &step.J : nullptr);
  VectorXd residual(all + step.forces);
  for (int knot = 0; knot < degree; ++knot) {
    auto balance = residual.segment(knot * size, size);
    balance = picked(step.s.segment(knot * n, n), step.laid.functions->moving);
    if (knot == 0) balance += p_;
    if (constraints == 0) continue;
    balance += held_at(step, knot, at).transpose() * at.segment(all + knot * constraints, constraints);
    residual.segment(all + knot * constraints, constraints) =
        values_at(step.laid, step.k + 1, at.segment(knot * size, size)) - targets_;
  }
  return residual;
}

VectorXd MotionProblem::Reintegration::correction(const Step& step, const VectorXd& at, const VectorXd& residual) {
  const int n = problem_.system_->n(), degree = step.laid.index.degree;
  const Eigen::Index size = step.size, constraints = step.constraints, all = step.all;
  MatrixXd D = MatrixXd::Zero(all + step.forces, all + step.forces);
  for (int knot = 0; knot < degree; ++knot)
    for (int i = 0; i < step.laid.index.moving; ++i)
      D.row(knot * size + i).head(all) = step.J.row(knot * n + step.laid.functions->moving[i]);
  if (constraints == 0) return D.partialPivLu().solve(residual);
  for (int knot = 0; knot < degree; ++knot) {  // the derivative of the slopes at inner knots is neglected
    D.block(knot * size, all + knot * constraints, size, constraints) = held_at(step, knot, at).transpose();
    D.block(all + knot * constraints, knot * size, constraints, size) = held_at(step, knot + 1, at);
  }
  return D.completeOrthogonalDecomposition().solve(residual);  // constraints may depend on each other
}

// Takes one step by damped Newton iterations: theta_ and p_ are then at the next node. Returns false if it fails;
// theta_ and p_ are then unchanged.
bool MotionProblem::Reintegration::advance(const PhaseLayout& laid, int k, const VectorXd& guess) {
  const PhaseMotion& m = planned(number(laid));
  const Scheme& scheme = problem_.system_->scheme();
  const int n = problem_.system_->n(), degree = scheme.degree;
  const Eigen::Index size = laid.index.moving, constraints = targets_.size();
  Step step{laid, k, m.h, VectorXd(degree * m.u.cols()), size, constraints, degree * size, degree * constraints};
  for (int point = 0; point < degree; ++point)
    step.u.segment(point * m.u.cols(), m.u.cols()) = m.u.row(k * degree + point).transpose();
  VectorXd next(step.all + step.forces);
  for (int knot = 1; knot <= degree; ++knot)
    next.segment((knot - 1) * size, size) =
        knot == degree ? guess : VectorXd(theta_ + scheme.position(knot) * (guess - theta_));
  next.tail(step.forces).setZero();
  VectorXd missing = residual(step, next, true);
  for (int iteration = 0; iteration < 40; ++iteration) {
    const VectorXd change = correction(step, next, missing);
    const double turned = change.head(step.all).lpNorm<Eigen::Infinity>();
    if (!(change.lpNorm<Eigen::Infinity>() < 1e100)) return false;
    if (missing.lpNorm<Eigen::Infinity>() <= 1e-12 || turned <= 1e-15 * (1.0 + next.lpNorm<Eigen::Infinity>())) {
      p_ = picked(step.s.tail(n), laid.functions->moving);
      theta_ = next.segment(step.all - size, size);
      return true;
    }
    // The step is at most 1 rad, and shorter if the residual would increase.
    double share = std::min(1.0, 1.0 / turned);
    const double before = missing.norm();
    int cuts = 0;
    while (!(residual(step, next - share * change, false).norm() < before) && ++cuts < 8) share *= 0.5;
    if (cuts == 8 && before > 1e-9) return false;
    next -= share * change;
    missing = residual(step, next, true);
  }
  return false;
}

// Takes steps from the first node of a phase. Returns false if one fails.
bool MotionProblem::Reintegration::drive(const PhaseLayout& laid, int intervals) {
  // Guesses of the increment, relative to the last one. On coarse meshes a joint may reverse within a step.
  constexpr double guesses[] = {1.0, 0.5, 0.0, -0.5, 1.5};
  VectorXd last_but_one = theta_ - planned(number(laid)).h * mass(laid, laid.momentum_first).llt().solve(p_);
  set_targets(laid);
  for (int k = 0; k < intervals; ++k) {
    const VectorXd before = theta_;
    const bool found = std::any_of(std::begin(guesses), std::end(guesses), [&](double share) {
      return advance(laid, k, problem_.ahead(laid, k, last_but_one, before, share));
    });
    if (!found) return false;
    last_but_one = before;
    compare(laid, k + 1);
  }
  return true;
}

// Maps theta and p from the state before an event to the state after it.
void MotionProblem::Reintegration::pass(const EventLayout& joint) {
  const PhaseLayout &from = laid(joint.event.from), &to = laid(joint.event.to);
  satisfy_constraints(from, from.momentum_last, from.index.intervals);
  const MatrixXd M = mass(from, from.momentum_last);
  const VectorXd v = M.llt().solve(p_);
  const VectorXd arriving =
      value(joint.event.momentum ? *joint.event.momentum : *from.momentum_last, joined(theta_, v));
  const VectorXd push = joint.impulse ? joint.impulse(theta_, v, M) : VectorXd();
  theta_ = picked(problem_.relabelled(joint.event, theta_), to.functions->moving);
  p_ = picked(arriving, to.functions->moving);
  if (push.size() > 0) p_ += push;
  satisfy_constraints(to, to.momentum_first, 0);
  compare(to, 0);
}

double MotionProblem::Reintegration::run() {
  theta_ = picked(planned(0).q.row(0).transpose(), laid(0).functions->moving);
  p_ = picked(planned(0).p.row(0).transpose(), laid(0).functions->moving);
  std::vector<bool> done(problem_.phases_.size(), false);
  for (int now = 0;;) {
    const bool again = done[now];  // The cycle is closed: one more step is enough.
    if (!drive(laid(now), again ? 1 : laid(now).index.intervals)) return nlp::infinity;
    if (again) return max_difference_;
    done[now] = true;
    const auto joint =
        std::ranges::find_if(problem_.events_, [&](const EventLayout& j) { return j.event.from == now; });
    if (joint == problem_.events_.end()) return max_difference_;
    const auto& constraints = laid(joint->event.to).constraints;
    const bool together =
        std::ranges::any_of(constraints, [](const PositionConstraint& h) { return h.event.has_value(); });
    if (joint->impulse && together)
      return max_difference_;  // The impulses of contact and position constraints depend on each other.
    pass(*joint);
    now = joint->event.to;
  }
}

double MotionProblem::reintegrate(const Motion& motion) const { return Reintegration(*this, motion).run(); }

}  // namespace dodyn::dmoc
