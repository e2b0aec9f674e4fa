// Contacts on schedule against closed forms: a cube that is pushed towards a wall, bounces and is pushed away.
#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "evaluators/evaluator.hpp"
#include "evaluators/motion/design.hpp"
#include "evaluators/motion/initial_guess.hpp"
#include "evaluators/motion/open_loop.hpp"
#include "evaluators/motion/read_motion.hpp"
#include "tests/message_of.hpp"
#include "tests/nlp/check_derivatives.hpp"
#include "whole.hpp"

namespace dodyn::evaluators::test_motion_contacts {
namespace {

// A cube of 1 kg that approaches the wall with a corner below its centre of mass. `K` intervals, contact at `node`.
Settings bounce(int node, int K, const std::string& law, const std::string& more = "",
                const std::vector<std::string>& options = {}) {
  const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / ("contacts-" + name);
  std::filesystem::create_directories(folder);
  const std::string corner_down = ", turn z 35.264389682754654 deg, turn x -45 deg";
  std::ofstream(folder / "study.cfg")
      << "[study]\nevaluator = motion\n[motion]\nmodel = cube-wall\ninitial-guesses = 1\n"
      << "contact-corners = lowest\n"
      << "[phase only]\nintervals = " << K << "\nduration = 0.75\n"
      << "[contact wall]\nnode = " << node << "\ntouch = cube, wall\nlaw = " << law << "\n[initial-state]\n"
      << "cube = pose 0 0.05+side*sqrt(3)/2 0" << corner_down << ", velocity 0 -0.25 0, spin 0 0 0\n[goal]\n"
      << "cube = pose 0 0.12+side*sqrt(3)/2 0" << corner_down << ", velocity 0 0.25 0, spin 0 0 0\n"
      << "[cost]\nsquared-control = 1\n[design]\ndensity = 1000\n"
      << more;
  return read_settings((folder / "study.cfg").string(), options);
}

// A square of 1 kg that approaches the wall with a flat side. With `turns` it has an angle, which is 0 at both ends.
Settings in_line(int node, int K, const std::vector<std::string>& options = {}, bool turns = false) {
  const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / ("contacts-" + name);
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "line.model")
      << "[model]\nname = line\ndimension = 2\ngravity = 0\n[link wall]\nparent = ground\njoint = fixed\n[shape wall]\n"
         "link = wall\nbox = 2, 0.2\nat = 0, -0.1\noutward = 0, 1\n[link cube]\nparent = ground\n"
      << (turns ? "joint = planar\ncoordinates = x, y, theta\n" : "joint = point\ncoordinates = x, y\n")
      << "[shape cube]\nlink = cube\nbox = 0.1, 0.1\nmass = 1\n[actuator push_x]\ncoordinate = x\n"
         "[actuator push_y]\ncoordinate = y\n"
      << (turns ? "[actuator turn]\ncoordinate = theta\n" : "");
  const std::string straight = turns ? "theta = 0\nrate(theta) = 0\n" : "";
  std::ofstream(folder / "study.cfg")
      << "[study]\nevaluator = motion\n[motion]\nmodel = line.model\ninitial-guesses = 1\n"
      << "[phase only]\nintervals = " << K << "\nduration = 0.75\n"
      << "[contact wall]\nnode = " << node << "\ntouch = cube, wall\n[initial-state]\nx = 0\ny = 0.1\nrate(x) = 0\n"
      << "rate(y) = -0.25\n"
      << straight << "[goal]\nx = 0\ny = 0.17\nrate(x) = 0\nrate(y) = 0.25\n"
      << straight << "[avoid]\ncube, wall = 0\n[cost]\nsquared-control = 1\n";
  return read_settings((folder / "study.cfg").string(), options);
}

// Minimum effort that moves a mass of 1 kg by d in the time T, from speed v0 to v1:
// 4/T^3 (3 d^2 - 3 d T (v0 + v1) + T^2 (v0^2 + v0 v1 + v1^2)).
double effort(double d, double v0, double v1, double T) {
  return 4.0 / (T * T * T) * (3 * d * d - 3 * d * T * (v0 + v1) + T * T * (v0 * v0 + v0 * v1 + v1 * v1));
}

// The expected cost is the minimum over contact time and contact speed, found by a grid search.
TEST(MotionContacts, AnElasticBounceInLineHasItsClosedForm) {
  double best = 1e9, when = 0.0;
  for (double t = 0.2; t < 0.23; t += 2e-5)
    for (double v = 0.2; v < 0.3; v += 2e-4) {
      const double J = effort(-0.05, -0.25, -v, t) + effort(0.12, v, 0.25, 0.75 - t);
      if (J < best) best = J, when = t;
    }
  EXPECT_NEAR(best, 0.00871111, 1e-7);
  const auto solved = [&](int node, int K) {
    const auto evaluator = make_evaluator(in_line(node, K));
    const Outcome outcome = evaluator->evaluate(task());
    EXPECT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
    EXPECT_NEAR(metric(*evaluator, outcome, "contact_wall"), when, 5e-4);
    EXPECT_NEAR(metric(*evaluator, outcome, "duration"), 0.75, 1e-9);
    EXPECT_NEAR(metric(*evaluator, outcome, "impact_loss"), 0.0, 1e-9);
    EXPECT_LE(metric(*evaluator, outcome, "reintegration_error"), 1e-7);
    EXPECT_GE(metric(*evaluator, outcome, "clearance"), -1e-6);
    return outcome.evaluation.cost;
  };
  const double at_9 = solved(9, 30), finer = solved(18, 60);
  EXPECT_NEAR(at_9, 0.00872083, 2e-8);
  EXPECT_NEAR((at_9 - 0.00871111) / (finer - 0.00871111), 4.0, 0.1);
  // the cost hardly depends on the node of the contact: table 4.1
  for (const int node : {4, 14}) EXPECT_NEAR(solved(node, 30), at_9, 2e-3 * at_9);
}

// Minimum effort of an oscillator of angular frequency w from its rest length at speed v0 back to it at speed v1 in the
// time T, by the controllability Gramian.
double spring_effort(double v0, double v1, double T, double w) {
  Eigen::Matrix2d W;
  W(0, 0) = (T / 2 - std::sin(2 * w * T) / (4 * w)) / (w * w);
  W(1, 1) = T / 2 + std::sin(2 * w * T) / (4 * w);
  W(0, 1) = W(1, 0) = std::pow(std::sin(w * T) / w, 2) / 2;
  const Eigen::Vector2d way(-v0 * std::sin(w * T) / w, v1 - v0 * std::cos(w * T));
  return way.dot(W.inverse() * way);
}

// Minimum effort of three pieces: free, on the springs of two corners, free again. A pattern search over the times and
// speeds at which the contact begins and ends.
double effort_with_springs(double C) {
  const double w = std::sqrt(2 * C);
  const auto J = [&](const Eigen::Vector4d& x) {
    return effort(-0.05, -0.25, -x(1), x(0)) + spring_effort(-x(1), x(3), x(2), w) +
           effort(0.12, x(3), 0.25, 0.75 - x(0) - x(2));
  };
  Eigen::Vector4d best(0.2, 0.25, std::acos(-1.0) / w, 0.25);
  for (double step = 0.02; step > 1e-8;) {
    Eigen::Vector4d at = best;
    for (int i = 0; i < 81; ++i) {
      const Eigen::Vector4d next = best + step * Eigen::Vector4d(i % 3 - 1, i / 3 % 3 - 1, i / 9 % 3 - 1, i / 27 - 1);
      if (next(2) > 0.0 && J(next) < J(at)) at = next;
    }
    if (at == best) step *= 0.5;
    best = at;
  }
  return J(best);
}

// Contact by a penalty instead of an impulse: the square touches with two corners. The initial guess is simulated.
TEST(MotionContacts, APenaltyCostsWhatSpringsCost) {
  for (const double C : {500.0, 2000.0}) {
    const auto settings = in_line(180, 600,
                                  {"--motion.contact", "penalty", "--motion.contact-stiffness", std::to_string(C),
                                   "--motion.contact-width", "1e-5", "--motion.first-guess", "simulated"},
                                  true);
    const auto evaluator = make_evaluator(settings);
    const Outcome outcome = evaluator->evaluate(task());
    ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
    const double expected = effort_with_springs(C);
    EXPECT_NEAR(outcome.evaluation.cost, expected, 0.01 * expected) << C;
    EXPECT_GT(metric(*evaluator, outcome, "overlap_wall"), 0.2 / std::sqrt(2 * C));
    EXPECT_LE(metric(*evaluator, outcome, "reintegration_error"), 1e-6);
  }
}

// The penalty of the contact simulation acts on the deepest overlap. For one corner of a tilted cube it equals that of
// the plan.
TEST(MotionContacts, APenaltysForcesLeadTheSimulationAlongTheSamePath) {
  double before = 0.0;
  for (const int K : {120, 240}) {
    const Settings settings = bounce(K / 3, K, "restitution 1", "",
                                     {"--motion.first-guess", "simulated", "--motion.contact", "penalty",
                                      "--motion.contact-stiffness", "500", "--motion.contact-width", "1e-6"});
    const MotionDesigns designs(settings);
    const Outcome outcome = make_evaluator(settings)->evaluate(task());
    ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
    const OpenLoopRun forward = simulate_open_loop(designs.motion(), outcome.evaluation.design, outcome.trajectory, 1);
    EXPECT_EQ(forward.failure, "");
    EXPECT_GT(forward.overlap, 1e-3);
    EXPECT_LE(forward.max_position_error, K == 120 ? 2e-3 : 0.5 * before);
    before = forward.max_position_error;
  }
}

// The simulated guess has no controls: at constant speed to the wall, in 0.2 s, and back.
TEST(MotionContacts, AStartThatIsSimulatedBouncesByItself) {
  const MotionDesigns designs(in_line(9, 30, {"--motion.first-guess", "simulated"}, true));
  const MotionPath path = initial_path(designs.motion(), Eigen::VectorXd(0), 1, 0);
  EXPECT_NEAR(path.duration[0], 0.2, 0.75 / 120 + 1e-9);
  EXPECT_NEAR(path.duration[0] + path.duration[1], 0.75, 1e-9);
  for (int k = 0; k < 9; ++k) EXPECT_NEAR(path.q[0](k, 1), 0.1 - 0.25 * path.duration[0] * k / 9, 1e-9);
  EXPECT_NEAR(path.q[1](21, 1), 0.05 + 0.25 * 0.55, 0.25 * 0.75 / 60);
}

// The contact simulation detects the impact without the plan's contact times, and follows the planned path to rounding.
TEST(MotionContacts, TheContactSimulationFollowsThePlan) {
  const auto cube_wall = [](const std::string& corners) {
    return read_settings(std::string(CONFIGS) + "/cube-wall.cfg",
                         {"--motion.initial-guesses", "1", "--motion.tolerance", "1e-12", "--motion.contact-corners",
                          corners, "--phase.only.intervals", "30", "--contact.wall.node", "9"});
  };
  // the motion of the best corner turns faster, and rounding grows with it
  const std::vector<std::string> search = {"--motion.contact-corners", "search"};
  for (const auto& [settings, bound] :
       {std::pair(bounce(9, 30, "restitution 1"), 1e-12), std::pair(bounce(9, 30, "restitution 1", "", search), 1e-10),
        std::pair(bounce(6, 14, "restitution 0.5"), 1e-12), std::pair(cube_wall("lowest"), 1e-12),
        std::pair(cube_wall("search"), 1e-10)}) {
    const MotionDesigns designs(settings);
    const auto evaluator = make_evaluator(settings);
    const Outcome outcome = evaluator->evaluate(task());
    ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
    const OpenLoopRun forward = simulate_open_loop(designs.motion(), outcome.evaluation.design, outcome.trajectory, 1);
    EXPECT_EQ(forward.failure, "");
    EXPECT_LE(forward.max_position_error, bound);
    EXPECT_LE(forward.max_angle_error, 10.0 * bound);
    EXPECT_EQ(forward.cuts, 0);
    ASSERT_EQ(forward.impacts.size(), 1U);
    const double when = metric(*evaluator, outcome, "contact_wall");
    EXPECT_LE(forward.impacts[0].first, when + 1e-9);
    EXPECT_GE(forward.impacts[0].second, when - 1e-9);
    EXPECT_NEAR(-forward.impact_energy, metric(*evaluator, outcome, "impact_loss"), 1e-7);
  }
}

// Expects that a shipped motion, simulated with its planned forces and without contacts, departs from its plan by at
// most `most_departed` (m) and `most_turned` (rad).
void expect_followed(const std::string& config, const std::vector<std::string>& words, double most_departed,
                     double most_turned) {
  const auto settings = read_settings(std::string(CONFIGS) + "/" + config, words);
  const Outcome outcome = make_evaluator(settings)->evaluate(task());
  ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
  const OpenLoopRun forward =
      simulate_open_loop(read_motion(settings), outcome.evaluation.design, outcome.trajectory, 1);
  EXPECT_EQ(forward.failure, "");
  const auto [deviation, turned] =
      forward.without_contacts.value_or(std::pair{forward.max_position_error, forward.max_angle_error});
  EXPECT_LE(deviation, most_departed);
  EXPECT_LE(turned, most_turned);
}

// The pieces of the puzzle slide along each other, and in the simulation they push each other. Without contacts the
// planned forces follow the plan.
TEST(MotionContacts, WhatGrazesFollowsThePlanWithoutContacts) {
  expect_followed("burr.cfg", {"--motion.initial-guesses", "1"}, 1e-9, 1e-9);
}

// A driven chain. The simulation satisfies joints by null spaces and applies forces to bodies; the plan uses joint
// coordinates.
TEST(MotionContacts, AChainFollowsThePlanThroughItsJoints) {
  expect_followed("manipulator.cfg",
                  {"--motion.initial-guesses", "1", "--motion.tolerance", "1e-11", "--phase.only.intervals", "15",
                   "--avoid.max-rotation", "0.25", "--motion.accuracy", "0", "--motion.refinements", "0",
                   "--motion.validity-check", "warn"},
                  1e-7, 1e-6);
}

// Restitution 0.5: half of the normal velocity returns, and 75 % of the energy is lost.
TEST(MotionContacts, RestitutionIsThatOfTheLaw) {
  const auto evaluator = make_evaluator(bounce(6, 14, "restitution 0.5"));
  const Outcome outcome = evaluator->evaluate(task());
  ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
  const auto& p = outcome.trajectory.values[2];  // mass 1: momenta are velocities
  // discrete momenta at the contact: they include the control's impulse of half an interval
  const double before = p(6, 1), after = p(7, 1);
  EXPECT_NEAR(after, -0.5 * before, 1e-8);
  EXPECT_LT(before, 0.0);
  EXPECT_NEAR(metric(*evaluator, outcome, "impact_loss"), 0.5 * 0.75 * before * before, 1e-8);
  EXPECT_LE(metric(*evaluator, outcome, "reintegration_error"), 1e-7);
}

TEST(MotionContacts, DerivativesAreThoseOfDifferences) {
  for (const char* const law :
       {"restitution 0.5", "restitution 0.5, stick, friction 0.4", "slide, friction 0.3", "stay"}) {
    const MotionDesigns designs(bounce(4, 8, law));
    const Eigen::VectorXd none(0);
    const MotionPath path = initial_path(designs.motion(), none, 5, 1);
    const TranscribedMotion planned = designs.plan(none, path);
    Eigen::VectorXd x = designs.start(planned, path);
    for (Eigen::Index i = 0; i < x.size(); ++i) x(i) += 0.05 * std::sin(3.0 * static_cast<double>(i));
    const auto errors = nlp::check_derivatives(planned.problem.problem(), x);
    EXPECT_LE(errors.max(), 1e-6) << law << ": " << errors.worst;
  }
}

// A square that cannot turn slides on after the impact. Along the wall it loses mu (1 + e) times its speed towards the
// wall.
TEST(MotionContacts, WhatSlidesIsBrakedByFriction) {
  const auto evaluator = make_evaluator(in_line(9, 30,
                                                {"--contact.wall.law", "restitution 0.5, slide, friction 0.3",
                                                 "--initial-state.rate(x)", "-0.4", "--goal.x", "-0.2"}));
  const Outcome outcome = evaluator->evaluate(task());
  ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
  const auto& p = outcome.trajectory.values[2];  // mass 1
  EXPECT_LT(p(9, 1), 0.0);
  EXPECT_NEAR(p(10, 1), -0.5 * p(9, 1), 1e-8);
  EXPECT_LT(p(10, 0), 0.0);
  EXPECT_NEAR(p(10, 0) - p(9, 0), -0.3 * 1.5 * p(9, 1), 1e-8);
  EXPECT_LE(metric(*evaluator, outcome, "reintegration_error"), 1e-7);
}

// Law `stay`: arrives at any speed, stands for the shortest allowed duration of a piece, and leaves from rest. The
// expected cost is the minimum over the time and speed of the contact.
TEST(MotionContacts, WhatStaysIsLetGo) {
  const double T = 0.75, stands = T * 0.2 / 8;
  double best = 1e9;
  for (double t = 0.1; t < 0.4; t += 1e-4)
    for (double v = 0.0; v < 0.4; v += 1e-3)
      best = std::min(best, effort(-0.05, -0.25, -v, t) + effort(0.12, 0.0, 0.25, T - t - stands));
  const auto error = [&](int K) {
    const auto evaluator = make_evaluator(
        in_line(3 * K / 10, K, {"--contact.wall.law", "stay", "--contact.wall.release", std::to_string(K / 2)}));
    const Outcome outcome = evaluator->evaluate(task());
    EXPECT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
    EXPECT_NEAR(metric(*evaluator, outcome, "duration_only_2"), stands, 1e-6);
    const auto& q = outcome.trajectory.values[1];
    for (Eigen::Index k = 3 * K / 10 + 1; k <= K / 2 + 1; ++k) EXPECT_NEAR(q(k, 1), 0.05, 1e-9);
    return outcome.evaluation.cost - best;
  };
  const double coarse = error(20), fine = error(40);
  EXPECT_NEAR(fine, 0.0, 5e-3 * best);
  EXPECT_NEAR(coarse / fine, 4.0, 0.4);
}

// If a motion is not found, the reason names the section that is missed most, and by how much.
TEST(MotionContacts, WhatIsMissedIsNamed) {
  const auto reason = [](const Settings& settings) {
    return make_evaluator(settings)->evaluate(task()).evaluation.reason;
  };
  const std::vector<std::string> few = {"--motion.max-iterations", "30"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), few.begin(), few.end());
    return more;
  };
  // too little time and force to reach the wall and return
  const std::string late =
      reason(bounce(4, 8, "restitution 1", "force = 1e-4\n", with({"--phase.only.duration", "0.1"})));
  // several conditions conflict; after 30 iterations rounding may decide which of them is missed most
  EXPECT_TRUE(late.find("[contact wall] is missed by") != std::string::npos ||
              late.find("momentum of ") != std::string::npos ||
              late.find("transition from [phase only_1] to the next is missed by") != std::string::npos)
      << late;
  // a goal that the forces cannot reach
  const std::string far = reason(in_line(4, 8, with({"--goal.y", "1000", "--phase.only.duration", "1e-3"})));
  EXPECT_NE(far.find(" is missed by "), std::string::npos) << far;
}

