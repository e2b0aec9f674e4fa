// Feedback along dipole lines (Johnson 2013, section 4.5) against closed forms, differences and conservation laws.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <numbers>

#include "rigid/anderson_acceleration.hpp"
#include "rigid/controller.hpp"
#include "rigid/simulation.hpp"

namespace dodyn::rigid::test_control {
namespace {

constexpr double pi = std::numbers::pi;

// A 3U craft, 0.1 x 0.1 x 0.3 m, 1.2 kg: 0.002 kg m^2 about its long axis, x, 0.01 about the others.
template <int n>
World<n> craft() {
  World<n> world;
  Body<n> body;
  body.name = "craft";
  body.mass = 1.2;
  if constexpr (n == 2)
    body.euler_tensor = 0.5 * 0.01 * Matrix<2>::Identity();
  else
    body.euler_tensor = Vector<3>(0.009, 0.001, 0.001).asDiagonal();
  world.bodies = {body};
  return world;
}

Options free_flight(double step) {
  Options options;
  options.step = step;
  options.response = Response::none;
  return options;
}

// Returns a world with one body, which a feedback law moves to a constant pose and keeps there.
template <int n>
World<n> held_by(ControlLaw law, const Desired& aim = {}) {
  auto world = craft<n>();
  const MassProperties body{
      1.2, n == 2 ? Matrix<3>(0.01 * Matrix<3>::Identity()) : Matrix<3>(Vector<3>(0.002, 0.01, 0.01).asDiagonal())};
  world.forces.push_back([=](double, Frames<n> at, std::span<const Twist<n>> twist, std::span<Twist<n>> wrench) {
    BodyState state;
    state.position.head<n>() = at[0].position;
    state.velocity.head<n>() = twist[0].template head<n>();
    if constexpr (n == 2) {
      state.attitude.topLeftCorner<2, 2>() = at[0].directors;
      state.spin[2] = twist[0][2];
    } else {
      state.attitude = nearest_rotation(at[0].directors);
      state.spin = state.attitude.transpose() * twist[0].template tail<3>();
    }
    const Command give = command(law, body, state, aim);
    wrench[0].template head<n>() += give.force.template head<n>();
    if constexpr (n == 2)
      wrench[0][2] += give.torque[2];
    else
      wrench[0].template tail<3>() += state.attitude * give.torque;
  });
  return world;
}

TEST(Attitude, RetractionsInvert) {
  for (const auto map : {Retraction::exponential, Retraction::cayley}) {
    const Vector<3> xi(0.4, -0.9, 0.3);
    const Matrix<3> R = rotation(map, xi);
    EXPECT_NEAR((R * R.transpose() - Matrix<3>::Identity()).norm(), 0.0, 1e-14);
    EXPECT_NEAR((attitude_error(map, R).vector - xi).norm(), 0.0, 1e-13);
  }
}

TEST(Attitude, HalfATurnIsReportedAndFinite) {
  for (const auto map : {Retraction::exponential, Retraction::cayley})
    for (const double angle : {pi, pi - 1e-9, pi - 1e-4}) {
      const auto e = attitude_error(map, exponential(Vector<3>(0.0, angle, 0.0)));
      EXPECT_TRUE(e.vector.allFinite());
      EXPECT_NEAR(e.angle, angle, 1e-7);
    }
}

// Returns the time along a field line from (r0, theta0) to the distance r1 < r0 from the dipole, s; theta0 < pi.
// Uses dr/dt = -2 eta cos(theta) and sin^2(theta) = s^2 r/r0, s = sin(theta0). A line that begins behind the dipole's
// equator first leads out to r0/s^2; cos(theta0) has its sign.
double dipole_line_time(double r0, double theta0, double r1, double speed) {
  const double s = std::sin(theta0), s2 = s * s;
  // (sqrt(1 - s2 r1/r0) - cos)/s2 without cancellation near the axis
  const double end = std::sqrt(1.0 - s2 * r1 / r0), start = std::cos(theta0);
  if (start > 0.0) return r0 / speed * (1.0 - r1 / r0) / (end + start);
  return r0 / (speed * s2) * (end - start);
}

// Along a field line sin^2(theta) = sin^2(theta0) r/r0, and the time along it has a closed form. The dipole is in the
// receiver's centre, and the port is 0.3 m from it. So a line that starts at 0.6 m, 10 degrees off the axis, misses the
// port by 37 mm.
TEST(DipoleCurve, FollowsTheLineInTheTimeOfTheClosedForm) {
  for (const double theta0 : {10.0 * pi / 180.0, 45.0 * pi / 180.0, 120.0 * pi / 180.0}) {
    DipoleCurveOptions options;
    options.dock = {0.3, 0.0, 0.0};
    options.behind = 0.3;  // dipole in the receiver's centre
    DipoleCurve curve(options);
    const double r0 = 0.6, r1 = 0.5;
    curve.start(2.0, r0 * Vector<3>(std::cos(theta0), 0.0, std::sin(theta0)));
    const double time = dipole_line_time(r0, theta0, r1, options.speed);
    for (int k = 1; k <= 1000; ++k) curve.pass(2.0 + time * k / 1000.0);
    const Vector<3> at = curve.at(2.0 + time).position;
    EXPECT_NEAR(at.norm(), r1, 1e-9);
    EXPECT_NEAR(at[2] / at.norm(), std::sin(theta0) * std::sqrt(r1 / r0), 1e-9);
    EXPECT_EQ(at[1], 0.0);
  }
  const double beside = 0.3 * std::sin(10.0 * pi / 180.0) * std::sqrt(0.5);
  EXPECT_NEAR(beside, 0.037, 0.0005);
  // by quadrature: dr/dt = -2 eta cos(theta)
  const double theta0 = 0.9, r0 = 0.5, r1 = 0.2;
  double sum = 0.0;
  const int count = 20000;
  for (int k = 0; k < count; ++k) {
    const double r = r1 + (k + 0.5) / count * (r0 - r1);
    sum += (r0 - r1) / count / (2.0 * 0.03 * std::sqrt(1.0 - std::pow(std::sin(theta0), 2) * r / r0));
  }
  EXPECT_NEAR(dipole_line_time(r0, theta0, r1, 0.03), sum, 1e-7);
}

TEST(DipoleCurve, DerivativesAreThoseOfDifferences) {
  for (const double leg : {0.0, 0.12})
    for (const int roll : {2, 3}) {
      DipoleCurveOptions options;
      options.axis = Vector<3>(0.8, 0.6, 0.0);
      options.dock = Vector<3>(0.25, 0.2, 0.01);
      options.behind = leg > 0.0 ? -0.02 : 0.1;
      options.last_leg = leg;
      options.roll = roll;
      DipoleCurve curve(options);
      curve.start(0.0, options.dock + 0.3 * options.axis + Vector<3>(-0.06, 0.08, 0.07));
      // with a leg, also during the transition between the lines of the dipole and the leg
      for (const double t : {0.3, 1.1, 2.0, 2.6, 3.0}) {
        const double h = 3e-5;
        const Desired a = curve.at(t - h), b = curve.at(t), c = curve.at(t + h);
        ASSERT_FALSE(c.docked);
        EXPECT_NEAR((b.velocity - (c.position - a.position) / (2 * h)).norm(), 0.0, 1e-7);
        EXPECT_NEAR((b.acceleration - (c.velocity - a.velocity) / (2 * h)).norm(), 0.0, 1e-6);
        EXPECT_NEAR((b.attitude.transpose() * b.attitude - Matrix<3>::Identity()).norm(), 0.0, 1e-13);
        EXPECT_NEAR((b.attitude.col(0) - b.velocity.normalized()).norm(), 0.0, 1e-13);
        EXPECT_NEAR((b.spin - logarithm(a.attitude.transpose() * c.attitude) / (2 * h)).norm(), 0.0, 1e-5);
        EXPECT_NEAR((b.spin_rate - (c.spin - a.spin) / (2 * h)).norm(), 0.0, 1e-5);
      }
      const Matrix<3> R = curve.docked_attitude();
      EXPECT_NEAR((R.col(0) + options.axis).norm() + std::abs(R.determinant() - 1.0), 0.0, 1e-14);
    }
}

// If the dipole is in the dock, every line ends there. If it is in the receiver's centre, only the axis does. A last
// leg then leads the other lines to the axis.
TEST(DipoleCurve, EndsAtTheDockWhereTheDipoleSitsThereOrALegLeads) {
  const auto beside = [](double behind, double leg) {  // distance from the dock at the end
    DipoleCurveOptions options;
    options.dock = {0.3, 0.0, 0.0};
    options.behind = behind;
    options.last_leg = leg;
    DipoleCurve curve(options);
    curve.start(0.0, 0.6 * Vector<3>(std::cos(0.3), std::sin(0.3), 0.0));
    Vector<3> last = Vector<3>::Zero();
    for (double t = 0.0; t < 20.0; t += 1e-3) {
      curve.pass(t);
      const Desired now = curve.at(t);
      if (now.docked) return (last - options.dock).norm();
      last = now.position;
    }
    return 1e9;
  };
  EXPECT_LT(beside(0.0, 0.0), 2e-4);  // within a step of it
  EXPECT_GT(beside(0.3, 0.0), 0.05);
  EXPECT_LT(beside(0.0, 0.1), 2e-3);
  EXPECT_LT(beside(0.3, 0.1), 5e-3);
}

TEST(DipoleCurve, RefusesWhereNoCurveLeadsToThePort) {
  DipoleCurveOptions options;
  options.dock = {0.3, 0.0, 0.0};
  options.behind = 0.3;
  const DipoleCurve curve(options);
  EXPECT_NE(curve.refuses({-0.5, 0.0, 0.0}), "");
  EXPECT_NE(curve.refuses({0.1, 0.0, 0.0}), "");
  EXPECT_EQ(curve.refuses({-0.5, 0.1, 0.0}), "");
  EXPECT_EQ(curve.refuses({0.5, 0.1, 0.0}), "");
  options.behind = -0.1;  // ahead of the dock
  EXPECT_THROW(DipoleCurve{options}, std::invalid_argument);
}

// M s^2 + k_v s + k_phi and J s^2 + k_omega s + k_R with the published gains.
TEST(ControlLaw, ErrorsDecayWithThePolesOfTheClosedLoop) {
  const auto decay = [](double fast, double slow, double t) {  // from 1 at rest
    return (fast * std::exp(slow * t) - slow * std::exp(fast * t)) / (fast - slow);
  };
  const ControlLaw law;
  Simulation<2> plane(held_by<2>(law), free_flight(1e-3));
  Pose<2> at;
  at.position = {0.01, -0.02};
  at.angle = 1e-4;
  plane.start(std::vector{at}, std::vector{Twist<2>(Twist<2>::Zero())});
  plane.run(2.0);
  EXPECT_NEAR(plane.poses()[0].position[0], 0.01 * decay(-7.8730, -0.12702, 2.0), 1e-7);
  EXPECT_NEAR(plane.poses()[0].position[1], -0.02 * decay(-7.8730, -0.12702, 2.0), 2e-7);
  EXPECT_NEAR(plane.poses()[0].angle, 1e-4 * decay(-26.180, -3.8197, 2.0), 1e-9);

  Simulation<3> space(held_by<3>(law), free_flight(1e-3));
  for (const int axis : {0, 1}) {
    Pose<3> pose;
    pose.directors = exponential(1e-4 * Vector<3>::Unit(axis));
    space.start(std::vector{pose}, std::vector{Twist<3>(Twist<3>::Zero())});
    space.run(0.5);
    const double expected = axis == 0 ? decay(-146.59, -3.4109, 0.5) : decay(-26.180, -3.8197, 0.5);
    EXPECT_NEAR(logarithm(space.poses()[0].directors)[axis], 1e-4 * expected, 1e-8);
  }
}

TEST(ControlLaw, AConstantDisturbanceLeavesItsShareOfTheGain) {
  auto world = held_by<3>(ControlLaw{});
  world.forces.push_back([](double, Frames<3>, std::span<const Twist<3>>, std::span<Twist<3>> wrench) {
    wrench[0].head<3>() += Vector<3>(0.006, -0.003, 0.0);
  });
  Simulation<3> simulation(world, free_flight(1e-2));
  simulation.start(std::vector{Pose<3>{}}, std::vector{Twist<3>(Twist<3>::Zero())});
  simulation.run(180.0);
  EXPECT_NEAR((simulation.poses()[0].position - Vector<3>(0.005, -0.0025, 0.0)).norm(), 0.0, 1e-9);
}

// Acceleration finds the fixed point of a linear contraction with three rates in four iterates; plain iteration needs
// hundreds. A nonlinear contraction converges, too.
TEST(AndersonAcceleration, FindsAFixedPointInAsManyIteratesAsThereAreRates) {
  Eigen::MatrixXd turn = Eigen::MatrixXd::Random(6, 6).householderQr().householderQ();
  const Eigen::VectorXd rates = (Eigen::VectorXd(6) << 0.9, 0.9, -0.5, -0.5, 0.15, 0.15).finished();
  const Eigen::MatrixXd A = turn * rates.asDiagonal() * turn.transpose();
  const Eigen::VectorXd b = Eigen::VectorXd::LinSpaced(6, 1.0, 2.0),
                        exact = (Eigen::MatrixXd::Identity(6, 6) - A).inverse() * b;
  for (const double bend : {0.0, 0.02}) {
    const auto map = [&](const Eigen::VectorXd& x) -> Eigen::VectorXd {
      return A * x + b + bend * (x - exact).array().sin().matrix();
    };
    AndersonAcceleration acceleration(3);
    for (int run = 0; run < 2; ++run) {
      acceleration.restart(6);
      Eigen::VectorXd x = Eigen::VectorXd::Zero(6);
      for (int k = 0; k < (bend == 0.0 ? 5 : 60); ++k) acceleration.next(x, map(x));
      EXPECT_LT((x - exact).norm(), 1e-11) << bend;
    }
  }
}

ControllerOptions to_dock(double behind) {
  ControllerOptions options;
  options.curve.dock = {0.3, 0.0, 0.0};
  options.curve.behind = behind;
  return options;
}

template <int n>
Pose<n> turned_around();
template <>
Pose<2> turned_around<2>() {
  return {Vector<2>(0.6, 0.0), pi};
}
template <>
Pose<3> turned_around<3>() {
  return {Vector<3>(0.6, 0.0, 0.0), exponential(pi * Vector<3>::UnitZ())};
}

// From rest on the axis, 0.6 m to 0.3 m between centres, at 2 eta = 0.1 m/s: the curve takes 3 s. At its end the craft
// lags by the rest of its initial velocity error, which decays with the slow pole. In the plane and in space.
template <int n>
void fly_along_the_axis() {
  auto world = craft<n>();
  const auto controller = std::make_shared<Controller<n>>(world, to_dock(0.3));
  world.forces.push_back(StatefulForceAdapter<n>{controller});
  Simulation<n> simulation(world, free_flight(1e-3));
  const std::vector poses{turned_around<n>()};
  const std::vector<Twist<n>> twists{Twist<n>::Zero()};
  simulation.start(poses, twists);
  controller->start(0.0, poses, twists, 1);
  simulation.run(2.9999);
  // the curve is in the dock at 3 s and not before
  const std::vector<geometry::Frame<n>> frames{simulation.poses()[0].frame()};
  EXPECT_FALSE(controller->desired(2.9999999, frames, simulation.twists()).docked);
  EXPECT_TRUE(controller->desired(3.0000001, frames, simulation.twists()).docked);
  EXPECT_NEAR(simulation.time(), 3.0, 1e-9);
  EXPECT_NEAR(simulation.poses()[0].position[0] - 0.3, 8.82e-3, 5e-6);
  EXPECT_NEAR(controller->sums().effort, 0.0585, 5e-5);
}
TEST(Controller, FliesAlongTheAxisAsTheClosedFormSays) {
  fly_along_the_axis<2>();
  fly_along_the_axis<3>();
}

// A craft that starts off the axis, turned away and spinning.
struct Flight {
  std::vector<Pose<3>> poses;
  std::vector<Twist<3>> twists;
};
Flight astray(double turn) {
  Pose<3> pose;
  pose.position = {0.55, 0.15, 0.1};
  pose.directors = exponential(turn * Vector<3>(0.5, 0.7, -0.4).normalized()) * exponential(pi * Vector<3>::UnitZ());
  return {{pose}, {(Twist<3>() << -0.05, 0.02, 0.01, 0.3, -0.2, 0.4).finished()}};
}

// Returns V of Proposition 4.2, J. Its derivative along (4.40) is -k_omega |e_omega|^2 - k_v |e_v|^2.
double lyapunov(const ControlLaw& law, const MassProperties& body, const TrackingError& e) {
  return 0.5 * (e.spin.dot(body.inertia * e.spin) + body.mass * e.velocity.squaredNorm() +
                law.position_gain * e.position.squaredNorm() + law.attitude_gain * e.attitude.squaredNorm());
}

// Proposition 4.2: with feedforward of the curve's accelerations V never grows, and
// V' = -k_omega |e_omega|^2 - k_v |e_v|^2. The test computes V' by a difference over a short continuation of the motion
// by the equations (4.28).
TEST(Controller, TheLyapunovFunctionFallsAsItsFormulaSays) {
  for (const auto map : {Retraction::exponential, Retraction::cayley}) {
    auto world = craft<3>();
    auto options = to_dock(0.05);
    options.law.retraction = map;
    const auto controller = std::make_shared<Controller<3>>(world, options);
    world.forces.push_back(StatefulForceAdapter<3>{controller});
    Simulation<3> simulation(world, free_flight(1e-3));
    const auto [poses, twists] = astray(1.9);
    simulation.start(poses, twists);
    controller->start(0.0, poses, twists, 1);
    const auto& body = controller->mass_properties();
    double first = -1.0, last = 1e9;
    for (int k = 0; k < 2000; ++k) {
      const double t = simulation.time(), h = 1e-6;
      const std::vector frames{simulation.poses()[0].frame()};
      const auto aim = [&](double at) { return controller->desired(at, frames, simulation.twists()); };
      BodyState now{frames[0].position, simulation.twists()[0].head<3>(), frames[0].directors, {}};
      now.spin = now.attitude.transpose() * simulation.twists()[0].tail<3>();
      const auto e = tracking_error(map, now, aim(t));
      const double V = lyapunov(options.law, body, e);
      if (first < 0.0) first = V;
      ASSERT_LE(V, last) << k;
      last = V;
      if (k % 20 == 1) {
        const Command give = command(options.law, body, now, aim(t));
        const Vector<3> turning =
            body.inertia.inverse() * (Vector<3>(body.inertia * now.spin).cross(now.spin) + give.torque);
        const auto later = [&](double s) {
          BodyState state = now;
          state.position += s * now.velocity + 0.5 * s * s / body.mass * give.force;
          state.velocity += s / body.mass * give.force;
          state.attitude = now.attitude * exponential(s * now.spin + 0.5 * s * s * turning);
          state.spin += s * turning;
          return lyapunov(options.law, body, tracking_error(map, state, aim(t + s)));
        };
        const double slope =
            -options.law.spin_gain * e.spin.squaredNorm() - options.law.velocity_gain * e.velocity.squaredNorm();
        EXPECT_NEAR((later(h) - later(-h)) / (2.0 * h), slope, 1e-5 * std::max(1e-3, std::abs(slope))) << k;
      }
      ASSERT_TRUE(simulation.step());
    }
    EXPECT_LT(last, 0.1 * first);
    EXPECT_LT(controller->sums().largest_angle, pi - half_turn_margin);
  }
}

// The body's momenta change by the controller's impulse to round-off (the midpoint integrator's discrete Noether theorem),
// its energy by the controller's work to the order of the step.
TEST(Controller, BooksBalance) {
  double last = 0.0;
  for (const double step : {5e-4, 2.5e-4}) {
    auto world = craft<3>();
    const auto controller = std::make_shared<Controller<3>>(world, to_dock(0.05));
    world.forces.push_back(StatefulForceAdapter<3>{controller});
    Simulation<3> simulation(world, free_flight(step));
    const auto [poses, twists] = astray(0.8);
    simulation.start(poses, twists);
    controller->start(0.0, poses, twists, 1);
    const auto before = simulation.momenta();
    const double energy = simulation.energies().total();
    simulation.run(3.0);
    const auto after = simulation.momenta();
    const auto& sums = controller->sums();
    EXPECT_NEAR((after.linear - before.linear - sums.impulse).norm(), 0.0, 1e-13);
    EXPECT_NEAR((after.angular - before.angular - sums.angular_impulse).norm(), 0.0, 1e-13);
    EXPECT_GT(sums.impulse.norm(), 0.01);
    const double missing = simulation.energies().total() - energy - sums.work;
    EXPECT_LT(std::abs(missing), 1e-3 * std::abs(sums.work));
    if (last != 0.0) {
      EXPECT_NEAR(missing / last, 0.25, 0.05);
    }
    last = missing;
  }
}

TEST(Controller, HoldsCommandsBetweenSamplesAndDelaysThem) {
  auto world = craft<2>();
  auto options = to_dock(0.3);
  options.period = 0.05;
  options.delay = 0.02;
  const auto controller = std::make_shared<Controller<2>>(world, options);
  world.forces.push_back(StatefulForceAdapter<2>{controller});
  Simulation<2> simulation(world, free_flight(1e-3));
  const std::vector poses{turned_around<2>()};
  const std::vector<Twist<2>> twists{Twist<2>::Zero()};
  simulation.start(poses, twists);
  controller->start(0.0, poses, twists, 1);
  int changes = 0;
  Vector<3> last = Vector<3>::Zero();
  for (int k = 0; k < 200; ++k) {
    ASSERT_TRUE(simulation.step());
    const std::vector frames{simulation.poses()[0].frame()};
    const Vector<3> force = controller->commanded(simulation.time(), frames, simulation.twists()).force;
    if (k < 19) {
      EXPECT_EQ(force.norm(), 0.0);
    }
    if ((force - last).norm() > 1e-9) ++changes;
    last = force;
  }
  EXPECT_EQ(changes, 4);
  // the first sample saw a craft at rest: k_v 2 eta
  EXPECT_LT(last[0], 0.0);
  EXPECT_GT(last[0], -9.6 * 0.1);
}

TEST(Controller, NoiseFollowsFromItsSeed) {
  const auto run = [](std::uint64_t seed) {
    auto world = craft<3>();
    auto options = to_dock(0.05);
    options.period = 0.05;
    options.position_noise = 1e-3;
    options.attitude_noise = 0.01;
    const auto controller = std::make_shared<Controller<3>>(world, options);
    world.forces.push_back(StatefulForceAdapter<3>{controller});
    Simulation<3> simulation(world, free_flight(2e-3));
    const auto [poses, twists] = astray(0.3);
    simulation.start(poses, twists);
    controller->start(0.0, poses, twists, seed);
    simulation.run(1.0);
    return simulation.poses()[0].position;
  };
  EXPECT_EQ(run(3), run(3));
  EXPECT_NE(run(3), run(4));
  EXPECT_LT((run(3) - run(4)).norm(), 1e-2);
}

TEST(Controller, SaturatesAndPlansAgain) {
  auto world = craft<3>();
  auto options = to_dock(0.05);
  options.law.largest_force = 0.02;
  options.replan = 0.02;
  const auto controller = std::make_shared<Controller<3>>(world, options);
  world.forces.push_back(StatefulForceAdapter<3>{controller});
  Simulation<3> simulation(world, free_flight(2e-3));
  const auto [poses, twists] = astray(0.3);
  simulation.start(poses, twists);
  controller->start(0.0, poses, twists, 1);
  while (simulation.time() < 4.0) {
    ASSERT_TRUE(simulation.step());
    const std::vector frames{simulation.poses()[0].frame()};
    ASSERT_LE(controller->commanded(simulation.time(), frames, simulation.twists()).force.norm(), 0.02 + 1e-15);
    const auto aim = controller->desired(simulation.time(), frames, simulation.twists());
    if (!aim.docked) {
      ASSERT_LT((simulation.poses()[0].position - aim.position).norm(), 0.021);
    }
  }
  EXPECT_GT(controller->sums().replanned, 0);
}

TEST(Controller, RefusesWhatCannotBeFlown) {
  auto world = craft<3>();
  const auto refused = [&](const auto& change) {
    ControllerOptions options = to_dock(0.3);
    change(options);
    try {
      Controller<3> controller(world, options);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refused([](auto&) {}), "");
  for (double ControlLaw::*gain :
       {&ControlLaw::position_gain, &ControlLaw::velocity_gain, &ControlLaw::attitude_gain, &ControlLaw::spin_gain})
    for (const double wrong : {0.0, -1.0})
      EXPECT_NE(refused([&](auto& o) { o.law.*gain = wrong; }).find("is not positive; allowed: more than 0"),
                std::string::npos);
  EXPECT_EQ(
      refused([](auto& o) { o.law.position_gain = o.law.velocity_gain = o.law.attitude_gain = o.law.spin_gain = 0.0; }),
      "");
  // bodies by their numbers
  const int count = static_cast<int>(world.bodies.size());
  const std::string missing = "a controller flies a body to another one that does not exist";
  for (const int body : {-1, count, count + 1}) EXPECT_EQ(refused([&](auto& o) { o.body = body; }), missing) << body;
  for (const int receiver : {-2, count, 0})
    EXPECT_EQ(refused([&](auto& o) { o.receiver = receiver; }), missing) << receiver;
  EXPECT_NE(refused([](auto& o) { o.law.largest_force = 0.0; }), "");
  EXPECT_NE(refused([](auto& o) { o.law.largest_torque = 0.0; }), "");
  // noise and delay require commands with a sample period
  for (double ControllerOptions::*of_samples :
       {&ControllerOptions::delay, &ControllerOptions::position_noise, &ControllerOptions::attitude_noise,
        &ControllerOptions::velocity_noise, &ControllerOptions::spin_noise}) {
    EXPECT_NE(refused([&](auto& o) { o.*of_samples = 0.1; }), "");
    EXPECT_EQ(refused([&](auto& o) { o.*of_samples = 0.1, o.period = 0.1; }), "");
  }
  world.bodies[0].fixed = true;
  EXPECT_NE(refused([](auto&) {}).find("does not move, so it cannot be the craft"), std::string::npos);
  world.bodies[0].fixed = false;
  world.bodies.push_back(world.bodies[0]);
  EXPECT_EQ(refused([&](auto& o) { o.receiver = count; }), "");
  world.joints.push_back({Joint<3>::Kind::spherical, 0, count, Vector<3>::Zero(), Vector<3>::Zero(), {}});
  EXPECT_NE(refused([](auto&) {}).find("is joined to another body"), std::string::npos);
  EXPECT_NE(refused([&](auto& o) { o.body = count; }).find("is joined to another body"), std::string::npos);
}

}  // namespace
}  // namespace dodyn::rigid::test_control
