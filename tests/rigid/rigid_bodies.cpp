// Directors, joints, and the steppers away from contact.
#include <gtest/gtest.h>

#include <cmath>

#include "drawn.hpp"
#include "rigid/director.hpp"
#include "rigid/inertia.hpp"
#include "rigid/invariants.hpp"
#include "rigid/simulation.hpp"

namespace dodyn::rigid::test_rigid_bodies {
namespace {

using Vector3 = Vector<3>;
using Matrix3 = Matrix<3>;

Matrix3 skewed_tensor() { return (Matrix3() << 3.0, 0.2, -0.1, 0.2, 1.0, 0.3, -0.1, 0.3, 0.6).finished() * 1e-2; }

TEST(Directors, ExponentialIsARotationWithItsLogarithm) {
  Random random(7);
  for (const double size : {1e-9, 1e-3, 9.9e-3, 1.01e-2, 1.0, 1.7}) {
    const Vector3 w = random.vector<3>(size);
    const Matrix3 R = exponential(w);
    EXPECT_LE((R.transpose() * R - Matrix3::Identity()).norm(), 2e-15);
    EXPECT_LE((logarithm(R) - w).norm(), 1e-14 * (1.0 + w.norm())) << size;
    EXPECT_LE((exponential(w) * exponential(w) - exponential(2.0 * w)).norm(), 1e-14);
  }
}

// The Jacobian G_int (3.22) of g_int.
Eigen::Matrix<double, 6, 12> constraint_jacobian(const director::Coordinates& q) {
  const Matrix<3> d = director::directors(q);
  Eigen::Matrix<double, 6, 12> G = Eigen::Matrix<double, 6, 12>::Zero();
  for (int i = 0; i < 3; ++i) G.block<1, 3>(i, 3 + 3 * i) = d.col(i).transpose();
  const int pair[3][2] = {{0, 1}, {0, 2}, {1, 2}};
  for (int k = 0; k < 3; ++k)
    for (int s = 0; s < 2; ++s) G.block<1, 3>(3 + k, 3 + 3 * pair[k][s]) = d.col(pair[k][1 - s]).transpose();
  return G;
}

// G is the derivative of g, G P = 0, g(F_d) = 0, and P is the derivative of F_d at u = 0.
TEST(Directors, NullSpaceAndReparametrisationFollowTheConstraint) {
  Random random(7);
  for (int trial = 0; trial < 20; ++trial) {
    const auto q = director::coordinates(random.vector<3>(), exponential(random.vector<3>(2.0)));
    const auto G = constraint_jacobian(q);
    const auto P = director::null_space(q);
    EXPECT_LE(director::constraint(q).norm(), 1e-14);
    EXPECT_LE((G * P).cwiseAbs().maxCoeff(), 1e-15);
    EXPECT_LE(director::constraint(director::reparametrise(random.vector<6>(2.0), q)).norm(), 2e-15);
    const double d = 1e-6;
    for (int i = 0; i < 12; ++i) {
      const Vector<12> e = d * Vector<12>::Unit(i);
      const Vector<6> slope = (director::constraint(q + e) - director::constraint(q - e)) / (2 * d);
      EXPECT_LE((slope - G.col(i)).norm(), 1e-9);
    }
    for (int i = 0; i < 6; ++i) {
      const Vector<6> e = d * Vector<6>::Unit(i);
      const Vector<12> slope = (director::reparametrise(e, q) - director::reparametrise(-e, q)) / (2 * d);
      EXPECT_LE((slope - P.col(i)).norm(), 1e-9);
    }
    // the kinetic energy of the directors is that of the rigid body
    const Matrix3 E = skewed_tensor(), X = director::directors(q);
    const Matrix3 J = X * (E.trace() * Matrix3::Identity() - E) * X.transpose();
    const Vector<6> nu = random.vector<6>();
    const Vector<12> v = P * nu;
    EXPECT_NEAR(v.dot(director::mass_matrix(2.0, E) * v),
                2.0 * nu.head<3>().squaredNorm() + nu.tail<3>().dot(J * nu.tail<3>()), 1e-13);
  }
}

Body<3> brick(const std::string& name, double x, double y, double z, double density = 270.0) {
  return solid<3>(name, {geometry::box(x, y, z)}, density).body;
}

// Free root, a spherical child, a revolute grandchild and a second revolute child.
World<3> chain() {
  World<3> world;
  for (int i = 0; i < 4; ++i) world.bodies.push_back(brick("link" + std::to_string(i), 0.1 + 0.02 * i, 0.3, 0.2));
  using Kind = Joint<3>::Kind;
  const Vector3 up(0.0, 0.2, 0.05), down(0.02, -0.2, 0.0);
  world.joints.push_back({Kind::spherical, 0, 1, up, down, {}});
  world.joints.push_back({Kind::revolute, 1, 2, up, down, Vector3(1.0, 0.5, 0.2)});
  world.joints.push_back({Kind::revolute, 0, 3, -up, -down, Vector3(0.0, 0.3, 1.0)});
  world.no_contact = {{0, 1}, {1, 2}, {0, 3}, {0, 2}, {1, 3}, {2, 3}};
  return world;
}
std::vector<Pose<3>> chain_poses(const World<3>& world) {
  Random random(7);
  std::vector<Pose<3>> q(world.bodies.size());
  for (auto& pose : q) pose.directors = exponential(random.vector<3>(1.0));
  for (const auto& joint : world.joints)
    q[joint.child].position =
        q[joint.parent].frame()(joint.parent_point) - q[joint.child].directors * joint.child_point;
  return q;
}

// g(F_d) = 0 for joints, chains included (with the printed update (3.30) the residual is of order one), and the
// Jacobians P_ext are the derivative of F_d.
TEST(Joints, ReparametrisationKeepsThemAndNullSpaceIsItsDerivative) {
  const World<3> world = chain();
  const Multibody<3> bodies(world);
  EXPECT_EQ(bodies.dofs(), 6 + 3 + 1 + 1);
  const auto q = chain_poses(world);
  EXPECT_LE(bodies.constraint_residual(q, q), 1e-15);
  Random random(7);
  auto moved = q;
  for (int trial = 0; trial < 10; ++trial) {
    bodies.reparametrise(q, random.vector<11>(1.0), moved);
    EXPECT_LE(bodies.constraint_residual(q, moved), 5e-15);
  }
  const Inertia<3> inertia(bodies, q);
  const double d = 1e-6;
  for (int i = 0; i < 11; ++i) {
    auto plus = q, minus = q;
    bodies.reparametrise(q, d * Vector<11>::Unit(i), plus);
    bodies.reparametrise(q, -d * Vector<11>::Unit(i), minus);
    std::vector<Twist<3>> twists(4);
    inertia.twists(Vector<11>::Unit(i), twists);
    for (int b = 0; b < 4; ++b) {
      EXPECT_LE(((plus[b].position - minus[b].position) / (2 * d) - twists[b].head<3>()).norm(), 1e-9);
      EXPECT_LE((logarithm(plus[b].directors * minus[b].directors.transpose()) / (2 * d) - twists[b].tail<3>()).norm(),
                1e-9);
    }
  }
}

// Momenta of the interval are P^T of the two discrete derivatives of the kinetic discrete Lagrangian (3.4), (3.13).
TEST(Directors, IntervalMomentumIsTheDiscreteLegendreTransform) {
  Random random(7);
  World<3> world;
  world.bodies.push_back(brick("a", 0.1, 0.2, 0.3));
  world.bodies[0].euler_tensor = skewed_tensor();
  const Multibody<3> bodies(world);
  Pose<3> a{random.vector<3>(), exponential(random.vector<3>())}, b = a;
  b.position += random.vector<3>(0.1);
  b.directors = exponential(random.vector<3>(0.3)) * a.directors;
  const double h = 0.01;
  const Vector<12> q0 = director::coordinates(a.position, a.directors),
                   q1 = director::coordinates(b.position, b.directors);
  const Vector<12> p = director::mass_matrix(world.bodies[0].mass, skewed_tensor()) * (q1 - q0) / h;
  const Twist<3> t = bodies.interval_momentum(0, a, b, h);
  EXPECT_LE((director::null_space(q0).transpose() * p - t).norm(), 1e-12 * t.norm());
  EXPECT_LE((director::null_space(q1).transpose() * p - t).norm(), 1e-12 * t.norm());
}

// A smooth world with everything but contact: charges, gravity, a spring to a fixed point.
World<3> spring_world(bool joints) {
  World<3> world;
  if (joints) {
    world = chain();
  } else {
    world.bodies = {brick("a", 0.1, 0.2, 0.3), brick("b", 0.2, 0.1, 0.15)};
  }
  world.charge_constant = 0.05;
  world.charges = {
      {0, Vector3(0.1, 0.05, 0.0), 1.0}, {1, Vector3(-0.05, 0.02, 0.1), 0.5}, {1, Vector3(0.1, 0.1, 0.0), 1.0}};
  return world;
}

template <int n>
struct Run {
  std::vector<Pose<n>> poses;
  std::vector<Energies<n>> energies;
  Momenta<n> first, last;
  double worst_constraint = 0.0;
};
template <int n>
Run<n> run(const World<n>& world, Options options, const std::vector<Pose<n>>& poses,
           const std::vector<Twist<n>>& twists, double time) {
  options.response = Response::none;
  Simulation<n> simulation(world, options);
  simulation.start(poses, twists);
  Run<n> r;
  r.first = simulation.momenta();
  const Outcome end = simulation.run(time, [&](const auto& s) {
    r.energies.push_back(s.energies());
    r.worst_constraint = std::max(r.worst_constraint, s.constraint_residual());
    return false;
  });
  EXPECT_EQ(end.status, Outcome::reached) << end.reason;
  r.last = simulation.momenta();
  r.poses.assign(simulation.poses().begin(), simulation.poses().end());
  return r;
}
double distance(const std::vector<Pose<3>>& a, const std::vector<Pose<3>>& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i)
    sum += (a[i].position - b[i].position).norm() + (a[i].directors - b[i].directors).norm();
  return sum;
}
double distance(const std::vector<Pose<2>>& a, const std::vector<Pose<2>>& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i)
    sum += (a[i].position - b[i].position).norm() + std::abs(a[i].angle - b[i].angle);
  return sum;
}

