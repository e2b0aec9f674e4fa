// Extended discrete Lagrangians: L_d(t0, q0, t1, q1) approximates the action over [t0, t1] (Pekarek 2010, section 3.1).
//
// A system is a class with `n` coordinates and
//   template <class T> T lagrangian(const std::array<T, n>& q, const std::array<T, n>& v) const;
// where T may carry derivatives. Everything else here follows from that function.
#pragma once

#include <Eigen/Core>
#include <array>

#include "autodiff/dual.hpp"
#include "autodiff/jet.hpp"

namespace dodyn::variational {

// Midpoint rule (3.1.1): h L((q0 + q1)/2, (q1 - q0)/h).
struct Midpoint {
  template <class System, class T, class H, std::size_t n>
  static T discrete_lagrangian(const System& system, const H& h, const std::array<T, n>& q0,
                               const std::array<T, n>& q1) {
    std::array<T, n> middle, velocity;
    for (std::size_t i = 0; i < n; ++i) {
      middle[i] = 0.5 * (q0[i] + q1[i]);
      velocity[i] = (q1[i] - q0[i]) / h;
    }
    return h * system.lagrangian(middle, velocity);
  }
};

// Stoermer-Verlet (Pekarek 2010, section 4.1): the mean of L at both ends with the same velocity.
struct StoermerVerlet {
  template <class System, class T, class H, std::size_t n>
  static T discrete_lagrangian(const System& system, const H& h, const std::array<T, n>& q0,
                               const std::array<T, n>& q1) {
    std::array<T, n> velocity;
    for (std::size_t i = 0; i < n; ++i) velocity[i] = (q1[i] - q0[i]) / h;
    return 0.5 * h * (system.lagrangian(q0, velocity) + system.lagrangian(q1, velocity));
  }
};

template <int n>
using Vector = Eigen::Matrix<double, n, 1>;
template <int n>
using Matrix = Eigen::Matrix<double, n, n>;

// The derivatives of L_d with respect to its four slots, numbered as in the source: D1 and D3 with respect to the times
// (the discrete energies, E- = D1 and E+ = -D3), D2 and D4 to the configurations (the discrete momenta,
// p- = -D2 and p+ = D4). D1 = -D3 because L_d depends on t1 - t0 alone.
template <int n>
struct Slots {
  double value = 0.0, D1 = 0.0, D3 = 0.0;
  Vector<n> D2, D4;
  Matrix<n> D2D2, D2D4, D4D4;  // second derivatives with respect to the configurations; D4D2 = D2D4^T
  Vector<n> D3D2, D3D4;        // of D2 and D4 with respect to t1

  double energy() const { return D1; }
};

template <class Rule, class System, int n = System::n>
Slots<n> slots(const System& system, double t0, const Vector<n>& q0, double t1, const Vector<n>& q1) {
  using Jet = autodiff::Jet<2 * n + 1>;
  std::array<Jet, n> a, b;
  for (int i = 0; i < n; ++i) {
    a[i] = Jet::variable(q0(i), i);
    b[i] = Jet::variable(q1(i), n + i);
  }
  const Jet h = Jet::variable(t1 - t0, 2 * n);
  const Jet L = Rule::discrete_lagrangian(system, h, a, b);
  Slots<n> s;
  s.value = L.value;
  s.D3 = L.gradient(2 * n);
  s.D1 = -s.D3;
  s.D2 = L.gradient.template segment<n>(0);
  s.D4 = L.gradient.template segment<n>(n);
  s.D2D2 = L.hessian.template block<n, n>(0, 0);
  s.D2D4 = L.hessian.template block<n, n>(0, n);
  s.D4D4 = L.hessian.template block<n, n>(n, n);
  s.D3D2 = L.hessian.template block<n, 1>(0, 2 * n);
  s.D3D4 = L.hessian.template block<n, 1>(n, 2 * n);
  return s;
}

// What the Lagrangian says at (q, v): momentum dL/dv, mass matrix d2L/dv2, dL/dq, and energy v . dL/dv - L.
template <int n>
struct Continuous {
  double lagrangian = 0.0, energy = 0.0;
  Vector<n> momentum, force;
  Matrix<n> mass;
};

template <class System, int n = System::n>
Continuous<n> continuous(const System& system, const Vector<n>& q, const Vector<n>& v) {
  using Jet = autodiff::Jet<2 * n>;
  std::array<Jet, n> a, b;
  for (int i = 0; i < n; ++i) {
    a[i] = Jet::variable(q(i), i);
    b[i] = Jet::variable(v(i), n + i);
  }
  const Jet L = system.lagrangian(a, b);
  Continuous<n> c;
  c.lagrangian = L.value;
  c.force = L.gradient.template segment<n>(0);
  c.momentum = L.gradient.template segment<n>(n);
  c.mass = L.hessian.template block<n, n>(n, n);
  c.energy = c.momentum.dot(v) - L.value;
  return c;
}

// dL/dv at (q, v) for a scalar that may carry derivatives itself. A system may know its momentum.
template <class System, class T, std::size_t n>
std::array<T, n> momentum(const System& system, const std::array<T, n>& q, const std::array<T, n>& v) {
  if constexpr (requires { system.momentum(q, v); }) return system.momentum(q, v);
  using autodiff::Dual;
  std::array<Dual<T>, n> a, b;
  for (std::size_t i = 0; i < n; ++i) {
    a[i] = Dual<T>(q[i], T(0.0));
    b[i] = Dual<T>(v[i], T(0.0));
  }
  std::array<T, n> p;
  for (std::size_t i = 0; i < n; ++i) {
    b[i].tangent = T(1.0);
    p[i] = system.lagrangian(a, b).tangent;
    b[i].tangent = T(0.0);
  }
  return p;
}

}  // namespace dodyn::variational
