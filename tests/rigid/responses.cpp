// Lasting contacts, agreement of the responses, and the end of a simulation that cannot continue.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "rigid/multibody.hpp"
#include "rigid/simulation.hpp"
#include "scenes.hpp"

namespace dodyn::rigid::test_responses {
namespace {

template <int n>
void stays(int boxes) {
  const auto scene = stack<n>({.boxes = boxes});
  Options options;
  options.step = 2e-3;
  Simulation<n> simulation(scene.world, options);
  simulation.start(scene.poses, scene.twists);
  double drift = 0.0, overlap = -1.0;
  const auto end = simulation.run(10.0, [&](const auto& s) {
    for (std::size_t b = 0; b < scene.poses.size(); ++b) {
      drift = std::max(drift, (s.poses()[b].position - scene.poses[b].position).norm());
      drift = std::max(drift, (s.poses()[b].frame().directors - scene.poses[b].frame().directors).norm() * 0.1);
    }
    overlap = std::max(overlap, s.overlap());
    return false;
  });
  ASSERT_EQ(end.status, Outcome::reached) << end.reason;
  EXPECT_LE(drift, 1e-6);
  EXPECT_LE(overlap, options.tolerance);
}
TEST(Stack, RestsForTenSeconds) {
  stays<2>(5);
  stays<3>(5);
}

TEST(Stack, TouchesWhereRoundingKeepsItOpen) {
  auto scene = stack<3>({.boxes = 3});
  for (double open : {0.0, 1e-15, 1e-12}) {
    for (std::size_t b = 0; b < scene.poses.size(); ++b)
      if (!scene.world.bodies[b].fixed) scene.poses[b].position[2] += open * static_cast<double>(b);
    Simulation<3> simulation(scene.world, {});
    simulation.start(scene.poses, scene.twists);
    EXPECT_EQ(simulation.contacts().size(), 3u) << open;
  }
}

// One square strikes another off centre, at an angle: a corner on an edge, elastic, without friction.
struct Oblique {
  World<2> world;
  std::vector<Pose<2>> poses = {{{0.0, 0.0}, 0.6}, {{0.5, 0.02}, 0.0}};
  std::vector<Twist<2>> twists = {Twist<2>(1.0, 0.1, 0.7), Twist<2>(-0.2, 0.0, -0.4)};
  Oblique() {
    world.bodies = {solid<2>("one", {geometry::rectangle(0.2, 0.2)}, 100.0).body,
                    solid<2>("two", {geometry::rectangle(0.3, 0.2)}, 100.0).body};
  }
  // positions, angles and twists a second later
  Eigen::VectorXd after(Response response, double step, double stiffness) const {
    Options options;
    options.response = response;
    options.step = step;
    options.stiffness = stiffness;
    options.refine = 1.0;
    Simulation<2> simulation(world, options);
    simulation.start(poses, twists);
    EXPECT_EQ(simulation.run(0.6).status, Outcome::reached) << simulation.outcome().reason;
    Eigen::VectorXd x(12);
    for (int b = 0; b < 2; ++b)
      x.segment<6>(6 * b) << simulation.poses()[b].position, simulation.poses()[b].angle, simulation.twists()[b];
    return x;
  }
};

TEST(Responses, AgreeInTheLimit) {
  const Oblique scene;
  const Eigen::VectorXd exact = scene.after(Response::exact, 1e-3, 0.0);
  // planar free flight is exact: so is the exact response with any step
  EXPECT_LE((scene.after(Response::exact, 1e-2, 0.0) - exact).norm(), 1e-9);
  double last = 1e9;
  for (const double h : {1e-3, 1e-4, 1e-5}) {  // the impact comes up to a step late
    const double error = (scene.after(Response::decomposition, h, 0.0) - exact).norm();
    EXPECT_LE(error, 50.0 * h) << h;
    last = std::min(last, error);
  }
  EXPECT_LE(last, 2e-4);
  double before = 1e9;
  for (const double C : {1e4, 1e6, 1e8}) {  // the time of contact falls with C^(-1/2), and the step with it
    const double error = (scene.after(Response::penalty, 1e-3 / std::sqrt(C / 1e4), C) - exact).norm();
    EXPECT_LE(error, 0.35 * before) << C;
    before = error;
  }
  EXPECT_LE(before, 1e-2);
}

// A floor and a wall give the same contacts as two bodies or as parts of one body: each part keeps its own direction.
template <int n>
void corner_of_a_room(Response response, double step) {
  const auto slab = [](const Vector<n>& size, const Vector<n>& at) {
    if constexpr (n == 2)
      return geometry::rectangle(size[0], size[1]).moved({at});
    else
      return geometry::box(size[0], size[1], size[2]).moved({at});
  };
  const Vector<n> up = Vector<n>::Unit(n - 1), out = Vector<n>::Unit(0);
  const auto floor = slab(Vector<n>::Constant(10.0), -5.0 * up), wall = slab(Vector<n>::Constant(10.0), -5.0 * out);
  const auto cube = solid<n>("cube", {slab(Vector<n>::Constant(0.1), Vector<n>::Zero())}, 500.0).body;
  std::array<std::vector<double>, 2> ends;
  for (const bool one_body : {true, false}) {
    World<n> world;
    if (one_body) {
      world.bodies = {fixed_body<n>("room", {floor, wall})};
      world.bodies[0].outward = {up, out};
    } else {
      world.bodies = {fixed_body<n>("floor", {floor}, up), fixed_body<n>("wall", {wall}, out)};
    }
    world.bodies.push_back(cube);
    for (auto& body : world.bodies) body.surface = {0.5, 0.4};
    world.gravity = -9.81 * up;
    Options options;
    options.response = response;
    options.step = step;
    options.stiffness = 2e5;
    Simulation<n> simulation(world, options);
    for (int trial = 0; trial < 5; ++trial) {
      std::vector<Pose<n>> poses(world.bodies.size());
      std::vector<Twist<n>> twists(poses.size(), Twist<n>::Zero());
      poses.back().position = 0.12 * out + (0.12 + 0.02 * trial) * up;
      rotate(poses.back(), Spin<n>(Spin<n>::Constant(0.3 * trial)));
      twists.back().template head<n>() = -0.8 * out;
      twists.back().template tail<Multibody<n>::spin>().setConstant(0.7);
      simulation.start(poses, twists);
      const double start = simulation.energies().total();
      ASSERT_EQ(simulation.run(0.6).status, Outcome::reached) << simulation.outcome().reason;
      EXPECT_LE(simulation.energies().total(), 1.05 * start);
      EXPECT_GE(simulation.poses().back().position[0], 0.04);
      const auto end = simulation.poses().back().frame();
      ends[one_body].insert(ends[one_body].end(), end.position.begin(), end.position.end());
      ends[one_body].insert(ends[one_body].end(), end.directors.reshaped().begin(), end.directors.reshaped().end());
    }
  }
  ASSERT_EQ(ends[0].size(), ends[1].size());
  for (std::size_t i = 0; i < ends[0].size(); ++i) EXPECT_NEAR(ends[0][i], ends[1][i], 1e-6) << i;
}
TEST(Responses, EachPartOfARoomHasItsOwnDirection) {
  corner_of_a_room<2>(Response::decomposition, 2e-3);
  corner_of_a_room<3>(Response::decomposition, 2e-3);
  corner_of_a_room<2>(Response::penalty, 2e-5);
  corner_of_a_room<3>(Response::penalty, 2e-5);
}

// A rod clatters from tip to tip, many times per step. Each overlap must stay below a share of its thickness.
TEST(Responses, ThinRodsClatterToRest) {
  for (const double thickness : {1e-3, 2e-3}) {
    World<3> world;
    world.bodies.push_back(fixed_body<3>("floor", {geometry::box(20.0, 20.0, 1.0)}, Vector<3>(0.0, 0.0, 1.0)));
    world.bodies.push_back(solid<3>("rod", {geometry::box(0.2, thickness, thickness)}, 1000.0).body);
    for (auto& body : world.bodies) body.surface = {0.5, 0.3};
    world.gravity = Vector<3>(0.0, 0.0, -9.81);
    Simulation<3> simulation(world, {});
    for (int trial = 0; trial < 20; ++trial) {
      std::vector<Pose<3>> poses(2);
      std::vector<Twist<3>> twists(2, Twist<3>::Zero());
      poses[0].position[2] = -0.5;
      poses[1].position[2] = 0.15 + 0.005 * trial;
      const Vector<3> turn(2.0 * std::sin(trial + 1.0), 1.5 * std::sin(2.3 * trial), std::cos(3.1 * trial));
      poses[1].directors = exponential(turn);
      twists[1].tail<3>() = Vector<3>(3.0 * std::cos(trial), -2.0, std::sin(1.7 * trial));
      simulation.start(poses, twists);
      double least = simulation.energies().total(), overlap = 0.0;
      // the height of a body at rest is uncertain by the fall in two steps
      const double fall = 9.81 * simulation.options().step, little = 2.0 * world.bodies[1].mass * fall * fall;
      const auto end = simulation.run(0.6, [&](const auto& s) {
        const double now = s.energies().total();
        EXPECT_LE(now, least + little) << "thickness " << thickness << ", trial " << trial << " at " << s.time();
        least = std::min(least, now);
        overlap = std::max(overlap, s.overlap());
        return false;
      });
      EXPECT_EQ(end.status, Outcome::reached) << "thickness " << thickness << ", trial " << trial << ": " << end.reason;
      EXPECT_LE(overlap, 1e-9);
    }
  }
}

// The exact response has no lasting contact: a box on the floor bounces ever faster.
TEST(Failure, TellsTimeBodiesAndGap) {
  SlidingBox box;
  box.height = 0.05;
  box.surface = {0.5, 0.0};
  const auto scene = sliding_box<2>(box);
  Options options;
  options.response = Response::exact;
  options.step = 0.01;
  Simulation<2> simulation(scene.world, options);
  simulation.start(scene.poses, scene.twists);
  const auto end = simulation.run(5.0);
  ASSERT_EQ(end.status, Outcome::failed);
  // it falls for sqrt(2 s/g) and bounces for 2 e/(1 - e) of that
  const double rest = std::sqrt(2.0 * 0.05 / 9.81) * (1.0 + 2.0 * 0.5 / (1.0 - 0.5));
  EXPECT_NEAR(end.time, rest, 0.02);
  EXPECT_EQ(std::min(end.bodies[0], end.bodies[1]), 0);
  EXPECT_EQ(std::max(end.bodies[0], end.bodies[1]), 1);
  EXPECT_LE(std::abs(end.gap), 1e-3);  // gap of the rejected prediction
  EXPECT_NE(end.reason.find("between 'box 1' and 'floor'"), std::string::npos) << end.reason;
  EXPECT_EQ(end.reason.find('\n'), std::string::npos);
  EXPECT_NEAR(simulation.time(), end.time, 0.01);
  EXPECT_FALSE(simulation.step());  // it remains failed
  simulation.start(scene.poses, scene.twists);
  EXPECT_TRUE(simulation.step());
}

TEST(Solids, RefuseGapsAndNoMass) {
  const auto refusal = [](auto&& make) -> std::string {
    try {
      make();
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "accepted";
  };
  const auto at = [](double x) { return geometry::rectangle(1.0, 1.0).moved({{x, 0.0}}); };
  EXPECT_EQ(refusal([&] { solid<2>("row", {at(0.0), at(1.0)}, 1.0); }), "accepted");
  EXPECT_EQ(refusal([&] {
              solid<2>("row", {at(0.0), at(1.5)}, 1.0);
            }),
            "body row: parts leave a gap: part 2 of 2 is 0.5 m away from those connected to part 1; parts must touch "
            "or overlap");
  EXPECT_EQ(refusal([&] { solid<2>("row", {}, 1.0); }), "body 'row' has no parts");
  EXPECT_EQ(refusal([&] { solid<2>("row", {at(0.0)}, 0.0); }), "density of body 'row' is 0.000000, must be positive");
}

// A force that is not a number ends the run, at the last good node.
TEST(Failure, OfAForceIsToldAndNotMovedOnFrom) {
  for (const double apart : {1.0, 0.2001}) {
    World<2> world;
    const auto body = solid<2>("box", {geometry::rectangle(0.2, 0.2)}, 100.0).body;
    world.bodies = {body, body};
    world.forces.push_back([](double t, Frames<2>, std::span<const Twist<2>>, std::span<Twist<2>> wrench) {
      wrench[0][0] += t > 0.05 ? std::nan("") : 0.1;
    });
    std::vector<Pose<2>> poses(2);
    poses[1].position[0] = apart;
    Simulation<2> simulation(world, Options{});
    simulation.start(poses, std::vector<Twist<2>>(2, Twist<2>::Zero()));
    const Outcome end = simulation.run(1.0);
    EXPECT_EQ(end.status, Outcome::failed);
    EXPECT_NEAR(end.time, 0.05, 2e-3);
    EXPECT_NE(end.reason, "");
    EXPECT_TRUE(simulation.poses()[0].position.allFinite());
  }
}

}  // namespace
}  // namespace dodyn::rigid::test_responses
