// Evaluator `simulation`: outcomes and costs against closed forms, initial states, tasks, rejected designs, mistakes.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <fstream>
#include <numbers>

#include "box_on_floor.hpp"
#include "evaluators/evaluator.hpp"
#include "record/text.hpp"
#include "tests/directory.hpp"
#include "whole.hpp"

namespace dodyn::evaluators::test_simulation {
namespace {

const char* const sliding = R"([study]
evaluator = simulation
[simulation]
model = box.model
end = 2 s
step = 1 ms
[initial-state]
y = half
rate(x) = speed
[initial-states]
speed = 1.3
[cost]
cost = x
)";

const char* const dropped = R"([study]
evaluator = simulation
[simulation]
model = box.model
end = 2 s
step = 1 ms
[initial-state]
y = half + height
[initial-states]
count = 16
height = 0.1 .. 0.5
[outcome landed]
when = has_touched
[cost]
cost = t - sqrt(2*height/9.81)
)";

class Simulations : public testing::Test {
 protected:
  void SetUp() override { write("box.model", box_on_floor); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  std::unique_ptr<Evaluator> evaluator(const std::string& text, const std::vector<std::string>& words = {}) const {
    return make_evaluator(read_settings(write("study.cfg", text), words));
  }
  std::string complaint(const std::string& text, const std::vector<std::string>& words = {}) const {
    try {
      evaluator(text, words);
    } catch (const ConfigError& error) {
      const std::string what = error.what();
      const auto at = what.find(folder_.path.string() + "/");
      return at == 0 ? what.substr(folder_.path.string().size() + 1) : what;
    }
    return "";
  }

  const Directory folder_;
};

// The box slides v^2/(2 mu g). The design sets the friction; the first step adds an error of at most v h.
TEST_F(Simulations, SlidingBoxStopsWhereFrictionSays) {
  const auto slide = evaluator(std::string(sliding) + "[design]\nfriction.min = 0.2\nfriction.max = 0.8\n");
  for (const double friction : {0.3, 0.4, 0.8}) {
    const Outcome outcome = whole(*slide, task({friction}));
    ASSERT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
    EXPECT_NEAR(outcome.evaluation.cost, 1.3 * 1.3 / (2.0 * friction * 9.81), 1.3 * 0.001) << friction;
    EXPECT_EQ(outcome.evaluation.cost_stderr, 0.0);
    EXPECT_EQ(outcome.evaluation.gradient.size(), 0);
  }
}

// A body of mass m under a constant force F ends F/c beyond its joint limit: c = 2 m/t is the damping of stops, t = 5
// ms.
TEST_F(Simulations, ACoordinateIsNoFasterThanItsLimit) {
  for (const bool plane : {true, false}) {
    const std::string model =
        std::string("[model]\ndimension = ") + (plane ? "2" : "3") +
        "\ngravity = 0\n[link box]\nparent = ground\njoint = " +
        (plane ? "planar\ncoordinates = x, y, a\n" : "spatial XYZ\ncoordinates = x, y, z, a, b, c\n") +
        "[shape box]\nlink = box\nbox = 0.2, 0.2" + (plane ? "" : ", 0.2") +
        "\nmass = 4\n[force push]\ncoordinate = x\nforce = 5\n[joint-limit fast]\ncoordinate = "
        "x\nspeed = 0.4\n";
    write("pushed.model", model);
    const auto pushed = evaluator(
        "[study]\nevaluator = simulation\n[simulation]\nmodel = pushed.model\nend = 2 s\nstep = 1 ms\n"
        "[initial-state]\nx = 0\n[cost]\ncost = rate(x)\n");
    const Outcome outcome = whole(*pushed, task());
    ASSERT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
    EXPECT_NEAR(outcome.evaluation.cost, 0.4 + 5.0 * 0.005 / (2.0 * 4.0), 1e-4) << plane;  // 2.5 m/s without it
  }
}

TEST_F(Simulations, BoxIsAtRestWhenFrictionHasStoppedIt) {
  const auto slide =
      evaluator(std::string(sliding) + "[outcome stopped]\nwhen = has_touched and resting\ndwell = 0.1\n");
  const Outcome outcome = whole(*slide, task());
  EXPECT_EQ(metric(*slide, outcome, "stopped"), 1.0);
  EXPECT_EQ(metric(*slide, outcome, "end"), 0.0);
  EXPECT_NEAR(metric(*slide, outcome, "time"), 1.3 / (0.4 * 9.81) + 0.1, 0.003);
}

// A pendulum without shapes: the archive of a study has no channel of shapes, and each channel has its values.
TEST_F(Simulations, ABodyWithoutShapesHasNoChannelOfShapes) {
  write("pendulum.model",
        "[model]\ndimension = 2\n[link rod]\nparent = ground\njoint = revolute\nmass = 1\ncentre = 0, -0.5\ninertia = "
        "0.1\n");
  const auto pendulum = evaluator(
      "[study]\nevaluator = simulation\n[simulation]\nmodel = pendulum.model\nend = 0.2 s\nstep = 1 "
      "ms\n[initial-state]\n"
      "rod = 30 deg\n[cost]\ncost = rod\n");
  const Outcome outcome = whole(*pendulum, task());
  ASSERT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
  const auto channels = pendulum->channels();
  ASSERT_EQ(channels.size(), outcome.trajectory.values.size());
  for (std::size_t i = 0; i < channels.size(); ++i) {
    EXPECT_NE(channels[i].name, "shapes");
    EXPECT_GT(channels[i].nodes, 0) << channels[i].name;
    EXPECT_EQ(channels[i].nodes, outcome.trajectory.values[i].rows()) << channels[i].name;
  }
}

// A box that slides in at speed v travels v^2/(2 mu g). Boxes that stop before 0.3 m have speeds between 0 and sqrt(0.6
// mu g). A misalignment that depends on design parameters alone, and refused designs, need no simulation.
TEST_F(Simulations, CaptureIsTheLargestMisalignmentBeforeOneThatFails) {
  std::string text = sliding;
  text.replace(text.find("speed = 1.3"), 11, "count = 40\nsampling = grid\nspeed = 0.02 .. 2.02");
  text.replace(text.find("cost = x"), 8, "success = short\nmisalignment = speed/2");
  text +=
      "[outcome short]\nwhen = has_touched and resting and x < 0.3\ndwell = 0.05\n"
      "[outcome far]\nwhen = x >= 0.3\n[metrics]\ntwice = 2*friction\n[require]\nrough = friction >= 0.3\n"
      "[design]\nfriction.min = 0.2\nfriction.max = 0.8\n";
  const auto slide = evaluator(text);
  const auto impossible = slide->infeasibility_test();
  ASSERT_TRUE(impossible);
  EXPECT_EQ(impossible(Eigen::VectorXd::Constant(1, 0.31)), "");
  EXPECT_NE(impossible(Eigen::VectorXd::Constant(1, 0.29)).find("'friction >= 0.3' does not hold"), std::string::npos);
  for (const double friction : {0.35, 0.6}) {
    const Outcome outcome = whole(*slide, task({friction}));
    ASSERT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
    EXPECT_DOUBLE_EQ(metric(*slide, outcome, "twice"), 2.0 * friction);
    const double limit = std::sqrt(0.6 * friction * 9.81), spacing = 2.0 / 40;
    EXPECT_GE(metric(*slide, outcome, "capture"), (limit - spacing) / 2.0 - 0.002);
    EXPECT_LE(metric(*slide, outcome, "capture"), limit / 2.0 + 0.002);
    EXPECT_NEAR(outcome.evaluation.cost, (2.02 - limit) / 2.0, 1.01 / 40);
  }
}

// The metric `capture` of a later set of initial states follows from that set, which is in the trajectory.
TEST_F(Simulations, CaptureIsThatOfTheSetOfInitialStates) {
  std::string text = sliding;
  text.replace(text.find("speed = 1.3"), 11, "count = 12\nspeed = 0.02 .. 2.02");
  text.replace(text.find("cost = x"), 8, "success = short\nmisalignment = speed/2");
  text += "[outcome short]\nwhen = has_touched and resting and x < 0.3\ndwell = 0.05\n[outcome far]\nwhen = x >= 0.3\n";
  const auto slide = evaluator(text);
  for (const std::uint64_t set : {0, 1, 2}) {
    Task asked = task();
    asked.evaluation.seed = set;
    const Outcome outcome = whole(*slide, asked);
    const Eigen::VectorXd failed = costs_of_states(slide->channels(), outcome.trajectory);
    const Eigen::VectorXd speeds = outcome.trajectory.values[0].col(0);
    double least = std::numeric_limits<double>::infinity(), capture = 0;
    for (Eigen::Index i = 0; i < failed.size(); ++i)
      if (failed(i) > 0) least = std::min(least, speeds(i));
    for (const double speed : speeds)
      if (speed < least) capture = std::max(capture, speed / 2);
    EXPECT_DOUBLE_EQ(metric(*slide, outcome, "capture"), capture) << set;
  }
}

TEST_F(Simulations, DroppedBodyLandsInTime) {
  const auto drop = evaluator(dropped);
  const Outcome outcome = whole(*drop, task());
  ASSERT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
  EXPECT_NEAR(outcome.evaluation.cost, 0.0, 0.002);
  EXPECT_EQ(metric(*drop, outcome, "landed"), 1.0);
  const auto channels = drop->channels();
  ASSERT_EQ(channels.size(), outcome.trajectory.values.size());
  for (std::size_t i = 0; i < channels.size(); ++i) {
    EXPECT_EQ(channels[i].nodes, outcome.trajectory.values[i].rows()) << channels[i].name;
    EXPECT_EQ(channels[i].coordinates.size(), outcome.trajectory.values[i].cols());
  }
  for (int k = 0; k < 16; ++k) {
    const double height = outcome.trajectory.values[0](k, 0);
    EXPECT_GE(height, 0.1);
    EXPECT_LE(height, 0.5);
    EXPECT_NEAR(outcome.trajectory.values[1](k, 1), std::sqrt(2.0 * height / 9.81), 0.002);
  }
}

// Poses and coordinates give the same energy: a free hinged body, with its energy written out.
TEST_F(Simulations, FormulasAgreeWithTheMotion) {
  write("double.model", R"([model]
dimension = 2
gravity = 9.81
[parameters]
length = 0.5
[link upper]
parent = ground
joint = planar
coordinates = x, y, a
end = 0, -length
mass = 2
inertia = 0.05
[link lower]
parent = upper
joint = revolute
coordinates = b
end = 0, -length
mass = 1
inertia = 0.03
[point middle]
link = upper
at = 0, -length/2
[point low]
link = lower
at = 0, -length/2
)");
  const auto residual = [&](const std::string& cost) {
    const auto flight = evaluator(
        "[study]\nevaluator = simulation\n[simulation]\nmodel = double.model\nend = 0.4 s\n[initial-state]\nx = 1\ny = "
        "2\na = "
        "0.3\n"
        "b = 0.7\nrate(x) = 1\nrate(a) = 2\nrate(b) = -1\n[cost]\ncost = " +
        cost + "\n");
    return whole(*flight, task()).evaluation.cost;
  };
  EXPECT_NEAR(residual("kinetic - speed(middle)^2 - 0.5*speed(low)^2 - 0.025*rate(a)^2 - 0.015*(rate(a) + rate(b))^2"),
              0.0, 1e-12);
  EXPECT_NEAR(residual("middle.x - x - length/2*sin(a)"), 0.0, 1e-13);
  EXPECT_NEAR(residual("low.y - y + length*cos(a) + length/2*cos(a + b)"), 0.0, 1e-13);
  EXPECT_NEAR(residual("rate(middle.y) - rate(y) - length/2*sin(a)*rate(a)"), 0.0, 1e-12);
  EXPECT_NEAR(residual("angle(lower, upper) - b"), 0.0, 1e-13);
  EXPECT_NEAR(residual("angle(lower) - a - b"), 0.0, 1e-13);
  // nothing pushes along x
  EXPECT_NEAR(residual("2*rate(middle.x) + rate(low.x)"),
              2.0 * (1.0 + 0.25 * std::cos(0.3) * 2.0) + 1.0 + 0.5 * std::cos(0.3) * 2.0 + 0.25 * std::cos(1.0) * 1.0,
              1e-9);
}

// Coordinates of every body count from where its joint is.
TEST_F(Simulations, CoordinatesOfSeveralBodiesAreTheirOwn) {
  write("two.model", R"([model]
dimension = 2
gravity = 9.81
[link one]
parent = ground
joint = planar
coordinates = x1, y1, a1
mass = 2
inertia = 0.05
[link two]
parent = ground
joint = planar
at = 3, -4
coordinates = x2, y2, a2
mass = 1
inertia = 0.03
)");
  const auto cost = [&](const std::string& of) {
    const auto flight = evaluator(
        "[study]\nevaluator = simulation\n[simulation]\nmodel = two.model\nend = 0.4 s\n[initial-state]\nx1 = 7\nx2 = "
        "0.5\n"
        "y2 = 2\nrate(x2) = 1\nrate(y2) = 3\n[cost]\ncost = " +
        of + "\n");
    return whole(*flight, task()).evaluation.cost;
  };
  EXPECT_NEAR(cost("x2"), 0.9, 1e-12);
  EXPECT_NEAR(cost("y2"), 2.0 + 3.0 * 0.4 - 0.5 * 9.81 * 0.16, 1e-9);
  EXPECT_NEAR(cost("rate(y2)"), 3.0 - 9.81 * 0.4, 1e-9);
  EXPECT_NEAR(cost("x1"), 7.0, 1e-12);
}

// Rules that need contact give the same outcome in whichever form they are written.
TEST_F(Simulations, RulesHoldWheneverTheirConditionDoes) {
  const auto time = [&](const std::string& when) {
    const auto drop = evaluator(dropped, {"--outcome.landed.when=" + when, "--initial-states.height=0.3"});
    return metric(*drop, whole(*drop, task()), "time");
  };
  const double landed = time("has_touched");
  EXPECT_EQ(time("(has_touched)"), landed);
  EXPECT_EQ(time("y < 1 and has_touched"), landed);
  EXPECT_EQ(time("has_touched and (resting or y < 1)"), landed);
  EXPECT_EQ(time("(y < 1) and (has_touched)"), landed);
  EXPECT_EQ(time("not (not has_touched)"), landed);
  EXPECT_EQ(time("has_touched or t > 0.1"), time("t > 0.1"));
  EXPECT_GE(time("resting"), landed);  // a released body has no initial velocity, but is not at rest
  EXPECT_LT(time("not has_touched"), landed);
  EXPECT_EQ(time("not has_touched and y < 1"), 0.0);
}

// Free flight with large steps ends in the same place as with small ones.
TEST_F(Simulations, LargeStepsFarFromEachOtherLandAtTheSameTime) {
  const auto fine = evaluator(dropped), coarse = evaluator(dropped, {"--simulation.max-step=64e-3"});
  const Outcome one = whole(*fine, task()), other = whole(*coarse, task());
  EXPECT_NEAR(one.evaluation.cost, other.evaluation.cost, 0.002);
  EXPECT_LT(metric(*coarse, other, "steps"), 0.7 * metric(*fine, one, "steps"));
}

// Far from contact a spring and a joint need short steps all the same: 64 ms would move the phase of x = 0.1 cos(20 t)
// by more than half a turn in 10 s.
TEST_F(Simulations, LongStepsAreRefusedWhereForcesNeedShortOnes) {
  const std::string body = "[model]\ndimension = 2\ngravity = 0\n[link b]\nparent = ground\njoint = ";
  const std::string free = body + "planar\ncoordinates = x, y, a\nmass = 1\ninertia = 0.1\n";
  const auto refusal = [&](const std::string& model, const std::string& longest) {
    write("far.model", model);
    return complaint(
        "[study]\nevaluator = simulation\n[simulation]\nmodel = far.model\nend = 10 s\nstep = 1 ms\n"
        "max-step = " +
        longest + "\n[initial-state]\n" + (model == free ? "x" : "rate(a)") + " = 0.1\n[cost]\ncost = a\n");
  };
  const std::string spring = "[spring s]\ncoordinate = x\nstiffness = 400\n",
                    hinge = body + "revolute\ncoordinates = a\nmass = 1\ninertia = 0.1\ncentre = 0, -1\n";
  EXPECT_EQ(refusal(free, "64 ms"), "");
  EXPECT_EQ(refusal(free + spring, "step"), "");
  for (const char* longest : {"2 ms", "3.999 ms"}) EXPECT_EQ(refusal(free + spring, longest), "");  // no growth by 4
  for (const char* longest : {"4 ms", "3.999999999999 ms"})                                         // rounding
    EXPECT_NE(refusal(free + spring, longest).find("allowed: step, or less than 4 times simulation.step"),
              std::string::npos)
        << longest;
  EXPECT_NE(refusal(free + spring, "64 ms").find("does not support a model with [spring]"), std::string::npos);
  EXPECT_NE(refusal(hinge, "64 ms").find("does not support a model with joints"), std::string::npos);
  EXPECT_NE(refusal(free + "[force f]\ncoordinate = x\nforce = 1\n", "64 ms").find("a model with [force]"),
            std::string::npos);
}

// In space the steps of a spinning body stay short, too: its attitude after 2 s is that of short steps.
TEST_F(Simulations, LongStepsFollowASpin) {
  write("top.model",
        "[model]\ndimension = 3\ngravity = 0\n[link b]\nparent = ground\njoint = spatial ZYX\n"
        "coordinates = x, y, z, c, b, a\nmass = 1\ninertia = 0.01, 0.02, 0.025\n"
        "[point tip]\nlink = b\nat = 0, 0, 1\n");
  const auto tip = [&](const std::string& longest) {
    const auto top = evaluator(
        "[study]\nevaluator = simulation\n[simulation]\nmodel = top.model\nend = 2 s\nstep = 1 ms\nmax-step = " +
        longest + "\n[initial-state]\nrate(a) = 2\nrate(b) = 3\nrate(c) = 1\n[cost]\ncost = tip.x\n");
    return whole(*top, task()).evaluation.cost;
  };
  EXPECT_NEAR(tip("64 ms"), tip("step"), 1e-3);  // steps of 64 ms are 0.036 off, of 4 ms 1.2e-4
}

// Frames of bodies do not contain full turns. Where these change a force, a run ends with a reason, not with the force
// of another angle.
TEST_F(Simulations, AForceOfAnAngleBeyondHalfATurnEndsTheRun) {
  const std::string plane = "joint = revolute\ncentre = 0, 0\ninertia = 0.1\n",
                    space = "joint = revolute z\ncentre = 0, 0, 0\ninertia = 0.1, 0.1, 0.1\n";
  write("wheel.cfg",
        "[study]\nevaluator = simulation\n[simulation]\nmodel = wheel.model\nend = 2 s\nstep = 2 ms\n"
        "[initial-state]\nrate(wheel) = 5\n[cost]\ncost = wheel\n");
  const auto outcome = [&](const std::string& joint, const std::string& force) {
    write("wheel.model", std::string("[model]\ndimension = ") + (joint == plane ? "2" : "3") +
                             "\ngravity = 0\n[link wheel]\nparent = ground\nmass = 1\n" + joint + force);
    return whole(*make_evaluator(read_settings(folder_ / "wheel.cfg", {}))).evaluation;
  };
  for (const std::string& joint : {plane, space}) {
    for (const std::string force :
         {"[spring soft]\ncoordinate = wheel\nstiffness = 0.01\n", "[potential hill]\nenergy = 0.1 N m/rad^2*wheel^2\n",
          "[force push]\ncoordinate = wheel\nforce = 0.1 N m/rad*wheel\n",
          "[joint-limit range]\ncoordinate = wheel\nto = 4\n"}) {
      const Evaluation failed = outcome(joint, force);
      EXPECT_EQ(failed.status, Status::failed) << force;
      EXPECT_NE(failed.reason.find("the angle wheel is beyond half a turn, where contact simulations do not have its "
                                   "springs, ranges, forces and energies; use the evaluator hybrid"),
                std::string::npos)
          << failed.reason;
    }
    for (const std::string force : {"", "[potential magnet]\nenergy = 0.01 N m*cos(wheel)\n",
                                    "[spring damper]\ncoordinate = wheel\ndamping = 0.001\n",
                                    "[joint-limit fast]\ncoordinate = wheel\nspeed = 100\n"})
      EXPECT_TRUE(outcome(joint, force).ok()) << force;
  }
}

// Outcomes and costs count the full turns of a hinge, in space as in the plane, from the angle of the initial state on.
TEST_F(Simulations, AnglesCountFullTurns) {
  const auto wheel = [&](int dimension, const std::string& body) {
    return write("wheel.model", "[model]\ndimension = " + std::to_string(dimension) +
                                    "\ngravity = 0\n[link wheel]\nparent = ground\nmass = 1\n" + body);
  };
  const std::string study =
      "[study]\nevaluator = simulation\n[simulation]\nmodel = wheel.model\nend = 2 s\nstep = 2 ms\n"
      "[initial-state]\nwheel = 7\nrate(wheel) = 5\n"
      "[outcome turned]\nwhen = t > 1.5 and wheel > 16\n[cost]\ncost = wheel\n";
  for (const auto& [dimension, body] : {std::pair(2, "joint = revolute\ninertia = 0.1\n"),
                                        std::pair(3, "joint = revolute z\ninertia = 0.1, 0.1, 0.1\n"),
                                        std::pair(3, "joint = revolute 1, 2, 2\ninertia = 0.1, 0.1, 0.1\n")}) {
    wheel(dimension, body);
    const auto spinning = evaluator(study);
    for (int repeat = 0; repeat < 2; ++repeat) {  // a run does not continue the turns of the one before
      const Outcome outcome = whole(*spinning, task());
      EXPECT_NEAR(metric(*spinning, outcome, "turned"), 1, 0) << body;
      EXPECT_NEAR(outcome.evaluation.cost, 16, 0.011) << body;  // a step turns by 0.01
    }
  }
}

// A heavy top that precesses by more than a turn: its first angle agrees with Euler's equations.
TEST_F(Simulations, AnglesOfATopCountFullTurns) {
  write("top.model",
        "[model]\ndimension = 3\n[link top]\nparent = ground\njoint = spherical ZXZ\ncoordinates = a, b, c\n"
        "mass = 0.5\ncentre = 0, 0, 0.1\ninertia = 0.0008, 0.0008, 0.0012\n");
  const auto top = evaluator(
      "[study]\nevaluator = simulation\n[simulation]\nmodel = top.model\nend = 2 s\nstep = 0.1 ms\n"
      "[initial-state]\nb = 30 deg\nrate(a) = 4.8\nrate(c) = 100\n[cost]\ncost = a\n");
  EXPECT_NEAR(whole(*top, task()).evaluation.cost, 9.753047, 5e-5);  // by integration of the equations to 1e-12
}

// A spring of length 0 whose ends coincide has no force: the body stays, and then swings as x = sin(20 t)/20.
TEST_F(Simulations, ASpringOfLengthZeroStartsWithItsEndsTogether) {
  write("zero.model",
        "[model]\ndimension = 2\ngravity = 0\n[link b]\nparent = ground\njoint = planar\ncoordinates = x, y, a\n"
        "mass = 1\ninertia = 0.1\n[spring s]\nfrom = ground : 0, 0\nto = b : 0, 0\nstiffness = 400\nlength = 0\n"
        "[force f]\ncoordinate = y\nforce = 0\n");
  for (const auto& [rate, x] : {std::pair("0", 0.0), std::pair("1", std::sin(1.0) / 20.0)}) {
    const auto swing = evaluator(
        std::string("[study]\nevaluator = simulation\n[simulation]\nmodel = zero.model\nend = 0.05 s\nstep = 1 ms\n"
                    "[initial-state]\nrate(x) = ") +
        rate + "\n[cost]\ncost = x\n");
    const Outcome outcome = whole(*swing, task());
    ASSERT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
    EXPECT_NEAR(outcome.evaluation.cost, x, 1e-5);
  }
}

TEST_F(Simulations, ShareOfAnOutcomeIsCounted) {
  const std::string rule = std::string(dropped).substr(0, std::string(dropped).find("[outcome")) +
                           "[outcome high]\nwhen = has_touched and height > 0.2\n[outcome low]\nwhen = has_touched\n"
                           "[cost]\nsuccess = low\n";
  const auto drop = evaluator(rule, {"--initial-states.sampling=grid"});
  const Outcome outcome = whole(*drop, task());
  // middles of 16 cells of 0.1 .. 0.5: four are below 0.2
  EXPECT_DOUBLE_EQ(outcome.evaluation.cost, 0.75);
  EXPECT_DOUBLE_EQ(metric(*drop, outcome, "high"), 0.75);
  EXPECT_DOUBLE_EQ(metric(*drop, outcome, "low"), 0.25);
  EXPECT_NEAR(outcome.evaluation.cost_stderr, std::sqrt(0.7 * 0.3 / 20.0), 1e-15);
  EXPECT_LT(metric(*drop, outcome, "failure_rate_low"), 0.75);
}

// Evaluations with seeds 0, 1, 2, ... have initial states of their own, the same for all designs.
TEST_F(Simulations, SharesOfAnOutcomeArePaired) {
  const std::string rule = std::string(dropped).substr(0, std::string(dropped).find("[outcome")) +
                           "[outcome high]\nwhen = has_touched and height > 0.2\n[outcome low]\nwhen = has_touched\n"
                           "[cost]\nsuccess = low\n";
  const auto drop = evaluator(rule), divided = evaluator(rule, {"--simulation.initial-states-per-task=5"});
  EXPECT_EQ(drop->pairing(), Pairing::extensible);
  EXPECT_EQ(evaluator(rule, {"--initial-states.sampling=grid"})->pairing(), Pairing::fixed);
  const auto of_set = [&](const Evaluator& one, std::uint64_t set) {
    Task asked = task();
    asked.evaluation.seed = set;
    return whole(one, asked);
  };
  const Outcome first = of_set(*drop, 0), second = of_set(*drop, 1);
  EXPECT_DOUBLE_EQ(costs_of_states(drop->channels(), first.trajectory).mean(), first.evaluation.cost);
  EXPECT_DOUBLE_EQ(costs_of_states(drop->channels(), second.trajectory).mean(), second.evaluation.cost);
  EXPECT_NE(first.trajectory.values[0], second.trajectory.values[0]);
  EXPECT_EQ(second.trajectory.values[0], of_set(*divided, 1).trajectory.values[0]);
  EXPECT_EQ(costs_of_states(drop->channels(), second.trajectory),
            costs_of_states(divided->channels(), of_set(*divided, 1).trajectory));
  // dodyn simulate ARCHIVE --evaluation repeats the runs of the evaluation's own set
  for (const std::uint64_t set : {0, 1}) {
    Task asked = task();
    asked.evaluation.seed = set;
    const auto shown = evaluator(rule, {"--simulation.initial-state=3"})->simulate(asked);
    ASSERT_TRUE(shown);
    const double height = (set == 0 ? first : second).trajectory.values[0](2, 0);
    EXPECT_NE(shown->report.find(formatted("initial state   3 of 16: height = %.6g\n", height)), std::string::npos)
        << shown->report;
  }
  // any other seed, such as that of a single evaluation, stands for the first set
  EXPECT_EQ(first.trajectory.values[0], of_set(*drop, 0x123456789abcdef).trajectory.values[0]);
}

// Means over all initial states are paired. Means over those of one outcome are not: the set depends on the design.
TEST_F(Simulations, MeansArePaired) {
  const auto drop = evaluator(dropped);
  EXPECT_EQ(drop->pairing(), Pairing::extensible);
  Task asked = task();
  asked.evaluation.seed = 1;
  const Outcome outcome = whole(*drop, asked);
  const Eigen::VectorXd costs = costs_of_states(drop->channels(), outcome.trajectory);
  ASSERT_EQ(costs.size(), 16);
  EXPECT_GT(costs.maxCoeff(), costs.minCoeff());
  EXPECT_DOUBLE_EQ(costs.mean(), outcome.evaluation.cost);
  const auto given = evaluator(dropped, {"--cost.given-outcome=landed"});
  EXPECT_EQ(given->pairing(), Pairing::none);
}

TEST_F(Simulations, PartsAreTheWhole) {
  const auto whole_at_once = evaluator(dropped),
             divided = evaluator(dropped, {"--simulation.initial-states-per-task=5"});
  EXPECT_EQ(whole_at_once->parts(), 1);
  EXPECT_EQ(divided->parts(), 4);
  const Outcome one = whole(*whole_at_once, task()), other = whole(*divided, task());
  EXPECT_EQ(one.evaluation.cost, other.evaluation.cost);
  EXPECT_EQ(one.evaluation.cost_stderr, other.evaluation.cost_stderr);
  ASSERT_EQ(one.trajectory.values.size(), other.trajectory.values.size());
  for (std::size_t i = 0; i < one.trajectory.values.size(); ++i)
    for (Eigen::Index k = 0; k < one.trajectory.values[i].size(); ++k) {
      const double a = one.trajectory.values[i](k), b = other.trajectory.values[i](k);
      EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b)));
    }
}

