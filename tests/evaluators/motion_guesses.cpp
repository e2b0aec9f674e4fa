// Initial guesses from simulations under random controls.
#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>
#include <numbers>

#include "evaluators/continuous.hpp"
#include "evaluators/motion/design.hpp"
#include "written.hpp"

namespace dodyn::evaluators::test_motion_guesses {
namespace {

using Eigen::VectorXd;

const std::string acrobot = R"(
[model]
dimension = 2
gravity = 9.81
[link upper]
parent = ground
joint = revolute
coordinates = shoulder
end = 0, -0.5
[link lower]
parent = upper
joint = revolute
coordinates = elbow
[mass middle]
link = upper
at = 0, -0.5
mass = 1
[mass tip]
link = lower
at = 0, -0.5
mass = 1
[actuator elbow]
coordinate = elbow
)";
const std::string swing = R"(
[phase swing]
intervals = 40
duration = 2
[initial-state]
shoulder = 0.1
elbow = -0.2
momentum = 0
[goal]
shoulder = pi
elbow = 0
momentum = 0
[cost]
squared-control = 1
)";

MotionDesigns designs(const std::string& model, const std::string& order = "2") {
  const std::filesystem::path file = written_study(model, own_model + "order = " + order + "\n" + swing);
  MotionDesigns read(read_settings(file.string(), {}));
  std::filesystem::remove_all(file.parent_path());
  return read;
}
const VectorXd none(0);

// The acrobot's shoulder has no actuator: no controls make a random path. The guess leads from the start to the goal.
// It differs from the motion under its controls by a constant velocity.
TEST(MotionGuesses, AMachineNearlyMakesADrivenGuess) {
  for (const int order : {2, 4}) {
    const MotionDesigns acrobots = designs(acrobot, std::to_string(order));
    for (const int number : {1, 3, 5, 7}) {
      const MotionPath driven = acrobots.initial_guess(none, 11, number);
      ASSERT_EQ(driven.controls.size(), 1u);
      const Eigen::MatrixXd& q = driven.q.front();
      const Eigen::Index last = q.rows() - 1;
      EXPECT_NEAR(q(0, 0), 0.1, 1e-12);
      EXPECT_NEAR(q(0, 1), -0.2, 1e-12);
      EXPECT_NEAR(q(last, 0), std::numbers::pi, 1e-12);
      EXPECT_NEAR(q(last, 1), 0.0, 1e-12);
      PlannedPhase phase;
      phase.interval = 2.0 / 40;
      phase.order = order;
      phase.q = q;
      phase.p = Eigen::MatrixXd::Zero(q.rows(), 2);
      phase.u = driven.controls.front();
      const auto motion =
          simulate_controls(acrobots.system(), acrobots.plain(none).numbers, {phase}, VectorXd::Zero(2));
      ASSERT_EQ(motion.size(), 1u);
      const Eigen::MatrixXd drift = q - motion.front();
      for (Eigen::Index k = 0; k <= last; ++k) {
        const double share = acrobots.system().scheme().position(k) / 40;
        EXPECT_LT((drift.row(k) - share * drift.row(last)).cwiseAbs().maxCoeff(), 1e-9) << order << ' ' << number;
      }
    }
  }
}

// The motion under the guess's controls, by the acrobot's own equations and the method of Runge and Kutta: two point
// masses of 1 kg at rods of 0.5 m, angles from hanging down, the second relative to the first.
TEST(MotionGuesses, ADrivenGuessObeysEquationsWrittenByHand) {
  const MotionDesigns acrobots = designs(acrobot);
  const auto slope = [](const Eigen::Vector4d& z, double u) -> Eigen::Vector4d {
    const double l = 0.5, g = 9.81, c = std::cos(z(1)), s = std::sin(z(1));
    Eigen::Matrix2d M;
    M << l * l * (3 + 2 * c), l * l * (1 + c), l * l * (1 + c), l * l;
    const Eigen::Vector2d coriolis(l * l * s * (2 * z(2) * z(3) + z(3) * z(3)), -l * l * s * z(2) * z(2)),
        weight(-g * l * (2 * std::sin(z(0)) + std::sin(z(0) + z(1))), -g * l * std::sin(z(0) + z(1)));
    Eigen::Vector4d rate;
    rate << z.tail<2>(), M.inverse() * (coriolis + weight + Eigen::Vector2d(0, u));
    return rate;
  };
  for (const int number : {1, 3}) {
    const MotionPath driven = acrobots.initial_guess(none, 11, number);
    const Eigen::MatrixXd& q = driven.q.front();
    Eigen::MatrixXd motion(41, 2);
    Eigen::Vector4d z(0.1, -0.2, 0, 0);
    motion.row(0) = z.head<2>().transpose();
    constexpr int steps = 200;
    constexpr double h = 2.0 / 40 / steps;
    for (int k = 0; k < 40; ++k) {
      const double u = driven.controls.front()(k, 0);
      for (int i = 0; i < steps; ++i) {
        const Eigen::Vector4d k1 = slope(z, u), k2 = slope(z + 0.5 * h * k1, u), k3 = slope(z + 0.5 * h * k2, u),
                              k4 = slope(z + h * k3, u);
        z += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
      }
      motion.row(k + 1) = z.head<2>().transpose();
    }
    const Eigen::MatrixXd drift = q - motion;
    for (Eigen::Index k = 0; k <= 40; ++k)
      EXPECT_LT((drift.row(k) - static_cast<double>(k) / 40 * drift.row(40)).cwiseAbs().maxCoeff(), 0.01) << number;
  }
}

// With an actuator at each joint, the controls can follow any path, so nothing is simulated.
TEST(MotionGuesses, APathThatActuatorsFollowIsAGuess) {
  const MotionDesigns arms = designs(acrobot + "[actuator shoulder]\ncoordinate = shoulder\n");
  for (const int number : {1, 3, 5}) EXPECT_TRUE(arms.initial_guess(none, 11, number).controls.empty());
}

TEST(MotionGuesses, ADrivenGuessStaysInTheRangesOfJoints) {
  const MotionDesigns acrobots = designs(acrobot + "[joint-limit elbow]\ncoordinate = elbow\nfrom = -0.3\nto = 0.4\n");
  for (const int number : {1, 3, 5}) {
    const MotionPath driven = acrobots.initial_guess(none, 11, number);
    EXPECT_FALSE(driven.controls.empty());
    EXPECT_GE(driven.q.front().col(1).minCoeff(), -0.3);
    EXPECT_LE(driven.q.front().col(1).maxCoeff(), 0.4);
  }
}

// Twice the same guess.
TEST(MotionGuesses, TheSeedDeterminesADrivenGuess) {
  const MotionDesigns acrobots = designs(acrobot);
  const auto end = [&](std::uint64_t seed) { return acrobots.initial_guess(none, seed, 1).q.front().row(20).eval(); };
  EXPECT_EQ(end(11), end(11));
  EXPECT_NE(end(11), end(12));
}

}  // namespace
}  // namespace dodyn::evaluators::test_motion_guesses
