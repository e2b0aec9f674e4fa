#include "systems/tree.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <random>

#include "systems/model.hpp"
#include "systems/spherical.hpp"
#include "tests/message_of.hpp"
#include "tests/systems/planar_biped.hpp"

namespace dodyn::systems::test_tree {
namespace {

using Vector = std::vector<double>;
using Parameters = std::map<std::string, autodiff::Dual<double>>;

Tree<autodiff::Dual<double>> parse_tree(const std::string& text, const std::string& origin,
                                        const Parameters& given = {}) {
  const Model model = read_model(text, origin, false);
  auto tree = model.tree(model.evaluate(given).numbers);
  if (tree.swing_link >= 0) check_walker(model, tree.plain());
  return tree;
}

Vector random_vector(std::mt19937_64& random, int n, double size) {
  std::uniform_real_distribution<double> uniform(-size, size);
  Vector v(n);
  for (double& x : v) x = uniform(random);
  return v;
}

// Every joint there is, in space.
const char* const zoo = R"(
[model]
dimension = 3
[link body]
parent = ground
joint = spatial ZYX
mass = 3
centre = 0.1, 0, -0.2
inertia = 0.2, 0.3, 0.4
end = 0.5, 0, 0
[link arm]
parent = body
joint = spherical ZYZ
mass = 1.5
end = 0.1, 0.6, 0.2
inertia = 0.05, 0.01, 0.06
[link rod]
parent = arm
joint = prismatic x
at = 0, 0.3, 0.1
mass = 0.7
centre = 0.2, 0.1, 0
inertia = 0.01, 0.02, 0.02
[link wheel]
parent = body
joint = revolute y
at = 0, 0.2, 0
mass = 0.4
inertia = 0.01, 0.02, 0.01
[link slider]
parent = wheel
joint = revolute x + prismatic z
mass = 0.9
centre = 0.1, 0, 0
inertia = 0.03, 0.02, 0.01
[link vane]
parent = slider
joint = revolute 1, -2, 0.5 + prismatic 0, 0.6, 0.8
at = 0.1, 0, 0.2
mass = 0.6
centre = 0.1, 0.1, 0
inertia = 0.02, 0.03, 0.04
products = 0.004, -0.003, 0.002
[link follower]
parent = body
joint = revolute 0.3, 0.1, 1
follows = 0.3 rad - 2 rad/m2*x*y
at = 0, -0.2, 0
mass = 0.5
centre = 0.2, 0, 0
inertia = 0.01, 0.02, 0.02
)";

std::vector<std::string> walkers() {
  std::vector<std::string> names;
  for (const auto& [name, text] : shipped_models())
    if (text.find("swing-foot") != std::string::npos) names.push_back(name);
  return names;
}

std::vector<Tree<double>> every_tree() {
  std::vector<Tree<double>> trees;
  for (const auto& name : walkers()) trees.push_back(parse_tree(model_text(name), name).plain());
  trees.push_back(parse_tree(zoo, "zoo").plain());
  return trees;
}

TEST(Tree, LagrangianIsTheSumOverItsBodies) {
  // Independent: each body as positions and rotation matrices at three times, by the joints written out in full as
  // 4 x 4 transforms; velocities by differences; the spin from the rotation's difference.
  std::mt19937_64 random(1);
  for (const auto& tree : every_tree()) {
    const int n = tree.n();
    const auto poses = [&](const Vector& q) {
      std::vector<Eigen::Matrix4d> all;
      for (const auto& link : tree.links) {
        Eigen::Matrix4d A = link.parent < 0 ? Eigen::Matrix4d(Eigen::Matrix4d::Identity()) : all[link.parent];
        const auto shift = [&](const Eigen::Vector3d& r) {
          Eigen::Matrix4d B = Eigen::Matrix4d::Identity();
          B.topRightCorner<3, 1>() = r;
          A = A * B;
        };
        shift(Eigen::Vector3d(link.at.data()));
        auto moves = link.moves;
        if (link.follower) moves.push_back(link.follower->move);
        for (std::size_t i = 0; i < moves.size(); ++i) {
          const int own = moves[i].axis - 3;
          const Eigen::Vector3d axis =
              own < 0 ? Eigen::Vector3d(Eigen::Vector3d::Unit(moves[i].axis)) : Eigen::Vector3d(link.axes[own].data());
          const double x = link.follower ? 0.3 - 2.0 * q[0] * q[1] : q[link.first + i];
          if (moves[i].kind == Move::slide) {
            shift(x * axis);
          } else {
            Eigen::Matrix4d B = Eigen::Matrix4d::Identity();
            B.topLeftCorner<3, 3>() = Eigen::AngleAxisd(x, axis).toRotationMatrix();
            A = A * B;
          }
        }
        all.push_back(A);
      }
      return all;
    };
    for (int trial = 0; trial < 10; ++trial) {
      const Vector q = random_vector(random, n, 1.5), v = random_vector(random, n, 2.0);
      const double h = 1e-5;
      Vector ahead = q, behind = q;
      for (int i = 0; i < n; ++i) {
        ahead[i] += h * v[i];
        behind[i] -= h * v[i];
      }
      const auto now = poses(q), plus = poses(ahead), minus = poses(behind);
      double L = 0.0;
      for (std::size_t l = 0; l < tree.links.size(); ++l) {
        const auto& link = tree.links[l];
        const Eigen::Vector4d c(link.centre[0], link.centre[1], link.centre[2], 1.0);
        const Eigen::Vector4d velocity = (plus[l] - minus[l]) * c / (2.0 * h);
        const Eigen::Matrix3d W =
            now[l].topLeftCorner<3, 3>().transpose() * (plus[l] - minus[l]).topLeftCorner<3, 3>() / (2.0 * h);
        const Eigen::Vector3d spin(W(2, 1), W(0, 2), W(1, 0));
        L += 0.5 * link.mass * velocity.squaredNorm() +
             0.5 * spin.cwiseAbs2().dot(Eigen::Vector3d(link.inertia.data())) + link.products[0] * spin.y() * spin.z() +
             link.products[1] * spin.x() * spin.z() + link.products[2] * spin.x() * spin.y() -
             link.mass * tree.gravity * (now[l] * c)(tree.dimension - 1);
      }
      for (const auto& spring : tree.springs) {
        ASSERT_GE(spring.coordinate, 0) << tree.name;
        L -= 0.5 * spring.stiffness * std::pow(q[spring.coordinate] - spring.rest, 2);
      }
      // Rotors behind gears: the place that drives one is a coordinate in every model here.
      for (const auto& rotor : tree.rotors) {
        ASSERT_EQ(rotor.place.arguments.size(), 1u) << tree.name;
        const auto& place = rotor.place.arguments[0].variable;
        ASSERT_EQ(place.kind, Variable::coordinate) << tree.name;
        L += 0.5 * rotor.mass * std::pow(v[place.index], 2);
      }
      EXPECT_NEAR(tree.lagrangian(q.data(), v.data()), L, 1e-7 * (1.0 + std::abs(L))) << tree.name;
    }
  }
}

TEST(Tree, PlanarBipedIsThePlanarBiped) {
  std::mt19937_64 random(2);
  using autodiff::Dual;
  const auto tree = parse_tree(model_text("planar-biped"), "tree", {{"knee", {0.42, 1.0}}});
  const auto biped = PlanarBiped<Dual<double>>::with_masses({0.42, 1.0}, Dual<double>(1.0), {2.0, 3.0, 3.0, 2.0});
  ASSERT_EQ(tree.n(), 6);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(tree.coordinate_names[i], biped.coordinate_names[i]);
  for (int trial = 0; trial < 20; ++trial) {
    const Vector q = random_vector(random, 6, 1.5), v = random_vector(random, 6, 2.0);
    std::array<Dual<double>, 6> a, b;
    for (int i = 0; i < 6; ++i) {
      a[i] = q[i];
      b[i] = v[i];
    }
    const auto expected = biped.lagrangian(a, b), given = tree.lagrangian(a.data(), b.data());
    EXPECT_NEAR(given.value, expected.value, 1e-13 * (100.0 + std::abs(expected.value)));
    EXPECT_NEAR(given.tangent, expected.tangent, 1e-13 * (100.0 + std::abs(expected.tangent)));
    const auto legs = biped.exchange_legs(a);
    const auto tree_legs = tree.exchange_legs(a.data());
    const auto foot = biped.swing_foot(a);
    const auto tree_foot = tree.swing_foot(a.data());
    for (int i = 0; i < 6; ++i) EXPECT_NEAR(tree_legs[i].value, legs[i].value, 1e-14);
    for (int i = 0; i < 2; ++i) EXPECT_NEAR(tree_foot[i].value, foot[i].value, 1e-14);
  }
  EXPECT_NEAR(tree.weight().value, 98.1, 1e-12);
}

TEST(Tree, MassMatrixIsPositiveDefinite) {
  std::mt19937_64 random(3);
  for (const auto& tree : every_tree()) {
    const int n = tree.n();
    for (int trial = 0; trial < 10; ++trial) {
      Vector at = random_vector(random, n, 3.0);
      if (tree.name.empty()) at[7] = 0.5 + std::abs(std::remainder(at[7], 2.0));  // Euler angles: off their singularity
      if (tree.name.empty()) at[4] = 0.3 * at[4];
      if (tree.name == "spatial-biped") at[4] = 0.3 * at[4], at[8] = 0.3 * at[8];
      // L is quadratic in the velocity
      const auto L = [&](int i, int j) {
        Vector v(n, 0.0);
        if (i >= 0) v[i] += 1.0;
        if (j >= 0) v[j] += 1.0;
        return tree.lagrangian(at.data(), v.data());
      };
      Eigen::MatrixXd M(n, n);
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) M(i, j) = L(i, j) - L(i, -1) - L(-1, j) + L(-1, -1);
      M.diagonal().array() -= 1e-5;  // below the smallest eigenvalue
      EXPECT_EQ(M.llt().info(), Eigen::Success) << tree.name;
    }
  }
}