// Aggregates of final states: a box that slides in at speed v stops after v^2/(2 mu g), unless it is far before.
TEST_F(Simulations, MetricsAreAggregatesOfTheRuns) {
  std::string text = sliding;
  text.replace(text.find("speed = 1.3"), 11, "count = 10\nsampling = grid\nspeed = 0 .. 2");
  text += "[outcome stopped]\nwhen = has_touched and resting\ndwell = 0.05\n[outcome far]\nwhen = x >= 0.3\n";
  const std::string metrics =
      "[metrics]\nreach = mean(x)\nmost = max_over(x)\nleast = min_over(speed)\nstill = share(resting)\n"
      "near = share(x < 0.2 and t > 0)\nslope = mean(speed^2)/(2*reach*9.81 m/s^2)\ntwice = 2*friction*(near + far)\n";
  const auto slide = evaluator(text + metrics, {"--design.friction=0.5"});
  const Outcome outcome = whole(*slide, task());
  ASSERT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
  const auto value = [&](const std::string& name) { return metric(*slide, outcome, name); };
  EXPECT_EQ(value("reach"), outcome.evaluation.cost);
  EXPECT_NEAR(value("most"), 0.3, 0.002);  // one step beyond
  EXPECT_DOUBLE_EQ(value("least"), 0.1);
  int stopped = 0, near = 0;
  for (double speed = 0.1; speed < 2.0; speed += 0.2) {
    const double way = speed * speed / (2.0 * 0.5 * 9.81);
    stopped += way < 0.3;
    near += way < 0.2;
  }
  EXPECT_DOUBLE_EQ(value("still"), stopped / 10.0);
  EXPECT_DOUBLE_EQ(value("near"), near / 10.0);
  EXPECT_DOUBLE_EQ(value("twice"), 2.0 * 0.5 * (value("near") + value("far")));
  // given-outcome: the runs that stop, whose ways have their closed form
  const auto given = evaluator(text + metrics, {"--design.friction=0.5", "--cost.given-outcome=stopped",
                                                "--simulation.initial-states-per-task=3"});
  const Outcome some = whole(*given, task());
  EXPECT_NEAR(metric(*given, some, "slope"), 0.5, 0.01);
  EXPECT_EQ(metric(*given, some, "reach"), some.evaluation.cost);
  EXPECT_EQ(metric(*given, some, "still"), value("still"));
  for (const Quantity& one : given->metrics())
    if (one.name == "reach" || one.name == "near") {
      EXPECT_EQ(one.unit, one.name == "reach" ? "m" : "1");
    }
  const auto refused = [&](const std::string& entry) { return complaint(text + "[metrics]\n" + entry + "\n"); };
  EXPECT_NE(refused("a = x").find("'x' has many values; take one of them, such as mean(x)"), std::string::npos);
  EXPECT_NE(refused("a = speed").find("'speed' has many values"), std::string::npos);
  EXPECT_NE(refused("a = mean(x > 0)").find("'x > 0' is a condition; use share"), std::string::npos);
  EXPECT_NE(refused("a = share(x)").find("'x' is a number; allowed in share: a condition"), std::string::npos);
  EXPECT_NE(refused("a = mean(share(resting))").find("has an aggregate in an aggregate"), std::string::npos);
  EXPECT_NE(refused("a = mean(x, stopped)").find("names a phase; runs have none"), std::string::npos);
  EXPECT_NE(refused("a = meen(x)").find("unknown name 'meen(x)' (did you mean 'mean'?)"), std::string::npos);
  EXPECT_NE(refused("a = mean(fricton)").find("did you mean 'friction'"), std::string::npos);
  EXPECT_NE(refused("a = frictoin").find("did you mean 'friction'"), std::string::npos);
  EXPECT_NE(refused("stopped = mean(x)").find("has the name of another metric"), std::string::npos);
}