// A cube bounces off a corner and turns. The cost hardly depends on the node of the contact, and no energy is lost.
TEST(MotionContacts, ThreeNodesGiveTheSameBounce) {
  std::vector<double> cost;
  for (const int node : {4, 9, 14}) {
    const auto evaluator =
        make_evaluator(read_settings(std::string(CONFIGS) + "/cube-wall.cfg",
                                     {"--motion.initial-guesses", "1", "--motion.contact-corners", "lowest",
                                      "--phase.only.intervals", "30", "--contact.wall.node", std::to_string(node)}));
    const Outcome outcome = evaluator->evaluate(task());
    ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
    EXPECT_LE(metric(*evaluator, outcome, "reintegration_error"), 1e-7);
    EXPECT_NEAR(metric(*evaluator, outcome, "impact_loss"), 0.0, 1e-8);
    cost.push_back(outcome.evaluation.cost);
  }
  EXPECT_NEAR(cost[0], cost[1], 0.05 * cost[1]);
  EXPECT_NEAR(cost[2], cost[1], 0.05 * cost[1]);
}

// Four similar densities are all solved from one initial guess. The contact simulation finds both impacts of each plan.
TEST(MotionContacts, TwoCubesDoNotDependOnRounding) {
  for (const char* const density : {"26.2757850", "26.7005778", "26.9999", "27.05"}) {
    const auto settings =
        read_settings(std::string(CONFIGS) + "/two-cubes.cfg",
                      {"--motion.initial-guesses", "1", "--motion.tolerance", "1e-11", "--motion.contact-corners",
                       "lowest", "--motion.contact-planes", "interval", "--motion.refinements", "0",
                       "--motion.validity-check", "warn", "--design.density", density});
    const auto evaluator = make_evaluator(settings);
    const Outcome outcome = evaluator->evaluate(task());
    ASSERT_EQ(outcome.evaluation.status, Status::ok) << density << ": " << outcome.evaluation.reason;
    EXPECT_LE(outcome.evaluation.cost, 4e-4);
    EXPECT_LT(metric(*evaluator, outcome, "contact_first"), metric(*evaluator, outcome, "contact_second"));
    const OpenLoopRun forward =
        simulate_open_loop(read_motion(settings), outcome.evaluation.design, outcome.trajectory, 1);
    EXPECT_EQ(forward.failure, "");
    EXPECT_EQ(forward.impacts.size(), 2U);
    EXPECT_LE(forward.max_position_error, 1e-8);
    EXPECT_LE(forward.max_angle_error, 1e-7);
  }
}