// The exchange of the legs is an involution. It puts every link in its partner's (mirrored) place and does not change
// the Lagrangian.
TEST(Tree, ExchangingLegsTwiceIsTheIdentityAndKeepsTheLagrangian) {
  std::mt19937_64 random(4);
  for (const auto& name : walkers()) {
    const auto tree = parse_tree(model_text(name), name, {{"knee", {0.42}}}).plain();
    const int n = tree.n(), d = tree.dimension;
    for (int trial = 0; trial < 20; ++trial) {
      const Vector q = random_vector(random, n, 0.6), v = random_vector(random, n, 2.0);
      std::vector<autodiff::Dual<double>> moving(n);
      for (int i = 0; i < n; ++i) moving[i] = {q[i], v[i]};
      const auto exchanged = tree.exchange_legs(moving.data());
      const auto twice = tree.exchange_legs(exchanged.data());
      Vector q_new, v_new;
      for (int i = 0; i < n; ++i) {
        q_new.push_back(exchanged[i].value);
        v_new.push_back(exchanged[i].tangent);
        EXPECT_NEAR(twice[i].value, q[i], 1e-13) << name << " " << tree.coordinate_names[i];
        EXPECT_NEAR(twice[i].tangent, v[i], 1e-12) << name << " " << tree.coordinate_names[i];
      }
      EXPECT_NEAR(tree.lagrangian(q_new.data(), v_new.data()), tree.lagrangian(q.data(), v.data()), 1e-10);
      const auto before = tree.swing_foot(q.data()), after = tree.swing_foot(q_new.data());
      for (int i = 0; i < d; ++i) {
        EXPECT_NEAR(q_new[i], tree.mirror(i) * before[i], 1e-14);
        EXPECT_NEAR(after[i], tree.mirror(i) * q[i], 1e-13);
      }
    }
  }
}

