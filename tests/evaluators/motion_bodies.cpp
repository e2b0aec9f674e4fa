// Optimal motions of bodies: closed forms, momenta and distances worked out here from the trajectory alone.
#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>

#include "evaluators/evaluator.hpp"
#include "evaluators/motion/design.hpp"
#include "evaluators/motion/initial_guess.hpp"
#include "geometry/hyperplanes.hpp"
#include "tests/message_of.hpp"
#include "tests/nlp/check_derivatives.hpp"
#include "whole.hpp"
#include "written.hpp"

namespace dodyn::evaluators::test_motion_bodies {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

Settings shipped(const std::string& name, const std::vector<std::string>& words) {
  return read_settings(std::string(CONFIGS) + "/" + name, words);
}

// A study of a text, with a model beside it.
Settings written(const std::string& model, const std::string& text, const std::vector<std::string>& words = {}) {
  return read_settings(written_study(model, own_model + "initial-guesses = 1\n" + text).string(), words);
}

const std::string brick = R"(
[model]
name = brick
dimension = 3
gravity = 0
[parameters]
a = 0.1
b = 0.1
c = 0.1
[link body]
parent = ground
joint = spatial XYZ
[shape body]
link = body
box = a, b, c
density = 1000
[actuator fx]
link = body
force = 1, 0, 0
axes = world
[actuator fy]
link = body
force = 0, 1, 0
axes = world
[actuator fz]
link = body
force = 0, 0, 1
axes = world
[actuator tx]
link = body
torque = 1, 0, 0
axes = world
[actuator ty]
link = body
torque = 0, 1, 0
axes = world
[actuator tz]
link = body
torque = 0, 0, 1
axes = world
)";
std::string turning(const std::string& start, const std::string& goal, int intervals) {
  return "[phase only]\nintervals = " + std::to_string(intervals) +
         "\nduration = 2\n[initial-state]\nbody = pose 0 0 0" + start + ", rest\n[goal]\nbody = pose 0 0 0" + goal +
         ", rest\n[cost]\nsquared-control = 1\n";
}

// Without obstacles the optimum of two docked craft is that of a mass pushed from rest to rest: 12 m^2 d^2/T^3 times
// 1/(1 - 1/K^2), exactly.
TEST(MotionBodies, FreeCraftCostsWhatAPushedMassCosts) {
  for (const int K : {6, 12, 30}) {
    const auto free = written(
        systems::model_text("satellites"),
        "[phase only]\nduration = 0.3\nintervals = " + std::to_string(K) +
            "\n[initial-state]\ntarget = pose 0 0 0\nchaser = pose 2*side side 0, turn z 180 deg\nmomentum = 0\n"
            "[goal]\ntarget = pose 0 0 0\nchaser from target = pose side 2*side 0, turn z 180 deg\n"
            "momentum = 0\n[cost]\nsquared-control = 1\n");
    const auto evaluator = make_evaluator(free);
    const Outcome outcome = evaluator->evaluate(task());
    ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
    const double mass = 3 * 0.001 * 27, cost = 12 * mass * mass * 0.02 / (0.3 * 0.3 * 0.3) / (1.0 - 1.0 / (K * K));
    EXPECT_NEAR(outcome.evaluation.cost, cost, 1e-8 * cost) << K;
    EXPECT_LE(metric(*evaluator, outcome, "reintegration_error"), 1e-7);
  }
}