struct Start3 {
  std::vector<Pose<3>> poses;
  std::vector<Twist<3>> twists;
};
Start3 start_of(const World<3>& world, bool joints) {
  Start3 s;
  if (joints) {
    s.poses = chain_poses(world);
    const Multibody<3> bodies(world);
    const Inertia<3> inertia(bodies, s.poses);
    s.twists.resize(4);
    Random random(7);
    inertia.twists(random.vector<11>(1.0), s.twists);
  } else {
    s.poses = {{Vector3::Zero(), Matrix3::Identity()}, {Vector3(0.5, 0.1, 0.0), exponential(Vector3(0.3, 0.1, 0.2))}};
    s.twists = {(Twist<3>() << 0.1, 0.3, 0.0, 3.0, 0.1, 0.2).finished(),
                (Twist<3>() << 0.0, -0.1, 0.2, -1.0, 2.0, 0.5).finished()};
  }
  return s;
}

TEST(Steppers, AreOfOrderTwoAwayFromContact) {
  for (const auto& [stepper, joints] : {std::pair{Stepper::variational, false},
                                        {Stepper::variational, true},
                                        {Stepper::newmark_explicit, false},
                                        {Stepper::newmark_implicit, false}}) {
    const World<3> world = spring_world(joints);
    const auto [poses, twists] = start_of(world, joints);
    Options options;
    options.stepper = stepper;
    std::vector<std::vector<Pose<3>>> ends;
    for (const double h : {0.02, 0.01, 0.005, 0.00125}) {
      options.step = h;
      ends.push_back(run<3>(world, options, poses, twists, 0.4).poses);
    }
    const double order = std::log2(distance(ends[0], ends[3]) / distance(ends[1], ends[3]));
    const double finer = std::log2(distance(ends[1], ends[3]) / distance(ends[2], ends[3]));
    EXPECT_NEAR(order, 2.0, 0.25) << static_cast<int>(stepper) << joints;
    EXPECT_NEAR(finer, 2.0, 0.25) << static_cast<int>(stepper) << joints;
  }
}