TEST(Tree, TouchDownStandsOnBothFeet) {
  for (const auto& name : walkers()) {
    const auto tree = parse_tree(model_text(name), name).plain();
    const Vector step = tree.dimension == 2 ? Vector{0.56, 0.0} : Vector{0.45, 0.2, 0.0};
    Vector q(tree.dimension, 0.0);
    const auto joints = tree.touch_down(step);
    q.insert(q.end(), joints.begin(), joints.end());
    const auto foot = tree.swing_foot(q.data());
    for (int i = 0; i < tree.dimension; ++i) EXPECT_NEAR(foot[i], step[i], 0.02) << name;
    EXPECT_LT(std::abs(*std::max_element(joints.begin(), joints.end())), 1.2);
  }
}

// ---- angles of a rotation

TEST(Tree, TurnAnglesInvertTurns) {
  std::mt19937_64 random(5);
  for (const std::string axes :
       {"XYZ", "YZX", "ZXY", "XZY", "YXZ", "ZYX", "ZYZ", "XYX", "YXY", "ZXZ", "XY", "YX", "Z"}) {
    std::vector<Move> turns;
    for (const char c : axes) turns.push_back({Move::turn, c - 'X'});
    for (int trial = 0; trial < 10; ++trial) {
      Vector angles = random_vector(random, axes.size(), 1.5);
      if (axes.size() == 3 && axes[0] == axes[2]) angles[1] = std::abs(angles[1]) + 0.01;
      Frame<double> frame = Frame<double>::at_rest();
      for (std::size_t i = 0; i < angles.size(); ++i) frame.turn(turns[i].axis, angles[i], 0.0);
      const auto given = turn_angles(frame.rotation, turns);
      ASSERT_EQ(given.size(), angles.size());
      for (std::size_t i = 0; i < angles.size(); ++i) EXPECT_NEAR(given[i], angles[i], 1e-12) << axes;
    }
  }
}

// ---- texts

std::string complaint(const std::string& text, const Parameters& given = {}) {
  return message_of<ConfigError>([&] { parse_tree(text, "t.model", given); });
}

