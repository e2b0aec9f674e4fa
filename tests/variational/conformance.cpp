// Small scenes with known answers, in addition to those of hybrid.cpp: balances of energy and momentum to 1e-12, the
// order of convergence through impacts, a mechanism with play against one without, and a woodpecker toy against another
// method.
#include <gtest/gtest.h>

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <string>

#include "machine.hpp"

namespace dodyn::variational::test_conformance {
namespace {

using Eigen::Vector3d;
using Eigen::VectorXd;

// A machine that has started from the initial state of its model file.
struct Started : Machine {
  Started(const std::string& text, const Given& given, int order, double step, double rest_speed = 1e-6)
      : Machine(text, given, options_of(order, step, rest_speed)) {
    EXPECT_EQ(start(), "");
  }
};

struct Case {
  const char* model;
  Given given;
  double end, step;  // s; the step of the balances
};
const std::vector<Case> cases = {{"particle-drop", {}, 1.6, 0.002},
                                 {"particle-drop", {{"restitution", 0.7}}, 1.0, 0.002},
                                 {"bar-drop", {}, 2.0, 0.002},
                                 {"bar-drop", {{"restitution", 0.5}}, 0.8, 0.002},
                                 {"wire-bar", {}, 2.0, 0.001},
                                 {"pendulum-wall", {}, 2.0, 0.002},
                                 {"wedge", {}, 0.2, 0.001},
                                 {"two-link", {}, 1.2, 0.001},
                                 {"two-link", {{"restitution", 0.5}}, 0.6, 0.001},
                                 {"slider-crank", {{"restitution", 1.0}, {"spin", 40.0}}, 0.1, 0.0002},
                                 {"slider-crank", {{"spin", 40.0}}, 0.02, 0.0002}};

TEST(Conformance, EnergyBalanceClosesToRoundOff) {
  for (const Case& c : cases) {
    SCOPED_TRACE(c.model);
    Started scene(systems::model_text(c.model), c.given, 6, c.step);
    const double before = scene.energy(),
                 size = std::abs(before) + scene.mechanics.state(scene.q(), scene.integrator.velocity()).kinetic + 1.0;
    scene.go(c.end);
    EXPECT_GT(scene.integrator.events().size(), 0u);
    double dissipated_energy = 0.0;
    for (const Event& event : scene.integrator.events()) dissipated_energy += event.loss;
    EXPECT_NEAR(scene.integrator.dissipated_energy(), dissipated_energy, 1e-12 * size);
    EXPECT_NEAR(scene.energy() + dissipated_energy, before, 1e-12 * size);
  }
}

TEST(Conformance, StepsKeepTheirOrderThroughImpacts) {
  int compared = 0;
  for (const Case& c : cases) {
    SCOPED_TRACE(c.model);
    Started reference(systems::model_text(c.model), c.given, 6, c.step);
    reference.go(c.end);
    for (const int order : {2, 4}) {
      double error[2];
      for (const int i : {0, 1}) {
        Started scene(systems::model_text(c.model), c.given, order, (order == 2 ? 2.0 : 4.0) * c.step / (1 << i));
        scene.go(c.end);
        EXPECT_EQ(scene.integrator.events().size(), reference.integrator.events().size());
        error[i] = (scene.q() - reference.q()).norm();
      }
      if (error[1] < 1e-10) continue;  // exact under uniform gravity, or as good as the reference
      EXPECT_NEAR(std::log2(error[0] / error[1]), order, 0.5) << order << ": " << error[0] << ", " << error[1];
      ++compared;
    }
  }
  EXPECT_GE(compared, 8);
}

TEST(Conformance, SliderCrankTendsToTheOneWithoutPlay) {
  // the same links; constraints keep the slider on its line
  std::string text = systems::model_text("slider-crank");
  text.erase(text.find("[contact back_low]"), text.find("[initial-state]") - text.find("[contact back_low]"));
  text +=
      "\n[point middle]\nlink = slider\nat = 0, 0\n[constraint height]\nzero = middle.y\n[constraint attitude]\nzero = "
      "crank + rod "
      "+ slider\n";
  Started ideal(text, {{"spin", 40.0}}, 4, 0.0005);
  ideal.go(0.2);
  // by hand: sin(rod's attitude) = -l1/l2 sin(crank)
  EXPECT_NEAR(ideal.q(0) + ideal.q(1), -std::asin(0.5 * std::sin(ideal.q(0))), 1e-10);
  double error[2];
  for (const int i : {0, 1}) {
    Started loose(systems::model_text("slider-crank"),
                  {{"spin", 40.0}, {"restitution", 0.0}, {"clearance", i ? 1e-5 : 1e-4}}, 4, 0.0005, 1e-4);
    loose.go(0.2);
    error[i] = std::abs(std::remainder(loose.q(0) - ideal.q(0), 2 * std::numbers::pi));
  }
  EXPECT_LT(error[0], 0.05);
  EXPECT_LT(error[1], 0.3 * error[0]);
}

// The woodpecker by Moreau's time stepping, which has no events: contacts that are closed at the middle of a step get
// impulses for the whole step. First order. Written from the toy's own kinetic energy, angles from the horizontal.
struct Cycle {
  double period = 0.0, descent = 0.0;  // s, m: from peck to peck, at the end
};
Cycle woodpecker_by_time_stepping(double h, double end) {
  const double mM = 0.3e-3, JM = 5e-9, mS = 4.5e-3, JS = 7e-7, k = 5.6e-3, r0 = 2.5e-3, rM = 3.1e-3, hM = 5.8e-3,
               lM = 10e-3, lG = 15e-3, hS = 20e-3, lS = 20.1e-3, g = 9.81, mu = 0.3;
  const Vector3d wn[3] = {{0, 0, -hS}, {0, hM, 0}, {0, -hM, 0}}, wt[3] = {{1, lM, lG - lS}, {1, rM, 0}, {1, rM, 0}};
  const double e[3] = {0.5, 0, 0};
  Vector3d q(0, -0.1, -0.3), u(-0.34, 0, 0);
  Cycle cycle;
  double last_time = 0.0, last_height = 0.0;
  for (double t = 0.0; t < end; t += h) {
    const Vector3d m = q + 0.5 * h * u;
    const double ca = std::cos(m[1]), sa = std::sin(m[1]), cb = std::cos(m[2]), sb = std::sin(m[2]),
                 cd = std::cos(m[1] - m[2]), sd = std::sin(m[1] - m[2]);
    Eigen::Matrix3d M;
    M << mS + mM, mS * lM * ca, mS * lG * cb, mS * lM * ca, JM + mS * lM * lM, mS * lM * lG * cd, mS * lG * cb,
        mS * lM * lG * cd, JS + mS * lG * lG;
    const Vector3d f(-(mS + mM) * g + mS * lM * sa * u[1] * u[1] + mS * lG * sb * u[2] * u[2],
                     -mS * g * lM * ca - k * (m[1] - m[2]) - mS * lM * lG * sd * u[2] * u[2],
                     -mS * g * lG * cb - k * (m[2] - m[1]) + mS * lM * lG * sd * u[1] * u[1]);
    const Eigen::Matrix3d inverse = M.inverse();
    Vector3d v = u + h * inverse * f;
    const double gap[3] = {lM + lG - lS - r0 - hS * m[2], rM - r0 + hM * m[1], rM - r0 - hM * m[1]};
    double normal[3] = {}, slip[3] = {};
    for (int sweep = 0; sweep < 300; ++sweep) {
      double change = 0.0;
      for (int i = 0; i < 3; ++i) {
        if (gap[i] > 0.0) continue;
        const auto push = [&](const Vector3d& w, double& impulse, double target, double low, double high) {
          const double metric = w.dot(inverse * w),
                       next = std::clamp(impulse - (w.dot(v) - target) / metric, low, high);
          v += inverse * w * (next - impulse);
          change = std::max(change, std::abs(next - impulse) * metric);
          impulse = next;
        };
        push(wn[i], normal[i], -e[i] * std::min(0.0, wn[i].dot(u)), 0.0, 1e9);
        push(wt[i], slip[i], 0.0, -mu * normal[i], mu * normal[i]);
      }
      if (change < 1e-13) break;
    }
    if (normal[0] > 0.0 && wn[0].dot(u) < -0.01) {
      cycle = {t - last_time, last_height - q[0]};
      last_time = t;
      last_height = q[0];
    }
    q = m + 0.5 * h * v;
    u = v;
  }
  return cycle;
}

Cycle woodpecker(double step) {
  Started toy(systems::model_text("woodpecker"), {}, 4, step, 1e-5);
  std::vector<HybridState> pecks;
  toy.integrator.observer = [&](const HybridState& state) {  // called before and after every event
    const double gap = toy.mechanics.row(state.q).value(toy.assembly.contacts[0].gap);
    const VectorXd v = toy.mechanics.velocity(state.q, state.p);
    if (std::abs(gap) < 1e-9 && v(1) + v(2) < -1.0) pecks.push_back(state);  // the bird swings back from the pole
  };
  toy.go(3.0);
  if (pecks.size() < 4) return {};
  const HybridState &one = pecks[pecks.size() - 2], &two = pecks.back();
  return {two.time - one.time, one.q(0) - two.q(0)};
}

TEST(Conformance, WoodpeckerPecksAsByTimeStepping) {
  const Cycle cycle = woodpecker(0.0005), finer = woodpecker(0.00025), other = woodpecker_by_time_stepping(1e-5, 3.0);
  EXPECT_NEAR(cycle.period, finer.period, 2e-6);
  EXPECT_NEAR(cycle.period / other.period, 1.0, 0.002);
  EXPECT_NEAR(cycle.descent / other.descent, 1.0, 0.005);
}

}  // namespace
}  // namespace dodyn::variational::test_conformance