// Blue is pushed over a gap d and hits green, which has no actuator. Green then moves by d in the rest of the time T,
// and blue follows without force. With equal masses green leaves at (1 + e)/2 times blue's speed v, blue at (1 - e)/2.
// The expected cost is the minimum over the time of the impact.
TEST(MotionContacts, BodiesThatMoveOnTogetherTendToTheirClosedForm) {
  const double d = 0.2, T = 1.0, e = 0.5;
  double best = 1e9;
  for (double t = 0.3; t < 0.9; t += 1e-5) best = std::min(best, effort(d, 0.0, 2.0 * d / ((1.0 + e) * (T - t)), t));
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "contacts-together";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "together.model")
      << "[model]\nname = together\ndimension = 2\ngravity = 0\n[link blue]\nparent = ground\njoint = "
         "point\ncoordinates = bx, by\n[shape blue]\nlink = blue\nbox = 0.1, 0.1\nmass = 1\n[link green]\nparent = "
         "ground\njoint = point\ncoordinates = gx, gy\n[shape green]\nlink = green\nbox = 0.1, 0.2\nmass = "
         "1\n[actuator push_x]\ncoordinate = bx\n[actuator push_y]\ncoordinate = by\n";
  std::vector<double> errors;
  for (const int K : {12, 24, 48}) {
    std::ofstream(folder / "study.cfg")
        << "[study]\nevaluator = motion\n[motion]\nmodel = together.model\ninitial-guesses = 4\ncontact-planes = "
           "node\naccuracy = 0\n[phase "
           "only]\nintervals = "
        << K << "\nduration = 1\n[contact hit]\nnode = " << K / 2
        << "\ntouch = blue, green -x\nlaw = restitution 0.5\n[initial-state]\nbx = 0\nby = 0\ngx = 0.3\ngy = "
           "0\nmomentum = 0\n[goal]\ngx = 0.5\n[avoid]\nblue, green = 0\n[cost]\nsquared-control = 1\n";
    const auto evaluator = make_evaluator(read_settings((folder / "study.cfg").string(), {}));
    const Outcome outcome = evaluator->evaluate(task());
    ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
    EXPECT_GE(metric(*evaluator, outcome, "clearance"), -1e-6) << K;
    const auto& q = channel(*evaluator, outcome, "q");
    EXPECT_GT(q(q.rows() - 1, 0), 0.2 + 1e-3) << K;  // blue moves on
    errors.push_back(outcome.evaluation.cost - best);
  }
  EXPECT_NEAR(errors[2], 0.0, 1e-4 * best);
  EXPECT_NEAR(errors[0] / errors[1], 4.0, 0.5);
  EXPECT_NEAR(errors[1] / errors[2], 4.0, 0.5);
}