// The discrete energy of a short interval is the energy of the mean velocities of the moving bodies, in the plane and
// in space.
TEST(Invariants, DiscreteEnergyIsThatOfTheMeanVelocities) {
  World<3> world;
  world.bodies = {brick("a", 0.1, 0.2, 0.3), fixed_body<3>("wall", {geometry::box(1.0, 1.0, 1.0)})};
  world.gravity = Vector3(0.0, 0.0, -9.0);
  const Multibody<3> bodies(world);
  const Forces<3> forces(world);
  const double h = 1e-4, mass = world.bodies[0].mass;
  const Vector3 v(0.3, -0.2, 0.5), w(1.0, 2.0, -0.7), at(0.1, 0.2, 0.3);
  const Matrix3 R = exponential(Vector3(0.3, -0.5, 0.2)), &E = world.bodies[0].euler_tensor;
  const Matrix3 J = R * (E.trace() * Matrix3::Identity() - E) * R.transpose();
  const std::vector<Pose<3>> before = {{at - 0.5 * h * v, exponential(-0.5 * h * w) * R}, {}},
                             after = {{at + 0.5 * h * v, exponential(0.5 * h * w) * R}, {}};
  const double energy = 0.5 * mass * v.squaredNorm() + 0.5 * w.dot(J * w) + mass * 9.0 * at[2];
  EXPECT_NEAR(discrete_energy(bodies, forces, before, after, h), energy, 1e-7 * energy);

  World<2> plane;
  plane.bodies = {solid<2>("b", {geometry::rectangle(0.2, 0.1)}, 30.0).body};
  plane.gravity = Vector<2>(0.0, -9.0);
  const double flat = plane.bodies[0].mass, inertia = plane.bodies[0].euler_tensor.trace();
  EXPECT_NEAR(discrete_energy(Multibody<2>(plane), Forces<2>(plane), {{{0.0, 0.4}, 0.1}}, {{{0.2, 0.6}, 0.4}}, 0.1),
              0.5 * flat * 8.0 + 0.5 * inertia * 9.0 + flat * 9.0 * 0.5, 1e-13);
}

