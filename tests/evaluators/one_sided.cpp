// [stop NAME] and [contact NAME] in contact simulations: the same model in the evaluator hybrid, which locates impacts
// to rounding in minimal coordinates, and closed forms.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "evaluators/evaluator.hpp"
#include "whole.hpp"

namespace dodyn::evaluators::test_one_sided {
namespace {

const char* const hung_plate = R"([model]
name = plate
dimension = 2
gravity = 9.81
[parameters]
restitution = 0.5
[link plate]
parent = ground
joint = planar
coordinates = x, y, turn
mass = 2
centre = 0.05, 0.02
inertia = 0.03
[point hook]
link = plate
at = 0.2, 0.1
[point nail]
link = ground
[contact rope]
gap = 1 - distance(hook, nail)
restitution = restitution
)";
const char* const second_rope = R"([point ring]
link = plate
at = -0.2, 0.1
[point peg]
link = ground
at = -0.3, 0
[contact string]
gap = 1.1 - distance(ring, peg)
restitution = restitution
)";
const char* const plate_start = "x = 0.3\ny = -0.4\nturn = 0.2\nrate(x) = 0.4\nrate(turn) = 0.5\n";

const char* const arm = R"([model]
name = arm
dimension = 3
gravity = 9.81
[link upper]
parent = ground
joint = revolute 0, 0.6, 0.8
coordinates = A
mass = 2
centre = 0.3, 0, -0.2
inertia = 0.03, 0.04, 0.05
[link lower]
parent = upper
at = 0.6, 0, 0
joint = revolute y
coordinates = B
mass = 1
centre = 0.2, 0.1, 0
inertia = 0.01, 0.012, 0.02
[stop elbow]
coordinate = B
from = -0.3
to = 0.9
restitution = 0.7
)";

const char* const rod = R"([model]
name = rod
dimension = 2
gravity = 9.81
[link rod]
parent = ground
joint = planar
coordinates = x, y, turn
mass = 1
centre = 0, 0
inertia = 0.08
[contact tip]
gap = y - 0.5*cos(turn)
slip = x + 0.5*sin(turn)
restitution = 0.4
friction = 0.25
)";

const char* const wheel = R"([model]
name = wheel
dimension = 2
gravity = 0
[link wheel]
parent = ground
joint = revolute
coordinates = turn
mass = 1
centre = 0, 0
inertia = 0.1
[stop ratchet]
coordinate = turn
to = 10
restitution = 0.5
)";