// A turn about an axis of inertia: 12 J^2 angle^2/T^3, approached at second order; and no attitude is special, also
// where the angles of the joint fail (a quarter turn about y).
TEST(MotionBodies, TurningCostsTheSameFromAnyAttitude) {
  const double J = 0.1 * 0.1 * 0.1 * 1000 * (0.01 + 0.01) / 12, angle = 1.5, exact = 12 * J * J * angle * angle / 8;
  std::vector<double> cost;
  for (const int K : {8, 16, 32}) {
    const auto evaluator = make_evaluator(written(brick, turning("", ", turn z 1.5", K)));
    const Outcome outcome = evaluator->evaluate(task());
    ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
    cost.push_back(outcome.evaluation.cost);
    EXPECT_LE(metric(*evaluator, outcome, "reintegration_error"), 1e-7);
  }
  EXPECT_NEAR(cost[2], exact, 3e-3 * exact);
  EXPECT_NEAR((cost[0] - exact) / (cost[1] - exact), 4.0, 0.3);
  EXPECT_NEAR((cost[1] - exact) / (cost[2] - exact), 4.0, 0.1);
  for (const auto& [from, to] :
       {std::pair<std::string, std::string>{", turn y 90 deg", ", turn y 90 deg, turn z 1.5"},
        {", turn y 90 deg", ", turn y 90 deg, turn x 1.5"},
        {", turn y 0.9", ", turn y 2.4"},
        {", turn x 2, turn y 1.5, turn z 3", ", turn x 2, turn y 1.5, turn z 3, turn y -1.5"}}) {
    const auto evaluator = make_evaluator(written(brick, turning(from, to, 8)));
    const Outcome outcome = evaluator->evaluate(task());
    ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
    EXPECT_NEAR(outcome.evaluation.cost, cost[0], 1e-7 * cost[0]) << from << to;
  }
}

// A turn at which the angles of the joint are singular, with one refinement of the mesh, costs the same as on the finer
// mesh. Its archive has the numbers of rows of the channels, also for the corners of the body.
TEST(MotionBodies, ARefinedTurnIsThatOfTheFinerMesh) {
  const auto found = [&](int intervals, const std::vector<std::string>& words) {
    const auto evaluator =
        make_evaluator(written(brick, turning(", turn y 90 deg", ", turn y 90 deg, turn z 1.5", intervals), words));
    Outcome outcome = evaluator->evaluate(task());
    EXPECT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
    EXPECT_EQ(metric(*evaluator, outcome, "intervals"), 16.0);
    const auto channels = evaluator->channels();
    for (std::size_t i = 0; i < channels.size(); ++i)
      EXPECT_EQ(outcome.trajectory.values[i].rows(), channels[i].nodes) << channels[i].name;
    return std::pair(outcome.evaluation.cost, channel(*evaluator, outcome, "shapes"));
  };
  const auto direct = found(16, {"--motion.accuracy", "0"});
  const auto refined =
      found(8, {"--motion.accuracy", "0", "--motion.refine-tolerance", "1e-12", "--motion.refinements", "1"});
  EXPECT_NEAR(refined.first, direct.first, 1e-7 * direct.first);
  EXPECT_EQ(refined.second, direct.second);
}

// The shipped craft that keep clear of each other, on few intervals.
struct Craft {
  Outcome outcome;
  Eigen::MatrixXd q, u;
  double h;
};
const Craft& craft() {
  static const Craft one = [] {
    const auto evaluator = make_evaluator(shipped("satellites.cfg", {"--motion.initial-guesses", "1"}));
    Craft c{evaluator->evaluate(task()), {}, {}, 0.3 / 12};
    EXPECT_EQ(c.outcome.evaluation.status, Status::ok) << c.outcome.evaluation.reason;
    c.q = c.outcome.trajectory.values[1];
    c.u = c.outcome.trajectory.values[3];
    return c;
  }();
  return one;
}
Matrix3d attitude(const Eigen::MatrixXd& q, Eigen::Index k, int body) {
  const auto turn = [&](int i) { return Eigen::AngleAxisd(q(k, 6 * body + 3 + i), Vector3d::Unit(i)); };
  return (turn(0) * turn(1) * turn(2)).toRotationMatrix();
}
const Vector3d centre(0.1 / 3, 0.1 / 3, 0.0);

