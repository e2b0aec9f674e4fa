// Points that a phase holds, and constraints of a model, against closed forms.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <numbers>

#include "evaluators/evaluator.hpp"
#include "evaluators/motion/design.hpp"
#include "tests/message_of.hpp"
#include "whole.hpp"
#include "written.hpp"

namespace dodyn::evaluators::test_motion_holds {
namespace {

using Eigen::MatrixXd;

// A study of this text, with the model beside it.
std::unique_ptr<Evaluator> study(const std::string& model, const std::string& text) {
  const std::filesystem::path path = written_study(model, own_model + text);
  auto evaluator = make_evaluator(read_settings(path.string(), {}));
  std::filesystem::remove_all(path.parent_path());
  return evaluator;
}

std::string complaint(const std::string& model, const std::string& text) {
  return message_of<ConfigError>([&] { study(model, text); });
}

// Two cranks and a coupler that joins their ends, with pivots as far apart as it is long: it moves as one coordinate q1
// with the inertia J = 2 I + m L^2, since the coupler does not turn.
const std::string parallelogram = R"([model]
dimension = 2
gravity = 0
[parameters]
length = 0.3
crank = 1 kg
[link one]
parent = ground
joint = revolute
coordinates = q1
end = length, 0
mass = crank
inertia = crank*length^2/12
[link coupler]
parent = one
joint = revolute
coordinates = q2
end = 0.4, 0
mass = 2
inertia = 0.03
[link two]
parent = ground
at = 0.4, 0
joint = revolute
coordinates = q3
end = length, 0
mass = crank
inertia = crank*length^2/12
[actuator motor]
coordinate = q1
[point coupler_end]
link = coupler
at = 0.4, 0
[point two_end]
link = two
at = length, 0
)";
std::string turn(const std::string& hold) {
  return "initial-guesses = 1\n[phase only]\n" + hold + R"(
duration = 0.9
intervals = 12
[initial-state]
q1 = 60 deg
q2 = -60 deg
q3 = 60 deg
momentum = 0
[goal]
q1 = 120 deg
q2 = -120 deg
q3 = 120 deg
momentum = 0
[cost]
squared-control = 0.5
[design]
crank.min = 0.5
crank.max = 2
length.min = 0.2
length.max = 0.4
)";
}

// Expects the cost from rest to rest of one slider, J^2 d^2/T^3 times 6/(1 - 1/N^2), and its derivatives. The controls
// lead the continuous equations to the same nodes.
void expect_closed_form(const Evaluator& evaluator) {
  const double m = 0.8, L = 0.32, J = 2.0 * m * L * L / 3.0 + 2.0 * L * L, d = std::numbers::pi / 3.0, T = 0.9;
  const Outcome outcome = evaluator.evaluate(task({L, m}));
  ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
  const double cost = J * J * d * d / (T * T * T) * 6.0 / (1.0 - 1.0 / 144.0);
  EXPECT_NEAR(outcome.evaluation.cost, cost, 1e-7 * cost);
  EXPECT_NEAR(outcome.evaluation.gradient(0), 4.0 * cost / L, 1e-5 * cost / L);
  EXPECT_NEAR(outcome.evaluation.gradient(1), 2.0 * cost / J * 2.0 * L * L / 3.0, 1e-5 * cost);
  EXPECT_LE(metric(evaluator, outcome, "reintegration_error"), 1e-7);
  EXPECT_LE(metric(evaluator, outcome, "end_error"), 1e-6);
  EXPECT_LE(metric(evaluator, outcome, "tracking_error"), 1e-6);
}

TEST(MotionHolds, APairOfPointsClosesALoop) {
  expect_closed_form(*study(parallelogram, turn("hold = coupler_end - two_end")));
}

TEST(MotionHolds, ConstraintsOfTheModelCloseALoop) {
  expect_closed_form(*study(parallelogram + "[constraint across]\nzero = coupler_end.x - two_end.x\n[constraint up]\n"
                                            "zero = coupler_end.y - two_end.y\n",
                            turn("")));
}

