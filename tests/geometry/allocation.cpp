// Counts allocations: a query of the hyperplane solver allocates no memory, whatever the polytopes and their contact.
#include <gtest/gtest.h>

#include "scenes.hpp"
#include "tests/allocations.hpp"
#include "tests/geometry/solids.hpp"

namespace dodyn::geometry::test_allocation {
namespace {

TEST(Allocation, QueriesAllocateNothing) {
  Random random(1);
  const std::vector<Polytope<3>> shapes{box(1, 1, 1), regular_prism(60, 0.05, 1.0), random_polytope<3>(random, 20),
                                        random_polytope<3>(random, 200)};
  long before = 0;
  Contact<3> contact;
  Basis<3> basis;
  std::array<Basis<3>, 2> two;
  Vector<3> plane = Vector<3>::Zero();
  double sum = 0.0;
  for (int i = 0; i < 2000; ++i) {
    const auto &k1 = shapes[i % 4], &k2 = shapes[i / 4 % 4];
    Frame<3> f1{random_vector<3>(random), random_rotation<3>(random)}, f2{Vector<3>::Zero(), f1.directors};
    if (i % 3) f1.position = f1.directors * Vector<3>(0.1 * (i % 5), 0.0, 1.0);  // in line: faces on faces
    before = allocations;
    find_contact(k1, f1, k2, f2, basis, contact);
    find_contact(k1, f1, k2, f2, Vector<3>(Vector<3>::UnitZ()), two, contact);
    sum += gradient(contact, 0)[0] + overlap(k1, f1, k2, f2, basis, plane);
    sum += find_distance(k1, f1, k2, f2, basis).distance;
    ASSERT_EQ(allocations, before) << i;
  }
  EXPECT_TRUE(std::isfinite(sum));
  EXPECT_GT(before, 0);  // the counter works
}

}  // namespace
}  // namespace dodyn::geometry::test_allocation
