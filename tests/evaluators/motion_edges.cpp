// An edge that touches an edge on schedule, looked at from the trajectory with the geometry and the inertia of two
// boxes.
#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <cmath>
#include <numbers>

#include "dmoc/edge_pair.hpp"
#include "evaluators/evaluator.hpp"
#include "evaluators/motion/design.hpp"
#include "evaluators/motion/initial_guess.hpp"
#include "evaluators/motion/open_loop.hpp"
#include "evaluators/motion/read_motion.hpp"
#include "tests/message_of.hpp"
#include "tests/nlp/check_derivatives.hpp"

namespace dodyn::evaluators::test_motion_edges {
namespace {

using Eigen::Matrix3d, Eigen::Vector3d;

// Motors too weak to make the bar spin. With strong motors spinning is cheaper, and which of the spinning motions is found
// depends on rounding.
Settings bars(std::vector<std::string> words = {}, const std::string& torque = "0.2") {
  words.insert(words.end(), {"--design.torque", torque, "--motion.initial-guesses", "1"});
  return read_settings(std::string(CONFIGS) + "/crossed-bars.cfg", words);
}
// Returns the words for a contact law. With `slide` the bar also moves across the beam, so that sliding does not stop at
// the contact.
std::vector<std::string> with_law(const std::string& law) {
  std::vector<std::string> words = {"--contact.beam.law", "restitution 0.5" + law};
  if (law.starts_with(", slide"))
    words.insert(words.end(), {"--initial-state.bar",
                               "pose -0.04 0.08 0, turn y 20 deg, turn z 5 deg, velocity 0.4 -0.25 0, spin 0 0 0",
                               "--goal.bar", "pose 0.16 0.14 0, turn y 20 deg, velocity 0.2 0.25 0, spin 0 0 0"});
  return words;
}
Outcome found(const Settings& settings) {
  Task task;
  task.evaluation.id = 0;
  task.evaluation.design = Eigen::VectorXd(0);
  task.evaluation.seed = 3;
  return make_evaluator(settings)->evaluate(task);
}

Matrix3d attitude(const Eigen::RowVectorXd& q) {  // of the shipped model's angles, ZXY
  return (Eigen::AngleAxisd(q(3), Vector3d::UnitZ()) * Eigen::AngleAxisd(q(4), Vector3d::UnitX()) *
          Eigen::AngleAxisd(q(5), Vector3d::UnitY()))
      .toRotationMatrix();
}

TEST(MotionEdges, MeetAndPushAlongTheirCrossProduct) {
  constexpr double length = 0.4, side = 0.04, m = 1000 * length * side * side, mu = 0.2;
  const Vector3d inertia =
      m / 12 * Vector3d(2 * side * side, length * length + side * side, length * length + side * side);
  for (const std::string law : {"", ", stick", ", slide, friction 0.2"}) {
    SCOPED_TRACE(law);
    const Outcome outcome = found(bars(with_law(law)));
    ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
    const auto &q = outcome.trajectory.values[1], &p = outcome.trajectory.values[2];
    // the last node of the first piece, and the first of the next
    EXPECT_LE((q.row(9) - q.row(10)).norm(), 1e-12);
    const Matrix3d R = attitude(q.row(9));
    // the bar's lower edge where it passes over x = 0, the plane of the beam's upper edge
    const Vector3d centre = q.row(9).head(3).transpose(), along = R.col(0),
                   edge = centre + R * Vector3d(0, -side / std::sqrt(2.0), 0),
                   point = edge - edge.x() / along.x() * along;
    EXPECT_NEAR(point.y(), 0.0, 1e-8);
    EXPECT_LT(std::abs((point - edge).norm()), 0.5 * length);
    const Vector3d n = along.cross(Vector3d::UnitZ()).normalized() * (along.x() < 0 ? 1.0 : -1.0);  // upwards
    ASSERT_GT(n.y(), 0.9);
    const Vector3d r = point - centre, jump = (p.row(10) - p.row(9)).head(3).transpose(),
                   turned = (p.row(10) - p.row(9)).tail(3).transpose();
    EXPECT_LE((turned - r.cross(jump)).norm(), 1e-8 * jump.norm());
    const auto pace = [&](Eigen::Index row) {
      const Vector3d spin = R * inertia.cwiseInverse().asDiagonal() * R.transpose() * p.row(row).tail(3).transpose();
      return Vector3d(p.row(row).head(3).transpose() / m + spin.cross(r));
    };
    const Vector3d before = pace(9), after = pace(10), across = jump - n * n.dot(jump), goes = after - n * n.dot(after);
    EXPECT_LT(n.dot(before), -0.1);
    EXPECT_NEAR(n.dot(after), -0.5 * n.dot(before), 1e-7);
    EXPECT_GT(n.dot(jump), 0.0);
    if (law.empty()) {
      EXPECT_LE(across.norm(), 1e-8 * jump.norm());
    } else if (law == ", stick") {
      EXPECT_LE(goes.norm(), 1e-8);
    } else if (law.starts_with(", slide")) {
      EXPECT_GT(goes.norm(), 0.05);
      EXPECT_LE((across + mu * n.dot(jump) * goes.normalized()).norm(), 1e-6 * jump.norm());
    }
  }
}

// Over the beam by its middle the bar cannot turn, and is the mass of 1 kg that bounces off a wall.
TEST(MotionEdges, InLineTheBounceHasItsClosedForm) {
  const std::string at = "+side/sqrt(2) 0, turn y 20 deg, velocity 0 ", still = " 0, spin 0 0 0";
  const Outcome outcome =
      found(bars({"--design.density", "1562.5", "--initial-state.bar", "pose 0 0.05" + at + "-0.25" + still,
                  "--goal.bar", "pose 0 0.12" + at + "0.25" + still},
                 "0.001"));
  ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
  EXPECT_NEAR(outcome.evaluation.cost, 0.00872083, 2e-8);
}

// It finds the impact by itself, between all corners, edges and sides, on whichever side of the planned node rounding
// puts it.
TEST(MotionEdges, TheContactSimulationFollowsThePlan) {
  for (const char* const law : {", slide, friction 0.2", ", stick"})
    for (const char* const tolerance : {"1e-10", "1e-12"}) {
      auto words = with_law(law);
      words.insert(words.end(), {"--motion.tolerance", tolerance});
      const Settings settings = bars(words);
      const Outcome outcome = found(settings);
      ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
      const OpenLoopRun forward =
          simulate_open_loop(read_motion(settings), outcome.evaluation.design, outcome.trajectory, 1);
      EXPECT_EQ(forward.failure, "");
      EXPECT_LE(forward.max_position_error, 1e-11);
      EXPECT_LE(forward.max_angle_error, 1e-10);
      EXPECT_EQ(forward.cuts, 0);
      EXPECT_EQ(forward.impacts.size(), 1U);
    }
}

TEST(MotionEdges, DerivativesAreThoseOfDifferences) {
  const MotionDesigns designs(bars({"--phase.only.intervals", "6", "--contact.beam.node", "3", "--contact.beam.law",
                                    "restitution 0.5, slide, friction 0.3"}));
  const MotionPath path = initial_path(designs.motion(), Eigen::VectorXd(0), 5, 1);
  const TranscribedMotion planned = designs.plan(Eigen::VectorXd(0), path);
  Eigen::VectorXd x = designs.start(planned, path);
  for (Eigen::Index i = 0; i < x.size(); ++i) x(i) += 0.05 * std::sin(3.0 * static_cast<double>(i));
  const auto errors = nlp::check_derivatives(planned.problem.problem(), x);
  EXPECT_LE(errors.max(), 1e-6) << errors.worst;
}

// A cube on its edge over another one, turned by some angle about the vertical: the one's lowest edge and the other's
// highest.
TEST(MotionEdges, TheNearestOnesAreTaken) {
  using systems::Vector3;
  const auto cube = [](double turn, double height) {
    const Matrix3d R =
        (Eigen::AngleAxisd(turn, Vector3d::UnitZ()) * Eigen::AngleAxisd(std::numbers::pi / 4, Vector3d::UnitX()))
            .toRotationMatrix();
    std::vector<Vector3<double>> corners;
    for (int i = 0; i < 8; ++i) {
      const Vector3d r = R * Vector3d(i % 2 - 0.5, i / 2 % 2 - 0.5, i / 4 - 0.5) + height * Vector3d::UnitZ();
      corners.push_back({r(0), r(1), r(2)});
    }
    return corners;
  };
  for (const double turn : {0.3, 1.5, 2.8, -0.7})
    for (const double gap : {0.1, 0.0, -0.05}) {  // they may lap over in a start
      const auto over = cube(turn, std::sqrt(2.0) + gap), under = cube(0.1, 0.0);
      const auto pair = dmoc::nearest_edges(over, under);
      const auto at = [](const auto& corners, int i) { return corners[i]; };
      for (const int i : pair.one) EXPECT_NEAR(at(over, i)[2], std::sqrt(0.5) + gap, 1e-12);
      for (const int i : pair.other) EXPECT_NEAR(at(under, i)[2], std::sqrt(0.5), 1e-12);
      const auto meeting = dmoc::edge_distance<double>({at(over, pair.one[0]), at(over, pair.one[1])},
                                                       {at(under, pair.other[0]), at(under, pair.other[1])});
      EXPECT_NEAR(meeting.gap, gap, 1e-12);
      EXPECT_NEAR(meeting.s, 0.5, 1e-12);
      EXPECT_NEAR(meeting.t, 0.5, 1e-12);
    }
}

TEST(MotionEdges, MistakesAreOneLine) {
  const auto complaint = [](const std::string& key, const std::string& value) {
    return message_of<ConfigError>([&] { make_evaluator(bars({"--" + key, value})); }, "none");
  };
  EXPECT_NE(complaint("contact.beam.law", "stay").find("cannot stay"), std::string::npos);
  EXPECT_NE(complaint("contact.beam.touch", "edges bar, beam +x").find("without a side"), std::string::npos);
  EXPECT_NE(complaint("contact.beam.touch", "edges bra, beam").find("mean 'bar'"), std::string::npos);
  EXPECT_NE(complaint("motion.contact", "penalty").find("does not act on edges"), std::string::npos);
}

}  // namespace
}  // namespace dodyn::evaluators::test_motion_edges
