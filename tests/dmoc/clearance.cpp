// The distance of parts over whole motions, against distances at many times in each interval.
#include "dmoc/clearance.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "dmoc/attitudes.hpp"
#include "rows.hpp"

namespace dodyn::dmoc::test_clearance {
namespace {

using Eigen::VectorXd;

// An arm that carries a slide with a turning plate, and a plate that a follower slides; both next to a wall on the
// ground.
constexpr const char* plane =
    "[model]\ndimension = 2\ngravity = 0\n"
    "[link base]\nparent = ground\njoint = fixed\n[shape wall]\nlink = base\nbox = 0.2, 3\nat = 1.6, 0\n"
    "[link arm]\nparent = ground\njoint = revolute\ncoordinates = a\nmass = 1\ninertia = 1\n"
    "[link slide]\nparent = arm\njoint = prismatic x\ncoordinates = s\nat = 0.3, 0.1\nmass = 1\n"
    "[link plate]\nparent = slide\njoint = revolute\ncoordinates = b\nmass = 1\ninertia = 1\n"
    "[shape plate]\nlink = plate\nbox = 0.5, 0.1\n"
    "[link cam]\nparent = ground\njoint = prismatic y\nfollows = 0.4 m*sin(a) - 0.3*s\nat = -0.6, 0\nmass = 1\n"
    "[shape cam]\nlink = cam\nbox = 0.3, 0.3\n";

struct Case {
  MotionProblem problem;
  VectorXd x;
};

double time_of(const MotionProblem& problem, int phase) { return problem.phase(phase).duration.value; }

Case motion_of(const char* model, bool directors, std::uint32_t seed, double height) {
  Case c{problem_of(model, directors), {}};
  const int n = c.problem.system().n();
  for (const double duration : {0.5, 0.8}) {
    Phase phase;
    phase.name = duration == 0.5 ? "first" : "second";
    phase.intervals = 3;
    phase.duration = duration;
    c.problem.add_phase(std::move(phase));
  }
  c.problem.transcribe();
  c.problem.problem().finish();
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> spread(-0.5, 0.5);
  c.x = VectorXd::Zero(c.problem.problem().variables());
  for (int phase = 0; phase < 2; ++phase)
    for (int k = 0; k <= 3; ++k)
      for (int i = 0; i < n; ++i) c.x(c.problem.index(phase).theta(k) + i) = (i == 2 ? height : 0.0) + spread(random);
  return c;
}

// Minima over many sampled times, and the pair with the largest violation of its margin relative to its width.
struct Reached {
  double at_nodes = 1e300, min_distance = 1e300, violation = -1e300, time = 0.0;
  int pair = -1;
};
Reached reached(const Case& c, const std::vector<PartPair>& pairs, const std::vector<double>& widths) {
  constexpr int moments = 64;
  const auto& problem = c.problem;
  const auto numbers = autodiff::values_of(problem.numbers());
  const Attitudes attitudes(problem.system());
  const Reference none = problem.system().no_reference();
  Reached found;
  double begin = 0.0, worst = -1e300;
  for (int phase = 0; phase < problem.phases(); ++phase) {
    for (int k = 0; k < 3; ++k)
      for (int i = 0; i <= moments; ++i) {
        const auto node = [&](int at) {
          return VectorXd(c.x.segment(problem.index(phase).theta(at), problem.system().n()));
        };
        const double s = static_cast<double>(i) / moments;
        const auto all =
            gaps(problem.system(), numbers, none, attitudes.between(node(k), none, node(k + 1), none, s), pairs);
        for (std::size_t p = 0; p < pairs.size(); ++p) {
          if (i == 0 || i == moments) found.at_nodes = std::min(found.at_nodes, all[p]);
          found.min_distance = std::min(found.min_distance, all[p]);
          const double missing = pairs[p].margin_in(phase, k).value - all[p];
          if (missing / widths[p] <= worst) continue;
          worst = missing / widths[p];
          found.violation = missing;
          found.pair = p;
          found.time = begin + time_of(problem, phase) * (k + s) / 3;
        }
      }
    begin += time_of(problem, phase);
  }
  return found;
}

void expect_bound(const Case& c, const std::vector<PartPair>& pairs, const std::vector<double>& widths) {
  const Reached dense = reached(c, pairs, widths);
  const Clearance found = clearance(c.problem, c.x, pairs);
  EXPECT_NEAR(found.at_nodes, dense.at_nodes, 1e-9);
  // no sampled distance is smaller, and 64 samples miss little
  EXPECT_LE(found.lower_bound, dense.min_distance + 1e-9);
  EXPECT_GE(found.lower_bound, dense.min_distance - 2e-3);
  EXPECT_GE(found.violation, dense.violation - 1e-9);
  EXPECT_LE(found.violation, dense.violation + 2e-3);
  EXPECT_EQ(found.pair, dense.pair);
  EXPECT_NEAR(found.relative_violation, found.violation / widths[found.pair], 1e-12);
  EXPECT_NEAR(found.time, dense.time, 0.02);
}

int shape_named(const MotionProblem& problem, const std::string& name) {
  const auto& shapes = problem.system().model().shapes;
  return static_cast<int>(std::find_if(shapes.begin(), shapes.end(), [&](const auto& s) { return s.name == name; }) -
                          shapes.begin());
}

TEST(Clearance, InThePlaneTheBoundIsBelowAllDistances) {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    const Case c = motion_of(plane, false, seed, 0.0);
    const int wall = shape_named(c.problem, "wall"), plate = shape_named(c.problem, "plate"),
              cam = shape_named(c.problem, "cam");
    expect_bound(c, {{plate, wall, 0.05}, {cam, plate, 0.1}, {cam, wall, 0.0}}, {0.1, 0.1, 0.2});
  }
}

// Two bricks on spherical joints: they turn about the axis that leads from one attitude to the other.
constexpr const char* space =
    "[model]\ndimension = 3\ngravity = 0\n"
    "[link one]\nparent = ground\njoint = spatial ZXY\ncoordinates = x, y, z, a, b, c\nmass = 1\ninertia = 1, 1, 1\n"
    "[shape one]\nlink = one\nbox = 0.8, 0.3, 0.2\n"
    "[link other]\nparent = one\njoint = spherical ZXY\nat = 0.2, 1.1, 0\ncoordinates = d, e, f\nmass = 1\n"
    "inertia = 1, 1, 1\n[shape other]\nlink = other\nbox = 0.3, 0.6, 0.25\n"
    "[link base]\nparent = ground\njoint = fixed\n[shape floor]\nlink = base\nbox = 6, 6, 0.4\nat = 0, 0, -1.2\n";

TEST(Clearance, InSpaceTheBoundIsBelowAllDistances) {
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    const Case c = motion_of(space, true, seed, 0.4);
    const int one = shape_named(c.problem, "one"), other = shape_named(c.problem, "other"),
              ground = shape_named(c.problem, "floor");
    expect_bound(c, {{one, other, 0.3}, {other, ground, 0.1}}, {0.2, 0.25});
  }
}

