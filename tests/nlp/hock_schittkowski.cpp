// Problems of W. Hock and K. Schittkowski, Test Examples for Nonlinear Programming Codes (Springer, 1981), with the
// optima printed there, through both solvers.
#include <gtest/gtest.h>

#include <memory>
#include <numbers>

#include "jet_problem.hpp"
#include "nlp/solve.hpp"
#include "tests/nlp/check_derivatives.hpp"

namespace dodyn::nlp::test_hock_schittkowski {
namespace {

using Eigen::VectorXd;

struct Case {
  int number;
  std::shared_ptr<JetProblem> problem;
  VectorXd start;
  double optimum;
};

VectorXd vec(std::initializer_list<double> values) {
  return Eigen::Map<const VectorXd>(values.begin(), static_cast<long>(values.size()));
}

// The book's constraints are inequalities c >= 0 first, then equalities c = 0.
Case make(int number, VectorXd start, double optimum, std::function<Jet(const Jets&)> f, int inequalities = 0,
          int equalities = 0, std::function<Jets(const Jets&)> c = {}) {
  auto problem = std::make_shared<JetProblem>(start.size(), std::move(f), inequalities + equalities, std::move(c));
  problem->constraint_upper.head(inequalities).setConstant(infinity);
  return {number, problem, std::move(start), optimum};
}

Case bounded(Case c, VectorXd lower, VectorXd upper) {
  c.problem->lower = std::move(lower);
  c.problem->upper = std::move(upper);
  return c;
}

// Returns all problems. The function is long because it is a table.
std::vector<Case> cases() {
  const double inf = infinity, root3 = std::numbers::sqrt3;
  std::vector<Case> all;
  all.push_back(bounded(
      make(1, vec({-2, 1}), 0.0, [](const Jets& x) { return 100 * squared(x[1] - squared(x[0])) + squared(1 - x[0]); }),
      vec({-inf, -1.5}), vec({inf, inf})));
  all.push_back(bounded(
      make(4, vec({1.125, 0.125}), 8.0 / 3.0, [](const Jets& x) { return 1.0 / 3.0 * power(x[0] + 1, 3) + x[1]; }),
      vec({1, 0}), vec({inf, inf})));
  all.push_back(
      bounded(make(5, vec({0, 0}), -root3 / 2 - std::numbers::pi / 3,
                   [](const Jets& x) { return sin(x[0] + x[1]) + squared(x[0] - x[1]) - 1.5 * x[0] + 2.5 * x[1] + 1; }),
              vec({-1.5, -3}), vec({4, 3})));
  all.push_back(make(
      6, vec({-1.2, 1}), 0.0, [](const Jets& x) { return squared(1 - x[0]); }, 0, 1,
      [](const Jets& x) { return Jets{10 * (x[1] - squared(x[0]))}; }));
  all.push_back(make(
      7, vec({2, 2}), -root3, [](const Jets& x) { return log(1 + squared(x[0])) - x[1]; }, 0, 1,
      [](const Jets& x) { return Jets{squared(1 + squared(x[0])) + squared(x[1]) - 4}; }));
  all.push_back(make(
      10, vec({-10, 10}), -1.0, [](const Jets& x) { return x[0] - x[1]; }, 1, 0,
      [](const Jets& x) { return Jets{-3 * squared(x[0]) + 2 * (x[0] * x[1]) - squared(x[1]) + 1}; }));
  all.push_back(make(
      11, vec({4.9, 0.1}), -8.498464223, [](const Jets& x) { return squared(x[0] - 5) + squared(x[1]) - 25; }, 1, 0,
      [](const Jets& x) { return Jets{x[1] - squared(x[0])}; }));
  all.push_back(make(
      12, vec({0, 0}), -30.0,
      [](const Jets& x) { return 0.5 * squared(x[0]) + squared(x[1]) - x[0] * x[1] - 7 * x[0] - 7 * x[1]; }, 1, 0,
      [](const Jets& x) { return Jets{25 - 4 * squared(x[0]) - squared(x[1])}; }));
  all.push_back(make(
      14, vec({2, 2}), 9 - 2.875 * std::sqrt(7.0), [](const Jets& x) { return squared(x[0] - 2) + squared(x[1] - 1); },
      1, 1,
      [](const Jets& x) {
        return Jets{1 - 0.25 * squared(x[0]) - squared(x[1]), x[0] - 2 * x[1] + 1};
      }));
  all.push_back(bounded(make(
                            15, vec({-2, 1}), 306.5,
                            [](const Jets& x) { return 100 * squared(x[1] - squared(x[0])) + squared(1 - x[0]); }, 2, 0,
                            [](const Jets& x) {
                              return Jets{x[0] * x[1] - 1, x[0] + squared(x[1])};
                            }),
                        vec({-inf, -inf}), vec({0.5, inf})));
  all.push_back(
      bounded(make(
                  21, vec({-1, -1}), -99.96, [](const Jets& x) { return 0.01 * squared(x[0]) + squared(x[1]) - 100; },
                  1, 0, [](const Jets& x) { return Jets{10 * x[0] - x[1] - 10}; }),
              vec({2, -50}), vec({50, 50})));
  all.push_back(
      bounded(make(
                  24, vec({1, 0.5}), -1.0,
                  [=](const Jets& x) { return 1 / (27 * root3) * ((squared(x[0] - 3) - 9) * power(x[1], 3)); }, 3, 0,
                  [=](const Jets& x) {
                    return Jets{1 / root3 * x[0] - x[1], x[0] + root3 * x[1], 6 - x[0] - root3 * x[1]};
                  }),
              vec({0, 0}), vec({inf, inf})));
  all.push_back(make(
      28, vec({-4, 1, 1}), 0.0, [](const Jets& x) { return squared(x[0] + x[1]) + squared(x[1] + x[2]); }, 0, 1,
      [](const Jets& x) { return Jets{x[0] + 2 * x[1] + 3 * x[2] - 1}; }));
  all.push_back(make(
      29, vec({1, 1, 1}), -16 * std::numbers::sqrt2, [](const Jets& x) { return -(x[0] * x[1] * x[2]); }, 1, 0,
      [](const Jets& x) { return Jets{48 - squared(x[0]) - 2 * squared(x[1]) - 4 * squared(x[2])}; }));
  all.push_back(bounded(make(
                            35, vec({0.5, 0.5, 0.5}), 1.0 / 9.0,
                            [](const Jets& x) {
                              return 9 - 8 * x[0] - 6 * x[1] - 4 * x[2] + 2 * squared(x[0]) + 2 * squared(x[1]) +
                                     squared(x[2]) + 2 * (x[0] * x[1]) + 2 * (x[0] * x[2]);
                            },
                            1, 0, [](const Jets& x) { return Jets{3 - x[0] - x[1] - 2 * x[2]}; }),
                        vec({0, 0, 0}), vec({inf, inf, inf})));
  all.push_back(bounded(make(
                            37, vec({10, 10, 10}), -3456.0, [](const Jets& x) { return -(x[0] * x[1] * x[2]); }, 2, 0,
                            [](const Jets& x) {
                              const Jet sum = x[0] + 2 * x[1] + 2 * x[2];
                              return Jets{72 - sum, sum};
                            }),
                        vec({0, 0, 0}), vec({42, 42, 42})));
  all.push_back(bounded(make(38, vec({-3, -1, -3, -1}), 0.0,
                             [](const Jets& x) {
                               return 100 * squared(x[1] - squared(x[0])) + squared(1 - x[0]) +
                                      90 * squared(x[3] - squared(x[2])) + squared(1 - x[2]) +
                                      10.1 * (squared(x[1] - 1) + squared(x[3] - 1)) + 19.8 * ((x[1] - 1) * (x[3] - 1));
                             }),
                        VectorXd::Constant(4, -10), VectorXd::Constant(4, 10)));
  all.push_back(make(
      39, vec({2, 2, 2, 2}), -1.0, [](const Jets& x) { return -x[0]; }, 0, 2,
      [](const Jets& x) {
        return Jets{x[1] - power(x[0], 3) - squared(x[2]), squared(x[0]) - x[1] - squared(x[3])};
      }));
  all.push_back(make(
      40, vec({0.8, 0.8, 0.8, 0.8}), -0.25, [](const Jets& x) { return -(x[0] * x[1] * x[2] * x[3]); }, 0, 3,
      [](const Jets& x) {
        return Jets{power(x[0], 3) + squared(x[1]) - 1, squared(x[0]) * x[3] - x[2], squared(x[3]) - x[1]};
      }));
  all.push_back(make(
      43, vec({0, 0, 0, 0}), -44.0,
      [](const Jets& x) {
        return squared(x[0]) + squared(x[1]) + 2 * squared(x[2]) + squared(x[3]) - 5 * x[0] - 5 * x[1] - 21 * x[2] +
               7 * x[3];
      },
      3, 0,
      [](const Jets& x) {
        return Jets{8 - squared(x[0]) - squared(x[1]) - squared(x[2]) - squared(x[3]) - x[0] + x[1] - x[2] + x[3],
                    10 - squared(x[0]) - 2 * squared(x[1]) - squared(x[2]) - 2 * squared(x[3]) + x[0] + x[3],
                    5 - 2 * squared(x[0]) - squared(x[1]) - squared(x[2]) - 2 * x[0] + x[1] + x[3]};
      }));
  all.push_back(make(
      51, vec({2.5, 0.5, 2, -1, 0.5}), 0.0,
      [](const Jets& x) {
        return squared(x[0] - x[1]) + squared(x[1] + x[2] - 2) + squared(x[3] - 1) + squared(x[4] - 1);
      },
      0, 3,
      [](const Jets& x) {
        return Jets{x[0] + 3 * x[1] - 4, x[2] + x[3] - 2 * x[4], x[1] - x[4]};
      }));
  all.push_back(bounded(
      make(
          63, vec({2, 2, 2}), 961.7151721,
          [](const Jets& x) {
            return 1000 - squared(x[0]) - 2 * squared(x[1]) - squared(x[2]) - x[0] * x[1] - x[0] * x[2];
          },
          0, 2,
          [](const Jets& x) {
            return Jets{8 * x[0] + 14 * x[1] + 7 * x[2] - 56, squared(x[0]) + squared(x[1]) + squared(x[2]) - 25};
          }),
      vec({0, 0, 0}), vec({inf, inf, inf})));
  all.push_back(
      bounded(make(
                  65, vec({-5, 5, 0}), 0.9535288567,
                  [](const Jets& x) {
                    return squared(x[0] - x[1]) + 1.0 / 9.0 * squared(x[0] + x[1] - 10) + squared(x[2] - 5);
                  },
                  1, 0, [](const Jets& x) { return Jets{48 - squared(x[0]) - squared(x[1]) - squared(x[2])}; }),
              vec({-4.5, -4.5, -5}), vec({4.5, 4.5, 5})));
  all.push_back(bounded(make(
                            71, vec({1, 5, 5, 1}), 17.0140173,
                            [](const Jets& x) { return x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2]; }, 1, 1,
                            [](const Jets& x) {
                              return Jets{x[0] * x[1] * x[2] * x[3] - 25,
                                          squared(x[0]) + squared(x[1]) + squared(x[2]) + squared(x[3]) - 40};
                            }),
                        VectorXd::Constant(4, 1), VectorXd::Constant(4, 5)));
  all.push_back(bounded(make(
                            76, vec({0.5, 0.5, 0.5, 0.5}), -4.681818181,
                            [](const Jets& x) {
                              return squared(x[0]) + 0.5 * squared(x[1]) + squared(x[2]) + 0.5 * squared(x[3]) -
                                     x[0] * x[2] + x[2] * x[3] - x[0] - 3 * x[1] + x[2] - x[3];
                            },
                            3, 0,
                            [](const Jets& x) {
                              return Jets{5 - x[0] - 2 * x[1] - x[2] - x[3], 4 - 3 * x[0] - x[1] - 2 * x[2] + x[3],
                                          x[1] + 4 * x[2] - 1.5};
                            }),
                        VectorXd::Zero(4), VectorXd::Constant(4, inf)));
  all.push_back(make(
      100, vec({1, 2, 0, 4, 0, 1, 1}), 680.6300573,
      [](const Jets& x) {
        return squared(x[0] - 10) + 5 * squared(x[1] - 12) + power(x[2], 4) + 3 * squared(x[3] - 11) +
               10 * power(x[4], 6) + 7 * squared(x[5]) + power(x[6], 4) - 4 * (x[5] * x[6]) - 10 * x[5] - 8 * x[6];
      },
      4, 0,
      [](const Jets& x) {
        return Jets{127 - 2 * squared(x[0]) - 3 * power(x[1], 4) - x[2] - 4 * squared(x[3]) - 5 * x[4],
                    282 - 7 * x[0] - 3 * x[1] - 10 * squared(x[2]) - x[3] + x[4],
                    196 - 23 * x[0] - squared(x[1]) - 6 * squared(x[5]) + 8 * x[6],
                    -4 * squared(x[0]) - squared(x[1]) + 3 * (x[0] * x[1]) - 2 * squared(x[2]) - 5 * x[5] + 11 * x[6]};
      }));
  return all;
}

class HockSchittkowski : public testing::TestWithParam<Case> {
 protected:
  void expect_optimum(const Options& options) {
    const Case& c = GetParam();
    if (!available(options.backend)) GTEST_SKIP() << "not in this build";
    const Solution solution = solve(*c.problem, c.start, options);
    EXPECT_EQ(solution.status, SolveStatus::solved) << solution.reason;
    EXPECT_LE(solution.residuals.max(), options.tolerance);
    EXPECT_NEAR(solution.objective, c.optimum, 1e-7 * std::max(1.0, std::abs(c.optimum)));
    EXPECT_TRUE((solution.x.array() >= c.problem->lower.array()).all());
    EXPECT_TRUE((solution.x.array() <= c.problem->upper.array()).all());
  }
};

TEST_P(HockSchittkowski, DerivativesAreRight) {
  const Case& c = GetParam();
  const DerivativeErrors errors = check_derivatives(*c.problem, c.start.array() + 0.01);
  EXPECT_LT(errors.max(), 1e-8) << errors.worst;
}

TEST_P(HockSchittkowski, Native) { expect_optimum({.backend = Backend::native, .tolerance = 1e-9}); }

TEST_P(HockSchittkowski, Ipopt) { expect_optimum({.backend = Backend::ipopt, .tolerance = 1e-9}); }

INSTANTIATE_TEST_SUITE_P(Book, HockSchittkowski, testing::ValuesIn(cases()),
                         [](const auto& test) { return "HS" + std::to_string(test.param.number); });

void PrintTo(const Case& c, std::ostream* out) { *out << "HS" << c.number; }

}  // namespace
}  // namespace dodyn::nlp::test_hock_schittkowski