// The search over corners finds a motion as good as the best of eight solves, each with a named corner.
TEST(MotionContacts, TheBestCornerIsFound) {
  const std::vector<std::string> coarse = {"--phase.only.intervals", "30", "--contact.wall.node", "9"};
  const auto found = [&](std::vector<std::string> words) {
    words.insert(words.end(), coarse.begin(), coarse.end());
    return make_evaluator(read_settings(std::string(CONFIGS) + "/cube-wall.cfg", words))->evaluate(task());
  };
  std::string model = systems::model_text("cube-wall");
  for (int i = 0; i < 8; ++i)
    model += "[point corner_" + std::to_string(i) + "]\nlink = cube\nat = " + (i & 1 ? "" : "-") + "side/2, " +
             (i & 2 ? "" : "-") + "side/2, " + (i & 4 ? "" : "-") + "side/2\n";
  const std::string path = testing::TempDir() + "corners.model";
  std::ofstream(path) << model;
  double best = 1e300, worst = 0.0;
  for (int i = 0; i < 8; ++i) {
    const Outcome one = found({"--motion.model", path, "--contact.wall.touch", "corner_" + std::to_string(i) + ", wall",
                               "--motion.initial-guesses", "3"});
    if (one.evaluation.status != Status::ok) continue;
    best = std::min(best, one.evaluation.cost);
    worst = std::max(worst, one.evaluation.cost);
  }
  ASSERT_LT(best, 0.9 * worst);
  const auto settings = read_settings(std::string(CONFIGS) + "/cube-wall.cfg", coarse);
  const auto evaluator = make_evaluator(settings);
  const Outcome chosen = evaluator->evaluate(task());
  ASSERT_EQ(chosen.evaluation.status, Status::ok) << chosen.evaluation.reason;
  EXPECT_LE(chosen.evaluation.cost, best * (1.0 + 1e-5));
  EXPECT_GE(metric(*evaluator, chosen, "corner_wall"), 0.0);
  EXPECT_LT(metric(*evaluator, chosen, "corner_wall"), 8.0);
  // without the search: the corner that is lowest in the initial guess
  const Outcome lowest = found({"--motion.contact-corners", "lowest"});
  ASSERT_EQ(lowest.evaluation.status, Status::ok) << lowest.evaluation.reason;
  EXPECT_GT(lowest.evaluation.cost, 1.1 * chosen.evaluation.cost);
}

