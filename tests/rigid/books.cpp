// The effect of contact on energy, relative to the total: bounces against the closed form, elastic bodies, and the
// energy accounts themselves.
#include <gtest/gtest.h>

#include <cmath>

#include "rigid/simulation.hpp"
#include "scenes.hpp"

namespace dodyn::rigid::test_books {
namespace {

Options with(double step, Restitution restitution = Restitution::newton) {
  Options options;
  options.step = step;
  options.restitution = restitution;
  return options;
}

// Drops a cube flat from 0.5 m. Expects the k-th peak at e^(2k) times that height.
template <int n>
void peaks(double e, const Options& options) {
  SlidingBox box;
  box.speed = 0.0;
  box.height = 0.5;
  box.surface = {e, 0.0};
  const auto scene = sliding_box<n>(box);
  Simulation<n> simulation(scene.world, options);
  simulation.start(scene.poses, scene.twists);
  int count = 0;
  double before = 0.0, last = 0.0;
  simulation.run(20.0, [&](const auto& s) {
    const double z = s.poses()[1].position[n - 1] - 0.5 * box.side;
    if (s.time() > 1.5 * options.step && last > before && last >= z) {
      ++count;
      // top of the parabola through three nodes
      const double a = 0.5 * (z - 2.0 * last + before), b = 0.5 * (z - before), top = last - b * b / (4.0 * a);
      EXPECT_NEAR(top / (box.height * std::pow(e, 2 * count)), 1.0, 1e-4) << "e " << e << " peak " << count;
    }
    before = last;
    last = z;
    return count == 10;
  });
  EXPECT_EQ(count, 10);
}
TEST(Bounce, PeaksFollowTheClosedForm) {
  for (const Restitution law : {Restitution::newton, Restitution::poisson})
    for (const double e : {1.0, 0.8})
      for (const double step : {0.01, 0.001}) peaks<3>(e, with(step, law));
  peaks<2>(0.8, with(0.01));
}

// Polyhedra that fall, turn and knock, elastic and without friction, keep the total energy.
TEST(Elastic, PolyhedraKeepTheirEnergy) {
  for (const int bodies : {1, 7}) {
    FallingPolyhedra f;
    f.bodies = bodies;
    f.surface = {1.0, 0.0};
    const auto scene = falling_polyhedra(f);
    Simulation<3> simulation(scene.world, with(0.002));
    simulation.start(scene.poses, scene.twists);
    const double energy = simulation.energies().total();
    double worst = 0.0;
    const auto end = simulation.run(4.0, [&](const auto& s) {
      worst = std::max(worst, std::abs(s.energies().total() - energy));
      return false;
    });
    ASSERT_EQ(end.status, Outcome::reached) << end.reason;
    EXPECT_GE(simulation.contact_totals().impulses, 10);
    EXPECT_LE(worst, 1e-6 * energy) << bodies;
  }
}

// No run with friction or unequal surfaces gains energy, and the accounts contain the losses.
TEST(StepRecord, BalanceForTheTotal) {
  for (const Restitution law : {Restitution::newton, Restitution::poisson}) {
    FallingPolyhedra f;
    f.surface = {0.6, 0.5};
    auto scene = falling_polyhedra(f);
    for (std::size_t b = 1; b < scene.world.bodies.size(); ++b)
      scene.world.bodies[b].surface.restitution = 0.14 * static_cast<double>(b);
    Simulation<3> simulation(scene.world, with(0.002, law));
    simulation.start(scene.poses, scene.twists);
    const double start = simulation.energies().total();
    double least = start;
    const auto end = simulation.run(3.0, [&](const auto& s) {
      const double now = s.energies().total();
      EXPECT_LE(now, least + 1e-4 * start);
      least = std::min(least, now);
      return false;
    });
    ASSERT_EQ(end.status, Outcome::reached) << end.reason;
    const auto& contact_totals = simulation.contact_totals();
    EXPECT_NEAR(simulation.energies().total() - start, contact_totals.projection.total() + contact_totals.impact,
                1e-6 * start);
    EXPECT_LT(simulation.energies().total(), 0.9 * start);
  }
}

// The energy accounts contain the work of drag and of a driving force, to the order of the steps. The body slides along
// x and rotates, both damped exponentially by drag, and a force cos(t) drives it along y.
class StepRecordOf : public ::testing::TestWithParam<Stepper> {};
TEST_P(StepRecordOf, DragAndDrivingForcesAreEntered) {
  const double mass = 2.0, c = 0.8, angular = 0.3, end = 1.5, speed = 3.0, spin = 4.0;
  double before = 0.0;
  for (const double step : {0.02, 0.01}) {
    World<3> world;
    world.gravity.setZero();
    Body<3> body;
    body.name = "sled";
    body.mass = mass;
    body.euler_tensor = 0.05 * Matrix<3>::Identity();  // inertia 0.1 about any axis
    body.linear_drag = c;
    body.angular_drag = angular;
    world.bodies.push_back(body);
    world.forces.push_back([](double t, Frames<3>, std::span<const Twist<3>>, std::span<Twist<3>> wrench) {
      wrench[0][1] += std::cos(t);
    });
    Options options = with(step);
    options.stepper = GetParam();
    Simulation<3> simulation(std::move(world), options);
    Twist<3> twist = Twist<3>::Zero();
    twist << speed, 0.0, 0.0, 0.0, 0.0, spin;
    simulation.start(std::vector{Pose<3>()}, std::vector{twist});
    const double start = simulation.energies().total();
    ASSERT_EQ(simulation.run(end).status, Outcome::reached);
    const double left = simulation.energies().total() - start - simulation.contact_totals().forces;
    EXPECT_NEAR(simulation.twists()[0][0], speed * std::exp(-c * end / mass), 1e-3);
    EXPECT_NEAR(simulation.twists()[0][5], spin * std::exp(-angular * end / 0.1), 1e-3);
    EXPECT_LT(simulation.contact_totals().forces, -4.0);
    EXPECT_LT(std::abs(left), 2e-3 * std::abs(simulation.contact_totals().forces));
    if (before != 0.0) {
      EXPECT_NEAR(before / left, 4.0, 0.4);
    }
    before = left;
  }
}

INSTANTIATE_TEST_SUITE_P(Steppers, StepRecordOf,
                         ::testing::Values(Stepper::variational, Stepper::newmark_explicit, Stepper::newmark_implicit));

// Bodies at rest neither gain nor lose energy, and the accounts agree: no impact, no work of dampers. The bodies: a
// foot on the floor, and on it a leaning body on a hinge with spring and damper, under drag.
TEST(StepRecord, StandingStillTakesNothing) {
  static constexpr double stiffness = 60.0, damping = 0.5;
  constexpr double drag = 40.0;
  for (const double step : {1e-3, 2e-3}) {
    World<2> world;
    geometry::Frame<2> below;
    below.position[1] = -0.5;
    world.bodies.push_back(fixed_body<2>("floor", {geometry::rectangle(20.0, 1.0).moved(below)}, Vector<2>(0.0, 1.0)));
    world.bodies.push_back(solid<2>("foot", {geometry::rectangle(0.3, 0.04)}, 200.0).body);
    world.bodies.push_back(solid<2>("shank", {geometry::rectangle(0.05, 0.4)}, 200.0).body);
    for (auto& body : world.bodies) body.surface = {0.0, 0.8};
    world.bodies[2].linear_drag = drag;
    world.joints = {{Joint<2>::Kind::revolute, 1, 2, {0.05, 0.02}, {0.03, -0.2}, {}}};
    world.no_contact = {{1, 2}};
    world.gravity = Vector<2>(0.0, -9.81);
    world.potentials.push_back([](Frames<2> q, std::span<ConfigurationGradient<2>> gradient) {
      // k (1 - cos) of the angle between the two: directors' dot product
      const Vector<2> one = q[1].directors.col(1), two = q[2].directors.col(1);
      gradient[1].col(2) -= stiffness * two;
      gradient[2].col(2) -= stiffness * one;
      return stiffness * (1.0 - one.dot(two));
    });
    world.forces.push_back([](double, Frames<2>, std::span<const Twist<2>> twist, std::span<Twist<2>> wrench) {
      const double torque = damping * (twist[2][2] - twist[1][2]);
      wrench[1][2] += torque;
      wrench[2][2] -= torque;
    });
    Simulation<2> simulation(world, with(step));
    std::vector<Pose<2>> poses(3);
    poses[1].position[1] = 0.02;
    poses[2].position = Vector<2>(0.05 - 0.03, 0.04 + 0.2);
    simulation.start(poses, std::vector<Twist<2>>(3, Twist<2>::Zero()));
    const double start = simulation.energies().total();
    ASSERT_EQ(simulation.run(4.0).status, Outcome::reached) << simulation.outcome().reason;
    const auto settled = simulation.contact_totals();
    const double energy = simulation.energies().total();
    EXPECT_LT(simulation.energies().kinetic, 1e-12);
    EXPECT_LT(settled.forces, -1e-2);  // it swung before it came to rest
    EXPECT_NEAR(energy - start, settled.projection.total() + settled.impact + settled.forces, 2e-3 * -settled.forces);
    ASSERT_EQ(simulation.run(10.0).status, Outcome::reached) << simulation.outcome().reason;
    const auto& contact_totals = simulation.contact_totals();
    // energy that gravity would add in six seconds without support: weight times the speed that a step adds, times 6 s
    const double turnover = (world.bodies[1].mass + world.bodies[2].mass) * 9.81 * 9.81 * step * 6.0;
    EXPECT_LT(std::abs(simulation.energies().total() - energy), 1e-5 * turnover);
    EXPECT_LT(std::abs(contact_totals.impact - settled.impact), 1e-5 * turnover);
    EXPECT_LT(std::abs(contact_totals.forces - settled.forces), 1e-6 * turnover);
    EXPECT_LT(std::abs(contact_totals.projection.total() - settled.projection.total()), 1e-3 * turnover);
  }
}

// The contact impulses of a step, divided by its length, carry the weight of resting bodies.
template <int n>
void carries() {
  const auto scene = stack<n>({.boxes = 3});
  Simulation<n> simulation(scene.world, with(0.002));
  simulation.start(scene.poses, scene.twists);
  ASSERT_EQ(simulation.run(0.2).status, Outcome::reached);
  std::vector<Vector<n>> force(scene.world.bodies.size(), Vector<n>::Zero());
  for (const auto& contact : simulation.impulses()) {
    EXPECT_GE(contact.normal.dot(contact.impulse), 0.0);
    force[contact.body[0]] += contact.impulse / 0.002;
    force[contact.body[1]] -= contact.impulse / 0.002;
  }
  double weight = 0.0;
  for (std::size_t b = 1; b < force.size(); ++b) {
    const Vector<n> own = scene.world.bodies[b].mass * scene.world.gravity;
    EXPECT_LE((force[b] + own).norm(), 1e-8 * own.norm());
    weight += own[n - 1];
  }
  EXPECT_NEAR(force[0][n - 1], weight, -1e-8 * weight);
}
TEST(Impulses, CarryTheWeight) {
  carries<2>();
  carries<3>();
}

// One block at speed 1 strikes two blocks at rest that touch each other; m = 1 each. Compression brings all to the
// speed 1/3, by the impulses 2/3 and 1/3. With e = 1/2 in both contacts, both laws give the speeds 0, 1/2, 1/2. With
// e = 1/2 in the first and sqrt(1/2) in the second contact, Newton's law keeps the two together, because they did not
// approach each other. Poisson's law adds the impulse e/3 to the last one.
TEST(Restitution, LawsDifferWhereTheyShould) {
  for (const Restitution law : {Restitution::newton, Restitution::poisson}) {
    World<2> world;
    std::vector<Pose<2>> poses(3);
    std::vector<Twist<2>> twists(3, Twist<2>::Zero());
    for (int i = 0; i < 3; ++i) {
      world.bodies.push_back(solid<2>("block", {geometry::rectangle(0.2, 0.2)}, 25.0).body);
      world.bodies[i].surface.restitution = 0.5;
      poses[i].position[0] = 0.2 * i;
    }
    poses[0].position[0] = -0.1;
    twists[0][0] = 1.0;
    Simulation<2> simulation(world, with(0.01, law));
    simulation.start(poses, twists);
    simulation.run(0.3);
    EXPECT_NEAR(simulation.twists()[0][0], 0.0, 1e-9);
    EXPECT_NEAR(simulation.twists()[1][0], 0.5, 1e-9);
    EXPECT_NEAR(simulation.twists()[2][0], 0.5, 1e-9);
    world.bodies[2].surface.restitution = 1.0;
    Simulation<2> unequal(world, with(0.01, law));
    unequal.start(poses, twists);
    unequal.run(0.3);
    const double e = std::sqrt(0.5);
    if (law == Restitution::newton) {
      EXPECT_NEAR(unequal.twists()[2][0] - unequal.twists()[1][0], 0.0, 1e-9);
    } else {
      EXPECT_NEAR(unequal.twists()[2][0], (1.0 + e) / 3.0, 1e-9);
      EXPECT_NEAR(unequal.twists()[1][0], 1.0 - (1.0 + e) / 3.0, 1e-9);
    }
    EXPECT_NEAR(unequal.twists()[0][0], 0.0, 1e-9);
  }
}

}  // namespace
}  // namespace dodyn::rigid::test_books
