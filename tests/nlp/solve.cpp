#include "nlp/solve.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "jet_problem.hpp"

namespace dodyn::nlp::test_solve {
namespace {

using Eigen::VectorXd;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

VectorXd vec(std::initializer_list<double> values) {
  return Eigen::Map<const VectorXd>(values.begin(), static_cast<long>(values.size()));
}

JetProblem rosenbrock() {
  return JetProblem(2, [](const Jets& x) { return 100 * squared(x[1] - squared(x[0])) + squared(1 - x[0]); });
}

// A disc and a half-plane that do not meet.
JetProblem disjoint() {
  JetProblem problem(
      2, [](const Jets& x) { return x[0]; }, 2,
      [](const Jets& x) {
        return Jets{squared(x[0]) + squared(x[1]), x[0] + x[1]};
      });
  problem.constraint_lower = vec({-infinity, 3});
  problem.constraint_upper = vec({1, infinity});
  return problem;
}

// Wraps the objective of a problem.
class Tampered : public JetProblem {
 public:
  Tampered(JetProblem problem, std::function<double(double)> tamper)
      : JetProblem(std::move(problem)), tamper_(std::move(tamper)) {}
  double objective(const VectorXd& x) const override { return tamper_(JetProblem::objective(x)); }

 private:
  std::function<double(double)> tamper_;
};

class Solve : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    if (!available(GetParam())) GTEST_SKIP() << "not in this build";
  }
  Options options() const { return {.backend = GetParam()}; }
};

INSTANTIATE_TEST_SUITE_P(Backends, Solve, testing::Values(Backend::native, Backend::ipopt),
                         [](const auto& test) { return test.param == Backend::native ? "Native" : "Ipopt"; });

// minimise |x - a|^2 / 2, x0 + x1 = 1, x1 >= 0, x2 <= 1 at a = (2, -1, 3): x = (1, 0, 1), y = 1, z = 2 at both bounds
TEST_P(Solve, MultipliersOfAQuadraticProgram) {
  JetProblem problem(
      3, [](const Jets& x) { return 0.5 * (squared(x[0] - 2) + squared(x[1] + 1) + squared(x[2] - 3)); }, 1,
      [](const Jets& x) { return Jets{x[0] + x[1]}; });
  problem.lower[1] = 0.0;
  problem.upper[2] = 1.0;
  problem.constraint_lower[0] = problem.constraint_upper[0] = 1.0;
  const Solution solution = solve(problem, VectorXd::Constant(3, 7.0), options());
  ASSERT_EQ(solution.status, SolveStatus::solved) << solution.reason;
  EXPECT_TRUE(solution.x.isApprox(vec({1, 0, 1}), 1e-8));
  EXPECT_NEAR(solution.objective, 3.0, 1e-8);
  EXPECT_NEAR(solution.multipliers[0], 1.0, 1e-8);
  EXPECT_TRUE((solution.lower_multipliers - vec({0, 2, 0})).isZero(1e-8));
  EXPECT_TRUE((solution.upper_multipliers - vec({0, 0, 2})).isZero(1e-8));
}

// minimise (x - goal)^2, 1 <= c(x) = 2 x <= 6: y = -dual of the lower or upper end of the range
TEST_P(Solve, RangeConstraintHasTheSignOfItsActiveEnd) {
  for (double goal : {-1.0, 2.0, 5.0}) {
    JetProblem problem(
        1, [=](const Jets& x) { return squared(x[0] - goal); }, 1, [](const Jets& x) { return Jets{2 * x[0]}; });
    problem.constraint_lower[0] = 1.0;
    problem.constraint_upper[0] = 6.0;
    const Solution solution = solve(problem, vec({2.5}), options());
    ASSERT_EQ(solution.status, SolveStatus::solved) << solution.reason;
    const double x = std::clamp(goal, 0.5, 3.0);
    EXPECT_NEAR(solution.x[0], x, 1e-8);
    EXPECT_NEAR(solution.multipliers[0], goal - x, 1e-8);  // 2 (x - goal) + 2 y = 0
  }
}

TEST_P(Solve, FixedVariableCarriesItsMultiplier) {
  for (double fixed : {3.0, -3.0}) {
    JetProblem problem(
        2, [](const Jets& x) { return squared(x[0] - 1) + squared(x[1] - 2) + x[0] * x[1]; }, 1,
        [](const Jets& x) { return Jets{x[0] + x[1]}; });
    problem.lower[0] = problem.upper[0] = fixed;
    problem.constraint_lower[0] = -10.0;
    problem.constraint_upper[0] = 10.0;
    const Solution solution = solve(problem, vec({0, 0}), options());
    ASSERT_EQ(solution.status, SolveStatus::solved) << solution.reason;
    EXPECT_EQ(solution.x[0], fixed);
    EXPECT_NEAR(solution.x[1], 2.0 - 0.5 * fixed, 1e-8);
    const double slope = 2.0 * (fixed - 1.0) + solution.x[1];  // d optimum / d fixed
    EXPECT_NEAR(solution.lower_multipliers[0] - solution.upper_multipliers[0], slope, 1e-8);
    EXPECT_GE(solution.lower_multipliers.minCoeff(), 0.0);
    EXPECT_GE(solution.upper_multipliers.minCoeff(), 0.0);
  }
}

