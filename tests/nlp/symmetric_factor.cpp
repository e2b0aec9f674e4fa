// The sparse factorisation against dense eigenvalues and dense solutions.
#include "nlp/symmetric_factor.hpp"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <limits>
#include <random>

#include "tests/allocations.hpp"

namespace dodyn::nlp::test_symmetric_factor {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// A saddle-point matrix [H, J^T; J, -e I] of a banded transcription: n variables, m rows of four neighbours each.
struct Saddle {
  int n, m;
  std::vector<int> rows, columns;
  VectorXd values;
  MatrixXd dense;

  Saddle(int variables, int constraints, double convexity, double e, std::mt19937_64& random)
      : n(variables), m(constraints), dense(MatrixXd::Zero(n + m, n + m)) {
    std::normal_distribution<double> normal;
    std::vector<double> v;
    const auto add = [&](int i, int j, double value) {
      rows.push_back(i);
      columns.push_back(j);
      v.push_back(value);
      dense(i, j) += value;
      if (i != j) dense(j, i) += value;
    };
    for (int i = 0; i < n; ++i) {
      add(i, i, convexity);
      add(i, i, normal(random));                                             // a position may repeat
      if (i > 0) add(i % 2 ? i : i - 1, i % 2 ? i - 1 : i, normal(random));  // in either triangle
    }
    for (int k = 0; k < m; ++k) {
      for (int l = 0; l < 4; ++l) add(n + k, (k * (n - 4) / std::max(1, m - 1)) + l, normal(random));
      if (e != 0.0) add(n + k, n + k, -e);
    }
    values = Eigen::Map<VectorXd>(v.data(), v.size());
  }
};

TEST(SymmetricFactor, InertiaAndSolutionAreThoseOfTheDenseMatrix) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 60; ++i) {
    const Saddle a(20 + i, 5 + i / 3, i % 3 == 0 ? 5.0 : 0.0, i % 2 ? 1e-8 : 0.0, random);
    SymmetricFactor factor;
    factor.analyse(a.n + a.m, a.rows, a.columns);
    ASSERT_TRUE(factor.factorise(a.values));
    const VectorXd eigenvalues = Eigen::SelfAdjointEigenSolver<MatrixXd>(a.dense, Eigen::EigenvaluesOnly).eigenvalues();
    EXPECT_EQ(factor.inertia().positive, (eigenvalues.array() > 0.0).count());
    EXPECT_EQ(factor.inertia().negative, (eigenvalues.array() < 0.0).count());
    EXPECT_EQ(factor.inertia().zero, 0);
    const VectorXd b = VectorXd::Random(a.n + a.m);
    VectorXd x(a.n + a.m);
    const double error = factor.solve(b, x);
    EXPECT_LE(error, 1e-14);
    EXPECT_LE((a.dense * x - b).lpNorm<Eigen::Infinity>(),
              2e-12 * (a.dense.cwiseAbs().maxCoeff() * x.lpNorm<Eigen::Infinity>() + 1.0));
  }
}

// Rows with slacks: diagonals range from zero to more than all other entries, as slacks go from free to active. Some
// leaves of the tree have a good pivot, others do not.
TEST(SymmetricFactor, RowsWithSlacksOfAllSizes) {
  std::mt19937_64 random(4);
  std::uniform_real_distribution<double> exponent(-14.0, 8.0);
  int delayed = 0;
  for (int i = 0; i < 60; ++i) {
    Saddle a(30 + i, 0, 6.0, 0.0, random);
    a.m = a.n - 1;  // a row for each pair of neighbours
    const MatrixXd hessian = a.dense;
    a.dense.setZero(a.n + a.m, a.n + a.m);
    a.dense.topLeftCorner(a.n, a.n) = hessian;
    std::vector<double> values(a.values.begin(), a.values.end());
    const auto add = [&](int row, int column, double value) {
      a.rows.push_back(row);
      a.columns.push_back(column);
      values.push_back(value);
      a.dense(row, column) = a.dense(column, row) = value;
    };
    for (int k = 0; k < a.m; ++k) {
      add(a.n + k, k, 1.0);
      add(a.n + k, k + 1, 0.5);
      add(a.n + k, a.n + k, k % 3 == 0 ? 0.0 : -std::pow(10.0, exponent(random)));
    }
    a.values = Eigen::Map<VectorXd>(values.data(), values.size());
    SymmetricFactor factor;
    factor.analyse(a.n + a.m, a.rows, a.columns, a.m);
    ASSERT_TRUE(factor.factorise(a.values));
    delayed += factor.delayed_pivots();
    EXPECT_EQ(factor.inertia().positive + factor.inertia().negative + factor.inertia().zero, a.n + a.m);
    EXPECT_EQ(factor.inertia().negative, a.m) << i;
    const VectorXd b = VectorXd::Random(a.n + a.m);
    VectorXd x(a.n + a.m);
    EXPECT_LE(factor.solve(b, x), 1e-14);
    EXPECT_LE((a.dense * x - b).lpNorm<Eigen::Infinity>(),
              1e-13 * (a.dense.cwiseAbs().maxCoeff() * x.lpNorm<Eigen::Infinity>() + 1.0));
  }
  EXPECT_GT(delayed, 100);
}

