// Plans simulated with the continuous equations of motion, against closed forms. tests/evaluators/continuous.py
// compares with scipy.
#include "evaluators/continuous.hpp"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <cmath>
#include <fstream>
#include <limits>
#include <tuple>

#include "evaluators/evaluator.hpp"
#include "evaluators/refinement.hpp"
#include "systems/model.hpp"
#include "tests/directory.hpp"
#include "tests/message_of.hpp"
#include "whole.hpp"

namespace dodyn::evaluators::test_continuous {
namespace {

class Continuous : public testing::Test {
 protected:
  std::unique_ptr<Evaluator> study(const std::string& model, const std::string& text) const {
    std::ofstream(folder_ / "it.model") << model;
    std::ofstream(folder_ / "it.cfg")
        << "[study]\nevaluator = motion\n[motion]\nmodel = it.model\ninitial-guesses = 1\n"
        << text;
    return make_evaluator(read_settings(folder_ / "it.cfg", {}));
  }
  const Directory folder_;
};

const std::string mass = R"([model]
dimension = 2
gravity = 0
[link body]
parent = ground
joint = prismatic x
coordinates = s
mass = 1.3
[actuator push]
coordinate = s
)";
std::string rest_to_rest(int intervals) {
  return "[phase only]\nintervals = " + std::to_string(intervals) +
         "\nduration = 2\n[initial-state]\ns = 0\nmomentum = 0\n[goal]\ns = 1\nrate(s) = 0\n[cost]\nsquared-control = "
         "1\n";
}

// Without a potential, differences with constant forces are exact.
TEST_F(Continuous, AFreeMassGoesAsItsDifferences) {
  const auto evaluator = study(mass, rest_to_rest(10));
  const Outcome outcome = evaluator->evaluate(task());
  ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
  EXPECT_LE(metric(*evaluator, outcome, "max_deviation"), 1e-8);
}

// On a spring: x = xs + (x0 - xs) cos wt + v0/w sin wt about xs = u/k, interval by interval. The deviation falls with
// h^2.
TEST_F(Continuous, AMassOnASpringGoesAsItsClosedForm) {
  double before = 0.0;
  for (const int K : {10, 20, 40}) {
    const auto evaluator = study(mass + "[spring it]\ncoordinate = s\nstiffness = 30\n", rest_to_rest(K));
    const Outcome outcome = evaluator->evaluate(task());
    ASSERT_TRUE(outcome.evaluation.metrics.size() > 0) << outcome.evaluation.reason;
    const auto &q = outcome.trajectory.values[1], &p = outcome.trajectory.values[2], &u = outcome.trajectory.values[3];
    const double w = std::sqrt(30.0 / 1.3), h = 2.0 / K, c = std::cos(w * h), s = std::sin(w * h);
    double x = q(0, 0), v = p(0, 0) / 1.3, largest = 0.0;
    for (int k = 0; k < K; ++k) {
      const double middle = u(k, 0) / 30.0, far = x - middle;
      x = middle + far * c + v / w * s;
      v = -far * w * s + v * c;
      largest = std::max(largest, std::abs(x - q(k + 1, 0)));
    }
    const double end = std::abs(x - q(K, 0));
    EXPECT_NEAR(metric(*evaluator, outcome, "end_error"), end, 1e-7);
    EXPECT_NEAR(metric(*evaluator, outcome, "max_deviation"), largest, 1e-7);
    EXPECT_GT(largest, 1e-4);
    if (K > 10) {
      EXPECT_NEAR(before / largest, 4.0, 1.5) << K;
    }
    before = largest;
  }
}

// A top that spins freely in space: attitudes against a Runge-Kutta integration of Euler's equations here. It turns by
// several radians, through any one chart's end.
TEST_F(Continuous, AFreeTopTurnsAsEulersEquationsSay) {
  const char* const top = R"([model]
dimension = 3
gravity = 0
[link top]
parent = ground
joint = spatial ZXY
mass = 2
inertia = 0.3, 0.2, 0.1
)";
  const systems::Model model = systems::read_model(top, "top.model");
  const dmoc::System system(model, true);
  const Eigen::Vector3d inertia(0.3, 0.2, 0.1), spin(0.4, 3.0, 0.2);  // rad/s, about nearly the unstable axis
  Eigen::Matrix3d R = Eigen::Matrix3d::Identity();
  Eigen::Vector3d w = spin;
  const int K = 40, fine = 2000;
  const double h = 0.05;
  PlannedPhase phase;
  phase.interval = h;
  phase.q = Eigen::MatrixXd::Zero(K + 1, 6);
  phase.u = Eigen::MatrixXd::Zero(K, 0);
  phase.p = Eigen::MatrixXd::Zero(K + 1, 6);
  phase.p.row(0) << 2.0, 0.0, 0.0, 0.3 * spin(0), 0.2 * spin(1), 0.1 * spin(2);  // along the world's axes
  phase.p.rowwise() = Eigen::RowVectorXd(phase.p.row(0));                        // which nothing changes
  const auto euler = [&](const Eigen::Vector3d& at) -> Eigen::Vector3d {
    return inertia.cwiseInverse().asDiagonal() * Eigen::Vector3d(inertia.cwiseProduct(at).cross(at));
  };
  for (int k = 0; k < K; ++k) {
    for (int i = 0; i < fine; ++i) {
      const double d = h / fine;
      const Eigen::Vector3d a = euler(w), b = euler(w + 0.5 * d * a), c = euler(w + 0.5 * d * b), e = euler(w + d * c);
      const Eigen::Vector3d middle = w + 0.5 * d * b;  // second order in attitude: 1e-9 at this step
      R = R * Eigen::AngleAxisd(d * middle.norm(), middle.normalized()).toRotationMatrix();
      w += d / 6.0 * (a + 2.0 * b + 2.0 * c + e);
    }
    // angles of turns about z, x and y: R = Rz Rx Ry
    phase.q(k + 1, 0) = 1.0 * h * (k + 1);
    phase.q(k + 1, 3) = std::atan2(-R(0, 1), R(1, 1));
    phase.q(k + 1, 4) = std::asin(R(2, 1));
    phase.q(k + 1, 5) = std::atan2(-R(2, 0), R(2, 2));
  }
  const auto numbers = model.evaluate<double>().numbers;
  const Deviation deviation = drive_continuously(system, numbers, {phase});
  EXPECT_LE(deviation.largest, 1e-6);
  EXPECT_LE(deviation.tracked, 1e-6);  // without a control, feedback adds nothing
  EXPECT_EQ(deviation.correction, 0.0);
  phase.q(K, 4) += 0.01;  // a plan that ends elsewhere
  EXPECT_NEAR(drive_continuously(system, numbers, {phase}).at_end, 0.01, 1e-6);
}