TEST_P(Solve, EveryVariableFixed) {
  JetProblem problem(
      2, [](const Jets& x) { return x[0] * x[1]; }, 1, [](const Jets& x) { return Jets{x[0] + x[1]}; });
  problem.lower = problem.upper = vec({2, -3});
  problem.constraint_lower[0] = -1.0;
  const Solution solution = solve(problem, vec({0, 0}), options());
  EXPECT_EQ(solution.status, SolveStatus::solved) << solution.reason;
  EXPECT_EQ(solution.objective, -6.0);
  EXPECT_EQ(solution.upper_multipliers, vec({3, 0}));
  EXPECT_EQ(solution.lower_multipliers, vec({0, 2}));
  problem.constraint_lower[0] = 0.0;
  EXPECT_EQ(solve(problem, vec({0, 0}), options()).status, SolveStatus::infeasible);
}

// Its gradient is of order 1e6 at the start, where Ipopt scales the objective by 1e-4: the residual counts unscaled.
TEST_P(Solve, ToleranceIsUnscaled) {
  JetProblem problem(2, [](const Jets& x) { return 1e3 * power(x[0] - 1, 4) + 1e3 * squared(x[0] - x[1]); });
  problem.lower = vec({1.5, 0});
  const Solution solution = solve(problem, vec({10, -7}), options());
  ASSERT_EQ(solution.status, SolveStatus::solved) << solution.reason;
  EXPECT_LE(solution.residuals.max(), 1e-9);
  EXPECT_NEAR(solution.lower_multipliers[0], 500.0, 1e-6);
}

TEST_P(Solve, InfeasibleProblemIsCalledSo) {
  const Solution curved = solve(disjoint(), vec({0, 0}), options());
  EXPECT_EQ(curved.status, SolveStatus::infeasible) << curved.reason;
  EXPECT_GT(curved.residuals.feasibility, 0.1);

  JetProblem planes(
      3, [](const Jets& x) { return squared(x[0]) + squared(x[1]) + x[2]; }, 2,
      [](const Jets& x) {
        return Jets{x[0] + x[1], x[0] + x[1] - 1};
      });
  const Solution parallel = solve(planes, vec({0.3, -2, 1}), options());
  EXPECT_NE(parallel.status, SolveStatus::solved) << parallel.reason;
  EXPECT_NE(parallel.status, SolveStatus::failed) << parallel.reason;
  EXPECT_GE(parallel.residuals.feasibility, 0.5);
}

TEST_P(Solve, UnboundedProblemEnds) {
  const JetProblem line(1, [](const Jets& x) { return -x[0]; });
  const JetProblem parabola(1, [](const Jets& x) { return -squared(x[0]); });
  for (const JetProblem* problem : {&line, &parabola}) {
    const Solution solution = solve(*problem, vec({1}), options());
    EXPECT_EQ(solution.status, SolveStatus::not_converged) << solution.reason;
    EXPECT_LT(solution.iterations, 500);
    EXPECT_FALSE(solution.reason.empty());
  }
}

TEST_P(Solve, NotANumberAtTheStartFails) {
  const JetProblem problem(1, [](const Jets& x) { return log(x[0]); });
  const Solution solution = solve(problem, vec({-1}), options());
  EXPECT_EQ(solution.status, SolveStatus::failed);
  EXPECT_EQ(solution.reason, "objective is not a number at the starting point");

  JetProblem constrained(
      2, [](const Jets& x) { return x[0]; }, 2,
      [](const Jets& x) {
        return Jets{x[0], log(x[1])};
      });
  EXPECT_EQ(solve(constrained, vec({1, -1}), options()).reason,
            "a constraint is not a number at the starting point: constraint 1");
  EXPECT_EQ(solve(constrained, vec({nan, 1}), options()).status, SolveStatus::failed);
}

// minimise x - log x from 3: the full Newton step lands at -3, where there is no logarithm.
TEST(SolveInteriorPoint, BacksOffFromNotANumber) {
  const JetProblem problem(1, [](const Jets& x) { return x[0] - log(x[0]); });
  for (const Backend backend : {Backend::native, Backend::ipopt}) {
    if (!available(backend)) continue;
    const Solution solution = solve(problem, vec({3}), {.backend = backend});
    ASSERT_EQ(solution.status, SolveStatus::solved) << solution.reason;
    EXPECT_NEAR(solution.x[0], 1.0, 1e-8);
  }
}