TEST_F(Simulations, StartsOfAFileAndParametersOfEach) {
  write("initial-states.csv", "y, rate(x), friction\n0.1, 1, 0.2\n0.1, 1, 0.4\n0.1, 2, 0.4\n");
  std::string text = sliding;
  text.erase(text.find("[initial-state]"), text.find("[cost]") - text.find("[initial-state]"));
  const auto slide = evaluator(text + "[initial-states]\nfile = initial-states.csv\n");
  const Outcome outcome = whole(*slide, task());
  ASSERT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
  const double mean = (1.0 / 0.2 + 1.0 / 0.4 + 4.0 / 0.4) / (2.0 * 9.81) / 3.0;
  EXPECT_NEAR(outcome.evaluation.cost, mean, 0.002);
  const auto shown = slide->simulate(task());
  ASSERT_TRUE(shown);
  EXPECT_NE(shown->report.find("initial state   1 of 3: y = 0.1, rate(x) = 1, friction = 0.2"), std::string::npos)
      << shown->report;
  EXPECT_EQ(shown->channels.size(), shown->trajectory.values.size());
}

TEST_F(Simulations, DesignsThatCannotBeAreInfeasible) {
  const auto slide =
      evaluator(std::string(sliding) + "[require]\nsmall = side <= 0.5\n[design]\nside.min = -1\nside.max = 1\n");
  const auto reason = [&](double side) {
    const Outcome outcome = whole(*slide, task({side}));
    EXPECT_EQ(outcome.evaluation.status, Status::infeasible);
    EXPECT_TRUE(std::isnan(outcome.evaluation.cost));
    return outcome.evaluation.reason;
  };
  EXPECT_NE(reason(0.6).find("small: 'side <= 0.5' does not hold, side = 0.6"), std::string::npos) << reason(0.6);
  EXPECT_NE(reason(-0.1).find("more than 0"), std::string::npos) << reason(-0.1);
  EXPECT_TRUE(whole(*slide, task({0.3})).evaluation.ok());
  std::string sunk = sliding;
  sunk.replace(sunk.find("y = half"), 8, "y = 0.1 ");
  const auto overlapping = evaluator(sunk + "[design]\nside.min = 0.1\nside.max = 1\n");
  EXPECT_EQ(whole(*overlapping, task({0.4})).evaluation.status, Status::infeasible);
  EXPECT_NE(whole(*overlapping, task({0.4})).evaluation.reason.find("overlap"), std::string::npos);
}

