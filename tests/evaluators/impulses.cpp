// Contact impulses in archives and rules, against balances of momentum.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "box_on_floor.hpp"
#include "evaluators/evaluator.hpp"
#include "tests/directory.hpp"
#include "tests/message_of.hpp"
#include "whole.hpp"

namespace dodyn::evaluators::test_impulses {
namespace {

constexpr double gravity = 9.81, side = 0.2, density = 270.0, box_mass = density * side * side;

const char* const cubes_model = R"([model]
name = cubes
dimension = 3
gravity = 0
[surface]
restitution = 0.5
friction = 0.3
[link one]
parent = ground
joint = spatial ZYX
[shape one]
link = one
box = 0.2, 0.2, 0.2
density = 1000
[link two]
parent = ground
joint = spatial ZYX
coordinates = x, y, z, turn_z, turn_y, turn_x
[shape two]
link = two
box = 0.2, 0.2, 0.2
density = 1000
)";

class ContactImpulses : public testing::Test {
 protected:
  std::unique_ptr<Evaluator> evaluator(const char* model, const std::string& text) const {
    std::ofstream(folder_ / "bodies.model") << model;
    std::ofstream(folder_ / "study.cfg") << "[study]\nevaluator = simulation\n[simulation]\nmodel = bodies.model\n"
                                         << text;
    return make_evaluator(read_settings(folder_ / "study.cfg", {}));
  }

