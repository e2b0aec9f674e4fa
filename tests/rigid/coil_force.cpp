// (B.1) as a force of a world: against the charges that its fit comes from, conservation laws, its range.
#include "rigid/coil_force.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "rigid/forces.hpp"

namespace dodyn::rigid::test_coil_force {
namespace {

// Two bodies with two coils each, off their centres.
World<2> coiled(double strength, double polarity) {
  World<2> world;
  world.bodies.resize(2);
  for (auto& body : world.bodies) {
    body.mass = 1.0;
    body.euler_tensor = Matrix<2>::Identity();
  }
  world.bodies[0].name = "one", world.bodies[1].name = "other";
  world.charge_constant = 1e-7;
  for (const int body : {0, 1})
    for (const double side : {1.0, -1.0}) {
      // ahead of the first body, behind the second; the second coil of each by its polarity
      const double value = (body == 0 ? 1.0 : -1.0) * (side > 0.0 ? 1.0 : polarity) * strength;
      const double y = (body == 0 ? 1.0 : -1.0) * 0.02 * side;
      world.charges.push_back({body, {0.06, y}, value});
      world.charges.push_back({body, {-0.04, y}, -value});
    }
  return world;
}

std::vector<geometry::Frame<2>> apart(double r, double bearing, double turn) {
  return {Pose<2>{{0.1, -0.2}, 0.4}.frame(),
          Pose<2>{{0.1 + r * std::cos(0.4 + bearing), -0.2 + r * std::sin(0.4 + bearing)}, 0.4 + turn}.frame()};
}

CoilForm fitted() {
  std::vector<CoilSample> samples;
  for (int d = 0; d <= 12; ++d)
    for (int i = -4; i <= 4; ++i)
      for (int k = -4; k <= 4; ++k) {
        const double r = 0.2 + 0.025 * d, a = 0.12 * i, b = 0.12 * k;
        samples.push_back({r, a, b, pole_wrench(Coil{}, r, a, b)});
      }
  return fit_coil_form(samples, 4.0);
}

std::array<Twist<2>, 2> acting(const CoilForce& force, const std::vector<geometry::Frame<2>>& at) {
  std::array<Twist<2>, 2> wrench{Twist<2>::Zero(), Twist<2>::Zero()};
  const std::array<Twist<2>, 2> still = wrench;
  force(0.0, at, still, wrench);
  return wrench;
}

// A form that was fitted to poles gives the forces of the poles' potential, within the error of the fit, for all
// orientations of the coils.
TEST(CoilForce, IsThatOfTheChargesItWasFittedTo) {
  const CoilForm form = fitted();
  for (const double polarity : {1.0, -1.0})
    for (const double strength : {62.5, 20.0})
      for (const double half_turns : {0.0, 1.0})
        for (const double bearing : {-0.2, 0.1, 0.1 + std::numbers::pi}) {
          World<2> world = coiled(strength, polarity), poles = world;
          const CoilForce force(world, form, {});
          EXPECT_TRUE(world.charges.empty());
          const auto at = apart(0.33, bearing, half_turns * std::numbers::pi + 0.15);
          const Forces<2> forces(poles);
          std::vector<ConfigurationGradient<2>> gradient(2);
          forces.potential(at, gradient);
          const auto wrench = acting(force, at);
          // where ports repel each other's neighbours, the sum is small and the fit's errors are not
          const double size = 4.0 * pole_wrench(Coil{}, 0.33, 0.0, 0.0)[0] * strength * strength / (62.5 * 62.5);
          for (const std::size_t b : {0u, 1u}) {
            const Vector<2> f = -gradient[b].col(0);
            EXPECT_NEAR((wrench[b].head<2>() - f).norm(), 0.0, 0.05 * size) << polarity << " " << bearing;
            EXPECT_NEAR(wrench[b][2], -torque<2>(gradient[b], at[b].directors)[0], 0.015 * size);
          }
          EXPECT_TRUE(polarity < 0.0 || gradient[0].col(0).norm() > 0.5 * size);
        }
}

// The force conserves momentum and angular momentum of the pair, whatever the coefficients.
TEST(CoilForce, EachCoilGetsWhatTheOtherGives) {
  CoilForm form;
  for (int i = 0; i < CoilForm::terms; ++i)
    for (int k = 0; k < 6; ++k) form.coefficients(i, k) = std::sin(3.0 + 11.0 * (6 * i + k));
  World<2> world = coiled(40.0, 1.0);
  const CoilForce force(world, form, {});
  for (const double bearing : {0.3, 1.4, 3.0}) {
    const auto at = apart(0.25, bearing, 2.0 * bearing);
    const auto w = acting(force, at);
    const double size = w[0].norm();
    ASSERT_GT(size, 1e-6);
    EXPECT_NEAR((w[0] + w[1]).head<2>().norm(), 0.0, 1e-14 * size);
    const auto about_origin = [&](std::size_t b) {
      const auto& x = at[b].position;
      return w[b][2] + x[0] * w[b][1] - x[1] * w[b][0];
    };
    EXPECT_NEAR(about_origin(0) + about_origin(1), 0.0, 1e-14 * size);
  }
}

TEST(CoilForce, SaysWhatLeftTheRange) {
  World<2> world = coiled(62.5, 1.0);
  const CoilForce force(world, fitted(), {.least = 0.2, .most = 0.5, .angle = 0.6});
  EXPECT_EQ(force.left(apart(0.35, 0.1, 0.2)), "");
  EXPECT_EQ(force.left(apart(0.35, 0.1, 0.2 + std::numbers::pi)), "");
  EXPECT_NE(force.left(apart(0.19, 0.0, 0.0)).find("of 'other' and"), std::string::npos);
  EXPECT_NE(force.left(apart(0.19, 0.0, 0.0)).find("m apart; the table holds from 0.2 to 0.5 m"), std::string::npos);
  EXPECT_NE(force.left(apart(0.55, 0.0, 0.0)).find("m apart"), std::string::npos);
  EXPECT_NE(force.left(apart(0.35, 0.5, -0.25)).find("at a bearing of"), std::string::npos);
  const auto turned = force.left(apart(0.35, 0.0, 0.7));
  EXPECT_NE(turned.find("deg; the table holds up to 34.3775 deg"), std::string::npos) << turned;
}

TEST(CoilForce, RefusesChargesThatAreNoCoils) {
  const auto refused = [](auto&& change) {
    World<2> world = coiled(62.5, 1.0);
    change(world.charges);
    EXPECT_THROW(CoilForce(world, {}, {}), std::invalid_argument);
  };
  refused([](auto& charges) { charges.clear(); });
  refused([](auto& charges) { charges.pop_back(); });
  refused([](auto& charges) { charges[0].value *= 2.0; });
  refused([](auto& charges) { charges[2].body = 1; });
  refused([](auto& charges) { charges[2].at[0] += 0.01; });
}

}  // namespace
}  // namespace dodyn::rigid::test_coil_force
