// Forces between electromagnets against a world of charges, conservation laws and the dipole that they are from afar.
#include "rigid/coils.hpp"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "rigid/forces.hpp"

namespace dodyn::rigid::test_coils {
namespace {

constexpr double half_turn = std::numbers::pi;

TEST(Coils, PolesHaveTheStrengthOfFieldAndCore) { EXPECT_NEAR(Coil{}.pole_strength(), 62.5, 1e-12); }

// The forces on both coils, each in a frame of its own: they conserve momentum and angular momentum of the pair.
TEST(Coils, ForceAndTorqueOfThePairBalance) {
  for (const bool discs : {false, true})
    for (const double phi1 : {-0.5, 0.2})
      for (const double phi2 : {0.0, 0.6}) {
        Coil coil;
        coil.discs = discs;
        const double r = 0.17;
        const Eigen::Vector3d one = pole_wrench(coil, r, phi1, phi2);
        const Eigen::Vector3d other = pole_wrench(coil, r, half_turn + phi1 - phi2, -phi2);
        const Eigen::Vector2d f = Eigen::Rotation2Dd(phi2) * other.head<2>();
        EXPECT_NEAR((one.head<2>() + f).norm(), 0.0, 1e-14);
        const double lever = r * (std::cos(phi1) * f[1] - std::sin(phi1) * f[0]);
        EXPECT_NEAR(one[2] + other[2] + lever, 0.0, 1e-15);
      }
}

// Charges of a world, of which the potential is (3.51).
TEST(Coils, PointPolesAreChargesOfAWorld) {
  const Coil coil;
  World<2> world;
  world.bodies.resize(2);
  for (auto& body : world.bodies) {
    body.mass = 1.0;
    body.euler_tensor = Matrix<2>::Identity();
  }
  world.charge_constant = 1e-7;
  const double p = coil.pole_strength();
  for (const int body : {0, 1})
    for (const double end : {1.0, -1.0}) world.charges.push_back({body, {end * 0.05, 0.0}, end * p});
  const Forces<2> forces(world);
  const double r = 0.21, phi1 = 0.3, phi2 = -0.4;
  const std::vector<geometry::Frame<2>> at = {Pose<2>{}.frame(),
                                              Pose<2>{{r * std::cos(phi1), r * std::sin(phi1)}, phi2}.frame()};
  std::vector<ConfigurationGradient<2>> gradient(2);
  forces.potential(at, gradient);
  const Eigen::Vector3d wrench = pole_wrench(coil, r, phi1, phi2);
  EXPECT_NEAR(-gradient[0](0, 0), wrench[0], 1e-14);
  EXPECT_NEAR(-gradient[0](1, 0), wrench[1], 1e-14);
  EXPECT_NEAR(-torque<2>(gradient[0], at[0].directors)[0], wrench[2], 1e-15);
}

// 3 mu0 m^2/(2 pi r^4) between dipoles in line, m = pole strength times length; discs are points from afar.
TEST(Coils, FarAwayTheyAreDipoles) {
  Coil coil, discs;
  discs.discs = true;
  const double m = coil.pole_strength() * coil.length, r = 8.0;
  const double dipoles = 3.0 * 4e-7 * half_turn * m * m / (2.0 * half_turn * std::pow(r, 4));
  EXPECT_NEAR(pole_wrench(coil, r, 0.0, 0.0)[0], dipoles, 1e-3 * dipoles);
  EXPECT_NEAR(pole_wrench(coil, 2.0 * r, 0.3, 0.2)[1] / pole_wrench(coil, r, 0.3, 0.2)[1], 1.0 / 16.0, 1e-4);
  const double far = pole_wrench(coil, 0.5, 0.1, 0.1)[0], near = pole_wrench(coil, 0.11, 0.0, 0.0)[0];
  EXPECT_NEAR(pole_wrench(discs, 0.5, 0.1, 0.1)[0], far, 2e-3 * far);
  EXPECT_LT(pole_wrench(discs, 0.11, 0.0, 0.0)[0], 0.95 * near);
}

std::string table() {
  std::string text = "# made\nphi1,phi2,A_x,B_x,A_y,B_y,A_theta,B_theta\n";
  int k = 0;
  for (int a = 4; a >= 0; --a)
    for (int b = 0; a + b <= 4; ++b) {
      text += std::to_string(a) + "," + std::to_string(b);
      for (int c = 0; c < 6; ++c) text += "," + std::to_string(std::sin(1.0 + 7.0 * ++k));
      text += "\n";
    }
  return text;
}

TEST(CoilForm, IsFoundAgainFromItsOwnForces) {
  const CoilForm form = read_coil_form(table());
  std::vector<CoilSample> samples;
  for (int d = 0; d < 6; ++d)
    for (int i = -3; i <= 3; ++i)
      for (int k = -3; k <= 3; ++k) {
        const double r = 0.1 + 0.09 * d, a = 0.2 * i, b = 0.2 * k;
        samples.push_back({r, a, b, form(r, a, b)});
      }
  for (const double weight : {0.0, 4.0})
    EXPECT_NEAR((fit_coil_form(samples, weight).coefficients - form.coefficients).cwiseAbs().maxCoeff(), 0.0, 1e-8);
  samples.resize(40);
  EXPECT_THROW(fit_coil_form(samples, 0.0), std::invalid_argument);
}

// By hand: one term, at 0.2 m.
TEST(CoilForm, CountsInDecimetres) {
  CoilForm form;
  form.coefficients(4, 0) = 256.0;  // phi1 phi2 of A_x
  EXPECT_EQ((CoilForm::powers()[4]), (std::array<int, 2>{1, 1}));
  EXPECT_NEAR(form(0.2, 0.5, 0.4)[0], 0.2, 1e-15);
  form.coefficients(4, 3) = 16.0;  // of B_y
  EXPECT_NEAR(form(0.2, 0.5, 0.4)[1], -0.2, 1e-15);
}

TEST(CoilForm, TablesWithMistakesAreRefused) {
  const auto told = [](const std::string& text) {
    try {
      read_coil_form(text);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(told(table()), "");
  EXPECT_NE(told("phi1,phi2\n").find("line 1: is not a header"), std::string::npos);
  std::string text = table();
  EXPECT_NE(told(text + "0,5,1,1,1,1,1,1\n").find("at most 4"), std::string::npos);
  EXPECT_NE(told(text + "0,4,1,1,1,1,1,1\n").find("twice"), std::string::npos);
  EXPECT_NE(told(text.substr(0, text.rfind(','))).find("cells"), std::string::npos);
  text.erase(text.find("\n4,0"), text.find("\n3,0") - text.find("\n4,0"));
  EXPECT_NE(told(text).find("powers 4, 0 is missing"), std::string::npos);
}

}  // namespace
}  // namespace dodyn::rigid::test_coils
