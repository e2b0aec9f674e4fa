#include "evaluators/docking.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "evaluators/docking_craft.hpp"
#include "farm/local.hpp"
#include "study/parts.hpp"
#include "study/study.hpp"

namespace dodyn::evaluators {
namespace {

class DockingStudy : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(config) << "[study]\nevaluator = docking\n[design]\nspacing.min = 0.03\nspacing.max = 0.07\n"
                             "[docking]\nsamples = 12\nstep = 0.004\nleast-distance = 0.08\nlargest-distance = 0.12\n";
  }
  void TearDown() override { std::filesystem::remove(config); }

  Settings settings(const std::vector<std::string>& words) const { return read_settings(config, words); }
  std::unique_ptr<Evaluator> evaluator(const std::vector<std::string>& words = {}) const {
    return make_evaluator(settings(words));
  }
  static Task task(double spacing) {
    Task task;
    task.evaluation.id = 3;
    task.evaluation.design = Eigen::VectorXd::Constant(1, spacing);
    return task;
  }
  // As a farm would, last part first.
  static Outcome all_parts(const Evaluator& evaluator, Task one) {
    if (evaluator.parts() == 1) return evaluator.evaluate(one);
    std::vector<Outcome> parts(static_cast<std::size_t>(evaluator.parts()));
    for (one.part = evaluator.parts() - 1; one.part >= 0; --one.part)
      parts[static_cast<std::size_t>(one.part)] = evaluator.evaluate(one);
    return evaluator.join(one.evaluation, std::move(parts));
  }
  std::string complaint(const std::vector<std::string>& words) const {
    try {
      evaluator(words);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  }

  std::string config = testing::TempDir() + "docking_study.cfg";
};

TEST_F(DockingStudy, ResultsDoNotDependOnTheParts) {
  const auto whole = evaluator({"--docking.batch=100"}), split = evaluator({"--docking.batch=7"});
  EXPECT_EQ(whole->parts(), 1);
  EXPECT_EQ(split->parts(), 2);
  const Outcome a = all_parts(*whole, task(0.05)), b = all_parts(*split, task(0.05));
  ASSERT_TRUE(a.evaluation.ok()) << a.evaluation.reason;
  EXPECT_EQ(a.evaluation.cost, b.evaluation.cost);
  EXPECT_EQ(a.evaluation.cost_stderr, b.evaluation.cost_stderr);
  EXPECT_EQ(a.evaluation.metrics, b.evaluation.metrics);
  ASSERT_EQ(a.trajectory.values.size(), b.trajectory.values.size());
  for (std::size_t k = 0; k < a.trajectory.values.size(); ++k)
    EXPECT_EQ(a.trajectory.values[k], b.trajectory.values[k]);
}

// A part that a farm takes for a failure would fail the whole.
TEST_F(DockingStudy, PartsPassTheFarm) {
  const Settings given = settings({"--docking.batch=7"});
  const std::shared_ptr<const Evaluator> docking = make_evaluator(given);
  farm::LocalFarm farm(study::make_work(docking, given), {});
  const Outcome a = study::evaluate(*docking, farm, task(0.05)), b = all_parts(*docking, task(0.05));
  ASSERT_TRUE(a.evaluation.ok()) << a.evaluation.reason;
  EXPECT_EQ(a.evaluation.cost, b.evaluation.cost);
  EXPECT_EQ(a.evaluation.metrics, b.evaluation.metrics);
}

TEST_F(DockingStudy, CountsAndIntervalsAgreeWithTheMap) {
  const auto docking = evaluator();
  const Outcome outcome = all_parts(*docking, task(0.07));
  const auto& e = outcome.evaluation;
  ASSERT_TRUE(e.ok()) << e.reason;
  ASSERT_EQ(e.metrics.size(), static_cast<Eigen::Index>(docking->metrics().size()));
  const auto& map = outcome.trajectory.values;
  ASSERT_EQ(map.size(), docking->channels().size());
  for (std::size_t k = 0; k < map.size(); ++k) {
    EXPECT_EQ(map[k].rows(), docking->channels()[k].nodes);
    EXPECT_EQ(map[k].cols(), static_cast<Eigen::Index>(docking->channels()[k].coordinates.size()));
  }
  for (int kind = 0; kind < evaluators::docked_kinds; ++kind)
    EXPECT_EQ(e.metrics[kind], (map[1].col(0).array() == kind).count());
  EXPECT_EQ(e.metrics.head<evaluators::docked_kinds>().sum(), 12.0);
  EXPECT_NEAR(e.cost, 1.0 - e.metrics[0] / 12.0, 1e-15);
  EXPECT_LT(e.metrics[7], e.cost);
  EXPECT_GT(e.metrics[8], e.cost);
  EXPECT_GT(e.cost_stderr, 0.0);
  EXPECT_NE(docking->report(outcome).find("failure rate"), std::string::npos);
}

TEST_F(DockingStudy, EveryDesignHasTheSameStarts) {
  const auto docking = evaluator(), other = evaluator({"--docking.seed=2"});
  const Outcome a = all_parts(*docking, task(0.03)), b = all_parts(*docking, task(0.06));
  EXPECT_EQ(a.trajectory.values[0], b.trajectory.values[0]);
  EXPECT_NE(a.trajectory.values[0], all_parts(*other, task(0.03)).trajectory.values[0]);
  const Eigen::MatrixXd& starts = a.trajectory.values[0];
  EXPECT_GE(starts.col(0).minCoeff(), -60.0);
  EXPECT_LE(starts.col(0).maxCoeff(), 60.0);
  EXPECT_GE(starts.col(1).minCoeff(), 0.08);
  EXPECT_LE(starts.col(1).maxCoeff(), 0.12);
}

TEST_F(DockingStudy, AlignedStartsDockAndFarOnesMiss) {
  const auto aligned =
      evaluator({"--docking.least-bearing=-1", "--docking.largest-bearing=1", "--docking.sampling=grid"});
  const Outcome dock = all_parts(*aligned, task(0.05));
  EXPECT_EQ(dock.evaluation.cost, 0.0);
  EXPECT_EQ(dock.evaluation.metrics[7], 0.0);
  EXPECT_GT(dock.evaluation.cost_stderr, 0.0);  // none failed, but some might
  const auto far = evaluator({"--docking.largest-distance=0.6", "--docking.least-distance=0.5"});
  const Outcome miss = all_parts(*far, task(0.05));
  EXPECT_EQ(miss.evaluation.cost, 1.0);
  EXPECT_EQ(miss.evaluation.metrics[1], 12.0);
}

TEST_F(DockingStudy, RobustVariantVariesWhatItSaysAndNoMore) {
  const std::vector<std::string> still = {"--docking.robust=true", "--docking.restitution-spread=0",
                                          "--docking.friction-spread=0", "--docking.pull-spread=0",
                                          "--docking.disturbance=0"};
  const Outcome plain = all_parts(*evaluator(), task(0.05)), same = all_parts(*evaluator(still), task(0.05));
  EXPECT_EQ(plain.evaluation.metrics, same.evaluation.metrics);
  EXPECT_EQ(plain.trajectory.values[1], same.trajectory.values[1]);

  const auto robust = evaluator({"--docking.robust=true", "--docking.restitution-spread=0.1"});
  const Outcome a = all_parts(*robust, task(0.05)), b = all_parts(*robust, task(0.06));
  EXPECT_EQ(a.trajectory.values.at(2), b.trajectory.values.at(2));
  const Eigen::MatrixXd& scenario = a.trajectory.values[2];
  EXPECT_GE(scenario.col(0).minCoeff(), 0.2);
  EXPECT_LE(scenario.col(0).maxCoeff(), 0.4);
  EXPECT_GT(scenario.col(0).maxCoeff() - scenario.col(0).minCoeff(), 0.1);
  EXPECT_NE(a.trajectory.values[1], plain.trajectory.values[1]);
}

TEST_F(DockingStudy, ShowsOneSimulation) {
  const auto docking = evaluator({"--docking.bearing=12", "--docking.distance=0.1"});
  const auto shown = docking->simulate(task(0.06));
  ASSERT_TRUE(shown.has_value());
  EXPECT_TRUE(shown->completed);
  EXPECT_NE(shown->report.find("outcome"), std::string::npos);
  ASSERT_EQ(shown->channels.size(), shown->trajectory.values.size());
  for (std::size_t k = 0; k < shown->channels.size(); ++k) {
    EXPECT_EQ(shown->channels[k].nodes, shown->trajectory.values[k].rows());
    EXPECT_EQ(static_cast<Eigen::Index>(shown->channels[k].coordinates.size()), shown->trajectory.values[k].cols());
  }
  const Eigen::MatrixXd& q = shown->trajectory.values[1];
  EXPECT_NEAR(q(0, 3), 0.2 * std::cos(12 * 3.14159265358979 / 180), 1e-12);
  EXPECT_NEAR(q(0, 4), 0.2 * std::sin(12 * 3.14159265358979 / 180), 1e-12);
  EXPECT_LT(q(q.rows() - 1, 3), q(0, 3));
}

TEST_F(DockingStudy, ShowsNoSimulationOfAnOverlappingStart) {
  const auto docking = evaluator({"--docking.distance=0.01"});
  EXPECT_THROW(docking->simulate(task(0.06)), ConfigError);
}

TEST_F(DockingStudy, StopsAtItsTimeLimit) {
  const auto docking = evaluator();
  Task late = task(0.05);
  late.deadline = std::chrono::steady_clock::now();
  const Outcome outcome = all_parts(*docking, late);
  EXPECT_EQ(outcome.evaluation.status, Status::timed_out);
  EXPECT_FALSE(outcome.evaluation.reason.empty());
}

TEST_F(DockingStudy, SaysWhatIsWrong) {
  EXPECT_EQ(complaint({}), "");
  EXPECT_NE(complaint({"--design.spacing.max=0.09"}).find("design.spacing.max"), std::string::npos);
  EXPECT_NE(complaint({"--design.spacing.min=0.02"}).find("overlap"), std::string::npos);
  EXPECT_NE(complaint({"--docking.least-bearing=70"}).find("docking.least-bearing"), std::string::npos);
  EXPECT_NE(complaint({"--docking.reference-spacing=0.2"}).find("docking.reference-spacing"), std::string::npos);
  const Outcome close =
      all_parts(*evaluator({"--docking.least-distance=0.01", "--docking.largest-distance=0.01"}), task(0.05));
  EXPECT_EQ(close.evaluation.status, Status::failed);
  EXPECT_NE(close.evaluation.reason.find("overlap"), std::string::npos);
}

TEST(WilsonInterval, IsThatOfTheTables) {
  const auto some = wilson_interval(10, 100);  // Brown, Cai and DasGupta (2001): 0.0552 to 0.1744
  EXPECT_NEAR(some[0], 0.0552, 5e-5);
  EXPECT_NEAR(some[1], 0.1744, 5e-5);
  for (const int n : {1, 7, 200})
    for (int k = 0; k <= n; ++k) {
      const auto a = wilson_interval(k, n), b = wilson_interval(n - k, n);
      EXPECT_GE(a[0], 0.0);
      EXPECT_LE(a[0], static_cast<double>(k) / n);
      EXPECT_GE(a[1], static_cast<double>(k) / n);
      EXPECT_LE(a[1], 1.0);
      EXPECT_NEAR(a[0], 1.0 - b[1], 1e-14);
      // its limits are where the score test just rejects: (p^ - p)^2 = z^2 p (1 - p)/n
      const double p = a[1], hat = static_cast<double>(k) / n;
      if (k < n) {
        EXPECT_NEAR((hat - p) * (hat - p), 1.959963984540054 * 1.959963984540054 * p * (1 - p) / n, 1e-13);
      }
    }
}

}  // namespace
}  // namespace dodyn::evaluators
