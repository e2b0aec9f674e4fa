// An iteration of the native solver allocates no memory. Counted as the difference between solves with more and with
// fewer iterations, line searches included, on a problem of recorded elements.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <utility>

#include "autodiff/tape.hpp"
#include "nlp/assembled_problem.hpp"
#include "nlp/solve.hpp"
#include "tests/allocations.hpp"

namespace dodyn::nlp::test_allocation {
namespace {

using Eigen::VectorXd;

// A pendulum swung up by a bounded torque, past a ceiling for its horizontal place: midpoint rule, variables q, v at
// the nodes, then u.
AssembledProblem swing_up(int intervals) {
  const double h = 3.0 / intervals;
  AssembledProblem problem;
  const int q = problem.add_variables(intervals + 1, -infinity, infinity);
  const int v = problem.add_variables(intervals + 1, -20.0, 20.0);
  const int u = problem.add_variables(intervals, -6.0, 6.0);
  const int rows = problem.add_rows(2 * intervals, 0.0, 0.0);
  const int place = problem.add_rows(intervals, -0.99, 0.99);
  const int ends = problem.add_rows(4, 0.0, 0.0);
  const auto step = std::make_shared<autodiff::RecordedElement>(
      autodiff::record(5, 0,
                       [h](const std::vector<autodiff::Var>& z, const std::vector<autodiff::Var>&) {
                         const auto middle = 0.5 * (z[0] + z[1]);
                         return std::vector<autodiff::Var>{z[1] - z[0] - 0.5 * h * (z[2] + z[3]),
                                                           z[3] - z[2] - h * (z[4] - 9.81 * sin(middle)),
                                                           sin(middle) * cos(0.2 * middle)};
                       }),
      std::vector<autodiff::Differential>{});
  for (int k = 0; k < intervals; ++k) {
    problem.add_element(step, {q + k, q + k + 1, v + k, v + k + 1, u + k},
                        {{0, rows + 2 * k, 1.0}, {1, rows + 2 * k + 1, 1.0}, {2, place + k, 1.0}});
    problem.add_square(u + k, h);
  }
  for (int k = 0; k < 4; ++k) problem.add_linear(ends + k, (k % 2 ? v : q) + (k < 2 ? 0 : intervals), 1.0);
  problem.add_constant(ends + 2, -3.14159265358979);
  problem.finish();
  return problem;
}

TEST(Allocation, IterationsAllocateNothing) {
  const AssembledProblem problem = swing_up(60);
  VectorXd start = VectorXd::Zero(problem.variables());
  for (int k = 0; k <= 60; ++k) start[k] = 3.0 * k / 60 + 0.2 * std::sin(0.3 * k);
  Options options;
  const Solution all = solve(problem, start, options);
  EXPECT_EQ(all.status, SolveStatus::solved) << all.reason;
  EXPECT_GT(all.iterations, 15);
  EXPECT_GT(all.timing.factorisations, all.iterations + 1);
  const auto until = [&](int iterations) {
    options.max_iterations = iterations;
    const long before = allocations;
    const Solution ended = solve(problem, start, options);
    EXPECT_EQ(ended.iterations, iterations);
    // at its end a solve examines what misses the tolerance once more
    return std::pair{allocations - before, ended.status};
  };
  const auto few = until(3);
  EXPECT_GT(few.first, 0);  // the count counts
  for (int iterations = 4; iterations < all.iterations; ++iterations)
    if (const auto more = until(iterations); more.second == few.second)
      EXPECT_EQ(more.first, few.first) << iterations;
    else
      EXPECT_EQ(iterations, all.iterations - 1) << "within the tolerance";
}

}  // namespace
}  // namespace dodyn::nlp::test_allocation
