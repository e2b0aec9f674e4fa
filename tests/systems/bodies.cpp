#include "systems/bodies.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <random>

#include "random_trees.hpp"
#include "rigid/simulation.hpp"
#include "settings/config_error.hpp"
#include "tests/message_of.hpp"

namespace dodyn::systems::test_bodies {
namespace {

using Vector = std::vector<double>;
using autodiff::Dual;

Vector random_vector(std::mt19937_64& random, int n, double size) {
  std::uniform_real_distribution<double> uniform(-size, size);
  Vector v(n);
  for (double& x : v) x = uniform(random);
  return v;
}

// The compared quantities do not depend on the choice of Euler angles for an attitude, but rates near gimbal lock do.
Vector away_from_gimbal_lock(const Tree<double>& tree, Vector q) {
  for (const auto& link : tree.links)
    for (std::size_t i = 0; i < link.moves.size(); ++i)
      if (link.moves[i].kind == Move::turn) q[link.first + i] *= 0.8;
  return q;
}

Eigen::VectorXd momentum(const Tree<double>& tree, const Vector& q, const Vector& v) {
  std::vector<Dual<double>> a(q.begin(), q.end()), b(v.begin(), v.end());
  Eigen::VectorXd p(tree.n());
  for (int i = 0; i < tree.n(); ++i) {
    b[i].tangent = 1.0;
    p[i] = tree.lagrangian(a.data(), b.data()).tangent;
    b[i].tangent = 0.0;
  }
  return p;
}

template <int n>
void expect_agreement(const std::string& text, std::mt19937_64& random, bool free_roots) {
  const Model model = read_model(text, "random");
  const auto view = bodies<n>(model, model.evaluate<double>());
  const auto& tree = view.tree;
  const int size = tree.n();
  if (size == 0) return;
  rigid::Options options;
  options.response = rigid::Response::none;
  rigid::Simulation<n> simulation(view.world, options);
  const Vector q = away_from_gimbal_lock(tree, random_vector(random, size, 1.5)), v = random_vector(random, size, 2.0),
               rest(size, 0.0);
  const auto start = [&](const Vector& rates) {
    const auto state = view.state(q, rates);
    simulation.start(state.poses, state.twists);
    return state;
  };
  const auto state = start(v);

  // coordinates there and back
  const auto back = view.coordinates(state);
  for (int i = 0; i < size; ++i) {
    EXPECT_NEAR(back.q[i], q[i], 1e-12) << text;
    EXPECT_NEAR(back.v[i], v[i], 1e-11) << text;
  }
  // energies
  const auto energies = simulation.energies();
  const double V = -tree.lagrangian(q.data(), rest.data()), T = tree.lagrangian(q.data(), v.data()) + V;
  EXPECT_NEAR(energies.kinetic, T, 1e-12 * (1.0 + T)) << text;
  EXPECT_NEAR(energies.potential, V, 1e-12 * (1.0 + std::abs(V))) << text;
  // the mass matrix: column by column p(q, e_j), against the energies of e_i + e_j
  Eigen::MatrixXd M(size, size), K(size, size);
  const auto kinetic = [&](int i, int j) {
    Vector rates = rest;
    rates[i] += 1.0;
    if (j >= 0) rates[j] += 1.0;
    start(rates);
    return simulation.energies().kinetic;
  };
  for (int j = 0; j < size; ++j) {
    Vector unit = rest;
    unit[j] = 1.0;
    M.col(j) = momentum(tree, q, unit);
    K(j, j) = 2.0 * kinetic(j, -1);
  }
  for (int j = 0; j < size; ++j)
    for (int i = 0; i < j; ++i) K(i, j) = K(j, i) = kinetic(i, j) - 0.5 * K(i, i) - 0.5 * K(j, j);
  EXPECT_LT((M - K).cwiseAbs().maxCoeff(), 1e-12 * (1.0 + M.cwiseAbs().maxCoeff())) << text;
  // momenta of translation and of rotation of the whole system (Noether)
  if (!free_roots) return;
  start(v);
  const auto momenta = simulation.momenta();
  const Eigen::VectorXd p = momentum(tree, q, v);
  const auto belongs = [&](const rigid::Vector<n>& pace, const rigid::Spin<n>& spin) {
    auto moved = state;
    for (std::size_t b = 0; b < moved.poses.size(); ++b) {
      moved.twists[b].template tail<rigid::Spin<n>::RowsAtCompileTime>() = spin;
      rigid::Vector<n> carried = pace;
      const auto& r = moved.poses[b].position;
      if constexpr (n == 2)
        carried += spin[0] * rigid::Vector<2>(-r[1], r[0]);
      else
        carried += spin.cross(r);
      moved.twists[b].template head<n>() = carried;
    }
    const auto rates = view.coordinates(moved).v;
    return p.dot(Eigen::Map<const Eigen::VectorXd>(rates.data(), size));
  };
  const double scale = 1e-12 * (1.0 + p.cwiseAbs().maxCoeff());
  for (int i = 0; i < n; ++i)
    EXPECT_NEAR(belongs(rigid::Vector<n>::Unit(i), rigid::Spin<n>::Zero()), momenta.linear[i], scale) << text;
  for (int i = 0; i < momenta.angular.size(); ++i)
    EXPECT_NEAR(belongs(rigid::Vector<n>::Zero(), rigid::Spin<n>::Unit(i)), momenta.angular[i], 4.0 * scale) << text;
}

TEST(Bodies, RandomTreesAreTheSameInBothViews) {
  std::mt19937_64 random(11);
  for (int trial = 0; trial < 50; ++trial) {
    const bool free_roots = trial % 2;
    expect_agreement<2>(random_tree(random, 2, free_roots, trial % 3 > 0), random, free_roots);
    expect_agreement<3>(random_tree(random, 3, free_roots, trial % 3 > 0), random, free_roots);
  }
}

// Every model that comes with the program, where a world can have its joints.
TEST(Bodies, ShippedModelsAreTheSameInBothViews) {
  std::mt19937_64 random(3);
  int expressed = 0;
  for (const auto& [name, text] : shipped_models()) {
    SCOPED_TRACE(name);
    const Model model = read_model(text, name);
    try {
      if (model.dimension == 2)
        bodies<2>(model, model.evaluate<double>());
      else
        bodies<3>(model, model.evaluate<double>());
    } catch (const ConfigError& error) {  // particles, massless links, point masses that turn
      const std::string what = error.what();
      EXPECT_TRUE(what.find("is not a body of a contact simulation") != std::string::npos ||
                  what.find("is not supported by the contact simulation") != std::string::npos)
          << what;
      EXPECT_FALSE(name.starts_with("hopper"));
      continue;
    }
    const auto& links = model.structure.links;
    const bool free_roots = std::all_of(links.begin(), links.end(), [](const auto& link) {
      return link.parent >= 0 || link.moves.empty() || (link.moves.size() > 1 && link.moves[0].kind == Move::slide);
    });
    ++expressed;
    for (int trial = 0; trial < 5; ++trial)
      if (model.dimension == 2)
        expect_agreement<2>(text, random, free_roots);
      else
        expect_agreement<3>(text, random, free_roots);
  }
  EXPECT_GE(expressed, 10);
}

// M(q) a = dL/dq - (dp/dq) v + Q, p = dL/dv, by the fourth-order Runge-Kutta method.
void integrate(const Tree<double>& tree, Vector& q, Vector& v, const Vector& u, double time, int steps) {
  const int n = tree.n();
  const auto acceleration = [&](const Vector& at, const Vector& rates) {
    Eigen::MatrixXd M(n, n);
    for (int j = 0; j < n; ++j) {
      Vector unit(n, 0.0);
      unit[j] = 1.0;
      M.col(j) = momentum(tree, at, unit);
    }
    using D2 = Dual<Dual<double>>;
    std::vector<Dual<double>> a(n), b(rates.begin(), rates.end());
    std::vector<D2> aa(n), bb(n);
    for (int i = 0; i < n; ++i) {
      a[i] = at[i];
      aa[i] = D2(Dual<double>(at[i], rates[i]), Dual<double>(0.0));
      bb[i] = D2(Dual<double>(rates[i]), Dual<double>(0.0));
    }
    const auto Q = tree.forces(at.data(), rates.data(), u.data());
    Eigen::VectorXd f(n);
    for (int i = 0; i < n; ++i) {
      a[i].tangent = 1.0;
      bb[i].tangent = Dual<double>(1.0);
      f[i] = tree.lagrangian(a.data(), b.data()).tangent + Q[i] - tree.lagrangian(aa.data(), bb.data()).tangent.tangent;
      a[i].tangent = 0.0;
      bb[i].tangent = Dual<double>(0.0);
    }
    return Eigen::VectorXd(M.ldlt().solve(f));
  };
  const double h = time / steps;
  const auto moved = [&](const Vector& x, double s, const auto& dx) {
    Vector y = x;
    for (int i = 0; i < n; ++i) y[i] += s * dx[i];
    return y;
  };
  for (int k = 0; k < steps; ++k) {
    const Vector v1 = v;
    const auto a1 = acceleration(q, v1);
    const Vector v2 = moved(v, 0.5 * h, a1);
    const auto a2 = acceleration(moved(q, 0.5 * h, v1), v2);
    const Vector v3 = moved(v, 0.5 * h, a2);
    const auto a3 = acceleration(moved(q, 0.5 * h, v2), v3);
    const Vector v4 = moved(v, h, a3);
    const auto a4 = acceleration(moved(q, h, v3), v4);
    for (int i = 0; i < n; ++i) {
      q[i] += h / 6.0 * (v1[i] + 2.0 * v2[i] + 2.0 * v3[i] + v4[i]);
      v[i] += h / 6.0 * (a1[i] + 2.0 * a2[i] + 2.0 * a3[i] + a4[i]);
    }
  }
}

template <int n>
void expect_same_motion(const std::string& text, std::mt19937_64& random) {
  const Model model = read_model(text, "random");
  const double time = 0.2;
  const auto control = [](double, std::span<const double>, std::span<const double>, std::span<double> u) {
    for (double& x : u) x = 0.4;
  };
  const auto view = bodies<n>(model, model.evaluate<double>(), control);
  const int size = view.tree.n();
  if (size == 0) return;
  const Vector q = away_from_gimbal_lock(view.tree, random_vector(random, size, 0.8)),
               v = random_vector(random, size, 1.0), u(view.tree.actuators.size(), 0.4);
  Vector q_end = q, v_end = v;
  integrate(view.tree, q_end, v_end, u, time, 100);
  const auto expected = view.state(q_end, v_end);
  const auto error = [&](double step) {
    rigid::Options options;
    options.response = rigid::Response::none;
    options.step = step;
    rigid::Simulation<n> simulation(view.world, options);
    const auto state = view.state(q, v);
    simulation.start(state.poses, state.twists);
    EXPECT_EQ(simulation.run(time).status, rigid::Outcome::reached);
    double worst = 0.0;
    for (std::size_t b = 0; b < expected.poses.size(); ++b) {
      const auto one = simulation.poses()[b].frame(), other = expected.poses[b].frame();
      worst = std::max(worst, (one.position - other.position).norm() + (one.directors - other.directors).norm());
    }
    return worst;
  };
  const double coarse = error(4e-3), fine = error(1e-3);
  EXPECT_LT(coarse, 0.02) << text;
  if (fine > 1e-10) {
    EXPECT_GT(coarse / fine, 12.0) << coarse << " " << fine << "\n" << text;
    EXPECT_LT(coarse / fine, 20.0) << coarse << " " << fine << "\n" << text;
  }
}

TEST(Bodies, MotionsOfBothViewsAgreeAtOrderTwo) {
  std::mt19937_64 random(5);
  for (int trial = 0; trial < 6; ++trial) {
    expect_same_motion<2>(random_tree(random, 2, trial % 2, trial > 1), random);
    expect_same_motion<3>(random_tree(random, 3, trial % 2, trial > 1), random);
  }
}

// Three hinges through one point, with massless links between them, with actuators, springs and dampers. The ground's
// bar has two hinges and one; the next bar has one, one and one.
const std::string gimbals =
    "[model]\ndimension = 3\ngravity = 9\n[link a]\nparent = ground\njoint = spatial ZXY\nend = 0.4, 0.1, 0\n"
    "centre = 0.2, 0, 0.1\nmass = 2\ninertia = 0.2, 0.25, 0.3\n"
    "[link two]\nparent = a\njoint = revolute z + revolute x\ncoordinates = tz, tx\nend = 0, 0, 0\n"
    "[link b]\nparent = two\njoint = revolute y\nend = 0.3, 0, 0.1\ncentre = 0.1, 0.05, 0\nmass = 1\n"
    "inertia = 0.2, 0.1, 0.2\n"
    "[link first]\nparent = b\njoint = revolute x\nend = 0, 0, 0\n"
    "[link second]\nparent = first\njoint = revolute y\nend = 0, 0, 0\n"
    "[link c]\nparent = second\njoint = revolute z\ncentre = 0, 0.1, 0.1\nmass = 1.5\ninertia = 0.1, 0.2, 0.2\n"
    "[actuator one]\ncoordinate = tz\n[actuator other]\ncoordinate = second\n"
    "[spring s]\ncoordinate = tx\nstiffness = 3\nrest = 0.2\ndamping = 0.3\n"
    "[spring last]\ncoordinate = c\nstiffness = 2\nrest = -0.1\ndamping = 0.1\n";

TEST(Bodies, HingesThroughOnePointAreASphericalJoint) {
  std::mt19937_64 random(17);
  const Model model = read_model(gimbals, "gimbals");
  EXPECT_EQ(bodies<3>(model, model.evaluate<double>()).world.bodies.size(), 3U);
  for (int trial = 0; trial < 5; ++trial) expect_agreement<3>(gimbals, random, true);
  expect_same_motion<3>(gimbals, random);
  const auto refused = [](const std::string& more, const std::string& what) {
    const Model odd = read_model(gimbals + more, "gimbals");
    const std::string line = message_of<ConfigError>([&] { bodies<3>(odd, odd.evaluate<double>()); });
    EXPECT_NE(line.find(what), std::string::npos) << line;
  };
  refused("[actuator t]\nlink = first\ntorque = 0, 0, 1\n",
          "link first is not a body of a contact simulation: it has no mass");
  refused(
      "[link d]\nparent = c\njoint = revolute x\n[link e]\nparent = d\njoint = revolute z\nmass = 1\n"
      "inertia = 1, 1, 1\n",
      "link e is not a body of a contact simulation: its joint");
}

// A pendulum in a range, pushed and braked.
const std::string pendulum =
    "[model]\ndimension = 2\n[link rod]\nparent = ground\njoint = revolute\ncoordinates = x\ncentre = 0, -1\nmass = 2\n"
    "inertia = 0.5\n[actuator motor]\ncoordinate = x\nlimit = 6\n[joint-limit x]\ncoordinate = x\nfrom = -0.4\nto = "
    "0.2\n";

std::vector<double> angles(double torque, const WorldOptions& standing, double time) {
  const Model model = read_model(pendulum, "pendulum");
  const auto view = bodies<2>(
      model, model.evaluate<double>(),
      [torque](double, std::span<const double>, std::span<const double>, std::span<double> u) { u[0] = torque; },
      standing);
  rigid::Options options;
  options.response = rigid::Response::none;
  rigid::Simulation<2> simulation(view.world, options);
  const auto state = view.state(std::vector<double>{0.0}, std::vector<double>{0.0});
  simulation.start(state.poses, state.twists);
  std::vector<double> all;
  EXPECT_EQ(simulation
                .run(time,
                     [&](const auto& s) {
                       all.push_back(s.poses().back().angle);
                       return false;
                     })
                .status,
            rigid::Outcome::reached);
  return all;
}

TEST(Bodies, ActuatorsGiveNoMoreThanTheirLimit) {
  const auto limited = angles(1e3, {}, 0.1), at_the_limit = angles(6.0, {}, 0.1);
  EXPECT_EQ(limited, at_the_limit);
  const auto free = angles(20.0, {false, std::nullopt, false}, 0.1);
  EXPECT_GT(free.back(), 3.0 * at_the_limit.back());
}

// It comes to rest where the stop balances the motor's torque beyond the weight. The stop is a spring of m/t^2 with the
// pendulum's inertia about its joint, m = 0.5 + 2, t = 5 ms. It returns e^-2 of the speed: once 8 mrad here.
TEST(Bodies, RangesHoldAndHardlyBounce) {
  const auto up = angles(6.0, {}, 3.0);
  const double stiffness = 2.5 / 25e-6;
  double rest = 0.2;
  for (int i = 0; i < 20; ++i) rest = 0.2 + (6.0 - 2.0 * 9.81 * std::sin(rest)) / stiffness;
  EXPECT_NEAR(up.back(), rest, 1e-9);
  EXPECT_GT(rest, 0.2);
  EXPECT_LT(*std::max_element(up.begin(), up.end()), 0.21);
  const auto first = std::find_if(up.begin(), up.end(), [](double x) { return x > 0.2; });
  ASSERT_NE(first, up.end());
  EXPECT_GT(*std::min_element(first, up.end()), 0.19);
  const auto down =
      angles(-6.0, {}, 3.0);  // does not reach the other end: 2 g sin x = 6 at -0.31, with a swing to -0.62
  EXPECT_LT(*std::min_element(down.begin(), down.end()), -0.4);
  EXPECT_GT(*std::min_element(down.begin(), down.end()), -0.42);
  EXPECT_GT(angles(6.0, {false, std::nullopt, false}, 1.0)[600], 0.3);
}

// Links that slide on others, with joints behind them.
TEST(Bodies, SlidesAreTheSameInBothViews) {
  std::mt19937_64 random(17);
  for (int trial = 0; trial < 40; ++trial) {
    expect_agreement<2>(random_tree(random, 2, trial % 2, trial % 4 > 1, true), random, trial % 2);
    expect_agreement<3>(random_tree(random, 3, trial % 2, trial % 4 > 1, true), random, trial % 2);
  }
  for (int trial = 0; trial < 6; ++trial) {
    expect_same_motion<2>(random_tree(random, 2, trial % 2, trial > 1, true), random);
    expect_same_motion<3>(random_tree(random, 3, trial % 2, trial > 1, true), random);
  }
}

// A trunk with four legs of two links. `joints`: lines of each joint's spring. `floor`: on a floor, otherwise in free
// flight.
std::string quadruped(int dimension, const std::string& joints, bool floor) {
  const bool plane = dimension == 2;
  const auto vector = [&](double x, double y, double z) {
    return std::to_string(x) + ", " + (plane ? "" : std::to_string(y) + ", ") + std::to_string(z);
  };
  // a box whose mass is spread evenly
  const auto body = [&](const std::string& name, const std::string& size, double mass, double middle) {
    const std::string spread = "mass = " + std::to_string(mass) + "\n";
    return (plane ? spread + "inertia = " + std::to_string(mass * 0.004) + "\n" : "") + "[shape " + name +
           "]\nlink = " + name + "\nbox = " + size + "\nat = " + vector(0.0, 0.0, middle) + "\n" +
           (plane ? "" : spread);
  };
  std::string text = "[model]\ndimension = " + std::to_string(dimension) + "\ngravity = " + (floor ? "9.81" : "0") +
                     "\n[surface]\nrestitution = 0\nfriction = 0.8\n[link floor]\nparent = ground\njoint = fixed\n" +
                     "[shape floor]\nlink = floor\nbox = " + vector(20.0, 20.0, 1.0) +
                     "\nat = " + vector(0.0, 0.0, -0.5) + "\noutward = " + vector(0.0, 0.0, 1.0) +
                     "\n[link trunk]\nparent = ground\njoint = " + (plane ? "planar" : "spatial XYZ") + "\n" +
                     body("trunk", vector(0.5, 0.3, 0.1), 10.0, 0.0);
  std::string contacts = "[contact]\nothers = no\n";
  for (int leg = 0; leg < 4; ++leg) {
    const std::string number = std::to_string(leg), thigh = "thigh_" + number, shank = "shank_" + number;
    const std::string hinge = plane ? "revolute" : "revolute y", rod = vector(0.025, 0.025, 0.2);
    text += "[link " + thigh + "]\nparent = trunk\njoint = " + hinge +
            "\nat = " + vector(leg < 2 ? 0.2 : -0.2, leg % 2 ? 0.18 : -0.18, 0.0) +
            "\nend = " + vector(0.0, 0.0, -0.2) + "\n" + body(thigh, rod, 0.5, -0.1) + "[link " + shank +
            "]\nparent = " + thigh + "\njoint = " + hinge + "\n" + (plane ? "centre = 0, -0.1\n" : "") +
            body(shank, rod, 0.3, -0.1);
    for (const auto& [name, rest] : {std::pair(thigh, "0.4"), std::pair(shank, "-0.8")})
      text += "[spring of_" + name + "]\ncoordinate = " + name + "\nrest = " + rest + "\n" + joints;
    contacts += "floor, " + shank + " = yes\n";
  }
  return text + contacts;
}

// In free flight: stiff dampers take energy in every step, leave momenta, and the account of their work is the energy
// that is gone.
template <int n>
void dampers_only_take(double damping) {
  const Model model =
      read_model(quadruped(n, "stiffness = 0\ndamping = " + std::to_string(damping) + "\n", false), "t");
  const auto view = bodies<n>(model, model.evaluate<double>());
  rigid::Options options;
  options.step = 2e-3;
  rigid::Simulation<n> simulation(view.world, options);
  const int size = view.tree.n();
  Vector q(size, 0.0), v(size, 0.0);
  for (int i = size - 8; i < size; ++i) {
    q[i] = i % 2 ? -0.8 : 0.4;
    v[i] = 3.0 * (i * 7 % 5 - 2);
  }
  q[n - 1] = 5.0;
  const auto state = view.state(q, v);
  simulation.start(state.poses, state.twists);
  const double start = simulation.energies().total();
  const auto momenta = simulation.momenta();
  double last = start;
  for (int step = 0; step < 100; ++step) {
    ASSERT_TRUE(simulation.step()) << damping << ": " << simulation.outcome().reason;
    const double energy = simulation.energies().total();
    EXPECT_LE(energy, last + 1e-12 * start) << damping << " at " << simulation.time();
    last = energy;
  }
  EXPECT_LT(last, 0.2 * start) << damping;
  EXPECT_LT((simulation.momenta().linear - momenta.linear).norm(), 1e-10) << damping;
  EXPECT_LT((simulation.momenta().angular - momenta.angular).norm(), 1e-10) << damping;
  EXPECT_NEAR(simulation.contact_totals().forces, last - start, 0.01 * start) << damping;
  EXPECT_LE(simulation.contact_totals().cuts, 10) << damping;
}
TEST(Bodies, StiffDampersTakeEnergyAndNoMomentum) {
  for (const double damping : {0.3, 2.0, 10.0}) {
    dampers_only_take<2>(damping);
    dampers_only_take<3>(damping);
  }
}

// On the ground. A step once changed to another root of its equations, beyond a right angle, and gained 4366 J.
TEST(Bodies, AQuadrupedWithStiffDampersStands) {
  const Model model = read_model(quadruped(3, "stiffness = 200\ndamping = 2\n", true), "t");
  const auto view = bodies<3>(model, model.evaluate<double>());
  rigid::Options options;
  options.step = 2e-3;
  rigid::Simulation<3> simulation(view.world, options);
  Vector q(14, 0.0);
  q[2] = 0.385;
  for (int i = 6; i < 14; ++i) q[i] = i % 2 ? -0.8 : 0.4;
  const auto state = view.state(q, Vector(14, 0.0));
  simulation.start(state.poses, state.twists);
  const double start = simulation.energies().total();
  double highest = 0.0;
  const auto end = simulation.run(1.0, [&](const auto& s) {
    highest = std::max(highest, s.energies().total());
    return false;
  });
  ASSERT_EQ(end.status, rigid::Outcome::reached) << end.reason;
  EXPECT_LE(highest, start * (1.0 + 1e-9));
  EXPECT_LT(simulation.energies().kinetic, 1e-2);
  EXPECT_GT(simulation.poses()[view.links[1].body].position[2], 0.3);
}

TEST(Bodies, WhatAWorldCannotExpressIsOneLine) {
  const auto complaint = [](const std::string& text) -> std::string {
    const Model model = read_model(text, "t.model");
    return message_of<ConfigError>([&] {
      if (model.dimension == 2)
        bodies<2>(model, model.evaluate<double>());
      else
        bodies<3>(model, model.evaluate<double>());
    });
  };
  const std::string plane = "[model]\ndimension = 2\n", root = "[link a]\nparent = ground\njoint = planar\nmass = 1\n";
  EXPECT_TRUE(complaint(plane + root)
                  .starts_with("t.model:3: link a is not a body of a contact simulation: it has no inertia"));
  EXPECT_TRUE(complaint(plane + root + "inertia = 1\n[link b]\nparent = a\njoint = planar\nmass = 1\n")
                  .starts_with("t.model:8: link b is not a body of a contact simulation: its joint is not supported; "
                               "allowed: fixed, revolute"));
  EXPECT_TRUE(complaint(plane + "[link a]\nparent = ground\njoint = planar\ninertia = 1\n").find("it has no mass") !=
              std::string::npos);
  // in space, inertia about every axis; a link that only slides may have none
  const std::string space =
                        "[model]\ndimension = 3\n[link a]\nparent = ground\njoint = spatial ZXY\nmass = 1\ninertia = ",
                    slide = "1, 1, 1\n[link b]\nparent = a\njoint = prismatic x\nmass = 1\n";
  EXPECT_EQ(complaint(space + "1, 1, 1\n"), "");
  EXPECT_TRUE(complaint(space + "1, 1, 0\n")
                  .ends_with("its inertia about an axis is zero; add inertia, or a shape with density"));
  EXPECT_EQ(complaint(space + slide), "");
  EXPECT_TRUE(complaint(space + slide + "inertia = 0, 0, 1\n")
                  .ends_with("its inertia about an axis is zero; add inertia, or a shape with density"));
  EXPECT_EQ(complaint(plane + root + "inertia = 1\n"), "");
  EXPECT_EQ(complaint(plane + root + "inertia = 1\n[link b]\nparent = a\njoint = prismatic x\nmass = 1\n"), "");
}

// A gap of coordinates and points is the same function of the poses, and its slope times the twists is its rate along
// the motion of the coordinates.
template <int n>
void expect_gaps(const std::string& text, const std::vector<std::size_t>& depends_on, double turns) {
  const HybridModel system = read_hybrid_model(text, "gaps");
  const Model& model = system.model;
  const auto values = model.evaluate<double>();
  WorldOptions options;
  options.one_sided = &system.pieces.contacts;
  const auto view = bodies<n>(model, values, {}, options);
  const auto& contacts = system.pieces.contacts;
  ASSERT_EQ(view.world.one_sided.size(), contacts.size());
  const auto value = [&](const Formula<Number>& formula, const Vector& q) {
    Formula<double> x{formula.expression, {}};
    for (const auto& argument : formula.arguments)
      x.arguments.push_back({argument.variable, Model::at(argument.parameter, values.numbers)});
    const Vector rest(q.size(), 0.0);
    return view.tree.value(x, view.tree.frames(q.data(), rest.data()), q.data(), rest.data(),
                           static_cast<const double*>(nullptr));
  };
  std::mt19937_64 random(7);
  for (int k = 0; k < 20; ++k) {
    Vector q = away_from_gimbal_lock(view.tree, random_vector(random, view.tree.n(), 1.0)),
           v = random_vector(random, view.tree.n(), 1.0);
    for (const auto& link : view.tree.links)
      for (std::size_t i = 0; i < link.moves.size(); ++i)
        if (link.moves[i].kind == Move::turn) q[link.first + i] += turns;
    const auto state = view.state(q, v);
    for (std::size_t i = 0; i < contacts.size(); ++i) {
      const auto& constraint = view.world.one_sided[i];
      const std::size_t count = constraint.bodies.size();
      EXPECT_EQ(count, depends_on[i]) << constraint.name;
      std::vector<rigid::Twist<n>> gap(count), slip(count);
      EXPECT_NEAR(constraint.gap(state.poses, {}, {}), value(contacts[i].gap, q), 1e-12) << constraint.name;
      EXPECT_NEAR(constraint.gap(state.poses, gap, slip), value(contacts[i].gap, q), 1e-12) << constraint.name;
      const auto rate = [&](const Formula<Number>& formula) {
        const double h = 1e-5;
        Vector before = q, after = q;
        for (std::size_t j = 0; j < q.size(); ++j) {
          before[j] -= h * v[j];
          after[j] += h * v[j];
        }
        return (value(formula, after) - value(formula, before)) / (2.0 * h);
      };
      double closing = 0.0, sliding = 0.0;
      for (std::size_t j = 0; j < count; ++j) {
        closing += gap[j].dot(state.twists[constraint.bodies[j]]);
        sliding += slip[j].dot(state.twists[constraint.bodies[j]]);
      }
      EXPECT_NEAR(closing, rate(contacts[i].gap), 1e-8) << constraint.name;
      EXPECT_NEAR(sliding, contacts[i].slip ? rate(*contacts[i].slip) : 0.0, 1e-8) << constraint.name;
    }
  }
}

TEST(Bodies, GapsAreTheSameInBothViews) {
  const auto text = [](int dimension, const std::string& free, const std::string& hinge, const std::string& inertia) {
    return "[model]\ndimension = " + std::to_string(dimension) +
           "\n[parameters]\nlength = 3 m\n[link load]\nparent = ground\njoint = " + free +
           "\nmass = 2\ncentre = 0.1, 0.2" + (dimension == 3 ? ", -0.1" : "") + "\ninertia = " + inertia +
           "\n[link arm]\nparent = load\nat = 0.3, 0.1" + (dimension == 3 ? ", 0.2" : "") + "\njoint = " + hinge +
           "\ncoordinates = bend\nmass = 1\ncentre = 0.2, 0" + (dimension == 3 ? ", 0" : "") +
           "\ninertia = " + inertia +
           "\n[point hook]\nlink = arm\nat = 0.4, 0.1\n[point eye]\nlink = ground\n[contact rope]\ngap = length - "
           "distance(hook, eye)\n[contact tip]\ngap = hook.y + 2 m\nslip = hook.x\nfriction = 0.3\n[stop elbow]\n"
           "coordinate = bend\nfrom = -2\nto = 30\n";
  };
  for (const double turns : {0.0, 9.0}) expect_gaps<2>(text(2, "planar", "revolute", "0.1"), {1, 1, 2, 2}, turns);
  std::string space = text(3, "spatial ZXY", "revolute 0.6, 0, 0.8", "0.1, 0.2, 0.15");
  space.replace(space.find("at = 0.4, 0.1\n"), 14, "at = 0.4, 0.1, 0.2\n");
  expect_gaps<3>(space, {1, 1, 2, 2}, 0.0);
}

}  // namespace
}  // namespace dodyn::systems::test_bodies