// If distances are equal, the first time and the first pair are named.
TEST(Clearance, AtRestTheFirstTimeIsReported) {
  Case c = motion_of(plane, false, 1, 0.0);
  c.x.setZero();
  const int wall = shape_named(c.problem, "wall"), plate = shape_named(c.problem, "plate");
  const Clearance found = clearance(c.problem, c.x, {{plate, wall, 0.05}, {plate, wall, 0.05}});
  EXPECT_EQ(found.time, 0.0);
  EXPECT_EQ(found.pair, 0);
  EXPECT_NEAR(found.at_nodes, 1.5 - 0.55, 1e-12);
  EXPECT_NEAR(found.lower_bound, 1.5 - 0.55, 1e-12);
}

// A bar that turns by 60 degrees within an interval comes nearer to a wall between the nodes than at them.
TEST(Clearance, ABarThatTurnsIsNearestBetweenTheNodes) {
  MotionProblem problem = problem_of(
      "[model]\ndimension = 2\ngravity = 0\n[link base]\nparent = ground\njoint = fixed\n"
      "[shape wall]\nlink = base\nbox = 0.2, 3\nat = 1.2, 0\n"
      "[link arm]\nparent = ground\njoint = revolute\ncoordinates = a\nmass = 1\ninertia = 1\n"
      "[shape arm]\nlink = arm\nvertices = 0, -0.1; 1, 0; 0, 0.1\n");
  Phase phase;
  phase.name = "turn";
  phase.intervals = 1;
  phase.duration = 2.0;
  problem.add_phase(std::move(phase));
  problem.transcribe();
  problem.problem().finish();
  VectorXd x = VectorXd::Zero(problem.problem().variables());
  const double turn = std::acos(-1.0) / 6;
  x(problem.index(0).theta(0)) = -turn;
  x(problem.index(0).theta(1)) = turn;
  const std::vector<PartPair> pairs = {{shape_named(problem, "arm"), shape_named(problem, "wall"), 0.15}};
  const Clearance found = clearance(problem, x, pairs);
  EXPECT_NEAR(found.at_nodes, 1.1 - std::cos(turn), 1e-12);
  EXPECT_LE(found.lower_bound, 0.1);
  EXPECT_NEAR(found.lower_bound, 0.1, 1e-6);
  EXPECT_NEAR(found.violation, 0.05, 1e-6);
  EXPECT_NEAR(found.time, 1.0, 1e-9);
  EXPECT_EQ(violation_text(problem.system(), pairs[0], 0.0123, 1.5),
            "arm and wall of base are nearer than their margin by 12.3 mm at t = 1.5 s");
  EXPECT_EQ(violation_text(problem.system(), {pairs[0].other, pairs[0].one, 0.0}, 0.0123, 1.5),
            "wall of base and arm overlap by 12.3 mm at t = 1.5 s");
}

}  // namespace
}  // namespace dodyn::dmoc::test_clearance
