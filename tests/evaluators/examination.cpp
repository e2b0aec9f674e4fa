// The examination of gaits and motions, on both sides of each limit that docs/walkers.md states.
#include "evaluators/examination.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "evaluators/evaluator.hpp"
#include "systems/model.hpp"
#include "tests/directory.hpp"
#include "whole.hpp"

namespace dodyn::evaluators::test_examination {
namespace {

constexpr double degree = 3.14159265358979 / 180.0;

ExaminedQuantities plain_walk() {
  ExaminedQuantities walk;
  walk.smallest_knee_flexion = 0.0;
  walk.largest_knee_flexion = 1.2;
  walk.pull = -100.0;
  walk.foot_penetration = walk.scrape = 0.0;
  walk.foot_path = 1.0;
  walk.turn = 0.1;
  walk.work = 10.0;
  walk.balance = 0.0;
  walk.lift = 0.1;
  walk.overlap_text = "green and wall overlap";
  walk.largest_control = 20.0;
  return walk;
}

TEST(Examination, WhatIsSuspiciousIsSaidAndBeyondLimitsRefused) {
  EXPECT_TRUE(examine(plain_walk()).empty());
  EXPECT_TRUE(examine({}).empty());  // nothing applies
  using enum Finding::Severity;
  const struct {
    double ExaminedQuantities::*quantity;
    double fine, found;
    Finding::Severity severity;
    const char* words;
  } all[] = {
      {&ExaminedQuantities::smallest_knee_flexion, -1.9 * degree, -2.1 * degree, impossible,
       "folds the wrong way by 2 degrees"},
      {&ExaminedQuantities::largest_knee_flexion, 164 * degree, 240 * degree, impossible, "folds by 240 degrees"},
      {&ExaminedQuantities::pull, 0.0, 1.0, impossible, "pull with 1 N"},
      {&ExaminedQuantities::foot_penetration, 0.0009, 0.0011, suspicious,
       "0.0011 m under the ground between time steps"},
      {&ExaminedQuantities::foot_penetration, 0.0, 0.011, impossible, "0.011 m under the ground"},
      {&ExaminedQuantities::scrape, 0.09, 0.11, suspicious, "0.11 m of its way of 1.00 m are lower than 1 mm"},
      {&ExaminedQuantities::overlap, 9e-4, 1.1e-3, suspicious,
       "green and wall overlap, 0.11 % of the thinner one's width"},
      {&ExaminedQuantities::overlap, 0.0, 0.014, unresolved,
       "green and wall overlap, 1.4 % of the thinner one's width"},
      {&ExaminedQuantities::turn, 19 * degree, 21 * degree, suspicious, "turns by 21 degrees"},
      {&ExaminedQuantities::turn, 0.0, 61 * degree, unresolved, "turns by 61 degrees"},
      {&ExaminedQuantities::balance, -0.49, -0.51, suspicious, "differ by 0.51 J of 10 J"},
      {&ExaminedQuantities::balance, 0.49, 14.0, unresolved, "differ by 14 J of 10 J"},
      {&ExaminedQuantities::lift, 0.34, 0.7, suspicious, "lifts its foot by 0.70 m"},
      {&ExaminedQuantities::spike, 4.9, 5.1, suspicious, "in both neighbouring time steps by 5.1"},
  };
  for (const auto& each : all) {
    ExaminedQuantities walk = plain_walk();
    walk.*each.quantity = each.fine;
    EXPECT_TRUE(examine(walk).empty()) << each.words;
    walk.*each.quantity = each.found;
    const auto found = examine(walk);
    ASSERT_EQ(found.size(), 1u) << each.words;
    EXPECT_EQ(found[0].severity, each.severity) << found[0].words;
    EXPECT_NE(found[0].words.find(each.words), std::string::npos) << found[0].words;
  }
  ExaminedQuantities walk = plain_walk();
  walk.pulls_at_touch_down = true;
  walk.close_legs = 3;
  walk.leg_order_violations = 2;
  const auto found = examine(walk);
  ASSERT_EQ(found.size(), 3u);
  for (const auto& one : found) EXPECT_EQ(one.severity, impossible) << one.words;
}

TEST(Examination, JudgesWhatIsOkAlone) {
  const auto judged = [](Finding::Severity severity, bool rejects, Status status = Status::ok) {
    Evaluation e;
    e.status = status;
    e.reason = "warning: few starts";
    e.gradient = Eigen::VectorXd::Ones(1);
    judge({{severity, "it flies"}}, rejects, e);
    return e;
  };
  using enum Finding::Severity;
  EXPECT_EQ(judged(suspicious, true).status, Status::ok);
  EXPECT_EQ(judged(suspicious, true).reason, "warning: it flies; few starts");
  EXPECT_EQ(judged(impossible, true).status, Status::infeasible);
  EXPECT_EQ(judged(impossible, true).reason, "it flies; warning: few starts");
  EXPECT_EQ(judged(impossible, false).reason, "warning: it flies; few starts");
  EXPECT_EQ(judged(impossible, true).gradient.size(), 0);
  EXPECT_EQ(judged(impossible, false).status, Status::ok);
  EXPECT_EQ(judged(impossible, false).gradient.size(), 1);
  EXPECT_EQ(judged(unresolved, true).status, Status::not_converged);
  EXPECT_EQ(judged(unresolved, true, Status::timed_out).status, Status::timed_out);
  EXPECT_EQ(with_warning("a", ""), "warning: a");
}

TEST(Examination, ReasonsNameRefusalsBeforeWarnings) {
  using enum Finding::Severity;
  Evaluation e;
  e.status = Status::ok;
  judge({{suspicious, "it scrapes"}, {unresolved, "it turns far"}, {suspicious, "it flies"}}, true, e);
  EXPECT_EQ(e.status, Status::not_converged);
  EXPECT_EQ(e.reason, "it turns far; warning: it scrapes; it flies");
}

const char* const cart = R"([model]
dimension = 2
gravity = 10
[link cart]
parent = ground
joint = prismatic y
coordinates = height
mass = 2
[actuator push]
coordinate = height
[actuator brace]
coordinate = height
[actuator jet]
link = cart
force = 0, 4
[actuator limited]
coordinate = height
limit = 5
)";

// The reference of a mass of 2 kg that rises by 0.5 m in 2 s, at 0.3 m/s at most: its weight, 20 N, and the larger of
// 2 kg x 4 x 0.5 m/(2 s)^2 = 1 N and 2 kg x 2 x (0.3 m/s)^2/(0.5 m) = 0.72 N.
TEST(Examination, AnActuatorWithoutLimitIsComparedWithWeightAndMotion) {
  const systems::Model model = systems::read_model(cart, "cart.model");
  const auto tree = model.tree<double>(model.evaluate<double>().numbers);
  Eigen::MatrixXd q(3, 1), u(2, 4);
  q << 0.0, 0.3, 0.5;
  u << 1.0, 11500.0, 3.0, 5.0, -30.0, 0.0, 0.0, -5.0;
  const auto all = actuator_efforts(tree, Eigen::Vector3d(0.0, 1.0, 2.0), q, u, {true, false, true, true});
  ASSERT_EQ(all.size(), 3u);  // the fourth has a limit
  EXPECT_EQ(all[0].actuator, "push");
  EXPECT_EQ(all[0].largest, 30.0);
  EXPECT_NEAR(all[0].reference, 21.0, 1e-12);
  EXPECT_TRUE(all[0].has_cost);
  EXPECT_EQ(all[1].largest, 11500.0);
  EXPECT_FALSE(all[1].has_cost);
  EXPECT_NEAR(all[2].reference, 21.0 / 4.0, 1e-12);  // its control is a quarter of its force
  ExaminedQuantities motion;
  motion.actuator_efforts = all;
  const auto found = examine(motion);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].words,
            "actuator brace reaches 1.15e+04, 548 times the effort that weight and a steady motion need; it has no "
            "limit and no cost");
  motion.actuator_efforts[1].largest = 9.9 * 21.0;
  EXPECT_TRUE(examine(motion).empty());
  motion.actuator_efforts[0].largest = 99.0 * 21.0;  // at a cost
  EXPECT_TRUE(examine(motion).empty());
  motion.actuator_efforts[0].largest = 101.0 * 21.0;
  ASSERT_EQ(examine(motion).size(), 1u);
  EXPECT_EQ(examine(motion)[0].words,
            "actuator push reaches 2121, 101 times the effort that weight and a steady motion need; it has no limit");
  q(1, 0) = -2.0;  // to and fro at 2.5 m/s, over 2.5 m: 2 kg x 2 x 2.5^2/2.5 = 10 N
  EXPECT_NEAR(actuator_efforts(tree, Eigen::Vector3d(0.0, 1.0, 2.0), q, u, {true, false, true, true})[0].reference,
              30.0, 1e-12);
}

