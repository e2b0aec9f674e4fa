// Tests the native solver. More problems of W. Hock and K. Schittkowski, Test Examples for Nonlinear Programming Codes
// (Springer, 1981): together with hock_schittkowski.cpp more than sixty, all with a starting point that leads to one
// minimum. Also random quadratic programs with closed forms, and dependent and contradictory constraints.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <memory>
#include <numbers>
#include <random>

#include "jet_problem.hpp"
#include "nlp/solve.hpp"
#include "nlp/symmetric_factor.hpp"

namespace dodyn::nlp::test_native {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

Jet exp(const Jet& a) { return a.chain(std::exp(a.value), std::exp(a.value), std::exp(a.value)); }
Jet cos(const Jet& a) { return a.chain(std::cos(a.value), -std::sin(a.value), -std::cos(a.value)); }
Jet sqrt(const Jet& a) {
  const double r = std::sqrt(a.value);
  return a.chain(r, 0.5 / r, -0.25 / (r * a.value));
}
Jet inverse(const Jet& a) { return power(a, -1); }

VectorXd vec(std::initializer_list<double> values) {
  return Eigen::Map<const VectorXd>(values.begin(), static_cast<long>(values.size()));
}

struct Case {
  int number;
  double optimum;
  VectorXd start;
  std::shared_ptr<JetProblem> problem;
};

struct Book {
  std::vector<Case> cases;
  // The book's constraints are inequalities c >= 0 first, then equalities c = 0.
  Book& add(int number, double optimum, VectorXd start, std::function<Jet(const Jets&)> f, int inequalities = 0,
            int equalities = 0, std::function<Jets(const Jets&)> c = {}) {
    auto problem = std::make_shared<JetProblem>(start.size(), std::move(f), inequalities + equalities, std::move(c));
    problem->constraint_upper.head(inequalities).setConstant(infinity);
    cases.push_back({number, optimum, std::move(start), std::move(problem)});
    return *this;
  }
  void within(VectorXd lower, VectorXd upper) {
    cases.back().problem->lower = std::move(lower);
    cases.back().problem->upper = std::move(upper);
  }
};

// Returns all problems. The function is long because it is a table.
std::vector<Case> cases() {
  const double inf = infinity, root2 = std::numbers::sqrt2, pi = std::numbers::pi;
  Book b;
  using J = const Jets&;
  const auto rosenbrock = [](J x) { return 100 * squared(x[1] - squared(x[0])) + squared(1 - x[0]); };
  const auto all = [](int n, double value) { return VectorXd(VectorXd::Constant(n, value)); };

  b.add(3, 0.0, vec({10, 1}), [](J x) {
     return x[1] + 1e-5 * squared(x[1] - x[0]);
   }).within(vec({-inf, 0}), all(2, inf));
  b.add(
      8, -1.0, vec({2, 1}), [](J x) { return 0.0 * x[0] - 1; }, 0, 2,
      [](J x) {
        return Jets{squared(x[0]) + squared(x[1]) - 25, x[0] * x[1] - 9};
      });
  b.add(
      9, -0.5, vec({0, 0}), [=](J x) { return sin(pi / 12 * x[0]) * cos(pi / 16 * x[1]); }, 0, 1,
      [](J x) { return Jets{4 * x[0] - 3 * x[1]}; });
  b.add(17, 1.0, vec({-2, 1}), rosenbrock, 2, 0, [](J x) {
     return Jets{squared(x[1]) - x[0], squared(x[0]) - x[1]};
   }).within(vec({-0.5, -inf}), vec({0.5, 1}));
  b.add(
       18, 5.0, vec({2, 2}), [](J x) { return 0.01 * squared(x[0]) + squared(x[1]); }, 2, 0,
       [](J x) {
         return Jets{x[0] * x[1] - 25, squared(x[0]) + squared(x[1]) - 25};
       })
      .within(vec({2, 0}), vec({50, 50}));
  b.add(
       19, -6961.81381, vec({20.1, 5.84}), [](J x) { return power(x[0] - 10, 3) + power(x[1] - 20, 3); }, 2, 0,
       [](J x) {
         return Jets{squared(x[0] - 5) + squared(x[1] - 5) - 100, 82.81 - squared(x[1] - 5) - squared(x[0] - 6)};
       })
      .within(vec({13, 0}), vec({100, 100}));
  b.add(
      22, 1.0, vec({2, 2}), [](J x) { return squared(x[0] - 2) + squared(x[1] - 1); }, 2, 0,
      [](J x) {
        return Jets{2 - x[0] - x[1], x[1] - squared(x[0])};
      });
  b.add(
       23, 2.0, vec({3, 1}), [](J x) { return squared(x[0]) + squared(x[1]); }, 5, 0,
       [](J x) {
         return Jets{x[0] + x[1] - 1, squared(x[0]) + squared(x[1]) - 1, 9 * squared(x[0]) + squared(x[1]) - 9,
                     squared(x[0]) - x[1], squared(x[1]) - x[0]};
       })
      .within(all(2, -50), all(2, 50));
  b.add(
      27, 0.04, vec({2, 2, 2}), [](J x) { return 0.01 * squared(x[0] - 1) + squared(x[1] - squared(x[0])); }, 0, 1,
      [](J x) { return Jets{x[0] + squared(x[2]) + 1}; });
  b.add(
       30, 1.0, vec({1, 1, 1}), [](J x) { return squared(x[0]) + squared(x[1]) + squared(x[2]); }, 1, 0,
       [](J x) { return Jets{squared(x[0]) + squared(x[1]) - 1}; })
      .within(vec({1, -10, -10}), all(3, 10));
  b.add(
       31, 6.0, vec({1, 1, 1}), [](J x) { return 9 * squared(x[0]) + squared(x[1]) + 9 * squared(x[2]); }, 1, 0,
       [](J x) { return Jets{x[0] * x[1] - 1}; })
      .within(vec({-10, 1, -10}), vec({10, 10, 1}));
  b.add(
       32, 1.0, vec({0.1, 0.7, 0.2}), [](J x) { return squared(x[0] + 3 * x[1] + x[2]) + 4 * squared(x[0] - x[1]); }, 1,
       1,
       [](J x) {
         return Jets{6 * x[1] + 4 * x[2] - power(x[0], 3) - 3, 1 - x[0] - x[1] - x[2]};
       })
      .within(all(3, 0), all(3, inf));
  b.add(
       33, root2 - 6, vec({0, 0, 3}), [](J x) { return (x[0] - 1) * (x[0] - 2) * (x[0] - 3) + x[2]; }, 2, 0,
       [](J x) {
         return Jets{squared(x[2]) - squared(x[1]) - squared(x[0]), squared(x[0]) + squared(x[1]) + squared(x[2]) - 4};
       })
      .within(all(3, 0), vec({inf, inf, 5}));
  const auto tower = [](J x) { return Jets{x[1] - exp(x[0]), x[2] - exp(x[1])}; };
  b.add(
       34, -std::log(std::log(10.0)), vec({0, 1.05, 2.9}), [](J x) { return -x[0]; }, 2, 0, tower)
      .within(all(3, 0), vec({100, 100, 10}));
  b.add(
       36, -3300.0, vec({10, 10, 10}), [](J x) { return -(x[0] * x[1] * x[2]); }, 1, 0,
       [](J x) { return Jets{72 - x[0] - 2 * x[1] - 2 * x[2]}; })
      .within(all(3, 0), vec({20, 11, 42}));
  b.add(
       41, 52.0 / 27, vec({2, 2, 2, 2}), [](J x) { return 2 - x[0] * x[1] * x[2]; }, 0, 1,
       [](J x) { return Jets{x[0] + 2 * x[1] + 2 * x[2] - x[3]}; })
      .within(all(4, 0), vec({1, 1, 1, 2}));
  b.add(
      42, 28 - 10 * root2, all(4, 1),
      [](J x) { return squared(x[0] - 1) + squared(x[1] - 2) + squared(x[2] - 3) + squared(x[3] - 4); }, 0, 2,
      [](J x) {
        return Jets{x[0] - 2, squared(x[2]) + squared(x[3]) - 2};
      });
  b.add(45, 1.0, all(5, 2), [](J x) {
     return 2 - 1.0 / 120 * (x[0] * x[1] * x[2] * x[3] * x[4]);
   }).within(all(5, 0), vec({1, 2, 3, 4, 5}));
  b.add(
      46, 0.0, vec({root2 / 2, 1.75, 0.5, 2, 2}),
      [](J x) { return squared(x[0] - x[1]) + squared(x[2] - 1) + power(x[3] - 1, 4) + power(x[4] - 1, 6); }, 0, 2,
      [](J x) {
        return Jets{squared(x[0]) * x[3] + sin(x[3] - x[4]) - 1, x[1] + power(x[2], 4) * squared(x[3]) - 2};
      });
  b.add(
      48, 0.0, vec({3, 5, -3, 2, -2}),
      [](J x) { return squared(x[0] - 1) + squared(x[1] - x[2]) + squared(x[3] - x[4]); }, 0, 2,
      [](J x) {
        return Jets{x[0] + x[1] + x[2] + x[3] + x[4] - 5, x[2] - 2 * (x[3] + x[4]) + 3};
      });
  b.add(
      49, 0.0, vec({10, 7, 2, -3, 0.8}),
      [](J x) { return squared(x[0] - x[1]) + squared(x[2] - 1) + power(x[3] - 1, 4) + power(x[4] - 1, 6); }, 0, 2,
      [](J x) {
        return Jets{x[0] + x[1] + x[2] + 4 * x[3] - 7, x[2] + 5 * x[4] - 6};
      });
  b.add(
      50, 0.0, vec({35, -31, 11, 5, -5}),
      [](J x) { return squared(x[0] - x[1]) + squared(x[1] - x[2]) + power(x[2] - x[3], 4) + squared(x[3] - x[4]); }, 0,
      3,
      [](J x) {
        return Jets{x[0] + 2 * x[1] + 3 * x[2] - 6, x[1] + 2 * x[2] + 3 * x[3] - 6, x[2] + 2 * x[3] + 3 * x[4] - 6};
      });
  const auto links = [](J x) { return Jets{x[0] + 3 * x[1], x[2] + x[3] - 2 * x[4], x[1] - x[4]}; };
  b.add(
      52, 1859.0 / 349, all(5, 2),
      [](J x) { return squared(4 * x[0] - x[1]) + squared(x[1] + x[2] - 2) + squared(x[3] - 1) + squared(x[4] - 1); },
      0, 3, links);
  b.add(
       53, 176.0 / 43, all(5, 2),
       [](J x) { return squared(x[0] - x[1]) + squared(x[1] + x[2] - 2) + squared(x[3] - 1) + squared(x[4] - 1); }, 0,
       3, links)
      .within(all(5, -10), all(5, 10));
  b.add(
       60, 0.03256820025, all(3, 2),
       [](J x) { return squared(x[0] - 1) + squared(x[0] - x[1]) + power(x[1] - x[2], 4); }, 0, 1,
       [=](J x) { return Jets{x[0] * (1 + squared(x[1])) + power(x[2], 4) - 4 - 3 * root2}; })
      .within(all(3, -10), all(3, 10));
  b.add(
      61, -143.6461422, all(3, 0),
      [](J x) { return 4 * squared(x[0]) + 2 * squared(x[1]) + 2 * squared(x[2]) - 33 * x[0] + 16 * x[1] - 24 * x[2]; },
      0, 2,
      [](J x) {
        return Jets{3 * x[0] - 2 * squared(x[1]) - 7, 4 * x[0] - squared(x[2]) - 11};
      });
  b.add(
       64, 6299.842428, all(3, 1),
       [](J x) {
         return 5 * x[0] + 50000 * inverse(x[0]) + 20 * x[1] + 72000 * inverse(x[1]) + 10 * x[2] +
                144000 * inverse(x[2]);
       },
       1, 0, [](J x) { return Jets{1 - 4 * inverse(x[0]) - 32 * inverse(x[1]) - 120 * inverse(x[2])}; })
      .within(all(3, 1e-5), all(3, inf));
  b.add(
       66, 0.5181632741, vec({0, 1.05, 2.9}), [](J x) { return 0.2 * x[2] - 0.8 * x[0]; }, 2, 0, tower)
      .within(all(3, 0), vec({100, 100, 10}));
  b.add(
       72, 727.67937, all(4, 1), [](J x) { return 1 + x[0] + x[1] + x[2] + x[3]; }, 2, 0,
       [](J x) {
         return Jets{
             0.0401 - 4 * inverse(x[0]) - 2.25 * inverse(x[1]) - inverse(x[2]) - 0.25 * inverse(x[3]),
             0.010085 - 0.16 * inverse(x[0]) - 0.36 * inverse(x[1]) - 0.64 * inverse(x[2]) - 0.64 * inverse(x[3])};
       })
      .within(all(4, 0.001), vec({4e5, 3e5, 2e5, 1e5}));
  b.add(
       73, 29.894378, all(4, 1), [](J x) { return 24.55 * x[0] + 26.75 * x[1] + 39 * x[2] + 40.5 * x[3]; }, 2, 1,
       [](J x) {
         return Jets{2.3 * x[0] + 5.6 * x[1] + 11.1 * x[2] + 1.3 * x[3] - 5,
                     12 * x[0] + 11.9 * x[1] + 41.8 * x[2] + 52.1 * x[3] - 21 -
                         1.645 * sqrt(0.28 * squared(x[0]) + 0.19 * squared(x[1]) + 20.5 * squared(x[2]) +
                                      0.62 * squared(x[3])),
                     x[0] + x[1] + x[2] + x[3] - 1};
       })
      .within(all(4, 0), all(4, inf));
  b.add(
      77, 0.2415051288, all(5, 2),
      [](J x) {
        return squared(x[0] - 1) + squared(x[0] - x[1]) + squared(x[2] - 1) + power(x[3] - 1, 4) + power(x[4] - 1, 6);
      },
      0, 2,
      [=](J x) {
        return Jets{squared(x[0]) * x[3] + sin(x[3] - x[4]) - 2 * root2,
                    x[1] + power(x[2], 4) * squared(x[3]) - 8 - root2};
      });
  const auto product = [](J x) { return x[0] * x[1] * x[2] * x[3] * x[4]; };
  const auto sphere = [](J x) {
    return Jets{squared(x[0]) + squared(x[1]) + squared(x[2]) + squared(x[3]) + squared(x[4]) - 10,
                x[1] * x[2] - 5 * (x[3] * x[4]), power(x[0], 3) + power(x[1], 3) + 1};
  };
  const VectorXd near = vec({-2, 1.5, 2, -1, -1}), five = vec({2.3, 2.3, 3.2, 3.2, 3.2});
  b.add(78, -2.919700409, near, product, 0, 3, sphere);
  b.add(
      79, 0.0787768209, all(5, 2),
      [](J x) {
        return squared(x[0] - 1) + squared(x[0] - x[1]) + squared(x[1] - x[2]) + power(x[2] - x[3], 4) +
               power(x[3] - x[4], 4);
      },
      0, 3,
      [=](J x) {
        return Jets{x[0] + squared(x[1]) + power(x[2], 3) - 2 - 3 * root2, x[1] - squared(x[2]) + x[3] + 2 - 2 * root2,
                    x[0] * x[4] - 2};
      });
  b.add(
       80, 0.0539498478, near, [=](J x) { return exp(product(x)); }, 0, 3, sphere)
      .within(-five, five);
  b.add(
       81, 0.0539498478, near,
       [=](J x) { return exp(product(x)) - 0.5 * squared(power(x[0], 3) + power(x[1], 3) + 1); }, 0, 3, sphere)
      .within(-five, five);
  b.add(
      113, 24.3062091, vec({2, 3, 5, 5, 1, 2, 7, 3, 6, 10}),
      [](J x) {
        return squared(x[0]) + squared(x[1]) + x[0] * x[1] - 14 * x[0] - 16 * x[1] + squared(x[2] - 10) +
               4 * squared(x[3] - 5) + squared(x[4] - 3) + 2 * squared(x[5] - 1) + 5 * squared(x[6]) +
               7 * squared(x[7] - 11) + 2 * squared(x[8] - 10) + squared(x[9] - 7) + 45;
      },
      8, 0,
      [](J x) {
        return Jets{105 - 4 * x[0] - 5 * x[1] + 3 * x[6] - 9 * x[7],
                    -10 * x[0] + 8 * x[1] + 17 * x[6] - 2 * x[7],
                    8 * x[0] - 2 * x[1] - 5 * x[8] + 2 * x[9] + 12,
                    -3 * squared(x[0] - 2) - 4 * squared(x[1] - 3) - 2 * squared(x[2]) + 7 * x[3] + 120,
                    -5 * squared(x[0]) - 8 * x[1] - squared(x[2] - 6) + 2 * x[3] + 40,
                    -0.5 * squared(x[0] - 8) - 2 * squared(x[1] - 4) - 3 * squared(x[4]) + x[5] + 30,
                    2 * (x[0] * x[1]) - squared(x[0]) - 2 * squared(x[1] - 2) - 14 * x[4] + 6 * x[5],
                    3 * x[0] - 6 * x[1] - 12 * squared(x[8] - 8) + 7 * x[9]};
      });
  return b.cases;
}

class NativeHockSchittkowski : public testing::TestWithParam<Case> {};

TEST_P(NativeHockSchittkowski, ReachesTheOptimum) {
  const Case& c = GetParam();
  const Solution s = solve(*c.problem, c.start, {.backend = Backend::native});
  ASSERT_EQ(s.status, SolveStatus::solved) << s.reason;
  EXPECT_LE(s.residuals.max(), 1e-9);
  EXPECT_NEAR(s.objective, c.optimum, 2e-7 * std::max(1.0, std::abs(c.optimum)));
}

INSTANTIATE_TEST_SUITE_P(Book, NativeHockSchittkowski, testing::ValuesIn(cases()),
                         [](const auto& test) { return "HS" + std::to_string(test.param.number); });

void PrintTo(const Case& c, std::ostream* out) { *out << "HS" << c.number; }

// ---- quadratic programs  1/2 x^T H x + g^T x,  A x = b

class Quadratic : public Problem {
 public:
  MatrixXd H, A;
  VectorXd g;
  Quadratic(MatrixXd hessian, VectorXd gradient, MatrixXd rows, VectorXd right)
      : H(std::move(hessian)), A(std::move(rows)), g(std::move(gradient)) {
    lower.setConstant(g.size(), -infinity);
    upper.setConstant(g.size(), infinity);
    constraint_lower = constraint_upper = right;
    for (int i = 0; i < H.rows(); ++i)
      for (int j = 0; j <= i; ++j)
        if (H(i, j) != 0.0) hessian_pattern.rows.push_back(i), hessian_pattern.columns.push_back(j);
    for (int i = 0; i < A.rows(); ++i)
      for (int j = 0; j < A.cols(); ++j)
        if (A(i, j) != 0.0) jacobian_pattern.rows.push_back(i), jacobian_pattern.columns.push_back(j);
  }
  double objective(const VectorXd& x) const override { return 0.5 * x.dot(H * x) + g.dot(x); }
  void objective_gradient(const VectorXd& x, Eigen::Ref<VectorXd> gradient) const override { gradient = H * x + g; }
  void constraint_values(const VectorXd& x, Eigen::Ref<VectorXd> values) const override { values = A * x; }
  void jacobian(const VectorXd&, Eigen::Ref<VectorXd> values) const override {
    for (int k = 0; k < jacobian_pattern.size(); ++k)
      values[k] = A(jacobian_pattern.rows[k], jacobian_pattern.columns[k]);
  }
  void hessian(const VectorXd&, double factor, const VectorXd&, Eigen::Ref<VectorXd> values) const override {
    for (int k = 0; k < hessian_pattern.size(); ++k)
      values[k] = factor * H(hessian_pattern.rows[k], hessian_pattern.columns[k]);
  }
};

struct Random {
  std::mt19937_64 engine;
  double normal() { return std::normal_distribution<double>()(engine); }
  MatrixXd sparse(int rows, int columns, double share) {
    MatrixXd m = MatrixXd::Zero(rows, columns);
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j)
        if (std::uniform_real_distribution<double>()(engine) < share) m(i, j) = normal();
    return m;
  }
  VectorXd vector(int n) {
    VectorXd v(n);
    for (double& a : v) a = normal();
    return v;
  }
};