class OneSided : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::unique_ptr<Evaluator> evaluator(const std::string& kind, const std::string& model,
                                       const std::string& text) const {
    std::ofstream(folder_ / "it.model") << model;
    std::ofstream(folder_ / "it.cfg") << "[study]\nevaluator = " << kind << "\n[" << kind << "]\nmodel = it.model\n"
                                      << text;
    return make_evaluator(read_settings((folder_ / "it.cfg").string(), {}));
  }
  // The value of an expression of the final state.
  double end(const std::string& kind, const std::string& model, const std::string& keys, const std::string& start,
             const std::string& cost) const {
    const auto it = evaluator(kind, model, keys + "[initial-state]\n" + start + "[cost]\ncost = " + cost + "\n");
    const Outcome outcome = whole(*it);
    EXPECT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
    return outcome.evaluation.cost;
  }
  // The final coordinates differ from those of hybrid by at most `bound` times the step (ms). Steps must be shorter than
  // the time between two impacts, 0.4 ms with two ropes.
  void expect_as_hybrid(const std::string& model, const std::string& start, const std::string& time,
                        const std::vector<std::string>& coordinates, double bound,
                        const std::string& method = "projection") const {
    std::vector<double> exact;
    for (const auto& one : coordinates)
      exact.push_back(end("hybrid", model, "order = 6\nstep = 2 ms\nend = " + time + "\n", start, one));
    for (const std::string step : {"0.25", "0.125", "0.0625"}) {
      const std::string keys = "contact-method = " + method + "\nstep = " + step + " ms\nend = " + time + "\n";
      double error = 0.0;
      for (std::size_t i = 0; i < coordinates.size(); ++i)
        error = std::max(error, std::abs(end("simulation", model, keys, start, coordinates[i]) - exact[i]));
      EXPECT_LE(error, bound * std::stod(step)) << method << " " << step;
    }
  }
  std::string complaint(const std::string& model, const std::string& text) const {
    try {
      evaluator("simulation", model, text);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("dodyn-one-sided-" + std::to_string(::getpid()));
};

// A rope off the centre of mass catches a plate that turns. The event-driven method follows until bounces accumulate.
TEST_F(OneSided, ARopeIsThatOfHybrid) {
  expect_as_hybrid(hung_plate, plate_start, "0.6", {"x", "y", "turn", "rate(turn)/10"}, 0.1);
  expect_as_hybrid(hung_plate, plate_start, "0.45", {"x", "y", "turn", "rate(turn)/10"}, 1e-8, "event-driven");
}
TEST_F(OneSided, TwoRopesAreThoseOfHybrid) {
  expect_as_hybrid(std::string(hung_plate) + second_rope, plate_start, "0.6", {"x", "y", "turn"}, 8e-3);
}
// A stop at both ends of a joint's range in space, between two bodies that move.
TEST_F(OneSided, AStopInSpaceIsThatOfHybrid) {
  expect_as_hybrid(arm, "A = 0.4\nB = 0.5\nrate(B) = -3\n", "0.7", {"A", "B"}, 3e-3);
}
// The tip of a rod hits the ground, slides and bounces with friction.
TEST_F(OneSided, FrictionIsThatOfHybrid) {
  expect_as_hybrid(rod, "x = 0\ny = 0.7\nturn = 0.3\nrate(x) = 1\n", "0.5", {"x", "y", "turn"}, 0.03);
}

// The same rod by closed forms in a program apart: parabolas between impacts, Newton's law and Coulomb's cone at each.
TEST_F(OneSided, FrictionIsThatOfClosedForms) {
  const std::vector<std::pair<std::string, double>> expected = {
      {"x", 0.27550414}, {"y", 0.37173344}, {"turn", 0.73680991}};
  for (const auto& [coordinate, value] : expected)
    for (const std::string step : {"0.25", "0.0625"})
      EXPECT_NEAR(end("simulation", rod, "step = " + step + " ms\nend = 0.5\n",
                      "x = 0\ny = 0.7\nturn = 0.3\nrate(x) = 1\n", coordinate),
                  value, 0.03 * std::stod(step))
          << coordinate << " " << step;
}

// Beyond a turn the angle of a joint in the plane counts on: the wheel meets its stop at 10 rad.
TEST_F(OneSided, AStopBeyondATurn) {
  EXPECT_NEAR(end("simulation", wheel, "step = 1 ms\nend = 1\n", "turn = 1\nrate(turn) = 20\n", "turn"),
              10.0 - 10.0 * (1.0 - 9.0 / 20.0), 0.04);
}

// A run with long steps in free flight meets the rope as one with short steps does.
TEST_F(OneSided, LongStepsEndBeforeAGapCloses) {
  const std::string keys = "step = 0.5 ms\nend = 0.6\n";
  for (const std::string one : {"x", "y", "turn"})
    EXPECT_NEAR(end("simulation", hung_plate, keys + "max-step = 32 ms\n", plate_start, one),
                end("simulation", hung_plate, keys, plate_start, one), 5e-3);
}

// The impulses in the archive balance the momentum of the plate, and rules see the rope.
TEST_F(OneSided, ImpulsesAreArchived) {
  const auto it = evaluator("simulation", hung_plate,
                            std::string("step = 1 ms\nend = 0.6\nnodes = 61\n[initial-state]\n") + plate_start +
                                "[outcome taut]\nwhen = has_touched\n[cost]\ncost = max_impulse\n");
  const Outcome outcome = whole(*it);
  ASSERT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
  EXPECT_EQ(metric(*it, outcome, "taut"), 1.0);
  EXPECT_GT(outcome.evaluation.cost, 1.0);
  const auto &t = channel(*it, outcome, "t"), &v = channel(*it, outcome, "v"), &j = channel(*it, outcome, "impulse");
  double largest = 0.0;
  for (Eigen::Index k = 1; k < t.rows() && std::isfinite(t(k)); ++k) {
    EXPECT_NEAR(2.0 * (v(k, 0) - v(k - 1, 0)), j(k, 0), 1e-9);
    EXPECT_NEAR(2.0 * (v(k, 1) - v(k - 1, 1)), j(k, 1) - 2.0 * 9.81 * (t(k) - t(k - 1)), 1e-9);
    EXPECT_NEAR(0.03 * (v(k, 2) - v(k - 1, 2)), j(k, 2), 1e-9);
    largest = std::max(largest, j.row(k).head(2).norm());
  }
  EXPECT_GE(largest, 0.99 * outcome.evaluation.cost);
}

// A body that hangs still on its rope rests; a pendulum at its turning point does not.
TEST_F(OneSided, AHangingBodyRests) {
  const std::string hung =
      "[model]\ndimension = 2\ngravity = 9.81\n[link beam]\nparent = ground\njoint = fixed\n[link ball]\nparent = "
      "ground\njoint = planar\ncoordinates = x, y, turn\nmass = 1\ncentre = 0, 0\ninertia = 0.1\n[point middle]\n"
      "link = ball\n[point nail]\nlink = beam\n[contact rope]\ngap = 1 - distance(middle, nail)\nrestitution = 0\n";
  const std::string keys = "step = 1 ms\nend = 2\nrest-speed = 1 cm/s\n";
  const std::string rule = "[outcome still]\nwhen = resting\ndwell = 0.2 s\n[cost]\nsuccess = still\n";
  const auto share = [&](const std::string& start) {
    const auto it = evaluator("simulation", hung, keys + "[initial-state]\n" + start + rule);
    return metric(*it, whole(*it), "still");
  };
  EXPECT_EQ(share("y = -0.9\n"), 1.0);
  EXPECT_EQ(share("x = 0.6\ny = -0.8\n"), 0.0);
}

TEST_F(OneSided, WhatIsNotHonouredIsRefused) {
  const std::string keys = "step = 1 ms\nend = 0.1\n[initial-state]\n";
  const auto too_short = evaluator("simulation", hung_plate, keys + "x = 1\ny = 0\n");
  const Outcome outcome = whole(*too_short);
  EXPECT_EQ(outcome.evaluation.status, Status::infeasible);
  EXPECT_NE(outcome.evaluation.reason.find("initial state: the gap of 'rope' is -0.204"), std::string::npos)
      << outcome.evaluation.reason;
  const Outcome beyond = whole(*evaluator("simulation", wheel, keys + "turn = 10.5\n"));
  EXPECT_EQ(beyond.evaluation.status, Status::infeasible);
  EXPECT_EQ(beyond.evaluation.reason, "initial state: the gap of 'ratchet' is -0.5; allowed: 0 or more");
  for (const std::string method : {"penalty", "none"})
    EXPECT_NE(complaint(wheel, "contact-method = " + method + "\n" + keys + "turn = 1\n")
                  .find("simulation.contact-method = " + method +
                        ": does not close [stop ratchet]; allowed here: projection, event-driven"),
              std::string::npos)
        << complaint(wheel, "contact-method = " + method + "\n" + keys + "turn = 1\n");
  EXPECT_NE(
      complaint(std::string(wheel).replace(std::string(wheel).rfind("0.5"), 3, "0\nlatch = yes"), keys + "turn = 1\n")
          .find("'ratchet' latches, and a contact simulation has no bilateral contact; use evaluator hybrid or "
                "remove latch"),
      std::string::npos);
  EXPECT_NE(complaint(std::string(wheel) + "[contact odd]\ngap = 1\n", keys + "turn = 1\n")
                .find("the gap of 'odd' is constant; allowed: a function of coordinates or points"),
            std::string::npos);
}

}  // namespace
}  // namespace dodyn::evaluators::test_one_sided