// The momenta of every interval by the director midpoint rule (Johnson 2013, 4.8 to 4.12), with forces at its ends. For
// each craft arriving and leaving momenta balance at the nodes; both ends are at rest.
TEST(MotionBodies, MomentaBalanceAtEveryNode) {
  const auto& [outcome, q, u, h] = craft();
  Matrix3d E = Matrix3d::Zero();  // int x x^T dm about the centre of mass
  for (const Vector3d& at : {Vector3d(0, 0, 0), Vector3d(0.1, 0, 0), Vector3d(0, 0.1, 0)})
    E += 0.027 * (Matrix3d::Identity() * 0.01 / 12 + (at - centre) * (at - centre).transpose());
  for (int body = 0; body < 2; ++body) {
    Vector3d linear = Vector3d::Zero(), angular = Vector3d::Zero();  // arriving
    for (Eigen::Index k = 0; k < 12; ++k) {
      const Matrix3d R = attitude(q, k, body), next = attitude(q, k + 1, body);
      const Vector3d x = q.row(k).segment<3>(6 * body).transpose() + R * centre,
                     y = q.row(k + 1).segment<3>(6 * body).transpose() + next * centre, p = 0.081 * (y - x) / h,
                     f = u.row(k).segment<3>(6 * body).transpose(),
                     torque = u.row(k).segment<3>(6 * body + 3).transpose();
      Vector3d spin = Vector3d::Zero();
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) spin += E(i, j) * R.col(i).cross(next.col(j)) / h;
      EXPECT_LE((p - 0.5 * h * f - linear).norm(), 1e-9) << body << " " << k;
      EXPECT_LE((x.cross(p - 0.5 * h * f) + spin - 0.5 * h * torque - angular).norm(), 1e-9) << body << " " << k;
      linear = p + 0.5 * h * f;
      angular = y.cross(linear) + spin + 0.5 * h * torque;
    }
    EXPECT_LE(linear.norm(), 1e-9);
    EXPECT_LE(angular.norm(), 1e-9);
  }
}

// Boxes moved along by hand on a mesh twenty times finer.
TEST(MotionBodies, NothingOverlapsBetweenNodes) {
  const auto& [outcome, q, u, h] = craft();
  const geometry::Polytope<3> cube = geometry::box(0.1, 0.1, 0.1);
  double least = 1.0, turned = 0.0;
  for (Eigen::Index k = 0; k < 12; ++k)
    for (int i = 0; i <= 20; ++i) {
      std::array<Matrix3d, 2> R;
      std::array<Vector3d, 2> at;
      for (int body = 0; body < 2; ++body) {
        const Matrix3d a = attitude(q, k, body), b = attitude(q, k + 1, body);
        const Eigen::AngleAxisd turn(b * a.transpose());
        turned = std::max(turned, turn.angle());
        R[body] = Eigen::AngleAxisd(0.05 * i * turn.angle(), turn.axis()) * a;
        const Vector3d x = q.row(k).segment<3>(6 * body).transpose() + a * centre,
                       y = q.row(k + 1).segment<3>(6 * body).transpose() + b * centre;
        at[body] = x + 0.05 * i * (y - x) - R[body] * centre;
      }
      for (const Vector3d& one : {Vector3d(0, 0, 0), Vector3d(0.1, 0, 0), Vector3d(0, 0.1, 0)})
        for (const Vector3d& other : {Vector3d(0, 0, 0), Vector3d(0.1, 0, 0), Vector3d(0, 0.1, 0)}) {
          geometry::Basis<3> basis;
          geometry::Contact<3> contact;
          geometry::find_contact(cube, {at[0] + R[0] * one, R[0]}, cube, {at[1] + R[1] * other, R[1]}, basis, contact);
          least = std::min(least, -contact.normal_gap());
        }
    }
  EXPECT_GE(least, -0.3 * turned * turned / 8 - 1e-6);  // the sag of an arc of 0.3 m at most
  EXPECT_GE(least, -1e-3);
  EXPECT_GT(outcome.evaluation.cost, 0.0587);  // dearer than without the other craft
}

// A mesh that is halved has more nodes than the archive's channels; the shapes have none.
TEST(MotionBodies, ARefinedMotionHasTheRowsThatItDeclares) {
  const auto evaluator = make_evaluator(written(brick, turning("", ", turn x 0.5, turn z 0.5", 6),
                                                {"--design.a", "0.3", "--design.b", "0.2", "--motion.accuracy", "1e-9",
                                                 "--motion.refinements", "1", "--motion.validity-check", "warn"}));
  const Outcome outcome = evaluator->evaluate(task());
  ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
  EXPECT_EQ(metric(*evaluator, outcome, "intervals"), 12.0);
  const auto channels = evaluator->channels();
  ASSERT_EQ(outcome.trajectory.values.size(), channels.size());
  for (std::size_t i = 0; i < channels.size(); ++i)
    EXPECT_EQ(outcome.trajectory.values[i].rows(), channels[i].nodes) << channels[i].name;
}

