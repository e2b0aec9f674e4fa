// Contact responses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include "drawn.hpp"
#include "rigid/director.hpp"
#include "rigid/multibody.hpp"
#include "rigid/simulation.hpp"

namespace dodyn::rigid::test_collisions {
namespace {

using Vector2 = Vector<2>;
using Vector3 = Vector<3>;

constexpr double side = 0.28284271247461906, density = 270.0, speed = 0.105;

template <int n>
Body<n> cube(const std::string& name, double a = side) {
  return solid<n>(name, {cube_shape<n>(a)}, density).body;
}

// Newton's cradle of the source: cubes in a row along x, at rest with the gap between them, and strikers half a side
// from the ends. `both`: from both ends, three cubes at rest; else one striker and four at rest.
template <int n>
struct Cradle {
  World<n> world;
  std::vector<Pose<n>> poses;
  std::vector<Twist<n>> twists;
  Cradle(bool both, double gap) {
    double x = 0.0;
    for (int i = 0; i < 5; ++i) {
      world.bodies.push_back(cube<n>("cube " + std::to_string(i + 1)));
      Pose<n> pose;
      pose.position[0] = x;
      poses.push_back(pose);
      twists.push_back(Twist<n>::Zero());
      x += side + (i == 0 || (both && i == 3) ? 0.5 * side : gap);
    }
    twists[0][0] = speed;
    if (both) twists[4][0] = -speed;
  }
};

Options with(Response response, double step) {
  Options options;
  options.response = response;
  options.step = step;
  return options;
}

template <int n>
double spin(const Twist<n>& twist) {
  return twist.template tail<(n * (n - 1)) / 2>().norm();
}

// The impulse travels through the row and the far cube leaves with the striker's speed; nothing turns.
template <int n>
void one_striker(const Options& options, double tolerance) {
  const Cradle<n> cradle(false, 0.1 * side);
  Simulation<n> simulation(cradle.world, options);
  simulation.start(cradle.poses, cradle.twists);
  const auto before = simulation.momenta();
  const double energy = simulation.energies().total();
  double worst_spin = 0.0, worst_overlap = -1.0;
  const auto end = simulation.run(3.0, [&](const auto& s) {
    for (const auto& v : s.twists()) worst_spin = std::max(worst_spin, spin<n>(v));
    if (options.response != Response::penalty) worst_overlap = std::max(worst_overlap, s.overlap());
    return false;
  });
  ASSERT_EQ(end.status, Outcome::reached) << end.reason;
  for (int i = 0; i < 5; ++i) EXPECT_NEAR(simulation.twists()[i][0], i == 4 ? speed : 0.0, tolerance) << i;
  EXPECT_LE(worst_spin, 1e-9);
  EXPECT_LE(worst_overlap, options.tolerance);
  const auto after = simulation.momenta();
  EXPECT_LE((after.linear - before.linear).norm(), 1e-12);
  EXPECT_LE((after.angular - before.angular - simulation.contact_totals().momentum.angular).norm(), 1e-12);
  if (options.response != Response::penalty) {
    EXPECT_EQ(simulation.contact_totals().impulses, 4);
    EXPECT_NEAR(simulation.energies().total(), energy, 1e-10 * energy);
  }
}
TEST(Cradle, FirstImpulseLeavesThroughTheFarCube) {
  one_striker<3>(with(Response::decomposition, 0.01), 1e-12);
  one_striker<2>(with(Response::decomposition, 0.015), 1e-12);
  one_striker<3>(with(Response::exact, 0.01), 1e-12);
  one_striker<2>(with(Response::exact, 0.01), 1e-12);
  Options energy = with(Response::exact, 0.01);
  energy.jump = JumpCondition::discrete_energy;
  one_striker<3>(energy, 1e-12);
  Options penalty = with(Response::penalty, 1e-4);
  penalty.stiffness = 1e6;
  one_striker<3>(penalty, 1e-4 * speed);
  one_striker<2>(penalty, 1e-4 * speed);
}

template <int n>
void two_strikers(const Options& options, double tolerance) {
  const Cradle<n> cradle(true, 0.1 * side);
  Simulation<n> simulation(cradle.world, options);
  simulation.start(cradle.poses, cradle.twists);
  double worst_spin = 0.0;
  const auto end = simulation.run(3.0, [&](const auto& s) {
    for (const auto& v : s.twists()) worst_spin = std::max(worst_spin, spin<n>(v));
    return false;
  });
  ASSERT_EQ(end.status, Outcome::reached) << end.reason;
  EXPECT_NEAR(simulation.twists()[0][0], -speed, tolerance);
  EXPECT_NEAR(simulation.twists()[4][0], speed, tolerance);
  for (int i = 1; i < 4; ++i) EXPECT_NEAR(simulation.twists()[i][0], 0.0, tolerance);
  EXPECT_LE(worst_spin, 1e-9);
}
TEST(Cradle, TwoStrikersBothLeave) {
  two_strikers<3>(with(Response::decomposition, 0.01), 1e-12);
  two_strikers<2>(with(Response::decomposition, 0.01), 1e-12);
  two_strikers<3>(with(Response::exact, 0.01), 1e-12);
  Options penalty = with(Response::penalty, 1e-4);
  penalty.stiffness = 1e6;
  two_strikers<3>(penalty, 1e-3 * speed);
}

// Source examples D3 and D4.
TEST(Decomposition, PlasticCubesMoveOnTogether) {
  for (const double other : {0.0, -0.5}) {
    World<3> world;
    world.bodies = {cube<3>("a"), cube<3>("b")};
    for (auto& body : world.bodies) body.surface.restitution = 0.0;
    std::vector<Pose<3>> poses(2);
    poses[1].position[0] = 1.05 * side;
    std::vector<Twist<3>> twists(2, Twist<3>::Zero());
    twists[0][0] = 0.5;
    twists[1][0] = other;
    Simulation<3> simulation(world, with(Response::decomposition, 0.01));
    simulation.start(poses, twists);
    ASSERT_EQ(simulation.run(1.0).status, Outcome::reached);
    for (const auto& v : simulation.twists()) EXPECT_NEAR(v[0], 0.5 * (0.5 + other), 1e-12);
    EXPECT_LE(simulation.overlap(), 1e-9);
  }
}

// Oblique frictionless elastic impacts of rotating bodies: momenta and kinetic energy, per step.
template <int n>
void tumbling(Response response, double restitution) {
  World<n> world;
  std::mt19937 engine(5);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  std::vector<Pose<n>> poses;
  std::vector<Twist<n>> twists;
  for (int i = 0; i < 6; ++i) {
    world.bodies.push_back(cube<n>("cube " + std::to_string(i), 0.1 + 0.02 * i));
    world.bodies.back().surface.restitution = restitution;
    Pose<n> pose;
    pose.position[0] = 0.35 * (i % 3);
    pose.position[1] = 0.35 * (i / 3);
    Twist<n> v;
    for (int k = 0; k < v.size(); ++k) v[k] = (k < n ? 1.0 : 4.0) * uniform(engine);
    v.template head<n>() -= 2.0 * (pose.position - 0.35 * (Vector<n>::Unit(0) + 0.5 * Vector<n>::Unit(1)));
    if constexpr (n == 2)
      pose.angle = uniform(engine);
    else {
      Vector3 turn;
      for (int k = 3; k-- > 0;) turn[k] = uniform(engine);  // in this order, whatever the compiler
      pose.directors = exponential(turn);
    }
    poses.push_back(pose);
    twists.push_back(v);
  }
  Simulation<n> simulation(world, with(response, 0.001));
  simulation.start(poses, twists);
  Momenta<n> last = simulation.momenta(), last_ledger;
  double energy = simulation.energies().kinetic;
  double worst_linear = 0.0, worst_angular = 0.0, worst_energy = 0.0, worst_overlap = -1.0;
  double last_projection = 0.0;
  const auto end = simulation.run(1.0, [&](const auto& s) {
    const auto now = s.momenta();
    const auto& contact_totals = s.contact_totals();
    worst_linear = std::max(worst_linear, (now.linear - last.linear).norm());
    worst_angular = std::max(
        worst_angular, (now.angular - last.angular - (contact_totals.momentum.angular - last_ledger.angular)).norm());
    last = now;
    last_ledger = contact_totals.momentum;
    // away from impacts the variational integrator's kinetic energy of a spinning body only oscillates; in the plane
    // it is constant
    const double kinetic =
        s.energies().kinetic - contact_totals.projection.kinetic - (restitution < 1.0 ? contact_totals.impact : 0.0);
    if (n == 2) worst_energy = std::max(worst_energy, std::abs(kinetic - energy));
    last_projection = contact_totals.projection.potential;
    worst_overlap = std::max(worst_overlap, s.overlap());
    return false;
  });
  ASSERT_EQ(end.status, Outcome::reached) << end.reason;
  EXPECT_GE(simulation.contact_totals().impulses, 5);
  EXPECT_LE(worst_linear, 1e-12);
  EXPECT_LE(worst_angular, 1e-12);
  EXPECT_LE(worst_energy, 1e-10 * energy);
  EXPECT_LE(worst_overlap, 1e-9);
  EXPECT_EQ(last_projection, 0.0);
  if (restitution == 1.0)
    EXPECT_NEAR(simulation.contact_totals().impact, 0.0, 1e-10 * energy);
  else
    EXPECT_LT(simulation.contact_totals().impact, -0.01 * energy);
}
TEST(Impacts, KeepMomentaPerStepAndEnergyIfElastic) {
  tumbling<2>(Response::decomposition, 1.0);
  tumbling<3>(Response::decomposition, 1.0);
  tumbling<2>(Response::decomposition, 0.5);
  tumbling<3>(Response::decomposition, 0.5);
  tumbling<2>(Response::exact, 1.0);
  tumbling<3>(Response::exact, 1.0);
}

template <int n>
Body<n> floor_body(double friction, double restitution) {
  geometry::Polytope<n> slab = [] {
    if constexpr (n == 2)
      return geometry::rectangle(20.0, 1.0);
    else
      return geometry::box(20.0, 20.0, 1.0);
  }();
  geometry::Frame<n> down;
  down.position[n - 1] = -0.5;
  Body<n> floor = fixed_body<n>("floor", {slab.moved(down)}, Vector<n>(Vector<n>::Unit(n - 1)));
  floor.surface = {restitution, friction};
  return floor;
}

// Sliding on the floor: v^2/(2 mu g), with the cone; then at rest.
template <int n>
void slides_to_rest() {
  World<n> world;
  const double mu = 0.4, v = 1.3, a = 0.2;
  world.bodies = {floor_body<n>(mu, 0.0), cube<n>("box", a)};
  world.bodies[1].surface = {0.0, mu};
  world.gravity[n - 1] = -9.81;
  std::vector<Pose<n>> poses(2);
  poses[1].position[n - 1] = 0.5 * a;
  std::vector<Twist<n>> twists(2, Twist<n>::Zero());
  twists[1][0] = v;
  Simulation<n> simulation(world, with(Response::decomposition, 0.001));
  simulation.start(poses, twists);
  ASSERT_EQ(simulation.run(1.0).status, Outcome::reached);
  EXPECT_NEAR(simulation.poses()[1].position[0], v * v / (2.0 * mu * 9.81), 0.01 * v * v / (2.0 * mu * 9.81));
  EXPECT_NEAR(simulation.poses()[1].position[n - 1], 0.5 * a, 1e-8);
  EXPECT_LE(simulation.twists()[1].norm(), 1e-10);
  const double stopped = simulation.poses()[1].position[0];
  ASSERT_EQ(simulation.run(2.0).status, Outcome::reached);
  EXPECT_NEAR(simulation.poses()[1].position[0], stopped, 1e-10);
}
TEST(Friction, BringsASlidingBoxToRest) {
  slides_to_rest<2>();
  slides_to_rest<3>();
}

// On a slope below the friction angle a box stays where it is; above it slides with g (sin - mu cos).
TEST(Friction, HoldsOnASlope) {
  for (const double slope : {0.3, 0.5}) {
    World<2> world;
    const double mu = 0.4, g = 9.81;
    world.bodies = {floor_body<2>(mu, 0.0), cube<2>("box", 0.2)};
    world.bodies[1].surface = {0.0, mu};
    world.gravity = g * Vector2(std::sin(slope), -std::cos(slope));
    std::vector<Pose<2>> poses(2);
    poses[1].position[1] = 0.1;
    Simulation<2> simulation(world, with(Response::decomposition, 0.001));
    simulation.start(poses, std::vector<Twist<2>>(2, Twist<2>::Zero()));
    ASSERT_EQ(simulation.run(1.0).status, Outcome::reached);
    const double a = std::max(0.0, g * (std::sin(slope) - mu * std::cos(slope)));
    EXPECT_NEAR(simulation.poses()[1].position[0], 0.5 * a, a == 0.0 ? 1e-9 : 0.005 * a);
    EXPECT_NEAR(simulation.poses()[1].angle, 0.0, 1e-8);
  }
}

// A falling rod strikes the floor with a corner. Friction takes more energy than restitution returns, and still the
// corner leaves with e times its approach speed, although the projection of each step moved the rod against gravity.
template <int n>
void rod_rebounds(double tilt, double slide, double step) {
  const double e = 0.4, mu = 0.25, length = 1.0, thickness = 0.02, gravity = 9.81;
  World<n> world;
  geometry::Polytope<n> shape = [&] {
    if constexpr (n == 2)
      return geometry::rectangle(length, thickness);
    else
      return geometry::box(length, thickness, thickness);
  }();
  world.bodies = {floor_body<n>(mu, e), solid<n>("rod", {shape}, density).body};
  world.bodies[1].surface = {e, mu};
  world.gravity[n - 1] = -gravity;
  std::vector<Pose<n>> poses(2);
  Spin<n> turn = Spin<n>::Zero();
  turn[n == 2 ? 0 : 1] = n == 2 ? tilt : -tilt;
  rotate(poses[1], turn);
  Vector<n> corner = Vector<n>::Zero();  // the lowest one, or the middle of the lowest edge, in the rod's frame
  corner[0] = -0.5 * length;
  corner[n - 1] = -0.5 * thickness;
  poses[1].position[n - 1] = 0.01 - (poses[1].frame().directors * corner)[n - 1];
  std::vector<Twist<n>> twists(2, Twist<n>::Zero());
  twists[1][n - 1] = -1.0;
  twists[1][0] = slide;
  Simulation<n> simulation(world, with(Response::decomposition, step));
  simulation.start(poses, twists);
  const auto height = [&] {
    const auto frame = simulation.poses()[1].frame();
    return (frame.position + frame.directors * corner)[n - 1];
  };
  double before = height(), approach = 0.0, rebound = 0.0;
  const auto end = simulation.run(0.03, [&](const auto& s) {
    // a secant: the velocity of the corner in the middle of the step
    const double rate = (height() - before) / step;
    before = height();
    if (rate < approach) approach = rate;
    return s.contact_totals().impulses > 0 && (rebound = rate) > 0.0;
  });
  ASSERT_EQ(end.status, Outcome::stopped) << end.reason;
  EXPECT_NEAR(rebound / -approach, e, 100.0 * step) << tilt << " " << slide << " " << step;
}
TEST(Friction, KeepsTheReboundOfARod) {
  for (const double tilt : {0.3, 0.7, 1.1})
    for (const double slide : {-3.0, -1.0, 0.0, 1.0, 3.0})
      for (const double step : {1e-3, 1e-4, 1e-5}) {
        rod_rebounds<2>(tilt, slide, step);
        rod_rebounds<3>(tilt, slide, step);
      }
}

TEST(Tunnelling, FastCubeDoesNotPassAThinWall) {
  for (const Response response : {Response::decomposition, Response::exact})
    for (const double start : {0.3, 0.3123, 0.33}) {
      World<3> world;
      world.bodies = {fixed_body<3>("wall", {geometry::box(0.001, 0.5, 0.5)}), cube<3>("cube", 0.05)};
      std::vector<Pose<3>> poses(2);
      poses[1].position = {-start, 0.02, 0.01};
      std::vector<Twist<3>> twists(2, Twist<3>::Zero());
      twists[1][0] = 50.0;
      Simulation<3> simulation(world, with(response, 0.001));
      simulation.start(poses, twists);
      double furthest = -1.0;
      const auto end = simulation.run(0.02, [&](const auto& s) {
        furthest = std::max(furthest, s.poses()[1].position[0]);
        return false;
      });
      ASSERT_EQ(end.status, Outcome::reached) << end.reason;
      EXPECT_LE(furthest, -0.0255 + 1e-9);
      EXPECT_NEAR(simulation.twists()[1][0], -50.0, 1e-9);
    }
}

}  // namespace
}  // namespace dodyn::rigid::test_collisions
