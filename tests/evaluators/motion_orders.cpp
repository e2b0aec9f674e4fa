// Motions by integrators of order 2, 4 and 6: convergence of costs and plans, gradients, holds, impacts, and refused
// settings.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <numbers>

#include "evaluators/evaluator.hpp"
#include "tests/message_of.hpp"
#include "whole.hpp"
#include "written.hpp"

namespace dodyn::evaluators::test_motion_orders {
namespace {

std::unique_ptr<Evaluator> study(const std::string& model, int order, const std::string& text,
                                 const std::vector<std::string>& words = {}) {
  const std::filesystem::path path = written_study(
      model, own_model + "order = " + std::to_string(order) +
                 "\naccuracy = 0\ninitial-guesses = 1\ntolerance = 1e-11\nvalidity-check = warn\n" + text);
  auto evaluator = make_evaluator(read_settings(path.string(), words));
  std::filesystem::remove_all(path.parent_path());
  return evaluator;
}
std::string complaint(const std::string& model, int order, const std::string& text) {
  return message_of<ConfigError>([&] { study(model, order, text); });
}

struct Found {
  double cost, deviation;
};
Found found(const std::string& model, int order, const std::string& text) {
  const auto evaluator = study(model, order, text);
  const Outcome outcome = evaluator->evaluate(task());
  EXPECT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
  if (outcome.evaluation.metrics.size() == 0) return {not_a_number, not_a_number};
  EXPECT_LE(metric(*evaluator, outcome, "reintegration_error"), 1e-7);
  return {outcome.evaluation.cost, metric(*evaluator, outcome, "max_deviation")};
}

// Expects that costs converge to `exact` with this order, and plans to the motions under their controls.
template <class Text>
void expect_order(const std::string& model, const Text& text, int order, int intervals, double exact,
                  double slack = 0.6) {
  const Found coarse = found(model, order, text(intervals)), fine = found(model, order, text(2 * intervals));
  const double error = std::abs(coarse.cost - exact), finer = std::abs(fine.cost - exact);
  EXPECT_GT(std::log2(error / finer), order - slack) << order << ": " << error << ", " << finer;
  EXPECT_GT(std::log2(coarse.deviation / fine.deviation), order - slack)
      << order << ": " << coarse.deviation << ", " << fine.deviation;
}

const std::string spring_mass =
    "[model]\ndimension = 2\ngravity = 0\n[link body]\nparent = ground\njoint = prismatic x\ncoordinates = s\nmass = "
    "1\n"
    "[spring it]\ncoordinate = s\nstiffness = 4\n[actuator push]\ncoordinate = s\n";
std::string rest_to_rest(int intervals) {
  return "[phase only]\nduration = 2\nintervals = " + std::to_string(intervals) +
         "\n[initial-state]\ns = 0\nmomentum = 0\n[goal]\ns = 1\nmomentum = 0\n[cost]\nsquared-control = 1\n";
}

// s'' + 4 s = u: the minimum integral of u^2 is d^T W^-1 d, with the controllability Gramian W and the end state
// d = (1, 0).
TEST(MotionOrders, AMassOnASpringBesideItsClosedForm) {
  const double w = 2.0, T = 2.0;
  // u(t) acts on (s, s') at T by (sin w(T - t)/w, cos w(T - t)); c = integrals over tau = T - t
  const double ss = (T / 2 - std::sin(2 * w * T) / (4 * w)) / (w * w), cc = T / 2 + std::sin(2 * w * T) / (4 * w),
               sc = std::sin(w * T) * std::sin(w * T) / (2 * w) / w;
  const double exact = cc / (ss * cc - sc * sc);
  for (const int order : {2, 4, 6}) expect_order(spring_mass, rest_to_rest, order, 8, exact);
}

const std::string pendulum =
    "[model]\ndimension = 2\ngravity = 9.81\n[parameters]\nlength = 1\n[link rod]\nparent = ground\njoint = revolute\n"
    "coordinates = a\n[mass tip]\nlink = rod\nat = 0, -length\nmass = 1\n[point tip]\nlink = rod\nat = 0, -length\n"
    "[actuator motor]\ncoordinate = a\n";
std::string swing_up(int intervals) {
  return "[phase only]\nduration = 1.2\nintervals = " + std::to_string(intervals) +
         "\n[initial-state]\na = 0\nmomentum = 0\n[goal]\na = 2.5\nmomentum = 0\n[cost]\nsquared-control = 1\n";
}
TEST(MotionOrders, APendulum) {
  const double exact = found(pendulum, 6, swing_up(64)).cost;
  for (const int order : {2, 4, 6}) expect_order(pendulum, swing_up, order, order == 2 ? 32 : 12, exact);
}

const std::string arm =
    "[model]\ndimension = 2\ngravity = 9.81\n[parameters]\nreach = 0.5\n[link upper]\nparent = ground\njoint = "
    "revolute\n"
    "coordinates = q1\nend = reach, 0\nmass = 2\ninertia = 0.05\ncentre = 0.5*reach, 0\n[link lower]\nparent = upper\n"
    "joint = revolute\ncoordinates = q2\nmass = 1\ninertia = 0.02\ncentre = 0.2, 0\n"
    "[spring elbow]\ncoordinate = q2\nstiffness = 2\ndamping = 0.1\n"
    "[actuator shoulder]\ncoordinate = q1\n[actuator elbow]\ncoordinate = q2\n";
std::string lift(int intervals) {
  return "[phase only]\nduration = 1\nintervals = " + std::to_string(intervals) +
         "\n[initial-state]\nq1 = -90 deg\nq2 = 20 deg\nmomentum = 0\n[goal]\nq1 = 30 deg\nq2 = 40 deg\n"
         "momentum = 0\n[cost]\nsquared-control = 1\n";
}
// With a damper: forces by the same quadrature.
TEST(MotionOrders, AnArmOfTwoLinks) {
  const double exact = found(arm, 6, lift(48)).cost;
  for (const int order : {2, 4}) expect_order(arm, lift, order, order == 2 ? 64 : 16, exact);
}

const std::string satellite =
    "[model]\ndimension = 2\ngravity = 0\n[link hub]\nparent = ground\njoint = planar\ncoordinates = x, y, a\n"
    "end = 0.4, 0\nmass = 5\ninertia = 0.4\n[link arm]\nparent = hub\njoint = revolute\ncoordinates = b\nmass = 1\n"
    "inertia = 0.03\ncentre = 0.25, 0\n[actuator shoulder]\ncoordinate = b\n";
// A free body bends its arm: its momenta stay zero at all nodes, and the hub turns as the arm makes it.
TEST(MotionOrders, AFreeBodyKeepsItsMomenta) {
  const auto bend = [](int intervals) {
    return "[phase only]\nduration = 1\nintervals = " + std::to_string(intervals) +
           "\n[initial-state]\nx = 0\ny = 0\na = 0\nb = 0\nmomentum = 0\n[goal]\nb = 120 deg\nrate(b) = 0\n[cost]\n"
           "squared-control = 1\n";
  };
  const double exact = found(satellite, 6, bend(48)).cost;
  for (const int order : {2, 4}) expect_order(satellite, bend, order, 16, exact);
  const auto evaluator = study(satellite, 4, bend(10));
  const Outcome outcome = evaluator->evaluate(task());
  ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
  const auto &q = channel(*evaluator, outcome, "q"), &p = channel(*evaluator, outcome, "p");
  for (Eigen::Index r = 0; r < q.rows(); r += 2) {
    EXPECT_NEAR(p(r, 0), 0.0, 1e-9);
    EXPECT_NEAR(p(r, 1), 0.0, 1e-9);
    EXPECT_NEAR(p(r, 2) + q(r, 0) * p(r, 1) - q(r, 1) * p(r, 0), 0.0, 1e-9) << r;
  }
}

// Two cranks and a coupler that joins their ends move as one coordinate, of the inertia J = 0.24 kg m2 with 0.9 kg m on
// the axis of the cranks, since the coupler does not turn: as one rod does.
std::string parallelogram(const std::string& gravity) {
  return "[model]\ndimension = 2\ngravity = " + gravity +
         "\n[link one]\nparent = ground\njoint = revolute\ncoordinates = q1\nend = 0.3, 0\nmass = 1\n"
         "inertia = 0.0075\ncentre = 0.15, 0\n[link coupler]\nparent = one\njoint = revolute\ncoordinates = q2\n"
         "end = 0.4, 0\nmass = 2\ninertia = 0.03\ncentre = 0.2, 0\n[link two]\nparent = ground\nat = 0.4, 0\n"
         "joint = revolute\ncoordinates = q3\nend = 0.3, 0\nmass = 1\ninertia = 0.0075\ncentre = 0.15, 0\n"
         "[actuator motor]\ncoordinate = q1\n[point coupler_end]\nlink = coupler\nat = 0.4, 0\n[point two_end]\n"
         "link = two\nat = 0.3, 0\n";
}
std::string turn(int intervals, bool held) {
  return std::string("[phase only]\n") + (held ? "hold = coupler_end - two_end\n" : "") +
         "duration = 0.9\nintervals = " + std::to_string(intervals) + "\n[initial-state]\nq1 = 60 deg\n" +
         (held ? "q2 = -60 deg\nq3 = 60 deg\n" : "") +
         "momentum = 0\n[goal]\nq1 = 150 deg\nrate(q1) = 0\n[cost]\nsquared-control = 1\n";
}
// Without weight the optimum is a polynomial of degree 3, with the cost 12 J^2 angle^2/T^3: exact at orders 4 and 6.
TEST(MotionOrders, ALoopThatIsHeld) {
  const double J = 0.24, angle = std::numbers::pi / 2, exact = 12.0 * J * J * angle * angle / std::pow(0.9, 3);
  for (const int order : {4, 6}) {
    const Found it = found(parallelogram("0"), order, turn(6, true));
    EXPECT_NEAR(it.cost, exact, 1e-9 * exact) << order;
    EXPECT_LE(it.deviation, 1e-8) << order;
  }
  const std::string rod =
      "[model]\ndimension = 2\ngravity = 9.81\n[link rod]\nparent = ground\njoint = revolute\ncoordinates = q1\n"
      "mass = 6\ninertia = 0.105\ncentre = 0.15, 0\n[actuator motor]\ncoordinate = q1\n";
  const double with_weight = found(rod, 6, turn(32, false)).cost;
  for (const int order : {2, 4, 6})
    expect_order(
        parallelogram("9.81"), [](int intervals) { return turn(intervals, true); }, order, order == 6 ? 12 : 8,
        with_weight, 0.7);
}

// A body that falls, and stands after an impact that takes the momentum of its foot.
const std::string jumper =
    "[model]\ndimension = 2\ngravity = 9.81\n[link leg]\nparent = ground\njoint = point + revolute\n"
    "coordinates = x, y, a\nend = 0, 0.8\nmass = 2\ninertia = 0.05\ncentre = 0, 0.5\n[link trunk]\nparent = leg\n"
    "joint = revolute\ncoordinates = b\nmass = 5\ninertia = 0.3\ncentre = 0, 0.2\n[actuator hip]\ncoordinate = b\n";
std::string land(int intervals) {
  const std::string count = "intervals = " + std::to_string(intervals) + "\n";
  return "[phase flight]\nduration = 0.3\n" + count + "[phase stance]\nfixed = x, y\nduration = 0.4\n" + count +
         "require = normal(leg_foot) >= 0\n[initial-state]\nx = -0.1\na = 0.1\nb = -0.1\nrate(a) = 0\nrate(b) = 0\n"
         "[goal]\na = 0\nb = 0\nrate(b) = 0\n[cost]\nsquared-control = 1\n";
}
TEST(MotionOrders, AnImpactBetweenPhases) {
  const std::string model = jumper + "[point leg_foot]\nlink = leg\nat = 0, 0\n";
  const double exact = found(model, 6, land(32)).cost;
  for (const int order : {2, 4}) {
    const Found coarse = found(model, order, land(8)), fine = found(model, order, land(16));
    EXPECT_GT(std::log2(std::abs(coarse.cost - exact) / std::abs(fine.cost - exact)), order - 0.6)
        << order << ": " << coarse.cost - exact << ", " << fine.cost - exact;
  }
}

// The gradient with respect to parameters of the model and of the motion, against motions that are solved again.
TEST(MotionOrders, GradientsAreThoseOfTheOptimalCost) {
  const std::string text =
      "[parameters]\nspeed = 3\n[phase only]\nduration = 0.8 .. 1.5\nintervals = 8\nrequire = abs(rate(q1)) <= speed\n"
      "[initial-state]\nq1 = -90 deg\nq2 = 20 deg\nmomentum = 0\n[goal]\nq1 = 30 deg\nq2 = 40 deg\nmomentum = 0\n"
      "[cost]\nsquared-control = 1\ntime = 60\nbend = (q2 - 0.5)^2\n";
  const std::vector<std::string> free = {"--design.reach.min=0.3", "--design.reach.max=0.7", "--design.speed.min=2",
                                         "--design.speed.max=4"};
  for (const int order : {2, 4, 6}) {
    const auto evaluator = study(arm, order, text, free);
    expect_gradient_of_optimal_cost(*evaluator, {0.5, 2.9}, std::to_string(order));
  }
}

// The archive has all knots, and the controls of the quadrature points in the rows before which they stand.
TEST(MotionOrders, TrajectoriesHaveAllKnots) {
  for (const int order : {2, 4, 6}) {
    const auto evaluator = study(pendulum, order, swing_up(6));
    const Outcome outcome = evaluator->evaluate(task());
    ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
    const int rows = 6 * order / 2 + 1;
    const auto &t = channel(*evaluator, outcome, "t"), &q = channel(*evaluator, outcome, "q"),
               &p = channel(*evaluator, outcome, "p"), &u = channel(*evaluator, outcome, "u");
    ASSERT_EQ(t.rows(), rows);
    for (const Channel& c : evaluator->channels()) {
      if (c.name == "q" || c.name == "u" || c.name == "p") {
        EXPECT_EQ(c.nodes, rows);
      }
    }
    if (order < 6)
      for (int r = 0; r < rows; ++r) EXPECT_NEAR(t(r, 0), 1.2 * r / (rows - 1), 1e-14);
    else
      EXPECT_NEAR(t(1, 0), 0.2 * (0.5 - std::sqrt(0.05)), 1e-14);
    // inertia 1: the momentum at a knot is the rate there, which a central difference approximates
    for (int r = 1; r + 1 < rows; ++r)
      EXPECT_NEAR(p(r, 0), (q(r + 1, 0) - q(r - 1, 0)) / (t(r + 1, 0) - t(r - 1, 0)), order == 2 ? 0.5 : 0.2);
    double squared = 0.0;
    const double weights[3][3] = {{1.0}, {0.5, 0.5}, {5.0 / 18, 4.0 / 9, 5.0 / 18}};
    for (int r = 0; r + 1 < rows; ++r) squared += 0.2 * weights[order / 2 - 1][r % (order / 2)] * u(r, 0) * u(r, 0);
    EXPECT_NEAR(squared, outcome.evaluation.cost, 1e-9 * squared);
    EXPECT_NEAR(metric(*evaluator, outcome, "squared_control"), squared, 1e-9 * squared);
  }
}

// A motion that starts from a neighbour's trajectory, one that is refined, and one from a coarse mesh end at the same
// optimum.
TEST(MotionOrders, NeighboursAndFinerMeshes) {
  const auto evaluator = study(pendulum, 4, swing_up(12));
  const Outcome first = evaluator->evaluate(task());
  ASSERT_EQ(first.evaluation.status, Status::ok) << first.evaluation.reason;
  Task again = task({}, 1);
  again.warm_start = first.trajectory;
  const Outcome second = evaluator->evaluate(again);
  EXPECT_NEAR(second.evaluation.cost, first.evaluation.cost, 1e-9 * first.evaluation.cost);
  EXPECT_EQ(metric(*evaluator, second, "guesses_solved"), 2.0);

  const auto fine = study(pendulum, 4, swing_up(24));
  const double expected = fine->evaluate(task()).evaluation.cost;
  const auto refined = study(pendulum, 4, swing_up(12), {"--motion.refine-tolerance=1e-9", "--motion.refinements=1"});
  const Outcome finer = refined->evaluate(task());
  EXPECT_EQ(metric(*refined, finer, "intervals"), 24.0);
  EXPECT_NEAR(finer.evaluation.cost, expected, 1e-8 * expected);
  EXPECT_EQ(channel(*refined, finer, "q").rows(), 25);
  const auto coarse = study(pendulum, 4, swing_up(24), {"--motion.coarse-intervals=12"});
  EXPECT_NEAR(coarse->evaluate(task()).evaluation.cost, expected, 1e-8 * expected);
}

// In space, with joints that have one or two rotations.
TEST(MotionOrders, HingesInSpace) {
  const std::string model =
      "[model]\ndimension = 3\ngravity = 9.81\n[link upper]\nparent = ground\njoint = revolute z\ncoordinates = q1\n"
      "end = 0.5, 0, 0\nmass = 2\ninertia = 0.01, 0.05, 0.05\ncentre = 0.25, 0, 0\n[link lower]\nparent = upper\n"
      "joint = revolute y\ncoordinates = q2\nmass = 1\ninertia = 0.005, 0.02, 0.02\ncentre = 0.2, 0, 0\n"
      "[actuator shoulder]\ncoordinate = q1\n[actuator elbow]\ncoordinate = q2\n";
  const auto text = [](int intervals) {
    return "[phase only]\nduration = 1\nintervals = " + std::to_string(intervals) +
           "\n[initial-state]\nq1 = 0\nq2 = 20 deg\nmomentum = 0\n[goal]\nq1 = 90 deg\nq2 = 40 deg\nmomentum = 0\n"
           "[cost]\nsquared-control = 1\n";
  };
  const double exact = found(model, 6, text(32)).cost;
  expect_order(model, text, 4, 8, exact);
  // as by directors, which have order 2
  EXPECT_NEAR(found(model, 2, text(64)).cost, exact, 2e-3 * exact);
}

TEST(MotionOrders, WorkIsCountedAtThePoints) {
  const auto lift = [](int intervals) { return swing_up(intervals) + "absolute-work = 3\npositive-work = 1\n"; };
  const double fine = found(pendulum, 2, lift(80)).cost;
  for (const int order : {4, 6}) EXPECT_NEAR(found(pendulum, order, lift(40)).cost, fine, 0.01 * fine) << order;
}

TEST(MotionOrders, WhatAnOrderDoesNotHaveIsRefused) {
  const auto refused = [](const std::string& model, const std::string& text, const std::string& words) {
    const std::string line = complaint(model, 4, text);
    EXPECT_NE(line.find(words), std::string::npos) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_EQ(complaint(model, 2, text), "") << text;
  };
  refused(pendulum, swing_up(8) + "smooth = rate(u.motor)^2\n", "rates of controls need order = 2");
  const std::string shapes =
      "[shape rod]\nlink = rod\nbox = 0.1, 0.1\n[link wall]\nparent = ground\njoint = fixed\n[shape wall]\nlink = "
      "wall\n"
      "box = 1, 0.1\nat = 0, -3\n";
  refused(pendulum + shapes, swing_up(8) + "[avoid]\nrod, wall = 0\n",
          "motion.order = 4: [avoid] needs straight motion between nodes");
  const std::string top =
      "[model]\ndimension = 3\ngravity = 0\n[link top]\nparent = ground\njoint = spatial ZXY\nmass = 2\n"
      "inertia = 0.3, 0.2, 0.1\n";
  refused(
      top,
      "[phase only]\nduration = 1\n[initial-state]\ntop = pose 0 0 0\n[goal]\ntop = place 1 0 0\n[cost]\ntime = 1\n",
      "motion.order = 4: [link top] has a spherical joint");
  EXPECT_NE(complaint(pendulum, 3, swing_up(8)).find("motion.order = 3"), std::string::npos);
}

// Order 2 is the default, and the same whether it is named.
TEST(MotionOrders, TheDefaultIsTheMidpointRule) {
  const auto cost = [](const std::string& words) {
    const std::filesystem::path path =
        written_study(pendulum, own_model + words + "initial-guesses = 1\n" + swing_up(20));
    const double value = make_evaluator(read_settings(path.string(), {}))->evaluate(task()).evaluation.cost;
    std::filesystem::remove_all(path.parent_path());
    return value;
  };
  EXPECT_EQ(cost(""), cost("order = 2\n"));
  EXPECT_NE(cost(""), cost("order = 4\n"));
}

}  // namespace
}  // namespace dodyn::evaluators::test_motion_orders