TEST_P(Solve, NotANumberFromSomeCallOnEnds) {
  for (int good = 2; good < 6; ++good) {
    int calls = 0;
    const Tampered problem(rosenbrock(), [&calls, good](double f) { return ++calls > good ? nan : f; });
    const Solution solution = solve(problem, vec({-1.2, 1}), options());
    EXPECT_EQ(solution.status, SolveStatus::not_converged) << solution.reason;
    EXPECT_LT(calls, 10000);
    EXPECT_TRUE(solution.x.allFinite());
  }
}

TEST_P(Solve, TimeLimitIsHonoured) {
  int calls = 0;
  const Tampered problem(rosenbrock(), [&calls](double f) {
    ++calls;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return f;
  });
  Options limited = options();
  limited.max_seconds = 0.15;  // 7 calls at most
  const auto begin = std::chrono::steady_clock::now();
  const Solution solution = solve(problem, vec({-1.2, 1}), limited);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(solution.status, SolveStatus::timed_out) << solution.reason;
  EXPECT_LT(calls, 20);
  EXPECT_GE(solution.seconds, limited.max_seconds);
  EXPECT_LE(solution.seconds, elapsed.count());
  EXPECT_LE(solution.objective, rosenbrock().objective(vec({-1.2, 1})));
}

TEST_P(Solve, LimitOfProcessorTimeIsHonoured) {
  const Tampered problem(rosenbrock(), [](double f) {
    const double end = processor_seconds() + 0.02;
    while (processor_seconds() < end) {
    }
    return f;
  });
  Options limited = options();
  limited.max_processor_seconds = 0.1;
  const double begin = processor_seconds();
  const Solution solution = solve(problem, vec({-1.2, 1}), limited);
  EXPECT_EQ(solution.status, SolveStatus::timed_out) << solution.reason;
  EXPECT_GE(processor_seconds() - begin, limited.max_processor_seconds);
  EXPECT_LE(processor_seconds() - begin, 4 * limited.max_processor_seconds);
}

// Other programs on the machine make a solve take longer. They do not change its result.
TEST_P(Solve, TimeInWhichTheSolverWaitsIsNoProcessorTime) {
  const Tampered waiting(rosenbrock(), [](double f) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return f;
  });
  Options limited = options();
  limited.max_processor_seconds = 0.2;
  const Solution solution = solve(waiting, vec({-1.2, 1}), limited);
  EXPECT_EQ(solution.status, SolveStatus::solved) << solution.reason;
  EXPECT_GT(solution.seconds, limited.max_processor_seconds);
}

TEST_P(Solve, IterationLimitIsHonoured) {
  Options limited = options();
  limited.max_iterations = 3;
  const Solution solution = solve(rosenbrock(), vec({-1.2, 1}), limited);
  EXPECT_EQ(solution.status, SolveStatus::not_converged);
  EXPECT_LE(solution.iterations, 3);
  EXPECT_EQ(solution.reason.rfind("iteration limit", 0), 0u) << solution.reason;
}

TEST_P(Solve, StartOutsideTheBoundsIsMovedIn) {
  JetProblem problem(1, [](const Jets& x) { return x[0] - log(x[0]); });
  problem.lower[0] = 0.5;
  problem.upper[0] = 4.0;
  const Solution solution = solve(problem, vec({-100}), options());
  ASSERT_EQ(solution.status, SolveStatus::solved) << solution.reason;
  EXPECT_NEAR(solution.x[0], 1.0, 1e-8);
}

TEST_P(Solve, MalformedBoundsFail) {
  JetProblem problem = rosenbrock();
  problem.lower[1] = 2.0;
  problem.upper[1] = 1.0;
  EXPECT_EQ(solve(problem, vec({0, 0}), options()).status, SolveStatus::failed);
  EXPECT_EQ(solve(problem, vec({0, 0}), options()).reason, "lower bound above upper bound at variable 1");
}

// No number satisfies a row from inf to inf; without this, a solver searches for one until its limit.
TEST_P(Solve, BoundsWithoutAFiniteValueFail) {
  for (const double bound : {infinity, -infinity}) {
    JetProblem problem = disjoint();
    problem.constraint_lower[1] = problem.constraint_upper[1] = bound;
    const Solution solution = solve(problem, vec({0, 0}), options());
    EXPECT_EQ(solution.status, SolveStatus::failed) << bound;
    EXPECT_EQ(solution.reason, "no finite value within the bounds of constraint 1");
    problem = disjoint();
    problem.lower[0] = problem.upper[0] = bound;
    EXPECT_EQ(solve(problem, vec({0, 0}), options()).reason, "no finite value within the bounds of variable 0");
  }
}