// A slider-crank whose goal gives the crank alone: guesses lie on the constraint, in the configuration of the start. The cost is that of
// a collocation of the crank alone, 7.5947 as intervals become shorter.
TEST(MotionHolds, GuessesLieOnTheConstraints) {
  const std::string slider =
      "[model]\ndimension = 2\n[link crank]\nparent = ground\njoint = revolute\nend = 0, -0.5\nmass = 1\ninertia = "
      "0.02\n"
      "[link rod]\nparent = crank\njoint = revolute\nend = 0, -0.8\nmass = 0.6\ninertia = 0.03\n[point pin]\nlink = "
      "rod\n"
      "at = 0, -0.8\n[mass slider]\nlink = rod\nat = 0, -0.8\nmass = 0.5\n[constraint guide]\nzero = pin.x\n"
      "[actuator motor]\ncoordinate = crank\n";
  for (const char* start : {"", "rod = -1.6191394031791821\n"}) {
    const auto evaluator =
        study(slider, std::string("initial-guesses = 2\norder = 4\n[phase go]\nduration = 0.8\nintervals = 20\n"
                                  "[initial-state]\ncrank = 60 deg\nrate(crank) = 0\n") +
                          start + "[goal]\ncrank = -30 deg\nrate(crank) = 0\n[cost]\nsquared-control = 1\n");
    Task task;
    task.evaluation.design.resize(0);
    const Outcome outcome = evaluator->evaluate(task);
    ASSERT_EQ(outcome.evaluation.status, Status::ok) << start << outcome.evaluation.reason;
    EXPECT_NEAR(outcome.evaluation.cost, 7.595, 1e-3) << start;
  }
}

// Postures of initial guesses, with point values from the model's own kinematics.
struct Guessed {
  std::unique_ptr<MotionDesigns> designs;
  MotionPath path;
  Guessed(const std::string& model, const std::string& text, int number) {
    const std::filesystem::path file = written_study(model, own_model + text);
    designs = std::make_unique<MotionDesigns>(read_settings(file.string(), {}));
    std::filesystem::remove_all(file.parent_path());
    path = designs->initial_guess(Eigen::VectorXd(0), 5, number);
  }
  Eigen::Vector3d point(const std::string& name, std::size_t phase, Eigen::Index node) const {
    const dmoc::System& system = designs->system();
    auto tree = system.model().tree<double>({});
    if (!path.references.empty()) system.refer(tree, autodiff::values_of(*path.references[phase][node]).data());
    const Eigen::VectorXd q = path.q[phase].row(node).transpose();
    const auto frames = tree.frames(q.data());
    for (const auto& [called, place] : tree.named_points)
      if (called == name) {
        const auto at = frames[place.link].point(place.at);
        return {at[0], at[1], at[2]};
      }
    throw std::out_of_range(name);
  }
  Eigen::Index last(std::size_t phase) const { return path.q[phase].rows() - 1; }
};

// A body in space with two legs of two hinges and a slide each.
std::string two_legs() {
  std::string model =
      "[model]\ndimension = 3\n[link body]\nparent = ground\njoint = spatial ZXY\nmass = 5\ninertia = 0.1, 0.1, 0.1\n";
  for (const std::string side : {"left", "right"})
    model += "[link " + side + "_hip]\nparent = body\nat = 0, " + (side == "left" ? "0.1" : "-0.1") +
             ", 0\njoint = revolute x\nmass = 0.1\ninertia = 0.01, 0.01, 0.01\n[link " + side +
             "_thigh]\nparent = " + side + "_hip\njoint = revolute y\nmass = 0.1\ninertia = 0.01, 0.01, 0.01\n[link " +
             side + "_shank]\nparent = " + side +
             "_thigh\nat = 0, 0, -0.5\njoint = prismatic z\nmass = 0.1\ninertia = 0.01, 0.01, 0.01\n[point " + side +
             "_foot]\nlink = " + side + "_shank\nat = 0, 0, -0.3\n[actuator " + side + "]\ncoordinate = " + side +
             "_shank\n";
  return model;
}

