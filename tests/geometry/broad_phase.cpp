#include "geometry/broad_phase.hpp"

#include <gtest/gtest.h>

#include "scenes.hpp"

namespace dodyn::geometry::test_broad_phase {
namespace {

template <int n>
void expect_all_pairs(int count, double spread, double large) {
  Random random(1);
  std::uniform_real_distribution<double> place(-spread, spread), size(0.1, 1.0);
  Grid<n> grid;
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::vector<Box<n>> boxes(count);
    for (int i = 0; i < count; ++i) {
      Vector<n> x, d;
      for (int a = 0; a < n; ++a) x[a] = place(random), d[a] = size(random) * (i % 17 == 3 ? large : 1.0);
      boxes[i] = {x - d, x + d};
    }
    std::vector<std::pair<int, int>> expected;
    for (int i = 0; i < count; ++i)
      for (int j = i + 1; j < count; ++j)
        if (boxes[i].overlaps(boxes[j])) expected.emplace_back(i, j);
    EXPECT_EQ(grid.overlapping(boxes), expected);
  }
}

TEST(Grid, FindsAllPairsOnce) {
  expect_all_pairs<2>(60, 8.0, 1.0);
  expect_all_pairs<2>(60, 8.0, 30.0);
  expect_all_pairs<3>(200, 5.0, 1.0);
  expect_all_pairs<3>(200, 5.0, 20.0);
  expect_all_pairs<3>(5, 1e9, 1.0);  // more cells than a number holds
  expect_all_pairs<3>(1, 1.0, 1.0);
  expect_all_pairs<3>(30, 0.0, 1.0);  // all in one place
}

}  // namespace
}  // namespace dodyn::geometry::test_broad_phase