  const Directory folder_;
};

// A box slides and stops. At every row, m dv is the impulse of contact and gravity, the floor gets the opposite
// impulse, and friction is Coulomb's while the box slides.
TEST_F(ContactImpulses, OfASlidingBoxBalanceItsMomentum) {
  const auto slide =
      evaluator(box_on_floor, "end = 0.6\nstep = 1 ms\nnodes = 61\n[initial-state]\ny = 0.1\nrate(x) = 1.3\n");
  const Outcome outcome = whole(*slide);
  ASSERT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
  const auto &t = channel(*slide, outcome, "t"), &v = channel(*slide, outcome, "v"),
             &j = channel(*slide, outcome, "impulse");
  ASSERT_EQ(j.rows(), 61);
  EXPECT_EQ(j.row(0).norm(), 0.0);
  for (Eigen::Index k = 1; k < 61; ++k) {
    const double fallen = box_mass * gravity * (t(k) - t(k - 1));
    EXPECT_NEAR(box_mass * (v(k, 3) - v(k - 1, 3)), j(k, 3), 1e-9);
    EXPECT_NEAR(box_mass * (v(k, 4) - v(k - 1, 4)), j(k, 4) - fallen, 1e-9);
    EXPECT_NEAR(j(k, 5), box_mass * side * side / 6.0 * (v(k, 5) - v(k - 1, 5)), 1e-5 * fallen);
    EXPECT_NEAR(j(k, 0) + j(k, 3), 0.0, 1e-15);
    EXPECT_NEAR(j(k, 1) + j(k, 4), 0.0, 1e-15);
    if (v(k, 3) > 0.01) {
      EXPECT_NEAR(j(k, 3), -0.4 * j(k, 4), 1e-9);
    }
    if (v(k - 1, 3) < 1e-9) {
      EXPECT_NEAR(j(k, 3), 0.0, 1e-9);
    }
  }
  EXPECT_NEAR(v(60, 3), 0.0, 1e-9);
}

// Cubes that meet with a corner, edge or face: momentum and angular momentum of each, whose inertia is the same about
// all axes.
TEST_F(ContactImpulses, OfCubesInSpaceBalanceTheirAngularMomentum) {
  const auto meet =
      evaluator(cubes_model,
                "end = 1\nstep = 0.2 ms\nnodes = 101\n[initial-state]\nx = 0.5\ny = 0.06\nz = -0.03\nturn_z = 0.4\n"
                "turn_x = 0.3\nrate(x) = -0.8\nrate(turn_y) = 0.9\n");
  const Outcome outcome = whole(*meet);
  ASSERT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
  const auto &v = channel(*meet, outcome, "v"), &j = channel(*meet, outcome, "impulse");
  const double mass = 1000.0 * side * side * side, inertia = mass * side * side / 6.0;
  double most = 0.0, turn = 0.0;
  for (Eigen::Index k = 1; k < 101; ++k)
    for (const int body : {0, 6})
      for (int i = 0; i < 3; ++i) {
        EXPECT_NEAR(mass * (v(k, body + i) - v(k - 1, body + i)), j(k, body + i), 1e-9);
        const double angular = inertia * (v(k, body + 3 + i) - v(k - 1, body + 3 + i));
        EXPECT_NEAR(angular, j(k, body + 3 + i), 2e-3 * j.row(k).norm() + 1e-9) << k;
        most = std::max(most, std::abs(j(k, body + i)));
        turn = std::max(turn, std::abs(angular));
      }
  EXPECT_GT(most, 1.0);
  EXPECT_GT(turn, 0.1);
}

// A collision in the middle of a step: its moment is about the centre of mass at the impact, not at the step's end.
TEST_F(ContactImpulses, OfEventDrivenCollisionsBalanceTheAngularMomentum) {
  for (const char* step : {"1 ms", "4 ms"}) {
    const auto meet = evaluator(
        cubes_model, std::string("contact-method = event-driven\nend = 1\nnodes = 51\nstep = ") + step +
                         "\n[initial-state]\nx = 0.5\ny = 0.06\nz = -0.03\nturn_z = 0.4\nturn_x = 0.3\nrate(x) = -0.8\n"
                         "rate(turn_y) = 0.9\n");
    const Outcome outcome = whole(*meet);
    ASSERT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
    const auto &v = channel(*meet, outcome, "v"), &j = channel(*meet, outcome, "impulse");
    const double mass = 1000.0 * side * side * side, inertia = mass * side * side / 6.0;
    double turn = 0.0;
    for (Eigen::Index k = 1; k < 51; ++k)
      for (const int body : {0, 6})
        for (int i = 3; i < 6; ++i) {
          const double angular = inertia * (v(k, body + i) - v(k - 1, body + i));
          EXPECT_NEAR(angular, j(k, body + i), 1e-6) << step << ", row " << k;
          turn = std::max(turn, std::abs(angular));
        }
    EXPECT_GT(turn, 0.1);
  }
}

// A box dropped flat from h leaves with e times the speed sqrt(2 g h) that it comes with: m (1 + e) sqrt(2 g h) by one
// impact.
TEST_F(ContactImpulses, OfADroppedBoxIsThatOfTheFall) {
  for (const double e : {0.0, 0.6}) {
    const auto drop = evaluator(
        box_on_floor, "end = 2\nstep = 0.1 ms\n[design]\nrestitution = " + std::to_string(e) +
                          "\n[initial-states]\ncount = 4\nheight = 0.1 .. 0.5\n[initial-state]\ny = 0.1 + height\n"
                          "[outcome landed]\nwhen = has_touched\n[cost]\n"
                          "cost = max_impulse/sqrt(2*9.81*height)\n");
    const Outcome outcome = whole(*drop);
    ASSERT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
    EXPECT_NEAR(outcome.evaluation.cost, box_mass * (1.0 + e), 0.002 * box_mass);
  }
}

TEST_F(ContactImpulses, AreRefusedWhereForcesAnswerContacts) {
  const std::string penalty =
      "contact-method = penalty\nend = 0.1\nstep = 1 ms\n[design]\nfriction = 0\nrestitution = 1\n[initial-state]\ny = "
      "0.2\n";
  const auto channels = evaluator(box_on_floor, penalty)->channels();
  for (const auto& each : channels) EXPECT_NE(each.name, "impulse");
  const std::string line =
      message_of<ConfigError>([&] { evaluator(box_on_floor, penalty + "[cost]\ncost = max_impulse\n"); });
  EXPECT_NE(line.find("max_impulse"), std::string::npos) << line;
  EXPECT_NE(line.find("allowed: projection, event-driven"), std::string::npos);
}

}  // namespace
}  // namespace dodyn::evaluators::test_impulses
