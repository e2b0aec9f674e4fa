#include "tests/variational/stepping.hpp"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

#include "tests/systems/planar_biped.hpp"
#include "tests/systems/wedge.hpp"

namespace dodyn::variational::test_stepping {
namespace {

// A spherical pendulum in Cartesian coordinates: |q| = 1, with gravity along -y (or none).
struct Particle {
  static constexpr int n = 3;
  double gravity = 9.81;
  template <class T>
  T lagrangian(const std::array<T, n>& q, const std::array<T, n>& v) const {
    return 0.5 * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) - gravity * q[1];
  }
};
struct Sphere {
  static constexpr int m = 1;
  template <class T>
  std::array<T, m> values(const std::array<T, 3>& q) const {
    return {0.5 * (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] - 1.0)};
  }
};

using Vector3 = Vector<3>;
const Vector3 start(0.6, -0.8, 0.0), velocity(0.4, 0.3, 1.1);

template <class Rule>
Step<3> swing(const Particle& particle, double duration, int steps, double* max_constraint_error = nullptr,
              std::vector<double>* energies = nullptr) {
  Step<3> s;
  s.q = start;
  s.p = velocity;
  Vector3 previous = start - duration / steps * velocity;
  for (int k = 0; k < steps; ++k) {
    const double h = duration / steps;
    const Vector3 guess = 2.0 * s.q - previous;
    previous = s.q;
    s = advance<Rule>(particle, Sphere{}, k * h, s.q, s.p, (k + 1) * h, Vector3(Vector3::Zero()),
                      Vector3(Vector3::Zero()), guess, 1e-13);
    EXPECT_TRUE(s.converged);
    if (max_constraint_error)
      *max_constraint_error = std::max(*max_constraint_error, std::abs(evaluate<3>(Sphere{}, s.q).value(0)));
    if (energies) energies->push_back(s.energy);
  }
  return s;
}

TEST(Stepping, ConvergesWithOrderTwo) {
  const Particle particle;
  const Vector3 reference = swing<Midpoint>(particle, 1.0, 3200).q;
  for (const bool midpoint : {true, false}) {
    double error[3];
    for (int i = 0; i < 3; ++i) {
      const int steps = 50 << i;
      const Vector3 q =
          midpoint ? swing<Midpoint>(particle, 1.0, steps).q : swing<StoermerVerlet>(particle, 1.0, steps).q;
      error[i] = (q - reference).norm();
    }
    EXPECT_NEAR(std::log2(error[0] / error[1]), 2.0, 0.1);
    EXPECT_NEAR(std::log2(error[1] / error[2]), 2.0, 0.1);
  }
}

TEST(Stepping, KeepsConstraintMomentumAndBoundedEnergy) {
  const Particle particle;
  double max_error = 0.0;
  std::vector<double> energies;
  const Step<3> end = swing<StoermerVerlet>(particle, 20.0, 2000, &max_error, &energies);
  EXPECT_LE(max_error, 1e-12);
  // symmetry about the vertical: the angular momentum q x p along y stays, to round-off
  EXPECT_NEAR(end.q.cross(end.p).y(), start.cross(velocity).y(), 1e-11);
  const auto [low, high] = std::minmax_element(energies.begin(), energies.end());
  const double early = std::abs(energies[1] - energies[0]);
  EXPECT_LT(*high - *low, 2e-2);
  EXPECT_LT(std::abs(energies.back() - energies.front()), *high - *low + early);
}

TEST(Stepping, NullSpaceAndMultiplierFormsAgree) {
  const Particle particle;
  const Vector3 minus(0.01, -0.02, 0.005), plus(0.003, 0.01, -0.01);
  const Vector3 guess = start + 0.02 * velocity;
  const auto a = advance<Midpoint>(particle, Sphere{}, 0.0, start, velocity, 0.02, minus, plus, guess);
  const auto [b, impulse] =
      advance_with_multipliers<Midpoint>(particle, Sphere{}, 0.0, start, velocity, 0.02, minus, plus, guess);
  ASSERT_TRUE(a.converged && b.converged);
  EXPECT_TRUE(a.q.isApprox(b.q, 1e-12));
  EXPECT_TRUE(a.p.isApprox(b.p, 1e-12));
  // the null space method eliminates the impulse; the momentum equation (3.1.7) recovers it
  const auto s = slots<Midpoint>(particle, 0.0, start, 0.02, a.q);
  const auto G = evaluate<3>(Sphere{}, start).jacobian;
  EXPECT_NEAR(impulse(0), (G * (velocity + s.D2 + minus))(0) / G.squaredNorm(), 1e-12);
}

