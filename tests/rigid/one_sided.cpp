// One-sided constraints: ropes, stops and planes as functions of the configuration, against closed forms.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "rigid/equilibrium_test.hpp"
#include "rigid/simulation.hpp"

namespace dodyn::rigid::test_one_sided {
namespace {

constexpr double gravity = 9.81;

// A body without shape: mass m (kg), moment of inertia J (kg m^2) about every axis.
template <int n>
Body<n> ball(const std::string& name, double m, double J) {
  Body<n> body;
  body.name = name;
  body.mass = m;
  body.euler_tensor = 0.5 * J * Matrix<n>::Identity();
  return body;
}

// A rope of this length from a point of the world to a point of a body (body coordinates).
template <int n>
OneSidedConstraint<n> rope(const std::string& name, int body, const Vector<n>& at, const Vector<n>& from, double length,
                           double restitution) {
  OneSidedConstraint<n> constraint;
  constraint.name = name;
  constraint.bodies = {body};
  constraint.restitution = restitution;
  constraint.gap = [=](std::span<const Pose<n>> poses, std::span<Twist<n>> gap, std::span<Twist<n>> slip) {
    const auto frame = poses[body].frame();
    const Vector<n> arm = frame.directors * at, reach = frame.position + arm - from;
    const double distance = reach.norm();
    if (!gap.empty()) {
      const Vector<n> u = reach / distance;
      gap[0].template head<n>() = -u;
      if constexpr (n == 2)
        gap[0][2] = -(arm[0] * u[1] - arm[1] * u[0]);
      else
        gap[0].template tail<3>() = -arm.cross(u);
      slip[0].setZero();
    }
    return length - distance;
  };
  return constraint;
}

// A floor under the centre of a planar body at this height (m), along x.
OneSidedConstraint<2> floor_under(int body, double height, double restitution, double friction) {
  OneSidedConstraint<2> constraint;
  constraint.name = "floor";
  constraint.bodies = {body};
  constraint.restitution = restitution;
  constraint.friction = friction;
  constraint.gap = [=](std::span<const Pose<2>> poses, std::span<Twist<2>> gap, std::span<Twist<2>> slip) {
    if (!gap.empty()) {
      gap[0] = Twist<2>(0.0, 1.0, 0.0);
      slip[0] = Twist<2>(1.0, 0.0, 0.0);
    }
    return poses[body].position[1] - height;
  };
  return constraint;
}

Options by(Response response, double step) {
  Options options;
  options.response = response;
  options.step = step;
  return options;
}

// A mass falls beside the point that its rope hangs from. When the rope is taut the radial speed becomes -e times itself
// and the tangential one stays: 1/2 m v_r^2 (1 - e^2) is lost.
struct Caught {
  double mass = 2.0, aside = 0.6, length = 1.0, restitution;
  World<2> world;
  explicit Caught(double e) : restitution(e) {
    world.bodies = {ball<2>("mass", mass, 0.1)};
    world.gravity = {0.0, -gravity};
    world.one_sided = {rope<2>("rope", 0, {0.0, 0.0}, {0.0, 0.0}, length, e)};
  }
  double depth() const { return std::sqrt(length * length - aside * aside); }
  double time() const { return std::sqrt(2.0 * depth() / gravity); }
  double radial() const { return gravity * time() * depth() / length; }
  double loss() const { return 0.5 * mass * radial() * radial() * (1.0 - restitution * restitution); }
  Simulation<2> start(const Options& options) const {
    Simulation<2> simulation(world, options);
    const Pose<2> pose{{aside, 0.0}, 0.0};
    const Twist<2> still = Twist<2>::Zero();
    simulation.start({&pose, 1}, {&still, 1});
    return simulation;
  }
};

TEST(Rope, CatchesAFallingMass) {
  for (const double e : {0.0, 0.5, 1.0}) {
    const Caught caught(e);
    for (const double step : {2e-3, 0.7e-3, 0.3e-3}) {
      auto simulation = caught.start(by(Response::decomposition, step));
      const double energy = simulation.energies().total();
      double taut = -1.0;
      const Outcome end = simulation.run(1.0, [&](const auto& s) {
        if (taut < 0.0 && !s.constraint_impulses().empty()) taut = s.time();
        return taut >= 0.0;
      });
      ASSERT_EQ(end.status, Outcome::stopped) << end.reason;
      // The impact acts at the next node: errors are proportional to the time until then, less than a step.
      const double late = taut - caught.time();
      EXPECT_GE(late, 0.0);
      EXPECT_LE(late, step);
      const auto& totals = simulation.contact_totals();
      EXPECT_NEAR(totals.impact, -caught.loss(), 100.0 * late + 1e-9) << e;
      EXPECT_NEAR(simulation.energies().total() - energy, totals.impact + totals.projection.total(), 1e-9);
      EXPECT_NEAR(simulation.energies().total() - energy, -caught.loss(), 100.0 * late + 1e-9) << e;
      const auto p = simulation.constraint_impulses().front();
      EXPECT_EQ(p.body, 0);
      EXPECT_NEAR(p.impulse.head<2>().norm(), caught.mass * caught.radial() * (1.0 + e), 100.0 * late + 1e-9);
    }
    // event-driven: to rounding
    if (e == 0.0) continue;
    auto simulation = caught.start(by(Response::exact, 1e-3));
    const Outcome end = simulation.run(1.0, [&](const auto& s) { return s.contact_totals().impulses > 0; });
    ASSERT_EQ(end.status, Outcome::stopped) << end.reason;
    EXPECT_NEAR(simulation.contact_totals().impact, -caught.loss(), 1e-9) << e;
    // free flight from the place, time and velocity of the impact
    const double after = simulation.time() - caught.time();
    const Vector<2> u(caught.aside / caught.length, -caught.depth() / caught.length);
    const Vector<2> v = Vector<2>(0.0, -gravity * caught.time()) - (1.0 + e) * caught.radial() * u;
    const Vector<2> x = caught.length * u + after * v + Vector<2>(0.0, -0.5 * gravity * after * after);
    EXPECT_LE((simulation.poses()[0].position - x).norm(), 1e-9) << e;
  }
}

// On a taut rope the mass is a pendulum. Its energy decreases in proportion to the step, and the totals contain the loss.
TEST(Rope, IsAPendulumWhileTaut) {
  World<2> world;
  world.bodies = {ball<2>("mass", 2.0, 0.1)};
  world.gravity = {0.0, -gravity};
  world.one_sided = {rope<2>("rope", 0, {0.0, 0.0}, {0.0, 0.0}, 1.0, 0.0)};
  const double angle = 0.8;
  // a quarter of the exact period: K(sin(angle/2)) sqrt(L/g), by the arithmetic-geometric mean
  double a = 1.0, b = std::cos(0.5 * angle);
  for (int k = 0; k < 6; ++k) {
    const double mean = 0.5 * (a + b);
    b = std::sqrt(a * b);
    a = mean;
  }
  const double quarter = 0.5 * std::numbers::pi / a * std::sqrt(1.0 / gravity);
  double last = 0.0, last_drift = 0.0;
  for (const double step : {4e-3, 2e-3, 1e-3}) {
    Simulation<2> simulation(world, by(Response::decomposition, step));
    const Pose<2> pose{{std::sin(angle), -std::cos(angle)}, 0.0};
    const Twist<2> still = Twist<2>::Zero();
    simulation.start({&pose, 1}, {&still, 1});
    const double energy = simulation.energies().total();
    double crossing = -1.0, before = pose.position[0], off = 0.0, drift = 0.0;
    const Outcome end = simulation.run(4.0, [&](const auto& s) {
      const double x = s.poses()[0].position[0];
      if (crossing < 0.0 && x < 0.0) crossing = s.time() - step * x / (x - before);
      before = x;
      off = std::max(off, std::abs(s.poses()[0].position.norm() - 1.0));
      drift = std::max(drift, std::abs(s.energies().total() - energy));
      return false;
    });
    ASSERT_EQ(end.status, Outcome::reached) << end.reason;
    EXPECT_LE(off, gravity * step * step);
    const double error = std::abs(crossing - quarter);
    EXPECT_LE(error, step);
    EXPECT_LE(drift, 170.0 * step) << step;
    if (last_drift > 0.0) {
      EXPECT_LE(drift, 0.55 * last_drift) << step;
    }
    last_drift = drift;
    const auto& totals = simulation.contact_totals();
    EXPECT_NEAR(simulation.energies().total() - energy, totals.impact + totals.projection.total(), 1e-9);
    if (last > 1e-7) {
      EXPECT_LE(error, 0.6 * last) << step;
    }
    last = error;
    double tension = 0.0;
    for (const auto& each : simulation.constraint_impulses()) tension += each.impulse.head<2>().norm() / step;
    const Vector<2> at = simulation.poses()[0].position, v = simulation.twists()[0].head<2>();
    EXPECT_NEAR(tension, 2.0 * (v.squaredNorm() - gravity * at[1]), 20.0 * step + 0.1);
  }
}

// Two ropes catch a mass at once; the mass rests in their corner, and its weight is shared as statics demands.
TEST(Rope, TwoShareAWeight) {
  World<2> world;
  world.bodies = {ball<2>("mass", 2.0, 0.1)};
  world.gravity = {0.0, -gravity};
  world.one_sided = {rope<2>("left", 0, {0.0, 0.0}, {-0.6, 0.0}, 1.0, 0.0),
                     rope<2>("right", 0, {0.0, 0.0}, {0.8, 0.0}, std::sqrt(0.64 + 0.64), 0.0)};
  Simulation<2> simulation(world, by(Response::decomposition, 1e-3));
  const Pose<2> pose{{0.0, -0.3}, 0.0};
  const Twist<2> still = Twist<2>::Zero();
  simulation.start({&pose, 1}, {&still, 1});
  const Outcome end = simulation.run(1.0);
  ASSERT_EQ(end.status, Outcome::reached) << end.reason;
  EXPECT_LE((simulation.poses()[0].position - Vector<2>(0.0, -0.8)).norm(), 1e-6);
  EXPECT_LE(simulation.twists()[0].norm(), 1e-9);
  // left: direction (-0.6, 0.8), right: (0.8, 0.8)/sqrt(1.28)
  Eigen::Matrix2d directions;
  directions << -0.6, 0.8 / std::sqrt(1.28), 0.8, 0.8 / std::sqrt(1.28);
  const Eigen::Vector2d tension = directions.inverse() * Eigen::Vector2d(0.0, 2.0 * gravity);
  ASSERT_EQ(simulation.constraint_impulses().size(), 2u);
  for (const auto& each : simulation.constraint_impulses())
    EXPECT_NEAR(each.impulse.head<2>().norm() / 1e-3, tension[each.constraint], 1e-6);
  EquilibriumTest<2> test(world);
  const std::vector<Pose<2>> poses(simulation.poses().begin(), simulation.poses().end());
  EXPECT_LE(test.unbalanced(poses, 1.0, {1e-6, 1e-6, 1e-3}), 1e-6);
  world.one_sided.pop_back();
  EXPECT_GE(EquilibriumTest<2>(world).unbalanced(poses, 1.0, {1e-6, 1e-6, 1e-3}), 0.1);
}

// A rope off the centre of a spinning body in space: impulse (1 + e) v_n/(1/m + |r x u|^2/J), momentum and angular
// momentum.
TEST(Rope, OffCentreTurnsABodyInSpace) {
  const double m = 1.5, J = 0.02, e = 0.6;
  const Vector<3> at(0.1, -0.05, 0.2), from(0.0, 0.0, 0.0);
  World<3> world;
  world.bodies = {ball<3>("craft", m, J)};
  world.one_sided = {rope<3>("rope", 0, at, from, 2.0, e)};
  const Pose<3> pose{{1.2, 0.3, 0.1}, Matrix<3>::Identity()};
  Twist<3> twist;
  twist << 1.0, 0.4, -0.2, 0.5, -0.8, 0.3;
  for (const auto response : {Response::decomposition, Response::exact}) {
    for (const double step : {2e-3, 0.7e-3, 0.3e-3}) {
      Simulation<3> simulation(world, by(response, step));
      simulation.start({&pose, 1}, {&twist, 1});
      const Outcome end = simulation.run(3.0, [](const auto& s) { return !s.constraint_impulses().empty(); });
      ASSERT_EQ(end.status, Outcome::stopped) << end.reason;
      // the body turns freely at a constant rate before: its place and attitude at the impact by bisection
      const auto reach = [&](double t) {
        const Spin<3> w = twist.tail<3>();
        const Matrix<3> R = Eigen::AngleAxisd(w.norm() * t, w.normalized()).toRotationMatrix();
        return std::pair<Vector<3>, Vector<3>>(pose.position + t * twist.head<3>() + R * at, R * at);
      };
      double low = 0.0, high = 3.0;
      for (int k = 0; k < 60; ++k) {
        const double middle = 0.5 * (low + high);
        (reach(middle).first.norm() < 2.0 ? low : high) = middle;
      }
      const auto [place, arm] = reach(low);
      const Vector<3> u = place.normalized();
      const double fast = (twist.head<3>() + Vector<3>(twist.tail<3>()).cross(arm)).dot(u);
      const double impulse = (1.0 + e) * fast / (1.0 / m + arm.cross(u).squaredNorm() / J);
      const auto given = simulation.constraint_impulses().front().impulse;
      const double error = (given.head<3>() + impulse * u).norm();
      const double late = simulation.time() - low;
      EXPECT_GE(late, 0.0);
      EXPECT_LE(late, 2.0 * step);
      EXPECT_LE(error, response == Response::exact ? 1e-5 : 5.0 * late + 1e-6);
      EXPECT_LE((m * (simulation.twists()[0].head<3>() - twist.head<3>()) - given.head<3>()).norm(), 1e-9);
      EXPECT_LE((J * (simulation.twists()[0].tail<3>() - twist.tail<3>()) - given.tail<3>()).norm(),
                response == Response::exact ? 1e-6 : 0.5 * late + 1e-6);
    }
  }
}

// A body falls on a floor and bounces: each flight lasts e times the one before, and infinitely many end at rest.
TEST(Stop, BouncesAtGeometricTimes) {
  const double height = 0.5, e = 0.6, first = std::sqrt(2.0 * height / gravity);
  World<2> world;
  world.bodies = {ball<2>("mass", 2.0, 0.1)};
  world.gravity = {0.0, -gravity};
  world.one_sided = {floor_under(0, 0.0, e, 0.0)};
  for (const double step : {2e-3, 1e-3, 0.5e-3}) {
    Simulation<2> simulation(world, by(Response::decomposition, step));
    const Pose<2> pose{{0.0, height}, 0.0};
    const Twist<2> still = Twist<2>::Zero();
    simulation.start({&pose, 1}, {&still, 1});
    std::vector<double> times;
    const Outcome end = simulation.run(2.0, [&](const auto& s) {
      if (!s.constraint_impulses().empty()) times.push_back(s.time());
      return false;
    });
    ASSERT_EQ(end.status, Outcome::reached) << end.reason;
    double exact = first, flight = 2.0 * first * e, error = 0.0;
    ASSERT_GE(times.size(), 4u);
    for (std::size_t k = 0; k < 4; ++k, exact += flight, flight *= e)
      error = std::max(error, std::abs(times[k] - exact));
    EXPECT_LE(error, 4.0 * step);
    EXPECT_LE(std::abs(simulation.poses()[0].position[1]), 1e-6);
    EXPECT_LE(simulation.twists()[0].norm(), 1e-9);
    EXPECT_NEAR(simulation.contact_totals().impact + simulation.contact_totals().projection.total(),
                -2.0 * gravity * height, 1e-6);
  }
  Simulation<2> exactly(world, by(Response::exact, 1e-3));
  const Pose<2> pose{{0.0, height}, 0.0};
  const Twist<2> still = Twist<2>::Zero();
  exactly.start({&pose, 1}, {&still, 1});
  const double during = first * (1.0 + e);  // at the top of the first flight
  ASSERT_EQ(exactly.run(during).status, Outcome::reached);
  const double t = exactly.time() - first, up = e * gravity * first;
  EXPECT_NEAR(exactly.poses()[0].position[1], up * t - 0.5 * gravity * t * t, 1e-10);
}

// A mass slides on a floor with friction: it stops after v^2/(2 mu g).
TEST(Friction, StopsASlidingMass) {
  const double mu = 0.3, v = 1.2;
  World<2> world;
  world.bodies = {ball<2>("mass", 2.0, 0.1)};
  world.gravity = {0.0, -gravity};
  world.one_sided = {floor_under(0, 0.0, 0.5, mu)};
  for (const double step : {4e-3, 1e-3}) {
    Simulation<2> simulation(world, by(Response::decomposition, step));
    const Pose<2> pose{{0.0, 0.0}, 0.3};
    const Twist<2> slides(v, 0.0, 0.0);
    simulation.start({&pose, 1}, {&slides, 1});
    const double halt = v / (mu * gravity), when = std::floor(0.5 * halt / step) * step;
    ASSERT_EQ(simulation.run(when).status, Outcome::reached);
    EXPECT_NEAR(simulation.poses()[0].position[0], v * when - 0.5 * mu * gravity * when * when, 1e-9);
    ASSERT_EQ(simulation.run(1.0).status, Outcome::reached);
    EXPECT_NEAR(simulation.poses()[0].position[0], v * v / (2.0 * mu * gravity), 10.0 * step * step);
    EXPECT_LE(simulation.twists()[0].norm(), 1e-9);
    EXPECT_NEAR(simulation.poses()[0].angle, 0.3, 1e-9);
  }
}

// In space a constraint has one direction of sliding: friction acts along it, and the other one is free.
TEST(Friction, InSpaceActsAlongTheSlipAlone) {
  const double mu = 0.3;
  World<3> world;
  world.bodies = {ball<3>("mass", 2.0, 0.1)};
  world.gravity = {0.0, 0.0, -gravity};
  OneSidedConstraint<3> floor;
  floor.name = "floor";
  floor.bodies = {0};
  floor.restitution = 0.0;
  floor.friction = mu;
  floor.gap = [](std::span<const Pose<3>> poses, std::span<Twist<3>> gap, std::span<Twist<3>> slip) {
    if (!gap.empty()) {
      gap[0] = Twist<3>::Unit(2);
      slip[0] = Twist<3>::Unit(0);
    }
    return poses[0].position[2];
  };
  world.one_sided = {floor};
  Simulation<3> simulation(world, by(Response::decomposition, 1e-3));
  const Pose<3> pose;
  Twist<3> slides = Twist<3>::Zero();
  slides.head<3>() = Vector<3>(1.2, 0.7, 0.0);
  simulation.start({&pose, 1}, {&slides, 1});
  ASSERT_EQ(simulation.run(1.0).status, Outcome::reached);
  EXPECT_NEAR(simulation.poses()[0].position[0], 1.2 * 1.2 / (2.0 * mu * gravity), 1e-5);
  EXPECT_NEAR(simulation.poses()[0].position[1], 0.7, 1e-9);
}

// Shapes and a constraint in one island: a box on a floor pulls no more than its rope allows.
TEST(Rope, HoldsABoxThatSlidesOnAFloor) {
  World<2> world;
  auto box = solid<2>("box", {geometry::rectangle(0.2, 0.2)}, 50.0).body;
  box.surface = {0.0, 0.0};
  auto ground = fixed_body<2>("floor", {geometry::rectangle(10.0, 0.2)}, Vector<2>(0.0, 1.0));
  ground.surface = {0.0, 0.0};
  world.bodies = {ground, box};
  world.gravity = {0.0, -gravity};
  world.one_sided = {rope<2>("rope", 1, {0.1, 0.0}, {2.0, 0.1}, 1.5, 0.0)};
  Simulation<2> simulation(world, by(Response::decomposition, 1e-3));
  const std::array<Pose<2>, 2> poses = {Pose<2>{{0.0, -0.1}, 0.0}, Pose<2>{{1.0, 0.1}, 0.0}};
  const std::array<Twist<2>, 2> twists = {Twist<2>::Zero(), Twist<2>(-1.0, 0.0, 0.0)};
  simulation.start(poses, twists);
  ASSERT_EQ(simulation.run(2.0).status, Outcome::reached);
  EXPECT_NEAR(simulation.poses()[1].position[0], 0.4, 1e-6);  // plastic: it stays at the end of the rope
  EXPECT_NEAR(simulation.poses()[1].position[1], 0.1, 1e-6);
  EXPECT_LE(simulation.twists()[1].norm(), 1e-6);
}

TEST(OneSided, RefusesWhatItCannotHonour) {
  World<2> world;
  world.bodies = {ball<2>("mass", 2.0, 0.1)};
  world.one_sided = {rope<2>("rope", 0, {0.0, 0.0}, {0.0, 0.0}, 1.0, 0.5)};
  Simulation<2> simulation(world, by(Response::decomposition, 1e-3));
  const Pose<2> pose{{1.25, 0.0}, 0.0};
  const Twist<2> still = Twist<2>::Zero();
  try {
    simulation.start({&pose, 1}, {&still, 1});
    ADD_FAILURE() << "a rope that is too short was accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "initial state: the gap of 'rope' is -0.25; allowed: 0 or more");
  }
  EXPECT_THROW(Simulation<2>(world, by(Response::penalty, 1e-3)), std::invalid_argument);
  world.one_sided[0].restitution = 1.5;
  EXPECT_THROW(Simulation<2>(world, by(Response::decomposition, 1e-3)), std::invalid_argument);
  world.one_sided[0].restitution = 0.5;
  world.bodies = {ball<2>("one", 1.0, 0.1), ball<2>("two", 1.0, 0.1), ball<2>("three", 1.0, 0.1)};
  world.one_sided[0].bodies = {0, 1, 2};
  EXPECT_THROW(Simulation<2>(world, by(Response::decomposition, 1e-3)), std::invalid_argument);
}

}  // namespace
}  // namespace dodyn::rigid::test_one_sided
