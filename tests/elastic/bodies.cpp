// Deformable bodies in contact with each other, with rigid ones and with walls: momenta, energy, scaling, waves.
#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <cmath>

#include "elastic/simulation.hpp"

namespace dodyn::elastic::test_bodies {
namespace {

template <int n>
rigid::Body<n> wall(int axis) {  // below zero of an axis
  geometry::Frame<n> below;
  below.position[axis] = -1.0;
  geometry::Polytope<n> slab = [] {
    if constexpr (n == 2)
      return geometry::rectangle(2, 2);
    else
      return geometry::box(2, 2, 2);
  }();
  return rigid::fixed_body<n>("wall", {slab.moved(below)}, Vector<n>(Vector<n>::Unit(axis)));
}

// Three cubes of a soft material and a rigid box move towards each other and rotate.
struct Crowd {
  World<3> world;
  Start<3> start;
  Options options;
  explicit Crowd(double step, double scale = 1.0) {
    options.step = step / scale;
    options.stiffness = 200.0 * scale * scale;
    const Material soft{1e4 * scale * scale, 5e3 * scale * scale, 1000.0};
    for (int i = 0; i < 3; ++i) {
      world.deformable.push_back({"cube " + std::to_string(i), block<3>({0.1, 0.1, 0.1}, {2, 2, 2}), soft});
      rigid::Pose<3> pose;
      pose.position = Vector<3>(0.13 * i, 0.01 * i, -0.005 * i);
      pose.directors = Eigen::AngleAxisd(0.3 * i, Vector<3>(1, 2, 3).normalized()).toRotationMatrix();
      start.deformable_poses.push_back(pose);
      rigid::Twist<3> twist;
      twist << (i == 0 ? 0.3 : i == 1 ? 0.0 : -0.4), 0.02, 0.0, 0.5, -1.0, 0.7;
      start.deformable_twists.push_back(scale * twist);
    }
    auto solid = rigid::solid<3>("box", {geometry::box(0.08, 0.1, 0.12)}, 700.0).body;
    world.rigid.bodies.push_back(solid);
    rigid::Pose<3> pose;
    pose.position = Vector<3>(0.0, 0.13, 0.0);
    start.rigid_poses.push_back(pose);
    rigid::Twist<3> twist;
    twist << 0.0, -0.4, 0.1, 2.0, 1.0, -3.0;
    start.rigid_twists.push_back(scale * twist);
  }
  std::unique_ptr<Simulation<3>> begun() const {
    auto simulation = std::make_unique<Simulation<3>>(world, options);
    simulation->start(start);
    return simulation;
  }
};

TEST(Bodies, KeepMomentaToRoundOff) {
  const auto simulation = Crowd(5e-4).begun();
  const auto before = simulation->momenta();
  bool soft_on_soft = false, soft_on_rigid = false;
  while (simulation->time() < 0.3) {
    ASSERT_TRUE(simulation->step()) << simulation->reason();
    for (const auto& [a, b] : simulation->touching()) (a == 0 ? soft_on_rigid : soft_on_soft) = true;
  }
  EXPECT_TRUE(soft_on_soft && soft_on_rigid);
  const auto after = simulation->momenta();
  EXPECT_LT((after.linear - before.linear).norm(), 1e-13);
  EXPECT_LT((after.angular - before.angular).norm(), 1e-13);
}

TEST(Bodies, EnergyErrorFallsWithTheSquareOfTheStep) {
  double error[2];
  for (const int i : {0, 1}) {
    const auto simulation = Crowd(4e-4 / (1 << i)).begun();
    const double before = simulation->energies().total();
    error[i] = 0.0;
    while (simulation->time() < 0.3 && simulation->step())
      error[i] = std::max(error[i], std::abs(simulation->energies().total() - before));
    EXPECT_EQ(simulation->reason(), "");
  }
  EXPECT_GT(std::log2(error[0] / error[1]), 1.6);
  EXPECT_LT(std::log2(error[0] / error[1]), 2.4);
}

TEST(Bodies, StiffnessTimesSquaredSpeedIsTheSameMotionFaster) {
  const auto slow = Crowd(5e-4).begun(), fast = Crowd(5e-4, 4.0).begun();
  for (int k = 0; k < 400; ++k) ASSERT_TRUE(slow->step() && fast->step()) << slow->reason();
  EXPECT_LT((slow->nodes() - fast->nodes()).cwiseAbs().maxCoeff(), 1e-10);
}

TEST(Bodies, RigidOnesAloneTurnAsEulerSays) {
  // a box without torque, by steps of three lengths
  double error[2];
  Matrix<3> exact;
  for (const int i : {2, 0, 1}) {
    Crowd crowd(i == 2 ? 1e-4 : 4e-3 / (1 << i));
    for (auto& pose : crowd.start.deformable_poses) pose.position += Vector<3>(50, 50, 50);
    for (auto& twist : crowd.start.deformable_twists) twist.setZero();
    const auto simulation = crowd.begun();
    const Vector<3> axis = crowd.start.rigid_twists[0].tail<3>();
    const double energy = simulation->energies().total();
    while (simulation->time() < 0.4 - 1e-9) ASSERT_TRUE(simulation->step());
    EXPECT_NEAR(simulation->energies().total(), energy, 1e-3 * energy);
    if (i == 2)
      exact = simulation->poses()[0].directors;
    else
      error[i] = (simulation->poses()[0].directors - exact).norm();
    EXPECT_GT((simulation->twist(0).tail<3>() - axis).norm(), 0.01);  // it wobbles
  }
  EXPECT_NEAR(std::log2(error[0] / error[1]), 2.0, 0.1);
}

// A slender bar of 40 cells hits a wall with its end: a wave runs to the other end and back.
TEST(Bodies, SlenderBarLeavesAWallAfterItsWaveIsBack) {
  const double L = 1.0, speed = 0.01;
  World<2> world;
  const Material material{0.0, 5e3, 1000.0};  // without contraction: c^2 = 2 mu/density
  world.deformable.push_back({"bar", block<2>({L, 0.025}, {40, 1}), material});
  world.rigid.bodies.push_back(wall<2>(0));
  Start<2> start;
  start.rigid_poses.resize(1);
  start.rigid_twists.assign(1, rigid::Twist<2>::Zero());
  rigid::Pose<2> pose;
  pose.position = {0.5 * L + 1e-4, 0.0};
  start.deformable_poses = {pose};
  rigid::Twist<2> twist = rigid::Twist<2>::Zero();
  twist[0] = -speed;
  start.deformable_twists = {twist};
  const double c = std::sqrt(2 * material.mu / material.density);
  for (const auto response : {rigid::Response::penalty, rigid::Response::exact, rigid::Response::decomposition}) {
    Options options;
    options.step = 4e-4;
    options.stiffness = 4e5;
    options.response = response;
    Simulation<2> simulation(world, options);
    EXPECT_GT(simulation.stable_step(), options.step);
    simulation.start(start);
    const double energy = simulation.energies().total();
    double first = 0.0, last = 0.0;
    while (simulation.time() < 1.2) {
      ASSERT_TRUE(simulation.step()) << simulation.reason();
      if (response == rigid::Response::exact) {
        ASSERT_LT(simulation.overlap(), 2e-9);
      }
      if (simulation.touching().empty()) continue;
      if (first == 0.0) first = simulation.time();
      last = simulation.time();
    }
    EXPECT_NEAR((last - first) / (2 * L / c), 1.0, 0.02);
    EXPECT_GT(simulation.velocity(0)[0] / speed, 0.97);
    // Impulses preserve the energy, and at the exact contact time there is no other loss.
    if (response == rigid::Response::exact) {
      EXPECT_NEAR(simulation.energies().total(), energy, 1e-3 * energy);
    }
  }
}

// Momenta are conserved to round-off, the energy to a relative error, and overlaps stay below `overlap` (m).
void expect_kept(rigid::Response response, double overlap, double share) {
  Crowd crowd(5e-4);
  crowd.options.response = response;
  const auto simulation = crowd.begun();
  const auto before = simulation->momenta();
  const double energy = simulation->energies().total();
  int touched = 0;
  while (simulation->time() < 0.3) {
    ASSERT_TRUE(simulation->step()) << simulation->reason();
    ASSERT_LT(simulation->overlap(), overlap);
    touched += simulation->touching().empty() ? 0 : 1;
  }
  EXPECT_GT(touched, 5);
  EXPECT_LT((simulation->momenta().linear - before.linear).norm(), 1e-13);
  EXPECT_LT((simulation->momenta().angular - before.angular).norm(), 1e-13);
  EXPECT_NEAR(simulation->energies().total(), energy, share * energy);
}

TEST(Bodies, ImpulsesKeepMomentaAndEnergyAndLeaveNoOverlap) { expect_kept(rigid::Response::exact, 2e-9, 1e-3); }

// Overlaps: a few steps at closing speeds of 0.7 m/s and less.
TEST(Bodies, DecomposedMomentaAreKeptAndSoIsTheEnergy) { expect_kept(rigid::Response::decomposition, 2e-3, 5e-3); }

// Rigid squares in the plane have kinetic energy only, and only impulses change it. Elastic impulses conserve it to
// round-off, however many act at once. An impact on a wall loses the share 1 - e^2.
TEST(Bodies, TurningMomentaRoundKeepsEnergyToRoundOff) {
  World<2> world;
  Start<2> start;
  world.deformable.push_back({"far", block<2>({0.1, 0.1}, {1, 1}), {1e4, 5e3, 1000.0}});
  rigid::Pose<2> far;
  far.position = {50.0, 50.0};
  start.deformable_poses = {far};
  start.deformable_twists = {rigid::Twist<2>::Zero()};
  for (int i = 0; i < 9; ++i) {
    world.rigid.bodies.push_back(
        rigid::solid<2>("square " + std::to_string(i), {geometry::rectangle(0.1, 0.1)}, 100.0 + 20.0 * i).body);
    rigid::Pose<2> pose;
    pose.position = {0.15 * (i % 3 - 1), 0.15 * (i / 3 - 1)};
    pose.angle = 0.1 * i;
    start.rigid_poses.push_back(pose);
    rigid::Twist<2> twist;
    twist << -2.0 * pose.position[0], -2.0 * pose.position[1], 0.4 * i - 1.0;
    start.rigid_twists.push_back(twist);
  }
  Options options;
  options.response = rigid::Response::decomposition;
  Simulation<2> together(world, options);
  together.start(start);
  const double energy = together.energies().total();
  std::size_t most = 0;
  while (together.time() < 0.5) {
    ASSERT_TRUE(together.step()) << together.reason();
    most = std::max(most, together.touching().size());
    ASSERT_NEAR(together.energies().kinetic, energy, 1e-13 * energy);
  }
  EXPECT_GT(most, 1u);

  world.rigid.bodies.resize(1);
  world.rigid.bodies.push_back(wall<2>(0));
  start.rigid_poses.resize(2);
  start.rigid_twists.assign(2, rigid::Twist<2>::Zero());
  start.rigid_poses[0].position = {0.06, 0.0};
  start.rigid_poses[1] = {};
  start.rigid_twists[0][0] = -1.0;
  options.restitution = 0.5;
  Simulation<2> alone(world, options);
  alone.start(start);
  for (int k = 0; k < 40; ++k) ASSERT_TRUE(alone.step()) << alone.reason();
  EXPECT_NEAR(alone.twist(0)[0], 0.5, 1e-12);
}

// Cubes that meet face to face, with more gaps than independent impulses. The contact lasts as long as with a penalty.
TEST(Bodies, FacesThatMeetPartAgain) {
  const auto together = [](rigid::Response response) {
    World<3> world;
    Start<3> start;
    for (const double side : {-1.0, 1.0}) {
      world.deformable.push_back({"cube", block<3>({0.075, 0.075, 0.075}, {3, 3, 3}), {1e4, 5e3, 1000.0}});
      rigid::Pose<3> pose;
      pose.position = Vector<3>(side * 0.038, 0.0, 0.0);
      start.deformable_poses.push_back(pose);
      rigid::Twist<3> twist = rigid::Twist<3>::Zero();
      twist[0] = -0.1 * side;
      start.deformable_twists.push_back(twist);
    }
    Options options;
    options.step = 2.5e-4;
    options.stiffness = 100.0;
    options.response = response;
    Simulation<3> simulation(world, options);
    simulation.start(start);
    double first = 0.0, last = 0.0;
    while (simulation.time() < 0.12) {
      if (!simulation.step()) ADD_FAILURE() << simulation.reason();
      if (simulation.touching().empty()) continue;
      if (first == 0.0) first = simulation.time();
      last = simulation.time();
    }
    EXPECT_GT(simulation.velocity(1)[0], 0.05);
    return last - first;
  };
  const double penalty = together(rigid::Response::penalty);
  EXPECT_NEAR(together(rigid::Response::decomposition) / penalty, 1.0, 0.15);
}

TEST(Bodies, MistakesAreTold) {
  Crowd crowd(1e-3);
  crowd.start.deformable_poses[1].position.setZero();
  crowd.start.deformable_poses[1].directors.setIdentity();
  EXPECT_THROW(crowd.begun(), std::invalid_argument);
  crowd.options.stiffness = 0.0;
  EXPECT_THROW(crowd.begun(), std::invalid_argument);
  Crowd wild(1e-3);
  for (auto& twist : wild.start.deformable_twists) twist *= 100.0;
  const auto simulation = wild.begun();
  while (simulation->time() < 0.1 && simulation->step()) {
  }
  EXPECT_NE(simulation->reason(), "");
  EXPECT_FALSE(simulation->step());
}

}  // namespace
}  // namespace dodyn::elastic::test_bodies