TEST(Stepping, ReportsFailureInsteadOfThrowing) {
  const Particle particle;
  const auto s = advance<Midpoint>(particle, Sphere{}, 0.0, start, Vector3(1e6 * velocity), 0.02,
                                   Vector3(Vector3::Zero()), Vector3(Vector3::Zero()), start, 1e-12, 5);
  EXPECT_FALSE(s.converged);
  EXPECT_GT(s.residual, 1e-12);
}

TEST(NullSpace, IsAnOrthonormalBasisOfTheKernel) {
  Eigen::Matrix<double, 2, 6> G = Eigen::Matrix<double, 2, 6>::Random();
  const auto P = null_space<2, 6>(G);
  EXPECT_LE((G * P).cwiseAbs().maxCoeff(), 1e-14);
  EXPECT_TRUE((P.transpose() * P).isIdentity(1e-13));
}

// Remark 2.10
TEST(MomentumProjection, IsAProjectionOnToTheConstraintsMomenta) {
  const systems::Wedge wedge;
  const Vector3 q(wedge.arm() * std::cos(0.2 + wedge.elevation()), wedge.arm() * std::sin(0.2 + wedge.elevation()),
                  0.2);
  const auto G = evaluate<3>(wedge.left_foot(), q).jacobian;
  const auto M = continuous(wedge, q, Vector3(Vector3::Zero())).mass;
  const Matrix<3> Q = momentum_projection<2, 3>(G, M);
  EXPECT_LE((Q * Q - Q).cwiseAbs().maxCoeff(), 1e-13);
  EXPECT_LE((G * M.inverse() * Q).cwiseAbs().maxCoeff(), 1e-12);
  EXPECT_LE((momentum_projection<2, 3>(G, Matrix<3>(2.0 * M)) - Q).cwiseAbs().maxCoeff(), 1e-13);
}

// At theta = 0 the wedge passes from its left to its right foot, and its rate falls to 5/17 for the
// printed inertia (1/7 for two thin rods), with or without the factor 1/2.
TEST(PlasticJump, OfTheWedgeHasTheAnalyticRatio) {
  for (const bool literal : {false, true})
    for (const auto& [inertia, ratio] : {std::pair{13.0 / 48.0, 5.0 / 17.0}, std::pair{7.0 / 48.0, 1.0 / 7.0}}) {
      systems::Wedge wedge;
      wedge.literal = literal;
      wedge.inertia = inertia * wedge.mass * wedge.side * wedge.side;
      const double a = wedge.arm(), phi = wedge.elevation(), rate = -3.5;
      const Vector3 q(a * std::cos(phi), a * std::sin(phi), 0.0);
      const Vector3 v = rate * Vector3(-a * std::sin(phi), a * std::cos(phi), 1.0);
      const auto c = continuous(wedge, q, v);
      const Vector3 after = c.mass.llt().solve(plastic_jump(wedge, wedge.right_foot(), q, c.momentum));
      EXPECT_NEAR(after(2) / rate, ratio, 1e-12);
      EXPECT_LE((evaluate<3>(wedge.right_foot(), q).jacobian * after).cwiseAbs().maxCoeff(), 1e-13);
      // general step through the jump (3.5.4): p = Q_N p-, then the constraint of the right foot
      const double h = 1e-6;
      const auto step = advance<Midpoint>(wedge, wedge.right_foot(), 0.0, q, c.momentum, h, Vector3(Vector3::Zero()),
                                          Vector3(Vector3::Zero()), Vector3(q + h * after));
      ASSERT_TRUE(step.converged);
      EXPECT_NEAR((step.q(2) - q(2)) / h / rate, ratio, 1e-4);
    }
}