// A pendulum that stands up. On 16 intervals its plan is far from the motion of its controls, with and without
// feedback.
const std::string pendulum = R"([model]
dimension = 2
gravity = 9.81
[link rod]
parent = ground
joint = revolute
coordinates = a
end = 0, -1
[mass tip]
link = rod
at = 0, -1
mass = 1
[actuator motor]
coordinate = a
)";
std::string swing_up(int intervals, const std::string& keys) {
  return keys + "[phase only]\nintervals = " + std::to_string(intervals) +
         "\nduration = 3\n[initial-state]\na = 0\nmomentum = 0\n[goal]\na = pi\nrate(a) = 0\n[cost]\n"
         "squared-control = 1\n";
}

TEST_F(Continuous, APlanThatItsControlsDoNotMakeIsRefinedOrRefused) {
  const auto evaluated = [&](int intervals, const std::string& keys) {
    const auto evaluator = study(pendulum, swing_up(intervals, keys));
    Outcome outcome = evaluator->evaluate(task());
    const double error = metric(*evaluator, outcome, "tracking_error"), on = metric(*evaluator, outcome, "intervals");
    return std::tuple{outcome, error, on};
  };
  const auto [rough, error, intervals] = evaluated(16, "accuracy = 0\n");
  ASSERT_EQ(rough.evaluation.status, Status::ok) << rough.evaluation.reason;
  EXPECT_EQ(intervals, 16.0);
  const std::string asked = "accuracy = " + std::to_string(error / 10.0) + "\n";

  const auto [refused, same, still] = evaluated(16, asked + "refinements = 0\n");
  EXPECT_EQ(refused.evaluation.status, Status::not_converged);
  EXPECT_EQ(same, error);
  EXPECT_EQ(still, 16.0);
  EXPECT_NE(refused.evaluation.reason.find("on 16 intervals"), std::string::npos) << refused.evaluation.reason;
  EXPECT_NE(refused.evaluation.reason.find("motion.accuracy is"), std::string::npos) << refused.evaluation.reason;
  EXPECT_EQ(refused.evaluation.gradient.size(), 0);

  const auto [fine, less, more] = evaluated(16, asked + "refinements = 4\n");
  ASSERT_EQ(fine.evaluation.status, Status::ok) << fine.evaluation.reason;
  EXPECT_LE(less, error / 10.0);
  EXPECT_EQ(std::fmod(std::log2(more / 16.0), 1.0), 0.0);
  EXPECT_GT(more, 16.0);
  // Time steps of the study's mesh are larger than those of the refined motion; their rotations are not suspicious.
  EXPECT_EQ(fine.evaluation.reason.find("in one time step"), std::string::npos) << fine.evaluation.reason;
  // the motion of that mesh, at the study's nodes
  const auto [meshed, error_there, there] = evaluated(more, "accuracy = 0\n");
  EXPECT_NEAR(fine.evaluation.cost, meshed.evaluation.cost, 1e-6 * meshed.evaluation.cost);
  EXPECT_NEAR(less, error_there, 1e-6);
  ASSERT_EQ(fine.trajectory.values[1].rows(), 17);
  const auto stride = static_cast<Eigen::Index>(more / 16.0);
  for (Eigen::Index k = 0; k <= 16; ++k)
    EXPECT_NEAR(fine.trajectory.values[1](k, 0), meshed.trajectory.values[1](stride * k, 0), 1e-5);
  for (Eigen::Index k = 0; k < 16; ++k)
    EXPECT_NEAR(fine.trajectory.values[3](k, 0), meshed.trajectory.values[3].middleRows(stride * k, stride).mean(),
                1e-4);
}