// A free top that is symmetric about its third axis turns by exp(t L/a) R exp(t s e3), s = w3 (1 - c/a): moments of
// inertia a and c across and along the axis, w3 the spin along it, L the angular momentum.
TEST(Steppers, ASymmetricTopPrecessesAsInClosedForm) {
  constexpr double mass = 2.0, t = 0.5;
  World<3> world;
  world.bodies = {brick("top", 0.2, 0.2, 0.6)};
  world.bodies[0].mass = mass;
  world.bodies[0].euler_tensor = Vector3(0.01, 0.01, 0.05).asDiagonal();
  const double a = 0.06, c = 0.02;
  const Matrix3 R = exponential(Vector3(0.3, -0.5, 0.2));
  const Vector3 w(2.0, 0.5, 3.0), along = Vector3::UnitZ();  // in its own axes
  const Vector3 L = R * Vector3(a * w[0], a * w[1], c * w[2]);
  const auto attitude = [&](double at) {
    return Matrix3(exponential(at / a * L) * R * exponential(at * w[2] * (1.0 - c / a) * along));
  };
  Twist<3> twist;
  twist << 0.4, 0.0, -0.1, R * w;
  for (const auto stepper :
       {Stepper::variational, Stepper::variational_nodal, Stepper::newmark_explicit, Stepper::newmark_implicit}) {
    Options options;
    options.stepper = stepper;
    options.step = 1e-3;
    Simulation<3> simulation(world, options);
    simulation.start(std::vector{Pose<3>{Vector3(0.0, 1.0, 0.0), R}}, std::vector{twist});
    ASSERT_EQ(simulation.run(t).status, Outcome::reached);
    EXPECT_LE((simulation.poses()[0].directors - attitude(t)).norm(), 2e-5) << static_cast<int>(stepper);
    EXPECT_LE((simulation.poses()[0].position - Vector3(0.4 * t, 1.0, -0.1 * t)).norm(), 1e-12);
    EXPECT_NEAR(simulation.energies().kinetic,
                0.5 * (mass * twist.head<3>().squaredNorm() + a * w.head<2>().squaredNorm() + c * w[2] * w[2]), 1e-5);
  }
}

