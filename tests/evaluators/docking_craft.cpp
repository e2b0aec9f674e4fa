#include "evaluators/docking_craft.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <stdexcept>

#include "geometry/hyperplanes.hpp"

namespace dodyn::evaluators {
namespace {

using geometry::Frame;
using rigid::Pose;
using rigid::Twist;
using rigid::Vector;
using std::numbers::pi;

constexpr double degree = pi / 180.0;

Docking calibrated(Docking docking = {}) {
  docking.charge_constant = calibrated_charge_constant(docking, 0.15, 30.0);
  return docking;
}

// Contacts of the two craft within `margin`, m; the male craft at `pose`, the female at the origin.
std::vector<geometry::Contact<2>> contacts(const Docking& docking, const Pose<2>& pose, double margin) {
  const auto world = docking_world(docking);
  std::vector<geometry::Contact<2>> near;
  const auto &one = world.bodies[female].parts, &two = world.bodies[male].parts;
  for (std::size_t i = 0; i < one.size(); ++i)
    for (std::size_t j = 0; j < two.size(); ++j) {
      geometry::Basis<2> basis;
      geometry::Contact<2> c;
      geometry::find_contact(one[i], Frame<2>{}, two[j], pose.frame(), basis, c);
      c.part = {static_cast<int>(i), static_cast<int>(j)};
      if (c.normal_gap() > -margin) near.push_back(c);
    }
  return near;
}

// Distance of two craft that do not overlap, corner by corner; the female craft at the origin.
double distance(const Docking& docking, const Pose<2>& pose) {
  const auto world = docking_world(docking);
  double least = 1.0;
  const auto look = [&](const geometry::Polytope<2>& corners, const Frame<2>& at, const geometry::Polytope<2>& edges,
                        const Frame<2>& of) {
    for (const auto& f : edges.facets())
      for (const auto& v : corners.corners()) {
        const Vector<2> a = of(edges.corner(f[0])), e = of(edges.corner(f[1])) - a, x = at(v) - a;
        least = std::min(least, (x - std::clamp(x.dot(e) / e.squaredNorm(), 0.0, 1.0) * e).norm());
      }
  };
  for (const auto& one : world.bodies[female].parts)
    for (const auto& two : world.bodies[male].parts) {
      look(one, Frame<2>{}, two, pose.frame());
      look(two, pose.frame(), one, Frame<2>{});
    }
  return least;
}

// Seated, the craft touch in three points, both corners of one tip on the groove and the middle of the other on the
// point, whose normals hold all three motions of the plane; everything else stands clear.
TEST(Docking, KinematicMountHoldsTheDockedCraftInThreePoints) {
  for (const double spacing : {0.03, 0.05, 0.07})
    for (const bool groove_first : {true, false})
      for (const double half_angle : {15.0, 25.0, 30.0}) {
        Docking d;
        d.spacing = spacing;
        d.groove_first = groove_first;
        d.half_angle = half_angle * degree;
        const Pose<2> docked = docked_pose(d);
        for (int port = 0; port < 2; ++port)
          EXPECT_LE((docked.frame()(cone_tip(d, port)) - seat(d, port)).norm(), 1e-15);
        const auto touching = contacts(d, docked, 0.3 * d.clearance);
        ASSERT_EQ(touching.size(), 3u);
        Eigen::Matrix3d holds;
        std::multiset<int> ports;
        for (int k = 0; k < 3; ++k) {
          const auto& c = touching[static_cast<std::size_t>(k)];
          EXPECT_NEAR(c.normal_gap(), 0.0, 1e-12);
          holds.col(k) = geometry::twist_gradient(c, 1, docked.frame().directors);
          ports.insert(c.witness[1][1] > 0.0 ? 0 : 1);
        }
        holds.row(2) /= spacing;
        EXPECT_GT(std::abs(holds.determinant()), 0.1);
        EXPECT_EQ(ports.count(groove_first ? 0 : 1), 2u);
      }
}

TEST(Docking, OpenedAlongTheAxisNothingTouches) {
  const Docking d;
  Pose<2> pose = docked_pose(d);
  for (const double back : {1e-4, 1e-3, 5e-3, 0.02}) {
    pose.position[0] = docked_pose(d).position[0] + back;
    for (const auto& c : contacts(d, pose, 1.0)) EXPECT_LT(c.normal_gap(), -0.5 * std::min(back, d.clearance));
    if (back > d.depth) {
      EXPECT_GT(clear_distance(d, Pose<2>{}, pose), 0.0);
    }
  }
  EXPECT_EQ(clear_distance(d, Pose<2>{}, docked_pose(d)), 0.0);
}

TEST(Docking, ClearDistanceBoundsTheGap) {
  const Docking d;
  for (int k = 0; k < 200; ++k) {
    const Pose<2> pose{{0.2 * std::cos(0.1 * k), 0.19 * std::sin(0.1 * k)}, 0.37 * k};
    const double bound = clear_distance(d, Pose<2>{}, pose);
    if (bound > 0.0) {
      EXPECT_LE(bound, distance(d, pose) + 1e-12) << k;
    }
    EXPECT_NEAR(bound, clear_distance(d, pose, Pose<2>{}), 1e-15);
  }
}

TEST(Docking, CraftAreEvenRectangles) {
  Docking d;
  d.width = 0.12;
  d.male_mass = 0.7;
  const auto world = docking_world(d);
  const auto even =
      geometry::mass_properties(geometry::rectangle(d.length, d.width), d.male_mass / (d.length * d.width));
  EXPECT_NEAR(world.bodies[male].mass, 0.7, 0.0);
  EXPECT_TRUE(world.bodies[male].euler_tensor.isApprox(even.euler_tensor, 1e-12));
  double charge = 0.0;
  for (const auto& c : world.charges) charge += c.value;
  EXPECT_EQ(charge, 0.0);
  EXPECT_TRUE(world.bodies[female].fixed);
}

TEST(Docking, RefusesGeometryThatCannotBe) {
  const auto complaint = [](auto change) -> std::string {
    Docking d;
    change(d);
    try {
      check(d);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(complaint([](Docking&) {}), "");
  EXPECT_NE(complaint([](Docking& d) { d.spacing = 0.02; }).find("overlap"), std::string::npos);
  EXPECT_NE(complaint([](Docking& d) { d.spacing = 0.09; }).find("beyond the face"), std::string::npos);
  EXPECT_NE(complaint([](Docking& d) { d.wall = 0.0; }).find("cup wall"), std::string::npos);
  EXPECT_NE(complaint([](Docking& d) { d.clearance = -1e-3; }).find("clearance"), std::string::npos);
  EXPECT_NE(complaint([](Docking& d) { d.half_angle = 50 * degree; }).find("half-angle"), std::string::npos);
  EXPECT_NE(complaint([](Docking& d) { d.mount_height = 0.004; }).find("mount height"), std::string::npos);
  EXPECT_NE(complaint([](Docking& d) { d.depth = 0.003; }).find("depth"), std::string::npos);
  EXPECT_NE(complaint([](Docking& d) { d.male_mass = 0.0; }).find("mass"), std::string::npos);
}

// The calibrated K brings aligned craft together in the stated time, by the quadrature and by the simulation.
TEST(Docking, CalibrationHitsTheClosingTime) {
  for (const bool free : {false, true})
    for (const bool opposite : {false, true}) {
      Docking d;
      d.female_free = free;
      d.female_mass = 2.0;
      d.opposite_polarity = opposite;
      d = calibrated(d);
      EXPECT_NEAR(closing_time(d, 0.15), 30.0, 1e-9);
      double touched = 0.0;
      DockingSimulator(d, {}, 1e-3).run(0.0, 0.15, [&](const rigid::Simulation<2>& s) {
        if (touched == 0.0 && s.ledger().impulses > 0) touched = s.time();
      });
      EXPECT_NEAR(touched, 30.0, 0.02);
    }
  EXPECT_THROW(closing_time(Docking{}, 0.016), std::invalid_argument);
}

// Charges alone: K and the masses only set the pace.
TEST(Docking, PaceGoesWithTheRootOfKOverMass) {
  const Docking d = calibrated();
  Docking strong = d, heavy = d;
  strong.charge_constant *= 4.0;
  heavy.male_mass *= 4.0;
  EXPECT_NEAR(closing_time(strong, 0.15), 15.0, 1e-9);
  EXPECT_NEAR(closing_time(heavy, 0.15), 60.0, 1e-9);
  EXPECT_NEAR(seated_pull(strong), 4.0 * seated_pull(d), 1e-12);
  // at half the step the stronger magnets give the same path
  Vector<2> there(0, 0), as_well(0, 0);
  DockingRules rules;
  rules.rest_speed = 1e-9;
  const auto until = [&](Vector<2>& out, double time) {
    return [&out, time](const rigid::Simulation<2>& s) {
      if (s.time() <= time + 1e-9) out = s.poses()[male].position;
    };
  };
  DockingSimulator(d, rules, 1e-3).run(0.3, 0.12, until(there, 10.0));
  DockingSimulator(strong, rules, 5e-4).run(0.3, 0.12, until(as_well, 5.0));
  EXPECT_LE((there - as_well).norm(), 1e-4);
}

// Mirrored in the female craft's axis, groove and all, everything is mirrored.
TEST(Docking, MirroredStartGivesTheMirroredMotion) {
  Docking one = calibrated(), two = one;
  two.groove_first = false;
  for (const bool free : {false, true}) {
    one.female_free = two.female_free = free;
    for (const auto& [bearing, distance] : {std::pair{8.0, 0.10}, {20.0, 0.13}}) {
      std::vector<Pose<2>> a, b;
      bool hit = false;
      const auto record = [&hit](std::vector<Pose<2>>& out) {
        hit = false;
        return [&](const rigid::Simulation<2>& s) {
          hit = hit || s.ledger().impulses > 0;
          if (!hit) out.push_back(s.poses()[male]);
        };
      };
      const auto first = DockingSimulator(one, {}, 1e-3).run(bearing * degree, distance, record(a));
      const auto second = DockingSimulator(two, {}, 1e-3).run(-bearing * degree, distance, record(b));
      EXPECT_EQ(first.outcome, second.outcome);
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t k = 0; k < a.size(); ++k) {
        EXPECT_NEAR(a[k].position[0], b[k].position[0], 1e-11);
        EXPECT_NEAR(a[k].position[1], -b[k].position[1], 1e-11);
        EXPECT_NEAR(a[k].angle - pi, -(b[k].angle - pi), 1e-10);
      }
    }
  }
}

TEST(Docking, FreeCraftKeepTheirMomentum) {
  Docking d;
  d.female_free = true;
  d.female_mass = 3.0;
  d = calibrated(d);
  double worst = 0.0, spin = 0.0;
  bool touched = false;
  double base = 0.0;
  const auto run = DockingSimulator(d, {}, 1e-3).run(0.2, 0.1, [&](const rigid::Simulation<2>& s) {
    worst = std::max(worst, s.momenta().linear.norm());
    if (s.ledger().impulses == 0) base = s.momenta().angular[0];
    touched = touched || s.ledger().impulses > 0;
    spin = std::max(spin, std::abs(s.momenta().angular[0] - s.ledger().momentum.angular[0] - base));
  });
  EXPECT_TRUE(touched);
  EXPECT_NE(run.outcome, Docked::unresolved);
  EXPECT_LE(worst, 1e-12);
  EXPECT_LE(spin, 1e-11);
}

TEST(Docking, AlignedCraftDock) {
  for (const double spacing : {0.03, 0.05, 0.07}) {
    Docking d;
    d.spacing = spacing;
    d = calibrated(d);
    Pose<2> last;
    DockingSimulator simulator(d, {}, 1e-3);
    const auto run = simulator.run(0.0, 0.15, [&](const rigid::Simulation<2>& s) { last = s.poses()[male]; });
    EXPECT_EQ(run.outcome, Docked::docked) << run.reason;
    EXPECT_NEAR(run.time, 30.5, 0.5);
    EXPECT_LE((last.position - docked_pose(d).position).norm(), 1e-4);
    // a simulator starts afresh each time
    const auto again = simulator.run(0.0, 0.15);
    EXPECT_EQ(again.time, run.time);
    EXPECT_EQ(again.steps, run.steps);
  }
}

TEST(Docking, CraftFarAwayMiss) {
  const Docking d = calibrated();
  EXPECT_EQ(DockingSimulator(d, {}, 1e-3).run(0.0, 0.5).outcome, Docked::missed);
  EXPECT_EQ(DockingSimulator(d, {}, 1e-3).run(100 * degree, 0.3).outcome, Docked::missed);
}

TEST(Docking, RefusesAnOverlappingStart) {
  EXPECT_THROW(DockingSimulator(calibrated(), {}, 1e-3).run(0.0, 0.01), std::invalid_argument);
}

// Motions made up: what the referee makes of them.
class Referee : public testing::Test {
 protected:
  Docking docking;
  DockingRules rules;

  // The male craft moves by `pose(t)` with the speed that finite differences give; `touching(t)`.
  template <class Motion, class Touching>
  Docked judge(Motion pose, Touching touching) {
    DockingReferee referee(docking, rules);
    for (double t = 0.0;; t += 0.01) {
      const std::array<Pose<2>, 2> q{Pose<2>{}, pose(t)};
      std::array<Twist<2>, 2> v{Twist<2>::Zero(), Twist<2>::Zero()};
      v[male].head<2>() = (pose(t + 1e-6).position - q[male].position) / 1e-6;
      v[male][2] = (pose(t + 1e-6).angle - q[male].angle) / 1e-6;
      if (const auto outcome = referee.judge(t, q, v, touching(t))) return *outcome;
      if (t > 2.0 * rules.time_out) return Docked::unresolved;
    }
  }
  // Comes in at 1 cm/s from 5 cm ahead of `end`, then stays.
  auto arrives_at(const Pose<2>& end) {
    return [end](double t) {
      Pose<2> pose = end;
      pose.position[0] += 0.01 * std::max(0.0, 5.0 - t);
      return pose;
    };
  }
  static bool after5(double t) { return t >= 5.0; }
};

TEST_F(Referee, DockedWhenSeatedForTheDwellTime) {
  EXPECT_EQ(judge(arrives_at(docked_pose(docking)), after5), Docked::docked);
  // a seat off by less than the tolerances counts, by more it jams
  Pose<2> off = docked_pose(docking);
  off.position[1] += 0.9 * rules.position_tolerance;
  EXPECT_EQ(judge(arrives_at(off), after5), Docked::docked);
  off.position[1] += 0.2 * rules.position_tolerance;
  EXPECT_EQ(judge(arrives_at(off), after5), Docked::jammed);
  rules.position_tolerance = 0.005;
  Pose<2> turned = docked_pose(docking);
  turned.angle += 1.1 * rules.angle_tolerance;
  EXPECT_EQ(judge(arrives_at(turned), after5), Docked::jammed);
  turned.angle += 2.0 * pi - 0.2 * rules.angle_tolerance;  // a full turn is no turn
  EXPECT_EQ(judge(arrives_at(turned), after5), Docked::docked);
}
TEST_F(Referee, NotDockedWhenItOnlyPassesThroughTheSeat) {
  const auto end = docked_pose(docking);
  EXPECT_EQ(judge(
                [&](double t) {
                  Pose<2> pose = end;
                  pose.position[0] += 0.01 * std::abs(5.0 - t);
                  return pose;
                },
                after5),
            Docked::bounced_off);
}
TEST_F(Referee, JammedWhenAtRestOnTheRim) {
  Pose<2> rim = docked_pose(docking);
  rim.position += Vector<2>(docking.depth, 0.015);
  EXPECT_EQ(judge(arrives_at(rim), after5), Docked::jammed);
}
TEST_F(Referee, WrongPortWhenAtRestInTheOtherCup) {
  Pose<2> other = docked_pose(docking);
  other.position += Vector<2>(0.002, docking.spacing);
  EXPECT_EQ(judge(arrives_at(other), after5), Docked::wrong_port);
  other.position[1] = -docking.spacing;
  EXPECT_EQ(judge(arrives_at(other), after5), Docked::wrong_port);
}
TEST_F(Referee, MissedWhenNothingTouchesOrItGoesPast) {
  const auto never = [](double) { return false; };
  const auto start = start_pose(docking, 0.3, 0.15);
  EXPECT_EQ(judge([&](double) { return start; }, never), Docked::missed);
  const auto leaves = [&](double t) {
    Pose<2> pose = start;
    pose.position[0] += 0.01 * t;
    return pose;
  };
  EXPECT_EQ(judge(leaves, never), Docked::missed);
  const auto past = [&](double t) { return Pose<2>{{0.15 - 0.01 * t, 0.12}, pi}; };
  EXPECT_EQ(judge(past, after5), Docked::missed);
}
TEST_F(Referee, TimedOutWhenStillMovingInContact) {
  EXPECT_EQ(judge(
                [&](double t) {
                  Pose<2> pose = docked_pose(docking);
                  pose.position += Vector<2>(docking.depth, 0.01 + 0.002 * std::sin(t));
                  return pose;
                },
                after5),
            Docked::timed_out);
}

TEST(DisturbanceField, IsSmoothRepeatableAndOfItsStrength) {
  EXPECT_EQ(DisturbanceField()(Vector<2>(0.1, 0.2)), Twist<2>(Twist<2>::Zero()));
  const DisturbanceField field(1e-3, 0.02, 0.2, 7), same(1e-3, 0.02, 0.2, 7), other(1e-3, 0.02, 0.2, 8);
  EXPECT_EQ(field(Vector<2>(0.1, 0.2)), same(Vector<2>(0.1, 0.2)));
  EXPECT_NE(field(Vector<2>(0.1, 0.2)), other(Vector<2>(0.1, 0.2)));
  Twist<2> square = Twist<2>::Zero();
  int count = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed, ++count)
    square += DisturbanceField(1e-3, 0.02, 0.2, seed)(Vector<2>(0.1, 0.2)).cwiseAbs2();
  const Twist<2> rms = (square / count).cwiseSqrt();
  EXPECT_NEAR(rms[0], 1e-3, 1e-4);
  EXPECT_NEAR(rms[1], 1e-3, 1e-4);
  EXPECT_NEAR(rms[2], 2e-5, 2e-6);
  EXPECT_LE((field(Vector<2>(0.1, 0.2)) - field(Vector<2>(0.101, 0.2))).norm(), 1e-3 * 0.2);
  EXPECT_THROW(DisturbanceField(1e-3, 0.02, 0.0, 1), std::invalid_argument);
}

}  // namespace
}  // namespace dodyn::evaluators
