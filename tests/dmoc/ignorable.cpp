// Constants that can be added to coordinates: places on level ground, and full turns.
#include "dmoc/ignorable.hpp"

#include <gtest/gtest.h>

#include <numbers>

#include "rows.hpp"

namespace dodyn::dmoc::test_ignorable {
namespace {

using Eigen::VectorXd;

// A wheel on a cart, with a weight at its rim and a flywheel at its hub; b is the flywheel's angle relative to the wheel.
const std::string cart =
    "[model]\ndimension = 2\ngravity = 9\n[link cart]\nparent = ground\njoint = point\ncoordinates = x, y\nmass = 1\n"
    "[link wheel]\nparent = cart\njoint = revolute\ncoordinates = a\nmass = 1\ncentre = 0, -0.5\ninertia = 0.1\n"
    "[link fly]\nparent = wheel\njoint = revolute\ncoordinates = b\nmass = 1\ninertia = 0.2\n"
    "[actuator motor]\ncoordinate = a\n";

MotionProblem problem(const std::vector<int>& held = {}, const Boundary& start = {0, false, {}, {{0, 0.3}}},
                      const std::string& more = "") {
  MotionProblem all = problem_of(cart + more);
  Phase phase;
  phase.name = "roll";
  phase.held = held;
  phase.intervals = 5;
  phase.duration = 1.0;
  phase.controls = {{-1.0, 1.0}};
  all.add_phase(phase);
  all.add_boundary(start);
  all.transcribe();
  all.add_effort(0, {.squared_control = 1.0}, 1.0);
  all.problem().finish();
  return all;
}

// The place x and the flywheel's angle are in no force. The height y adds to the potential energy alone, whose constant
// has no effect either. A full turn of the wheel changes nothing, other turns do.
TEST(Ignorable, PlacesAndFullTurns) {
  const MotionProblem all = problem();
  const VectorXd x = some_point(all.problem());
  const double turn = 2.0 * std::numbers::pi;
  for (const double constant : {0.1, -3.0, turn}) {
    EXPECT_TRUE(is_ignorable(all, x, 0, constant));
    EXPECT_TRUE(is_ignorable(all, x, 1, constant));
    EXPECT_TRUE(is_ignorable(all, x, 3, constant));
  }
  EXPECT_TRUE(is_ignorable(all, x, 2, turn));
  EXPECT_TRUE(is_ignorable(all, x, 2, -2.0 * turn));
  EXPECT_FALSE(is_ignorable(all, x, 2, 0.5 * turn));
  EXPECT_FALSE(is_ignorable(all, x, 2, 1e-6));
}

TEST(Ignorable, AGivenOrHeldPlaceHasAMeaning) {
  const MotionProblem given = problem({}, {0, true, {{0, 1.0}}, {}}), held = problem({0}, {0, false, {}, {{1, 0.3}}});
  EXPECT_FALSE(is_ignorable(given, some_point(given.problem()), 0, 0.1));
  EXPECT_TRUE(is_ignorable(given, some_point(given.problem()), 1, 0.1));
  EXPECT_FALSE(is_ignorable(held, some_point(held.problem()), 0, 0.1));
}

// The spring of a wall at 20 m is in no row at places near 0. Its coordinate has a meaning all the same.
TEST(Ignorable, AWallFarAwayGivesAPlaceAMeaning) {
  MotionProblem all =
      problem({}, {0, false, {}, {{0, 0.3}}}, "[potential wall]\nenergy = 3 N/m*max(0 m, x - 20 m)^2\n");
  const VectorXd x = some_point(all.problem());
  EXPECT_TRUE(is_ignorable(all, x, 0, 1.0));
  fix_ignorable(all, x);
  EXPECT_EQ(all.problem().lower(all.index(0).knot(0)), -nlp::infinity);
  EXPECT_EQ(all.problem().lower(all.index(0).knot(0) + 1), x(all.index(0).knot(0) + 1));
}

// A start that is fixed by equal bounds is subtracted whole; of the wheel's start full turns alone.
TEST(Ignorable, StartsThatCanBeSubtracted) {
  MotionProblem all = problem();
  VectorXd x = some_point(all.problem());
  fix_ignorable(all, x);
  const int start = all.index(0).knot(0);
  for (const int c : {0, 1, 3}) {
    EXPECT_EQ(all.problem().lower(start + c), x(start + c));
    EXPECT_EQ(all.problem().upper(start + c), x(start + c));
    EXPECT_EQ(ignorable_start(all, x, c), x(start + c));
  }
  EXPECT_EQ(all.problem().lower(start + 2), -nlp::infinity);
  const double turn = 2.0 * std::numbers::pi;
  for (const double turns : {-3.0, -1.0, 0.0, 2.0})
    for (const double rest : {-3.9, -std::numbers::pi, 0.0, 2.2}) {
      for (int knot = 0; knot < all.index(0).knots(); ++knot)
        x(all.index(0).knot(knot) + 2) = rest + 0.1 * knot + turns * turn;
      EXPECT_DOUBLE_EQ(ignorable_start(all, x, 2), turns * turn) << rest;
    }
}

}  // namespace
}  // namespace dodyn::dmoc::test_ignorable
