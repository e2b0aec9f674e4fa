// Long validations: the calibration figures at L1 = 0.5 with the source's masses, the share of cold starts that
// converge, and the order of convergence in the number of intervals.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "dmoc/resample.hpp"
#include "gaits.hpp"

namespace dodyn::dmoc::test_gait_long {
namespace {

Eigen::VectorXd warped(const WalkerGait& gait, const GaitMotion& motion, double nodes) {
  const Sampled to = time_warped(*gait.walker().system, {motion.q, motion.u}, nodes);
  return gait.warm_start(to.q, to.u);
}

TEST(LongGait, ColdStartsConvergeToTheKnownOptimum) {
  const WalkerGait gait = gait_of(fixed_masses(0.5), GaitSettings{});
  nlp::Options options;
  options.max_iterations = 1000;
  int converged = 0;
  double best = nlp::infinity, squared_torque = 0.0;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    const auto s = nlp::solve(gait.problem(), gait.cold_start(seed), options);
    std::printf("start %2d: cost %.8f, KKT residual %.1e, %4d iterations, %.2f s: %s\n", static_cast<int>(seed),
                s.objective, s.residuals.max(), s.iterations, s.seconds, s.reason.c_str());
    if (s.status != nlp::SolveStatus::solved || s.residuals.max() > 1e-8) continue;
    ++converged;
    if (s.objective < best) {
      best = s.objective;
      squared_torque = gait.report(s.x).squared_torque;
    }
  }
  EXPECT_GE(converged, 22);
  EXPECT_NEAR(best, 0.112550, 5e-7);
  EXPECT_NEAR(squared_torque, 6.1831, 5e-5);
}

TEST(LongGait, WithoutHyperextensionMatchesTheKnownOptimum) {
  GaitSettings settings;
  settings.knee_stops = true;
  const WalkerGait gait = gait_of(fixed_masses(0.5), settings);
  EXPECT_NEAR(best_of(gait, 0, 48).objective, 0.356323, 5e-7);
}

// The foot may touch the ground at different nodes, which gives local minima with costs that differ by 0.5 %. A time
// shift leads from one to the next. From every start in the basin it must lead to the same best minimum.
TEST(LongGait, ShiftsLeadToTheBestOfNeighbouringMinima) {
  const WalkerGait gait = gait_of(uniform(0.2788), GaitSettings{});
  nlp::Options options;
  options.max_iterations = 200;
  int different = 0;
  for (std::uint64_t seed = 1000; seed < 1010; ++seed) {
    nlp::Solution s = nlp::solve(gait.problem(), gait.cold_start(seed), options);
    if (s.status != nlp::SolveStatus::solved || s.objective > 0.096) continue;
    different += s.objective > 0.0954;
    for (bool improved = true; improved;) {
      improved = false;
      const GaitMotion motion = gait.motion(s.x);
      for (const double nodes : {1.0, -1.0, 2.0, -2.0}) {
        nlp::Options warm = options;
        warm.warm_start = true;
        const auto shifted = nlp::solve(gait.problem(), warped(gait, motion, nodes), warm);
        if (shifted.status != nlp::SolveStatus::solved || shifted.objective >= s.objective * (1.0 - 1e-9)) continue;
        s = shifted;
        improved = true;
        break;
      }
    }
    EXPECT_NEAR(s.objective, 0.095343, 1e-6);
  }
  EXPECT_GT(different, 0);
}

TEST(LongGait, CostConvergesWithOrderTwo) {
  // The same local optimum at K = 40, 80, 160, 320, each started from the one before.
  double cost[4];
  GaitMotion motion;
  for (int i = 0; i < 4; ++i) {
    GaitSettings settings;
    settings.intervals = 40 << i;
    const WalkerGait gait = gait_of(fixed_masses(0.5), settings);
    nlp::Solution s;
    if (i == 0) {
      s = best_of(gait, 0, 8);
    } else {
      const Eigen::Index K = settings.intervals;
      Eigen::MatrixXd q(K + 1, motion.q.cols()), u(K, motion.u.cols());
      for (Eigen::Index k = 0; k <= K; ++k) q.row(k) = 0.5 * (motion.q.row(k / 2) + motion.q.row((k + 1) / 2));
      for (Eigen::Index k = 0; k < K; ++k) u.row(k) = motion.u.row(k / 2);
      nlp::Options options;
      options.warm_start = true;
      s = nlp::solve(gait.problem(), gait.warm_start(q, u), options);
    }
    ASSERT_EQ(s.status, nlp::SolveStatus::solved) << s.reason;
    cost[i] = s.objective;
    motion = gait.motion(s.x);
    std::printf("K = %3d: cost %.9f\n", settings.intervals, cost[i]);
  }
  for (int i = 0; i + 2 < 4; ++i) {
    const double order = std::log2((cost[i] - cost[i + 1]) / (cost[i + 1] - cost[i + 2]));
    std::printf("order %.3f\n", order);
    EXPECT_NEAR(order, 2.0, 0.25);
  }
}

}  // namespace
}  // namespace dodyn::dmoc::test_gait_long
