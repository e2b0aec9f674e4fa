// Tests of EquilibriumTest against statics in closed form.
#include "rigid/equilibrium_test.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace dodyn::rigid::test_equilibrium {
namespace {

constexpr double margin = 1e-7;  // m

Pose<2> at(double x, double y, double angle = 0.0) {
  Pose<2> pose;
  pose.position = Vector<2>(x, y);
  pose.angle = angle;
  return pose;
}

// A box of this width and height on a floor, gravity leaning by an angle from the floor's normal.
World<2> box_on_floor(double width, double height, double friction, double lean) {
  World<2> world;
  world.bodies.push_back(fixed_body<2>("floor", {geometry::rectangle(20.0, 1.0)}));
  world.bodies.push_back(solid<2>("box", {geometry::rectangle(width, height)}, 100.0).body);
  for (auto& body : world.bodies) body.surface = {0.3, friction};
  world.gravity = 9.81 * Vector<2>(std::sin(lean), -std::cos(lean));
  return world;
}
double unbalanced_box(double width, double height, double friction, double lean) {
  const auto world = box_on_floor(width, height, friction, lean);
  return EquilibriumTest<2>(world).unbalanced({at(0.0, -0.5), at(0.0, 0.5 * height)}, 0.0, {margin});
}

// A flat box rests up to the angle of friction. Beyond it, the unbalanced part is the distance of its weight from the
// cone.
TEST(EquilibriumTest, AFlatBoxSlidesBeyondTheAngleOfFriction) {
  const double mu = 0.3, phi = std::atan(mu);
  for (const double lean : {-phi - 0.2, -0.99 * phi, 0.0, 0.5 * phi, 0.99 * phi, phi + 0.01, phi + 0.3})
    EXPECT_NEAR(unbalanced_box(1.0, 0.1, mu, lean), std::max(0.0, std::sin(std::abs(lean) - phi)), 1e-10) << lean;
  EXPECT_NEAR(unbalanced_box(1.0, 0.1, 0.0, 0.2), std::sin(0.2), 1e-12);
}

TEST(EquilibriumTest, ATallBoxTipsOverItsCorner) {
  const double tips = std::atan(0.25);  // width 0.1, height 0.4
  EXPECT_LT(unbalanced_box(0.1, 0.4, 0.8, 0.999 * tips), 1e-10);
  EXPECT_GT(unbalanced_box(0.1, 0.4, 0.8, 1.02 * tips), 1e-3);
}

TEST(EquilibriumTest, NothingHoldsABoxInTheAir) {
  const auto world = box_on_floor(0.1, 0.1, 0.5, 0.0);
  EquilibriumTest<2> balance(world);
  EXPECT_EQ(balance.unbalanced({at(0.0, -0.5), at(0.0, 0.051)}, 0.0, {margin}), 1.0);
  EXPECT_LT(balance.unbalanced({at(0.0, -0.5), at(0.0, 0.05 + 0.9 * margin)}, 0.0, {margin}), 1e-9);
}

// A body at rest counts as touching below the height that it falls in two steps, up to a given height.
TEST(EquilibriumTest, AHeightThatTwoStepsFallIsTouch) {
  const auto world = box_on_floor(0.1, 0.1, 0.5, 0.0);
  EquilibriumTest<2> balance(world);
  for (const double step : {5e-4, 1e-3, 4e-3}) {
    const double fall = 0.5 * 9.81 * std::pow(2.0 * step, 2);
    const auto left = [&](double height, double most) {
      return balance.unbalanced({at(0.0, -0.5), at(0.0, 0.05 + height)}, 0.0, {margin, most, step});
    };
    EXPECT_LT(left(0.99 * fall, 1e-3), 1e-9) << step;
    EXPECT_EQ(left(1.01 * fall, 1e-3), 1.0) << step;
    EXPECT_EQ(left(0.99 * fall, 0.9 * fall), 1.0) << step;
  }
}

// A uniform ladder against a smooth wall stands from tan(angle) = 1/(2 mu) on.
TEST(EquilibriumTest, ALadderStandsFromItsAngleOn) {
  const double mu = 0.4, least = std::atan(1.0 / (2.0 * mu)), length = 2.0, thin = 1e-4;
  World<2> world;
  world.bodies.push_back(fixed_body<2>("floor", {geometry::rectangle(20.0, 1.0)}));
  world.bodies.push_back(fixed_body<2>("wall", {geometry::rectangle(1.0, 20.0)}));
  world.bodies.push_back(solid<2>("ladder", {geometry::rectangle(length, thin)}, 100.0).body);
  world.bodies[0].surface.friction = world.bodies[2].surface.friction = mu;
  world.gravity = Vector<2>(0.0, -9.81);
  EquilibriumTest<2> balance(world);
  for (const double angle : {least - 0.2, least - 0.02, least + 0.02, least + 0.3}) {
    // its lower and its left side touch: leaning to the left against the wall's right face at x = 0
    const double c = std::cos(angle), s = std::sin(angle);
    const Vector<2> middle(0.5 * (length * c + thin * s), 0.5 * (length * s + thin * c));
    const double left =
        balance.unbalanced({at(0.0, -0.5), at(-0.5, 0.0), at(middle[0], middle[1], -angle)}, 0.0, {margin});
    if (angle < least)
      EXPECT_GT(left, 1e-3) << angle;
    else
      EXPECT_LT(left, 2.0 * thin) << angle;
  }
}

// A pendulum without velocity is at rest only where it hangs straight down.
TEST(EquilibriumTest, APendulumRestsOnlyBelowItsPivot) {
  World<2> world;
  world.bodies.push_back(fixed_body<2>("wall", {geometry::rectangle(0.1, 0.1)}));
  world.bodies.push_back(solid<2>("bob", {geometry::rectangle(0.1, 1.0)}, 10.0).body);
  Joint<2> pivot;
  pivot.kind = Joint<2>::Kind::revolute;
  pivot.parent = 0;
  pivot.child = 1;
  pivot.child_point = Vector<2>(0.0, 1.0);
  world.joints.push_back(pivot);
  world.no_contact.emplace_back(0, 1);
  world.gravity = Vector<2>(0.0, -9.81);
  EquilibriumTest<2> balance(world);
  for (const double angle : {0.0, 0.3, 2.0}) {
    const std::vector<Pose<2>> poses = {at(0.0, 0.0), at(std::sin(angle), -std::cos(angle), angle)};
    EXPECT_NEAR(balance.unbalanced(poses, 0.0, {margin}), angle == 0.0 ? 0.0 : 1.0, 1e-15);
  }
}

// In space the friction pyramid lies inside the cone. It contains the cone of the friction coefficient times
// cos(22.5 degrees).
TEST(EquilibriumTest, InSpaceNearlyTheConeInEveryDirection) {
  const double mu = 0.3, inner = std::atan(mu * std::cos(0.3926990816987241)), outer = std::atan(mu);
  World<3> world;
  world.bodies.push_back(fixed_body<3>("floor", {geometry::box(20.0, 20.0, 1.0)}));
  world.bodies.push_back(solid<3>("box", {geometry::box(1.0, 1.0, 0.05)}, 100.0).body);
  for (auto& body : world.bodies) body.surface = {0.3, mu};
  for (double direction = 0.0; direction < 6.3; direction += 0.37)
    for (const double lean : {0.98 * inner, outer + 0.02}) {
      world.gravity =
          9.81 * Vector<3>(std::sin(lean) * std::cos(direction), std::sin(lean) * std::sin(direction), -std::cos(lean));
      Pose<3> floor, box;
      floor.position[2] = -0.5;
      box.position[2] = 0.025;
      const double left = EquilibriumTest<3>(world).unbalanced({floor, box}, 0.0, {margin});
      if (lean < inner)
        EXPECT_LT(left, 1e-10) << direction;
      else
        EXPECT_GT(left, 0.0199) << direction;
    }
}

// The conditions of Karush, Kuhn and Tucker of random problems, rank-deficient ones among them.
TEST(EquilibriumTest, LeastSquaresAreTheLeast) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 300; ++trial) {
    const int rows = 1 + trial % 7, columns = 1 + (trial * 5) % 17;
    Eigen::MatrixXd A(rows, columns);
    Eigen::VectorXd b(rows);
    for (double& x : A.reshaped()) x = normal(random);
    for (double& x : b) x = normal(random);
    if (columns > 3) A.col(columns - 1) = A.col(0) + A.col(1);
    const Eigen::VectorXd x = nonnegative_least_squares(A, b), slope = A.transpose() * (b - A * x);
    for (int j = 0; j < columns; ++j) {
      EXPECT_GE(x[j], 0.0);
      EXPECT_LE(slope[j], 1e-9);
      EXPECT_NEAR(x[j] > 0.0 ? slope[j] : 0.0, 0.0, 1e-8);
    }
  }
}

}  // namespace
}  // namespace dodyn::rigid::test_equilibrium
