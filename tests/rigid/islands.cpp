// The contact problem of large islands (Newton on the bodies) and of small ones (sweeps and dense steps): the results
// of both satisfy the conditions of the problem.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "rigid/director.hpp"
#include "rigid/impulses.hpp"

namespace dodyn::rigid::test_islands {
namespace {

template <int n>
struct Pile {
  World<n> world;
  std::vector<Pose<n>> poses;
  std::vector<ContactPoint<n>> points;
  Eigen::VectorXd nu;

  // A row of boxes, each in contact with the next and with the floor at `each` points; random normals near the axes.
  // `joined`: two by two by a joint, so that trees of several bodies touch.
  Pile(int boxes, int each, std::uint64_t seed, bool joined) {
    std::mt19937_64 engine(seed);
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    const auto vector = [&](double size) {
      Vector<n> v;
      for (int k = 0; k < n; ++k) v[k] = size * uniform(engine);
      return v;
    };
    const auto shape = [] {
      if constexpr (n == 2)
        return geometry::rectangle(1.0, 1.0);
      else
        return geometry::box(1.0, 1.0, 1.0);
    }();
    world.bodies.push_back(fixed_body<n>("floor", {shape}));
    poses.emplace_back();
    for (int i = 0; i < boxes; ++i) {
      world.bodies.push_back(solid<n>("box", {shape}, 1.0 + i % 3).body);
      Pose<n> pose;
      pose.position = i * Vector<n>::Unit(0) + 0.5 * Vector<n>::Unit(n - 1);
      if constexpr (n == 3) pose.directors = exponential(vector(0.2));
      poses.push_back(pose);
      for (int k = 0; k < each; ++k) {
        ContactPoint<n> below, beside;
        below.body = {i + 1, 0};
        below.normal = (Vector<n>::Unit(n - 1) + vector(0.2)).normalized();
        below.point = pose.position - 0.5 * Vector<n>::Unit(n - 1) + vector(0.4);
        points.push_back(below);
        if (i == 0 || (joined && i % 2 == 1)) continue;
        beside.body = {i + 1, i};
        beside.normal = (Vector<n>::Unit(0) + vector(0.2)).normalized();
        beside.point = pose.position - 0.5 * Vector<n>::Unit(0) + vector(0.4);
        points.push_back(beside);
      }
    }
    for (int i = 1; joined && i < boxes; i += 2) {
      const Vector<n> at = 0.5 * (poses[i].position + poses[i + 1].position);
      const auto in = [&](int b) -> Vector<n> {
        return poses[b].frame().directors.transpose() * (at - poses[b].position);
      };
      world.joints.push_back(
          {n == 2 ? Joint<n>::Kind::revolute : Joint<n>::Kind::spherical, i, i + 1, in(i), in(i + 1), {}});
      world.no_contact.push_back({i, i + 1});
    }
    nu.resize(Multibody<n>(world).dofs());
    for (auto& x : nu) x = uniform(engine);
    for (int i = 0; !joined && i < boxes; ++i) nu[i * Twist<n>::RowsAtCompileTime + n - 1] -= 1.0;
  }
};

template <int n>
void obeys(int boxes, int each, double mu, double accuracy, bool joined = false) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Pile<n> pile(boxes, each, seed, joined);
    const Multibody<n> bodies(pile.world);
    const Inertia<n> inertia(bodies, pile.poses);
    ContactRows<n> rows;
    rows.build(inertia, pile.points, true);
    ASSERT_EQ(rows.islands(), 1);
    const int count = rows.size();
    std::vector<double> target(count), friction(count, mu), impulse(n * count, 0.0);
    for (int c = 0; c < count; ++c) target[c] = -0.3 * std::min(0.0, rows.relative_velocity(c, 0, pile.nu));
    Eigen::VectorXd nu = pile.nu;
    ContactSolver<n> solver;
    solver.solve(rows, target, mu > 0.0 ? std::span<const double>(friction) : std::span<const double>(), 1e-14, nu,
                 impulse);

    // velocities are those that the impulses give, summed up without the solver
    Eigen::VectorXd p, expected;
    inertia.momentum(pile.nu, p);
    for (int c = 0; c < count; ++c)
      for (int k = 0; k < n; ++k) rows.add_momentum(c, k, impulse[n * c + k], p);
    inertia.velocity(p, expected);
    EXPECT_LE((nu - expected).norm(), 1e-8);
    int pressing = 0, sliding = 0;
    for (int c = 0; c < count; ++c) {
      const double normal = impulse[n * c], slack = rows.relative_velocity(c, 0, nu) - target[c];
      EXPECT_GE(normal, 0.0);
      EXPECT_GE(slack, -accuracy);
      if (normal > 1e-9) {
        EXPECT_LE(std::abs(slack), accuracy);
      }
      pressing += normal > 1e-9;
      Eigen::Matrix<double, n - 1, 1> push, slide;
      for (int k = 1; k < n; ++k) {
        push[k - 1] = impulse[n * c + k];
        slide[k - 1] = rows.relative_velocity(c, k, nu);
      }
      if (mu == 0.0) {
        EXPECT_EQ(push.norm(), 0.0);
        continue;
      }
      // in the cone; where it slides, on its edge and against the motion: mu N |v| + <v, f> = 0
      EXPECT_LE(push.norm(), mu * normal * (1.0 + 1e-6) + 1e-9);
      EXPECT_LE(mu * normal * slide.norm() + push.dot(slide), accuracy * (1.0 + normal));
      sliding += slide.norm() > 1e-3 && normal > 1e-9;
    }
    EXPECT_GT(pressing, joined ? 0 : boxes / 2);
    if (mu > 0.0) {
      EXPECT_GT(sliding, 0);
    }
  }
}

TEST(Islands, SmallOnesObeyTheContactConditions) {
  obeys<2>(4, 1, 0.0, 1e-10);
  obeys<3>(4, 2, 0.0, 1e-10);
  obeys<2>(4, 1, 0.4, 1e-8);
  obeys<3>(3, 1, 0.4, 1e-8);
}
TEST(Islands, OfJointedBodiesObeyTheContactConditions) {
  obeys<2>(4, 1, 0.0, 1e-10, true);
  obeys<3>(4, 2, 0.4, 1e-8, true);
  obeys<2>(20, 2, 0.0, 1e-10, true);
  obeys<3>(12, 2, 0.0, 1e-10, true);
  obeys<2>(20, 2, 0.4, 1e-8, true);
}
TEST(Islands, LargeOnesObeyTheContactConditions) {
  obeys<2>(20, 2, 0.0, 1e-10);
  obeys<3>(20, 2, 0.0, 1e-10);
  for (const double mu : {0.1, 0.4, 1.0}) {
    obeys<2>(20, 2, mu, 1e-9);
    obeys<3>(20, 2, mu, 1e-9);
    obeys<3>(8, 4, mu, 1e-9);
    obeys<3>(60, 1, mu, 1e-9);
  }
}

}  // namespace
}  // namespace dodyn::rigid::test_islands
