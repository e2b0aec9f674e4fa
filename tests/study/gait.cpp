// The gait evaluator through the interface that studies use.
#include "study/gait.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "study/evaluator.hpp"

namespace dodyn::study {
namespace {

// A small study: few intervals, the source's masses, knee free.
Settings small_study(const std::vector<std::string>& words = {}) {
  const std::string path =
      testing::TempDir() + "gait-" + testing::UnitTest::GetInstance()->current_test_info()->name() + ".cfg";
  std::ofstream(path) << "[study]\nevaluator = gait\n[design]\nknee.min = 0.2\nknee.max = 0.7\n"
                         "[gait]\nlegs = fixed-masses\nintervals = 16\nstarts = 2\nshifts = 1\n";
  const Settings settings = read_settings(path, words);
  std::filesystem::remove(path);
  return settings;
}

Task task(double knee, std::uint64_t seed = 5) {
  Task t;
  t.evaluation.id = 0;
  t.evaluation.design = Eigen::VectorXd::Constant(1, knee);
  t.evaluation.seed = seed;
  return t;
}

double metric(const Evaluator& evaluator, const Evaluation& evaluation, const std::string& name) {
  const auto metrics = evaluator.metrics();
  for (std::size_t i = 0; i < metrics.size(); ++i)
    if (metrics[i].name == name) return evaluation.metrics(static_cast<Eigen::Index>(i));
  ADD_FAILURE() << "no metric " << name;
  return not_a_number;
}

TEST(GaitEvaluator, FillsWhatItDeclares) {
  const auto evaluator = make_evaluator(small_study());
  const Outcome outcome = evaluator->evaluate(task(0.45));
  const Evaluation& e = outcome.evaluation;
  ASSERT_EQ(e.status, Status::ok) << e.reason;
  EXPECT_TRUE(std::isfinite(e.cost));
  ASSERT_EQ(e.metrics.size(), static_cast<Eigen::Index>(evaluator->metrics().size()));
  ASSERT_EQ(outcome.trajectory.values.size(), evaluator->channels().size());
  for (std::size_t i = 0; i < evaluator->channels().size(); ++i) {
    EXPECT_EQ(outcome.trajectory.values[i].rows(), evaluator->channels()[i].nodes);
    EXPECT_EQ(outcome.trajectory.values[i].cols(),
              static_cast<Eigen::Index>(evaluator->channels()[i].coordinates.size()));
    EXPECT_TRUE(outcome.trajectory.values[i].allFinite()) << evaluator->channels()[i].name;
  }
  EXPECT_LE(metric(*evaluator, e, "kkt_residual"), 1e-8);
  EXPECT_LE(metric(*evaluator, e, "reintegration_error"), 1e-5);
  EXPECT_NEAR(e.cost, metric(*evaluator, e, "squared_torque") / (98.1 * 0.56), 1e-8);
  const std::string report = evaluator->report(outcome);
  for (const char* word : {"KKT residual", "contact force", "touch-down impulse", "knee", "re-integrated"})
    EXPECT_NE(report.find(word), std::string::npos) << report;
}

TEST(GaitEvaluator, SameTaskSameAnswer) {
  const auto evaluator = make_evaluator(small_study());
  const Outcome a = evaluator->evaluate(task(0.45)), b = evaluator->evaluate(task(0.45));
  EXPECT_EQ(a.evaluation.cost, b.evaluation.cost);
  EXPECT_EQ(a.evaluation.gradient, b.evaluation.gradient);
  EXPECT_EQ(a.trajectory.values[1], b.trajectory.values[1]);
}

TEST(GaitEvaluator, GradientIsTheSlopeOfTheCost) {
  const auto evaluator =
      make_evaluator(small_study({"--gait.starts", "1", "--gait.shifts", "0", "--gait.tolerance", "1e-10"}));
  const Outcome middle = evaluator->evaluate(task(0.45));
  ASSERT_EQ(middle.evaluation.status, Status::ok);
  const auto cost = [&](double knee) {
    Task t = task(knee);
    t.warm_start = middle.trajectory;
    return evaluator->evaluate(t).evaluation.cost;
  };
  const double h = 2e-4;
  const double slope =
      (8.0 * (cost(0.45 + h) - cost(0.45 - h)) - (cost(0.45 + 2 * h) - cost(0.45 - 2 * h))) / (12.0 * h);
  EXPECT_NEAR(middle.evaluation.gradient(0), slope, 1e-4 * std::abs(slope));
}

TEST(GaitEvaluator, NeighboursTrajectoryIsAStart) {
  const auto evaluator = make_evaluator(small_study());
  const Outcome neighbour = evaluator->evaluate(task(0.45));
  Task t = task(0.451);
  t.warm_start = neighbour.trajectory;
  const Outcome outcome = evaluator->evaluate(t);
  ASSERT_EQ(outcome.evaluation.status, Status::ok);
  EXPECT_EQ(metric(*evaluator, outcome.evaluation, "starts"), 3.0);
  // never worse than the neighbour by more than the slope between them allows
  EXPECT_LE(outcome.evaluation.cost, neighbour.evaluation.cost + 2e-3 * std::abs(neighbour.evaluation.gradient(0)));
}

TEST(GaitEvaluator, InvalidDesignFailsWithItsReason) {
  const auto evaluator = make_evaluator(small_study());
  for (const double knee : {0.0, -0.3, 1.0, not_a_number}) {
    const Outcome outcome = evaluator->evaluate(task(knee));
    EXPECT_EQ(outcome.evaluation.status, Status::failed);
    EXPECT_NE(outcome.evaluation.reason.find("knee"), std::string::npos) << outcome.evaluation.reason;
    EXPECT_TRUE(std::isnan(outcome.evaluation.cost));
  }
}

TEST(GaitEvaluator, ImpossibleGaitIsNotOk) {
  // torques of 0.01 N m cannot carry 10 kg
  const auto evaluator = make_evaluator(
      small_study({"--gait.torque-limit", "0.01", "--gait.starts", "1", "--gait.max-iterations", "100"}));
  const Outcome outcome = evaluator->evaluate(task(0.45));
  EXPECT_TRUE(outcome.evaluation.status == Status::infeasible || outcome.evaluation.status == Status::not_converged);
  EXPECT_FALSE(outcome.evaluation.reason.empty());
}

TEST(GaitEvaluator, SolverThatStopsEarlyIsNotOk) {
  const auto evaluator = make_evaluator(small_study({"--gait.starts", "1", "--gait.max-iterations", "3"}));
  const Outcome outcome = evaluator->evaluate(task(0.45));
  EXPECT_EQ(outcome.evaluation.status, Status::not_converged);
  EXPECT_FALSE(outcome.evaluation.reason.empty());
}

TEST(GaitEvaluator, CostWithoutAnyWeightIsRefused) {
  EXPECT_THROW(make_evaluator(small_study({"--gait.squared-torque", "0"})), ConfigError);
}

}  // namespace
}  // namespace dodyn::study
