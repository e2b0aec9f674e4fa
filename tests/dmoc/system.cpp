// The recorded functions of a system against the same Lagrangian written by hand and differentiated by Taylor numbers.
#include "dmoc/system.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "gaits.hpp"
#include "tests/systems/planar_biped.hpp"
#include "tests/variational/discrete_lagrangian.hpp"

namespace dodyn::dmoc::test_system {
namespace {

using Biped = systems::PlanarBiped<double>;
using Vector6 = variational::Vector<6>;

Vector6 random_posture(std::mt19937_64& random, bool foot_at_rest) {
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  Vector6 q;
  for (double& x : q) x = uniform(random);
  if (foot_at_rest) q.head<2>().setZero();
  return q;
}

// D2 and D4 and their derivatives, the foot held and the foot free, h known and h an unknown.
TEST(System, ActionIsThatOfTheHandWrittenLagrangian) {
  const auto [walker, numbers] = built_in("planar-biped", 0.42);
  const Biped biped = Biped::with_masses(0.42, 1.0, {2.0, 3.0, 3.0, 2.0});
  std::mt19937_64 random(3);
  const double h = 0.03;
  for (const bool held : {true, false})
    for (const bool timed : {false, true}) {
      const PinnedSystem& f = walker->system->pinned(held ? walker->feet() : std::vector<int>{});
      const Element action = timed ? element(f.timed_action, numbers, {0.25}) : element(f.action, numbers, {h});
      const int m = f.moving.size(), first = held ? 2 : 0;
      for (int trial = 0; trial < 10; ++trial) {
        const Vector6 a = random_posture(random, held), b = random_posture(random, held);
        Eigen::VectorXd z(2 * m + timed);
        z.head(m) = a.tail(m);
        z.segment(m, m) = b.tail(m);
        if (timed) z(2 * m) = 4.0 * h;
        const auto s = variational::slots<variational::Midpoint>(biped, 0.0, a, h, b);
        const Eigen::VectorXd values = value(*action, z);
        const Eigen::MatrixXd J = jacobian(*action, z);
        const double size = 1.0 + s.D2D4.lpNorm<Eigen::Infinity>();
        EXPECT_LE((values.head(6) - s.D2).norm() + (values.tail(6) - s.D4).norm(), 1e-12 * size);
        EXPECT_LE((J.block(0, m, 6, m) - s.D2D4.rightCols(m)).norm(), 1e-12 * size) << first;
        EXPECT_LE((J.block(0, 0, 6, m) - s.D2D2.rightCols(m)).norm(), 1e-12 * size);
        EXPECT_LE((J.block(6, m, 6, m) - s.D4D4.rightCols(m)).norm(), 1e-12 * size);
        if (timed) {  // h = T/4
          EXPECT_LE((J.col(2 * m).head(6) - 0.25 * s.D3D2).norm(), 1e-10 * size);
          EXPECT_LE((J.col(2 * m).tail(6) - 0.25 * s.D3D4).norm(), 1e-10 * size);
        }
      }
    }
}

// Hessians of weighted slots, and gradients with respect to the design, against differences of the lower derivatives.
TEST(System, HigherDerivativesAreThoseOfDifferences) {
  for (const char* name : {"planar-biped", "spatial-biped"})
    for (const bool timed : {false, true}) {
      const auto [walker, numbers] = built_in(name, 0.42);
      const PinnedSystem& f = walker->system->pinned(walker->feet());
      const auto action_at = [&, walker = walker](double knee) {
        const auto moved = walker->numbers({{"knee", Coefficient(knee, 1.0)}});
        return timed ? element(f.timed_action, moved, {0.25}) : element(f.action, moved, {0.03});
      };
      const Element action = action_at(0.42);
      std::srand(5);
      Eigen::VectorXd z = Eigen::VectorXd::Random(action->inputs), w = Eigen::VectorXd::Random(action->outputs);
      if (timed) z(z.size() - 1) = 0.12;
      Eigen::MatrixXd H(z.size(), z.size());
      action->hessian(z.data(), w.data(), H.data());
      const auto five_points = [](auto at, double h) -> Eigen::VectorXd {
        return (8.0 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12.0 * h);
      };
      for (Eigen::Index i = 0; i < z.size(); ++i) {
        const Eigen::VectorXd expected = five_points(
            [&](double step) -> Eigen::VectorXd {
              Eigen::VectorXd moved = z;
              moved(i) += step;
              return jacobian(*action, moved).transpose() * w;
            },
            1e-4);
        EXPECT_LE((H.col(i) - expected).norm(), 1e-7 * (1.0 + H.norm())) << name;
      }
      Eigen::VectorXd gradient = Eigen::VectorXd::Zero(1);
      action->add_design_gradient(1, z.data(), w.data(), gradient);
      const Eigen::VectorXd expected = five_points(
          [&](double step) -> Eigen::VectorXd {
            return Eigen::VectorXd::Constant(1, w.dot(value(*action_at(0.42 + step), z)));
          },
          1e-3);
      EXPECT_NEAR(gradient(0), expected(0), 1e-8 * (1.0 + std::abs(expected(0)))) << name;
    }
}

TEST(System, MomentumAndEnergyAreThoseOfTheHandWrittenLagrangian) {
  const auto [walker, numbers] = built_in("planar-biped", 0.42);
  const Biped biped = Biped::with_masses(0.42, 1.0, {2.0, 3.0, 3.0, 2.0});
  const Element momentum = element(walker->system->pinned({}).momentum, numbers),
                energy = element(walker->system->energy(), numbers);
  std::mt19937_64 random(4);
  for (int trial = 0; trial < 10; ++trial) {
    const Vector6 q = random_posture(random, false), v = random_posture(random, false);
    Eigen::VectorXd z(12);
    z << q, v;
    const auto expected = variational::continuous(biped, q, v);
    EXPECT_LE((value(*momentum, z) - expected.momentum).norm(), 1e-12 * (1.0 + expected.momentum.norm()));
    EXPECT_NEAR(value(*energy, z)(0), expected.energy, 1e-12 * (1.0 + std::abs(expected.energy)));
  }
}

// A rotor in space, of walkers (in angles) and of motions (in directors): m/2 (its way over the interval)^2/h of the
// action, and m/2 (its pace)^2 of the energy.
TEST(System, ARotorInSpaceAddsItsEnergy) {
  const std::string flying =
      "[model]\nname = flying\ndimension = 3\ngravity = 9.81\n[link body]\nparent = ground\njoint = spatial XYZ\nmass "
      "= "
      "2\ninertia = 0.1, 0.2, 0.3\nend = 0.1, 0.2, 0.3\n[link stance_knee]\nparent = body\njoint = revolute y\nmass = "
      "1\ninertia = 0.01, 0.02, 0.03\ncentre = 0.3, 0, 0\nend = 0.5, 0, 0\n[link swing_knee]\nparent = "
      "stance_knee\njoint = revolute z\nmass = 1\ninertia = 0.01, 0.02, 0.03\ncentre = 0.3, 0, 0\n";
  const double mass = 0.02, h = 0.03, gear = 9.0;
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(-0.5, 0.5);
  for (const bool directors : {false, true}) {
    const std::string text = directors ? flying : systems::model_text("spatial-biped");
    const auto made = [&](const std::string& more) {
      systems::Model model = systems::read_model(text + more, "rotor", false);
      auto numbers = model.evaluate<Coefficient>({}).numbers;
      return std::pair(std::make_shared<const System>(std::move(model), directors), std::move(numbers));
    };
    const auto [with, numbers] = made("[rotor motor]\nplace = 9*swing_knee + stance_knee\nmass = 0.02\n");
    const auto [without, fewer] = made("");
    const auto& names = with->structure().coordinate_names;
    const auto at = [&](const char* name) { return std::find(names.begin(), names.end(), name) - names.begin(); };
    const Eigen::Index swing = at("swing_knee"), stance = at("stance_knee");
    const int n = with->n();
    ASSERT_LT(std::max(swing, stance), n);
    const std::vector<Reference> references(directors ? 2 : 0, with->no_reference());
    const Element one = element(with->pinned({}).action, numbers, {h}, references),
                  other = element(without->pinned({}).action, fewer, {h}, references);
    for (int trial = 0; trial < 5; ++trial) {
      Eigen::VectorXd z(2 * n), expected = Eigen::VectorXd::Zero(2 * n);
      for (double& x : z) x = uniform(random);
      const double way = gear * (z(n + swing) - z(swing)) + z(n + stance) - z(stance), push = mass * way / h;
      expected(swing) = -gear * push;
      expected(stance) = -push;
      expected(n + swing) = gear * push;
      expected(n + stance) = push;
      const Eigen::VectorXd added = value(*one, z) - value(*other, z);
      EXPECT_LE((added - expected).norm(), 1e-10 * expected.norm()) << directors;
      const double pace = gear * z(n + swing) + z(n + stance);
      EXPECT_NEAR(value(*element(with->energy(), numbers), z)(0) - value(*element(without->energy(), fewer), z)(0),
                  0.5 * mass * pace * pace, 1e-10)
          << directors;
    }
  }
}

TEST(System, FunctionsWhoseRecordingFailsAreRecordedAgain) {
  bool fails = false;
  const Energy energy = [&](const auto&, const auto&, const auto&) {
    if (fails) throw std::runtime_error("no energy");
    return autodiff::Var(0.0);
  };
  systems::Model model = systems::read_model(systems::model_text("planar-biped"), "planar-biped", false);
  const System system(std::move(model), false, {energy});
  fails = true;
  EXPECT_THROW(system.pinned({0, 1}), std::runtime_error);
  EXPECT_THROW(system.pinned({0, 1}), std::runtime_error);
  fails = false;
  const PinnedSystem& functions = system.pinned({0, 1});
  EXPECT_TRUE(functions.action && functions.timed_action && functions.momentum);
  EXPECT_EQ(&system.pinned({0, 1}), &functions);
}

}  // namespace
}  // namespace dodyn::dmoc::test_system