Quadratic random_quadratic(Random& r, int n, int m) {
  const MatrixXd factor = r.sparse(n, n, 0.05);
  MatrixXd A = r.sparse(m, n, 0.1);
  for (int i = 0; i < m; ++i) A(i, i) += 3.0;
  return Quadratic(factor * factor.transpose() + MatrixXd::Identity(n, n), r.vector(n), A, r.vector(m));
}

TEST(NativeQuadratic, AgreesWithTheClosedForm) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Random r{std::mt19937_64(seed)};
    const int n = 20 + static_cast<int>(r.engine() % 60), m = r.engine() % 20;
    const Quadratic problem = random_quadratic(r, n, m);
    MatrixXd K = MatrixXd::Zero(n + m, n + m);
    K << problem.H, problem.A.transpose(), problem.A, MatrixXd::Zero(m, m);
    VectorXd right(n + m);
    right << -problem.g, problem.constraint_lower;
    const VectorXd expected = K.partialPivLu().solve(right);
    const Solution s = solve(problem, r.vector(n), {.backend = Backend::native});
    ASSERT_EQ(s.status, SolveStatus::solved) << s.reason;
    EXPECT_LE((s.x - expected.head(n)).lpNorm<Eigen::Infinity>(), 1e-8);
    EXPECT_LE((s.multipliers - expected.tail(m)).lpNorm<Eigen::Infinity>(), 1e-8);
    EXPECT_LE(s.iterations, 3);  // Newton's method on a linear system
  }
}