// A step: the start gives all coordinates, the goal the body and the place of the left foot alone. In every guess, held
// feet stay in place, and the feet of the goal are where it asks for them.
TEST(MotionHolds, GuessesKeepWhatPhasesHold) {
  const std::string text =
      "initial-guesses = 4\n[phase shift]\nhold = left_foot, right_foot\nduration = 0.5\nintervals = 6\n"
      "[phase swing]\nhold = right_foot\nduration = 0.5\nintervals = 6\n"
      "[phase settle]\nhold = left_foot, right_foot\nduration = 0.5\nintervals = 6\n"
      "[initial-state]\nbody = pose 0 0 0.8, turn z 0 deg\nleft_hip = 0\nleft_thigh = 0\nleft_shank = 0\nright_hip = "
      "0\n"
      "right_thigh = 0\nright_shank = 0\nmomentum = 0\n"
      "[goal]\nbody = pose 0.1 0 0.75, turn z 10 deg\nrequire = left_foot.x == 0.2, left_foot.y == 0.12, left_foot.z "
      "== 0, "
      "right_foot.x == 0, right_foot.y == -0.1, right_foot.z == 0\nmomentum = 0\n[cost]\nsquared-control = 1\n";
  for (const int number : {0, 1, 2, 3}) {
    const Guessed guess(two_legs(), text, number);
    const Eigen::Vector3d right(0, -0.1, 0), left(0, 0.1, 0), ahead(0.2, 0.12, 0);
    for (std::size_t phase = 0; phase < 3; ++phase)
      for (Eigen::Index k = 0; k <= guess.last(phase); ++k) {
        EXPECT_LE((guess.point("right_foot", phase, k) - right).norm(), 1e-8) << number << " " << phase << " " << k;
        if (phase == 1) continue;
        EXPECT_LE((guess.point("left_foot", phase, k) - (phase == 0 ? left : ahead)).norm(), 1e-8)
            << number << " " << phase << " " << k;
      }
    for (std::size_t phase = 1; phase < 3; ++phase)  // phases begin where the one before ends
      EXPECT_LE(
          (guess.point("left_foot", phase, 0) - guess.point("left_foot", phase - 1, guess.last(phase - 1))).norm(),
          1e-8);
  }
}

// The same of the linkage, with its closure in closed form: the ends of the coupler and of the second crank coincide.
TEST(MotionHolds, GuessesOfALinkageAreClosed) {
  const std::string text =
      "initial-guesses = 8\n[phase only]\nhold = coupler_end - two_end\nduration = 0.9\nintervals = 12\n"
      "[initial-state]\nq1 = 60 deg\nq2 = -60 deg\nq3 = 60 deg\nmomentum = 0\n[goal]\nq1 = 120 deg\nmomentum = 0\n"
      "[cost]\nsquared-control = 0.5\n";
  for (int number = 0; number < 8; ++number) {
    const MatrixXd q = Guessed(parallelogram, text, number).path.q.front();
    for (Eigen::Index k = 0; k < q.rows(); ++k) {
      const double across = 0.3 * std::cos(q(k, 0)) + 0.4 * std::cos(q(k, 0) + q(k, 1)) - 0.4 - 0.3 * std::cos(q(k, 2));
      const double up = 0.3 * std::sin(q(k, 0)) + 0.4 * std::sin(q(k, 0) + q(k, 1)) - 0.3 * std::sin(q(k, 2));
      EXPECT_LE(std::hypot(across, up), 1e-8) << number << " " << k;
    }
    EXPECT_NEAR(q(12, 0), 2.0 * std::numbers::pi / 3.0, 1e-12);
  }
}

// A four-bar linkage, closed by a hold, whose goal gives its crank alone. Every guess is solved, with one cost.
TEST(MotionHolds, TheCrankAloneMayBeGivenAtTheGoal) {
  const std::string text =
      "initial-guesses = 8\n[phase only]\nhold = coupler_end - two_end\nduration = 0.9\nintervals = 12\n"
      "[initial-state]\nq1 = 60 deg\nq2 = -60 deg\nq3 = 60 deg\nmomentum = 0\n[goal]\nq1 = 120 deg\nmomentum = 0\n"
      "[cost]\nsquared-control = 0.5\n";
  const auto evaluator = study(parallelogram, text);
  const Outcome outcome = evaluator->evaluate(task());
  ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
  EXPECT_EQ(metric(*evaluator, outcome, "guesses_solved"), 8.0);
}

// Holds that follow from another hold change nothing.
TEST(MotionHolds, WhatFollowsFromAHoldChangesNothing) {
  expect_closed_form(
      *study(parallelogram,
             turn("hold = coupler_end - two_end, coupler_end.x - two_end.x + coupler_end.y - two_end.y, q1 - q3")));
}

// The second crank is turned by the force of the joint alone. The reported force acts on the coupler.
TEST(MotionHolds, ForcesAreThoseThatTheJointExerts) {
  const auto evaluator = study(parallelogram, turn("hold = coupler_end - two_end"));
  const Outcome outcome = evaluator->evaluate(task({0.3, 1.0}));
  ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
  const MatrixXd &q = channel(*evaluator, outcome, "q"), &force = channel(*evaluator, outcome, "hold_force");
  const double h = 0.9 / 12.0, I = 0.03;
  for (Eigen::Index k = 1; k < 12; ++k) {
    const double x = 0.3 * std::cos(q(k, 2)), y = 0.3 * std::sin(q(k, 2));
    const double torque = -(x * force(k, 1) - y * force(k, 0));
    EXPECT_NEAR(torque, I * (q(k + 1, 2) - 2.0 * q(k, 2) + q(k - 1, 2)) / (h * h), 1e-6) << k;
  }
}