TEST(MotionBodies, DerivativesAreThoseOfDifferences) {
  const MotionDesigns designs(shipped("satellites.cfg", {"--phase.only.intervals", "3"}));
  const Eigen::VectorXd none(0);
  const MotionPath path = initial_path(designs.motion(), none, 5, 1);
  const TranscribedMotion planned = designs.plan(none, path, 0.7);
  Eigen::VectorXd x = designs.start(planned, path);
  for (Eigen::Index i = 0; i < x.size(); ++i) x(i) += 0.05 * std::sin(3.0 * static_cast<double>(i));
  const auto errors = nlp::check_derivatives(planned.problem.problem(), x);
  EXPECT_LE(errors.max(), 1e-6) << errors.worst;
}

// The envelope's gradient with respect to a length that shapes, places and inertia depend on, and to the time.
TEST(MotionBodies, DesignGradientIsThatOfResolvedProblems) {
  const auto settings =
      shipped("satellites.cfg", {"--motion.initial-guesses", "1", "--phase.only.intervals", "6", "--design.side.min",
                                 "0.05", "--design.side.max", "0.2", "--design.density.min", "10",
                                 "--design.density.max", "50", "--motion.tolerance", "1e-11"});
  const auto evaluator = make_evaluator(settings);
  const std::vector<double> middle = {0.1, 27.0};
  const Outcome at = evaluator->evaluate(task(middle));
  ASSERT_EQ(at.evaluation.status, Status::ok) << at.evaluation.reason;
  for (int i = 0; i < 2; ++i) {
    const auto along = [&](double step) {
      std::vector<double> design = middle;
      design[i] *= 1.0 + step;
      Task t = task(design);
      t.warm_start = at.trajectory;
      return evaluator->evaluate(t).evaluation.cost;
    };
    const double e = 1e-3, difference = (8 * (along(e) - along(-e)) - (along(2 * e) - along(-2 * e))) / (12 * e);
    EXPECT_NEAR(at.evaluation.gradient(i) * middle[i], difference, 1e-6 * std::abs(difference));
  }
}

TEST(MotionBodies, PianoMoverTurnsTheCorner) {
  const auto evaluator =
      make_evaluator(shipped("piano-mover.cfg", {"--motion.initial-guesses", "1", "--phase.only.intervals", "40"}));
  const Outcome outcome = evaluator->evaluate(task());
  ASSERT_EQ(outcome.evaluation.status, Status::ok) << outcome.evaluation.reason;
  const auto& q = outcome.trajectory.values[1];
  const std::array<std::array<double, 4>, 3> walls = {{{0, 3, 2, 5}, {0, 4, 0, 1}, {4, 5, 0, 5}}};
  // points of the rod against walls, half-way between nodes too
  double deepest = 0.0;
  for (Eigen::Index k = 0; k + 1 < q.rows(); ++k)
    for (const double s : {0.0, 0.5}) {
      const Eigen::Vector3d at = ((1 - s) * q.row(k) + s * q.row(k + 1)).transpose();
      for (int i = 0; i <= 200; ++i)
        for (const double side : {-0.075, 0.075}) {
          const double along = 2.5 * (i / 200.0 - 0.5), c = std::cos(at(2)), sn = std::sin(at(2)),
                       x = at(0) + c * along - sn * side, y = at(1) + sn * along + c * side;
          for (const auto& w : walls)
            deepest = std::max(deepest, std::min(std::min(x - w[0], w[1] - x), std::min(y - w[2], w[3] - y)));
        }
    }
  EXPECT_LE(deepest, 1.25 * 0.2 * 0.2 / 8);  // the sag
  EXPECT_NEAR(q(q.rows() - 1, 2), std::numbers::pi / 2, 1e-8);
}