TEST(Steppers, VariationalKeepsMomentaPerStepAndEnergyBounded) {
  for (const bool joints : {false, true}) {
    const World<3> world = spring_world(joints);
    const auto [poses, twists] = start_of(world, joints);
    Options options;
    options.step = 0.002;
    const auto r = run<3>(world, options, poses, twists, 1.0);
    EXPECT_LE((r.last.linear - r.first.linear).norm(), 500 * 1e-13);
    EXPECT_LE((r.last.angular - r.first.angular).norm(), 500 * 1e-13);
    EXPECT_LE(r.worst_constraint, 1e-14);
    double low = 1e300, high = -1e300;
    for (const auto& e : r.energies) {
      low = std::min(low, e.total());
      high = std::max(high, e.total());
    }
    EXPECT_LE(high - low, 2e-3 * std::abs(r.energies.front().kinetic)) << joints;
  }
}

// A body without spin falls in free fall without turning, for any attitude: turned about one, two or three axes, so
// that components of directors are zero, tiny, or neither.
TEST(Steppers, BodiesWithoutSpinFallInEveryAttitude) {
  constexpr double gravity = 9.81, step = 2e-3;
  constexpr int attitudes = 3000, steps = 4;
  const auto pair = [](bool joined) {
    World<3> world;
    world.bodies = {brick("one", 0.02, 0.02, 0.02), brick("two", 0.03, 0.01, 0.2)};
    world.gravity = Vector3(0.0, 0.0, -gravity);
    world.no_contact = {{0, 1}};
    if (joined)
      world.joints.push_back({Joint<3>::Kind::spherical, 0, 1, Vector3(0.01, 0.01, 0.01), Vector3(0.0, 0.0, -0.1), {}});
    return world;
  };
  for (const auto& [stepper, joined] : {std::pair{Stepper::variational, false},
                                        {Stepper::variational, true},
                                        {Stepper::variational_nodal, false},
                                        {Stepper::variational_nodal, true},
                                        {Stepper::newmark_explicit, false},
                                        {Stepper::newmark_implicit, false}}) {
    Options options;
    options.step = step;
    options.stepper = stepper;
    const World<3> world = pair(joined);
    Simulation<3> simulation(world, options);
    Random random(7);
    int failed = 0;
    for (int trial = 0; trial < attitudes; ++trial) {
      std::vector<Pose<3>> poses(2);
      for (auto& pose : poses)
        for (int axis = 0; axis < 3; ++axis)
          if ((1 + trial % 7) >> axis & 1)
            pose.directors =
                (pose.directors * Eigen::AngleAxisd(4.0 * random(), Vector3::Unit(axis)).toRotationMatrix()).eval();
      poses[1].position = Vector3(1.0, 0.0, 0.0);
      if (joined)
        poses[1].position =
            poses[0].frame()(world.joints[0].parent_point) - poses[1].directors * world.joints[0].child_point;
      simulation.start(poses, std::vector<Twist<3>>(2, Twist<3>::Zero()));
      if (simulation.run(steps * step).status == Outcome::failed) {
        ++failed;
        continue;
      }
      const double t = simulation.time();
      EXPECT_NEAR(t, steps * step, 1e-12);
      for (int b = 0; b < 2; ++b) {
        const Vector3 fallen = simulation.poses()[b].position - poses[b].position;
        EXPECT_LE((fallen - 0.5 * t * t * world.gravity).norm(), 1e-12);
        EXPECT_LE((simulation.poses()[b].directors - poses[b].directors).norm(), 1e-11);
      }
    }
    EXPECT_EQ(failed, 0) << "stepper " << static_cast<int>(stepper) << ", joined " << joined;
  }
}