TEST(NativeQuadratic, RepeatedRowsDoNotHinder) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random r{std::mt19937_64(seed)};
    const Quadratic problem = random_quadratic(r, 30, 8);
    MatrixXd twice(16, 30);
    twice << problem.A, 2.0 * problem.A;
    VectorXd right(16);
    right << problem.constraint_lower, 2.0 * problem.constraint_lower;
    const Quadratic dependent(problem.H, problem.g, twice, right);
    const Solution one = solve(problem, VectorXd::Zero(30), {.backend = Backend::native}),
                   two = solve(dependent, VectorXd::Zero(30), {.backend = Backend::native});
    ASSERT_EQ(two.status, SolveStatus::solved) << two.reason;
    EXPECT_LE((one.x - two.x).lpNorm<Eigen::Infinity>(), 1e-7);
  }
}

// Rows that depend on each other with nonlinear functions, so that rounding hides it: a third row is the sum of two
// others. It changes neither the solution nor, by much, the way to it.
TEST(NativeDependence, ASumOfOtherRowsChangesNothing) {
  const auto rows = [](const Jets& x, bool redundant) {
    Jets c = {x[0] * x[1] + 0.3 * x[2] - 0.7, cos(x[1] + 0.1) * x[3] + x[4] - 0.2, x[0] * x[0] + x[4] * x[2] - 1.1};
    if (redundant) c.push_back(1.7 * c[0] + 0.3 * c[1]), c.push_back(c[2] - 0.9 * c[1]);
    return c;
  };
  const auto problem = [&](bool redundant) {
    return JetProblem(
        5, [](const Jets& x) { return exp(0.3 * x[0]) + x[1] * x[1] + cos(x[2]) * x[3] + x[3] * x[3] + x[4] * x[4]; },
        redundant ? 5 : 3, [&rows, redundant](const Jets& x) { return rows(x, redundant); });
  };
  const JetProblem plain = problem(false), redundant = problem(true);
  Random r{std::mt19937_64(4)};
  int alike = 0, solved = 0;
  for (int start = 0; start < 40; ++start) {
    const VectorXd x = r.vector(5);
    const Solution one = solve(plain, x, {.backend = Backend::native}),
                   two = solve(redundant, x, {.backend = Backend::native});
    solved += one.status == SolveStatus::solved;
    if (one.status != SolveStatus::solved || two.status != SolveStatus::solved) continue;
    alike += (one.x - two.x).lpNorm<Eigen::Infinity>() < 1e-6 && std::abs(one.iterations - two.iterations) <= 10;
  }
  EXPECT_GE(solved, 30);
  EXPECT_GE(alike, solved - 2) << solved;
}

