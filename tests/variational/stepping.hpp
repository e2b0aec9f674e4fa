// Forced, constrained discrete Euler-Lagrange stepping and the plastic jump between constraints.
//
// One step solves, for q1 given (q0, p0) with p0 the right discrete momentum that arrives at q0,
//   P(q0)^T [ p0 + D2 L_d(q0, q1) + F-(0, 1) ] = 0,      g(q1) = 0          (null-space form, (3.1.8)-(3.1.10))
// and hands on p1 = D4 L_d(q0, q1) + F+(0, 1). With p0 = D4 L_d + F+ of the interval before it is the discrete
// Euler-Lagrange equation; with p0 = dL/dv the start from velocities (discrete Legendre transform); with
// p0 = Q_N (D4 L_d + F+) and the constraints of the new contact it is the transition of constraints (3.5.4)-(3.5.5).
//
// A constraint is a class with `m` equations and  template <class T> std::array<T, m> values(std::array<T, n> q) const.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <Eigen/QR>
#include <array>
#include <utility>

#include "tests/variational/discrete_lagrangian.hpp"

namespace dodyn::variational {

template <int m, int n>
struct ConstraintValue {
  Vector<m> value;
  Eigen::Matrix<double, m, n> jacobian;  // G
};

template <int n, class Constraint, int m = Constraint::m>
ConstraintValue<m, n> evaluate(const Constraint& constraint, const Vector<n>& q) {
  using Jet = autodiff::Jet<n, 1>;
  std::array<Jet, n> x;
  for (int i = 0; i < n; ++i) x[i] = Jet::variable(q(i), i);
  const auto g = constraint.values(x);
  ConstraintValue<m, n> c;
  for (int j = 0; j < m; ++j) {
    c.value(j) = g[j].value;
    c.jacobian.row(j) = g[j].gradient.transpose();
  }
  return c;
}

// Orthonormal basis of the directions that keep the constraint, G P = 0: [n x (n - m)]. G must have full rank.
template <int m, int n>
Eigen::Matrix<double, n, n - m> null_space(const Eigen::Matrix<double, m, n>& G) {
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr(G.transpose());  // one size for all: a fixed one takes 12 s to compile
  return Eigen::MatrixXd(qr.householderQ()).rightCols(n - m);
}

// Q = I - G^T (G M^-1 G^T)^-1 G M^-1: takes a momentum to that of the nearest motion on the constraint (Remark 2.10).
template <int m, int n>
Matrix<n> momentum_projection(const Eigen::Matrix<double, m, n>& G, const Matrix<n>& M) {
  const Eigen::Matrix<double, n, m> MG = M.llt().solve(G.transpose());
  return Matrix<n>::Identity() - G.transpose() * (G * MG).llt().solve(MG.transpose());
}

// Newton's method for `equations(x, residual, jacobian)` = 0, square of size N. Ends at a residual of `tolerance` or
// when the correction has shrunk to round-off, whichever comes first: with short steps the momenta, differences divided
// by the step, cannot be made smaller.
struct Newton {
  double residual = 0.0;
  int iterations = 0;
  bool converged = false;
};
template <int N, class Equations>
Newton newton(Vector<N>& x, double tolerance, int max_iterations, Equations equations) {
  Newton result;
  Vector<N> residual;
  Matrix<N> jacobian;
  for (; result.iterations <= max_iterations; ++result.iterations) {
    equations(x, residual, jacobian);
    result.residual = residual.template lpNorm<Eigen::Infinity>();
    if (!(result.residual < 1e100)) break;
    const Vector<N> correction = jacobian.partialPivLu().solve(residual);
    const double round_off = 1e-15 * (1.0 + x.template lpNorm<Eigen::Infinity>());
    result.converged = result.residual <= tolerance || correction.template lpNorm<Eigen::Infinity>() <= round_off;
    if (result.converged) break;
    x -= correction;
  }
  return result;
}

// One step's answer. `converged` is false, with the last iterate, where Newton's method failed.
template <int n>
struct Step : Newton {
  Vector<n> q, p;       // q1 and the right discrete momentum p1 = D4 L_d + F+
  double energy = 0.0;  // discrete energy D1 L_d of the interval
};

// The step above. `force_minus`, `force_plus`: discrete forces F- at q0 and F+ at q1 (N s, N m s). `guess`: q1 to start
// from. Newton's method to `tolerance` on the momentum equations (N m s) and the constraints.
template <class Rule, class System, class Constraint, int n = System::n>
Step<n> advance(const System& system, const Constraint& constraint, double t0, const Vector<n>& q0, const Vector<n>& p0,
                double t1, const Vector<n>& force_minus, const Vector<n>& force_plus, const Vector<n>& guess,
                double tolerance = 1e-12, int max_iterations = 50) {
  constexpr int m = Constraint::m;
  const auto P = null_space<m, n>(evaluate<n>(constraint, q0).jacobian);
  Step<n> step;
  step.q = guess;
  static_cast<Newton&>(step) =
      newton(step.q, tolerance, max_iterations, [&](const Vector<n>& q1, Vector<n>& residual, Matrix<n>& jacobian) {
        const Slots<n> s = slots<Rule>(system, t0, q0, t1, q1);
        const auto g = evaluate<n>(constraint, q1);
        residual << P.transpose() * (p0 + s.D2 + force_minus), g.value;
        jacobian << P.transpose() * s.D2D4, g.jacobian;
        step.p = s.D4 + force_plus;
        step.energy = s.D1;
      });
  return step;
}

// The same step with multipliers instead of the null space, (3.1.5) and (3.1.7): unknowns q1 and the constraint impulse
// at q0, [p0 + D2 L_d + F-] = G(q0)^T impulse. Returns the impulse too; -impulse/h is the force on the system.
template <class Rule, class System, class Constraint, int n = System::n>
std::pair<Step<n>, Vector<Constraint::m>> advance_with_multipliers(const System& system, const Constraint& constraint,
                                                                   double t0, const Vector<n>& q0, const Vector<n>& p0,
                                                                   double t1, const Vector<n>& force_minus,
                                                                   const Vector<n>& force_plus, const Vector<n>& guess,
                                                                   double tolerance = 1e-12, int max_iterations = 50) {
  constexpr int m = Constraint::m;
  const auto G0 = evaluate<n>(constraint, q0).jacobian;
  Step<n> step;
  Vector<n + m> x;
  x << guess, Vector<m>::Zero();
  static_cast<Newton&>(step) = newton(
      x, tolerance, max_iterations, [&](const Vector<n + m>& z, Vector<n + m>& residual, Matrix<n + m>& jacobian) {
        const Vector<n> q1 = z.template head<n>();
        const Slots<n> s = slots<Rule>(system, t0, q0, t1, q1);
        const auto g = evaluate<n>(constraint, q1);
        residual << p0 + s.D2 + force_minus - G0.transpose() * z.template tail<m>(), g.value;
        jacobian << s.D2D4, -G0.transpose(), g.jacobian, Matrix<m>::Zero();
        step.p = s.D4 + force_plus;
        step.energy = s.D1;
      });
  step.q = x.template head<n>();
  return {step, x.template tail<m>()};
}

// The plastic jump with release of the old constraint, continuous form (2.4.3): dL/dv+ = Q_S dL/dv-. Returns the momentum
// after the jump. The pre-impact momentum must lie in T*N already (project with Q_N first where it may not).
template <class System, class NewConstraint, int n = System::n>
Vector<n> plastic_jump(const System& system, const NewConstraint& stuck, const Vector<n>& q,
                       const Vector<n>& p_before) {
  const Matrix<n> M = continuous<System>(system, q, Vector<n>(Vector<n>::Zero())).mass;
  return momentum_projection<NewConstraint::m, n>(evaluate<n>(stuck, q).jacobian, M) * p_before;
}

}  // namespace dodyn::variational
