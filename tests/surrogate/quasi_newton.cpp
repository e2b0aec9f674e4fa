#include "surrogate/quasi_newton.hpp"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <cmath>

#include "surrogate/sampling.hpp"

namespace dodyn::surrogate::test_quasi_newton {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

MatrixXd points(Index variables, Index count, std::uint64_t seed) { return latin_hypercube(variables, count, seed); }

// Curvatures from 1 to 10^decades along directions that are no axes.
MatrixXd hessian_of(Index variables, double decades, std::uint64_t seed) {
  const MatrixXd axes = (points(variables, variables, seed).array() - 0.5).matrix().householderQr().householderQ();
  const VectorXd curvature =
      VectorXd::LinSpaced(variables, 0, decades).unaryExpr([](double e) { return std::pow(10, e); });
  return axes * curvature.asDiagonal() * axes.transpose();
}

std::vector<Sloped> evaluations(const MatrixXd& hessian, const MatrixXd& at) {
  std::vector<Sloped> all;
  for (const auto& x : at.colwise()) all.push_back({x, 0.5 * x.dot(hessian * x), hessian * x});
  return all;
}

// Three pairs for each variable determine a quadratic.
TEST(QuasiNewton, FindsTheHessianOfAQuadratic) {
  for (const Index d : {1, 3, 10})
    for (const std::uint64_t seed : {1, 2, 3}) {
      const MatrixXd hessian = hessian_of(d, 2, seed);
      const auto all = evaluations(hessian, points(d, 3 * d + 1, seed + 10));
      const MatrixXd found = positive_hessian(all, all.back().at, 1);
      EXPECT_LT((found - hessian).norm(), 1e-5 * hessian.norm()) << d << ", seed " << seed;
    }
}

// No negative curvature enters.
TEST(QuasiNewton, StaysPositiveOnASaddle) {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    MatrixXd saddle = hessian_of(4, 1, seed);
    saddle -= 3 * MatrixXd::Identity(4, 4);
    const auto all = evaluations(saddle, points(4, 12, seed));
    const MatrixXd found = positive_hessian(all, all[3].at, 1);
    EXPECT_GT(Eigen::SelfAdjointEigenSolver<MatrixXd>(found).eigenvalues().minCoeff(), 0) << "seed " << seed;
    EXPECT_LT((found - found.transpose()).norm(), 1e-9 * found.norm()) << "seed " << seed;
  }
}

TEST(QuasiNewton, OneEvaluationHasTheGivenCurvature) {
  const auto all = evaluations(MatrixXd::Identity(2, 2), points(2, 1, 1));
  EXPECT_EQ(positive_hessian(all, all[0].at, 7), (7 * MatrixXd::Identity(2, 2)).eval());
}

// Conditions of the minimum in a box: the slope is zero, or points out of the box at a bound.
TEST(QuasiNewton, MinimumInABoxSatisfiesItsConditions) {
  int at_bounds = 0;
  for (const Index d : {1, 2, 5, 20})
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const MatrixXd hessian = hessian_of(d, 4, seed);
      const MatrixXd random = points(d, 7, seed + 20);
      const VectorXd lower = -random.col(0), upper = random.col(1),
                     slope = hessian * (4 * random.col(2).array() - 2).matrix();
      const VectorXd s = minimum_in_box(slope, hessian, lower, upper), left = slope + hessian * s;
      for (Index k = 0; k < d; ++k) {
        EXPECT_GE(s(k), lower(k));
        EXPECT_LE(s(k), upper(k));
        const double tolerance = 1e-6 * slope.norm();
        if (s(k) < upper(k)) {
          EXPECT_GE(left(k), -tolerance) << d << ", seed " << seed;
        }
        if (s(k) > lower(k)) {
          EXPECT_LE(left(k), tolerance) << d << ", seed " << seed;
        }
        at_bounds += s(k) == lower(k) || s(k) == upper(k);
      }
    }
  EXPECT_GT(at_bounds, 20);
}

TEST(QuasiNewton, StaysWhereEveryDescentLeavesTheBox) {
  const VectorXd zero = VectorXd::Zero(3), one = VectorXd::Ones(3);
  EXPECT_EQ(minimum_in_box(one, MatrixXd::Identity(3, 3), zero, one), zero);
}

}  // namespace
}  // namespace dodyn::surrogate::test_quasi_newton