TEST(NativeQuadratic, ContradictoryRowsAreInfeasible) {
  Random r{std::mt19937_64(3)};
  const Quadratic problem = random_quadratic(r, 30, 8);
  MatrixXd twice(9, 30);
  twice << problem.A, problem.A.row(0);
  VectorXd right(9);
  right << problem.constraint_lower, problem.constraint_lower[0] + 1.0;
  const Quadratic contradictory(problem.H, problem.g, twice, right);
  const Solution s = solve(contradictory, VectorXd::Zero(30), {.backend = Backend::native});
  EXPECT_EQ(s.status, SolveStatus::infeasible) << s.reason;
  EXPECT_NEAR(s.residuals.feasibility, 0.5, 1e-3);
}

// ---- points that are solved except for rounding

// A bounded force moves a mass (kg) from rest to rest in one second. The rows, in N, contain second differences of
// positions times mass/step^2. A unit in the last place of a position changes a row by more than 1e-9 N.
Quadratic heavy_mass(int K, double mass) {
  const int n = 2 * K + 1;  // positions of nodes 0 to K, then forces of intervals
  const double step = 1.0 / K, limit = 3.0 * mass;
  MatrixXd H = MatrixXd::Zero(n, n), A = MatrixXd::Zero(K + 3, n);
  for (int k = 0; k < K; ++k) H(K + 1 + k, K + 1 + k) = step / (limit * limit);
  for (int k = 1; k < K; ++k) {
    A(k - 1, k - 1) = A(k - 1, k + 1) = mass / (step * step);
    A(k - 1, k) = -2.0 * mass / (step * step);
    A(k - 1, K + k) = A(k - 1, K + 1 + k) = -0.5;
  }
  VectorXd right = VectorXd::Zero(K + 3);
  A(K - 1, 0) = A(K, K) = 1.0;  // from here to there
  right(K - 1) = 0.3;
  right(K) = 0.9;
  A(K + 1, 0) = A(K + 2, K - 1) = -1.0;  // no rate at the ends
  A(K + 1, 1) = A(K + 2, K) = 1.0;
  Quadratic problem(H, VectorXd::Zero(n), A, right);
  problem.lower.tail(K).setConstant(-limit);
  problem.upper.tail(K).setConstant(limit);
  return problem;
}

