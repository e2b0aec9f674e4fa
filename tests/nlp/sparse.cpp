// Banded problems of optimal control with a thousand variables or more.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "nlp/solve.hpp"
#include "tests/nlp/check_derivatives.hpp"

namespace dodyn::nlp::test_sparse {
namespace {

using Eigen::VectorXd;

// A pendulum of stiffness k, or for k = 0 a unit mass, moved from rest to rest with least effort:
//   minimise h/2 sum u_j^2,  q_(j+1) = q_j + h v_j,  v_(j+1) = v_j + h (u_j - k sin q_j)
// Variables: q and v at the intervals' ends, then u. Both ends are fixed variables.
class RestToRest : public Problem {
 public:
  // Every entry of a pattern appears `copies` times with its share of the value.
  RestToRest(int intervals, double stiffness, double goal, int copies = 1)
      : N(intervals), h(1.0 / intervals), k(stiffness), copies_(copies) {
    lower.setConstant(3 * N + 2, -infinity);
    upper.setConstant(3 * N + 2, infinity);
    for (const auto& [i, value] : {std::pair{q(0), 0.0}, {v(0), 0.0}, {q(N), goal}, {v(N), 0.0}})
      lower[i] = upper[i] = value;
    constraint_lower.setZero(2 * N);
    constraint_upper.setZero(2 * N);
    const auto add = [&](Pattern& pattern, int row, int column) {
      for (int c = 0; c < copies_; ++c) pattern.rows.push_back(row), pattern.columns.push_back(column);
    };
    for (int j = 0; j < N; ++j) {
      for (int column : {q(j + 1), q(j), v(j)}) add(jacobian_pattern, 2 * j, column);
      for (int column : {v(j + 1), v(j), u(j), q(j)}) add(jacobian_pattern, 2 * j + 1, column);
      add(hessian_pattern, u(j), u(j));
      add(hessian_pattern, q(j), q(j));
    }
  }

  int q(int j) const { return 2 * j; }
  int v(int j) const { return 2 * j + 1; }
  int u(int j) const { return 2 * N + 2 + j; }

  double objective(const VectorXd& x) const override { return 0.5 * h * x.tail(N).squaredNorm(); }
  void objective_gradient(const VectorXd& x, Eigen::Ref<VectorXd> gradient) const override {
    gradient.setZero();
    gradient.tail(N) = h * x.tail(N);
  }
  void constraint_values(const VectorXd& x, Eigen::Ref<VectorXd> values) const override {
    for (int j = 0; j < N; ++j) {
      values[2 * j] = x[q(j + 1)] - x[q(j)] - h * x[v(j)];
      values[2 * j + 1] = x[v(j + 1)] - x[v(j)] - h * (x[u(j)] - k * std::sin(x[q(j)]));
    }
  }
  void jacobian(const VectorXd& x, Eigen::Ref<VectorXd> values) const override {
    int at = 0;
    for (int j = 0; j < N; ++j)
      for (double entry : {1.0, -1.0, -h, 1.0, -1.0, -h, h * k * std::cos(x[q(j)])})
        for (int c = 0; c < copies_; ++c) values[at++] = entry / copies_;
  }
  void hessian(const VectorXd& x, double factor, const VectorXd& y, Eigen::Ref<VectorXd> values) const override {
    int at = 0;
    for (int j = 0; j < N; ++j)
      for (double entry : {factor * h, -y[2 * j + 1] * h * k * std::sin(x[q(j)])})
        for (int c = 0; c < copies_; ++c) values[at++] = entry / copies_;
  }

  const int N;
  const double h, k;