// The event-driven response fails if contact lasts.
TEST_F(Simulations, TooManyBreakdownsFail) {
  const auto drop = evaluator(dropped, {"--outcome.landed.when=t > 5", "--simulation.contact-method=event-driven"});
  const Outcome outcome = whole(*drop, task());
  EXPECT_EQ(outcome.evaluation.status, Status::failed);
  EXPECT_EQ(metric(*drop, outcome, "failed"), 1.0);
  EXPECT_NE(outcome.evaluation.reason.find("16 of 16 simulations broke down"), std::string::npos)
      << outcome.evaluation.reason;
}

// Cubes that touch from the start, up to rounding: the last one takes the whole speed of the first.
TEST_F(Simulations, EventDrivenCradleOfTouchingCubes) {
  write("cradle.model",
        "[model]\ndimension = 3\ngravity = 0\n[parameters]\nside = 0.1\n[surface]\nrestitution = 1\nfriction = 0\n"
        "[link c_i]\ncount = 5\nparent = ground\njoint = spatial XYZ\n[shape c_i]\nlink = c_i\nbox = side, side, "
        "side\ndensity = 1000\n");
  const auto cradle = evaluator(
      "[study]\nevaluator = simulation\n[simulation]\nmodel = cradle.model\nend = 1 s\nstep = 1 ms\n"
      "contact-method = event-driven\n[initial-state]\nc_i_x = i*side\nrate(c_1_x) = 1\n[cost]\ncost = rate(c_5_x)\n");
  const Outcome outcome = whole(*cradle, task());
  ASSERT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
  EXPECT_NEAR(outcome.evaluation.cost, 1.0, 1e-9);
}