TEST(MotionContacts, MistakesAreOneLine) {
  const auto complaint = [](const std::string& law, const std::string& more = "",
                            const std::vector<std::string>& options = {}) {
    return message_of<ConfigError>([&] { make_evaluator(bounce(4, 8, law, more, options)); }, "none");
  };
  EXPECT_NE(complaint("bouncy 1").find("not understood"), std::string::npos);
  EXPECT_NE(complaint("restitution 1, friction 0.3").find("friction needs stick or slide"), std::string::npos);
  EXPECT_NE(complaint("restitution 1, slide").find("add friction MU"), std::string::npos);
  EXPECT_NE(complaint("stick, slide, friction 0.3").find("slide cannot be combined"), std::string::npos);
  EXPECT_NE(complaint("restitution 1", "", {"--contact.wall.release", "6"}).find("has no effect without stay"),
            std::string::npos);
  EXPECT_NE(complaint("stay", "", {"--contact.wall.release", "4"}).find("is not a node inside"), std::string::npos);
  EXPECT_NE(complaint("stay", "[contact again]\nnode = 6\ntouch = cube, wall\n").find("is still closed"),
            std::string::npos);
  EXPECT_NE(complaint("restitution 0.5, stay").find("has no restitution"), std::string::npos);
  EXPECT_NE(complaint("restitution 0.5", "", {"--motion.contact", "penalty"}).find("loses no energy"),
            std::string::npos);
  EXPECT_NE(complaint("stick", "", {"--motion.contact", "penalty"}).find("nothing sticks"), std::string::npos);
  EXPECT_NE(complaint("restitution 1", "[contact again]\nnode = 4\ntouch = cube, wall\n").find("choose another node"),
            std::string::npos);
  EXPECT_NE(complaint("restitution 1", "[contact end]\nnode = 8\ntouch = cube, wall\n").find("not a node inside"),
            std::string::npos);
  EXPECT_NE(complaint("restitution 1", "[contact lost]\nnode = 5\ntouch = cub, wall\n").find("mean 'cube'"),
            std::string::npos);
  EXPECT_NE(complaint("restitution 1", "[contact side]\nnode = 5\ntouch = wall, cube\n").find("outward"),
            std::string::npos);
}