 private:
  const int copies_;
};

TEST(Sparse, DerivativesAreRight) {
  const RestToRest problem(7, 9.81, 1.0, 2);
  const DerivativeErrors errors = check_derivatives(problem, VectorXd::LinSpaced(problem.variables(), -1.0, 1.0));
  EXPECT_LT(errors.max(), 1e-9) << errors.worst;
}

TEST(Sparse, TheSameProblemGivesTheSameDigits) {
  const RestToRest problem(500, 9.81, 1.0);
  const VectorXd rest = VectorXd::Zero(problem.variables());
  const Solution first = solve(problem, rest);
  ASSERT_EQ(first.status, SolveStatus::solved) << first.reason;
  for (int repeat = 0; repeat < 3; ++repeat) EXPECT_EQ(solve(problem, rest).x, first.x);
}

// k = 0: u falls linearly, u_j = c ((N-1)/2 - j), c = 12 goal / (h^2 N (N^2-1)); the multiplier of the velocity's
// equation is u, the one of the position's c/h, which is also the goal's price (the optimum is (c/h) goal / 2).
TEST(Sparse, TwoThousandVariablesAgainstTheClosedForm) {
  const double goal = 1.5;
  for (int copies : {1, 3}) {
    const RestToRest problem(666, 0.0, goal, copies);
    ASSERT_EQ(problem.variables(), 2000);
    const Solution solution = solve(problem, VectorXd::Zero(problem.variables()));
    ASSERT_EQ(solution.status, SolveStatus::solved) << solution.reason;
    const double n = problem.N, c = 12.0 * goal / (problem.h * problem.h * n * (n * n - 1.0));
    EXPECT_NEAR(solution.objective, 0.5 * c / problem.h * goal, 1e-8);
    for (int j = 0; j < problem.N; ++j) {
      const double u = c * (0.5 * (n - 1.0) - j);
      EXPECT_NEAR(solution.x[problem.u(j)], u, 1e-6);
      EXPECT_NEAR(solution.multipliers[2 * j], c / problem.h, 1e-6);
      EXPECT_NEAR(solution.multipliers[2 * j + 1], u, 1e-6);
    }
    const int end = problem.q(problem.N);
    EXPECT_NEAR(solution.lower_multipliers[end] - solution.upper_multipliers[end], c / problem.h, 1e-6);
  }
}

TEST(Sparse, MultiplierOfAFixedVariableIsTheDerivativeOfTheOptimum) {
  const double goal = 1.0, step = 1e-4;
  const auto solved = [](double to) {
    const RestToRest problem(300, 9.81, to);
    return solve(problem, VectorXd::Zero(problem.variables()));
  };
  const Solution solution = solved(goal);
  ASSERT_EQ(solution.status, SolveStatus::solved) << solution.reason;
  const double slope = (solved(goal + step).objective - solved(goal - step).objective) / (2.0 * step);
  const int end = 2 * 300;
  EXPECT_NEAR(solution.lower_multipliers[end] - solution.upper_multipliers[end], slope, 1e-6 * std::abs(slope));
}

TEST(Sparse, ANeighboursSolutionSavesIterations) {
  RestToRest here(300, 9.81, 2.0), there(300, 9.81, 2.02);
  here.lower.tail(300).setConstant(-9.5);  // some torques rest on their limits
  here.upper.tail(300).setConstant(9.5);
  there.lower.tail(300) = here.lower.tail(300);
  there.upper.tail(300) = here.upper.tail(300);
  const VectorXd rest = VectorXd::Zero(here.variables());
  const Solution neighbour = solve(here, rest);
  ASSERT_EQ(neighbour.status, SolveStatus::solved) << neighbour.reason;
  ASSERT_GT(neighbour.upper_multipliers.tail(300).maxCoeff(), 1e-3);

  const Solution cold = solve(there, rest), warm_x = solve(there, neighbour.x, {.warm_start = true}),
                 warm = solve(there, neighbour);
  for (const Solution* s : {&cold, &warm_x, &warm}) {
    ASSERT_EQ(s->status, SolveStatus::solved) << s->reason;
    EXPECT_NEAR(s->objective, cold.objective, 1e-7 * cold.objective);
  }
  EXPECT_LT(warm.iterations, cold.iterations);
  EXPECT_LE(warm_x.iterations, cold.iterations);
}

}  // namespace
}  // namespace dodyn::nlp::test_sparse