// Poles that meet without shapes: the energy grows from -1e-4 to 9 J.
TEST_F(Simulations, EnergyFromNowhereFails) {
  std::string model = "[model]\ndimension = 3\ngravity = 0\ncharge-constant = 1e-7\n";
  for (const std::string name : {"a", "b"}) {
    model += "[link " + name + "]\nparent = ground\njoint = spatial XYZ\nmass = 1\ninertia = 0.01, 0.02, 0.03\n";
    for (const std::string sign : {"", "-"})
      model += "[charge " + name + (sign.empty() ? "1" : "2") + "]\nlink = " + name + "\nat = " + sign +
               "0.05, 0, 0\nvalue = " + sign + "62.5\n";
  }
  write("dipole.model", model);
  const std::string text =
      "[study]\nevaluator = simulation\n[simulation]\nmodel = dipole.model\nend = 20 s\nstep = 2 ms\nfixed = a\n"
      "[initial-state]\nb_x = 0.4\nb_y = 0.1\nb_turn_z = 0.5\n[cost]\ncost = t\n";
  const Outcome meet = whole(*evaluator(text), task());
  EXPECT_EQ(meet.evaluation.status, Status::failed);
  EXPECT_NE(meet.evaluation.reason.find("the energy changes by"), std::string::npos) << meet.evaluation.reason;
  EXPECT_TRUE(whole(*evaluator(text, {"--simulation.end=2"}), task()).evaluation.ok());  // before they meet
}

