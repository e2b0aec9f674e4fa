// Scenes have the expected initial states and the known behaviour.
#include "scenes.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "rigid/simulation.hpp"

namespace dodyn::rigid::test_scenes {
namespace {

template <int n>
Simulation<n> started(const Scene<n>& scene, Response response, double step) {
  Options options;
  options.response = response;
  options.step = step;
  Simulation<n> simulation(scene.world, options);
  simulation.start(scene.poses, scene.twists);
  return simulation;
}

TEST(Scenes, CradleOfTheSource) {
  const auto scene = cradle<3>({});
  auto simulation = started<3>(scene, Response::decomposition, 0.01);
  EXPECT_NEAR(scene.world.bodies[0].mass, 6.10940, 1e-5);
  EXPECT_NEAR(simulation.energies().kinetic, 0.0336781, 1e-7);
  EXPECT_NEAR(simulation.momenta().linear[0], 0.641487, 1e-6);
  EXPECT_NEAR(-simulation.overlap(), 0.1 * Cradle{}.side, 1e-12);
}

// Both responses conserve L = 0, the joint and the energy, the latter to the projection's total. The upper octahedron
// strikes the lower one.
TEST(Scenes, MetronomeKeepsItsJointAndMomentum) {
  const auto scene = metronome({});
  for (const Response response : {Response::decomposition, Response::exact}) {
    auto simulation = started<3>(scene, response, 0.005);
    EXPECT_NEAR(scene.world.bodies[0].mass, 5.29090, 1e-5);
    EXPECT_NEAR(simulation.energies().kinetic, 0.06349, 1e-5);
    EXPECT_NEAR(simulation.momenta().angular.norm(), 0.0, 1e-15);
    double worst_overlap = -1.0, worst_joint = 0.0, slowest = 1.0;
    const auto end = simulation.run(4.0, [&](const auto& s) {
      worst_overlap = std::max(worst_overlap, s.overlap());
      worst_joint = std::max(worst_joint, s.constraint_residual());
      slowest = std::min(slowest, s.twists()[0][4]);
      return false;
    });
    ASSERT_EQ(end.status, Outcome::reached) << end.reason;
    EXPECT_LE(worst_overlap, 1e-9);
    EXPECT_LE(worst_joint, 1e-12);
    EXPECT_LE(simulation.momenta().linear.norm(), 1e-11);
    EXPECT_LE((simulation.momenta().angular - simulation.contact_totals().momentum.angular).norm(), 1e-11);
    EXPECT_NEAR(simulation.energies().kinetic - simulation.contact_totals().projection.kinetic, 0.06349, 2e-4);
    EXPECT_LT(slowest, 0.0);  // it has turned back
  }
}

TEST(Scenes, FallingPolyhedraComeToRestOnTheFloor) {
  const auto scene = falling_polyhedra({});
  auto simulation = started<3>(scene, Response::decomposition, 0.002);
  double worst_overlap = -1.0;
  const auto end = simulation.run(4.0, [&](const auto& s) {
    worst_overlap = std::max(worst_overlap, s.overlap());
    return false;
  });
  ASSERT_EQ(end.status, Outcome::reached) << end.reason;
  EXPECT_LE(worst_overlap, 1e-9);
  EXPECT_LE(simulation.energies().kinetic, 1e-9);
  for (int i = 1; i <= 7; ++i) EXPECT_LT(simulation.poses()[i].position[2], 0.3) << i;
}

// Attraction brings prisms together. The projection is the only source of momentum, and its total is known.
TEST(Scenes, HexagonalPrismsClump) {
  HexagonalPrisms parameters;
  parameters.prisms = 3;
  parameters.distance = 0.02;
  const auto scene = hexagonal_prisms(parameters);
  auto simulation = started<3>(scene, Response::decomposition, 0.005);
  const auto before = simulation.momenta();
  const double start = simulation.energies().total();
  EXPECT_NEAR(-simulation.overlap(), parameters.distance, 1e-9);
  const auto end = simulation.run(5.0);
  ASSERT_EQ(end.status, Outcome::reached) << end.reason;
  EXPECT_LE((simulation.momenta().linear - before.linear).norm(), 1e-10);
  EXPECT_LE((simulation.momenta().angular - before.angular - simulation.contact_totals().momentum.angular).norm(),
            1e-9);
  EXPECT_LT(simulation.energies().total() - simulation.contact_totals().projection.total(), start + 1e-6);
}

TEST(Scenes, RefuseTooFewBodies) {
  EXPECT_THROW(cradle<2>({.cubes = 1}), std::invalid_argument);
  EXPECT_THROW(falling_polyhedra({.bodies = 0}), std::invalid_argument);
  EXPECT_THROW(hexagonal_prisms({.prisms = 0}), std::invalid_argument);
}

}  // namespace
}  // namespace dodyn::rigid::test_scenes