// A rod in the plane, 1 m long, 1 kg, without actuators.
const std::string rod = R"([model]
dimension = 2
gravity = 0
[link rod]
parent = ground
joint = planar
coordinates = x, y, a
end = 1, 0
mass = 1
inertia = 1/12
[point tip]
link = rod
at = 1, 0
)";
const std::string thrown = R"([initial-state]
x = 0
y = 0
a = 0
rate(x) = 0
rate(y) = -1
rate(a) = 0
)";

// The rod moves sideways at 1 m/s until its tip is caught. The angular momentum about the tip is conserved: m v/2 =
// w/3. After the release the centre keeps its velocity.
TEST(MotionHolds, ACaughtPointTakesThePlasticImpactsMomentum) {
  const auto evaluator = study(rod, R"(initial-guesses = 1
accuracy = 0
[phase fall]
duration = 0.2
intervals = 4
[phase swing]
hold = tip
duration = 0.3
intervals = 60
[phase flight]
duration = 0.2
intervals = 4
)" + thrown + "[goal]\ncost = rate(a)^2\n");
  const Outcome outcome = evaluator->evaluate(task());
  ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
  const double w = 1.5;
  EXPECT_NEAR(outcome.evaluation.cost, w * w, 2e-4);
  EXPECT_NEAR(metric(*evaluator, outcome, "impact_loss"), 0.5 - 0.5 * w * w / 3.0, 1e-7);
  EXPECT_LE(metric(*evaluator, outcome, "reintegration_error"), 1e-7);
  const MatrixXd &q = channel(*evaluator, outcome, "q"), &p = channel(*evaluator, outcome, "p");
  for (Eigen::Index k = 5; k < 66; ++k) {  // the tip stays where it was caught
    EXPECT_NEAR(q(k, 0) + std::cos(q(k, 2)), 1.0, 1e-7) << k;
    EXPECT_NEAR(q(k, 1) + std::sin(q(k, 2)), -0.2, 1e-7) << k;
  }
  const double a = q(65, 2), speed = 0.5 * w;  // at the release the centre moves across the rod
  for (Eigen::Index k = 66; k < 71; ++k) {
    EXPECT_NEAR(p(k, 0), speed * std::sin(a), 2e-4) << k;
    EXPECT_NEAR(p(k, 1), -speed * std::cos(a), 2e-4) << k;
  }
}

// A table on two feet, 2 kg at 9 m/s2. Its centre is 0.2 m to the right of the middle between the feet, and is pushed
// sideways.
const std::string table = R"([model]
dimension = 2
gravity = 9
[link top]
parent = ground
joint = planar
coordinates = x, y, a
centre = 0.2, 0
mass = 2
inertia = 0.1
[point rear]
link = top
at = -0.5, 0
[point front]
link = top
at = 0.5, 0
[actuator push]
coordinate = x
)";
std::string stand(const std::string& require) {
  return "initial-guesses = 1\n[phase stand]\nhold = rear, front\nduration = 0.5\nintervals = 5\nrequire = " + require +
         "\n[initial-state]\nx = 0\ny = 0\na = 0\nmomentum = 0\n[goal]\nmomentum = 0\n[cost]\nsquared-control = 1\n";
}

// Four held components for three coordinates. Each foot's share of the weight follows from the levers. Of the
// horizontal forces only the sum is determined.
TEST(MotionHolds, TwoFeetShareTheWeight) {
  const auto evaluator = study(table, stand("u.push == 3"));
  const Outcome outcome = evaluator->evaluate(task());
  ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
  const MatrixXd& force = channel(*evaluator, outcome, "hold_force");  // rear.x, rear.y, front.x, front.y
  for (Eigen::Index k = 0; k < 6; ++k) {
    EXPECT_NEAR(force(k, 0) + force(k, 2), -3.0, 1e-5) << k;
    EXPECT_NEAR(force(k, 1), 18.0 * 0.3, 1e-5) << k;
    EXPECT_NEAR(force(k, 3), 18.0 * 0.7, 1e-5) << k;
  }
}