// Convex and nonconvex matrices. The factorisation that requires a convex matrix must agree with the eigenvalues. It
// stops early only if the matrix is not convex.
TEST(SymmetricFactor, AConvexFactorisationIsCutShortOnlyWhereTheMatrixIsNotConvex) {
  std::mt19937_64 random(5);
  int convex = 0, short_cuts = 0, saved = 0;
  for (int i = 0; i < 400; ++i) {
    const Saddle a(40 + i % 50, 5 + i % 31, 0.02 * (i % 199), i % 2 ? 1e-8 : 0.0, random);
    SymmetricFactor factor;
    factor.analyse(a.n + a.m, a.rows, a.columns, a.m);
    ASSERT_TRUE(factor.factorise_convex(a.values));
    const SymmetricFactor::Inertia inertia = factor.inertia();
    const VectorXd eigenvalues = Eigen::SelfAdjointEigenSolver<MatrixXd>(a.dense, Eigen::EigenvaluesOnly).eigenvalues();
    const bool right = (eigenvalues.array() < 0.0).count() == a.m;
    EXPECT_EQ(inertia.negative == a.m && inertia.zero == 0, right) << i;
    convex += right;
    if (right) {
      const VectorXd b = VectorXd::Random(a.n + a.m);
      VectorXd x(a.n + a.m);
      EXPECT_LE(factor.solve(b, x), 1e-13);
    } else if (inertia.positive + inertia.negative + inertia.zero < a.n + a.m) {
      EXPECT_GT(inertia.negative, a.m);
      ++short_cuts;
      saved += a.n + a.m - inertia.positive - inertia.negative;
    }
  }
  EXPECT_GT(convex, 50);
  EXPECT_GT(short_cuts, 50);
  EXPECT_GT(saved, 10 * short_cuts);
}

TEST(SymmetricFactor, DependentRowsAreCountedAsZeroPivots) {
  // x + y = ., twice
  SymmetricFactor factor;
  factor.analyse(4, {0, 1, 2, 2, 3, 3}, {0, 1, 0, 1, 0, 1});
  VectorXd values(6);
  values << 2.0, 3.0, 1.0, 1.0, 1.0, 1.0;
  ASSERT_TRUE(factor.factorise(values));
  EXPECT_EQ(factor.inertia().positive, 2);
  EXPECT_EQ(factor.inertia().negative, 1);
  EXPECT_EQ(factor.inertia().zero, 1);
}

// Any entry may be infinite. Afterwards a matrix of finite numbers must be factorised.
TEST(SymmetricFactor, RefusesWhatIsNotFinite) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::mt19937_64 random(5);
  const Saddle a(12, 4, 5.0, 1e-2, random);
  SymmetricFactor factor, single;
  factor.analyse(a.n + a.m, a.rows, a.columns);
  single.analyse(1, {0}, {0});
  for (const double bad : {infinity, -infinity, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_FALSE(single.factorise(VectorXd::Constant(1, bad)));
    for (Eigen::Index k = 0; k < a.values.size(); ++k) {
      VectorXd values = a.values;
      values[k] = bad;
      EXPECT_FALSE(factor.factorise(values)) << k << ' ' << bad;
    }
  }
  EXPECT_TRUE(single.factorise(VectorXd::Constant(1, -2.0)));
  EXPECT_EQ(single.inertia().negative, 1);
  EXPECT_TRUE(factor.factorise(a.values));
}

// All variables find a stable pivot only together with the last one, so its front contains all of them. A large matrix,
// whose factors would be dense, is refused; a small one is factorised.
TEST(SymmetricFactor, RefusesFactorsThatBecomeTooLarge) {
  for (const int size : {300, 6000}) {
    std::vector<int> rows, columns;
    VectorXd values(2 * size - 1);
    for (int i = 0; i < size; ++i) {
      rows.push_back(i);
      columns.push_back(i);
      values[i] = 1e-12 * (1 + i);
    }
    for (int i = 0; i + 1 < size; ++i) {
      rows.push_back(size - 1);
      columns.push_back(i);
      values[size + i] = 1 + 0.1 * (i % 7);
    }
    SymmetricFactor factor;
    factor.analyse(size, rows, columns);
    factor.pivot_threshold = 1e-2;
    ASSERT_EQ(factor.factorise(values), size < 1000) << size;
    if (size > 1000) {
      values.head(size).setOnes();  // as an interior point's shift does
      ASSERT_TRUE(factor.factorise(values));
    }
    const VectorXd b = VectorXd::LinSpaced(size, -1, 1);
    VectorXd x(size);
    EXPECT_LE(factor.solve(b, x), 1e-12) << size;
  }
}

TEST(SymmetricFactor, AllocatesNothingOnceItHasFactorised) {
  std::mt19937_64 random(3);
  const Saddle a(300, 80, 5.0, 1e-8, random);
  SymmetricFactor factor;
  factor.analyse(380, a.rows, a.columns);
  const VectorXd b = VectorXd::Random(380);
  VectorXd x(380);
  ASSERT_TRUE(factor.factorise(a.values));
  factor.solve(b, x);
  const long before = allocations;
  for (int i = 0; i < 5; ++i) {
    factor.factorise(a.values);
    factor.solve(b, x);
  }
  EXPECT_EQ(allocations, before);
  EXPECT_GT(before, 0);  // the count counts
}

}  // namespace
}  // namespace dodyn::nlp::test_symmetric_factor
