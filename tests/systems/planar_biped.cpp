#include "tests/systems/planar_biped.hpp"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <random>

#include "tests/variational/discrete_lagrangian.hpp"

namespace dodyn::systems::test_planar_biped {
namespace {

using Biped = PlanarBiped<double>;
using Vector = std::array<double, Biped::n>;

Vector random_vector(std::mt19937_64& random, double size) {
  std::uniform_real_distribution<double> uniform(-size, size);
  Vector v;
  for (double& x : v) x = uniform(random);
  return v;
}

const Biped asymmetric = Biped::with_masses(0.42, 1.0, {2.0, 3.0, 3.0, 2.0});

TEST(PlanarBiped, LagrangianIsThatOfFourRods) {
  // Independent: velocities of the link ends by differences of the points, energies by summation over the links.
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 20; ++trial) {
    const Vector q = random_vector(random, 1.5), v = random_vector(random, 2.0);
    const auto moved = [&](double h) {
      Vector at;
      for (int i = 0; i < Biped::n; ++i) at[i] = q[i] + h * v[i];
      return asymmetric.points(at);
    };
    const double h = 1e-5;
    const auto p = moved(0.0), after = moved(h), before = moved(-h);
    double L = 0.0, rate = 0.0;
    for (int i = 0; i < 4; ++i) {
      rate += v[2 + i];
      const double vx = (after[2 * i] - before[2 * i] + after[2 * i + 2] - before[2 * i + 2]) / (4.0 * h);
      const double vy = (after[2 * i + 1] - before[2 * i + 1] + after[2 * i + 3] - before[2 * i + 3]) / (4.0 * h);
      const double m = asymmetric.mass[i], l = asymmetric.length[i];
      L += 0.5 * m * (vx * vx + vy * vy) + 0.5 * (m * l * l / 24.0) * rate * rate -
           m * 9.81 * 0.5 * (p[2 * i + 1] + p[2 * i + 3]);
    }
    EXPECT_NEAR(asymmetric.lagrangian(q, v), L, 1e-7 * std::abs(L) + 1e-7);
  }
}

TEST(PlanarBiped, LinksKeepTheirLengths) {
  std::mt19937_64 random(2);
  const auto p = asymmetric.points(random_vector(random, 3.0));
  const double expected[] = {0.42, 0.58, 0.58, 0.42};
  for (int i = 0; i < 4; ++i)
    EXPECT_NEAR(std::hypot(p[2 * i + 2] - p[2 * i], p[2 * i + 3] - p[2 * i + 1]), expected[i], 1e-14);
}

TEST(PlanarBiped, ExchangingLegsTwiceIsTheIdentity) {
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 20; ++trial) {
    const Vector q = random_vector(random, 2.0), twice = asymmetric.exchange_legs(asymmetric.exchange_legs(q));
    for (int i = 0; i < Biped::n; ++i) EXPECT_NEAR(twice[i], q[i], 1e-14);
  }
}

// The relabelled biped is the same mechanical system. This fails for the swing leg as the source prints it, its two
// lengths in the wrong order, as soon as shank and thigh differ.
TEST(PlanarBiped, ExchangingLegsKeepsPostureAndLagrangian) {
  std::mt19937_64 random(4);
  for (int trial = 0; trial < 20; ++trial) {
    const Vector q = random_vector(random, 2.0), v = random_vector(random, 2.0);
    std::array<autodiff::Dual<double>, Biped::n> moving;
    for (int i = 0; i < Biped::n; ++i) moving[i] = {q[i], v[i]};
    const auto exchanged = asymmetric.exchange_legs(moving);
    Vector q_new, v_new;
    for (int i = 0; i < Biped::n; ++i) {
      q_new[i] = exchanged[i].value;
      v_new[i] = exchanged[i].tangent;
    }
    const auto p = asymmetric.points(q), p_new = asymmetric.points(q_new);
    for (int i = 0; i < 5; ++i) {
      EXPECT_NEAR(p_new[2 * i], p[8 - 2 * i], 1e-13);
      EXPECT_NEAR(p_new[2 * i + 1], p[9 - 2 * i], 1e-13);
    }
    EXPECT_NEAR(asymmetric.lagrangian(q_new, v_new), asymmetric.lagrangian(q, v), 1e-11);
  }
}

TEST(PlanarBiped, MassMatrixIsPositiveDefinite) {
  std::mt19937_64 random(5);
  for (int trial = 0; trial < 20; ++trial) {
    const Vector q = random_vector(random, 3.0);
    const auto c = variational::continuous(asymmetric, variational::Vector<6>(q.data()),
                                           variational::Vector<6>(variational::Vector<6>::Zero()));
    EXPECT_EQ(c.mass.llt().info(), Eigen::Success);
  }
}

TEST(PlanarBiped, MassFollowsLengthAtUniformDensity) {
  const Biped biped = Biped::with_density(0.3, 1.0, 5.0);
  EXPECT_NEAR(biped.weight(), 98.1, 1e-12);
  EXPECT_DOUBLE_EQ(biped.mass[0], 1.5);
  EXPECT_DOUBLE_EQ(biped.mass[1], 3.5);
  EXPECT_DOUBLE_EQ(biped.inertia[2], 3.5 * 0.7 * 0.7 / 24.0);
}

}  // namespace
}  // namespace dodyn::systems::test_planar_biped
