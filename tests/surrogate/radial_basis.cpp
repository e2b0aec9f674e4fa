#include "surrogate/radial_basis.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "surrogate/cubic_spline.hpp"
#include "surrogate/random.hpp"

namespace dodyn::surrogate {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr Basis bases[] = {Basis::cubic, Basis::thin_plate, Basis::gaussian};

MatrixXd points(Index d, Index n, std::uint64_t seed) {
  Random random(seed);
  return MatrixXd::NullaryExpr(d, n, [&] { return random.uniform(); });
}
RadialBasisOptions of(Basis basis, double smoothing = 0) {
  RadialBasisOptions o;
  o.basis = basis;
  o.smoothing = smoothing;
  return o;
}
VectorXd waves(const MatrixXd& x) {
  return (3 * x.colwise().sum().array()).sin().transpose() + x.row(0).array().transpose();
}

TEST(RadialBasis, InterpolatesAndItsGradientIsThatOfItsValue) {
  for (const Basis basis : bases) {
    const MatrixXd x = points(2, 15, 1);
    const VectorXd y = waves(x);
    const RadialBasis s(x, y, of(basis));
    for (Index i = 0; i < 15; ++i) EXPECT_NEAR(s.value(x.col(i)), y(i), 1e-6);
    const MatrixXd other = points(2, 10, 2);
    for (Index i = 0; i < 10; ++i) {
      VectorXd g;
      s.value(other.col(i), &g);
      for (Index k = 0; k < 2; ++k) {
        const VectorXd h = 1e-6 * VectorXd::Unit(2, k);
        EXPECT_NEAR((s.value(other.col(i) + h) - s.value(other.col(i) - h)) / 2e-6, g(k), 1e-4 * (1 + std::abs(g(k))));
      }
    }
  }
}

TEST(RadialBasis, ReproducesLinesExactly) {
  const MatrixXd x = points(3, 12, 3);
  const VectorXd y = 2 + (x.transpose() * Eigen::Vector3d(1, -2, 0.5)).array();
  for (const Basis basis : bases)
    EXPECT_NEAR(RadialBasis(x, y, of(basis)).value(Eigen::Vector3d(2, 3, -1)), 2 + 2 - 6 - 0.5, 1e-5);
}

// In one variable r^3 with a linear tail is the natural cubic spline.
TEST(RadialBasis, CubicInOneVariableIsTheNaturalSpline) {
  const MatrixXd x = points(1, 9, 4);
  const VectorXd y = waves(x);
  const RadialBasis s(x, y, of(Basis::cubic));
  const CubicSpline spline = natural_spline(x.row(0).transpose(), y);
  for (double t = -0.2; t < 1.2; t += 0.05) EXPECT_NEAR(s.value(VectorXd::Constant(1, t)), spline.value(t), 1e-8);
}

TEST(RadialBasis, SmoothingTendsToTheLeastSquaresLine) {
  Random random(5);
  const MatrixXd x = points(1, 40, 6);
  VectorXd y = 1 + 3 * x.row(0).transpose().array();
  for (double& v : y) v += 0.2 * random.normal();
  double roughness[2];
  for (const double smoothing : {0.0, 1e6}) {
    const RadialBasis s(x, y, of(Basis::gaussian, smoothing));
    double sum = 0;
    for (double t = 0.05; t < 0.95; t += 0.01) {
      const auto at = [&](double u) { return s.value(VectorXd::Constant(1, u)); };
      sum += std::pow(at(t + 0.01) - 2 * at(t) + at(t - 0.01), 2);
    }
    roughness[smoothing > 0] = sum;
  }
  EXPECT_LT(roughness[1], 1e-6 * roughness[0]);
}

TEST(RadialBasis, NeverANaN) {
  for (const Basis basis : bases)
    for (const MatrixXd& x : {MatrixXd(MatrixXd::Constant(2, 1, 0.5)), MatrixXd(MatrixXd::Constant(2, 6, 0.5)),
                              MatrixXd(VectorXd::LinSpaced(6, 0, 1).transpose().replicate(2, 1)), points(2, 2, 7)})
      for (const double scale : {0.0, 1.0, 1e12}) {
        const RadialBasis s(x, VectorXd::LinSpaced(x.cols(), 0, scale), of(basis));
        VectorXd g;
        EXPECT_TRUE(std::isfinite(s.value(x.col(0), &g)) && g.allFinite());
        EXPECT_TRUE(std::isfinite(s.value(Eigen::Vector2d(0.1, 0.9))));
      }
  EXPECT_THROW(RadialBasis(MatrixXd(2, 0), VectorXd(), {}), std::invalid_argument);
  EXPECT_THROW(RadialBasis(points(2, 3, 1), VectorXd::Constant(3, NAN), {}), std::invalid_argument);
}

}  // namespace
}  // namespace dodyn::surrogate
