// Gaits by integrators of order 4 and 6: their rows, derivatives and measures.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "gaits.hpp"
#include "rows.hpp"
#include "tests/nlp/check_derivatives.hpp"

namespace dodyn::dmoc::test_gait_orders {
namespace {

using Eigen::Vector4d;
using Eigen::VectorXd;

GaitSettings everything(int intervals) {
  GaitSettings s = bounded_work(intervals);
  s.positive_work = 0.3;
  s.clearance = 0.05;
  s.clearance_points = 1;
  s.rate_limit = 15.0;
  s.knee_stops = true;
  return s;
}

// Unknowns whose joints turn all the time, since no second derivative of work is continuous where one turns back at a
// node.
VectorXd turning_point(const WalkerGait& gait) {
  VectorXd x = some_point(gait.problem());
  const PhaseIndex& at = gait.index();
  const Scheme& scheme = gait.walker().system->scheme();
  for (int r = 0; r < at.knots(); ++r)
    for (int joint = 0; joint < at.moving; ++joint)
      x(at.knot(r) + joint) = 0.1 * joint - 0.2 + (joint % 2 == 0 ? 0.7 : -0.5) * scheme.position(r) / at.intervals +
                              2e-3 * std::sin(3.0 * r + joint);
  for (int node = 0; node <= at.intervals && at.node_rates > 0; ++node)
    for (int joint = 0; joint < at.moving; ++joint) x(at.rate(node) + joint) = joint % 2 == 0 ? 0.8 : -0.6;
  return x;
}

TEST(GaitOrders, DerivativesAreExact) {
  for (const int order : {4, 6})
    for (const bool ends : {true, false}) {
      GaitSettings settings = everything(4);
      settings.work_at_ends = ends;
      const WalkerGait gait = gait_of(fixed_masses(0.42, order), settings);
      const auto errors = nlp::check_derivatives(gait.problem(), turning_point(gait));
      EXPECT_LE(errors.max(), 1e-7) << order << errors.worst;
    }
}

TEST(GaitOrders, DerivativesWithRespectToTheDesignAreExact) {
  for (const int order : {4, 6}) {
    const auto gait_at = [&](double step) {
      GaitSettings s = everything(4);
      s.period = Coefficient(0.9 + 0.2 * step, 0.2);
      s.step_length = Coefficient(0.56 - 0.5 * step, -0.5);
      return gait_of(fixed_masses(0.42 + step, order), s);
    };
    expect_exact_slope(gait_at, std::to_string(order));
  }
}

// In space: the legs' sides, and the derivatives of all rows.
TEST(GaitOrders, DerivativesAreExactInSpace) {
  GaitSettings s = bounded_work(4);
  s.step_length = 0.45;
  s.leg_radius = 0.03;
  s.clearance = 0.02;
  const WalkerGait gait = gait_of(built_in("spatial-biped", 0.42, 4), s);
  const auto errors = nlp::check_derivatives(gait.problem(), turning_point(gait));
  EXPECT_LE(errors.max(), 1e-7) << errors.worst;
}

// By kinematics written here: shank 0.42 m, thigh 0.58 m, angles from the vertical.
double foot_height(const Vector4d& theta) {
  const double lengths[] = {0.42, 0.58, -0.58, -0.42};
  double angle = 0.0, height = 0.0;
  for (int joint = 0; joint < 4; ++joint) height += lengths[joint] * std::cos(angle += theta(joint));
  return height;
}

// Joints that move as a polynomial of the integrator's degree over the whole step: its values and rates are in the
// rows.
TEST(GaitOrders, RowsAreThoseOfThePolynomial) {
  constexpr int K = 4;
  for (const int order : {2, 4, 6}) {
    const int d = order / 2;
    const WalkerGait gait = gait_of(fixed_masses(0.42, order), everything(K));
    const auto& problem = gait.problem();
    const Scheme& scheme = gait.walker().system->scheme();
    const auto theta = [&](double s) -> Vector4d {
      return Vector4d(0.3, -0.2, 0.5, 0.4) - std::pow(s, d) * Vector4d(0.5, 0.1, 0.9, -0.3);
    };
    const auto rate = [&](double s) -> Vector4d {
      return -d * std::pow(s, d - 1) / 0.9 * Vector4d(0.5, 0.1, 0.9, -0.3);
    };
    VectorXd x = some_point(problem);
    const int knots = gait.index().knots();
    for (int r = 0; r < knots; ++r) x.segment(gait.index().knot(r), 4) = theta(scheme.position(r) / K);
    const VectorXd c = rows_at(problem, x);
    const int parts = order == 2 ? 2 : d;  // of the work of a control in an interval
    int row = std::ssize(c) - 4 * parts * K - 2 * knots - 4 * d * K - d * K - (knots - 2);
    const auto expect_height = [&](double s) {
      EXPECT_NEAR(c(row), foot_height(theta(s)), 1e-14) << order;
      EXPECT_NEAR(problem.constraint_lower(row++), 0.05 * 4.0 * s * (1.0 - s), 1e-15) << order;
    };
    for (int r = 1; r + 1 < knots; ++r) expect_height(scheme.position(r) / K);
    for (int knot = 0; knot < d; ++knot)
      for (int k = 0; k < K; ++k) expect_height((k + 0.5 * (scheme.position(knot) + scheme.position(knot + 1))) / K);
    for (int k = 0; k < K; ++k)
      for (int point = 0; point < d; ++point)
        for (int joint = 0; joint < 4; ++joint)
          EXPECT_NEAR(c(row++), rate((k + scheme.points(point)) / K)(joint), 1e-12) << order;
    for (const auto& [joint, way] : {std::pair{1, 1.0}, {3, -1.0}})
      for (int r = 0; r < knots; ++r) EXPECT_NEAR(c(row++), way * theta(scheme.position(r) / K)(joint), 1e-15);
  }
}

class SolvedOrder : public testing::TestWithParam<int> {
 protected:
  static constexpr int K = 12;
  static WalkerGait gait_at(double shank, int order) {
    GaitSettings s = bounded_work(K);
    s.positive_work = 0.3;
    return gait_of(fixed_masses(shank, order), s);
  }
};
INSTANTIATE_TEST_SUITE_P(Orders, SolvedOrder, testing::Values(4, 6));

// Compares costs and measures with each other. Checks the momentum balance of a period, and the gait simulated forward
// by its torques.
TEST_P(SolvedOrder, IsConsistent) {
  const int order = GetParam();
  const WalkerGait gait = gait_at(0.42, order);
  const nlp::Solution solution = best_of(gait, 0, 3);
  ASSERT_EQ(solution.status, nlp::SolveStatus::solved) << solution.reason;
  const GaitReport r = gait.report(solution.x);
  const double work = r.absolute_work + 0.3 * r.positive_work + 0.02 * r.squared_torque;
  EXPECT_NEAR(solution.objective, work / (r.weight * r.step_length), 1e-7);
  EXPECT_LE(reintegration_error(gait, solution.x), 1e-6);
  EXPECT_GE(r.min_clearance, -1e-8);
  EXPECT_LE(r.max_torque, 20.0 + 1e-8);
  EXPECT_LE(r.max_friction_ratio, 0.8 + 1e-6);
  EXPECT_LE(std::abs(r.energy_balance), 0.05);
  // the ground's impulses carry the weight and nothing else
  const GaitMotion m = gait.motion(solution.x);
  VectorXd total = m.impulse;
  for (int knot = 0; knot < gait.index().knots(); ++knot)
    total += gait.motion_problem().knot_weight(0, knot) * 0.9 / K * m.contact_force.row(knot).transpose();
  EXPECT_NEAR(total(0), 0.0, 1e-7);
  EXPECT_NEAR(total(1), 98.1 * 0.9, 1e-7);
  // the foot between knots, by the polynomial of each interval
  VectorXd x = solution.x;
  for (int knot = 0; knot < gait.index().knots(); ++knot) x(gait.index().knot(knot) + 3) *= 0.9;
  const GaitReport bent = gait.report(x);
  const Scheme& scheme = gait.walker().system->scheme();
  double lowest = std::numeric_limits<double>::infinity();
  for (int i = 0; i <= 20 * K; ++i) {
    const int k = std::min(i / 20, K - 1);
    const VectorXd weights = scheme.values_at(i / 20.0 - k);
    Vector4d theta = Vector4d::Zero();
    for (int j = 0; j <= scheme.degree; ++j)
      theta += weights(j) * x.segment<4>(gait.index().knot(k * scheme.degree + j));
    lowest = std::min(lowest, foot_height(theta));
  }
  ASSERT_LT(lowest, -5e-4);
  EXPECT_NEAR(bent.max_foot_penetration, -lowest, 1e-12);
  if (order == 6) return;  // from there its solver does not converge
  // from its own angles and torques it is found again
  nlp::Options options;
  options.warm_start = true;
  const auto again = nlp::solve(gait.problem(), gait.warm_start(m.q, m.u), options);
  ASSERT_EQ(again.status, nlp::SolveStatus::solved) << again.reason;
  EXPECT_NEAR(again.objective, solution.objective, 1e-9 * gait.problem().variables());
}

}  // namespace
}  // namespace dodyn::dmoc::test_gait_orders