// Pekarek 2010, section 4.1: the test integrates a fine motion backwards from an impact at t = 0.158 s, which gives the
// initial state. From there, with coarse steps of 0.01 s, the right foot first reaches the ground in the 16th step. The
// length of that step at which theta = 0 gives the time of the jump, to the published accuracy of about 1e-5 s. The
// source does not publish the initial state; any impact rate is suitable.
TEST(PlasticJump, ComesAtTheTimeOfTheFineMotion) {
  const systems::Wedge wedge;
  const double a = wedge.arm(), phi = wedge.elevation(), impact = 0.158;
  const Vector3 none = Vector3::Zero();
  const auto go = [&](Step<3> s, double h) {
    const Vector3 v = continuous(wedge, s.q, none).mass.llt().solve(s.p);
    Step<3> next = advance<Midpoint>(wedge, wedge.left_foot(), 0.0, s.q, s.p, h, none, none, Vector3(s.q + h * v));
    EXPECT_TRUE(next.converged);
    return next;
  };
  for (const double rate : {-4.0, -6.0, -8.0}) {
    Step<3> at_impact;  // reversed in time
    at_impact.q = Vector3(a * std::cos(phi), a * std::sin(phi), 0.0);
    at_impact.p =
        continuous(wedge, at_impact.q, Vector3(-rate * Vector3(-a * std::sin(phi), a * std::cos(phi), 1.0))).momentum;
    Step<3> from = at_impact;
    for (int k = 0; k < 395; ++k) from = go(from, 4e-4);
    from.p = -from.p;
    ASSERT_GT(from.q(2), 0.0);

    double error[2];
    for (const int halved : {1, 2}) {
      const double h = 0.01 / halved;
      Step<3> s = from, next = go(s, h);
      int j = 1;
      for (; next.q(2) >= 0.0; ++j) s = next, next = go(s, h);
      if (halved == 1) {
        EXPECT_EQ(j, 16) << rate;
      }
      double low = 0.0, high = h;  // theta falls through 0 between
      for (int k = 0; k < 50; ++k) (go(s, 0.5 * (low + high)).q(2) > 0.0 ? low : high) = 0.5 * (low + high);
      error[halved - 1] = std::abs((j - 1) * h + low - impact);
    }
    EXPECT_LT(error[0], 1e-4) << rate;
    EXPECT_NEAR(std::log2(error[0] / error[1]), 2.0, 0.3) << rate;
  }
}

// The momentum that arrives at the impact, D4 L_d, has a part outside T*N. With
// Q_N the energy lost at the jump errs by h^2, without it by h.
TEST(PlasticJump, NeedsTheProjectionForOrderTwo) {
  const systems::Wedge wedge;
  const double a = wedge.arm(), phi = wedge.elevation();
  const auto state = [&](double theta, double rate) {
    return std::pair{Vector3(a * std::cos(theta + phi), a * std::sin(theta + phi), theta),
                     Vector3(rate * Vector3(-a * std::sin(theta + phi), a * std::cos(theta + phi), 1.0))};
  };
  // A step of length h that ends exactly at the impact with momentum D4 L_d, from the motion run backwards in time:
  // the momentum equation is symmetric, so start at the impact with reversed velocity and read D2 for D4.
  const double rate = -3.5;
  double with[3], without[3];
  for (int i = 0; i < 3; ++i) {
    const double h = 0.01 / (1 << i);
    const auto [q, v] = state(0.0, -rate);
    const auto back = advance<Midpoint>(wedge, wedge.left_foot(), 0.0, q, continuous(wedge, q, v).momentum, h,
                                        Vector3(Vector3::Zero()), Vector3(Vector3::Zero()), Vector3(q + h * v));
    ASSERT_TRUE(back.converged);
    const Vector3 arriving = slots<Midpoint>(wedge, 0.0, back.q, h, q).D4;  // right momentum at the impact
    const auto M = continuous(wedge, q, v).mass;
    const Matrix<3> Q = momentum_projection<2, 3>(evaluate<3>(wedge.left_foot(), q).jacobian, M);
    const auto energy = [&](const Vector3& p) { return 0.5 * p.dot(M.llt().solve(p)); };
    const double exact = energy(continuous(wedge, q, Vector3(-v)).momentum) * (1.0 - 25.0 / 289.0);
    const auto loss = [&, &q = q](const Vector3& p) {
      return energy(Vector3(Q * arriving)) - energy(plastic_jump(wedge, wedge.right_foot(), q, p));
    };
    with[i] = std::abs(loss(Vector3(Q * arriving)) - exact);
    without[i] = std::abs(loss(arriving) - exact);
  }
  EXPECT_LT(with[1], 1e-9);
  EXPECT_NEAR(std::log2(without[0] / without[1]), 1.0, 0.3);
  EXPECT_NEAR(std::log2(without[1] / without[2]), 1.0, 0.3);
}

}  // namespace
}  // namespace dodyn::variational::test_stepping
