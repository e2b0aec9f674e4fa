// Rows of links, against the kinematics of two free bodies written here.
#include "dmoc/link_rows.hpp"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <numbers>

#include "dmoc/attitudes.hpp"
#include "rows.hpp"

namespace dodyn::dmoc::test_link_rows {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using Eigen::VectorXd;

MotionProblem free_bodies(const char* text) {
  MotionProblem problem = problem_of(text);
  Phase phase;
  phase.name = "flight";
  phase.intervals = 3;
  phase.duration = 0.5;
  problem.add_phase(std::move(phase));
  problem.add_boundary({0, false, {}, {}, true});
  problem.add_boundary({0, true, {}, {}, true});
  problem.transcribe();
  return problem;
}

// ---- in the plane: coordinates x, y, angle of a, then of b, whose centre is off its origin

constexpr const char* plane =
    "[model]\ndimension = 2\ngravity = 0\n"
    "[link a]\nparent = ground\njoint = planar\ncoordinates = ax, ay, at\nmass = 1\ninertia = 1\ncentre = 0, 0\n"
    "[link b]\nparent = ground\njoint = planar\ncoordinates = bx, by, bt\nmass = 2\ninertia = 1\ncentre = 0.3, -0.2\n";

TEST(LinkRows, APoseInThePlaneIsSeenFromTheOtherLink) {
  MotionProblem problem = free_bodies(plane);
  const int first = next_row(problem);
  LinkPose pose;
  pose.link = 1;
  pose.from = 0;
  pose.place = {std::pair{Coefficient(0.1), Coefficient(0.1)}, std::pair{Coefficient(-1.0), Coefficient(2.0)}, {}};
  pose.angle = 0.7;
  add_pose(problem, 0, 2, pose);
  pose.from = -1;
  pose.angle.reset();
  add_pose(problem, 0, 1, pose);
  problem.problem().finish();
  const VectorXd x = some_point(problem.problem()), c = rows_at(problem.problem(), x),
                 q = x.segment(problem.index(0).theta(2), 6), other = x.segment(problem.index(0).theta(1), 6);
  const double dx = q(3) - q(0), dy = q(4) - q(1), cosine = std::cos(q(2)), sine = std::sin(q(2));
  EXPECT_NEAR(c(first), cosine * dx + sine * dy, 1e-14);
  EXPECT_NEAR(c(first + 1), -sine * dx + cosine * dy, 1e-14);
  EXPECT_NEAR(c(first + 2), q(5) - q(2), 1e-14);
  EXPECT_NEAR(c(first + 3), other(3), 1e-15);
  EXPECT_NEAR(c(first + 4), other(4), 1e-15);
  ASSERT_EQ(c.size(), first + 5);
  const auto& nlp = problem.problem();
  EXPECT_EQ(nlp.constraint_lower.segment(first, 3), Vector3d(0.1, -1.0, 0.7));
  EXPECT_EQ(nlp.constraint_upper.segment(first, 3), Vector3d(0.1, 2.0, 0.7));
}

TEST(LinkRows, ATwistInThePlaneIsThatOfTheCentreOfMass) {
  for (const bool end : {false, true})
    for (const int from : {-1, 0}) {
      MotionProblem problem = free_bodies(plane);
      const int first = next_row(problem);
      LinkTwist twist;
      twist.link = 1;
      twist.from = from;
      twist.velocity = {Coefficient(1.0), Coefficient(2.0), Coefficient(0.0)};
      twist.spin = {Coefficient(0.0), Coefficient(0.0), Coefficient(3.0)};
      add_twist(problem, 0, end, twist);
      problem.problem().finish();
      const PhaseIndex& at = problem.index(0);
      const VectorXd x = some_point(problem.problem()), c = rows_at(problem.problem(), x),
                     q = x.segment(at.theta(end ? at.intervals : 0), 6),
                     v = x.segment(end ? at.velocity_before : at.velocity_after, 6);
      const double ox = 0.3 * std::cos(q(5)) + 0.2 * std::sin(q(5)), oy = 0.3 * std::sin(q(5)) - 0.2 * std::cos(q(5));
      double vx = v(3) - v(5) * oy, vy = v(4) + v(5) * ox, spin = v(5);
      if (from == 0) {  // a's frame turns with a
        vx -= v(0) - v(2) * (q(4) + oy - q(1));
        vy -= v(1) + v(2) * (q(3) + ox - q(0));
        spin -= v(2);
      }
      EXPECT_NEAR(c(first), vx, 1e-14);
      EXPECT_NEAR(c(first + 1), vy, 1e-14);
      EXPECT_NEAR(c(first + 2), spin, 1e-15);
      ASSERT_EQ(c.size(), first + 3);
      EXPECT_EQ(problem.problem().constraint_lower.tail(3), Vector3d(1.0, 2.0, 3.0));
      EXPECT_EQ(problem.problem().constraint_upper.tail(3), Vector3d(1.0, 2.0, 3.0));
    }
}

TEST(LinkRows, ATurnLimitBoundsTheTraceOfTheTurn) {
  MotionProblem problem = free_bodies(plane);
  const int first = next_row(problem);
  add_turn_limit(problem, 0, 0.9);
  problem.problem().finish();
  const VectorXd x = some_point(problem.problem()), c = rows_at(problem.problem(), x);
  ASSERT_EQ(c.size(), first + 6);
  for (int body = 0; body < 2; ++body)
    for (int k = 0; k < 3; ++k) {
      const auto angle = [&](int node) { return x(problem.index(0).theta(node) + 3 * body + 2); };
      EXPECT_NEAR(c(first + 3 * body + k), 1.0 + 2.0 * std::cos(angle(k + 1) - angle(k)), 1e-14);
      EXPECT_DOUBLE_EQ(problem.problem().constraint_lower(first + 3 * body + k), 1.0 + 2.0 * std::cos(0.9));
      EXPECT_EQ(problem.problem().constraint_upper(first + 3 * body + k), nlp::infinity);
    }
}

// ---- in space: place, then angles about z, x and y in turn

constexpr const char* space =
    "[model]\ndimension = 3\ngravity = 0\n"
    "[link a]\nparent = ground\njoint = spatial ZXY\nmass = 1\ninertia = 1, 1, 1\ncentre = 0, 0, 0\n"
    "[link b]\nparent = ground\njoint = spatial ZXY\nmass = 2\ninertia = 1, 1, 1\ncentre = 0.3, -0.2, 0.1\n";

Matrix3d turned(double z, double x, double y) {
  return (Eigen::AngleAxisd(z, Vector3d::UnitZ()) * Eigen::AngleAxisd(x, Vector3d::UnitX()) *
          Eigen::AngleAxisd(y, Vector3d::UnitY()))
      .toRotationMatrix();
}
Matrix3d attitude(const VectorXd& q, int body) { return turned(q(6 * body + 3), q(6 * body + 4), q(6 * body + 5)); }
Vector3d spin(const VectorXd& q, const VectorXd& v, int body) {
  const Matrix3d z = turned(q(6 * body + 3), 0.0, 0.0), x = turned(q(6 * body + 3), q(6 * body + 4), 0.0);
  return v(6 * body + 3) * Vector3d::UnitZ() + v(6 * body + 4) * z.col(0) + v(6 * body + 5) * x.col(1);
}

TEST(LinkRows, AttitudeRowsInSpaceAreTheSineOfTheRemainingRotation) {
  MotionProblem problem = free_bodies(space);
  const int first = next_row(problem);
  const Matrix3d wanted = turned(0.4, -0.3, 0.8);
  LinkPose pose;
  pose.link = 1;
  pose.from = 0;
  pose.place[2] = std::pair{Coefficient(-0.5), Coefficient(0.5)};
  pose.rotation.emplace();
  for (std::size_t i = 0; i < 9; ++i) (*pose.rotation)[i] = wanted(i / 3, i % 3);
  add_pose(problem, 0, 0, pose);
  problem.problem().finish();
  const VectorXd x = some_point(problem.problem()), c = rows_at(problem.problem(), x),
                 q = x.segment(problem.index(0).theta(0), 12);
  ASSERT_EQ(c.size(), first + 4);
  EXPECT_NEAR(c(first), (attitude(q, 0).transpose() * (q.segment<3>(6) - q.head<3>()))(2), 1e-14);
  const Eigen::AngleAxisd left(Matrix3d(wanted.transpose() * attitude(q, 0).transpose() * attitude(q, 1)));
  EXPECT_LE((c.segment<3>(first + 1) - std::sin(left.angle()) * left.axis()).norm(), 1e-14);
}

TEST(LinkRows, ATwistInSpaceIsSeenFromTheTurningFrame) {
  MotionProblem problem = free_bodies(space);
  const int first = next_row(problem);
  LinkTwist twist;
  twist.link = 1;
  twist.from = 0;
  twist.velocity.emplace();
  twist.spin.emplace();
  add_twist(problem, 0, false, twist);
  problem.problem().finish();
  const PhaseIndex& at = problem.index(0);
  const VectorXd x = some_point(problem.problem()), c = rows_at(problem.problem(), x), q = x.segment(at.theta(0), 12),
                 v = x.segment(at.velocity_after, 12);
  const Vector3d arm = attitude(q, 1) * Vector3d(0.3, -0.2, 0.1), centre = q.segment<3>(6) + arm,
                 spin_a = spin(q, v, 0), spin_b = spin(q, v, 1),
                 pace = v.segment<3>(6) + spin_b.cross(arm) - v.head<3>() - spin_a.cross(centre - q.head<3>());
  EXPECT_LE((c.segment<3>(first) - pace).norm(), 1e-13);
  EXPECT_LE((c.segment<3>(first + 3) - (spin_b - spin_a)).norm(), 1e-13);
}

// ---- attitudes: angles about a reference are those of the turn from it

TEST(Attitudes, AreThoseOfTheReferenceTurnedByTheAngles) {
  const System system(systems::read_model(space, "test"), true);
  const Attitudes attitudes(system);
  ASSERT_EQ(system.charts().size(), 2u);
  VectorXd q(12);
  q << 0.1, 0.2, 0.3, 0.5, -0.4, 0.3, 1.0, 2.0, 3.0, -0.6, 0.2, 0.9;
  const Reference none = system.no_reference(), here = attitudes.at(q, none);
  for (int body = 0; body < 2; ++body) EXPECT_LE((attitudes.rotation(body, q, none) - attitude(q, body)).norm(), 1e-14);
  const VectorXd moved = attitudes.moved(q, none, here);
  EXPECT_LE((moved - (VectorXd(12) << q.head(3), 0, 0, 0, q.segment(6, 3), 0, 0, 0).finished()).norm(), 1e-14);
  EXPECT_LE((attitudes.moved(moved, here, none) - q).norm(), 1e-14);
  VectorXd next = q;
  next.tail(6) << 2.0, 2.0, 4.0, 0.4, -0.5, 0.1;
  const double s = 0.3;
  const VectorXd between = attitudes.between(q, none, next, none, s);
  EXPECT_LE((between.segment<3>(6) - (0.7 * q.segment<3>(6) + 0.3 * next.segment<3>(6))).norm(), 1e-14);
  const Eigen::AngleAxisd turn(Matrix3d(attitude(next, 1) * attitude(q, 1).transpose()));
  EXPECT_LE((attitude(between, 1) - Eigen::AngleAxisd(s * turn.angle(), turn.axis()) * attitude(q, 1)).norm(), 1e-13);
  // a momentum about the axes of the joint does the same work as that about the angles
  const VectorXd v = VectorXd::LinSpaced(12, -1.0, 2.0), momentum = VectorXd::LinSpaced(12, 0.3, -0.7),
                 along = attitudes.along_axes(momentum, q, none);
  for (int body = 0; body < 2; ++body)
    EXPECT_NEAR(along.segment<3>(6 * body + 3).dot(spin(q, v, body)),
                momentum.segment<3>(6 * body + 3).dot(v.segment<3>(6 * body + 3)), 1e-13);
  EXPECT_LE((attitudes.about_angles(along, q, none) - momentum).norm(), 1e-13);
}

// A body that turns by 0.3 rad a node is about a new reference every fourth.
TEST(Attitudes, ReferencesServeUntilAChartHasTurnedByARadian) {
  const System system(systems::read_model(space, "test"), true);
  const Attitudes attitudes(system);
  Eigen::MatrixXd q = Eigen::MatrixXd::Zero(10, 12);
  for (int k = 0; k < 10; ++k) q(k, 9) = 0.3 * k;
  const Eigen::MatrixXd before = q;
  const auto references = references_along(system, q);
  ASSERT_EQ(references.size(), 10u);
  for (int k = 0; k < 10; ++k) {
    EXPECT_EQ(references[k] == references[std::max(k - 1, 0)], k == 0 || k % 4 != 0);
    EXPECT_NEAR(q(k, 9), 0.3 * (k % 4), 1e-14);
    EXPECT_LE(
        (attitudes.rotation(1, q.row(k).transpose(), references[k]) - attitude(before.row(k).transpose(), 1)).norm(),
        1e-14);
  }
}

}  // namespace
}  // namespace dodyn::dmoc::test_link_rows