// An initial guess can include the forces of holds. For a table at rest they balance all momenta.
TEST(MotionHolds, AGuessMayBeginWithItsForces) {
  const std::filesystem::path file = written_study(table, own_model + stand("u.push >= -1"));
  const MotionDesigns designs(read_settings(file.string(), {}));
  std::filesystem::remove_all(file.parent_path());
  const Eigen::VectorXd design(0);
  MotionPath path = designs.initial_guess(design, 1, 0);
  path.q[0].setZero();
  const TranscribedMotion planned = designs.plan(design, path);
  const Eigen::VectorXd x = designs.start(planned, path, true);
  const nlp::AssembledProblem& problem = planned.problem.problem();
  Eigen::VectorXd rows(problem.constraints());
  problem.constraint_values(x, rows);
  EXPECT_LE(rows(Eigen::seqN(planned.problem.momentum_row(0, 1), 3)).cwiseAbs().maxCoeff(), 18.0 * 1e-4);
  const dmoc::PositionConstraint& hold = planned.problem.position_constraints(0).front();
  EXPECT_NEAR(x(hold.multipliers[2] + 1), 18.0 * 0.3, 1e-3);
  EXPECT_NEAR(x(hold.multipliers[2] + 3), 18.0 * 0.7, 1e-3);
  EXPECT_EQ(designs.start(planned, path).tail(4).cwiseAbs().maxCoeff(), 0.0);
  path.controls = {Eigen::MatrixXd::Zero(5, 1)};  // a path that brings its controls keeps them
  EXPECT_EQ(designs.start(planned, path, true)(hold.multipliers[2] + 1), 0.0);
}

// The same table, with its rear foot fixed by coordinates and its front foot held: both together carry the weight.
TEST(MotionHolds, AFixedFootCarriesWhatAHeldOneLeaves) {
  const std::string on_root =
      "[model]\ndimension = 2\ngravity = 9\n[link top]\nparent = ground\njoint = point + revolute\ncoordinates = x, y, "
      "a\n"
      "centre = 0.7, 0\nmass = 2\ninertia = 0.1\n[point front]\nlink = top\nat = 1, 0\n[actuator push]\ncoordinate = "
      "x\n";
  const auto solved = [&](const std::string& push, Outcome& outcome) {
    auto evaluator =
        study(on_root,
              "initial-guesses = 1\n[phase stand]\nfixed = x, y\nhold = front\nduration = 0.5\nintervals = 5\n"
              "require = u.push == " +
                  push +
                  ", abs(reaction(x)) <= 0.5*reaction(y), abs(tangential(front)) <= 0.2*normal(front)\n"
                  "[initial-state]\na = 0\nmomentum = 0\n[goal]\nmomentum = 0\n[cost]\nsquared-control = 1\n");
    outcome = evaluator->evaluate(task());
    return evaluator;
  };
  Outcome outcome;
  const auto evaluator = solved("3", outcome);
  ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
  const MatrixXd &rear = channel(*evaluator, outcome, "held_force"),
                 &front = channel(*evaluator, outcome, "hold_force");
  for (Eigen::Index k = 0; k < 6; ++k) {
    EXPECT_NEAR(rear(k, 1), 18.0 * 0.3, 1e-5) << k;
    EXPECT_NEAR(front(k, 1), 18.0 * 0.7, 1e-5) << k;
    EXPECT_NEAR(rear(k, 0) + front(k, 0), -3.0, 1e-5) << k;
  }
  solved("6", outcome);  // friction bears at most 0.5*5.4 N + 0.2*12.6 N
  EXPECT_NE(outcome.evaluation.status, Status::ok);
}