TEST(TreeText, ReadsExpressionsWithTheirDerivatives) {
  const auto tree = parse_tree(
      "[model]\ndimension = 2\n[parameters]\na = 2\nb = -(a + 1)^2/4*2 # comment\n[link l]\nparent = ground\njoint = "
      "planar\nmass = 10 + b*1 kg/m2\nend = a*pi, 1e-1\n",
      "t.model", {{"a", {3.0, 1.0}}});
  EXPECT_DOUBLE_EQ(tree.links[0].mass.value, 2.0);
  EXPECT_DOUBLE_EQ(tree.links[0].mass.tangent, -4.0);
  EXPECT_DOUBLE_EQ(tree.links[0].end[0].tangent, M_PI);
  EXPECT_DOUBLE_EQ(tree.links[0].centre[1].value, 0.05);
  EXPECT_EQ(tree.coordinate_names, (std::vector<std::string>{"x", "y", "l"}));
}

TEST(TreeText, MistakesAreOneLineThatSaysWhere) {
  const std::string head = "[model]\ndimension = 2\n";
  const auto starts = [](const std::string& text, const std::string& with) {
    EXPECT_EQ(text.rfind(with, 0), 0u) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos);
  };
  starts(complaint("nonsense\n"), "t.model:1: ");
  starts(complaint("[model]\ndimension = 4\n"), "t.model:2: dimension = 4; allowed: 2, 3");
  starts(complaint(head + "colour = red\n"), "t.model:3: unknown key 'colour'");
  starts(complaint(head + "[link a]\njoint = fixed\n"), "t.model:3: [link a] has no parent");
  starts(complaint(head + "[link a]\nparent = b\njoint = fixed\n"), "t.model:4: parent = b");
  starts(complaint(head + "[link a]\nparent = ground\njoint = hinge\n"), "t.model:5: joint = hinge");
  starts(complaint(head + "[link a]\nparent = ground\njoint = planar\nmass = 2*(3\n"), "t.model:6: '2*(3'");
  starts(complaint(head + "[link a]\nparent = ground\njoint = planar\nmass = m\n"), "t.model:6: unknown parameter 'm'");
  starts(complaint(head + "[link a]\nparent = ground\njoint = planar\nmass = 1/0\n"), "t.model:6: '1/0'");
  starts(complaint(head + "[link a]\nparent = ground\njoint = planar\nend = 1\n"), "t.model:6: end = 1; allowed: 2");
  starts(complaint(head + "[link a]\nparent = ground\njoint = planar\n[actuator u]\ncoordinate = b\n"),
         "t.model:7: coordinate = b is unknown");
  starts(complaint(head + "[link a]\nparent = ground\njoint = planar\n", {{"knee", {0.5}}}),
         "t.model: has no parameter");
  starts(complaint(""), "t.model: no [model]");
}

TEST(TreeText, SphericalJointsAreThreeLastTurnsAboutDifferentAxes) {
  const auto joint = [](const std::string& moves) {
    return read_model(
               "[model]\ndimension = 3\n[link a]\nparent = ground\nmass = 1\ninertia = 1, 1, 1\njoint = " + moves, "t",
               false)
        .structure.links[0]
        .moves;
  };
  for (const char* moves : {"spherical ZYX", "spatial ZXZ", "prismatic x + revolute z + revolute x + revolute y"}) {
    EXPECT_TRUE(is_spherical(joint(moves))) << moves;
    EXPECT_TRUE(has_chart(joint(moves))) << moves;
  }
  EXPECT_TRUE(is_spherical(joint("revolute z + revolute 1, 1, 0 + revolute y")));
  EXPECT_FALSE(has_chart(joint("revolute z + revolute 1, 1, 0 + revolute y")));
  for (const char* moves : {"revolute z + revolute y", "revolute z + revolute z + revolute y",
                            "revolute z + prismatic x + revolute y + revolute x", "revolute z + spherical ZYX",
                            "revolute z + revolute y + revolute x + prismatic x", "point"})
    EXPECT_FALSE(is_spherical(joint(moves))) << moves;
}

// Different legs cannot be exchanged. This is reported when the file is read.
TEST(TreeText, PartnersThatDifferAreRefused) {
  std::string text = model_text("planar-biped");
  const std::string mass = "end = 0, -knee\nmass = shank_mass";
  text.replace(text.find(mass), mass.size(), "end = 0, -knee\nmass = 2*shank_mass");
  EXPECT_NE(complaint(text).find("exchanging the legs does not put link"), std::string::npos) << complaint(text);
  text = model_text("planar-biped");
  text.replace(text.find("end = 0, -thigh"), 15, "end = 0, -thigh/2");
  EXPECT_NE(complaint(text).find("exchanging the legs"), std::string::npos) << complaint(text);
}

}  // namespace
}  // namespace dodyn::systems::test_tree