// The tracking error measures the mesh: where it is within the accuracy, a large turn is not suspicious.
TEST(Examination, ATurnIsNotSuspiciousWhereTheContinuousMotionIsNear) {
  ExaminedQuantities walk = plain_walk();
  walk.turn = 22 * degree;
  walk.accuracy = {0.05, 0.02, 30.0, "motion"};
  EXPECT_TRUE(examine(walk).empty());
  walk.accuracy.allowed = 0.0;  // any: nothing is compared
  EXPECT_EQ(examine(walk).size(), 1u);
  walk.accuracy = {0.05, not_a_number, 30.0, "motion"};
  EXPECT_EQ(examine(walk).size(), 1u);
  walk.accuracy.tracked = 0.02;
  walk.turn = 61 * degree;
  ASSERT_EQ(examine(walk).size(), 1u);
  EXPECT_EQ(examine(walk)[0].severity, Finding::Severity::unresolved);
}

// The reference of a control in a single time step is the largest control of its kind, or its limit if that is smaller.
TEST(Examination, AControlAloneIsComparedWithTheLargestOfItsKind) {
  const systems::Model model = systems::read_model(cart, "cart.model");
  const auto tree = model.tree<double>(model.evaluate<double>().numbers);
  Eigen::MatrixXd u = Eigen::MatrixXd::Zero(11, 4);  // two phases of 3 and 6 intervals
  u.col(0).setConstant(100.0);
  u(6, 1) = -20.0;
  u(4, 2) = u(3, 2) = 90.0;  // the beginning of a phase, and the row after the last interval
  const auto found = [&] {
    ExaminedQuantities motion;
    examine_controls(tree, u, {3, 6}, motion);
    return motion;
  };
  EXPECT_EQ(found().spike, 20.0);  // the only control of its actuator; 20 % of the largest force
  EXPECT_EQ(found().largest_control, 100.0);
  EXPECT_TRUE(examine(found()).empty());
  u(6, 1) = -30.0;
  ASSERT_EQ(examine(found()).size(), 1u);
  EXPECT_EQ(examine(found())[0].words, "a control exceeds its values in both neighbouring time steps by 30");
  u(6, 1) = -20.0;
  u(1, 3) = 4.0;  // its limit is 5
  ASSERT_EQ(examine(found()).size(), 1u);
  EXPECT_EQ(examine(found())[0].words, "a control exceeds its values in both neighbouring time steps by 4");
}