TEST_P(Solve, SizesThatDoNotMatchThrow) {
  EXPECT_THROW(solve(rosenbrock(), vec({1}), options()), std::invalid_argument);
  JetProblem problem = rosenbrock();
  problem.upper = vec({1});
  EXPECT_THROW(solve(problem, vec({1, 1}), options()), std::invalid_argument);
  problem = rosenbrock();
  std::swap(problem.hessian_pattern.rows, problem.hessian_pattern.columns);  // the upper triangle
  EXPECT_THROW(solve(problem, vec({1, 1}), options()), std::invalid_argument);
  EXPECT_THROW(solve(disjoint(), Solution{}, options()), std::invalid_argument);
}

TEST_P(Solve, MoreEqualitiesThanVariablesEnd) {
  const JetProblem problem(
      1, [](const Jets& x) { return x[0]; }, 2,
      [](const Jets& x) {
        return Jets{x[0], x[0] - 1};
      });
  const Solution solution = solve(problem, vec({3}), options());
  EXPECT_NE(solution.status, SolveStatus::solved);
  EXPECT_FALSE(solution.reason.empty());
}

TEST_P(Solve, ThreadsDoNotDisturbEachOther) {
  const JetProblem problem = rosenbrock();
  const Solution alone = solve(problem, vec({-1.2, 1}), options());
  std::atomic<int> same = 0;
  constexpr int threads = 4, repeats = 25;
  std::vector<std::thread> pool;
  for (int t = 0; t < threads; ++t)
    pool.emplace_back([&, t] {
      for (int r = 0; r < repeats; ++r) {
        if (t % 2) solve(disjoint(), vec({0, 0}), options());  // something else in between
        const Solution solution = solve(problem, vec({-1.2, 1}), options());
        same += solution.x == alone.x && solution.iterations == alone.iterations;
      }
    });
  for (std::thread& thread : pool) thread.join();
  EXPECT_EQ(same, threads * repeats);
}

// The lock is given up in callbacks: a problem may solve another one inside.
TEST_P(Solve, ASolveMayContainAnother) {
  const Options inner = options();
  const Tampered problem(rosenbrock(), [&](double f) {
    return f + solve(JetProblem(1, [](const Jets& x) { return squared(x[0]); }), vec({1}), inner).objective;
  });
  EXPECT_EQ(solve(problem, vec({-1.2, 1}), options()).status, SolveStatus::solved);
}

// The quadratic program above: its optimum has no residual, and each kind of error shows where it belongs.
TEST(Residuals, EachErrorShowsInItsPlace) {
  JetProblem problem(
      3, [](const Jets& x) { return 0.5 * (squared(x[0] - 2) + squared(x[1] + 1) + squared(x[2] - 3)); }, 2,
      [](const Jets& x) {
        return Jets{x[0] + x[1], x[0]};
      });
  problem.lower[1] = 0.0;
  problem.upper[2] = 1.0;
  problem.constraint_lower = vec({1, -infinity});
  problem.constraint_upper = vec({1, 4});
  const VectorXd x = vec({1, 0, 1}), y = vec({1, 0}), z_lower = vec({0, 2, 0}), z_upper = vec({0, 0, 2});
  EXPECT_EQ(residuals(problem, x, y, z_lower, z_upper).max(), 0.0);
  EXPECT_EQ(residuals(problem, x, vec({1.5, 0}), z_lower, z_upper).stationarity, 0.5);
  EXPECT_EQ(residuals(problem, vec({1, -0.25, 1}), y, z_lower, z_upper).feasibility, 0.25);
  EXPECT_EQ(residuals(problem, vec({1.5, 0, 1}), y, z_lower, z_upper).feasibility, 0.5);
  EXPECT_EQ(residuals(problem, vec({1, 0.5, 1}), y, z_lower, z_upper).complementarity, 1.0);  // z times slack
  EXPECT_EQ(residuals(problem, x, vec({1, 2}), z_lower, z_upper).complementarity, 6.0);       // y times slack
  EXPECT_EQ(residuals(problem, x, vec({1, -2}), z_lower, z_upper).complementarity, 2.0);      // no such bound
  EXPECT_EQ(residuals(problem, x, y, vec({0, -2, 0}), z_upper).complementarity, 2.0);         // wrong sign
  EXPECT_EQ(residuals(problem, x, y, vec({3, 2, 0}), z_upper).complementarity, 3.0);          // no such bound
  EXPECT_EQ(residuals(problem, x, vec({nan, 0}), z_lower, z_upper).max(), infinity);
  EXPECT_EQ(residuals(problem, vec({nan, 0, 1}), y, z_lower, z_upper).max(), infinity);
}

}  // namespace
}  // namespace dodyn::nlp::test_solve