// The plane in x, y, theta: two charged plates, and a pinned double pendulum.
TEST(Steppers, PlanarBodiesKeepMomentaAndOrder) {
  World<2> world;
  for (const char* name : {"a", "b"})
    world.bodies.push_back(solid<2>(name, {geometry::rectangle(0.2, 0.1)}, 30.0).body);
  world.charge_constant = 0.02;
  world.charges = {{0, {0.09, 0.0}, 1.0}, {1, {-0.09, 0.03}, -1.0}, {1, {0.05, 0.0}, 0.5}};
  const std::vector<Pose<2>> poses = {{{0.0, 0.0}, 0.2}, {{0.5, 0.05}, -0.4}};
  const std::vector<Twist<2>> twists = {Twist<2>(0.1, 0.2, 2.0), Twist<2>(-0.1, 0.0, -1.0)};
  for (const auto stepper : {Stepper::variational, Stepper::newmark_explicit, Stepper::newmark_implicit}) {
    Options options;
    options.stepper = stepper;
    std::vector<std::vector<Pose<2>>> ends;
    for (const double h : {0.02, 0.01, 0.005, 0.00125}) {
      options.step = h;
      const auto r = run<2>(world, options, poses, twists, 0.6);
      if (stepper == Stepper::variational) {
        EXPECT_LE((r.last.linear - r.first.linear).norm(), 1e-13);
        EXPECT_LE((r.last.angular - r.first.angular).norm(), 1e-13);
      }
      ends.push_back(r.poses);
    }
    EXPECT_NEAR(std::log2(distance(ends[0], ends[3]) / distance(ends[1], ends[3])), 2.0, 0.25);
    EXPECT_NEAR(std::log2(distance(ends[1], ends[3]) / distance(ends[2], ends[3])), 2.0, 0.25);
  }

  World<2> pendulum;
  pendulum.bodies = {fixed_body<2>("wall", {geometry::rectangle(0.1, 0.1)}), world.bodies[0], world.bodies[1]};
  pendulum.joints = {{Joint<2>::Kind::spherical, 0, 1, {0.0, 0.0}, {-0.1, 0.0}, {}},
                     {Joint<2>::Kind::revolute, 1, 2, {0.1, 0.0}, {-0.1, 0.0}, {}}};
  pendulum.gravity = {0.0, -9.81};
  pendulum.no_contact = {{0, 1}, {1, 2}, {0, 2}};
  const std::vector<Pose<2>> hanging = {{}, {{0.1, 0.0}, 0.0}, {{0.3, 0.0}, 0.0}};
  const std::vector<Twist<2>> still(3, Twist<2>::Zero());
  Options options;
  options.step = 0.001;
  const auto r = run<2>(pendulum, options, hanging, still, 2.0);
  EXPECT_LE(r.worst_constraint, 1e-14);
  for (const auto& e : r.energies) EXPECT_NEAR(e.total(), 0.0, 2e-3);
  EXPECT_GT(r.energies[300].kinetic, 0.01);
}

