// Designs for which neighbours predict a lower cost are solved again, however the study is divided into runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "study/study.hpp"
#include "tests/directory.hpp"

namespace dodyn::study::test_resolve_again {
namespace {

// Two branches of local optima; the costs of the good one are lower by 0.5. An evaluation finds the good branch at
// x = 0.375, or by a warm start from a motion on the good branch. Otherwise it finds the bad one.
class TwoBranches : public Evaluator {
 public:
  std::vector<Quantity> metrics() const override { return {{"good", "1", "on the good branch"}}; }
  Channels channels() const override { return {{"branch", "1", "0: bad, 1: good", 1, {"branch"}}}; }
  bool has_gradients() const override { return true; }
  bool uses_warm_start() const override { return continues_; }
  int parts() const override { return parts_; }
  Outcome join(const Evaluation&, std::vector<Outcome> parts) const override {
    return std::move(*std::min_element(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
      return a.evaluation.cost < b.evaluation.cost;
    }));
  }
  Outcome evaluate(const Task& task) const override {
    Outcome outcome{task.evaluation, {}};
    Evaluation& e = outcome.evaluation;
    const double x = e.design(0);
    const bool warm = task.part == 0 && !task.warm_start.empty() && task.warm_start.values[0](0, 0) == 1.0;
    const bool good = warm || std::abs(x - 0.375) < 1e-9;
    ++performed;
    e.status = Status::ok;
    e.cost = 2.0 + (x - 0.3) * (x - 0.3) + (good ? 0.0 : 0.5);
    e.gradient = Eigen::VectorXd::Constant(1, 2.0 * (x - 0.3));
    e.metrics = Eigen::VectorXd::Constant(1, good);
    outcome.trajectory.values = {Eigen::MatrixXd::Constant(1, 1, good)};
    return outcome;
  }
  std::string report(const Outcome&) const override { return ""; }
  bool continues_ = true;
  int parts_ = 1;
  mutable int performed = 0;
};

class MendTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(config) << "[study]\nevaluator = testfunction\n[surrogate]\nstrategy = sweep\npoints = 9\n"
                             "[design]\nx.min = 0\nx.max = 1\n";
  }

  // Runs the study. Interrupts it after evaluation number `answers` + 1.
  Summary run(const std::string& archive, const TwoBranches& evaluator, int answers = 1000) {
    const Settings settings = evaluators::read_settings(config, {"--study.archive", directory + "/" + archive});
    const auto strategy = make_strategy(settings, evaluator);
    int left = answers;
    bool out = false;
    const auto farm = farm::make_local_farm([&](const Task& task) {
      out = --left < 0;
      Outcome outcome = evaluator.evaluate(task);
      outcome.part = task.part;
      return outcome;
    });
    return Study(
               settings, evaluator, *strategy, *farm, {}, [&] { return std::string(out ? "interrupted" : ""); },
               [](const Progress&) {})
        .run();
  }
  // Returns the last row of each design.
  std::map<double, Evaluation> rows(const std::string& archive) {
    std::map<double, Evaluation> found;
    for (const auto& row : archive::read(directory + "/" + archive).evaluations) found[row.design(0)] = row;
    return found;
  }

  const Directory own;
  const std::string directory = own.path.string();
  const std::string config = directory + "/f.cfg";
};

TEST_F(MendTest, AGoodBranchSpreadsToEveryNeighbour) {
  for (const int parts : {1, 3}) {
    TwoBranches evaluator;
    evaluator.parts_ = parts;
    const std::string archive = std::to_string(parts) + ".h5";
    const Summary summary = run(archive, evaluator);
    EXPECT_EQ(summary.ending, Ending::finished);
    const auto found = rows(archive);
    ASSERT_EQ(found.size(), 9u);
    EXPECT_GT(summary.resolved_again, 0);
    EXPECT_EQ(summary.evaluated - summary.resolved_again, 9);
    for (const auto& [x, row] : found) {
      EXPECT_EQ(row.metrics(0), 1.0) << x;
      EXPECT_NEAR(row.cost, 2.0 + (x - 0.3) * (x - 0.3), 1e-12);
    }
    EXPECT_NEAR(summary.best->cost, found.at(0.25).cost, 1e-12);
    EXPECT_FALSE(std::filesystem::exists(directory + "/" + archive + ".parts"));
    // no design is left to solve again
    const int before = evaluator.performed;
    EXPECT_TRUE(run(archive, evaluator).was_finished);
    EXPECT_EQ(evaluator.performed, before);
  }
}

TEST_F(MendTest, OnlyWhereAStartFromANeighbourMatters) {
  TwoBranches evaluator;
  evaluator.continues_ = false;
  run("a.h5", evaluator);
  EXPECT_EQ(evaluator.performed, 9);
  EXPECT_EQ(archive::read(directory + "/a.h5").evaluations.size(), 9u);
}

TEST_F(MendTest, CutShortAnywhereItIsTheSameStudy) {
  TwoBranches evaluator;
  run("whole.h5", evaluator);
  const auto whole = archive::read(directory + "/whole.h5");
  const auto expected = rows("whole.h5");
  for (int answers = 1; answers < evaluator.performed; answers += 2) {
    const std::string archive = "cut" + std::to_string(answers) + ".h5";
    TwoBranches again;
    run(archive, again, answers);
    EXPECT_EQ(run(archive, again).ending, Ending::finished);
    const auto found = rows(archive);
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [x, row] : found) {
      EXPECT_EQ(row.cost, expected.at(x).cost) << answers << ' ' << x;
      EXPECT_EQ(row.id, expected.at(x).id) << answers << ' ' << x;
    }
    EXPECT_EQ(archive::read(directory + "/" + archive).stopped, whole.stopped);
  }
}

}  // namespace
}  // namespace dodyn::study::test_resolve_again
