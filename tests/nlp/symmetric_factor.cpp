// The sparse factorisation against dense eigenvalues and dense solutions.
#include "nlp/symmetric_factor.hpp"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <cstdlib>
#include <limits>
#include <new>
#include <random>

namespace {
long allocations = 0;
}  // namespace

[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* p = std::malloc(size)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace dodyn::nlp {
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
    values = Eigen::Map<VectorXd>(v.data(), static_cast<int>(v.size()));
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
  values[3] = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(factor.factorise(values));
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
}  // namespace dodyn::nlp
