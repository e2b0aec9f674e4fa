// Forces of charges against (3.51), pair by pair.
#include <gtest/gtest.h>

#include <random>

#include "rigid/forces.hpp"

namespace dodyn::rigid::test_charges {
namespace {

// Thirty bodies with three charges each; the first ten are fixed. Their directors are not rotations.
template <int n>
void agrees_with_the_sum_over_pairs(std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  World<n> world;
  world.charge_constant = 0.7;
  std::vector<geometry::Frame<n>> frames(30);
  for (int b = 0; b < 30; ++b) {
    world.bodies.emplace_back().fixed = b < 10;
    for (double& x : frames[b].position) x = 3.0 * uniform(engine);
    for (double& x : frames[b].directors.reshaped()) x = uniform(engine);
    for (int c = 0; c < 3; ++c) {
      Vector<n> at;
      for (double& x : at) x = 0.1 * uniform(engine);
      world.charges.push_back({b, at, uniform(engine)});
    }
  }
  double V = 0.0;
  std::vector<ConfigurationGradient<n>> expected(30, ConfigurationGradient<n>::Zero()), gradient = expected;
  for (const auto& one : world.charges)
    for (const auto& two : world.charges) {
      if (one.body == two.body || (world.bodies[one.body].fixed && world.bodies[two.body].fixed)) continue;
      const Vector<n> d = frames[one.body](one.at) - frames[two.body](two.at);
      const double v = world.charge_constant * one.value * two.value / d.norm();
      V += 0.5 * v;
      const Vector<n> slope = -v / d.squaredNorm() * d;
      expected[one.body].col(0) += slope;
      for (int k = 0; k < n; ++k) expected[one.body].col(k + 1) += one.at[k] * slope;
    }
  EXPECT_NEAR(Forces<n>(world).potential(frames, gradient), V, 1e-12 * std::abs(V));
  for (int b = 10; b < 30; ++b) EXPECT_LE((gradient[b] - expected[b]).norm(), 1e-12 * expected[b].norm());
}

TEST(Charges, AgreeWithTheSumOverPairs) {
  agrees_with_the_sum_over_pairs<2>(1);
  agrees_with_the_sum_over_pairs<3>(2);
}

}  // namespace
}  // namespace dodyn::rigid::test_charges