class Examinations : public testing::Test {
 protected:
  std::unique_ptr<Evaluator> study(const std::string& model, const std::string& text) const {
    std::ofstream(folder_ / "it.model") << model;
    std::ofstream(folder_ / "it.cfg") << text;
    return make_evaluator(read_settings(folder_ / "it.cfg", {}));
  }
  const Directory folder_;
};

const std::string lift = R"([study]
evaluator = motion
[motion]
model = it.model
initial-guesses = 1
[phase only]
intervals = 10
duration = 2
REQUIRE
[initial-state]
height = 0
rate(height) = 0
[goal]
height = 0.5
rate(height) = 0
[cost]
heat = u.push^2 + u.jet^2 + u.limited^2
)";

TEST_F(Examinations, AMotionIsWarnedOfAnActuatorWithoutLimitOrCost) {
  std::string text = lift;
  text.replace(text.find("REQUIRE"), 7, "require = u.brace >= 1000");
  const auto evaluator = study(cart, text);
  const Outcome outcome = evaluator->evaluate(task());
  ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
  EXPECT_TRUE(
      outcome.evaluation.reason.starts_with("warning: actuator brace reaches 1000, 47 times the effort that weight"))
      << outcome.evaluation.reason;
  EXPECT_EQ(outcome.evaluation.reason.find("actuator limited"), std::string::npos) << outcome.evaluation.reason;
  EXPECT_NE(evaluator->report(outcome).find("warnings\n  actuator brace reaches 1000"), std::string::npos)
      << evaluator->report(outcome);
}

