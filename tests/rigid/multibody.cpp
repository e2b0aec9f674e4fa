// The reduced coordinates of free and joined bodies at a configuration, against sums over bodies and differences.
#include "rigid/multibody.hpp"

#include <gtest/gtest.h>

#include "drawn.hpp"
#include "rigid/inertia.hpp"

namespace dodyn::rigid::test_multibody {
namespace {

template <int n>
geometry::Polytope<n> brick(double a, double b) {
  if constexpr (n == 2)
    return geometry::rectangle(a, b);
  else
    return geometry::box(a, b, 0.3);
}

// A free body; a tree of a free root, two children and a grandchild; a pendulum hung on a fixed body, and a slide on a child.
template <int n>
struct Mixed {
  World<n> world;
  std::vector<Pose<n>> poses;

  explicit Mixed(Random& random) {
    using Kind = typename Joint<n>::Kind;
    world.bodies.push_back(fixed_body<n>("wall", {brick<n>(1.0, 1.0)}));
    for (int i = 1; i < 8; ++i)
      world.bodies.push_back(solid<n>("b" + std::to_string(i), {brick<n>(0.1 + 0.05 * i, 0.4)}, 100.0).body);
    const auto join = [&](Kind kind, int parent, int child) {
      Joint<n> joint;
      joint.kind = kind;
      joint.parent = parent;
      joint.child = child;
      joint.parent_point = random.vector<n>(0.3);
      joint.child_point = random.vector<n>(0.3);
      joint.axis = random.vector<n>();
      world.joints.push_back(joint);
    };
    join(Kind::spherical, 2, 3);
    join(Kind::revolute, 2, 4);
    join(Kind::revolute, 3, 5);
    join(Kind::revolute, 0, 6);
    join(Kind::prismatic, 4, 7);
    for (std::size_t b = 0; b < world.bodies.size(); ++b) {
      Pose<n> pose;
      if (b > 0) {
        pose.position = random.vector<n>();
        rotate(pose, Spin<n>(random.vector<(n * (n - 1)) / 2>(1.5)));
      }
      poses.push_back(pose);
    }
    for (const auto& joint : world.joints)
      poses[joint.child].position =
          poses[joint.parent].frame()(joint.parent_point) - poses[joint.child].frame().directors * joint.child_point;
  }
};

template <int n>
void agrees() {
  Random random(11);
  for (int trial = 0; trial < 20; ++trial) {
    const Mixed<n> mixed(random);
    const Multibody<n> bodies(mixed.world);
    EXPECT_EQ(bodies.dofs(), n == 2 ? 3 + 6 + 1 + 1 : 6 + 6 + 3 + 1 + 1 + 1 + 1);
    const Inertia<n> inertia(bodies, mixed.poses);
    Eigen::VectorXd nu(bodies.dofs()), back, p;
    for (auto& x : nu) x = random();
    inertia.momentum(nu, p);
    inertia.velocity(p, back);
    EXPECT_LE((back - nu).norm(), 1e-11);

    // kinetic energy is that of the bodies, by twists and tensors of their own
    double T = 0.0;
    for (int b = 1; b < bodies.size(); ++b) {
      const Twist<n> v = inertia.twist(b, nu);
      const Matrix<n> E = mixed.world.bodies[b].euler_tensor, X = mixed.poses[b].frame().directors;
      Matrix<n> spinning;  // velocity of the directors: omega x
      if constexpr (n == 2)
        spinning << 0.0, -v[2], v[2], 0.0;
      else
        spinning << 0.0, -v[5], v[4], v[5], 0.0, -v[3], -v[4], v[3], 0.0;
      const Matrix<n> D = spinning * X;
      T +=
          0.5 * mixed.world.bodies[b].mass * v.template head<n>().squaredNorm() + 0.5 * (D * E * D.transpose()).trace();
    }
    EXPECT_NEAR(0.5 * p.dot(nu), T, 1e-12 * T);

    // the row of a point takes nu to the velocity of that point, which differences of F_d give too
    const double d = 1e-6;
    std::vector<Pose<n>> plus(mixed.poses.size()), minus(mixed.poses.size());
    bodies.reparametrise(mixed.poses, d * nu, plus);
    bodies.reparametrise(mixed.poses, -d * nu, minus);
    EXPECT_LE(bodies.constraint_residual(mixed.poses, plus), 1e-14);
    for (int b = 1; b < bodies.size(); ++b) {
      const Vector<n> local = random.vector<n>(), direction = random.vector<n>();
      const auto range = bodies.range(b);
      Eigen::VectorXd row(range.size);
      inertia.point_row(b, mixed.poses[b].frame()(local), direction, row.data());
      const Vector<n> velocity = (plus[b].frame()(local) - minus[b].frame()(local)) / (2 * d);
      EXPECT_NEAR(row.dot(nu.segment(range.first, range.size)), direction.dot(velocity), 1e-8);
    }

    // lifted momenta turn with their bodies: of free bodies the size of spin stays, linear momentum does not change
    std::vector<Pose<n>> other(mixed.poses.size());
    for (auto& x : back) x = random();
    bodies.reparametrise(mixed.poses, back, other);
    const Inertia<n> there(bodies, other);
    Eigen::VectorXd lifted, room;
    lift(inertia, mixed.poses, p, there, other, room, lifted);
    const auto range = bodies.range(1);
    EXPECT_LE((lifted - p).segment<n>(range.first).norm(), 1e-13);
    constexpr int spin = Multibody<n>::spin;
    EXPECT_NEAR(lifted.segment<spin>(range.first + n).norm(), p.segment<spin>(range.first + n).norm(), 1e-13);
    Eigen::VectorXd again;
    lift(there, other, lifted, inertia, mixed.poses, room, again);
    EXPECT_LE((again - p).segment<Multibody<n>::twist>(range.first).norm(), 1e-12);
  }
}
TEST(Multibody, MomentaEnergyAndPointsAreThoseOfItsBodies) {
  agrees<2>();
  agrees<3>();
}

TEST(Multibody, RefusesWhatMakesNoSense) {
  const auto refusal = [](auto&& change) -> std::string {
    World<3> world;
    for (const char* name : {"a", "b", "c"}) world.bodies.push_back(solid<3>(name, {brick<3>(0.1, 0.2)}, 100.0).body);
    Joint<3> joint;
    joint.parent = 0;
    joint.child = 1;
    world.joints = {joint};
    change(world);
    try {
      Multibody<3> bodies(world);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal([](auto&) {}), "accepted");
  EXPECT_EQ(refusal([](auto& w) { w.bodies[2].mass = 0.0; }), "mass of body 2 'c' is 0.000000 kg, must be positive");
  EXPECT_EQ(refusal([](auto& w) { w.bodies[0].euler_tensor(0, 1) = 1.0; }),
            "inertia of body 0 'a' is not symmetric and positive definite");
  EXPECT_EQ(refusal([](auto& w) { w.bodies[1].fixed = true; }), "joint 0: its child, body 1 'b', is fixed");
  EXPECT_EQ(refusal([](auto& w) { std::swap(w.joints[0].parent, w.joints[0].child); }),
            "joint 0 joins body 1 to 0; the child must come after its parent, and both be among the 3 bodies");
  EXPECT_EQ(refusal([](auto& w) {
              auto second = w.joints[0];
              w.joints[0].child = 2;
              second.parent = 1;
              second.child = 2;
              w.joints.push_back(second);
            }),
            "joint 1: body 2 'c' has a parent already; chains may branch but not close");
  EXPECT_EQ(refusal([](auto& w) {
              w.joints[0].kind = Joint<3>::Kind::revolute;
              w.joints[0].axis.setZero();
            }),
            "joint 0: its axis is zero");
}

}  // namespace
}  // namespace dodyn::rigid::test_multibody
