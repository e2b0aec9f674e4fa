// Stacks, islands of many points with friction, against statics: a stable stack rests, its contact forces carry the
// weight inside the friction cones, an unstable one topples, and on a slope a stack slides like one block.
#include <gtest/gtest.h>

#include <cmath>

#include "rigid/simulation.hpp"
#include "scenes.hpp"

namespace dodyn::rigid::test_stacks {
namespace {

constexpr double step = 2e-3, side = 0.1;

Options options() {
  Options o;
  o.step = step;
  return o;
}

// `boxes` on a floor, each moved along x by `shift` from the one below.
template <int n>
Scene<n> leaning(int boxes, double shift) {
  auto scene = stack<n>({.boxes = boxes, .side = side, .offset = 0.0});
  for (int i = 0; i < boxes; ++i) scene.poses[i + 1].position[0] = i * shift;
  return scene;
}

// Forces of contact balance weight, in force and in torque, inside Coulomb's cones.
template <int n>
void stands(int boxes, double seconds) {
  const auto scene = stack<n>({.boxes = boxes, .side = side});
  Simulation<n> simulation(scene.world, options());
  simulation.start(scene.poses, scene.twists);
  const double energy = simulation.energies().total();
  double moved = 0.0, gained = 0.0, fastest = 0.0;
  const auto end = simulation.run(seconds, [&](const auto& s) {
    for (int b = 1; b <= boxes; ++b) {
      moved = std::max(moved, (s.poses()[b].position - scene.poses[b].position).norm());
      fastest = std::max(fastest, s.twists()[b].template head<n>().norm());
    }
    gained = std::max(gained, s.energies().total() - energy);
    return false;
  });
  ASSERT_EQ(end.status, Outcome::reached) << end.reason;
  EXPECT_LE(moved, 1e-7);
  EXPECT_LE(fastest, 1e-5);  // m/s; gravity gives 0.02 in a step
  EXPECT_LE(gained, 1e-9);
  EXPECT_LE(simulation.contact_totals().residual, 1e-9);

  std::vector<Vector<n>> force(boxes + 1, Vector<n>::Zero());
  std::vector<Spin<n>> moment(boxes + 1, Spin<n>::Zero());
  const double mu = scene.world.bodies[1].surface.friction;
  for (const auto& contact : simulation.impulses()) {
    const Vector<n> f = contact.impulse / step;
    const double normal = f.dot(contact.normal);
    EXPECT_GE(normal, 0.0);
    EXPECT_LE((f - normal * contact.normal).norm(), mu * normal * (1.0 + 1e-9) + 1e-9);
    for (int k = 0; k < 2; ++k) {
      const int b = contact.body[k];
      const Vector<n> own = k == 0 ? f : Vector<n>(-f);
      force[b] += own;
      const Vector<n> arm = contact.point - simulation.poses()[b].position;
      if constexpr (n == 2)
        moment[b][0] += arm[0] * own[1] - arm[1] * own[0];
      else
        moment[b] += arm.cross(own);
    }
  }
  for (int b = 1; b <= boxes; ++b) {
    const Vector<n> weight = scene.world.bodies[b].mass * scene.world.gravity;
    EXPECT_LE((force[b] + weight).norm(), 1e-6 * boxes * weight.norm()) << b;
    EXPECT_LE(moment[b].norm(), 1e-6 * boxes * weight.norm() * side) << b;
  }
  EXPECT_NEAR(force[0][n - 1], boxes * scene.world.bodies[1].mass * scene.world.gravity[n - 1], 1e-5);
}
TEST(Stack, OfManyBoxesStands) {
  stands<2>(20, 2.0);
  stands<2>(100, 1.0);
  stands<3>(7, 10.0);
  stands<3>(20, 2.0);
  stands<3>(100, 0.5);
}

// The boxes above any one have their centre of mass over it while shift < side / boxes.
TEST(Stack, TopplesWhereItsCentreOfMassLeavesItsBase) {
  constexpr int boxes = 10;
  for (const double share : {0.98, 1.02}) {
    const auto scene = leaning<3>(boxes, share * side / boxes);
    Simulation<3> simulation(scene.world, options());
    simulation.start(scene.poses, scene.twists);
    ASSERT_EQ(simulation.run(1.0).status, Outcome::reached);
    const double moved = (simulation.poses()[boxes].position - scene.poses[boxes].position).norm();
    if (share < 1.0)
      EXPECT_LE(moved, 1e-7);
    else
      EXPECT_GE(moved, 1e-3);
  }
}

// On a slope a stack stays where tan(slope) < mu, or slides as one block with g (sin - mu cos); the boxes keep
// together.
TEST(Stack, SlidesAsABlock) {
  constexpr int boxes = 8;
  constexpr double mu = 0.05;
  for (const double slope : {0.04, 0.08}) {
    auto scene = leaning<3>(boxes, 0.0);
    scene.world.gravity = 9.81 * Vector<3>(std::sin(slope), 0.0, -std::cos(slope));
    scene.world.bodies[0].surface.friction = mu * mu / scene.world.bodies[1].surface.friction;
    Simulation<3> simulation(scene.world, options());
    simulation.start(scene.poses, scene.twists);
    ASSERT_EQ(simulation.run(0.5).status, Outcome::reached);
    const double speed = 0.5 * std::max(0.0, 9.81 * (std::sin(slope) - mu * std::cos(slope)));
    for (int b = 1; b <= boxes; ++b) {
      EXPECT_NEAR(simulation.twists()[b][0], speed, 1e-7) << slope;
      EXPECT_LE((simulation.twists()[b] - speed * Twist<3>::Unit(0)).norm(), 1e-6) << slope;
    }
  }
}

// A box at rest is less than g h^2/2, the fall in one step, above the floor, whatever the height and angle from which
// it fell (docs/measured/contact.md).
TEST(Resting, IsWithinTheFallOfAStepOfTheFloor) {
  for (const double h : {1e-3, 2e-3, 4e-3})
    for (int trial = 0; trial < 12; ++trial) {
      auto scene = leaning<2>(1, 0.0);
      scene.poses[1].position[1] += 0.01 + 0.0026 * trial;
      scene.poses[1].angle = trial % 2 ? 0.02 * trial : 0.0;
      Options o;
      o.step = h;
      Simulation<2> simulation(scene.world, o);
      simulation.start(scene.poses, scene.twists);
      const auto end = simulation.run(3.0);
      ASSERT_EQ(end.status, Outcome::reached) << end.reason;
      double lowest = 1.0;
      for (const auto& corner : scene.world.bodies[1].parts[0].corners())
        lowest = std::min(lowest, simulation.poses()[1].frame()(corner)[1]);
      EXPECT_LE(simulation.twists()[1].norm(), 1e-6) << h << ' ' << trial;
      EXPECT_GE(lowest, -2.0 * o.tolerance) << h << ' ' << trial;
      EXPECT_LT(lowest, 0.5 * 9.81 * h * h) << h << ' ' << trial;
    }
}

// A box comes to rest by ever smaller bounces; event-driven contact names the method for it.
TEST(Resting, EndsEventDrivenContactWithAdvice) {
  for (int trial = 0; trial < 6; ++trial) {
    auto scene = leaning<2>(1, 0.0);
    scene.poses[1].position[1] += 0.02;
    scene.poses[1].angle = 0.05 * trial;
    for (auto& body : scene.world.bodies) body.surface = {.restitution = 0.5, .friction = 0.0};
    Options o = options();
    o.response = Response::exact;
    Simulation<2> simulation(scene.world, o);
    simulation.start(scene.poses, scene.twists);
    const auto end = simulation.run(3.0);
    EXPECT_EQ(end.status, Outcome::failed);
    EXPECT_NE(end.reason.find("which contact-method event-driven does not support; choose projection"),
              std::string::npos)
        << end.reason;
  }
}

}  // namespace
}  // namespace dodyn::rigid::test_stacks
