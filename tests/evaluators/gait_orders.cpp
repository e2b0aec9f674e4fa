// Gaits by integrators of order 2, 4 and 6: convergence of costs and plans, gradients, channels, and refused settings.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "evaluators/evaluator.hpp"
#include "tests/message_of.hpp"
#include "whole.hpp"

namespace dodyn::evaluators::test_gait_orders {
namespace {

// RABBIT's gait of 1 m/s by squared torques, with a swing foot that a cost leads over the ground: smooth in the whole
// step.
std::string walk(int intervals, const std::string& words = "") {
  return "model = rabbit\nintervals = " + std::to_string(intervals) +
         "\ninitial-guesses = 1\nshifts = 0\naccuracy = 0\ntolerance = 1e-11\nvalidity-check = warn\n" + words +
         "[parameters]\nstep-length = 0.45\nperiod = 0.45\n[cost]\nsquared-torque = 0.02\n"
         "lift = 3000*(swing_foot.y - 0.2*(t/period)*(1 - t/period))^2\n";
}
std::unique_ptr<Evaluator> study(const std::string& gait, const std::vector<std::string>& words = {}) {
  const std::string path =
      testing::TempDir() + "gait-order-" + testing::UnitTest::GetInstance()->current_test_info()->name() + ".cfg";
  std::ofstream(path) << "[study]\nevaluator = gait\n[gait]\n" << gait;
  const Settings settings = read_settings(path, words);
  std::filesystem::remove(path);
  return make_evaluator(settings);
}
constexpr double weight = 40.0 * 9.81;  // N, of RABBIT
std::string of_order(int order) { return "order = " + std::to_string(order) + "\n"; }

struct Found {
  double cost, deviation;
};
Found found(int order, int intervals) {
  const auto evaluator = study(of_order(order) + walk(intervals));
  const Outcome outcome = evaluator->evaluate(task());
  EXPECT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
  if (outcome.evaluation.metrics.size() == 0) return {not_a_number, not_a_number};
  EXPECT_LE(metric(*evaluator, outcome, "reintegration_error"), 1e-7);
  EXPECT_GT(metric(*evaluator, outcome, "min_clearance"), 1e-4);  // no foot rests on the ground
  return {outcome.evaluation.cost, metric(*evaluator, outcome, "max_deviation")};
}

TEST(GaitOrders, CostsAndPlansConvergeWithTheOrder) {
  const double exact = found(6, 32).cost;
  for (const int order : {2, 4, 6}) {
    const int intervals = order == 2 ? 20 : order == 4 ? 10 : 6;
    const Found coarse = found(order, intervals), fine = found(order, 2 * intervals);
    const double error = std::abs(coarse.cost - exact), finer = std::abs(fine.cost - exact);
    EXPECT_GT(std::log2(error / finer), order - 0.6) << order << ": " << error << ", " << finer;
    EXPECT_GT(std::log2(coarse.deviation / fine.deviation), order - 0.6)
        << order << ": " << coarse.deviation << ", " << fine.deviation;
  }
}

// The gradient with respect to a parameter of the model and two of the motion, against gaits that are solved again.
TEST(GaitOrders, GradientsAreThoseOfTheOptimalCost) {
  const std::vector<std::string> free = {"--design.knee.min=0.3",        "--design.knee.max=0.6",
                                         "--design.step-length.min=0.4", "--design.step-length.max=0.6",
                                         "--design.period.min=0.4",      "--design.period.max=0.6"};
  for (const int order : {2, 4, 6}) {
    const auto evaluator = study(of_order(order) + walk(12), free);
    expect_gradient_of_optimal_cost(*evaluator, {0.4, 0.47, 0.5}, std::to_string(order));
  }
}

// With work in the cost, by either rule.
TEST(GaitOrders, GradientsOfWorkAreThoseOfTheOptimalCost) {
  const std::vector<std::string> free = {"--design.knee.min=0.3", "--design.knee.max=0.6", "--design.period.min=0.4",
                                         "--design.period.max=0.6"};
  for (const int order : {4, 6})
    for (const std::string rule : {"ends", "intervals"}) {
      const auto evaluator = study(
          of_order(order) + "work-rule = " + rule + "\n" + walk(8) + "positive-work = 1\nabsolute-work = 0.3\n", free);
      expect_gradient_of_optimal_cost(*evaluator, {0.4, 0.5}, rule + " of order " + std::to_string(order));
    }
}

// With work in the cost, by either rule: the metrics give the cost.
TEST(GaitOrders, WorkIsCountedAtThePoints) {
  for (const int order : {4, 6})
    for (const std::string rule : {"ends", "intervals"}) {
      const auto evaluator =
          study(of_order(order) + "work-rule = " + rule +
                "\nmodel = rabbit\nintervals = 10\ninitial-guesses = 2\nshifts = 0\nvalidity-check = warn\n"
                "accuracy = 0\ncontact = friction-cone\n[parameters]\nstep-length = 0.45\nperiod = 0.45\n"
                "[cost]\npositive-work = 1\nabsolute-work = 0.2\nsquared-torque = 0.02\n");
      const Outcome outcome = evaluator->evaluate(task());
      ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
      const auto of = [&](const char* name) { return metric(*evaluator, outcome, name); };
      const double cost = of("positive_work") + 0.2 * of("absolute_work") + 0.02 * of("squared_torque");
      EXPECT_NEAR(outcome.evaluation.cost, cost / (weight * 0.45), 1e-7);
      EXPECT_NEAR(2.0 * of("positive_work") - of("absolute_work"), of("signed_work"), 1e-9);
    }
}

// A row per knot, with the torques of the quadrature point that follows. A neighbour's gait, a finer and a coarser mesh
// lead to the same optimum.
TEST(GaitOrders, TrajectoriesHaveAllKnots) {
  for (const int order : {4, 6}) {
    const int degree = order / 2, K = 12;
    const auto evaluator = study(of_order(order) + walk(K));
    const Outcome first = evaluator->evaluate(task());
    ASSERT_EQ(first.evaluation.status, Status::ok) << first.evaluation.reason;
    const auto &t = channel(*evaluator, first, "t"), &u = channel(*evaluator, first, "u");
    ASSERT_EQ(t.rows(), K * degree + 1);
    EXPECT_NEAR(t(degree, 0), 0.45 / K, 1e-14);
    EXPECT_NEAR(t(1, 0), 0.45 / K * (order == 4 ? 0.5 : 0.5 - std::sqrt(0.05)), 1e-14);
    EXPECT_NEAR(t(K * degree, 0), 0.45, 1e-14);
    const double weights[2][3] = {{0.5, 0.5}, {5.0 / 18, 4.0 / 9, 5.0 / 18}};
    double squared = 0.0;
    for (int r = 0; r < K * degree; ++r) squared += 0.45 / K * weights[degree - 2][r % degree] * u.row(r).squaredNorm();
    EXPECT_NEAR(metric(*evaluator, first, "squared_torque"), squared, 1e-9 * squared);
    Task again = task({}, 1);
    again.warm_start = first.trajectory;
    const Outcome second = evaluator->evaluate(again);
    EXPECT_NEAR(second.evaluation.cost, first.evaluation.cost, 1e-9 * first.evaluation.cost);
    EXPECT_EQ(metric(*evaluator, second, "guesses_solved"), 2.0);
    if (order == 6) continue;
    const double expected = study(of_order(4) + walk(24))->evaluate(task()).evaluation.cost;
    const auto refined = study(of_order(4) + walk(12, "refine-tolerance = 1e-12\nrefinements = 1\n"));
    const Outcome finer = refined->evaluate(task());
    EXPECT_EQ(metric(*refined, finer, "intervals"), 24.0);
    EXPECT_NEAR(finer.evaluation.cost, expected, 1e-8 * expected);
    const auto coarse = study(of_order(4) + walk(24, "coarse-intervals = 12\n"));
    EXPECT_NEAR(coarse->evaluate(task()).evaluation.cost, expected, 1e-8 * expected);
  }
}

TEST(GaitOrders, WhatAnOrderDoesNotHaveIsRefused) {
  const auto complaint = [](const std::string& gait) -> std::string {
    return message_of<ConfigError>([&] { study(gait); });
  };
  const std::string smooth = walk(12) + "slow = rate(u.swing_hip)^2\n",
                    limited = walk(12) + "[require]\ncalm = rate(u.swing_hip) <= 900\n";
  for (const std::string& gait : {smooth, limited}) {
    const std::string line = complaint(of_order(4) + gait);
    EXPECT_NE(line.find("rates of controls need order = 2; change the order, or remove rate(u.ACTUATOR)"),
              std::string::npos)
        << line;
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
    EXPECT_EQ(complaint(of_order(2) + gait), "");
  }
  EXPECT_NE(complaint(of_order(3) + walk(12)).find("gait.order = 3"), std::string::npos);
  // the contact simulation takes even steps
  for (const int order : {4, 6}) {
    const auto evaluator = study(of_order(order) +
                                 "joint-limits = none\nintervals = 10\n"
                                 "initial-guesses = 2\nshifts = 0\nvalidity-check = warn\naccuracy = 0\n");
    std::string line;
    try {
      evaluator->simulate(task());
    } catch (const ConfigError& error) {
      line = error.what();
    }
    EXPECT_EQ(line, order == 4 ? "" : "gait.order = 6 is not supported by the contact simulation; allowed: 2, 4");
  }
}

// Order 2 is the default, and the same whether it is named.
TEST(GaitOrders, TheDefaultIsTheMidpointRule) {
  const auto cost = [](const std::string& order) { return study(order + walk(12))->evaluate(task()).evaluation.cost; };
  EXPECT_EQ(cost(""), cost(of_order(2)));
  EXPECT_NE(cost(""), cost(of_order(4)));
}

}  // namespace
}  // namespace dodyn::evaluators::test_gait_orders
