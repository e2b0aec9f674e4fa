#include "variational/planar_linkage.hpp"

#include <gtest/gtest.h>

#include <Eigen/Core>

#include "systems/planar_biped.hpp"
#include "variational/action_element.hpp"

namespace dodyn::variational {
namespace {

using Biped = systems::PlanarBiped<double>;
using DesignBiped = systems::PlanarBiped<autodiff::Dual<double>>;

// The same system, known by its Lagrangian alone.
struct Opaque {
  static constexpr int n = Biped::n;
  Biped biped;
  template <class T>
  T lagrangian(const std::array<T, n>& q, const std::array<T, n>& v) const {
    return biped.lagrangian(q, v);
  }
};

static_assert(IsPlanarLinkage<Biped, Midpoint, 4>);
static_assert(!IsPlanarLinkage<Biped, StoermerVerlet, 4>);
static_assert(!IsPlanarLinkage<Opaque, Midpoint, 4>);

// The coefficients give what differentiating the Lagrangian gives: values, Jacobian and weighted Hessian of the
// action's slots, one at a time and together.
TEST(PlanarLinkage, AgreesWithTheDifferentiatedLagrangian) {
  Biped biped = Biped::with_masses(0.37, 1.1, {2.0, 3.1, 2.9, 1.7});
  biped.gravity = 9.7;
  const DesignBiped design = DesignBiped::with_density(autodiff::Dual<double>(0.4, 1.0), 1.0, 5.0);
  const double h = 0.03;
  const ActionElement<Midpoint, 4, Biped, DesignBiped> quick(biped, design, h);
  const ActionElement<Midpoint, 4, Opaque, DesignBiped> slow(Opaque{biped}, design, h);
  for (int trial = 0; trial < 20; ++trial) {
    std::srand(static_cast<unsigned>(trial));
    const Eigen::VectorXd z = 2.0 * Eigen::VectorXd::Random(8), weights = Eigen::VectorXd::Random(12);
    Eigen::VectorXd values(12), expected_values(12), J(96), expected_J(96), H(64), expected_H(64), J2(96), H2(64);
    quick.evaluate(z.data(), values.data());
    slow.evaluate(z.data(), expected_values.data());
    quick.jacobian(z.data(), J.data());
    slow.jacobian(z.data(), expected_J.data());
    quick.hessian(z.data(), weights.data(), H.data());
    slow.hessian(z.data(), weights.data(), expected_H.data());
    quick.derivatives(z.data(), weights.data(), J2.data(), H2.data());
    EXPECT_TRUE(values.isApprox(expected_values, 1e-12)) << values.transpose() << "\n" << expected_values.transpose();
    EXPECT_TRUE(J.isApprox(expected_J, 1e-12));
    EXPECT_TRUE(H.isApprox(expected_H, 1e-12));
    EXPECT_EQ(J2, J);
    EXPECT_EQ(H2, H);
  }
}

TEST(PlanarBiped, MomentumIsThatOfTheLagrangian) {
  const DesignBiped biped = DesignBiped::with_density(autodiff::Dual<double>(0.4, 1.0), 1.0, 5.0);
  using T = autodiff::Dual<double>;
  for (int trial = 0; trial < 20; ++trial) {
    std::srand(static_cast<unsigned>(trial));
    const Eigen::VectorXd x = Eigen::VectorXd::Random(24);
    std::array<T, 6> q, v;
    for (int i = 0; i < 6; ++i) {
      q[i] = {x[i], x[6 + i]};
      v[i] = {x[12 + i], x[18 + i]};
    }
    const auto p = biped.momentum(q, v);
    for (int i = 0; i < 6; ++i) {
      std::array<autodiff::Dual<T>, 6> a, b;
      for (int k = 0; k < 6; ++k) {
        a[k] = {q[k], T(0.0)};
        b[k] = {v[k], T(k == i ? 1.0 : 0.0)};
      }
      const T expected = biped.lagrangian(a, b).tangent;
      EXPECT_NEAR(p[i].value, expected.value, 1e-12);
      EXPECT_NEAR(p[i].tangent, expected.tangent, 1e-12);
    }
  }
}

}  // namespace
}  // namespace dodyn::variational