TEST_F(Simulations, KeysOfOtherContactMethodsAreNotedOrRefused) {
  const auto note = [&](const std::string& method, const std::string& key) {
    const Settings settings = read_settings(
        write("study.cfg", dropped), {"--simulation.contact-method=" + method, "--simulation.stiffness=5",
                                      "--simulation.jump=discrete-energy", "--simulation.restitution-law=newton"});
    for (const Setting& setting : settings.all)
      if (setting.key.name == "simulation." + key) return setting.note;
    return std::string("no such key");
  };
  for (const auto& [key, user] : std::map<std::string, std::string>{
           {"stiffness", "penalty"}, {"jump", "event-driven"}, {"restitution-law", "projection"}})
    for (const std::string method : {"penalty", "event-driven", "projection", "none"})
      EXPECT_EQ(note(method, key), method == user ? "" : "not used: simulation.contact-method = " + method) << key;
  EXPECT_NE(complaint(dropped, {"--simulation.contact-method=event-driven", "--simulation.restitution-law=poisson"})
                .find("event-driven contacts have the law newton only"),
            std::string::npos);
  EXPECT_EQ(complaint(dropped, {"--simulation.restitution-law=poisson"}), "");
}

TEST_F(Simulations, StopsAtItsTimeLimit) {
  Task late = task();
  late.deadline = std::chrono::steady_clock::now();
  EXPECT_EQ(whole(*evaluator(dropped), late).evaluation.status, Status::timed_out);
}

TEST_F(Simulations, MistakesAreOneLine) {
  const std::string text = dropped;
  EXPECT_EQ(complaint(text), "");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    const std::string line = complaint(changed);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    return line;
  };
  EXPECT_TRUE(with("y = half", "yy = half")
                  .starts_with("study.cfg:8: yy = half + height: 'yy' is not a coordinate (did you mean 'y'?)"))
      << with("y = half", "yy = half");
  EXPECT_TRUE(with("half + height", "half + hight")
                  .starts_with("study.cfg:8: y = half + hight: 'hight' is unknown (did you mean 'height'?)"))
      << with("half + height", "half + hight");
  EXPECT_TRUE(with("when = has_touched", "when = has_tuched")
                  .find("study.cfg:13: when = has_tuched: 'has_tuched' is unknown (did you mean 'has_touched'?)") == 0)
      << with("when = has_touched", "when = has_tuched");
  EXPECT_TRUE(with("when = has_touched", "when = x + 1").starts_with("study.cfg:13: when = x + 1: is not a condition"));
  EXPECT_TRUE(with("cost = t", "cost = t > 1 and 0 < t").find("is a condition; allowed: a number") !=
              std::string::npos);
  EXPECT_TRUE(with("cost = t", "success = lande # ").find("no outcome of that name (did you mean 'landed'?)") !=
              std::string::npos);
  EXPECT_TRUE(
      with("height = 0.1 .. 0.5", "height = 0.1 .. 0.5\nheigth = 1 .. 2").find("nothing in [initial-state] uses it") !=
      std::string::npos);
  EXPECT_NE(with("height = 0.1 .. 0.5", "").find("all initial states are equal; add a range"), std::string::npos);
  EXPECT_NE(
      with("count = 16", "count = 16\nsampling = grid\nseed = 2").find("seed = 2: has no effect with sampling = grid"),
      std::string::npos);
  EXPECT_NE(with("height = 0.1 .. 0.5", "height = 0.5 .. 0.1").find("ends at 0.1, below its start at 0.5"),
            std::string::npos);
  EXPECT_EQ(with("count = 16\nheight = 0.1 .. 0.5", "count = 1\nheight = 0.3"), "");
  EXPECT_TRUE(with("box.model", "bx.model").starts_with("study.cfg:4: simulation.model = bx.model"));
  std::string replaced = text;
  replaced.replace(replaced.find("y = half"), 8, "friction = 0.4\ny = half");
  EXPECT_EQ(complaint(replaced), "");
  EXPECT_NE(complaint(replaced + "[design]\nfriction = 0.5\n").find("friction = 0.4: replaces design.friction"),
            std::string::npos);
  EXPECT_NE(complaint(text + "[metrics]\ncost = friction\n").find("has the name of a column"), std::string::npos);
  EXPECT_NE(complaint(text + "[design]\nsid = 1\n").find("did you mean 'design.side'"), std::string::npos);
  EXPECT_NE(complaint(text, {"--simulation.initial-state=17"}).find("there are only 16 initial states"),
            std::string::npos);
  write("bad.csv", "y,rate(x)\n1,2\n1,two\n");
  std::string file = text;
  file.replace(file.find("count = 16\nheight = 0.1 .. 0.5"), 30, "file = bad.csv");
  EXPECT_TRUE(complaint(file).starts_with("bad.csv:3: rate(x) = two is not a number; expected a finite number"))
      << complaint(file);
}

// Entries that a run would not use are refused.
TEST_F(Simulations, EntriesWithoutEffectAreRefused) {
  const std::string text = dropped;
  const auto in_states = [&](const std::string& entry) {
    std::string changed = text;
    changed.insert(changed.find("height = 0.1"), entry + "\n");
    return complaint(changed);
  };
  for (const char* name : {"t", "kinetic", "resting", "effort"})
    EXPECT_NE(in_states(std::string(name) + " = 0.1 .. 1").find("is a quantity of every run"), std::string::npos)
        << name << ": " << in_states(std::string(name) + " = 0.1 .. 1");
  const auto of_fixed_box = [&](const std::string& entry) {
    std::string changed = text;
    changed.insert(changed.find("y = half"), entry + "\n");
    return complaint(changed, {"--simulation.fixed=box"});
  };
  EXPECT_EQ(of_fixed_box("x = 0.1"), "");
  for (const std::string& line : {of_fixed_box("rate(x) = -1"), of_fixed_box("rate(theta) = 0.7")})
    EXPECT_NE(line.find("has no effect, because simulation.fixed holds link box"), std::string::npos) << line;
  EXPECT_NE(complaint(text + "[disturbance]\narm = 0.1 m\n").find("force"), std::string::npos);
  EXPECT_EQ(complaint(text + "[disturbance]\nforce = 1 N\narm = 0.1 m\n"), "");
}