TEST(MotionHolds, ConditionsOfForcesHoldAtEveryNode) {
  const auto solved = [](const std::string& require) { return study(table, stand(require))->evaluate(task()); };
  EXPECT_EQ(solved("normal(front) >= 2.3*normal(rear)").evaluation.status, Status::ok);
  EXPECT_EQ(solved("reaction(front.y) >= 2.3*reaction(rear.y)").evaluation.status, Status::ok);
  EXPECT_NE(solved("normal(front) >= 2.4*normal(rear)").evaluation.status, Status::ok);
  EXPECT_EQ(solved("normal(front) <= 12.7 N").evaluation.status, Status::ok);  // it carries 18 N * 0.7
  EXPECT_NE(solved("normal(front) <= 12.5 N").evaluation.status, Status::ok);
  for (const std::string place : {"front.x", "front.y", "rear.x", "rear.y"})
    EXPECT_EQ(solved("abs(reaction(" + place + ")) <= 12.7 N").evaluation.status, Status::ok) << place;
  EXPECT_EQ(solved("normal(front) - normal(rear) >= 7.1 N").evaluation.status, Status::ok);
  EXPECT_NE(solved("normal(front) - normal(rear) >= 7.3 N").evaluation.status, Status::ok);
  EXPECT_EQ(
      solved("u.push == 3, abs(tangential(front)) <= 0.2*normal(front), abs(tangential(rear)) <= 0.2*normal(rear)")
          .evaluation.status,
      Status::ok);  // 3 N; friction bears at most 0.2*18 N
  EXPECT_NE(
      solved("u.push == 4, abs(tangential(front)) <= 0.2*normal(front), abs(tangential(rear)) <= 0.2*normal(rear)")
          .evaluation.status,
      Status::ok);
  // a factor may be a parameter of the model
  const auto slides = [](const std::string& push) {
    return study(table + "[parameters]\nfriction = 0.2\n", stand("u.push == " + push +
                                                                 ", abs(tangential(front)) <= friction*normal(front), "
                                                                 "abs(tangential(rear)) <= friction*normal(rear)"))
               ->evaluate(task())
               .evaluation.status != Status::ok;
  };
  EXPECT_FALSE(slides("3"));
  EXPECT_TRUE(slides("4"));
}

// Positions of the start or the goal that violate a constraint of the model are refused, with its name.
TEST(MotionHolds, EndsThatViolateAConstraint) {
  const auto said = [](const std::string& start, const std::string& goal) {
    const std::filesystem::path file = written_study(
        "[model]\ndimension = 2\n[link p]\nparent = ground\njoint = point\ncoordinates = x, y\nmass = 1\n"
        "[point bead]\nlink = p\n[constraint wire]\nzero = bead.x^2 + y^2 - 1\n[actuator push]\ncoordinate = x\n",
        own_model + "[phase only]\nintervals = 4\nduration = 1\n[initial-state]\n" + start + "[goal]\n" + goal +
            "[cost]\nsquared-control = 1\n");
    const std::string what = message_of<ConfigError>([&] { MotionDesigns(read_settings(file.string(), {})); });
    std::filesystem::remove_all(file.parent_path());
    return what;
  };
  EXPECT_EQ(said("x = 0.6\ny = -0.8\n", "x = 0.8\n"), "");
  EXPECT_NE(said("x = 1\ny = -1\n", "x = 0.8\n")
                .find("the initial state violates [constraint wire], zero = bead.x^2 + y^2 - 1, by 1; change"),
            std::string::npos);
  EXPECT_NE(said("x = 0.6\n", "x = 1\ny = 0.5\n").find("the goal violates [constraint wire]"), std::string::npos);
}

// Rates that leave a constraint or a hold, and a goal that moves what all phases hold, are refused with both.
TEST(MotionHolds, RatesAndGoalsThatViolateAConstraintOrAHold) {
  const auto said = [](const std::string& hold, const std::string& start, const std::string& goal,
                       const std::string& wire = "bead.x^2 + y^2 - 1") {
    const std::filesystem::path file = written_study(
        "[model]\ndimension = 2\n[link p]\nparent = ground\njoint = point\ncoordinates = x, y\nmass = 1\n"
        "[point bead]\nlink = p\n[actuator push]\ncoordinate = x\n" +
            (hold.empty() ? "[constraint wire]\nzero = " + wire + "\n" : ""),
        own_model + "[phase only]\nintervals = 4\nduration = 1\n" + hold + "[initial-state]\n" + start + "[goal]\n" +
            goal + "[cost]\nsquared-control = 1\n");
    const std::string what = message_of<ConfigError>([&] { MotionDesigns(read_settings(file.string(), {})); });
    std::filesystem::remove_all(file.parent_path());
    return what;
  };
  const auto expect = [](const std::string& what, const std::string& part) {
    EXPECT_NE(what.find(part), std::string::npos) << what;
  };
  const std::string at = "x = 0.6\ny = -0.8\n";
  EXPECT_EQ(said("", at + "rate(x) = 4\nrate(y) = 3\n", ""), "");
  EXPECT_EQ(said("", at + "rate(x) = 4\n", ""), "");
  // along a curved wire, however fast
  EXPECT_EQ(said("", "x = 1\ny = 1\nrate(x) = 1000\nrate(y) = 3000\n", "", "y - x^3/(1 m^2)"), "");
  expect(said("", "x = 1\ny = 1\nrate(x) = 1000\nrate(y) = 2999\n", "", "y - x^3/(1 m^2)"), "by 1 per second");
  expect(said("", at + "rate(x) = 4\nrate(y) = 2\n", ""),
         "the rates of the initial state change bead.x^2 + y^2 - 1, which [constraint wire] holds at zero, by 1.6 per "
         "second; change the rates");
  expect(said("", "", at + "rate(x) = -4\nrate(y) = 2\n"), "the rates of the goal change bead.x^2");
  EXPECT_EQ(said("hold = x\n", at + "rate(x) = 0\n", "x = 0.6\n"), "");
  expect(said("hold = x\n", at + "rate(x) = 1\n", ""), "change x, which [phase only] holds, by 1 per second");
  expect(
      said("hold = x\n", at, "x = 0.7\n"),
      "the goal has x = 0.7, but every phase holds it at 0.6, its value in the initial state; change one of them, or "
      "hold");
}