TEST(Steppers, DragAndUserForcesAct) {
  World<2> world;
  world.bodies.push_back(solid<2>("a", {geometry::rectangle(0.2, 0.1)}, 50.0).body);
  world.bodies[0].linear_drag = 0.7;
  world.bodies[0].angular_drag = 0.002;
  const double m = world.bodies[0].mass, J = world.bodies[0].euler_tensor.trace();
  world.potentials.push_back([](Frames<2> q, std::span<ConfigurationGradient<2>> gradient) {
    gradient[0](1, 0) += 3.0;  // V = 3 y
    return 3.0 * q[0].position[1];
  });
  world.forces.push_back(
      [](double, Frames<2>, std::span<const Twist<2>>, std::span<Twist<2>> wrench) { wrench[0][0] += 1.5; });
  Options options;
  const auto r = run<2>(world, options, {{}}, {Twist<2>(2.0, 0.0, 5.0)}, 1.0);
  const double k = 0.7 / m, c = 0.002 / J;
  const double terminal = 1.5 / 0.7;
  EXPECT_NEAR(r.poses[0].position[0], terminal + (2.0 - terminal) * (1.0 - std::exp(-k)) / k, 1e-5);
  EXPECT_NEAR(r.poses[0].position[1], -(3.0 / 0.7) * (1.0 - (1.0 - std::exp(-k)) / k), 1e-5);
  EXPECT_NEAR(r.poses[0].angle, 5.0 * (1.0 - std::exp(-c)) / c, 1e-5);
}

// Differences of large angles have their rounding, which is more than the change of a slow wheel needs.
TEST(Steppers, AWheelThatHasTurnedOftenComesToRest) {
  World<2> world;
  world.bodies = {fixed_body<2>("wall", {geometry::rectangle(0.1, 0.1)}),
                  solid<2>("hinged", {geometry::rectangle(2.0, 1.0)}, 1.0).body,
                  solid<2>("free", {geometry::rectangle(2.0, 1.0)}, 1.0).body};
  world.joints = {{Joint<2>::Kind::revolute, 0, 1, {0.0, 0.0}, {0.0, 0.0}, {}}};
  world.no_contact = {{0, 1}, {1, 2}, {0, 2}};
  const double J = world.bodies[1].euler_tensor.trace(), decay = 0.02;
  for (auto& body : world.bodies) body.angular_drag = decay * J;
  Options options;
  options.step = 0.01;
  const Twist<2> fast(0.0, 0.0, 150.0);
  const auto r = run<2>(world, options, std::vector<Pose<2>>(3), {Twist<2>::Zero(), fast, fast}, 400.0);
  const double angle = 150.0 / decay * (1.0 - std::exp(-decay * 400.0));
  EXPECT_NEAR(r.poses[1].angle, angle, 1e-5);
  EXPECT_NEAR(r.poses[2].angle, angle, 1e-5);
}

TEST(Worlds, RefuseWhatMakesNoSense) {
  const auto refusal = [](auto&& change) {
    World<2> world;
    world.bodies = {solid<2>("one", {geometry::rectangle(0.2, 0.1)}, 50.0).body,
                    solid<2>("two", {geometry::rectangle(0.2, 0.1)}, 50.0).body};
    Options options;
    std::vector<Pose<2>> poses = {{}, {{1.0, 0.0}, 0.0}};
    change(world, options, poses);
    try {
      Simulation<2> simulation(world, options);
      simulation.start(poses, std::vector<Twist<2>>(2, Twist<2>::Zero()));
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal([](auto&, auto&, auto&) {}), "accepted");
  EXPECT_EQ(refusal([](auto& world, auto&, auto&) { world.bodies[1].mass = 0.0; }),
            "mass of body 1 'two' is 0.000000 kg, must be positive");
  EXPECT_EQ(refusal([](auto& world, auto&, auto&) { world.bodies[0].surface.restitution = 1.5; }),
            "restitution of 'one' is 1.5; allowed: 0 to 1");
  EXPECT_EQ(refusal([](auto&, auto& options, auto&) { options.step = 0.0; }), "step is 0 s, must be positive");
  EXPECT_EQ(refusal([](auto&, auto&, auto& poses) { poses[1].position[0] = 0.15; }),
            "initial state: 'one' (part 1) and 'two' (part 1) overlap by 0.05 m");
  EXPECT_NE(refusal([](auto& world, auto&, auto&) {
              world.joints.push_back({Joint<2>::Kind::spherical, 1, 0, {}, {}, {}});
            }),
            "accepted");
}

}  // namespace
}  // namespace dodyn::rigid::test_rigid_bodies
