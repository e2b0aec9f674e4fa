// The discrete action of one interval as an element of a transcription.
//
// Inputs: the free coordinates at both ends of the interval (the leading `n - joints` coordinates, a pinned foot, stay
// zero). Outputs: the slot derivatives D2 L_d and D4 L_d with respect to all n coordinates at either end, from which
// the rows of a problem are linear combinations: the discrete Euler-Lagrange equations, contact forces, discrete
// momenta. A combination with weights w is the derivative of L_d in the direction w, so its Hessian needs one pass with
// a directional derivative and no third-order tensor. A system that says it is a planar linkage takes the short way of
// planar_linkage.hpp for all but the design's derivative.
#pragma once

#include <array>
#include <type_traits>
#include <utility>

#include "autodiff/element.hpp"
#include "variational/discrete_lagrangian.hpp"
#include "variational/planar_linkage.hpp"

namespace dodyn::variational {

// A system of n = 2 + joints coordinates that offers  PlanarLinkage<joints> linkage() const.
template <class System, class Rule, int joints>
concept IsPlanarLinkage = std::is_same_v<Rule, Midpoint> && System::n == joints + 2 && requires(const System& system) {
  PlanarLinkage<joints>(system.linkage());
};

// `System` has double parameters, `DesignSystem` the same with parameters that carry the tangent of the design.
template <class Rule, int joints, class System, class DesignSystem>
class ActionElement final : public autodiff::Element {
 public:
  static constexpr int n = System::n, base = n - joints;
  static constexpr bool linked = IsPlanarLinkage<System, Rule, joints>;

  // h: length of the interval, s
  ActionElement(System system, DesignSystem design_system, autodiff::Dual<double> h)
      : Element(2 * joints, 2 * n), system_(std::move(system)), design_system_(std::move(design_system)), h_(h) {
    if constexpr (linked) linkage_ = system_.linkage();
  }

  void evaluate(const double* z, double* values) const override {
    if constexpr (linked) return LinkageInterval<joints>(linkage_, h_.value, z).slots(values);
    const auto L = all_slots<1>(z);
    for (int j = 0; j < 2 * n; ++j) values[j] = L.gradient(j);
  }

  void jacobian(const double* z, double* jacobian) const override {
    if constexpr (linked) return LinkageInterval<joints>(linkage_, h_.value, z).jacobian(jacobian);
    const auto L = all_slots<2>(z);
    for (int j = 0; j < 2 * n; ++j)
      for (int i = 0; i < joints; ++i) {
        jacobian[j * 2 * joints + i] = L.hessian(j, base + i);
        jacobian[j * 2 * joints + joints + i] = L.hessian(j, n + base + i);
      }
  }

  void hessian(const double* z, const double* weights, double* hessian) const override {
    if constexpr (linked) return LinkageInterval<joints>(linkage_, h_.value, z).hessian(weights, hessian);
    using Jet = autodiff::Jet<2 * joints>;
    using T = autodiff::Dual<Jet>;
    std::array<T, n> q0, q1;
    for (int i = 0; i < n; ++i) {
      q0[i].tangent = Jet(weights[i]);
      q1[i].tangent = Jet(weights[n + i]);
      if (i < base) continue;
      q0[i].value = Jet::variable(z[i - base], i - base);
      q1[i].value = Jet::variable(z[joints + i - base], joints + i - base);
    }
    const T L = Rule::discrete_lagrangian(system_, h_.value, q0, q1);
    Eigen::Map<Eigen::Matrix<double, 2 * joints, 2 * joints>>(hessian, 2 * joints, 2 * joints) = L.tangent.hessian;
  }

  void derivatives(const double* z, const double* weights, double* jacobian, double* hessian) const override {
    if constexpr (linked) {
      const LinkageInterval<joints> interval(linkage_, h_.value, z);
      interval.jacobian(jacobian);
      interval.hessian(weights, hessian);
    } else {
      Element::derivatives(z, weights, jacobian, hessian);
    }
  }

  double design_derivative(const double* z, const double* weights) const override {
    using autodiff::Dual;
    std::array<Dual<Dual<double>>, n> q0, q1;
    for (int i = 0; i < n; ++i) {
      q0[i].tangent = weights[i];
      q1[i].tangent = weights[n + i];
      if (i < base) continue;
      q0[i].value = z[i - base];
      q1[i].value = z[joints + i - base];
    }
    return Rule::discrete_lagrangian(design_system_, h_, q0, q1).tangent.tangent;
  }

 private:
  // L_d with derivatives in all 2n configuration slots.
  template <int order>
  autodiff::Jet<2 * n, order> all_slots(const double* z) const {
    using Jet = autodiff::Jet<2 * n, order>;
    std::array<Jet, n> q0, q1;
    for (int i = 0; i < n; ++i) {
      q0[i] = Jet::variable(i < base ? 0.0 : z[i - base], i);
      q1[i] = Jet::variable(i < base ? 0.0 : z[joints + i - base], n + i);
    }
    return Rule::discrete_lagrangian(system_, h_.value, q0, q1);
  }

  System system_;
  DesignSystem design_system_;
  autodiff::Dual<double> h_;
  struct None {};
  [[no_unique_address]] std::conditional_t<linked, PlanarLinkage<joints>, None> linkage_;
};

}  // namespace dodyn::variational