// Actuators rest here: a force that follows their controls would be zero in silence.
TEST_F(Simulations, AForceOfAnActuatorsControlIsRefused) {
  const std::string arm =
      "[model]\ndimension = 2\n[link p]\nparent = ground\njoint = revolute\nmass = 1\ninertia = 0.1\n"
      "[actuator motor]\ncoordinate = p\n";
  const std::string study =
      "[study]\nevaluator = simulation\n[simulation]\nmodel = arm.model\nend = 0.1\n[cost]\ncost = p\n";
  write("arm.model", arm);
  EXPECT_EQ(complaint(study), "");
  write("arm.model", arm + "[force f]\ncoordinate = p\nforce = 2*u.motor\n");
  EXPECT_NE(complaint(study).find("[force f] depends on u.motor, but actuators rest"), std::string::npos)
      << complaint(study);
}

// A loss that a sample or an initial state gives to a surface is refused by penalty, as one of the model is.
TEST_F(Simulations, PenaltyRefusesLossesOfInitialStates) {
  const auto with = [&](const std::string& states, const std::string& state) {
    std::string changed = dropped;
    changed.insert(changed.find("height = 0.1"), states);
    changed.insert(changed.find("y = half"), state);
    return complaint(changed, {"--simulation.contact-method=penalty", "--design.friction=0"});
  };
  EXPECT_EQ(with("", "restitution = 1\n"), "");
  EXPECT_EQ(with("restitution = 1\n", ""), "");
  for (const std::string& line : {with("", "restitution = 0.3\n"), with("restitution = 0.2 .. 0.4\n", "")})
    EXPECT_NE(line.find("does not support friction or restitution"), std::string::npos) << line;
}

// x(POINT, LINK) is where a link sees a point, wherever it is and however it is turned.
TEST_F(Simulations, PointsSeenFromALink) {
  write("two.model", R"([model]
dimension = 2
gravity = 0
[link base]
parent = ground
joint = planar
mass = 1
inertia = 1
[link arm]
parent = base
joint = fixed
at = 0.3, 0.1
mass = 0
[link far]
parent = ground
joint = planar
mass = 1
inertia = 1
[point tip]
link = far
at = 0.2, 0
)");
  const auto value = [&](const std::string& cost) {
    const auto still = evaluator(
        "[study]\nevaluator = simulation\n[simulation]\nmodel = two.model\nend = 0.01\n[initial-state]\nbase_x = "
        "1\nbase_y = "
        "2\nbase = 0.4\nfar_x = -1\nfar_y = 0.5\nfar = 2\n[cost]\ncost = " +
        cost + "\n");
    return whole(*still, task()).evaluation.cost;
  };
  const double dx = -1 + 0.2 * std::cos(2.0) - 1, dy = 0.5 + 0.2 * std::sin(2.0) - 2, c = std::cos(0.4),
               s = std::sin(0.4);
  EXPECT_NEAR(value("x(tip, base)"), c * dx + s * dy, 1e-12);
  EXPECT_NEAR(value("y(tip, base)"), -s * dx + c * dy, 1e-12);
  EXPECT_NEAR(value("x(tip, arm)"), c * dx + s * dy - 0.3, 1e-12);
  EXPECT_NEAR(value("y(tip, arm)"), -s * dx + c * dy - 0.1, 1e-12);
}

// At the last node, which is that of simulation.end, and there alone.
TEST_F(Simulations, TimeIsUpAtTheEnd) {
  const auto drop = evaluator(dropped, {"--outcome.landed.when=at_end and not (y < -1)", "--simulation.end=0.05"});
  const Outcome outcome = whole(*drop, task());
  EXPECT_EQ(metric(*drop, outcome, "landed"), 1.0);
  EXPECT_NEAR(metric(*drop, outcome, "time"), 0.05, 1e-12);
}

// In the shipped bounce, the remaining energy after five impacts lifts the cube to e^10 of its initial height.
TEST(Bounce, RisesAsHighAsTheLawOfRestitutionSays) {
  for (const char* step : {"10 ms", "2 ms"})
    for (const char* law : {"newton", "poisson"}) {
      const auto evaluator = make_evaluator(read_settings(
          std::string(CONFIGS) + "/scene-bounce.cfg",
          {std::string("--simulation.step=") + step, std::string("--simulation.restitution-law=") + law}));
      Task task;
      task.evaluation.design.resize(0);
      const Outcome outcome = evaluator->evaluate(task);
      ASSERT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
      EXPECT_NEAR(outcome.evaluation.cost, 0.5 * std::pow(0.8, 10), 1e-7) << step << ", " << law;
    }
}

// The overlap of two hexagons is a damped oscillator for half a period.
TEST(Hexagons, DragTakesFromACollisionWhatADamperDoes) {
  const double stiffness = 1000.0, drag = 5.0, reduced = 0.5 * 10.0 * 1.5 * std::sqrt(3.0) * 0.04;
  const auto pair = make_evaluator(read_settings(
      std::string(CONFIGS) + "/scene-hexagons.cfg",
      {"--design.hexagons=2", "--design.charge=0", "--initial-states.gap=1 mm", "--initial-states.spin=0",
       "--initial-state.rate(hexagon_i_y)=0", "--initial-state.rate(hexagon_i_x)=0.1*(3 - 2*i) + speed*draw",
       "--initial-states.speed=0", "--initial-states.draw=1", "--simulation.step=0.2 ms", "--simulation.end=0.4",
       "--cost.cost=rate(hexagon_2_x)/0.1"}));
  const Outcome outcome = whole(*pair, Task());
  ASSERT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
  const double decay = drag / (2.0 * reduced), omega = std::sqrt(stiffness / reduced - decay * decay);
  EXPECT_NEAR(outcome.evaluation.cost, std::exp(-decay * std::acos(-1.0) / omega), 2e-3);
}

// The Coulomb energy of packed hexagons, by an independent program.
TEST(Hexagons, ChargesOfAPairAndOfARhombus) {
  for (const auto& [count, energy] : {std::pair("2", -0.021035155), {"16", -0.692495658}}) {
    const auto packed = make_evaluator(read_settings(
        std::string(CONFIGS) + "/scene-hexagons.cfg",
        {"--design.hexagons", count, "--design.depth=0.01", "--initial-states.gap=1e-12", "--initial-states.speed=0",
         "--initial-states.spin=0", "--simulation.step=1e-7", "--simulation.end=1e-6", "--cost.cost=potential"}));
    const Outcome outcome = whole(*packed, Task());
    ASSERT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
    EXPECT_NEAR(outcome.evaluation.cost, energy, 2e-9);
  }
}

TEST(Hexagons, ClumpWithChargesAndDisperseWithout) {
  const auto seven = [](const std::string& charge) {
    const auto scene =
        make_evaluator(read_settings(std::string(CONFIGS) + "/scene-hexagons.cfg",
                                     {"--design.hexagons=8", "--design.charge", charge, "--simulation.end=5"}));
    const Outcome outcome = whole(*scene, Task());
    EXPECT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
    return outcome.evaluation.cost;
  };
  EXPECT_LT(seven("5e-4"), seven("0") - 0.02);
}

