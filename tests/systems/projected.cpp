// Projected Hamilton's principle: properties of P, figures, agreement with the motion that is reset at impacts.
#include "systems/projected.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>
#include <numbers>

#include "systems/assembly.hpp"
#include "tests/message_of.hpp"

namespace dodyn::systems::test_projected {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using variational::IntegratorOptions;

struct Sides {
  HybridModel system;
  Values<double> values;
  variational::Recorded recorded;
  variational::Mechanics model;
  Projected projected;
  Projected::Instance instance;
  Sides(const std::string& name, const std::map<std::string, double>& given, double k)
      : system(read_hybrid_model(model_text(name), name)),
        values(system.model.evaluate<double>(given)),
        recorded(variational::record(formulation(system), variational::Rule::midpoint)),
        model(recorded, values.numbers),
        projected(system),
        instance(projected.instance(values, k)) {}

  VectorXd P(const VectorXd& z) const { return instance.outside->watched(z, VectorXd::Zero(z.size())).head(model.n()); }
  MatrixXd slope(const VectorXd& z) const {  // P'
    MatrixXd J(model.n(), z.size());
    for (Eigen::Index i = 0; i < z.size(); ++i)
      J.col(i) = instance.outside->watched(z, VectorXd::Unit(z.size(), i)).tail(model.n());
    return J;
  }
  // z at `end`, from the text's start
  std::unique_ptr<variational::SwitchedFlow> flown(double end, int order, double step) const {
    IntegratorOptions options;
    options.order = order;
    auto flow = std::make_unique<variational::SwitchedFlow>(*instance.inside, *instance.outside, instance.law, options);
    VectorXd q = VectorXd::Zero(model.n()), v = q, z, rate;
    for (const auto& one : system.pieces.start)
      (one.rate ? v : q)(one.coordinate) = Model::at(one.value, values.numbers);
    projected.lift(q, v, model, z, rate);
    flow->start(0.0, z, rate);
    const int steps = static_cast<int>(std::lround(end / step));
    for (int k = 1; k <= steps; ++k) EXPECT_EQ(flow->advance(end * k / steps), "");
    return flow;
  }
};

TEST(Projected, BarBoundAndFigures) {
  const Sides bar("bar-drop", {}, 100.0);
  EXPECT_NEAR(bar.instance.least_k, 36.0, 1e-6);
  const auto flow = bar.flown(2.0, 6, 0.001);
  ASSERT_EQ(flow->crossings().size(), 5u);
  EXPECT_NEAR(flow->crossings()[0], 0.416928184, 1e-9);
  EXPECT_NEAR(flow->crossings()[4], 1.908023301, 1e-7);
  EXPECT_TRUE(flow->outside());
  EXPECT_NEAR(flow->now().q(1), -0.303120288, 1e-6);
  EXPECT_NEAR(flow->now().q(2), 2.374636690, 1e-6);
  const VectorXd q = bar.P(flow->now().q);
  EXPECT_NEAR(q(1), -0.090149521, 1e-6);
  EXPECT_NEAR(q(2), 2.475981660, 1e-6);
}

TEST(Projected, ParticleBoundAndFigures) {
  const Sides particle("particle-drop", {}, 12.0);
  EXPECT_NEAR(particle.instance.least_k, 4.0, 1e-6);
  const auto flow = particle.flown(1.6, 6, 0.002);
  EXPECT_EQ(flow->crossings().size(), 2u);
  EXPECT_FALSE(flow->outside());
  EXPECT_NEAR(flow->now().q(0), 3.014184394, 1e-6);
  EXPECT_NEAR(flow->now().q(1), 1.502120851, 1e-6);
}

TEST(Projected, ConstrainedBarMeetsTheResetOne) {
  const Sides bar("wire-bar", {}, 100.0);
  const auto flow = bar.flown(2.0, 6, 0.001);
  EXPECT_EQ(flow->crossings().size(), 4u);
  const VectorXd q = (flow->outside() ? *bar.instance.outside : *bar.instance.inside)
                         .watched(flow->now().q, VectorXd::Zero(2))
                         .head(3);
  EXPECT_NEAR(q(1), 0.786259106, 1e-6);
  EXPECT_NEAR(q(0), 0.011728648, 1e-6);
  EXPECT_NEAR(q(2), 2.755663154, 1e-6);
}

TEST(Projected, PendulumOnTheCircle) {
  const Sides pendulum("pendulum-wall", {}, 0.0);
  const auto flow = pendulum.flown(2.0, 6, 0.002);
  ASSERT_GE(flow->crossings().size(), 2u);
  EXPECT_NEAR(flow->crossings()[0], 0.227041534, 1e-8);
  EXPECT_NEAR(flow->crossings()[1] - flow->crossings()[0], 0.454083068, 1e-7);
  const double q = flow->outside() ? pendulum.P(flow->now().q)(0) : flow->now().q(0);
  EXPECT_NEAR(q, 0.870445199, 1e-6);
  // P(+-alpha) = +-alpha with slope -1, the sign of b3 put right; decreasing in between
  const double alpha = std::acos(0.5), turn = 2 * std::numbers::pi;
  for (const double z : {alpha, turn - alpha}) {
    EXPECT_NEAR(pendulum.P(VectorXd::Constant(1, z))(0), z < 3 ? alpha : -alpha, 1e-14);
    EXPECT_NEAR(pendulum.slope(VectorXd::Constant(1, z))(0, 0), -1.0, 1e-13);
  }
  EXPECT_NEAR(pendulum.slope(VectorXd::Constant(1, turn / 2))(0, 0), -0.25, 1e-13);
  EXPECT_THROW(Sides("pendulum-wall", {{"wall", 0.72}}, 0.0), ConfigError);
}

TEST(Projected, SlopeIsTheReflectionAtTheSurfaceAndThatOfDifferences) {
  const Sides bar("bar-drop", {}, 80.0);
  for (const double th : {0.3, 1.4, 2.9, -2.0}) {
    // (11): P' = 1 - 2 M^-1 g g'/(g' M^-1 g), in coordinates (x, gap, theta): conjugated with Psi' = d(x, gap, theta)/dq
    VectorXd z(3);
    z << 0.2, -1e-14, th;
    const double s = std::sin(th);
    MatrixXd psi = MatrixXd::Identity(3, 3);
    psi(1, 2) = 0.5 * s;
    const Eigen::Vector3d g(0, 1, 0.5 * s), Mg(0, 1, 6 * s);
    const MatrixXd A = MatrixXd::Identity(3, 3) - 2.0 / g.dot(Mg) * Mg * g.transpose();
    // slope() is dq/dz, and dz/dq is Psi'
    EXPECT_LT((bar.slope(z) * psi - A).norm(), 1e-11) << th;
    // differences, away from the surface
    z(1) = -0.17;
    const MatrixXd J = bar.slope(z);
    for (int i = 0; i < 3; ++i) {
      VectorXd up = z, down = z;
      up(i) += 1e-5;
      down(i) -= 1e-5;
      EXPECT_LT((J.col(i) - (bar.P(up) - bar.P(down)) / 2e-5).norm(), 1e-8);
    }
    EXPECT_GT(bar.model.row(bar.P(z)).value(0), 0.0);            // on the feasible side,
    EXPECT_NEAR(bar.model.row(bar.P(z)).value(0), 0.17, 1e-14);  // as far as z is on the other
  }
}

TEST(Projected, FoldsBelowTheBoundAndNotAboveIt) {
  // least determinant of P' over the infeasible side, at z1 = -1/sqrt(k), theta = 0: 1 - 6/sqrt(k)
  const auto least = [](double k) {
    const Sides bar("bar-drop", {}, 40.0);
    double value = 1e9;
    for (double z1 = -3.0; z1 < 0.0; z1 += 0.01)
      for (double th = -3.2; th < 3.2; th += 0.05) {
        // det P' = -det(1 - 2 z1/(1 + k z1^2) Lambda), (L166); Lambda of (16) by hand
        const double c2 = 5 - 3 * std::cos(2 * th), L = 6 * (std::cos(th) + 3 * std::cos(3 * th)) / (c2 * c2);
        value = std::min(value, 1 - 2 * z1 / (1 + k * z1 * z1) * L);
        if (k == 40.0 && std::abs(z1 + 0.5) < 1e-9) {
          VectorXd z(3);
          z << 0.0, z1, th;
          EXPECT_NEAR(-bar.slope(z).determinant(), 1 - 2 * z1 / (1 + k * z1 * z1) * L, 1e-9);
        }
      }
    return value;
  };
  EXPECT_LT(least(30.0), 0.0);
  EXPECT_GT(least(40.0), 0.0);
  EXPECT_THROW(Sides("bar-drop", {}, 36.0), ConfigError);
  const std::string line = message_of<ConfigError>([] { Sides("bar-drop", {}, 20.0); });
  EXPECT_NE(line.find("k_c = 36"), std::string::npos) << line;
}

TEST(Projected, ConvergesWithOrderTwoAndItsRateIsContinuous) {
  const Sides bar("bar-drop", {}, 100.0);
  double error[2];
  for (int i = 0; i < 2; ++i) {
    const auto flow = bar.flown(0.7, 2, 0.01 / (1 << i));
    const auto fine = bar.flown(0.7, 6, 0.002);
    error[i] = (flow->now().q - fine->now().q).norm();
  }
  EXPECT_NEAR(std::log2(error[0] / error[1]), 2.0, 0.4);
  // on either side of the surface the same momentum is that of the same rate
  VectorXd z(3), rate(3);
  z << 0.1, 0.0, 0.9;
  rate << 0.3, -2.0, 1.1;
  const VectorXd p = bar.instance.inside->mass(z) * rate;
  EXPECT_LT((bar.instance.outside->velocity(z, p) - rate).norm(), 1e-12);
}

TEST(Projected, RefusesWhatItCannotProject) {
  EXPECT_THROW(Sides("bar-drop", {{"restitution", 0.5}}, 100.0), ConfigError);
  EXPECT_THROW(Sides("wedge", {}, 0.0), ConfigError);
  // a wire that bends where the tip touches
  std::string text = model_text("wire-bar");
  const auto at = text.find("zero = x - ");
  text.replace(at, text.find('\n', at) - at, "zero = x - 0.3*y");
  const HybridModel bent = read_hybrid_model(text, "bent.model");
  const Projected projected(bent);
  const std::string line = message_of<ConfigError>([&] { projected.instance(bent.model.evaluate<double>(), 100.0); });
  EXPECT_NE(line.find("not separable"), std::string::npos) << line;
}

}  // namespace
}  // namespace dodyn::systems::test_projected
