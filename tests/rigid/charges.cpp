// Forces of many charges, by a tree, against the sum over all pairs.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "rigid/charge_tree.hpp"
#include "rigid/director.hpp"
#include "rigid/simulation.hpp"
#include "scenes.hpp"

namespace dodyn::rigid::test_charges {
namespace {

template <int n>
struct Cloud {
  World<n> world;
  std::vector<geometry::Frame<n>> frames;

  // Bodies within a long box, the first `fixed` of them fixed, with charges on each of at most 1 either sign, or positive.
  Cloud(int bodies, int charges, double width, bool positive, std::uint64_t seed, int fixed = 0) {
    std::mt19937_64 engine(seed);
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    world.charge_constant = 0.7;
    for (int b = 0; b < bodies; ++b) {
      Body<n> body;
      body.fixed = b < fixed;
      world.bodies.push_back(body);
      geometry::Frame<n> frame;
      for (int k = 0; k < n; ++k) frame.position[k] = (k == 0 ? 10.0 : 1.0) * width * uniform(engine);
      for (int k = 0; k < n * n; ++k) frame.directors(k) = uniform(engine);  // need not be rotations
      frames.push_back(frame);
      for (int c = 0; c < charges; ++c) {
        Vector<n> at;
        for (int k = 0; k < n; ++k) at[k] = 0.1 * uniform(engine);
        const double value = uniform(engine);
        world.charges.push_back({b, at, positive ? std::abs(value) : value});
      }
    }
  }
  // V by pairs, dV/dq, and by body the sum of the magnitudes of forces and of energies.
  double direct(std::vector<ConfigurationGradient<n>>& gradient, std::vector<double>& size, double& energies) const {
    double V = 0.0;
    energies = 0.0;
    gradient.assign(frames.size(), ConfigurationGradient<n>::Zero());
    size.assign(frames.size(), 0.0);
    for (const auto& one : world.charges)
      for (const auto& two : world.charges) {
        if (one.body == two.body || (world.bodies[one.body].fixed && world.bodies[two.body].fixed)) continue;
        const Vector<n> d = frames[one.body](one.at) - frames[two.body](two.at);
        const double r = d.norm(), v = world.charge_constant * one.value * two.value / r;
        V += 0.5 * v;
        energies += 0.5 * std::abs(v);
        const Vector<n> slope = -v / (r * r) * d;
        gradient[one.body].col(0) += slope;
        for (int k = 0; k < n; ++k) gradient[one.body].col(k + 1) += one.at[k] * slope;
        size[one.body] += std::abs(v) / r;
      }
    return V;
  }
};

template <int n>
void agrees(const Cloud<n>& cloud) {
  std::vector<ConfigurationGradient<n>> exact, gradient(cloud.frames.size(), ConfigurationGradient<n>::Zero());
  std::vector<double> size;
  double energies;
  const double V = cloud.direct(exact, size, energies);
  ChargeTree<n> tree(cloud.world);
  EXPECT_NEAR(tree.potential(cloud.frames, gradient), V, ChargeTree<n>::accuracy * energies);
  Vector<n> sum = Vector<n>::Zero();
  double all = 0.0, share = 0.0;
  for (std::size_t b = 0; b < cloud.frames.size(); ++b) {
    sum += gradient[b].col(0);
    all += size[b];
    if (cloud.world.bodies[b].fixed) continue;
    const double error = (gradient[b].col(0) - exact[b].col(0)).norm();
    share = std::max(share, error / size[b]);
    EXPECT_LE(error, ChargeTree<n>::accuracy * size[b]);
    EXPECT_LE((gradient[b] - exact[b]).template rightCols<n>().norm(), 0.3 * ChargeTree<n>::accuracy * size[b]);
  }
  if (!cloud.world.bodies[0].fixed) {
    EXPECT_LE(sum.norm(), 1e-13 * all);  // actio = reactio
  }
  EXPECT_GT(share, 1e-12);  // it is an approximation that is looked at
}

TEST(ChargeTree, AgreesWithTheSumOverPairs) {
  agrees<3>(Cloud<3>(300, 3, 3.0, false, 1));
  agrees<3>(Cloud<3>(300, 3, 3.0, true, 2));
  agrees<3>(Cloud<3>(200, 6, 6.0, true, 3, 50));
  agrees<3>(Cloud<3>(400, 1, 3.0, true, 4));
  agrees<2>(Cloud<2>(400, 3, 6.0, true, 5));
  agrees<2>(Cloud<2>(300, 4, 6.0, false, 6, 30));
}

TEST(ChargeTree, DoesNotDependOnWhatWasAskedBefore) {
  const Cloud<3> cloud(200, 3, 3.0, false, 7);
  Cloud<3> other = cloud;
  for (auto& frame : other.frames) frame.position = -0.3 * frame.position;
  ChargeTree<3> tree(cloud.world), fresh(cloud.world);
  std::vector<ConfigurationGradient<3>> one(200, ConfigurationGradient<3>::Zero()), two = one, spare = one;
  tree.potential(other.frames, spare);
  EXPECT_EQ(tree.potential(cloud.frames, one), fresh.potential(cloud.frames, two));
  for (int b = 0; b < 200; ++b) EXPECT_EQ(one[b], two[b]);
}

// A hundred prisms, more than the pairs are summed for, keep momentum and, as far as the tree may be wrong, energy.
TEST(ChargeTree, KeepsMomentumAndEnergyOfManyPrisms) {
  HexagonalPrisms parameters;
  parameters.prisms = 100;
  parameters.speed = 0.02;
  const auto scene = hexagonal_prisms(parameters);
  Options options;
  options.step = 5e-3;
  Simulation<3> simulation(scene.world, options);
  simulation.start(scene.poses, scene.twists);
  const auto energy = simulation.energies();
  const auto momenta = simulation.momenta();
  ASSERT_EQ(simulation.run(0.5).status, Outcome::reached);
  ASSERT_EQ(simulation.contact_totals().impulses, 0);
  EXPECT_LE((simulation.momenta().linear - momenta.linear).norm(), 1e-11);
  EXPECT_NEAR(simulation.energies().total(), energy.total(), 1e-4 * energy.kinetic);
}

}  // namespace
}  // namespace dodyn::rigid::test_charges