// Two points that a hold keeps together may move together: the first one is not held by itself.
TEST(MotionHolds, APairDoesNotHoldItsFirstPoint) {
  const std::filesystem::path file = written_study(
      "[model]\ndimension = 2\n[link p]\nparent = ground\njoint = prismatic x\ncoordinates = s\nmass = 1\n"
      "[link q]\nparent = ground\njoint = prismatic x\ncoordinates = r\nmass = 1\n[point grip]\nlink = p\n"
      "[point handle]\nlink = q\n[actuator push]\ncoordinate = s\n",
      own_model +
          "initial-guesses = 1\n[phase only]\nintervals = 4\nduration = 1\nhold = grip - handle\n"
          "require = grip.x >= 0\n[initial-state]\ns = 0\nr = 0.2\n[goal]\ns = 1\n[cost]\n"
          "squared-control = 1\n");
  EXPECT_EQ(message_of<ConfigError>([&] { MotionDesigns(read_settings(file.string(), {})); }), "");
  std::filesystem::remove_all(file.parent_path());
}

// A foot that stands at height zero satisfies foot.y >= 0 exactly. Such rows have no interior, so they are left out. Rows
// that are satisfied by more stay. A violated one is refused.
TEST(MotionHolds, ConditionsThatAHoldSatisfiesExactlyAreLeftOut) {
  const auto rows = [](const std::string& require, const std::string& start) {
    std::string text = stand("u.push >= -1" + require);
    text.replace(text.find("x = 0\ny = 0\na = 0\n"), 18, start);
    const std::filesystem::path file = written_study(table, own_model + text);
    const MotionDesigns designs(read_settings(file.string(), {}));
    std::filesystem::remove_all(file.parent_path());
    const Eigen::VectorXd design(0);
    return designs.plan(design, designs.initial_guess(design, 1, 0)).problem.problem().constraints();
  };
  for (const std::string start :
       {"x = 0\ny = 0\na = 0\n", "require = front.x == 1, 2*front.y - 0.6 == 0, rear.y == 0.3\n"}) {
    const bool by_names = start.front() == 'r';
    const std::string height = by_names ? "0.3" : "0", lower = by_names ? "0.2" : "-0.1",
                      higher = by_names ? "0.4" : "0.1";
    const int without = rows("", start);
    EXPECT_EQ(rows(", front.y >= " + height, start), without) << start;
    EXPECT_EQ(rows(", front.y + rear.y >= 2*" + height, start), without) << start;
    EXPECT_EQ(rows(", front.y >= " + lower, start), without + 6) << start;
    for (const std::string condition : {"front.y >= ", "front.y == "}) {
      const std::string message = message_of<ConfigError>([&] { rows(", " + condition + higher, start); });
      EXPECT_NE(message.find("require = " + condition + higher + " is violated by 0.1 at its beginning"),
                std::string::npos)
          << message;
    }
    EXPECT_EQ(rows(", front.x + x >= 0", start), without + 6) << start;
  }
}

// A brick in space swings about a held corner. Half the step reduces the error by a factor of 4.
TEST(MotionHolds, ABrickInSpaceSwingsAboutItsHeldCorner) {
  const std::string brick =
      "[model]\ndimension = 3\n[link brick]\nparent = ground\njoint = spatial ZXY\n[shape brick]\nlink = brick\n"
      "box = 0.2, 0.3, 0.4\nmass = 1\n[point corner]\nlink = brick\nat = 0.1, 0.15, 0.2\n";
  double errors[2];
  for (const int fine : {1, 2}) {
    const auto evaluator = study(brick,
                                 "initial-guesses = 1\naccuracy = 0\n[phase swing]\nhold = corner\nduration = 0.3\n"
                                 "intervals = " +
                                     std::to_string(10 * fine) +
                                     "\n[initial-state]\nbrick = pose 0 0 0, turn z 30 deg, turn x 20 deg, rest\n"
                                     "[goal]\ncost = corner.x^2\n");
    const Outcome outcome = evaluator->evaluate(task());
    ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
    EXPECT_LE(metric(*evaluator, outcome, "reintegration_error"), 1e-6);
    errors[fine - 1] = metric(*evaluator, outcome, "end_error");
    EXPECT_LE(errors[fine - 1], 0.02 / fine);
  }
  EXPECT_NEAR(errors[0] / errors[1], 4.0, 0.4);
}