// The square is above the wall at the start and the goal. Below, it faces the wall's lower side.
TEST(MotionContacts, OutwardOfTheOppositeFaceIsRefused) {
  const Settings settings = in_line(10, 20);
  const std::filesystem::path model = std::filesystem::path(settings.file).parent_path() / "line.model";
  std::ostringstream text;
  text << std::ifstream(model).rdbuf();
  const auto complaint = [&](const std::string& outward, double y) {
    std::string changed = text.str();
    const std::string old = "at = 0, -0.1\noutward = 0, 1";
    changed.replace(changed.find(old), old.size(), "at = 0, " + std::to_string(y) + "\noutward = " + outward);
    std::ofstream(model) << changed;
    return message_of<ConfigError>([&] { make_evaluator(settings); }, "none");
  };
  EXPECT_EQ(complaint("0, 1", -0.1), "none");
  EXPECT_NE(complaint("0, -1", -0.1)
                .find("[contact wall]: at the start and the goal the face of 'wall' that outward names is turned away; "
                      "name the opposite face by outward of [shape wall]"),
            std::string::npos)
      << complaint("0, -1", -0.1);
  EXPECT_EQ(complaint("0, -1", 0.4), "none");
}

}  // namespace
}  // namespace dodyn::evaluators::test_motion_contacts
