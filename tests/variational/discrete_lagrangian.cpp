#include "tests/variational/discrete_lagrangian.hpp"

#include <gtest/gtest.h>

#include "tests/systems/planar_biped.hpp"
#include "tests/systems/wedge.hpp"

namespace dodyn::variational::test_discrete_lagrangian {
namespace {

using Biped = systems::PlanarBiped<double>;
using Vector6 = Vector<6>;

const Biped biped = Biped::with_masses(0.42, 1.0, {2.0, 3.0, 3.0, 2.0});
const Vector6 q0 = (Vector6() << 0.1, -0.2, 0.3, 0.4, -0.5, 0.6).finished();
const Vector6 q1 = (Vector6() << 0.12, -0.17, 0.25, 0.5, -0.42, 0.51).finished();

template <class F>
double difference(F f, double h = 1e-3) {
  return (8.0 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12.0 * h);
}

template <class Rule>
class Slot : public testing::Test {};
using Rules = testing::Types<Midpoint, StoermerVerlet>;
TYPED_TEST_SUITE(Slot, Rules);

TYPED_TEST(Slot, DerivativesAgreeWithDifferences) {
  const double t0 = 0.3, t1 = 0.4;
  const auto at = [](double a, const Vector6& x, double b, const Vector6& y) {
    return slots<TypeParam>(biped, a, x, b, y);
  };
  const Slots<6> s = at(t0, q0, t1, q1);
  const auto near = [](double a, double b) { EXPECT_NEAR(a, b, 1e-7 * std::max(1.0, std::abs(b))); };
  near(s.D1, difference([&](double h) { return at(t0 + h, q0, t1, q1).value; }));
  near(s.D3, difference([&](double h) { return at(t0, q0, t1 + h, q1).value; }));
  EXPECT_EQ(s.D1, -s.D3);
  for (int i = 0; i < 6; ++i) {
    const Vector6 e = Vector6::Unit(i);
    near(s.D2(i), difference([&](double h) { return at(t0, q0 + h * e, t1, q1).value; }));
    near(s.D4(i), difference([&](double h) { return at(t0, q0, t1, q1 + h * e).value; }));
    near(s.D3D2(i), difference([&](double h) { return at(t0, q0 + h * e, t1, q1).D3; }));
    near(s.D3D4(i), difference([&](double h) { return at(t0, q0, t1, q1 + h * e).D3; }));
    for (int j = 0; j < 6; ++j) {
      near(s.D2D2(j, i), difference([&](double h) { return at(t0, q0 + h * e, t1, q1).D2(j); }));
      near(s.D2D4(j, i), difference([&](double h) { return at(t0, q0, t1, q1 + h * e).D2(j); }));
      near(s.D4D4(j, i), difference([&](double h) { return at(t0, q0, t1, q1 + h * e).D4(j); }));
    }
  }
}

// The slot derivatives in terms of L and its derivatives.
TYPED_TEST(Slot, DerivativesAreThoseOfTheRule) {
  const double h = 0.1;
  const Slots<6> s = slots<TypeParam>(biped, 0.0, q0, h, q1);
  const Vector6 v = (q1 - q0) / h;
  if constexpr (std::is_same_v<TypeParam, Midpoint>) {
    const auto m = continuous(biped, Vector6(0.5 * (q0 + q1)), v);
    EXPECT_TRUE(s.D2.isApprox(0.5 * h * m.force - m.momentum, 1e-12));
    EXPECT_TRUE(s.D4.isApprox(0.5 * h * m.force + m.momentum, 1e-12));
    EXPECT_NEAR(s.D1, m.energy, 1e-11);
  } else {
    const auto a = continuous(biped, q0, v), b = continuous(biped, q1, v);
    EXPECT_TRUE(s.D2.isApprox(0.5 * h * a.force - 0.5 * (a.momentum + b.momentum), 1e-12));
    EXPECT_TRUE(s.D4.isApprox(0.5 * h * b.force + 0.5 * (a.momentum + b.momentum), 1e-12));
    EXPECT_NEAR(s.D1, 0.5 * (a.energy + b.energy), 1e-11);
  }
}

// With a constant mass matrix and a linear potential the two rules are one.
TEST(DiscreteLagrangian, RulesCoincideForTheWedge) {
  const systems::Wedge wedge;
  const Vector<3> a(0.1, 0.2, 0.3), b(0.11, 0.19, 0.25);
  const auto m = slots<Midpoint>(wedge, 0.0, a, 0.01, b), s = slots<StoermerVerlet>(wedge, 0.0, a, 0.01, b);
  EXPECT_NEAR(m.value, s.value, 1e-15);
  EXPECT_TRUE(m.D2.isApprox(s.D2, 1e-13));
  EXPECT_TRUE(m.D4.isApprox(s.D4, 1e-13));
  EXPECT_NEAR(m.D1, s.D1, 1e-13);
}

TEST(DiscreteLagrangian, MomentumIsTheVelocityDerivative) {
  std::array<double, 6> q, v;
  const Vector6 velocity = q1 - q0;
  for (int i = 0; i < 6; ++i) {
    q[i] = q0(i);
    v[i] = velocity(i);
  }
  const auto p = momentum(biped, q, v);
  EXPECT_TRUE(Vector6(p.data()).isApprox(continuous(biped, q0, velocity).momentum, 1e-13));
}

}  // namespace
}  // namespace dodyn::variational::test_discrete_lagrangian
