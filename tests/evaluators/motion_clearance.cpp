// Clearances of whole motions against an independent computation in this file: its own kinematics of boxes, and
// distances by corners, edges and separating axes on a dense grid of times.
#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "dmoc/clearance.hpp"
#include "evaluators/evaluator.hpp"
#include "evaluators/motion/design.hpp"
#include "evaluators/motion/initial_guess.hpp"
#include "whole.hpp"
#include "written.hpp"

namespace dodyn::evaluators::test_motion_clearance {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using Eigen::VectorXd;

// A box in space. A box in the plane is very thick, so that only x and y matter.
struct Box {
  Vector3d middle, half;
  Matrix3d R = Matrix3d::Identity();
  Vector3d corner(int i) const {
    return middle + R * Vector3d((i & 1 ? 1 : -1) * half(0), (i & 2 ? 1 : -1) * half(1), (i & 4 ? 1 : -1) * half(2));
  }
  double from(const Vector3d& x) const {  // distance of a point
    const Vector3d in = R.transpose() * (x - middle);
    return (in.cwiseAbs() - half).cwiseMax(0.0).norm();
  }
};

double of_segments(const Vector3d& a, const Vector3d& b, const Vector3d& c, const Vector3d& d) {
  const Vector3d u = b - a, v = d - c, w = a - c;
  const double uu = u.dot(u), uv = u.dot(v), vv = v.dot(v), det = uu * vv - uv * uv;
  double s = det > 1e-14 * uu * vv ? (uv * v.dot(w) - vv * u.dot(w)) / det : 0.0;
  s = std::min(1.0, std::max(0.0, s));
  double t = std::min(1.0, std::max(0.0, (uv * s + v.dot(w)) / vv));
  s = std::min(1.0, std::max(0.0, (uv * t - u.dot(w)) / uu));
  return (w + s * u - t * v).norm();
}

// Signed distance. For boxes that overlap: minus the length of the shortest translation that separates them.
double distance(const Box& one, const Box& other, bool plane) {
  std::vector<Vector3d> axes;
  for (int i = 0; i < (plane ? 2 : 3); ++i) axes.insert(axes.end(), {one.R.col(i), other.R.col(i)});
  if (!plane)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j)
        if (const Vector3d n = one.R.col(i).cross(other.R.col(j)); n.norm() > 1e-9) axes.push_back(n.normalized());
  double apart = -1e300;
  for (const Vector3d& n : axes) {
    const double reach =
        (one.R.transpose() * n).cwiseAbs().dot(one.half) + (other.R.transpose() * n).cwiseAbs().dot(other.half);
    apart = std::max(apart, std::abs(n.dot(one.middle - other.middle)) - reach);
  }
  if (apart <= 0.0) return apart;
  double least = 1e300;
  for (int i = 0; i < 8; ++i) least = std::min({least, other.from(one.corner(i)), one.from(other.corner(i))});
  for (int i = 0; i < 8; ++i)
    for (int a = 0; a < 3; ++a)
      for (int j = 0; j < 8; ++j)
        for (int b = 0; b < 3; ++b)
          if (!(i & (1 << a)) && !(j & (1 << b)))
            least = std::min(least, of_segments(one.corner(i), one.corner(i | (1 << a)), other.corner(j),
                                                other.corner(j | (1 << b))));
  return least;
}

// By shape of the model: where its box is at coordinates about no reference.
using Boxes = std::function<std::vector<Box>(const VectorXd&)>;
// From one node to the next: coordinates at a share of the way.
using Between = std::function<VectorXd(const VectorXd&, const VectorXd&, double)>;

Matrix3d turn(int axis, double angle) { return Eigen::AngleAxisd(angle, Vector3d::Unit(axis)).toRotationMatrix(); }

