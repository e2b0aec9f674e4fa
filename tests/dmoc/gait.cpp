#include "dmoc/gait.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "gaits.hpp"
#include "tests/nlp/check_derivatives.hpp"

namespace dodyn::dmoc::test_gait {
namespace {

using nlp::SolveStatus;

// ---- the transcription

TEST(GaitProblem, DerivativesAreExact) {
  GaitSettings everything = bounded_work(5);
  everything.positive_work = 0.3;
  everything.knee_stops = true;
  everything.clearance = 0.05;
  GaitSettings pushing = everything;
  pushing.friction = nlp::infinity;
  pushing.unilateral = true;
  GaitSettings plain;
  plain.intervals = 4;
  for (const GaitSettings& settings : {everything, pushing, plain}) {
    const WalkerGait gait = gait_of(fixed_masses(0.42), settings);
    const auto errors = nlp::check_derivatives(gait.problem(), gait.cold_start(3));
    EXPECT_LE(errors.max(), 1e-7) << errors.worst;
  }
}

TEST(GaitProblem, DerivativeOfTheLagrangianWithRespectToTheDesignIsExact) {
  for (const bool fixed : {true, false}) {
    const auto gait_at = [&](double step) {
      GaitSettings s = bounded_work(5);
      s.period = Coefficient(0.9 + 0.2 * step, 0.2);
      s.step_length = Coefficient(0.56 - 0.5 * step, -0.5);
      return gait_of(fixed ? fixed_masses(0.42 + step) : uniform(0.42 + step), s);
    };
    expect_exact_slope(gait_at, fixed ? "fixed masses" : "uniform density");
  }
}

TEST(GaitProblem, ColdStartsFollowTheirSeed) {
  const WalkerGait gait = gait_of(fixed_masses(0.5), GaitSettings{});
  EXPECT_EQ(gait.cold_start(7), gait.cold_start(7));
  EXPECT_NE(gait.cold_start(7), gait.cold_start(8));
}

// ---- solved gaits: one of each kind, K = 40, solved once

struct Solved {
  WalkerGait gait;
  nlp::Solution solution;
  Solved(const Design& design, const GaitSettings& settings, int seeds)
      : gait(gait_of(design, settings)), solution(best_of(gait, 0, seeds)) {}
};
GaitSettings squared_torque(int intervals) {
  GaitSettings s;
  s.intervals = intervals;
  return s;
}
const Solved& torque_gait() {
  static const Solved s(fixed_masses(0.42), squared_torque(40), 4);
  return s;
}
const Solved& bounded_gait() {
  static const Solved s(fixed_masses(0.42), bounded_work(40), 2);
  return s;
}

class SolvedGait : public testing::TestWithParam<const Solved& (*)()> {};
INSTANTIATE_TEST_SUITE_P(Costs, SolvedGait, testing::Values(torque_gait, bounded_gait),
                         [](const auto& kind) { return kind.index == 0 ? "squared_torque" : "bounded_work"; });

TEST_P(SolvedGait, IsFirstOrderOptimal) {
  const Solved& s = GetParam()();
  ASSERT_EQ(s.solution.status, SolveStatus::solved) << s.solution.reason;
  EXPECT_LE(s.solution.residuals.max(), 1e-8);
}

TEST_P(SolvedGait, CostIsThatOfItsMotion) {
  const Solved& s = GetParam()();
  const GaitReport r = s.gait.report(s.solution.x);
  const double work = GetParam() == bounded_gait ? r.absolute_work + 0.02 * r.squared_torque : r.squared_torque;
  EXPECT_NEAR(s.solution.objective, work / (r.weight * r.step_length), 1e-7);
}

// Over a period the ground's impulses carry the weight and nothing else: linear momentum is periodic. The discrete
// momenta telescope, so this is exact.
TEST_P(SolvedGait, GroundImpulsesBalanceTheWeight) {
  const Solved& s = GetParam()();
  const GaitMotion m = s.gait.motion(s.solution.x);
  const int K = m.u.rows();
  const double h = m.t(1) - m.t(0);
  Eigen::VectorXd total = m.impulse + 0.5 * h * (m.contact_force.row(0) + m.contact_force.row(K)).transpose();
  for (int k = 1; k < K; ++k) total += h * m.contact_force.row(k).transpose();
  EXPECT_NEAR(total(0), 0.0, 1e-7);
  EXPECT_NEAR(total(1), 98.1 * m.t(K), 1e-7);
}

TEST_P(SolvedGait, StepsOnToTheNextFootprint) {
  const Solved& s = GetParam()();
  const GaitMotion m = s.gait.motion(s.solution.x);
  const int K = m.u.rows();
  const Eigen::Index foot = m.points.cols() - 2;
  EXPECT_NEAR(m.points(K, foot), 0.56, 1e-8);
  EXPECT_NEAR(m.points(K, foot + 1), 0.0, 1e-8);
  EXPECT_NEAR(m.points(0, foot), -0.56, 1e-8);
  // the posture at touch-down, seen from the new foot, is the first one: the same polyline, walked the other way
  for (Eigen::Index i = 0; i < 5; ++i) {
    EXPECT_NEAR(m.points(K, 8 - 2 * i) - 0.56, m.points(0, 2 * i), 1e-8);
    EXPECT_NEAR(m.points(K, 9 - 2 * i), m.points(0, 2 * i + 1), 1e-8);
  }
}

// Height of the swing foot between nodes, by independent kinematics with shank 0.42 m and thigh 0.58 m. The
// straightened swing knee puts the foot below the ground.
TEST_P(SolvedGait, FootBetweenNodesIsWhereItsAnglesPutIt) {
  const Solved& s = GetParam()();
  Eigen::VectorXd x = s.solution.x;
  const int K = s.gait.index().intervals;
  for (int k = 0; k <= K; ++k) x(s.gait.index().theta(k) + 3) *= 0.9;
  double scuff = 0.0, way = 0.0, scrape = 0.0, x_before = 0.0, y_before = 0.0;
  for (int i = 0; i <= 20 * K; ++i) {
    const int k = std::min(i / 20, K - 1);
    const double f = i / 20.0 - k;
    double angle = 0.0, at_x = 0.0, at_y = 0.0;
    const double lengths[] = {0.42, 0.58, -0.58, -0.42};
    for (int joint = 0; joint < 4; ++joint) {
      angle += (1.0 - f) * x(s.gait.index().theta(k) + joint) + f * x(s.gait.index().theta(k + 1) + joint);
      at_x -= lengths[joint] * std::sin(angle);
      at_y += lengths[joint] * std::cos(angle);
    }
    scuff = std::max(scuff, -at_y);
    if (i > 0) {
      way += std::abs(at_x - x_before);
      if (at_y < 1e-3 && y_before < 1e-3) scrape += std::abs(at_x - x_before);
    }
    x_before = at_x;
    y_before = at_y;
  }
  ASSERT_GT(scuff, 1e-3);
  ASSERT_GT(scrape, 1e-2);
  ASSERT_LT(scrape, 0.9 * way);
  const GaitReport r = s.gait.report(x);
  EXPECT_NEAR(r.max_foot_penetration, scuff, 1e-12);
  EXPECT_NEAR(r.foot_path, way, 1e-12);
  EXPECT_NEAR(r.scrape, scrape, 1e-12);
}

// Integrating the torques forward through the impact, by an independent formulation, reproduces the gait.
TEST_P(SolvedGait, ReintegratesForward) {
  const Solved& s = GetParam()();
  EXPECT_LE(reintegration_error(s.gait, s.solution.x), 1e-5);
}

TEST_P(SolvedGait, KeepsItsLimits) {
  const Solved& s = GetParam()();
  const GaitReport r = s.gait.report(s.solution.x);
  EXPECT_GE(r.min_clearance, -1e-8);
  EXPECT_GT(r.impact_loss, 0.0);
  if (GetParam() != bounded_gait) return;
  EXPECT_LE(r.max_torque, 20.0 + 1e-8);
  EXPECT_GT(r.min_normal_force, 0.0);
  EXPECT_LE(r.max_friction_ratio, 0.8 + 1e-6);
  EXPECT_GT(r.normal_impulse, 0.0);
  EXPECT_LE(r.impulse_friction_ratio, 0.8 + 1e-6);
}

TEST_P(SolvedGait, WarmStartFindsItAgainAtOnce) {
  const Solved& s = GetParam()();
  const GaitMotion m = s.gait.motion(s.solution.x);
  nlp::Options options;
  options.warm_start = true;
  const auto again = nlp::solve(s.gait.problem(), s.gait.warm_start(m.q, m.u), options);
  ASSERT_EQ(again.status, SolveStatus::solved) << again.reason;
  // at a KKT residual of 1e-9 the costs may differ by about the sum of the complementarity products, one per bound
  EXPECT_NEAR(again.objective, s.solution.objective, 1e-9 * s.gait.problem().variables());
  EXPECT_LT(again.iterations, s.solution.iterations);
}

// Envelope theorem: the multipliers give the slope of the optimal cost. The differences stay within 8e-4 m: further
// away the swing foot rests on the ground at other nodes, which is another local minimum of the discrete problem.
TEST(Gait, GradientOfTheOptimalCostComesFromTheMultipliers) {
  const Solved& s = torque_gait();
  const GaitMotion m = s.gait.motion(s.solution.x);
  const auto optimum = [&](double step) {
    const WalkerGait gait = gait_of(fixed_masses(0.42 + step), squared_torque(40));
    nlp::Options options;
    options.warm_start = true;
    options.tolerance = 1e-11;
    const auto solution = nlp::solve(gait.problem(), gait.warm_start(m.q, m.u), options);
    EXPECT_EQ(solution.status, SolveStatus::solved) << solution.reason;
    return solution.objective;
  };
  const double h = 4e-4;
  const double expected = (8.0 * (optimum(h) - optimum(-h)) - (optimum(2 * h) - optimum(-2 * h))) / (12.0 * h);
  const double given = slope(s.gait, s.solution.x, s.solution.multipliers);
  EXPECT_NEAR(given, expected, 1e-5 * std::abs(expected));
  RecordProperty("relative_error", std::to_string(given / expected - 1.0));
}

TEST(Gait, KneeStopsAreKept) {
  GaitSettings settings = squared_torque(20);
  settings.knee_stops = true;
  const Solved s(fixed_masses(0.5), settings, 3);
  ASSERT_EQ(s.solution.status, SolveStatus::solved);
  EXPECT_GE(s.gait.report(s.solution.x).min_knee_flexion, -1e-8);
}

TEST(Gait, ClearanceIsKept) {
  GaitSettings settings = squared_torque(20);
  settings.clearance = 0.08;
  const Solved s(fixed_masses(0.5), settings, 3);
  ASSERT_EQ(s.solution.status, SolveStatus::solved);
  EXPECT_GE(s.gait.motion(s.solution.x).swing_height(10), 0.08 - 1e-8);
}

TEST(Gait, ColdStartsBendKneesTheWayTheirStopsAllow) {
  GaitSettings s;
  s.intervals = 20;
  s.knee_stops = true;
  const WalkerGait gait = gait_of(fixed_masses(0.45), s);
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_GE(gait.report(gait.cold_start(seed)).min_knee_flexion, 0.0) << seed;
}

// One problem, two solvers: a first-order point of one is one of the other, which stays there.
TEST(Gait, SolversAgreeOnWhatASolutionIs) {
  if (!nlp::available(nlp::Backend::ipopt)) GTEST_SKIP() << "this build has no Ipopt";
  GaitSettings squared;
  squared.intervals = 20;
  for (const GaitSettings& settings : {squared, bounded_work(20)}) {
    const WalkerGait gait = gait_of(fixed_masses(0.45), settings);
    const auto& problem = gait.problem();
    for (const auto backend : {nlp::Backend::native, nlp::Backend::ipopt}) {
      nlp::Options one, other;
      one.backend = backend;
      one.max_iterations = 2000;
      other.backend = backend == nlp::Backend::native ? nlp::Backend::ipopt : nlp::Backend::native;
      const auto first = nlp::solve(problem, gait.cold_start(1), one);
      ASSERT_EQ(first.status, nlp::SolveStatus::solved) << first.reason;
      const auto residuals =
          nlp::residuals(problem, first.x, first.multipliers, first.lower_multipliers, first.upper_multipliers);
      EXPECT_LE(residuals.max(), 1e-9);
      const auto second = nlp::solve(problem, first, other);
      ASSERT_EQ(second.status, nlp::SolveStatus::solved) << second.reason;
      // costs may differ by about the complementarity products, as in WarmStartFindsItAgainAtOnce
      EXPECT_NEAR(second.objective, first.objective, 1e-6 * std::abs(first.objective));
    }
  }
}

}  // namespace
}  // namespace dodyn::dmoc::test_gait
