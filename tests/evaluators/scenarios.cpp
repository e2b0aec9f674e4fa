// Scenarios: the cost over all of them against each evaluated by itself, and its gradient against differences.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "evaluators/evaluator.hpp"
#include "settings/unused.hpp"
#include "whole.hpp"

namespace dodyn::evaluators::test_scenarios {
namespace {

Settings read(const std::string& text, const std::vector<std::string>& words = {}) {
  const std::string path =
      testing::TempDir() + "scenarios-" + testing::UnitTest::GetInstance()->current_test_info()->name() + ".cfg";
  std::ofstream(path) << text;
  const Settings settings = read_settings(path, words);
  std::filesystem::remove(path);
  return settings;
}

const std::string head = "[study]\nevaluator = testfunction\n[design]\nx.min = 0\nx.max = 1\ny = 0.2\n";
const std::string three =
    "[scenario bowl]\nweight = 2\nreference = 0.5\n[scenario far]\ny = 2\nreference = 4\n"
    "[scenario wavy]\nname = forrester\nsamples = 3\nnoise = 0.3\n";

Task task(double x) {
  Task t;
  t.evaluation.id = 4;
  t.evaluation.seed = 77;
  t.evaluation.design = Eigen::VectorXd::Constant(1, x);
  return t;
}

// Each by itself, as studies of their own.
struct Alone {
  Evaluation bowl, far, wavy;
};
Alone alone(double x) {
  const auto one = [&](const std::string& text) { return whole(*make_evaluator(read(text)), task(x)).evaluation; };
  std::string far = head, wavy = head;
  far.replace(far.find("y = 0.2"), 7, "y = 2");
  return {one(head), one(far), one(wavy + "[testfunction]\nname = forrester\nsamples = 3\nnoise = 0.3\n")};
}

TEST(Scenarios, TheMeanIsWeightedAndRelative) {
  const auto evaluator = make_evaluator(read(head + three));
  EXPECT_EQ(evaluator->parts(), 5);
  for (const double x : {0.1, 0.63, 0.9}) {
    const auto [bowl, far, wavy] = alone(x);
    const Outcome all = whole(*evaluator, task(x));
    const Evaluation& e = all.evaluation;
    ASSERT_EQ(e.status, Status::ok) << e.reason;
    EXPECT_NEAR(e.cost, (2 * bowl.cost / 0.5 + far.cost / 4 + wavy.cost) / 4, 1e-14);
    EXPECT_NEAR(e.gradient(0), (2 * bowl.gradient(0) / 0.5 + far.gradient(0) / 4 + wavy.gradient(0)) / 4, 1e-13);
    EXPECT_NEAR(e.cost_stderr, wavy.cost_stderr / 4, 1e-15);
    const auto metrics = evaluator->metrics();
    ASSERT_EQ(e.metrics.size(), metrics.size());
    ASSERT_EQ(metrics.size(), 9u);
    EXPECT_EQ(evaluator->report(all).find("length of gradient"), std::string::npos);  // each one's is not stored
    EXPECT_EQ(metrics[0].name, "bowl:cost");
    EXPECT_EQ(metrics[4].name, "far:slope");
    EXPECT_EQ(e.metrics(0), bowl.cost);
    EXPECT_EQ(e.metrics(3), far.cost);
    EXPECT_EQ(e.metrics(6), wavy.cost);
    EXPECT_EQ(e.metrics(4), far.metrics(0));
  }
}

TEST(Scenarios, TheWorstIsOneOfThem) {
  const auto evaluator = make_evaluator(read(head + three, {"--study.scenario-aggregate", "worst"}));
  int which[3] = {};
  for (double x = 0; x < 1; x += 0.1) {
    const auto [bowl, far, wavy] = alone(x);
    const double costs[] = {bowl.cost / 0.5, far.cost / 4, wavy.cost};
    const double slopes[] = {bowl.gradient(0) / 0.5, far.gradient(0) / 4, wavy.gradient(0)};
    const auto worst = std::max_element(costs, costs + 3) - costs;
    ++which[worst];
    const Evaluation e = whole(*evaluator, task(x)).evaluation;
    EXPECT_NEAR(e.cost, costs[worst], 1e-14);
    EXPECT_NEAR(e.gradient(0), slopes[worst], 1e-13);
  }
  EXPECT_GT(which[1], 0);
  EXPECT_GT(which[2], 0);
}

// Settings without effect: weights where costs are not added, and settings that every scenario replaces. A setting that
// one scenario uses has an effect.
TEST(Scenarios, SettingsWithoutEffectAreNoted) {
  const auto notes = [](const std::string& text, const std::vector<std::string>& words = {}) {
    std::string all;
    for (const std::string& line : notes_on_unused(read(text, words)))
      all += line.substr(line.find("note: ") + 6) + "\n";
    return all.substr(all.empty() ? 0 : all.find(".cfg") + 4);
  };
  EXPECT_EQ(notes(head + three), "");
  EXPECT_EQ(notes(head + three, {"--study.scenario-aggregate", "worst"}),
            ":8: scenario.bowl.weight = 2 is not used: study.scenario-aggregate = worst\n");
  EXPECT_EQ(notes(head + three, {"--study.scenarios", "bowl"}),
            ":8: scenario.bowl.weight = 2 is not used: there is one scenario\n");
  EXPECT_EQ(notes(head + "[scenario a]\ny = 1\n[scenario b]\ny = 2\n"),
            ":6: design.y = 0.2 is not used: every scenario gives it\n");
  EXPECT_EQ(notes(head + "[scenario a]\ny = 1\n[scenario b]\n"), "");
  EXPECT_THROW(read(head + three, {"--study.scenarios", "bowl, bowl"}), ConfigError);
}

// Each scenario starts from the parent's motion in the same scenario.
TEST(Scenarios, EachHasItsMotion) {
  const auto evaluator = make_evaluator(read(head + three));
  const Outcome parent = whole(*evaluator, task(0.25));
  const auto channels = evaluator->channels();
  ASSERT_EQ(channels.size(), 9u);
  ASSERT_EQ(parent.trajectory.values.size(), 9u);
  EXPECT_EQ(channels[4].name, "far:q");
  EXPECT_EQ(parent.trajectory.values[4](10, 1), 2.0);  // y of this scenario
  EXPECT_EQ(parent.trajectory.values[1](10, 1), 0.2);
  Task t = task(0.5);
  t.warm_start = parent.trajectory;
  for (Eigen::Index i = 0; i < 11; ++i) t.warm_start.values[4](i, 0) = 0.75;
  t.warm_start.values[6].setConstant(not_a_number);
  t.warm_start.values[7].setConstant(not_a_number);
  t.warm_start.values[8].setConstant(not_a_number);
  const Eigen::VectorXd metrics = whole(*evaluator, t).evaluation.metrics;
  EXPECT_EQ(metrics(2), 0.25);
  EXPECT_EQ(metrics(5), 0.75);
  EXPECT_EQ(metrics(8), 0.5);  // had none
}

TEST(Scenarios, OneThatFailsFailsTheDesign) {
  const auto evaluator = make_evaluator(
      read(head + "[scenario all]\n[scenario some]\nfail-above = 0.5\n[scenario few]\nfail-above = 0.4\n"));
  EXPECT_EQ(whole(*evaluator, task(0.3)).evaluation.status, Status::ok);
  const Outcome bad = whole(*evaluator, task(0.45));
  EXPECT_EQ(bad.evaluation.status, Status::failed);
  EXPECT_TRUE(bad.evaluation.reason.starts_with("few: x = 0.45 is above")) << bad.evaluation.reason;
  EXPECT_TRUE(std::isnan(bad.evaluation.cost));
  EXPECT_EQ(bad.evaluation.gradient.size(), 0);
  EXPECT_TRUE(std::isfinite(bad.evaluation.metrics(0)));  // what was found is kept
  EXPECT_TRUE(std::isnan(bad.evaluation.metrics(6)));
  ASSERT_EQ(bad.trajectory.values.size(), 9u);
  EXPECT_TRUE(bad.trajectory.values[3].allFinite());
  EXPECT_TRUE(bad.trajectory.values[6].array().isNaN().all());
  const std::string report = evaluator->report(bad);
  EXPECT_NE(report.find("scenario few: cost nan"), std::string::npos) << report;
}

// A design that is infeasible in one scenario is infeasible, whatever the other scenarios give.
TEST(Scenarios, AnInfeasibleOneSettlesIt) {
  const auto evaluator = make_evaluator(read(head + "[scenario a]\n[scenario b]\n[scenario c]\n"));
  std::vector<Outcome> parts(3);
  const Status statuses[] = {Status::timed_out, Status::infeasible, Status::not_converged};
  for (std::size_t i = 0; i < 3; ++i) {
    parts[i].evaluation.status = statuses[i];
    parts[i].evaluation.reason = std::string(to_string(statuses[i]));
  }
  const Outcome all = evaluator->join(task(0.5).evaluation, parts);
  EXPECT_EQ(all.evaluation.status, Status::infeasible);
  EXPECT_EQ(all.evaluation.reason, "b: infeasible; a: timed_out; c: not_converged");
  EXPECT_TRUE(all.trajectory.empty());
}

// A single scenario gives the result of the evaluator itself, relative to its reference.
TEST(Scenarios, OneAlone) {
  const auto evaluator = make_evaluator(read(head + three, {"--study.scenarios", "far"}));
  EXPECT_EQ(evaluator->parts(), 1);
  const Outcome one = evaluator->evaluate(task(0.4));
  EXPECT_NEAR(one.evaluation.cost, alone(0.4).far.cost / 4, 1e-15);
  EXPECT_EQ(one.trajectory.values.size(), 3u);
}

// Gaits at three speeds and on a slope: the gradient of the mean against differences of re-solved gaits.
TEST(Scenarios, GradientOfGaitsIsTheSlopeOfTheCost) {
  const std::string text =
      "[study]\nevaluator = gait\n[design]\nknee.min = 0.3\nknee.max = 0.65\nmotor.min = 1\nmotor.max = 3\nperiod = "
      "0.8\n"
      "[gait]\nmodel = motor-biped\nintervals = 16\ninitial-guesses = 3\nshifts = 0\ntolerance = 1e-10\ncontact = "
      "friction-cone\n"
      "clearance = 3 cm\njoint-speed-limit = 15\n"
      "[scenario slow]\nstep-length = 0.4\nreference = 0.03\n[scenario fast]\nweight = 2\nstep-length = 0.6\n"
      "[scenario up]\nstep-length = 0.5\nslope = 1 deg\n";
  const Eigen::Vector2d at(0.45, 1.6);
  for (const std::string across : {"mean", "worst"}) {
    const auto evaluator = make_evaluator(read(text, {"--study.scenario-aggregate", across}));
    Task middle_task = task(0);
    middle_task.evaluation.design = at;
    const Outcome middle = whole(*evaluator, middle_task);
    ASSERT_EQ(middle.evaluation.status, Status::ok) << middle.evaluation.reason;
    for (int variable = 0; variable < 2; ++variable) {
      const auto cost = [&](double shift) {
        Task t = middle_task;
        t.evaluation.design(variable) += shift;
        t.warm_start = middle.trajectory;
        return whole(*evaluator, t).evaluation.cost;
      };
      const double h = variable ? 4e-3 : 1e-3;
      const double slope = (8 * (cost(h) - cost(-h)) - (cost(2 * h) - cost(-2 * h))) / (12 * h);
      EXPECT_NEAR(middle.evaluation.gradient(variable), slope, 1e-5 * std::abs(slope)) << across << ' ' << variable;
    }
  }
}

// On a slope a step takes the work that lifts the body. The weight is the same as on level ground.
TEST(Scenarios, WalkingUphillTakesTheWeightsWork) {
  const std::string text =
      "[study]\nevaluator = gait\n[design]\nstep-length = 0.5\nperiod = 0.8\n[gait]\nmodel = motor-biped\n"
      "intervals = 40\ninitial-guesses = 1\nshifts = 0\ncontact = friction-cone\nclearance = 3 cm\njoint-speed-limit = "
      "15\n";
  const auto energy = [&](const std::string& slope) {
    const auto evaluator = make_evaluator(read(text, {"--design.slope", slope}));
    Task t = task(0);
    t.evaluation.design.resize(0);
    const Outcome outcome = evaluator->evaluate(t);
    EXPECT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
    const auto metrics = evaluator->metrics();
    const auto metric = [&](const std::string& name) {
      return outcome.evaluation.metrics(
          std::find_if(metrics.begin(), metrics.end(), [&](const auto& m) { return m.name == name; }) -
          metrics.begin());
    };
    // 10 kg of hip, two legs of 2 kg, two motors of 1.5 kg, two feet of 0.3 kg
    const double weight = (10 + 2 * (2 + 1.5 + 0.3)) * 9.81;
    EXPECT_NEAR(outcome.evaluation.cost, metric("squared_torque") / (weight * 0.5), 1e-9);
    return metric("signed_work") - metric("impact_loss") - weight * 0.5 * std::sin(std::stod(slope));
  };
  for (const char* slope : {"0.05", "0", "-0.03"}) EXPECT_NEAR(energy(slope), 0.0, 0.02) << slope;
}

}  // namespace
}  // namespace dodyn::evaluators::test_scenarios