TEST(NativeRounding, RowsThatDoublesCannotMeetAnyBetterAreSolved) {
  for (const double mass : {30.0, 3e3, 3e5}) {
    const Quadratic problem = heavy_mass(100, mass);
    const Solution s = solve(problem, VectorXd::Zero(problem.variables()), {.backend = Backend::native});
    ASSERT_EQ(s.status, SolveStatus::solved) << mass << ": " << s.reason;
    EXPECT_LE(s.residuals.stationarity, 1e-9);
    EXPECT_LE(s.residuals.complementarity, 1e-9);
    const double rounding = (problem.A.cwiseAbs() * s.x.cwiseAbs()).maxCoeff() * 0x1p-53;
    EXPECT_LE(s.residuals.feasibility, 1e-9 + rounding) << mass;
    EXPECT_EQ(s.reason.find("to rounding") != std::string::npos, s.residuals.feasibility > 1e-9) << s.reason;
    EXPECT_EQ(s.reason.find("to rounding") != std::string::npos, mass > 1e3) << s.reason;
  }
}

// Like the test above, with a cost in squared newtons: gradient and multipliers are as large as the force, and their sums miss zero
// by more than 1e-9.
TEST(NativeRounding, AGradientThatDoublesCannotMeetAnyBetterIsSolved) {
  for (const double mass : {1.0, 300.0, 3e3}) {
    Quadratic problem = heavy_mass(100, mass);
    const double limit = 3.0 * mass;
    problem.H *= limit * limit;
    const Solution s = solve(problem, VectorXd::Zero(problem.variables()), {.backend = Backend::native});
    ASSERT_EQ(s.status, SolveStatus::solved) << mass << ": " << s.reason;
    EXPECT_LE(s.iterations, 30) << mass;
    const VectorXd terms =
        problem.A.transpose().cwiseAbs() * s.multipliers.cwiseAbs() + problem.H.cwiseAbs() * s.x.cwiseAbs();
    EXPECT_LE(s.residuals.stationarity, 1e-9 + 8 * 0x1p-53 * terms.maxCoeff()) << mass;
    EXPECT_EQ(s.residuals.stationarity > 1e-9, mass > 1.0) << mass;
    EXPECT_EQ(s.reason.find("to rounding") != std::string::npos, mass > 1.0) << mass << ": " << s.reason;
  }
}