// A control in a single time step is suspicious if the cost does not penalise it. A cost of squared control spreads it.
TEST_F(Examinations, AControlAloneIsNotSuspiciousAtLeastEffort) {
  std::string text = lift;
  text.replace(text.find("REQUIRE"), 7, "require = u.brace >= 240*exp(-((t - 1.05 s)/0.04 s)^2)");
  const Outcome free = study(cart, text)->evaluate(task());
  ASSERT_EQ(free.evaluation.status, Status::ok) << free.evaluation.reason;
  EXPECT_NE(free.evaluation.reason.find(" exceeds its values in both neighbouring time steps"), std::string::npos)
      << free.evaluation.reason;
  text.replace(text.find("heat = u.push^2 + u.jet^2 + u.limited^2"), 39, "squared-control = 1");
  const Outcome costly = study(cart, text)->evaluate(task());
  ASSERT_EQ(costly.evaluation.status, Status::ok) << costly.evaluation.reason;
  EXPECT_EQ(costly.evaluation.reason, "");
}

// The reason names a goal that the motion cannot reach: a force of 5 N does not lift a weight of 20 N.
TEST_F(Examinations, AMotionNamesWhatItMissesAndWhatIsAtItsLimit) {
  const std::string weak = std::string(cart).substr(0, std::string(cart).find("[actuator push]")) +
                           "[actuator limited]\ncoordinate = height\nlimit = 5\n";
  std::string text = lift;
  text.replace(text.find("REQUIRE"), 7, "");
  text.replace(text.find("u.push^2 + u.jet^2 + "), 21, "");
  const auto evaluator = study(weak, text);
  const Outcome outcome = evaluator->evaluate(task());
  EXPECT_NE(outcome.evaluation.status, Status::ok);
  EXPECT_NE(outcome.evaluation.reason.find(" is missed by "), std::string::npos) << outcome.evaluation.reason;
  EXPECT_NE(outcome.evaluation.reason.find("(at the limit: limited in "), std::string::npos)
      << outcome.evaluation.reason;
}

TEST_F(Examinations, AnImpossibleGaitNamesWhatItMisses) {
  const auto reason_of = [](const std::vector<std::string>& words) {
    std::vector<std::string> all = {"--gait.intervals",      "20", "--gait.initial-guesses", "2",
                                    "--gait.max-iterations", "100"};
    all.insert(all.end(), words.begin(), words.end());
    const auto evaluator = make_evaluator(read_settings(std::string(CONFIGS) + "/knee-motor.cfg", all));
    const Outcome outcome = evaluator->evaluate(task({0.459}));
    EXPECT_NE(outcome.evaluation.status, Status::ok);
    return outcome.evaluation.reason;
  };
  const std::string high = reason_of({"--gait.clearance", "0.9", "--gait.torque-limit", "5"});
  EXPECT_NE(high.find("gait.clearance by 0."), std::string::npos) << high;
  const std::string weak = reason_of({"--gait.torque-limit", "0.5"});
  EXPECT_NE(weak.find(" is missed by "), std::string::npos) << weak;
  EXPECT_NE(weak.find("(at the limit: stance_contact in "), std::string::npos) << weak;
}

}  // namespace
}  // namespace dodyn::evaluators::test_examination