// Compares the clearance computed for a motion through these rows of coordinates with that of `samples` per interval.
void expect_proven(const MotionDesigns& designs, const std::vector<Eigen::MatrixXd>& nodes, const Boxes& boxes,
                   const Between& between, bool plane, int samples) {
  const VectorXd none(0);
  for (const Eigen::MatrixXd& q : nodes) {
    MotionPath path = initial_path(designs.motion(), none, 1, 0);
    path.q = {q};
    designs.refer(path, none);
    const TranscribedMotion planned = designs.plan(none, path);
    const VectorXd x = designs.start(planned, path);
    const auto& pairs = planned.separation.pairs();
    const dmoc::Clearance claimed = dmoc::clearance(planned.problem, x, pairs);
    double least = 1e300;
    const double T = path.duration[0];
    for (Eigen::Index k = 0; k + 1 < q.rows(); ++k)
      for (int i = 0; i <= samples; ++i) {
        const auto at =
            boxes(between(q.row(k).transpose(), q.row(k + 1).transpose(), static_cast<double>(i) / samples));
        for (const auto& pair : pairs) least = std::min(least, distance(at[pair.one], at[pair.other], plane));
      }
    EXPECT_GE(least, claimed.lower_bound - 1e-12);
    if (least > 0.0) {
      EXPECT_LE(least, claimed.lower_bound + 1e-3);  // the computed value is not much smaller than the sampled one
    }
    // the pair that is named, at the time that is named
    ASSERT_GE(claimed.pair, 0);
    const auto& pair = pairs[claimed.pair];
    const double share = claimed.time / T * static_cast<double>(q.rows() - 1);
    const auto k = std::min(static_cast<Eigen::Index>(share), q.rows() - 2);
    const auto then = boxes(between(q.row(k).transpose(), q.row(k + 1).transpose(), share - static_cast<double>(k)));
    const double gap = distance(then[pair.one], then[pair.other], plane);
    EXPECT_GE(gap, pair.margin_in(0, k).value - claimed.violation - 1e-9);
    if (gap > 0.0) {
      EXPECT_NEAR(gap, pair.margin_in(0, k).value - claimed.violation, 2e-5);
    }
  }
}

Settings shipped(const std::string& name, const std::vector<std::string>& words) {
  return read_settings(std::string(CONFIGS) + "/" + name, words);
}

// Random rows. `step`: largest change of a coordinate from one node to the next.
Eigen::MatrixXd wandering(unsigned seed, const VectorXd& from, const VectorXd& step, Eigen::Index rows) {
  std::srand(seed);
  Eigen::MatrixXd q(rows, from.size());
  q.row(0) = from.transpose();
  for (Eigen::Index k = 1; k < rows; ++k)
    q.row(k) = q.row(k - 1) + VectorXd::Random(from.size()).cwiseProduct(step).transpose();
  return q;
}

TEST(MotionClearance, OfARodInThePlane) {
  const MotionDesigns designs(shipped("piano-mover.cfg", {"--phase.only.intervals", "3"}));
  const auto boxes = [](const VectorXd& q) {
    const double thick = 1.0;
    return std::vector<Box>{{{1.5, 3.5, 0}, {1.5, 1.5, thick}},
                            {{2, 0.5, 0}, {2, 0.5, thick}},
                            {{4.5, 2.5, 0}, {0.5, 2.5, thick}},
                            {{q(0), q(1), 0}, {1.25, 0.075, thick}, turn(2, q(2))}};
  };
  const auto between = [](const VectorXd& a, const VectorXd& b, double s) { return VectorXd((1 - s) * a + s * b); };
  std::vector<Eigen::MatrixXd> nodes;
  for (unsigned seed = 1; seed <= 20; ++seed)
    nodes.push_back(wandering(seed, Vector3d(1.5, 1.5, 0.0), Vector3d(0.3, 0.2, seed % 2 ? 0.3 : 1.5), 4));
  expect_proven(designs, nodes, boxes, between, true, 1000);
}