// An arm with seven joints that places its hand. Postures are found within the limits of the joints, and guesses lead
// there.
TEST(MotionBodies, AnArmReachesAPoseOfItsHandWithinItsLimits) {
  struct Joint {
    const char *link, *at, *axis;
    double from, to, start;
  };
  const std::vector<Joint> joints = {{"one", "0, 0, 0.333", "0, 0, 1", -2.9, 2.9, 0.0},
                                     {"two", "0, 0, 0", "0, 1, 0", -1.76, 1.76, -0.5},
                                     {"three", "0, 0, 0.316", "0, 0, 1", -2.9, 2.9, 0.0},
                                     {"four", "0.0825, 0, 0", "0, -1, 0", -3.07, -0.07, -2.0},
                                     {"five", "-0.0825, 0, 0.384", "0, 0, 1", -2.9, 2.9, 0.0},
                                     {"six", "0, 0, 0", "0, -1, 0", -0.02, 3.75, 1.6},
                                     {"hand", "0.088, 0, 0", "0, 0, -1", -2.9, 2.9, 0.7}};
  std::string model = "[model]\ndimension = 3\ngravity = 0\n", start = "[initial-state]\nmomentum = 0\n";
  for (std::size_t i = 0; i < joints.size(); ++i) {
    const auto& [link, at, axis, from, to, value] = joints[i];
    const std::string coordinate = "q" + std::to_string(i);
    model += std::string("[link ") + link + "]\nparent = " + (i == 0 ? "ground" : joints[i - 1].link) + "\nat = " + at +
             "\njoint = revolute " + axis + "\ncoordinates = " + coordinate +
             "\nmass = 1\ninertia = 0.1, 0.1, 0.1\n[joint-limit " + link + "]\ncoordinate = " + coordinate +
             "\nfrom = " + std::to_string(from) + "\nto = " + std::to_string(to) + "\n[actuator m" + std::to_string(i) +
             "]\ncoordinate = " + coordinate + "\n";
    start += coordinate + " = " + std::to_string(value) + "\n";
  }
  const auto study = [&](const std::string& pose) {
    return written(model,
                   "accuracy = 0\n[phase move]\nduration = 2\nintervals = 12\n" + start + "[goal]\nhand = " + pose +
                       "\nmomentum = 0\n[cost]\nsquared-control = 1\n",
                   {"--motion.initial-guesses", "4"});
  };
  for (const std::string pose : {"pose 0.35 0.35 0.4", "pose 0.3 -0.4 0.6, turn z 60 deg",
                                 "pose -0.4 0.2 0.5, turn x 90 deg", "pose 0.1 0.5 0.3, turn y -45 deg"}) {
    const Settings settings = study(pose);
    const MotionDesigns designs(settings);
    for (const int number : {0, 2}) {  // the others have large detours
      const MotionPath path = designs.initial_guess(Eigen::VectorXd(0), 3, number);
      const Eigen::VectorXd last = path.q[0].bottomRows(1).transpose();
      for (std::size_t i = 0; i < joints.size(); ++i) {
        EXPECT_GE(last(i), joints[i].from) << pose << " " << joints[i].link;
        EXPECT_LE(last(i), joints[i].to) << pose << " " << joints[i].link;
      }
      const auto frames = designs.system().model().tree<double>({}).frames(last.data());
      const auto aim = designs.motion().goal.placements.front();
      for (std::size_t axis = 0; axis < 3; ++axis)
        EXPECT_NEAR(frames.back().origin[axis], aim.place[axis]->first.constant(), 1e-6) << pose;
    }
    const Outcome outcome = make_evaluator(settings)->evaluate(task());
    EXPECT_EQ(outcome.evaluation.status, Status::ok) << pose << ": " << outcome.evaluation.reason;
  }
  EXPECT_NE(message_of<ConfigError>([&] {
              make_evaluator(study("pose 0.9 0.9 0.4"));
            }).find("no posture was found that satisfies all of its entries"),
            std::string::npos);
}