// Releasing a locked crank changes no velocity: the integration continues from its own state.
TEST(MotionHolds, WhatIsNoLongerHeldDoesNotRestartTheCheck) {
  const auto evaluator = study(parallelogram +
                                   "[constraint across]\nzero = coupler_end.x - two_end.x\n[constraint up]\n"
                                   "zero = coupler_end.y - two_end.y\n",
                               "initial-guesses = 1\n[phase locked]\nhold = q1\nduration = 0.1\nintervals = 2\n" +
                                   turn("").substr(turn("").find("[phase only]")));
  const Outcome outcome = evaluator->evaluate(task({0.3, 1.0}));
  ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
  EXPECT_LE(metric(*evaluator, outcome, "end_error"), 1e-6);
  EXPECT_EQ(evaluator->report(outcome).find("restarted"), std::string::npos) << evaluator->report(outcome);
  // A hold that stops a moving body restarts the integration.
  const auto caught = study(rod,
                            "initial-guesses = 1\naccuracy = 0\n[phase fall]\nduration = 0.2\nintervals = 4\n"
                            "[phase swing]\nhold = tip\nduration = 0.1\nintervals = 4\n" +
                                thrown + "[goal]\ncost = rate(a)^2\n");
  const std::string report = caught->report(caught->evaluate(task()));
  EXPECT_NE(report.find("restarted at [phase swing], which holds coordinates that moved"), std::string::npos) << report;
}

TEST(MotionHolds, TheContactSimulationRefusesThem) {
  const auto evaluator = study(parallelogram, turn("hold = coupler_end - two_end"));
  const std::string line = message_of<ConfigError>([&] { evaluator->simulate(task({0.3, 1.0})); });
  EXPECT_EQ(line,
            "[phase only] holds coupler_end.x, coupler_end.y, which the contact simulation does not support; "
            "use fixed, or remove hold");
}

TEST(MotionHolds, EachMistakeGetsItsLine) {
  const auto says = [](const std::string& hold, const std::string& words) {
    const std::string line = complaint(parallelogram, turn("hold = " + hold));
    EXPECT_NE(line.find(words), std::string::npos) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos);
  };
  says("coupler_emd", "'coupler_emd' is no [point] of the model (did you mean 'coupler_end'?)");
  says("rate(q1)", "is not an expression of positions");
  says("u.motor", "is not an expression of positions");
  says("t", "is no [point]");
  says("length", "is not an expression of positions");
  says("coupler_end.x*crnk", "unknown name 'crnk' (did you mean 'crank'?)");
  const std::string line =
      complaint(parallelogram, turn("hold = coupler_end - two_end\nrequire = normal(two_end) >= 0"));
  EXPECT_NE(line.find("a point that this phase does not hold"), std::string::npos) << line;
  // the message names the constraint that is wrong, not the hold
  const std::string free_in_space =
      "[model]\ndimension = 3\n[link brick]\nparent = ground\njoint = spatial ZXY\n[shape brick]\nlink = brick\nbox = "
      "1, 1, "
      "1\nmass = 1\n[point corner]\nlink = brick\nat = 0.5, 0.5, 0.5\n[constraint level]\nzero = brick_turn_x\n";
  const std::string other = complaint(free_in_space,
                                      "[phase swing]\nhold = corner\nduration = 1\n[initial-state]\n[goal]\n"
                                      "[cost]\ntime = 1\n");
  EXPECT_NE(other.find("own.model: [constraint level]: angles of a spherical joint"), std::string::npos) << other;
  EXPECT_NE(complaint(rod, "first-guess = simulated\n[phase fall]\nhold = tip\nduration = 0.2\n" + thrown + "[goal]\n" +
                               "[cost]\ntime = 1\n")
                .find("hold is not supported with motion.first-guess = simulated"),
            std::string::npos);
}

}  // namespace
}  // namespace dodyn::evaluators::test_motion_holds