// Far from the solution a large gradient does not relax the tolerance.
TEST(NativeRounding, APointBesideTheSolutionIsNotSolvedToRounding) {
  Quadratic problem = heavy_mass(100, 300.0);
  problem.H *= 900.0 * 900.0;
  const Solution s =
      solve(problem, VectorXd::Zero(problem.variables()), {.backend = Backend::native, .max_iterations = 8});
  EXPECT_EQ(s.status, SolveStatus::not_converged) << s.reason;
}

// The tolerance cannot be reached in double precision, with a gradient of 1e7. The solve ends near the solution, with
// the multipliers of that point.
TEST(NativeRounding, ASolveThatEndsBesideASolutionKeepsItsMultipliers) {
  Quadratic problem = heavy_mass(100, 30.0);
  const Solution good = solve(problem, VectorXd::Zero(problem.variables()), {.backend = Backend::native});
  ASSERT_EQ(good.status, SolveStatus::solved) << good.reason;
  problem.H *= 1e6;
  for (const double tolerance : {1e-12, 1e-15}) {
    const Solution s =
        solve(problem, VectorXd::Zero(problem.variables()), {.backend = Backend::native, .tolerance = tolerance});
    EXPECT_EQ(s.status, SolveStatus::not_converged);
    EXPECT_LE(s.residuals.max(), 1e-7) << s.reason;
    EXPECT_LE((1e-6 * s.multipliers - good.multipliers).lpNorm<Eigen::Infinity>(), 1e-4);
  }
}

