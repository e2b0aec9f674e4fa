// Phases sampled between their nodes, and the name of the row that an infeasible point violates most.
#include "dmoc/resample.hpp"

#include <gtest/gtest.h>

#include <numbers>

#include "dmoc/attitudes.hpp"
#include "dmoc/worst_row.hpp"
#include "rows.hpp"

namespace dodyn::dmoc::test_resample {
namespace {

using Eigen::VectorXd;

constexpr const char* cart =
    "[model]\ndimension = 2\ngravity = 9\n[link cart]\nparent = ground\njoint = prismatic x + revolute\ncoordinates = "
    "x, a\n"
    "mass = 2\ninertia = 0.5\n[actuator push]\ncoordinate = x\n[actuator motor]\ncoordinate = a\n";

// Of `intervals`: coordinates that grow by 1 and -2 a node, and controls that differ by interval.
Sampled steady(int intervals) {
  Sampled s{Eigen::MatrixXd(intervals + 1, 2), Eigen::MatrixXd(intervals, 2)};
  for (int k = 0; k <= intervals; ++k) s.q.row(k) << k, 3.0 - 2.0 * k;
  for (int k = 0; k < intervals; ++k) s.u.row(k) << 10 + k, 20 - k;
  return s;
}

TEST(Resampled, NodesLieOnTheSamePathAndControlsKeepTheirTimes) {
  const System system(systems::read_model(cart, "test"), false);
  const Sampled four = steady(4);
  for (const int intervals : {1, 2, 3, 4, 8, 10}) {
    const Sampled other = resampled(system, four, intervals);
    ASSERT_EQ(other.q.rows(), intervals + 1);
    ASSERT_EQ(other.u.rows(), intervals);
    for (int k = 0; k <= intervals; ++k) {
      const double at = 4.0 * k / intervals;
      EXPECT_NEAR(other.q(k, 0), at, 1e-14);
      EXPECT_NEAR(other.q(k, 1), 3.0 - 2.0 * at, 1e-14);
      if (k == intervals) continue;
      EXPECT_EQ(other.u(k, 0), 10 + std::floor(at));
      EXPECT_EQ(other.u(k, 1), 20 - std::floor(at));
    }
  }
  EXPECT_EQ(resampled(system, four, 4).u, four.u);
}

TEST(TimeWarped, TheMiddleMovesAndTheEndsStay) {
  const System system(systems::read_model(cart, "test"), false);
  const Sampled six = steady(6);
  for (const double nodes : {0.0, 1.0, -1.0, 2.5}) {
    const Sampled other = time_warped(system, six, nodes);
    ASSERT_EQ(other.q.rows(), 7);
    for (int k = 0; k <= 6; ++k)
      EXPECT_NEAR(other.q(k, 0), std::clamp(k + nodes * std::sin(std::numbers::pi * k / 6), 0.0, 6.0), 1e-13)
          << nodes << ' ' << k;
    EXPECT_NEAR(other.q(3, 0), 3 + nodes, 1e-13);
    EXPECT_EQ(other.u(0, 0), 10);
  }
}

TEST(References, WithoutJointsOfThreeTurnsThereAreNone) {
  const System system(systems::read_model(cart, "test"), false);
  Eigen::MatrixXd q = steady(4).q;
  EXPECT_TRUE(references_along(system, q).empty());
  EXPECT_EQ(q, steady(4).q);
}

// Two phases of the cart. For a momentum balance worst_row() names coordinate, time and controls at their limits; for
// other rows the section that requires them.
struct Cart {
  MotionProblem problem = problem_of(cart);
  int asked = 0;
  VectorXd x;
  Cart() {
    for (const double duration : {0.8, 2.0}) {
      Phase phase;
      phase.name = "move";
      phase.intervals = 4;
      phase.duration = duration;
      phase.controls = {{-10.0, 10.0}, {-4.0, 4.0}};
      problem.add_phase(std::move(phase));
    }
    problem.add_boundary({1, true, {}, {}, true});  // its rates are unknowns: momenta are balanced there, too
    problem.transcribe();
    asked = problem.problem().add_rows(3, 0.0, 1.0);
    for (const int i : {0, 1, 2})
      problem.problem().add_element(
          element(autodiff::record(1, 0, [](const auto& z, const auto&) { return std::vector<autodiff::Var>{z[0]}; }),
                  {}),
          {problem.index(0).theta(0) + 0}, {{0, asked + i, i == 2 ? -0.5 : 1.0 + i}});
    problem.problem().finish();
    x = VectorXd::Zero(problem.problem().variables());
  }
};

TEST(WorstRow, NamesConditionsByTheirViolation) {
  Cart c;
  const NamedRows asked = {{c.asked, "[goal]"}, {c.asked + 2, "[start]"}};
  EXPECT_EQ(worst_row(c.problem, asked, c.x), "");
  // at rest, all of it at x = 1.5: rows are 1.5, 3 and -0.75, allowed in [0, 1]
  for (int phase = 0; phase < 2; ++phase)
    for (int k = 0; k <= 4; ++k) c.x(c.problem.index(phase).theta(k)) = 1.5;
  EXPECT_EQ(worst_row(c.problem, asked, c.x), "; [goal] is missed by 2, [start] by 0.75");
  EXPECT_EQ(worst_row(c.problem, {{c.asked, ""}, {c.asked + 1, "b"}, {c.asked + 2, "a"}}, c.x),
            "; b is missed by 2, a by 0.75");
  EXPECT_EQ(worst_row(c.problem, {{c.asked + 2, "a"}}, c.x), "; a is missed by 0.75");
  c.x(0) = std::nan("");
  EXPECT_EQ(worst_row(c.problem, asked, c.x), "");
}

TEST(WorstRow, OfMomentaNamesCoordinateTimeAndControlsAtTheirLimits) {
  for (const int phase : {0, 1})
    for (int k = 1; k < 4; ++k)
      for (const int coordinate : {0, 1}) {
        Cart c;
        const auto& at = c.problem.index(phase);
        // moves this node alone: its own momentum balance is missed by twice as much as those of its neighbours
        c.x(at.theta(k) + coordinate) = 0.01;
        const std::string words = worst_row(c.problem, {}, c.x);
        const double time = phase == 0 ? 0.2 * k : 0.8 + 0.5 * k;
        const std::string name = coordinate == 0 ? "x" : "a";
        char text[64];
        std::snprintf(text, sizeof text, "; momentum of %s at t = %.3g s is missed by ", name.c_str(), time);
        EXPECT_TRUE(words.starts_with(text)) << words;
        EXPECT_EQ(words.find("limit"), std::string::npos) << words;
      }
  Cart end;
  end.x(end.problem.index(1).velocity_before) = 0.5;  // of 2 kg
  EXPECT_EQ(worst_row(end.problem, {}, end.x), "; momentum of x at t = 2.8 s is missed by 1");
  Cart c;
  for (int k = 0; k < 4; ++k) {
    c.x(c.problem.index(1).control(k)) = k < 3 ? 10.0 : -10.0;
    c.x(c.problem.index(1).control(k) + 1) = k == 2 ? -3.9999 : k == 3 ? 3.9999 : 3.9;
  }
  const std::string words = worst_row(c.problem, {}, c.x);
  EXPECT_TRUE(words.ends_with(" (at the limit: push in 4, motor in 2 of 4 intervals)")) << words;
}

}  // namespace
}  // namespace dodyn::dmoc::test_resample