// The shipped scene accounts for its energy at its own step. The sum that is independent of the program's totals:
// kinetic energy and the Coulomb energy of all pairs of charges, from the poses and velocities of the trajectory.
TEST(Hexagons, TheShippedSceneAccountsForItsEnergy) {
  constexpr int hexagons = 16;
  constexpr double side = 0.2, density = 10.0, charge = 5e-4, reach = 0.5 * std::numbers::sqrt3 * side - 0.02;
  const double mass = density * 1.5 * std::numbers::sqrt3 * side * side, inertia = mass * 5.0 / 12.0 * side * side;
  const auto scene = make_evaluator(
      read_settings(std::string(CONFIGS) + "/scene-hexagons.cfg", {"--simulation.end=6", "--cost.cost=energy_change"}));
  const Outcome outcome = whole(*scene, Task());
  ASSERT_TRUE(outcome.evaluation.ok()) << outcome.evaluation.reason;
  const auto &q = channel(*scene, outcome, "q"), &v = channel(*scene, outcome, "v"),
             &energy = channel(*scene, outcome, "energy");
  const auto own = [&](Eigen::Index row) {
    double sum = 0.0;
    std::vector<std::array<double, 2>> at;
    for (int b = 0; b < hexagons; ++b) {
      const double vx = v(row, 3 * b), vy = v(row, 3 * b + 1), spin = v(row, 3 * b + 2);
      sum += 0.5 * mass * (vx * vx + vy * vy) + 0.5 * inertia * spin * spin;
      for (int k = 0; k < 6; ++k) {
        const double angle = q(row, 3 * b + 2) + k * std::numbers::pi / 3.0;
        at.push_back({q(row, 3 * b) + reach * std::cos(angle), q(row, 3 * b + 1) + reach * std::sin(angle)});
      }
    }
    for (std::size_t i = 0; i < at.size(); ++i)
      for (std::size_t j = i - i % 6 + 6; j < at.size(); ++j)
        sum += charge * ((i + j) % 2 ? -1.0 : 1.0) / std::hypot(at[i][0] - at[j][0], at[i][1] - at[j][1]);
    return sum;
  };
  const Eigen::Index last = energy.rows() - 1;
  double in_overlaps = 0.0;
  for (Eigen::Index row = 0; row <= last; row += 10) {
    const double overlaps = energy(row, 0) + energy(row, 1) - own(row);
    EXPECT_GE(overlaps, -1e-9) << row;
    in_overlaps = std::max(in_overlaps, overlaps);
  }
  EXPECT_GT(in_overlaps, 1e-4);
  // drag only dissipates; the program's totals contain the independently computed loss to 1 %
  const double lost = own(0) - own(last), unaccounted = outcome.evaluation.cost;
  EXPECT_GT(lost, 0.05);
  EXPECT_LT(std::abs(unaccounted), 0.01 * lost);
}

// Whether a body rests does not depend on the step. Its height is exact to the fall in one step.
TEST_F(Simulations, RestDoesNotDependOnTheStep) {
  const std::string text =
      "[study]\nevaluator = simulation\n[simulation]\nmodel = sliding-box\nend = 3 s\n[initial-states]\ncount = 8\n"
      "sampling = random\nz = 0.12 .. 0.3\nroll = -3 .. 3\npitch = -1.5 .. 1.5\nyaw = -3 .. 3\n"
      "[outcome rested]\nwhen = has_touched and resting\ndwell = 0.2 s\n[cost]\ncost = potential\n";
  constexpr double mass = 1.0, gravity = 9.81, half = 0.05;
  for (const char* seed : {"1", "2"})
    for (const double step : {0.5e-3, 1e-3, 2e-3, 3e-3, 4e-3}) {
      const auto drop = evaluator(
          text, {"--simulation.step=" + std::to_string(step) + " s", std::string("--initial-states.seed=") + seed});
      const Outcome outcome = whole(*drop, task());
      EXPECT_EQ(metric(*drop, outcome, "rested"), 1.0) << "seed " << seed << ", step " << step;
      const double height = outcome.evaluation.cost / (mass * gravity) - half;  // on average
      EXPECT_GE(height, -1e-8);
      EXPECT_LE(height, 0.5 * gravity * step * step);
      EXPECT_LT(metric(*drop, outcome, "time"), 1.4);
    }
}

// Floor and wall as shapes of one link: each has its own direction.
TEST_F(Simulations, ARoomOfOneLinkHasAFloorAndAWall) {
  write("room.model", R"([model]
dimension = 3
gravity = 9.81
[parameters]
restitution = 0.5
friction = 0.4
[surface]
restitution = restitution
friction = friction
[link room]
parent = ground
joint = fixed
[shape floor]
link = room
box = 10, 10, 1
at = 0, 0, -0.5
outward = 0, 0, 1
[shape wall]
link = room
box = 1, 10, 4
at = -0.5, 0, 2
outward = 2, 0, 0
[link cube]
parent = ground
joint = spatial XYZ
[shape cube]
link = cube
box = 0.1, 0.1, 0.1
density = 500
)");
  const std::string text =
      "[study]\nevaluator = simulation\n[simulation]\nmodel = room.model\nend = 0.6 s\nstiffness = 20000\n"
      "[initial-states]\ncount = 10\nx = 0.1 .. 0.3\nz = 0.1 .. 0.3\ncube_turn_x = -1 .. 1\ncube_turn_y = -1 .. 1\n"
      "rate(x) = -1.5 .. -0.5\n[cost]\ncost = kinetic + potential\n";
  EXPECT_NE(complaint(text, {"--simulation.contact-method=penalty"}).find("does not support friction"),
            std::string::npos);
  for (const char* response : {"projection", "penalty"}) {
    std::vector<std::string> words = {std::string("--simulation.contact-method=") + response};
    if (std::string_view(response) == "penalty")
      words.insert(words.end(), {"--simulation.step=0.05 ms", "--design.restitution=1", "--design.friction=0"});
    else
      words.emplace_back("--simulation.step=2 ms");
    const auto thrown = evaluator(text, words);
    const Outcome outcome = whole(*thrown, task());
    ASSERT_TRUE(outcome.evaluation.ok()) << response << ": " << outcome.evaluation.reason;
    EXPECT_EQ(metric(*thrown, outcome, "failed"), 0.0) << response;
    // half a kilogramme from 0.3 m at 1.5 m/s has 2.1 J at most
    EXPECT_LT(outcome.evaluation.cost, 2.1) << response;
    EXPECT_GT(outcome.evaluation.cost, 0.0) << response;
    EXPECT_LT(metric(*thrown, outcome, "energy_change"), 0.1) << response;
  }
}

// Seven prisms at rest, a millimetre apart, pull each other into a flower: six centres at the distance of two faces.
TEST_F(Simulations, PrismsAssembleIntoAFlower) {
  const std::string text =
      "[study]\nevaluator = simulation\n[simulation]\nmodel = prisms\ncontact-method = projection\nstep = 0.005\nend = "
      "4\n"
      "[initial-state]\nprism_i_x = min(i - 1, 1)*(sqrt(3)*side + gap)*cos(60 deg*i)\n"
      "prism_i_y = min(i - 1, 1)*(sqrt(3)*side + gap)*sin(60 deg*i)\n[initial-states]\ngap = 0.001\n"
      "[outcome assembled]\nwhen = cluster >= prisms\n[cost]\ncost = radius_of_gyration\n"
      "[design]\nrestitution = 0.2\n";
  const auto weak = evaluator(text + "charge = 1e-9\n"), strong = evaluator(text + "charge = 5e-3\n");
  const double side = 0.2, apart = std::sqrt(3.0) * side;
  const Outcome together = whole(*strong, task()), alone = whole(*weak, task());
  ASSERT_TRUE(together.evaluation.ok()) << together.evaluation.reason;
  EXPECT_EQ(metric(*strong, together, "assembled"), 1.0);
  EXPECT_NEAR(together.evaluation.cost, std::sqrt(6.0 / 7.0) * apart, 1e-4);
  EXPECT_GT(metric(*strong, together, "time"), 0.0);
  EXPECT_EQ(metric(*weak, alone, "assembled"), 0.0);
  EXPECT_NEAR(alone.evaluation.cost, std::sqrt(6.0 / 7.0) * (apart + 0.001), 1e-6);
  EXPECT_NEAR(metric(*weak, alone, "time"), 4.0, 1e-9);
}

}  // namespace
}  // namespace dodyn::evaluators::test_simulation