// Two craft, three cubes each, that turn by up to 1.5 rad in an interval.
TEST(MotionClearance, OfCraftInSpace) {
  const MotionDesigns designs(
      shipped("satellites.cfg", {"--phase.only.intervals", "3", "--avoid.max-rotation", "2.9"}));
  const auto attitude = [](const VectorXd& q, int first) {
    return Matrix3d(turn(0, q(first)) * turn(1, q(first + 1)) * turn(2, q(first + 2)));
  };
  const auto boxes = [&](const VectorXd& q) {
    std::vector<Box> all;
    for (const int first : {0, 6}) {
      const Matrix3d R = attitude(q, first + 3);
      for (const Vector3d& at : {Vector3d(0, 0, 0), Vector3d(0.1, 0, 0), Vector3d(0, 0.1, 0)})
        all.push_back({q.segment<3>(first) + R * at, Vector3d::Constant(0.05), R});
    }
    return all;
  };
  const auto between = [&](const VectorXd& a, const VectorXd& b, double s) {
    VectorXd q = (1 - s) * a + s * b;
    for (const int first : {3, 9}) {
      const Matrix3d here = attitude(a, first), there = attitude(b, first);
      const Eigen::AngleAxisd way(there * here.transpose());
      const Matrix3d R = Eigen::AngleAxisd(s * way.angle(), way.axis()) * here;
      q(first + 1) = std::asin(R(0, 2));
      q(first) = std::atan2(-R(1, 2), R(2, 2));
      q(first + 2) = std::atan2(-R(0, 1), R(0, 0));
    }
    return q;
  };
  VectorXd from = VectorXd::Zero(12), step(12);
  for (const int first : {0, 6}) {
    step.segment<3>(first).setConstant(0.1);
    step.segment<3>(first + 3).setConstant(0.8);
  }
  std::vector<Eigen::MatrixXd> nodes;
  for (unsigned seed = 1; seed <= 12; ++seed) {
    from.segment<3>(6) = Vector3d(0.45, 0.1 * seed / 12.0, 0.2);
    nodes.push_back(wandering(seed, from, step, 4));
  }
  expect_proven(designs, nodes, boxes, between, false, 200);
}

// A chain of four bars before a wall with a hole: spherical joints, hinges, and pairs within the chain.
TEST(MotionClearance, OfAChain) {
  const MotionDesigns designs(
      shipped("manipulator.cfg", {"--phase.only.intervals", "3", "--avoid.max-rotation", "2.9"}));
  const auto first_attitude = [](const VectorXd& q) { return Matrix3d(turn(2, q(3)) * turn(0, q(4)) * turn(1, q(5))); };
  const auto boxes = [&](const VectorXd& q) {
    std::vector<Box> all = {{{0.03, 0, 0.105}, {0.02, 0.2, 0.075}},
                            {{0.03, 0, -0.105}, {0.02, 0.2, 0.075}},
                            {{0.03, 0.105, 0}, {0.02, 0.075, 0.03}},
                            {{0.03, -0.105, 0}, {0.02, 0.075, 0.03}}};
    Vector3d at = q.head<3>();
    Matrix3d R = first_attitude(q);
    const auto bar = [&] {
      all.push_back({at + R * Vector3d(0.05, 0, 0), {0.03, 0.02, 0.02}, R});
      at += R * Vector3d(0.1, 0, 0);
    };
    bar();
    R = R * turn(1, q(6));
    bar();
    R = R * turn(2, q(7)) * turn(0, q(8)) * turn(1, q(9));
    bar();
    R = R * turn(1, q(10));
    bar();
    return all;
  };
  const auto between = [&](const VectorXd& a, const VectorXd& b, double s) {
    VectorXd q = (1 - s) * a + s * b;
    const Matrix3d here = first_attitude(a), there = first_attitude(b);
    const Eigen::AngleAxisd way(there * here.transpose());
    const Matrix3d R = Eigen::AngleAxisd(s * way.angle(), way.axis()) * here;
    q(4) = std::asin(R(2, 1));
    q(3) = std::atan2(-R(0, 1), R(1, 1));
    q(5) = std::atan2(-R(2, 0), R(2, 2));
    return q;
  };
  VectorXd from = VectorXd::Zero(11), step(11);
  step << 0.05, 0.05, 0.05, 0.5, 0.5, 0.5, 0.6, 0.4, 0.4, 0.6, 0.6;
  std::vector<Eigen::MatrixXd> nodes;
  for (unsigned seed = 1; seed <= 12; ++seed) {
    from(0) = -0.55 + 0.01 * seed;
    nodes.push_back(wandering(seed, from, step, 4));
  }
  expect_proven(designs, nodes, boxes, between, false, 200);
}

