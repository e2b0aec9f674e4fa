// A million random pairs, half of them within a logarithmic range of touching: the sign of the gap is that of brute
// force, except within 1e-9 m of touching.
#include <gtest/gtest.h>

#include "aligned_pairs.hpp"
#include "scenes.hpp"
#include "tests/geometry/solids.hpp"

namespace dodyn::geometry::test_agreement {
namespace {

TEST(Agreement, SignOfAMillionPairs) {
  Random random(12);
  std::vector<Polytope<3>> shapes{box(1, 1, 1), regular_prism(6, 0.6, 1.0)};
  for (int i = 0; i < 30; ++i) shapes.push_back(random_polytope<3>(random, i < 22 ? 4 : 5 + i % 6));
  std::uniform_int_distribution<int> any(0, static_cast<int>(shapes.size()) - 1);
  std::uniform_real_distribution<double> exponent(-12.0, 0.0);
  int overlapping = 0, near = 0, differing = 0;
  double error = 0.0;
  for (int i = 0; i < 1000000; ++i) {
    const auto &k1 = shapes[any(random)], &k2 = shapes[any(random)];
    const Frame<3> f2{Vector<3>::Zero(), random_rotation<3>(random)};
    Frame<3> f1{random_vector<3>(random), random_rotation<3>(random)};
    Basis<3> basis;
    Contact<3> c;
    find_contact(k1, f1, k2, f2, basis, c);
    if (i & 1) {  // close in along beta: the gap changes by as much
      f1.position += (c.gap + (i & 2 ? 1.0 : -1.0) * std::pow(10.0, exponent(random))) * c.beta;
      find_contact(k1, f1, k2, f2, basis, c);
    }
    const BruteForce<3> brute(k1, f1, k2, f2);
    const double slab = brute.slab();
    overlapping += c.gap > 0.0;
    near += std::abs(slab) < 1e-6;
    differing += (c.gap > 0.0) != (slab < 0.0) && std::abs(slab) > 1e-9;
    error = std::max(error, std::abs(c.gap + brute.along(c.beta)) / c.alpha.norm());
  }
  EXPECT_EQ(differing, 0);
  EXPECT_LT(error, 1e-13);
  EXPECT_GT(overlapping, 300000);
  EXPECT_LT(overlapping, 700000);
  EXPECT_GT(near, 100000);
}

// Aligned and nearly aligned pairs, from kept bases: see aligned_pairs.hpp.
TEST(Agreement, GapsOfAMillionAlignedPairs) {
  for (const std::uint64_t seed : {11, 12, 13, 14}) {
    const auto plane = meet_aligned_pairs<2>(50000, seed), space = meet_aligned_pairs<3>(250000, seed);
    for (const auto& met : {plane, space}) {
      EXPECT_LT(met.max_error, 1e-9);
      EXPECT_LT(met.max_plane_error, 1e-8);
    }
    RecordProperty("max error " + std::to_string(seed), std::to_string(1e12 * space.max_error) + " pm");
    EXPECT_GT(space.touching, 50000);
  }
}

}  // namespace
}  // namespace dodyn::geometry::test_agreement
