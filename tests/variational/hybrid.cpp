// Motions in pieces of model files: figures of an independent event-driven program, closed forms, conservation, order.
#include "variational/hybrid.hpp"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>

#include "machine.hpp"
#include "variational/return_map.hpp"

namespace dodyn::variational::test_hybrid {
namespace {

using Eigen::VectorXd;

std::unique_ptr<Machine> shipped(const std::string& name, const Given& given = {}, int order = 6, double step = 0.005,
                                 Rule rule = Rule::midpoint) {
  return std::make_unique<Machine>(systems::model_text(name), given, options_of(order, step), rule);
}
std::unique_ptr<Machine> own(const std::string& text, int order = 6, double step = 0.005, double rest_speed = 1e-6) {
  return std::make_unique<Machine>(text, Given{}, options_of(order, step, rest_speed));
}

const std::string plane = "[model]\ndimension = 2\ngravity = 10\n";
const std::string ball = plane +
                         "[link ball]\nparent = ground\njoint = point\nmass = 2\n"
                         "[contact floor]\ngap = y\n";

// A rotor behind a gear of 20 adds 400 times its inertia, and no weight: a quarter of a swing takes sqrt(I/(m g l)) K(sin(A/2)).
TEST(HybridParts, ARotorBehindAGearSlowsAPendulumByItsInertia) {
  const auto geared =
      own("[model]\ndimension = 2\ngravity = 10\n[link rod]\nparent = ground\njoint = revolute\n"
          "[mass bob]\nlink = rod\nat = 0, -1\nmass = 1\n"
          "[rotor rotor]\nplace = 20*rod\nmass = 0.01\n[initial-state]\nrod = 1\n");
  geared->run(std::sqrt((1.0 + 400 * 0.01) / 10.0) * std::comp_ellint_1(std::sin(0.5)));
  EXPECT_NEAR(geared->q(0), 0.0, 1e-10);
}

// ---- figures

TEST(HybridParts, ParticleOverHills) {
  const auto m = shipped("particle-drop");
  m->run(1.6);
  const auto t = m->times(Event::impact);
  ASSERT_EQ(t.size(), 2u);
  EXPECT_NEAR(t[0], 0.748589291, 1e-9);
  EXPECT_NEAR(t[1], 0.914521693, 1e-9);
  EXPECT_NEAR(m->q(0), 3.014184394, 2e-9);
  EXPECT_NEAR(m->q(1), 1.247993173, 2e-9);
}

TEST(HybridParts, ParticleComesToSlideAfterInfinitelyManyImpacts) {
  const auto m = shipped("particle-drop", {{"restitution", 0.6}}, 6, 0.002);
  m->run(1.6);
  ASSERT_EQ(m->times(Event::touch).size(), 1u);
  EXPECT_NEAR(m->times(Event::touch)[0], 1.16657, 1e-5);
  EXPECT_NEAR(m->q(0), 3.23410, 1e-5);
  EXPECT_NEAR(m->q(1), 0.18476, 1e-5);
  EXPECT_NEAR(m->energy(), 2.46913, 1e-5);
}

TEST(HybridParts, BarOnOneTip) {
  const auto m = shipped("bar-drop");
  m->run(2.0);
  const auto t = m->times(Event::impact);
  const double expected[] = {0.416928184, 0.611221611, 0.781831093, 1.723472290, 1.908023301};
  ASSERT_EQ(t.size(), 5u);
  for (int i = 0; i < 5; ++i) EXPECT_NEAR(t[i], expected[i], 2e-9);
  EXPECT_NEAR(m->q(1), -0.090149521, 5e-9);
  EXPECT_NEAR(m->q(2), 2.475981660, 5e-9);
}

TEST(HybridParts, BarOnAWire) {
  const auto m = shipped("wire-bar");
  m->run(2.0);
  const auto t = m->times(Event::impact);
  const double expected[] = {0.44280604, 0.63206849, 0.81508238, 1.759736};
  ASSERT_EQ(t.size(), 4u);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(t[i], expected[i], i < 3 ? 1e-8 : 5e-7);
  EXPECT_NEAR(m->q(1), 0.786259106, 2e-8);
  EXPECT_NEAR(m->q(0), 0.011728648, 2e-8);
  EXPECT_NEAR(m->q(2), 2.755663154, 2e-8);
  const auto& wire = m->mechanics.row(m->integrator.now().q).value;
  EXPECT_LT(std::abs(wire(m->assembly.constraints[0])), 1e-13);
}

TEST(HybridParts, PendulumTicks) {
  const auto m = shipped("pendulum-wall");
  m->run(2.0);
  const auto t = m->times(Event::impact);
  ASSERT_GE(t.size(), 3u);
  EXPECT_NEAR(t[0], 0.227041534, 1e-9);
  EXPECT_NEAR(t[1] - t[0], 0.454083068, 1e-9);
  EXPECT_NEAR(m->q(0), 0.870445199, 1e-8);
}

TEST(HybridParts, WedgeRocksToRest) {
  const auto m = shipped("wedge", {}, 6, 0.001);
  m->run(0.3);
  const auto t = m->times(Event::impact);
  ASSERT_GE(t.size(), 3u);
  EXPECT_NEAR(t[0], 0.15189279, 1e-8);
  EXPECT_NEAR(t[1], 0.22449296, 1e-8);
  EXPECT_NEAR(t[2], 0.24558974, 1e-8);
  EXPECT_NEAR(t.back(), 0.25437091, 1e-6);
  EXPECT_LT(m->integrator.velocity().norm(), 1e-9);
  VectorXd normal, tangential;
  m->integrator.forces(normal, tangential);
  EXPECT_NEAR(normal.sum(), 2 * 9.81, 1e-6);  // both feet carry it
  EXPECT_NEAR(normal(0), normal(1), 1e-6);
}

TEST(HybridParts, ElbowStop) {
  const auto elastic = shipped("two-link", {}, 6, 0.002);
  elastic->run(0.36);
  const double before = elastic->energy();
  elastic->go(1.2);
  EXPECT_NEAR(elastic->times(Event::impact).at(0), 0.369212226, 1e-9);
  EXPECT_NEAR(elastic->q(0), -0.424752197, 1e-8);
  EXPECT_NEAR(elastic->q(1), 0.861849635, 1e-8);
  EXPECT_NEAR(elastic->energy(), before, 1e-8);
  // rates right behind the impact
  for (const auto& [e, A, B] : {std::tuple(1.0, -6.722568034, 10.445682519), std::tuple(0.5, -5.271778795, 5.222841259),
                                std::tuple(0.0, -3.820989556, 0.0)}) {
    const auto m = shipped("two-link", {{"restitution", e}}, 6, 0.002);
    ASSERT_EQ(m->start(), "");
    while (!m->integrator.stopped())
      ASSERT_EQ(m->integrator.advance(m->integrator.now().time + 0.002, [](const Event&) { return true; }), "");
    EXPECT_NEAR(m->integrator.velocity()(0), A, 2e-8) << e;
    EXPECT_NEAR(m->integrator.velocity()(1), B, 2e-8) << e;
    if (e == 0.0) {  // the contact would have to pull: it is released
      EXPECT_EQ(m->integrator.now().mode.states[0], ContactState::open);
    }
  }
  const auto latched = shipped("two-link", {{"restitution", 0.0}, {"latch", 1.0}}, 6, 0.002);
  latched->run(1.2);
  EXPECT_NEAR(latched->q(0), -0.30407469, 1e-8);
  EXPECT_LT(std::abs(latched->q(1)), 1e-13);
}

// ---- gaits

Gait gait_of(Machine& m) {
  EXPECT_EQ(m.start(), "");
  GaitOptions options;
  options.translating_coordinates = {0};
  return find_gait(m.integrator, m.assembly, m.options, options);
}

TEST(Gaits, StickingWalkerHasTheMultiplierOfItsJump) {
  const auto m = shipped("slip-walker", {{"mu", 1e6}}, 6, 0.02);
  const Gait gait = gait_of(*m);
  ASSERT_EQ(gait.reason, "");
  EXPECT_NEAR(gait.period, 0.41422300, 1e-8);
  const double c = (0.5 + std::cos(0.6)) / 1.5;
  ASSERT_GE(gait.multipliers.size(), 1u);
  EXPECT_NEAR(gait.multipliers[0].real(), c * c, 1e-8);
  EXPECT_NEAR(gait.stride(0), 2.0 * std::sin(0.3), 1e-9);
}

TEST(Gaits, SlippingWalkers) {
  const auto coulomb = shipped("slip-walker", {}, 6, 0.02);
  const Gait slips = gait_of(*coulomb);
  ASSERT_EQ(slips.reason, "");
  EXPECT_NEAR(slips.period, 0.47511424, 2e-8);
  EXPECT_NEAR(slips.multipliers[0].real(), 0.80335, 1e-5);
  EXPECT_NEAR(2.0 * std::sin(0.3) - slips.stride(0), -0.13301357, 1e-6);
  const auto rough = shipped("slip-walker", {{"mu", 0.15}}, 6, 0.02);
  EXPECT_NEAR(gait_of(*rough).multipliers.at(0).real(), 0.78864, 1e-5);
  const auto viscous = shipped("slip-walker", {{"mu", 0.0}, {"kappa", 5.0}}, 6, 0.02);
  EXPECT_NEAR(gait_of(*viscous).multipliers.at(0).real(), 0.80935181, 1e-7);
  const auto printed = shipped("slip-walker", {{"mu", 0.0}, {"kappa", 1.0}, {"printed", 1.0}}, 6, 0.02);
  const Gait jumps = gait_of(*printed);
  EXPECT_NEAR(jumps.period, 0.64628989, 1e-8);
  EXPECT_NEAR(jumps.multipliers.at(0).real(), 0.7056107, 1e-6);
}

TEST(Gaits, StateWhyNoneIsFound) {
  const auto m = shipped("slip-walker", {{"mu", 1e6}, {"a", 0.49}}, 6, 0.02);
  EXPECT_NE(gait_of(*m).reason, "");
}

// ---- closed forms

TEST(ClosedForms, BouncingBallComesToRestAtItsZenoTime) {
  const auto m = own(ball + "restitution = 0.5\n[initial-state]\ny = 1.25\nrate(x) = 3\n", 2, 0.1);
  m->run(2.0);
  // falls for .5 s, then flies for 2 e .5, 2 e^2 .5, ...: .5 (1 + e)/(1 - e)
  EXPECT_NEAR(m->times(Event::touch).at(0), 1.5, 1e-6);
  EXPECT_NEAR(m->q(0), 6.0, 1e-12);
  EXPECT_NEAR(m->integrator.dissipated_energy(), 2 * 10 * 1.25, 1e-10);
  EXPECT_LT(std::abs(m->q(1)), 1e-12);
}

TEST(ClosedForms, MidpointIsExactUnderGravity) {
  for (const double step : {0.2, 0.03, 0.001}) {
    const auto m = own(ball + "restitution = 0.8\n[initial-state]\ny = 0.45\n", 2, step);
    m->run(1.1);
    // falls for .3 s to 3 m/s, flies for 2*.8*.3 s, rises at .64*3 m/s from .78 s on
    const double t = 1.1 - 0.78;
    EXPECT_NEAR(m->q(1), 1.92 * t - 5 * t * t, 1e-11) << step;
    EXPECT_EQ(m->times(Event::impact).size(), 2u) << step;
  }
}

TEST(ClosedForms, FrictionStopsABlock) {
  const auto m = own(ball + "slip = x\nrestitution = 0\nfriction = 0.4\n[initial-state]\nrate(x) = 2\n", 2, 0.05);
  m->run(1.0);
  EXPECT_NEAR(m->times(Event::stick).at(0), 0.5, 1e-12);
  EXPECT_NEAR(m->q(0), 0.5, 1e-12);  // v^2/(2 mu g)
  EXPECT_EQ(m->integrator.now().mode.states[0], ContactState::stick);
}

TEST(ClosedForms, ImpactInTheConeSticksAndBeyondItSlides) {
  for (const double speed : {1.0, 6.0}) {
    const auto m = own(ball + "slip = x\nrestitution = 0.5\nfriction = 0.4\n[initial-state]\ny = 1.25\nrate(x) = " +
                           std::to_string(speed) + "\n",
                       2, 0.05);
    m->run(0.52);
    // normal impulse m (1 + e) 5; friction stops at most .4 of it
    EXPECT_NEAR(m->integrator.velocity()(0), std::max(0.0, speed - 0.4 * 1.5 * 5.0), 1e-12);
  }
}

TEST(ClosedForms, ParticleLeavesACylinderAtTwoThirdsOfItsHeight) {
  const auto m = own(plane +
                         "[link p]\njoint = point\nparent = ground\nmass = 1\n[contact c]\ngap = sqrt(x^2 + y^2) - 1\n"
                         "restitution = 0\n[initial-state]\nx = 0.1\ny = sqrt(0.99)\n",
                     6, 0.01);
  m->run(2.0);
  double height = 0.0;
  const auto again =
      own(plane +
              "[link p]\njoint = point\nparent = ground\nmass = 1\n[contact c]\ngap = sqrt(x^2 + y^2) - 1\n"
              "restitution = 0\n[initial-state]\nx = 0.1\ny = sqrt(0.99)\n",
          6, 0.01);
  ASSERT_EQ(again->start(), "");
  again->go(m->times(Event::lift_off).at(0));
  height = again->q(1);
  EXPECT_NEAR(height, 2.0 / 3.0 * std::sqrt(0.99), 1e-8);
}

TEST(ClosedForms, LadderLeavesItsWallAtTwoThirdsOfItsHeight) {
  // a uniform ladder of length 2 between a smooth wall and a smooth floor: two lasting contacts, then one opens
  const auto ladder = [] {
    return own(
        plane +
            "[link rod]\nparent = ground\njoint = planar\ncoordinates = x, y, th\nmass = 3\ninertia = 1\ncentre = 0, "
            "0\n"
            "[contact wall]\ngap = x - sin(th)\nrestitution = 0\n[contact floor]\ngap = y - cos(th)\nrestitution = 0\n"
            "[initial-state]\nth = 0.3\nx = sin(0.3)\ny = cos(0.3)\n",
        6, 0.01);
  };
  const auto m = ladder();
  m->run(1.5);
  const auto times = m->times(Event::lift_off);
  ASSERT_GE(times.size(), 1u);
  const auto again = ladder();
  again->run(times[0]);
  EXPECT_NEAR(again->q(1), 2.0 / 3.0 * std::cos(0.3), 1e-8);
  EXPECT_EQ(m->integrator.now().mode.states[0], ContactState::open);
  EXPECT_NE(m->integrator.now().mode.states[1], ContactState::open);
  EXPECT_NEAR(m->energy(), 3 * 10 * std::cos(0.3), 1e-9);
}

TEST(ClosedForms, DiscSlidesUntilItRolls) {
  const auto m =
      own(plane +
              "[link disc]\nparent = ground\njoint = planar\ncoordinates = x, y, th\nmass = 2\ninertia = 0.5*2*0.04\n"
              "centre = 0, 0\n[contact floor]\ngap = y - 0.2\nslip = x + 0.2 m*th\nrestitution = 0\nfriction = 0.3\n"
              "[initial-state]\ny = 0.2\nrate(x) = 3\n",
          2, 0.01);
  m->run(1.0);
  EXPECT_NEAR(m->times(Event::stick).at(0), 3.0 / (3 * 0.3 * 10), 1e-12);  // v/(3 mu g)
  EXPECT_NEAR(m->integrator.velocity()(0), 2.0, 1e-12);                    // 2/3 v
  EXPECT_NEAR(m->integrator.velocity()(2), -10.0, 1e-11);
}

TEST(ClosedForms, BlockOnAnInclineSlidesOrStays) {
  const auto block = [](const std::string& angle) {
    return own("[model]\ndimension = 2\ngravity = 10*sin(" + angle + "), -10*cos(" + angle +
                   ")\n[link b]\nparent = ground\njoint = point\nmass = 2\n"
                   "[contact floor]\ngap = y\nslip = x\nrestitution = 0\nfriction = 0.5\n",
               2, 0.1);
  };
  const auto stays = block("0.46"), slides = block("0.47");  // atan(0.5) is 0.4636
  stays->run(1.0);
  slides->run(1.0);
  EXPECT_LT(std::abs(stays->q(0)), 1e-14);
  EXPECT_NEAR(slides->q(0), 5 * (std::sin(0.47) - 0.5 * std::cos(0.47)), 1e-12);
}

TEST(ClosedForms, RockingBlockKeepsItsShareOfSpin) {
  // half width b, half height h: angular velocity times 1 - 3/2 sin^2(alpha), alpha = atan(b/h) (Housner 1963)
  const double b = 0.1, h = 0.3;
  std::string text = systems::model_text("wedge");
  const auto replace = [&](const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    ASSERT_NE(at, std::string::npos);
    text.replace(at, from.size(), to);
  };
  replace("inertia = 13/48*mass*side^2 ", "inertia = mass/3*(0.1^2 + 0.3^2)*1 m2 ");
  replace("rise = sqrt(3)/4*side ", "rise = 0.3 ");
  replace("tilt = 0.3 ", "tilt = 0.1 ");
  const auto m = own(text, 6, 0.001);
  HybridState before;
  int shown = 0;
  m->integrator.observer = [&](const HybridState& state) {
    if (shown++ == 0) before = state;
  };
  ASSERT_EQ(m->start(), "");
  double time = 0.0;
  while (shown == 0) ASSERT_EQ(m->integrator.advance(time += 0.001, [](const Event&) { return true; }), "");
  const double sin2 = b * b / (b * b + h * h), spin = m->mechanics.velocity(before.q, before.p)(2);
  EXPECT_NEAR(m->integrator.velocity()(2) / spin, 1.0 - 1.5 * sin2, 1e-10);
}

TEST(ClosedForms, EqualBallsInARowPassTheirSpeedOn) {
  const auto m = own(
      "[model]\ndimension = 2\ngravity = 0\n"
      "[link a]\nparent = ground\njoint = prismatic x\nmass = 1\n[link b]\nparent = ground\njoint = prismatic x\nmass "
      "= 1\n"
      "[link c]\nparent = ground\njoint = prismatic x\nmass = 1\ncoordinates = c\n"
      "[contact ab]\ngap = b_x - a_x\n[contact bc]\ngap = c - b_x\n[initial-state]\nb_x = 0.01\nc = 0.0101\nrate(a_x) "
      "= 1\n",
      2, 0.1);
  m->run(0.1);  // both impacts in one step
  EXPECT_EQ(m->times(Event::impact).size(), 2u);
  EXPECT_NEAR(m->times(Event::impact)[0], 0.01, 1e-14);
  EXPECT_NEAR(m->times(Event::impact)[1], 0.0101, 1e-14);
  EXPECT_NEAR(m->integrator.velocity()(2), 1.0, 1e-13);
  EXPECT_NEAR(m->integrator.velocity()(0), 0.0, 1e-13);
}

TEST(ClosedForms, PainleveRodIsRefused) {
  // a rod that slides on its tip with so much friction that neither lasting contact nor lift-off fits
  const auto m = own(
      plane +
      "[link rod]\nparent = ground\njoint = planar\ncoordinates = x, y, th\nmass = 1\ninertia = 1/12\ncentre = 0, 0\n"
      "[contact tip]\ngap = y - 0.5*sin(th)\nslip = x - 0.5*cos(th)\nrestitution = 0\nfriction = 3\n"
      "[initial-state]\nth = 1\ny = 0.5*sin(1)\nrate(x) = -5\n");
  const std::string reason = m->start();
  const auto mirrored = own(
      plane +
      "[link rod]\nparent = ground\njoint = planar\ncoordinates = x, y, th\nmass = 1\ninertia = 1/12\ncentre = 0, 0\n"
      "[contact tip]\ngap = y - 0.5*sin(th)\nslip = x - 0.5*cos(th)\nrestitution = 0\nfriction = 3\n"
      "[initial-state]\nth = 1\ny = 0.5*sin(1)\nrate(x) = 5\n");
  const std::string other = mirrored->start();
  EXPECT_TRUE((reason.find("Painleve") != std::string::npos) != (other.find("Painleve") != std::string::npos))
      << reason << " / " << other;
}

// ---- properties

TEST(Jumps, LoseWhatTheirNormalEnergySays) {
  for (const double e : {1.0, 0.7, 0.0}) {
    const auto m = shipped("bar-drop", {{"restitution", e}}, 2, 0.01);
    HybridState before;
    bool have = false;
    m->integrator.observer = [&](const HybridState& state) {
      if (!have) before = state;
      have = true;
    };
    ASSERT_EQ(m->start(), "");
    m->go(0.5);
    ASSERT_TRUE(have);
    // normal energy: of the velocity along M^-1 grad gap
    const Eigen::MatrixXd M = m->mechanics.mass(before.q);
    const VectorXd g = m->mechanics.row(before.q).gradient.row(0), v = M.llt().solve(before.p);
    const double normal = 0.5 * std::pow(g.dot(v), 2) / g.dot(M.llt().solve(g));
    EXPECT_NEAR(m->integrator.events()[0].loss, (1 - e * e) * normal, 1e-12);
  }
}

TEST(Jumps, InRedundantCoordinatesAreThoseInMinimalOnes) {
  const auto minimal = shipped("pendulum-wall", {{"restitution", 0.6}}, 6, 0.005);
  const auto wire =
      own("[model]\ndimension = 2\ngravity = 9.81, 0\n[link bob]\nparent = ground\njoint = point\nmass = 1\n"
          "[constraint rod]\nzero = x^2 + y^2 - 1\n[contact wall]\ngap = x - 0.5\nrestitution = 0.6\n"
          "[initial-state]\nx = 1\nrate(y) = 5\n");
  minimal->run(0.4);
  wire->run(0.4);
  EXPECT_NEAR(wire->q(0), std::cos(minimal->q(0)), 1e-9);
  EXPECT_NEAR(wire->q(1), std::sin(minimal->q(0)), 1e-9);
  EXPECT_NEAR(wire->integrator.events()[0].loss, minimal->integrator.events()[0].loss, 1e-9);
  // the jump alone, at the same state: rounding is all that they differ by
  const double th = std::acos(0.5), om = 2.0;
  ASSERT_EQ(minimal->integrator.start(0, VectorXd::Constant(1, th), VectorXd::Constant(1, om)), "");
  ASSERT_EQ(wire->integrator.start(0, Eigen::Vector2d(0.5, std::sin(th)), om * Eigen::Vector2d(-std::sin(th), 0.5)),
            "");
  EXPECT_NEAR(minimal->integrator.velocity()(0), -0.6 * om, 1e-12);
  EXPECT_NEAR(wire->integrator.velocity()(0), 0.6 * om * std::sin(th), 1e-12);
  EXPECT_NEAR(wire->integrator.velocity()(1), -0.6 * om * 0.5, 1e-12);
}

TEST(Steps, HaveTheirOrderThroughImpacts) {
  const auto reference = shipped("wire-bar", {}, 6, 0.001);
  reference->run(1.0);
  for (const auto& [order, rule] :
       {std::pair(2, Rule::midpoint), std::pair(2, Rule::stoermer_verlet), std::pair(4, Rule::midpoint)}) {
    double error[2];
    for (int i = 0; i < 2; ++i) {
      const auto m = shipped("wire-bar", {}, order, 0.02 / (1 << i), rule);
      m->run(1.0);
      error[i] = (m->integrator.now().q - reference->integrator.now().q).norm();
    }
    EXPECT_GT(std::log2(error[0] / error[1]), order - 0.35) << order;
  }
}

TEST(Steps, DiscreteEnergyIsKeptThroughAnImpact) {
  for (const double step : {0.02, 0.01}) {
    IntegratorOptions options;
    options.step = step;
    options.jump = JumpLaw::discrete_energy;
    Machine m(systems::model_text("bar-drop"), {}, options);
    ASSERT_EQ(m.start(), "");
    int impacts = 0;
    double before = 0.0;
    m.integrator.observer = [&](const HybridState&) {  // called before and after the impact
      if (++impacts == 1) before = m.integrator.now().discrete_energy;
    };
    const int steps = static_cast<int>(std::lround(0.5 / step));
    for (int k = 1; k <= steps && impacts == 0; ++k) ASSERT_EQ(m.integrator.advance(k * step), "");
    ASSERT_EQ(impacts, 2);
    EXPECT_NEAR(m.integrator.now().discrete_energy, before, 1e-12);  // of the rest of the step
    EXPECT_GT(m.integrator.velocity()(1), -3.0);                     // and it does not pass through
  }
}

// The gap comes near zero within the step, so the search for an impact tries steps of other lengths. Under uniform
// gravity an interval of length h has the discrete energy E - m g^2 h^2/8.
TEST(Steps, DiscreteEnergyIsThatOfTheLastInterval) {
  const auto m = own(plane +
                         "[link p]\njoint = point\nparent = ground\nmass = 2\n[contact c]\ngap = x^2 + 1e-6\n"
                         "[initial-state]\nx = -0.05\nrate(x) = 1\n",
                     2, 0.1);
  m->run(0.1);
  EXPECT_TRUE(m->integrator.events().empty());
  EXPECT_NEAR(m->integrator.now().discrete_energy, 1.0 - 2.0 * 100.0 * 0.01 / 8.0, 1e-12);
}

TEST(Starts, ThatCannotBeAreRefused) {
  EXPECT_NE(own(ball + "[initial-state]\ny = -0.1\n")
                ->start()
                .find("the initial state violates [contact floor], whose gap is -0.1 (SI)"),
            std::string::npos);
  EXPECT_NE(own(plane + "[link p]\nparent = ground\njoint = point\nmass = 1\n[constraint w]\nzero = y - 1\n")
                ->start()
                .find("the initial state violates [constraint w], by -1 (SI)"),
            std::string::npos);
  EXPECT_NE(
      own(plane +
          "[link p]\nparent = ground\njoint = point\nmass = 1\n[constraint w]\nzero = y\n[constraint u]\nzero = 2*y\n")
          ->start()
          .find("dependent"),
      std::string::npos);
  EXPECT_NE(own(plane + "[link p]\nparent = ground\njoint = point\nmass = 0\n")->start().find("mass"),
            std::string::npos);
}

}  // namespace
}  // namespace dodyn::variational::test_hybrid
