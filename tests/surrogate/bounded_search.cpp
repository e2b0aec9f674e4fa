#include "surrogate/bounded_search.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace dodyn::surrogate::test_bounded_search {
namespace {

using Eigen::Vector2d;
using Eigen::VectorXd;

const BoundedSearch square{Vector2d(-1, -1), Vector2d(2, 1), 200, 1e-10, 0};

TEST(BoundedSearch, FindsAMaximumInsideAndOnTheBounds) {
  for (const Vector2d& top : {Vector2d(0.3, -0.2), Vector2d(5, 0.5), Vector2d(-3, 7)}) {
    const Maximum found = maximise(
        [&](const VectorXd& x, VectorXd* g) {
          if (g) *g = -2 * (x - top);
          return -(x - top).squaredNorm();
        },
        Vector2d(0, 0), square);
    EXPECT_LT((found.at - top.cwiseMax(square.lower).cwiseMin(square.upper)).norm(), 1e-6);
  }
}

TEST(BoundedSearch, KeepsTheBestItSawWhateverTheFunctionDoes) {
  double best = -HUGE_VAL;
  const Maximum found = maximise(
      [&](const VectorXd& x, VectorXd* g) {
        if (g) *g = Vector2d(1, 0);
        const double value = x(0) > 0.5 ? NAN : x(0);
        if (value > best) best = value;
        return value;
      },
      Vector2d(0, 0), square);
  EXPECT_EQ(found.value, best);
  EXPECT_LE(found.at(0), 0.5);
  const Maximum none = maximise([](const VectorXd&, VectorXd*) { return NAN; }, Vector2d(0, 0), square);
  EXPECT_EQ(none.at.size(), 0);
}

}  // namespace
}  // namespace dodyn::surrogate::test_bounded_search