TEST(Refinement, HalvesUntilBothAreMetOrNoMoreIsAllowed) {
  const auto halves = [](MeshResult& m) -> std::string {  // second order, to a cost of 1
    m = {1.0 + (m.cost - 1.0) / 4.0, m.tracked / 4.0};
    return "";
  };
  const MeshResult first{1.64, 0.32};
  EXPECT_EQ(refine({}, first, halves).count, 0);
  EXPECT_EQ(refine({0.32, 0.0, 5}, first, halves).count, 0);
  EXPECT_EQ(refine({0.01, 0.0, 5}, first, halves).count, 3);
  EXPECT_EQ(refine({0.01, 0.0, 2}, first, halves).count, 2);
  EXPECT_EQ(refine({0.0, 0.05, 9}, first, halves).count, 3);
  EXPECT_NEAR(refine({0.0, 0.05, 9}, first, halves).change, 1.01 / 1.04 - 1.0, 1e-12);
  EXPECT_EQ(refine({0.001, 0.05, 9}, first, halves).count, 5);
  const Refinement failed = refine({0.01, 0.0, 5}, first, [](MeshResult&) { return "iteration limit"; });
  EXPECT_EQ(failed.count, 0);
  EXPECT_EQ(failed.failure, "iteration limit");
}

TEST_F(Continuous, WhatIsNotDrivenIsNamed) {
  EXPECT_TRUE(std::isnan(Deviation{}.at_end));
  EXPECT_EQ(deviation_text({}, "contacts act by an energy of the overlap"),
            "  the continuous equations of motion were not driven (contacts act by an energy of the overlap)\n");
  EXPECT_EQ(
      deviation_text({3.6, 3.7, 0.02, 1.5}, ""),
      "  the continuous equations of motion under these controls end 3.6 from the plan, at most 3.7 from its nodes "
      "(m, rad)\n  with feedback at every node: at most 0.02 from the plan's nodes, by changes of controls of at most "
      "1.5\n");
  const double none = std::numeric_limits<double>::infinity();
  EXPECT_NE(deviation_text({none, none, none, none}, "").find("have no solution"), std::string::npos);
  const auto evaluator =
      make_evaluator(read_settings(std::string(CONFIGS) + "/cube-wall.cfg", {"--motion.initial-guesses", "1"}));
  const Outcome outcome = evaluator->evaluate(task());
  EXPECT_NE(evaluator->report(outcome).find("restarted after the impact of [contact wall]"), std::string::npos)
      << evaluator->report(outcome);
}

TEST_F(Continuous, GainsThatDoNotExistAreRefused) {
  std::string unactuated = mass;
  unactuated.erase(unactuated.find("[actuator push]"));
  const std::string asked = "gains = true\n" + rest_to_rest(4),
                    timed = asked.substr(0, asked.find("[cost]")) + "[cost]\ntime = 1\n";
  EXPECT_NE(study(mass, asked), nullptr);
  const std::string none = message_of<ConfigError>([&] { study(unactuated, timed); });
  EXPECT_NE(none.find("motion.gains = true: the model has no [actuator]"), std::string::npos) << none;
  const std::vector<std::string> words = {"--motion.gains", "true", "--motion.contact", "penalty"};
  const std::string penalty =
      message_of<ConfigError>([&] { make_evaluator(read_settings(std::string(CONFIGS) + "/cube-wall.cfg", words)); });
  EXPECT_NE(penalty.find("motion.gains = true: motions with contacts by penalty"), std::string::npos) << penalty;
}

}  // namespace
}  // namespace dodyn::evaluators::test_continuous