// ---- directions that overflow

// A Jacobian of 1e308: the KKT matrix is finite, its factors overflow. The functions are finite even at NaN, so they do
// not stop the solver at an iterate that is NaN. They are clamped, and do not match their derivatives.
class Overflowing : public Problem {
 public:
  Overflowing() {
    lower.setConstant(2, -infinity);
    upper.setConstant(2, infinity);
    constraint_lower = constraint_upper = VectorXd::Constant(1, 1.0);
    jacobian_pattern = {{0, 0}, {0, 1}};
    hessian_pattern = {{0, 1}, {0, 1}};
  }
  double objective(const VectorXd& x) const override { return kept(x[0]) + kept(x[1]); }
  void objective_gradient(const VectorXd&, Eigen::Ref<VectorXd> gradient) const override { gradient.setOnes(); }
  void constraint_values(const VectorXd& x, Eigen::Ref<VectorXd> values) const override { values[0] = kept(x[0]); }
  void jacobian(const VectorXd&, Eigen::Ref<VectorXd> values) const override { values << 1e308, 1e308; }
  void hessian(const VectorXd&, double factor, const VectorXd&, Eigen::Ref<VectorXd> values) const override {
    values.setConstant(factor);
  }

 private:
  static double kept(double x) { return std::max(-1.0, std::min(x, 1.0)); }
};