TEST(MotionBodies, MistakesAreOneLine) {
  const auto complaint = [](const std::string& text) {
    return message_of<ConfigError>([&] {
      make_evaluator(written(systems::model_text("satellites"),
                             "[phase only]\nduration = 0.3\nintervals = 4\n[cost]\nsquared-control = 1\n" + text));
    });
  };
  const std::string goal = "[goal]\ntarget = pose 0 0 0\n[avoid]\nchaser, target = 0\n";
  const std::string overlapping = complaint("[initial-state]\ntarget = pose 0 0 0\nchaser = pose 0.15 0 0\n" + goal);
  EXPECT_NE(overlapping.find("[initial-state]: "), std::string::npos) << overlapping;
  EXPECT_NE(overlapping.find("overlap by"), std::string::npos) << overlapping;
  EXPECT_NE(
      complaint("[initial-state]\ntarget = pose 0 0 0\n[goal]\ntarget = pose 0 0 0\nchaser = pose 0 1 0\nchaser from "
                "target = pose 0.3 0 0\n")
          .find("no posture was found that satisfies all of its entries"),
      std::string::npos);
  EXPECT_EQ(complaint("[initial-state]\ntarget = pose 0 0 0\n[goal]\ntarget = pose 0 0 0\nchaser = place 0.3 free "
                      "-1..1\nchaser from target = pose 0.3 0 0, turn z 90 deg\n"),
            "");
  EXPECT_NE(
      complaint("[initial-state]\nchazer = pose 0 0 0\n" + goal).find("no link 'chazer' (did you mean 'chaser'?)"),
      std::string::npos);
  EXPECT_NE(complaint("[initial-state]\nchaser = pose 0 0\n" + goal).find("3 numbers"), std::string::npos);
  EXPECT_NE(complaint("[initial-state]\nchaser = pose 0 0 0, twist x 3\n" + goal).find("not understood"),
            std::string::npos);
  EXPECT_NE(complaint("[initial-state]\nchaser = pose 0.3 0 0\n[goal]\ntarget = rest\n[avoid]\nchaser, chaser = 0\n")
                .find("itself"),
            std::string::npos);
}

// The two craft move straight through each other, with the largest overlap halfway. The reason names the two parts and
// the overlap.
TEST(MotionBodies, WhatOverlapsIsNamed) {
  const auto evaluator =
      make_evaluator(shipped("satellites.cfg", {"--motion.initial-guesses", "1", "--motion.max-iterations", "1"}));
  const Outcome outcome = evaluator->evaluate(task());
  const std::string& reason = outcome.evaluation.reason;
  EXPECT_EQ(outcome.evaluation.status, Status::not_converged);
  const auto at = reason.find(" mm at t = 0.");
  ASSERT_NE(at, std::string::npos) << reason;
  EXPECT_NE(reason.find(" of chaser and "), std::string::npos) << reason;
  const auto by = reason.find("overlap by ");
  ASSERT_NE(by, std::string::npos) << reason;
  const double stated = 1e-3 * std::stod(reason.substr(by + 11)), least = metric(*evaluator, outcome, "clearance");
  EXPECT_LE(stated, 1.01 * -least);  // the clearance comes from a finer mesh, and the reason has three digits
  EXPECT_GE(stated, 0.5 * -least);
}

// A goal that gives joints and one link in the middle of a chain determines the whole chain. Here the second bar is in
// the wall: the wall's face is 10 mm behind the origin, and the bar extends 20 mm to either side, across the hole.
TEST(MotionBodies, AChainThatEndsInTheWallIsRefused) {
  const auto complaint = [](const std::string& pose) {
    return message_of<ConfigError>([&] {
      make_evaluator(read_settings(std::string(CONFIGS) + "/manipulator.cfg", {"--goal.bar_3", pose}));
    });
  };
  const std::string in_wall = complaint("pose 0 0 0");
  EXPECT_NE(in_wall.find("[goal]: bar_2 and "), std::string::npos) << in_wall;
  EXPECT_NE(in_wall.find("of wall overlap by 10 mm"), std::string::npos) << in_wall;
  EXPECT_EQ(complaint("pose -0.02 0 0"), "");
}

}  // namespace
}  // namespace dodyn::evaluators::test_motion_bodies
