// Gaits driven through the contact simulation.
#include <gtest/gtest.h>

#include <Eigen/LU>
#include <random>

#include "evaluators/evaluator.hpp"
#include "evaluators/gait/design.hpp"
#include "evaluators/motion/design.hpp"
#include "evaluators/motion/trajectory.hpp"
#include "evaluators/rollout/feedback.hpp"
#include "evaluators/rollout/rollout.hpp"
#include "whole.hpp"

namespace dodyn::evaluators::test_replay {
namespace {

Settings shipped(const std::string& config, std::vector<std::string> words) {
  return read_settings(std::string(CONFIGS) + "/" + config, words);
}

// A gait of a shipped study, with everything that a rollout needs.
struct Found {
  explicit Found(const Settings& settings) : designs(settings) {
    const auto evaluator = make_evaluator(settings);
    outcome = evaluator->evaluate(task());
    loss = metric(*evaluator, outcome, "impact_loss");
  }
  PlannedMotion motion() const { return planned(designs, outcome, loss); }
  Rollout in_contact(const PlannedMotion& motion, const RolloutSettings& settings = {}) const {
    return rollout(designs.walker().system->model(), designs.plain(outcome.evaluation.design), motion, settings);
  }
  GaitDesigns designs;
  Outcome outcome;
  double loss = 0.0;
};

// `feedback`: how large its corrections may be, of the largest control.
void expect_touch_down_as_planned(const Found& found, double loss, double feedback = 0.05) {
  ASSERT_EQ(found.outcome.evaluation.status, Status::ok) << found.outcome.evaluation.reason;
  const PlannedMotion motion = found.motion();
  const Rollout seen = found.in_contact(motion);
  ASSERT_EQ(seen.failure, "");
  ASSERT_EQ(seen.landings.size(), 1u);
  const auto& landing = seen.landings.front();
  EXPECT_LT(std::abs(landing.time - landing.planned_time), motion.phases.front().interval);
  EXPECT_LT(landing.miss(), 1e-3);
  EXPECT_NEAR(landing.loss, motion.loss, loss * motion.loss);
  EXPECT_GT(landing.impulse, 0.0);
  double largest = motion.phases.front().u.cwiseAbs().maxCoeff();
  EXPECT_LT(seen.correction, feedback * largest);
}

TEST(Rollout, APlanarGaitTouchesDownWhenAndWhereItShould) {
  const Found found(shipped("knee-motor.cfg", {"--design.knee=0.46", "--gait.initial-guesses=2"}));
  expect_touch_down_as_planned(found, 0.01);
}

// No torque at the foot; on a coarser mesh.
TEST(Rollout, SoDoesAnUnderactuatedOne) {
  const Found found(shipped("hip-spring.cfg", {"--design.stiffness=20", "--design.rest=0.1", "--gait.initial-guesses=4",
                                               "--gait.intervals=40", "--gait.coarse-intervals=0"}));
  expect_touch_down_as_planned(found, 0.05);
}

TEST(Rollout, SoDoesASpatialOne) {
  const Found found(shipped("knee-spatial.cfg",
                            {"--design.knee=0.5", "--gait.initial-guesses=4", "--gait.tasks=1", "--gait.shifts=0"}));
  expect_touch_down_as_planned(found, 0.02, 0.08);  // its hips come to the ends of their ranges, where stops push, too
}

// If the friction cone was a constraint of the gait, the contact at the stance foot exerts the forces of the
// constraint.
TEST(Rollout, AFootStandsByContactWhereTheConeWasKept) {
  const Found found(shipped("knee-torso.cfg", {"--design.knee=0.4", "--gait.initial-guesses=2", "--gait.tasks=1"}));
  ASSERT_EQ(found.outcome.evaluation.status, Status::ok) << found.outcome.evaluation.reason;
  const PlannedMotion motion = found.motion();
  RolloutSettings settings;
  settings.stance = RolloutSettings::Stance::contact;
  const Rollout seen = found.in_contact(motion, settings);
  ASSERT_EQ(seen.failure, "");
  EXPECT_LT(seen.slip, 2e-3);
  EXPECT_LT(std::abs(seen.landings.front().time - seen.landings.front().planned_time), motion.phases[0].interval);
  EXPECT_LT(seen.landings.front().miss(), 5e-3);
  settings.friction = 0.02;  // on ice it does not
  const Rollout on_ice = found.in_contact(motion, settings);
  EXPECT_TRUE(!on_ice.failure.empty() || on_ice.slip > 0.05) << on_ice.slip;
}

// A hop: stance on a joint, flight, and the foot comes down a stride ahead.
TEST(Rollout, AHopLandsWhenAndWhereItShould) {
  const Settings settings = shipped("hopper.cfg", {"--design.leg_stiffness=2000", "--motion.initial-guesses=6"});
  const MotionDesigns designs(settings);
  const auto evaluator = make_evaluator(settings);
  const Outcome outcome = evaluator->evaluate(task());
  ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
  const PlannedMotion motion = planned(designs, outcome, metric(*evaluator, outcome, "impact_loss"));
  ASSERT_EQ(motion.phases.size(), 2u);
  const Rollout seen =
      rollout(designs.system().model(), designs.plain(outcome.evaluation.design), motion, RolloutSettings{});
  ASSERT_EQ(seen.failure, "");
  ASSERT_EQ(seen.landings.size(), 1u);
  const auto& landing = seen.landings.front();
  EXPECT_LT(std::abs(landing.time - landing.planned_time), motion.phases[1].interval);
  EXPECT_LT(landing.miss(), 1e-3);
  EXPECT_NEAR(landing.planned_place[0], 0.4, 1e-9);
  EXPECT_NEAR(landing.loss, motion.loss, 0.05 * motion.loss + 1e-3);
}

// Without feedback the torques alone: they act when they should, so one interval's shift shows at once.
TEST(Rollout, TorquesActInTheirIntervals) {
  const Found found(
      shipped("knee-motor.cfg", {"--design.knee=0.46", "--gait.initial-guesses=2", "--rollout.feedback=none"}));
  ASSERT_EQ(found.outcome.evaluation.status, Status::ok);
  RolloutSettings settings;
  settings.feedback = RolloutSettings::Feedback::none;
  const auto off = [&](const PlannedMotion& motion) {
    const Rollout seen = found.in_contact(motion, settings);
    EXPECT_EQ(seen.correction, 0.0);
    const auto& t = seen.trajectory.values[0];
    const auto& q = seen.trajectory.values[1];
    for (Eigen::Index row = 0; row < t.rows(); ++row)
      if (std::abs(t(row, 0) - 0.1) < 1e-9) return (q.row(row) - found.outcome.trajectory.values[1].row(10)).norm();
    return not_a_number;
  };
  const PlannedMotion motion = found.motion();
  PlannedMotion late = motion;
  auto& u = late.phases[0].u;
  u.bottomRows(u.rows() - 1) = Eigen::MatrixXd(u.topRows(u.rows() - 1));
  EXPECT_LT(off(motion), 2e-3);
  EXPECT_GT(off(late), 5.0 * off(motion));
}

// The recursion against the linear system of all optimality conditions at once.
TEST(Rollout, TheRegulatorSolvesItsQuadraticProgram) {
  std::mt19937_64 random(4);
  std::normal_distribution<double> normal;
  const auto matrix = [&](int rows, int columns) {
    return Eigen::MatrixXd(Eigen::MatrixXd::NullaryExpr(rows, columns, [&] { return normal(random); }));
  };
  constexpr int n = 4, m = 2, K = 6;
  std::vector<LinearInterval> intervals;
  for (int k = 0; k < K; ++k) intervals.push_back({matrix(n, n), matrix(n, m), matrix(n, 1)});
  const Eigen::VectorXd Q = matrix(n, 1).cwiseAbs().array() + 0.1, R = matrix(m, 1).cwiseAbs().array() + 0.1;
  const double last = 7.0;
  const auto feedback = regulator(intervals, Q, R, last);

  // unknowns: u_k, x_k+1, multipliers of the dynamics
  const Eigen::VectorXd start = matrix(n, 1);
  const int size = K * (m + 2 * n);
  const auto u = [](int k) { return k * m; };
  const auto x = [](int k) { return K * m + (k - 1) * n; };  // k = 1 ... K
  const auto row = [](int k) { return K * (m + n) + k * n; };
  Eigen::MatrixXd system = Eigen::MatrixXd::Zero(size, size);
  Eigen::VectorXd right = Eigen::VectorXd::Zero(size);
  for (int k = 0; k < K; ++k) {
    system.block(u(k), u(k), m, m).diagonal() = R;
    system.block(x(k + 1), x(k + 1), n, n).diagonal() = k + 1 == K ? Eigen::VectorXd(last * Q) : Q;
    system.block(row(k), x(k + 1), n, n).diagonal().setConstant(-1.0);
    system.block(row(k), u(k), n, m) = intervals[k].B;
    right.segment(row(k), n) = -intervals[k].r;
    if (k > 0)
      system.block(row(k), x(k), n, n) = intervals[k].A;
    else
      right.segment(row(k), n) -= intervals[k].A * start;
  }
  system.topRightCorner(K * (m + n), K * n) = system.bottomLeftCorner(K * n, K * (m + n)).transpose();
  const Eigen::VectorXd solution = system.fullPivLu().solve(right);
  Eigen::VectorXd state = start;
  for (int k = 0; k < K; ++k) {
    const Eigen::VectorXd control = -feedback[k].gain * state - feedback[k].ahead;
    EXPECT_LT((control - solution.segment(u(k), m)).norm(), 1e-9 * (1.0 + control.norm())) << k;
    state = intervals[k].A * state + intervals[k].B * control + intervals[k].r;
  }
}

}  // namespace
}  // namespace dodyn::evaluators::test_replay
