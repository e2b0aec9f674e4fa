#include "variational/mechanics.hpp"

#include <Eigen/Cholesky>
#include <cassert>

#include "autodiff/vars.hpp"

namespace dodyn::variational {

using autodiff::Var;
using Vars = Formulation::Vars;
using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

namespace {

void append(Vars& all, const Vars& more) { all.insert(all.end(), more.begin(), more.end()); }
Vars part(const Vars& z, int from, int count) { return {z.begin() + from, z.begin() + from + count}; }

using Forces = std::function<Vars(const Vars& q, const Vars& v, const Vars& p)>;

// Records Recorded::interval for the midpoint rule; inputs z = (middle, v, h).
Vars record_midpoint(const Formulation& system, const Forces& forces, const Vars& z, const Vars& p) {
  const int n = system.n;
  const Var h = z[2 * n];
  // L_d = h L(middle, v), with middle = (q0 + q1)/2 and v = (q1 - q0)/h. These are the inputs, so that Lagrangians of
  // dependent coordinates can be differentiated by them during the recording.
  const Vars middle = part(z, 0, n), v = part(z, n, n);
  const Var L = system.lagrangian(middle, v, p);
  const Vars dq = gradient(L, middle), dv = gradient(L, v), Q = forces(middle, v, p);
  Vars minus, plus;
  Var twice = Var(0.0);
  for (std::size_t i = 0; i < v.size(); ++i) {
    const Var half = 0.5 * h * (dq[i] + Q[i]);
    minus.push_back(half - dv[i]);
    plus.push_back(half + dv[i]);
    twice += dv[i] * v[i];
  }
  Vars out = minus;
  append(out, plus);
  out.push_back(twice - L);
  for (const Var& one : minus) {
    const Vars by_middle = gradient(one, middle), by_v = gradient(one, v);
    for (std::size_t i = 0; i < v.size(); ++i) out.push_back(0.5 * by_middle[i] + by_v[i] / h);
  }
  return out;
}

// Records Recorded::interval for the Stoermer-Verlet rule; inputs z = (q0, q1, h).
Vars record_stoermer_verlet(const Formulation& system, const Forces& forces, const Vars& z, const Vars& p) {
  const int n = system.n;
  const Var h = z[2 * n];
  const Vars q0 = part(z, 0, n), q1 = part(z, n, n);
  Vars v;
  for (std::size_t i = 0; i < q0.size(); ++i) v.push_back((q1[i] - q0[i]) / h);
  const Var action = 0.5 * h * (system.lagrangian(q0, v, p) + system.lagrangian(q1, v, p));
  const Vars at_0 = forces(q0, v, p), at_1 = forces(q1, v, p);
  Vars minus = gradient(action, q0), plus = gradient(action, q1);
  for (std::size_t i = 0; i < q0.size(); ++i) {
    minus[i] += 0.5 * h * at_0[i];
    plus[i] += 0.5 * h * at_1[i];
  }
  Vars out = minus;
  append(out, plus);
  out.push_back(-gradient(action, {h})[0]);
  for (const Var& one : minus) append(out, gradient(one, q1));
  return out;
}

}  // namespace

Recorded record(const Formulation& system, Rule rule) {
  const int n = system.n, parameters = system.parameters;
  Recorded all;
  all.n = n;
  const Forces forces = [&](const Vars& q, const Vars& v, const Vars& p) {
    return system.forces ? system.forces(q, v, p) : Vars(n, Var(0.0));
  };
  all.rule = rule;
  all.interval = autodiff::record(2 * n + 1, parameters, [&](const Vars& z, const Vars& p) {
    return rule == Rule::midpoint ? record_midpoint(system, forces, z, p)
                                  : record_stoermer_verlet(system, forces, z, p);
  });
  all.row = autodiff::record(n, parameters, [&](const Vars& q, const Vars& p) {
    Vars rows = system.rows ? system.rows(q, p) : Vars{};
    all.rows = rows.size();
    Vars out = rows;
    for (const Var& row : rows) append(out, gradient(row, q));
    return out;
  });
  all.mass = autodiff::record(n, parameters, [&](const Vars& q, const Vars& p) {
    // T is quadratic in the rates, so the mass matrix does not depend on these extra inputs, which stay zero
    Vars v;
    for (int i = 0; i < n; ++i) v.push_back(Var::input());
    const Vars momentum = gradient(system.lagrangian(q, v, p), v);
    Vars out;
    for (const Var& one : momentum) append(out, gradient(one, v));
    return out;
  });
  all.state = autodiff::record(2 * n, parameters, [&](const Vars& z, const Vars& p) {
    const Vars q = part(z, 0, n), v = part(z, n, n);
    const Var L = system.lagrangian(q, v, p);
    const Vars momentum = gradient(L, v), dLdq = gradient(L, q), Q = forces(q, v, p);
    const Vars transport = directional(momentum, q, v);
    Vars out;
    Var twice = Var(0.0);
    for (std::size_t i = 0; i < q.size(); ++i) {
      out.push_back(dLdq[i] + Q[i] - transport[i]);
      twice += momentum[i] * v[i];
    }
    if (system.rows) append(out, directional(directional(system.rows(q, p), q, v), q, v));
    out.push_back(0.5 * twice);
    out.push_back(0.5 * twice - L);
    return out;
  });
  all.watch = autodiff::record(2 * n, parameters, [&](const Vars& z, const Vars& p) {
    Vars out = system.watched ? system.watched(part(z, 0, n), part(z, n, n), p) : Vars{};
    all.watched = out.size();
    return out;
  });
  return all;
}

Mechanics::Mechanics(const Recorded& recorded, const std::vector<double>& parameters)
    : n_(recorded.n), rows_(recorded.rows), rule_(recorded.rule) {
  const std::vector<autodiff::Differential> values(parameters.begin(), parameters.end());
  const auto element = [&](const Recorded::Function& f) {
    return std::make_shared<const autodiff::RecordedElement>(f, values);
  };
  interval_element_ = element(recorded.interval);
  row_element_ = element(recorded.row);
  mass_element_ = element(recorded.mass);
  state_element_ = element(recorded.state);
  watch_element_ = element(recorded.watch);
  in_.resize(2 * n_ + 1);
  out_.resize(2 * n_ + 1 + n_ * n_ + rows_ * (n_ + 1) + recorded.watched + 2);
  watched_.resize(recorded.watched);
}

const Mechanics::Interval& Mechanics::interval(const Eigen::VectorXd& q0, const Eigen::VectorXd& q1, double h) const {
  assert(q0.size() == n_ && q1.size() == n_ && h != 0.0);
  Eigen::Map<Eigen::VectorXd> in(in_.data(), 2 * n_ + 1);
  if (rule_ == Rule::midpoint)
    in << 0.5 * (q0 + q1), (q1 - q0) / h, h;
  else
    in << q0, q1, h;
  interval_element_->evaluate(in_.data(), out_.data());
  const double* x = out_.data();
  interval_.minus = Eigen::Map<const Eigen::VectorXd>(x, n_);
  interval_.plus = Eigen::Map<const Eigen::VectorXd>(x + n_, n_);
  interval_.energy = x[2 * n_];
  interval_.slope = Eigen::Map<const RowMajor>(x + 2 * n_ + 1, n_, n_);
  return interval_;
}

const Mechanics::Rows& Mechanics::row(const Eigen::VectorXd& q) const {
  assert(q.size() == n_);
  if (rows_ == 0) {
    row_.value.resize(0);
    row_.gradient.resize(0, n_);
    return row_;
  }
  row_element_->evaluate(q.data(), out_.data());
  row_.value = Eigen::Map<const Eigen::VectorXd>(out_.data(), rows_);
  row_.gradient = Eigen::Map<const RowMajor>(out_.data() + rows_, rows_, n_);
  return row_;
}

const Eigen::MatrixXd& Mechanics::mass(const Eigen::VectorXd& q) const {
  assert(q.size() == n_);
  mass_element_->evaluate(q.data(), out_.data());
  mass_ = Eigen::Map<const RowMajor>(out_.data(), n_, n_);
  return mass_;
}

Eigen::VectorXd Mechanics::velocity(const Eigen::VectorXd& q, const Eigen::VectorXd& p) const {
  return mass(q).llt().solve(p);
}

const Mechanics::State& Mechanics::state(const Eigen::VectorXd& q, const Eigen::VectorXd& v) const {
  assert(q.size() == n_ && v.size() == n_);
  Eigen::Map<Eigen::VectorXd> in(in_.data(), 2 * n_);
  in << q, v;
  state_element_->evaluate(in_.data(), out_.data());
  const double* x = out_.data();
  state_.bias = Eigen::Map<const Eigen::VectorXd>(x, n_);
  state_.curvature = Eigen::Map<const Eigen::VectorXd>(x + n_, rows_);
  state_.kinetic = x[n_ + rows_];
  state_.potential = x[n_ + rows_ + 1];
  return state_;
}

const Eigen::VectorXd& Mechanics::watched(const Eigen::VectorXd& q, const Eigen::VectorXd& v) const {
  assert(q.size() == n_ && v.size() == n_);
  if (watched_.size() == 0) return watched_;
  Eigen::Map<Eigen::VectorXd> in(in_.data(), 2 * n_);
  in << q, v;
  watch_element_->evaluate(in_.data(), watched_.data());
  return watched_;
}

}  // namespace dodyn::variational