TEST(NativeOverflow, EndsWithAReasonAndANumber) {
  const Solution s = solve(Overflowing(), VectorXd::Zero(2), {.backend = Backend::native});
  EXPECT_EQ(s.status, SolveStatus::not_converged) << s.reason;
  EXPECT_TRUE(s.x.allFinite()) << s.x.transpose();
  EXPECT_NE(s.reason, "");
}

// ---- the factorisation

TEST(SymmetricFactor, InertiaAndSolutionsOfRandomKktMatrices) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random r{std::mt19937_64(seed)};
    const int n = 3 + static_cast<int>(r.engine() % 50), m = r.engine() % static_cast<unsigned>(n);
    MatrixXd A = MatrixXd::Zero(n + m, n + m);
    const MatrixXd H = r.sparse(n, n, 0.1);
    A.topLeftCorner(n, n) = H + H.transpose();
    A.bottomLeftCorner(m, n) = r.sparse(m, n, 0.1);
    for (int i = 0; i < m; ++i) A(n + i, i) += 2.0;
    A.topRightCorner(n, m) = A.bottomLeftCorner(m, n).transpose();
    const VectorXd eigenvalues = Eigen::SelfAdjointEigenSolver<MatrixXd>(A, Eigen::EigenvaluesOnly).eigenvalues();
    if (eigenvalues.cwiseAbs().minCoeff() < 1e-10) continue;

    std::vector<int> rows, columns;
    std::vector<double> values;
    for (int i = 0; i < n + m; ++i)
      for (int j = 0; j <= i; ++j)
        if (A(i, j) != 0.0)
          for (int copy = 0; copy < 2; ++copy) {
            rows.push_back(i);
            columns.push_back(j);
            values.push_back(0.5 * A(i, j));
          }
    SymmetricFactor factor;
    factor.analyse(n + m, rows, columns);
    ASSERT_TRUE(factor.factorise(Eigen::Map<VectorXd>(values.data(), static_cast<long>(values.size()))));
    EXPECT_EQ(factor.inertia().positive, (eigenvalues.array() > 0.0).count());
    EXPECT_EQ(factor.inertia().negative, (eigenvalues.array() < 0.0).count());
    EXPECT_EQ(factor.inertia().zero, 0);
    const VectorXd expected = r.vector(n + m);
    VectorXd x(n + m);
    EXPECT_LE(factor.solve(A * expected, x), 1e-14);

    // the same pattern again, which is cached, with other values
    SymmetricFactor again;
    again.analyse(n + m, rows, columns);
    for (double& value : values) value *= -3.0;
    ASSERT_TRUE(again.factorise(Eigen::Map<VectorXd>(values.data(), static_cast<long>(values.size()))));
    EXPECT_EQ(again.inertia().positive, factor.inertia().negative);
    EXPECT_LE(again.solve(-3.0 * A * expected, x), 1e-14);
    EXPECT_LE((A * (x - expected)).lpNorm<Eigen::Infinity>(), 1e-12 * (1.0 + x.lpNorm<Eigen::Infinity>()));
  }
}

}  // namespace
}  // namespace dodyn::nlp::test_native
