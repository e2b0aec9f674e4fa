// Rows of gaits at some point, against the planar biped's kinematics and momenta by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <numbers>

#include "gaits.hpp"
#include "rows.hpp"
#include "tests/systems/planar_biped.hpp"
#include "tests/variational/discrete_lagrangian.hpp"

namespace dodyn::dmoc::test_gait_rows {
namespace {

using Eigen::Vector2d;
using Eigen::Vector4d;
using Eigen::VectorXd;
using Vector6 = variational::Vector<6>;

constexpr double shank = 0.42, thigh = 0.58;

// From the stance foot at the origin. Links are at angles from the vertical, counter-clockwise.
Vector2d swing_foot(const Vector4d& theta) {
  const double a = theta(0), b = a + theta(1), c = b + theta(2), d = c + theta(3);
  return {-shank * std::sin(a) - thigh * std::sin(b) + thigh * std::sin(c) + shank * std::sin(d),
          shank * std::cos(a) + thigh * std::cos(b) - thigh * std::cos(c) - shank * std::cos(d)};
}
Vector2d swing_foot_rate(const Vector4d& theta, const Vector4d& v) {
  constexpr double h = 1e-5;
  return (swing_foot(theta + h * v) - swing_foot(theta - h * v)) / (2.0 * h);
}
// The swing leg becomes the stance leg; of angles or rates.
Vector4d exchanged(const Vector4d& theta) { return {theta.sum(), -theta(3), -theta(2), -theta(1)}; }

Vector6 joined(const Vector2d& foot, const Vector4d& joints) {
  Vector6 q;
  q << foot, joints;
  return q;
}

constexpr int K = 4;
GaitSettings everything() {
  GaitSettings s;
  s.intervals = K;
  s.period = 0.8;
  s.clearance = 0.05;
  s.clearance_points = 1;
  s.rate_limit = 15.0;
  s.knee_stops = true;
  s.friction = 0.7;
  s.torque_limit = 20.0;
  return s;
}

TEST(GaitRows, ClearanceRatesAndKneesAreThoseOfTheAngles) {
  const WalkerGait gait = gait_of(fixed_masses(shank), everything());
  const auto& nlp = gait.problem();
  const VectorXd x = some_point(nlp), c = rows_at(nlp, x);
  const auto theta = [&](int k) -> Vector4d { return x.segment<4>(gait.index().theta(k)); };
  int row = std::ssize(c) - 2 * (K + 1) - 4 * K - K - (K - 1);
  for (int k = 1; k < K; ++k, ++row) {
    EXPECT_NEAR(c(row), swing_foot(theta(k))(1), 1e-14);
    EXPECT_NEAR(nlp.constraint_lower(row), 0.05 * 4.0 * (k / 4.0) * (1.0 - k / 4.0), 1e-15);
    EXPECT_EQ(nlp.constraint_upper(row), nlp::infinity);
  }
  for (int k = 0; k < K; ++k, ++row) {
    EXPECT_NEAR(c(row), swing_foot(0.5 * (theta(k) + theta(k + 1)))(1), 1e-14);
    const double s = (k + 0.5) / K;
    EXPECT_NEAR(nlp.constraint_lower(row), 0.05 * 4.0 * s * (1.0 - s), 1e-15);
  }
  for (int k = 0; k < K; ++k)
    for (int i = 0; i < 4; ++i, ++row) {
      EXPECT_NEAR(c(row), (theta(k + 1)(i) - theta(k)(i)) / 0.2, 1e-13);
      EXPECT_EQ(nlp.constraint_lower(row), -15.0);
      EXPECT_EQ(nlp.constraint_upper(row), 15.0);
    }
  for (const auto& [joint, way] : {std::pair{1, 1.0}, {3, -1.0}})
    for (int k = 0; k <= K; ++k, ++row) {
      EXPECT_EQ(c(row), way * theta(k)(joint));
      EXPECT_EQ(nlp.constraint_lower(row), 0.0);
      EXPECT_EQ(nlp.constraint_upper(row), nlp::infinity);
    }
  EXPECT_EQ(row, c.size());
  EXPECT_EQ(nlp.lower(gait.index().control(1)), -20.0);
  EXPECT_EQ(nlp.upper(gait.index().control(1)), 20.0);
  double cost = 0.0;
  for (int k = 0; k < K; ++k) cost += 0.2 * x.segment<4>(gait.index().control(k)).squaredNorm();
  EXPECT_NEAR(nlp.objective(x), cost / (98.1 * 0.56), 1e-14);
}

TEST(GaitRows, TouchDownExchangesTheLegsAndPushesTheNewFootAlone) {
  const WalkerGait gait = gait_of(fixed_masses(shank), everything());
  const systems::PlanarBiped<double> biped =
      systems::PlanarBiped<double>::with_masses(shank, 1.0, {2.0, 3.0, 3.0, 2.0});
  const VectorXd x = some_point(gait.problem()), c = rows_at(gait.problem(), x);
  const auto& at = gait.index();
  const Vector4d first = x.segment<4>(at.theta(0)), last = x.segment<4>(at.theta(K)),
                 after = x.segment<4>(at.velocity_after), before = x.segment<4>(at.velocity_before);
  const Vector6 arrives = variational::continuous(biped, joined(Vector2d::Zero(), exchanged(last)),
                                                  joined(swing_foot_rate(last, before), exchanged(before)))
                              .momentum,
                leaves =
                    variational::continuous(biped, joined(Vector2d::Zero(), first), joined(Vector2d::Zero(), after))
                        .momentum;
  const int jump = gait.motion_problem().jump_row(0);
  EXPECT_LE((c.segment<4>(jump) - (arrives - leaves).tail<4>()).norm(), 1e-8);  // the foot's rate is a difference
  EXPECT_LE((c.segment<2>(jump + 4) - swing_foot(last) + Vector2d(0.56, 0.0)).norm(), 1e-14);
  EXPECT_LE((c.segment<4>(jump + 6) - (exchanged(last) - first)).norm(), 1e-14);
  // the cone, of forces at nodes and of the impulse on the new foot
  const int cone = jump + 10;
  const GaitMotion m = gait.motion(x);
  for (int k = 0; k <= K; ++k)
    for (int way = 0; way < 2; ++way)
      EXPECT_NEAR(c(cone + 2 * k + way), 0.7 * m.contact_force(k, 1) + (way == 0 ? 1 : -1) * m.contact_force(k, 0),
                  1e-10);
  const Vector2d impulse = (leaves - arrives).head<2>();
  for (int way = 0; way < 2; ++way)
    EXPECT_NEAR(c(cone + 2 * (K + 1) + way), 0.7 * impulse(1) + (way == 0 ? 1 : -1) * impulse(0), 1e-8);
  EXPECT_LE((m.impulse - impulse).norm(), 1e-8);
}

TEST(GaitRows, TheReportExaminesPosturesBetweenNodes) {
  const WalkerGait gait = gait_of(fixed_masses(shank), everything());
  VectorXd x = some_point(gait.problem());
  for (int k = 0; k <= K; ++k)  // legs nearly straight, the swing leg in front and behind in turn
    x.segment<4>(gait.index().theta(k)) << 0.5, 0.02 * k, (k % 2 == 0 ? 0.1 : -1.1) - 0.01 * k, -0.03 * k;
  const GaitReport r = gait.report(x);
  const auto theta = [&](int k) -> Vector4d { return x.segment<4>(gait.index().theta(k)); };
  double lowest = 1.0, at_nodes = 1.0, turn = 0.0, flexion = 0.0, least = 1e9, lift = -1.0;
  for (int k = 0; k < K; ++k)
    for (int i = 0; i <= 20; ++i) {
      lowest = std::min(lowest, swing_foot((1.0 - i / 20.0) * theta(k) + i / 20.0 * theta(k + 1))(1));
      turn = std::max(turn, (theta(k + 1) - theta(k)).lpNorm<Eigen::Infinity>());
    }
  for (int k = 0; k <= K; ++k) {
    if (k > 0 && k < K) at_nodes = std::min(at_nodes, swing_foot(theta(k))(1));
    lift = std::max(lift, swing_foot(theta(k))(1));
    flexion = std::max({flexion, theta(k)(1), -theta(k)(3)});
    least = std::min({least, theta(k)(1), -theta(k)(3)});
  }
  EXPECT_NEAR(r.max_foot_penetration, -lowest, 1e-13);
  EXPECT_NEAR(r.min_clearance, at_nodes, 1e-13);
  EXPECT_GT(r.max_foot_penetration, -at_nodes + 0.05);  // between nodes the foot is lower
  EXPECT_NEAR(r.max_foot_height, lift, 1e-13);
  EXPECT_EQ(r.max_joint_step, turn);
  EXPECT_EQ(r.max_knee_flexion, flexion);
  EXPECT_EQ(r.min_knee_flexion, least);
}

// ---- in space

TEST(GaitRows, InSpaceLegsKeepToTheirSidesAndForcesToAPyramid) {
  GaitSettings s;
  s.intervals = K;
  s.leg_radius = 0.03;
  s.friction = 0.7;
  const WalkerGait gait = gait_of(built_in("spatial-biped", shank), s);
  const auto& nlp = gait.problem();
  const VectorXd x = 0.5 * some_point(nlp), c = rows_at(nlp, x);
  const GaitMotion m = gait.motion(x);
  const auto y = [&](int node, int point) { return m.points(node, 3 * point + 1); };  // foot, knee, hip, knee, foot
  const int first = std::ssize(c) - 4 * (2 * K + 1);
  // straight legs of 1 m whose feet are 0.2 m apart touch 0.6 m below the hip and above
  const double foot = 0.03 / 0.6, knee = 0.03 * thigh / 0.6;
  for (int k = 0; k <= K; ++k) {
    const int row = k < K ? first + 4 * k : first + 8 * K;
    const double hip = y(k, 2);
    EXPECT_LE((c.segment<4>(row) -
               Vector4d(hip - y(k, 0) - foot, hip - y(k, 1) - knee, y(k, 3) - hip - knee, y(k, 4) - hip - foot))
                  .norm(),
              1e-13);
    EXPECT_EQ(nlp.constraint_lower(row), 0.0);
    EXPECT_EQ(nlp.constraint_upper(row), nlp::infinity);
  }
  const int joints = gait.walker().joints, cone = gait.motion_problem().jump_row(0) + joints + gait.walker().n();
  for (int k = 0; k <= K; ++k)
    for (int f = 0; f < 8; ++f) {
      const double angle = (f + 0.5) * std::numbers::pi / 4.0;
      const auto force = m.contact_force.row(k);
      EXPECT_NEAR(
          c(cone + 8 * k + f),
          0.7 * std::cos(std::numbers::pi / 8.0) * force(2) + std::cos(angle) * force(0) + std::sin(angle) * force(1),
          1e-9);
    }
}

}  // namespace
}  // namespace dodyn::dmoc::test_gait_rows