const char* const cam = R"([model]
name = cam
dimension = 2
gravity = 0
[link slide]
parent = ground
joint = prismatic x
coordinates = s
[shape slide]
link = slide
box = 0.2, 0.2
density = 100
[link cam]
parent = ground
joint = prismatic y
follows = 0.35 - 0.2*sin(4*s/(1 m))
[shape cam]
link = cam
box = 0.3, 0.1
at = 0.5, 0
density = 100
[actuator push]
coordinate = s
)";

std::string in_folder(const std::string& model, const std::string& study) {
  return written_study(model, own_model + study).string();
}

// A link that follows an expression is examined between the nodes, where it moves down and up again.
TEST(MotionClearance, OfALinkThatFollows) {
  const MotionDesigns designs(read_settings(
      in_folder(cam,
                "[phase only]\nintervals = 2\nduration = 1\n[initial-state]\nrate(s) = 0\n[goal]\nrate(s) = 0\n"
                "[avoid]\nslide, cam = 0\n[cost]\nsquared-control = 1\n"),
      {}));
  const auto boxes = [](const VectorXd& q) {
    return std::vector<Box>{{{q(0), 0, 0}, {0.1, 0.1, 1}},
                            {{0.5, 0.35 - 0.2 * std::sin(4 * q(0)), 0}, {0.15, 0.05, 1}}};
  };
  const auto between = [](const VectorXd& a, const VectorXd& b, double s) { return VectorXd((1 - s) * a + s * b); };
  std::vector<Eigen::MatrixXd> nodes;
  for (const double far : {0.8, 1.2, 1.6}) nodes.push_back(Vector3d(0.0, far, 0.1));
  expect_proven(designs, nodes, boxes, between, true, 4000);
}

// A square next to a wall turns by 90 degrees in two intervals, so that a corner enters the wall between nodes. The
// reason names the parts, the overlap and the time. The motion is refined or refused.
TEST(MotionClearance, AnOverlapBetweenNodesIsNamedAndRefined) {
  const std::string model =
      "[model]\nname = turned\ndimension = 2\ngravity = 0\n[link wall]\nparent = ground\njoint = fixed\n[shape wall]\n"
      "link = wall\nbox = 0.2, 4\nat = -0.1, 0\n[link green]\nparent = ground\njoint = planar\ncoordinates = x, y, a\n"
      "[shape green]\nlink = green\nbox = 0.2, 0.2\nmass = 1\n[actuator fx]\ncoordinate = x\n[actuator fy]\ncoordinate "
      "= "
      "y\n[actuator turn]\ncoordinate = a\n";
  const std::string study =
      "initial-guesses = 1\naccuracy = 0\n[phase only]\nintervals = 2\nduration = 1\n[initial-state]\ngreen = pose 0.1 "
      "0, rest\n[goal]\ngreen = pose 0.1 0, turn 180 deg, rest\n[avoid]\ngreen, wall = 0\nmax-rotation = 2.9\n[cost]\n"
      "squared-control = 1\n";
  const auto found = [&](const std::vector<std::string>& words) {
    const auto evaluator = make_evaluator(read_settings(in_folder(model, study), words));
    Outcome outcome = evaluator->evaluate(task({}));
    return std::tuple(outcome.evaluation, metric(*evaluator, outcome, "intervals"),
                      metric(*evaluator, outcome, "clearance"), evaluator->report(outcome));
  };
  const auto [coarse, intervals, clearance, report] = found({"--motion.refinements", "0"});
  EXPECT_EQ(coarse.status, Status::not_converged);
  EXPECT_EQ(intervals, 2.0);
  EXPECT_LT(clearance, -0.01);
  EXPECT_NE(coarse.reason.find("green and wall overlap by "), std::string::npos) << coarse.reason;
  EXPECT_NE(coarse.reason.find(" mm at t = "), std::string::npos) << coarse.reason;
  EXPECT_NE(report.find("nearest to their margin: green and wall at "), std::string::npos) << report;
  const auto fine = found({"--motion.refinements", "5"});
  EXPECT_EQ(std::get<0>(fine).status, Status::ok) << std::get<0>(fine).reason;
  EXPECT_GE(std::get<1>(fine), 8.0);
  EXPECT_GE(std::get<2>(fine), -0.01 * 0.2);
}

}  // namespace
}  // namespace dodyn::evaluators::test_motion_clearance
