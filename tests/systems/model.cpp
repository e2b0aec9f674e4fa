#include "systems/model.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cstring>
#include <random>

#include "autodiff/tape.hpp"
#include "geometry/polytope.hpp"
#include "settings/config_error.hpp"
#include "systems/description.hpp"
#include "tests/geometry/solids.hpp"
#include "tests/message_of.hpp"

namespace dodyn::systems::test_model {
namespace {

using autodiff::Dual;
using Vector = std::vector<double>;

Vector random_vector(std::mt19937_64& random, int n, double size) {
  std::uniform_real_distribution<double> uniform(-size, size);
  Vector v(n);
  for (double& x : v) x = uniform(random);
  return v;
}

// Everything a number may enter.
const char* const machine = R"(
[model]
dimension = 3
gravity = 0.3 Hz2*w, 0, -9.81
charge-constant = 0.1
[parameters]
w = 0.2        # m, width
k = 40         # N/m
turned = 30 deg
[link floor]
parent = ground
joint = fixed
[link body]
parent = ground
joint = spatial ZYX
end = 2*w, 0, w
mass = 3 kg/m*w
inertia = 1 kg/m*w^3, 2 kg/m*w^3, 1 kg/m*w^3
[mass motor]
link = body
at = w, 0.1, 2*w
mass = 0.5
[shape hull]
link = body
box = w, 2*w, 0.1 + w
turn = z turned, x 20 deg
at = 0, w, 0
density = 100
[link arm]
parent = body
joint = revolute y + prismatic z
end = 0, 0, 1 m*sqrt(w/1 m)
mass = 1
[shape tip]
link = arm
ball = w/2
at = 0, 0, w
mass = 0.3
[link free]
parent = ground
joint = spatial XYZ
mass = 1 + 1 kg/m*w
inertia = 0.1, 0.2, 0.15
[point tip]
link = arm
at = 0, 0, 2*w
[point middle]
link = free
[spring one]
coordinate = arm_y
stiffness = k*1 m2
rest = w/1 m
damping = 0.3
[spring strap]
from = arm : 0, w, 0
to = middle
stiffness = 2*k
length = 0.5
damping = k*1 s/100
[charge a]
link = arm
at = 0, 0, 3*w
value = 2
[charge b]
link = free
at = 0.1, 0, 0
value = -w
[charge c]
link = ground
value = 1
[drag air]
link = free
linear = 0.2
angular = 1 N s*w
[potential well]
energy = k*tip.x^2/2 + exp(w/1 m)*sin(arm_y) + 1 N*distance(tip, middle)
[force wind]
link = arm
at = 0, w, 0
force = 1 kg/m/s*w*rate(tip.y), sin(w/1 m), 0
[force brake]
coordinate = arm_z
force = -1 kg/m2*w*rate(arm_z)*abs(rate(arm_z)) + u.pull
[actuator pull]
coordinate = arm_z
limit = 60
[actuator thrust]
link = free
at = 0, w, 0
force = 0, 0, 1
torque = w, 0, 0
)";

TEST(Model, NumbersAreDistinctAndConstantsAreNone) {
  const Model model = read_model(
      "[model]\ndimension = 2\n[parameters]\na = 2\nb = 3\n[link l]\nparent = ground\njoint = planar\nmass = 1\n"
      "end = a*b, a * b\ncentre = b, 0\ninertia = 2*3\n",
      "t.model");
  EXPECT_EQ(model.numbers(), 2);
  const auto values = model.evaluate<double>({{"a", 5.0}});
  EXPECT_EQ(values.parameters, (Vector{5.0, 3.0}));
  EXPECT_EQ(values.numbers, (Vector{15.0, 3.0}));
  EXPECT_DOUBLE_EQ(model.tree(values.numbers).links[0].inertia[2], 6.0);
}

// A Lagrangian recorded once with the parameters as inputs is valid for every design.
TEST(Model, RecordedOnceServesEveryDesign) {
  using autodiff::Var;
  std::vector<std::pair<std::string, std::string>> texts(shipped_models().begin(), shipped_models().end());
  texts.emplace_back("machine", machine);
  std::mt19937_64 random(1);
  for (const auto& [name, text] : texts) {
    const Model model = read_model(text, name);
    const int n = model.structure.coordinate_names.size(), m = model.numbers();
    const int controls = model.structure.actuators.size();
    autodiff::Program program;
    {
      autodiff::Recording recording;
      std::vector<Var> q(n), v(n), u(controls), numbers(m);
      for (auto* inputs : {&q, &v, &u, &numbers})
        for (Var& x : *inputs) x = Var::input();
      const auto tree = model.tree(numbers);
      std::vector<int> outputs = {tree.lagrangian(q.data(), v.data()).node};
      for (const Var& force : tree.forces(q.data(), v.data(), u.data())) outputs.push_back(force.node);
      program = autodiff::Program(recording.graph, outputs, 2 * n + controls + m);
    }
    for (int trial = 0; trial < 10; ++trial) {
      const double factor = 1.0 + 0.004 * trial;
      std::map<std::string, double> given;
      const auto defaults = model.evaluate<double>().parameters;
      for (std::size_t i = 0; i < model.parameters.size(); ++i)
        if (const Parameter& p = model.parameters[i]; p.definition.uses.empty() && !p.counts)
          given[p.name] = (p.name == "restitution" ? 1.0 : factor) * defaults[i];  // it is 1 at most
      const auto values = model.evaluate(given);
      const auto tree = model.tree(values.numbers);
      const Vector q = random_vector(random, n, 1.0), v = random_vector(random, n, 2.0),
                   u = random_vector(random, controls, 5.0);
      double* room = program.start({});
      int input = 0;
      for (const auto* inputs : {&q, &v, &u, &values.numbers})
        for (const double x : *inputs) room[input++ * autodiff::Program::lanes] = x;
      program.run(room, 1);
      const double L = tree.lagrangian(q.data(), v.data());
      EXPECT_NEAR(*program.output(room, 0), L, 1e-12 * (1.0 + std::abs(L))) << name;
      const auto Q = tree.forces(q.data(), v.data(), u.data());
      for (int i = 0; i < n; ++i) EXPECT_NEAR(*program.output(room, 1 + i), Q[i], 1e-11 * (1.0 + std::abs(Q[i])));
    }
  }
}

// ---- mass of parts

// The same by the polytopes of the collision code, whose moments are summed in another way, and Steiner's theorem.
TEST(Model, MassOfALinkIsThatOfItsParts) {
  struct Part {
    geometry::Polytope<3> polytope;
    Eigen::Vector3d at;
    double angle, density;
  };
  const Model model = read_model(
      "[model]\ndimension = 3\n[parameters]\na = 0.3\n"
      "[link l]\nparent = ground\njoint = spatial ZYX\nmass = 2\ncentre = 0.1, 0.2, a\ninertia = 0.1, a*1 kg m, 0.2\n"
      "[mass m]\nlink = l\nat = 0, a, -0.4\nmass = 0.7\n"
      "[shape box]\nlink = l\nbox = a, 0.2, 0.1\ndensity = 300\nat = 0.1, a, 0.2\nturn = z 40 deg\n"
      "[shape prism]\nlink = l\nprism = a, 0.5\ncorners = 5\ndensity = 100 kg/m4*a\nat = -a, 0, 0\nturn = z -0.3\n"
      "[shape block]\nlink = l\nvertices = 0,0,0; a,0,0; 0,0.2,0; 0,0,0.4; a,0.2,0.1\nmass = 1.5\n"
      "[shape frame]\nlink = l\nball = a\n",  // neither density nor mass
      "t.model");
  for (const double a : {0.3, 0.21}) {
    const auto link = model.tree(model.evaluate<double>({{"a", a}}).numbers).links[0];
    const geometry::Polytope<3> block({{0, 0, 0}, {a, 0, 0}, {0, 0.2, 0}, {0, 0, 0.4}, {a, 0.2, 0.1}});
    const std::vector<Part> parts = {{geometry::box(a, 0.2, 0.1), {0.1, a, 0.2}, 40.0 * M_PI / 180.0, 300.0},
                                     {geometry::regular_prism(5, a, 0.5), {-a, 0, 0}, -0.3, 100.0 * a},
                                     {block, {0, 0, 0}, 0.0, 1.5 / block.volume()}};
    double mass = 2.7;
    Eigen::Vector3d first = 2.0 * Eigen::Vector3d(0.1, 0.2, a) + 0.7 * Eigen::Vector3d(0, a, -0.4);
    const auto about_origin = [](double m, const Eigen::Vector3d& r) {
      return Eigen::Matrix3d(m * (r.squaredNorm() * Eigen::Matrix3d::Identity() - r * r.transpose()));
    };
    Eigen::Matrix3d J = Eigen::Vector3d(0.1, a, 0.2).asDiagonal();
    J += about_origin(2.0, {0.1, 0.2, a}) + about_origin(0.7, {0, a, -0.4});
    for (const Part& part : parts) {
      geometry::Frame<3> frame;
      frame.position = part.at;
      frame.directors = Eigen::AngleAxisd(part.angle, Eigen::Vector3d::UnitZ()).toRotationMatrix();
      const auto p = geometry::mass_properties(part.polytope.moved(frame), part.density);
      mass += p.mass;
      first += p.mass * p.centre;
      J += p.inertia() + about_origin(p.mass, p.centre);
    }
    const Eigen::Vector3d centre = first / mass;
    J -= about_origin(mass, centre);
    EXPECT_NEAR(link.mass, mass, 1e-12 * mass);
    for (int i = 0; i < 3; ++i) {
      EXPECT_NEAR(link.centre[i], centre[i], 1e-13);
      EXPECT_NEAR(link.inertia[i], J(i, i), 1e-12);
      EXPECT_NEAR(link.products[i], J((i + 1) % 3, (i + 2) % 3), 1e-12);
    }
  }
}

TEST(Model, MassInThePlaneIsThatOfThePolygons) {
  const Model model = read_model(
      "[model]\ndimension = 2\n[parameters]\na = 0.3\n[link l]\nparent = ground\njoint = planar\n"
      "[shape one]\nlink = l\npolygon = a\ncorners = 5\ndensity = 3\n"
      "[shape two]\nlink = l\nbox = a, 2*a\nat = 1, 0\nturn = 90 deg\ndensity = 3\n"
      "[shape three]\nlink = l\nvertices = 0, 0; 0, 1; -a, 0\nmass = 2\n",
      "t.model");
  const auto link = model.tree(model.evaluate<double>().numbers).links[0];
  geometry::Frame<2> aside;
  aside.position << 1.0, 0.0;
  aside.directors << 0, -1, 1, 0;
  const auto sum = geometry::mass_properties(geometry::regular_polygon(5, 0.3), 3.0) +
                   geometry::mass_properties(geometry::rectangle(0.3, 0.6).moved(aside), 3.0) +
                   geometry::mass_properties(geometry::Polytope<2>({{0, 0}, {0, 1}, {-0.3, 0}}), 2.0 / 0.15);
  EXPECT_NEAR(link.mass, sum.mass, 1e-13);
  EXPECT_NEAR(link.centre[0], sum.centre[0], 1e-13);
  EXPECT_NEAR(link.centre[1], sum.centre[1], 1e-13);
  EXPECT_NEAR(link.inertia[2], sum.inertia(), 1e-13);
}

TEST(Model, BallsAreNearlyBalls) {
  for (const auto& [corners, share] : {std::pair{12, 0.60}, {42, 0.87}, {162, 0.965}}) {
    const Model model = read_model(
        "[model]\ndimension = 3\n[link l]\nparent = ground\njoint = spatial ZYX\n[shape s]\n"
        "link = l\nball = 0.5\ndensity = 10\ncorners = " +
            std::to_string(corners) + "\n",
        "t.model");
    const auto values = model.evaluate<double>();
    const auto points = model.corners(model.shapes[0], values.numbers);
    ASSERT_EQ(std::ssize(points), corners);
    for (const auto& p : points) EXPECT_NEAR(std::hypot(p[0], p[1], p[2]), 0.5, 1e-14);
    if (corners == 12) {  // an icosahedron: 30 edges of one length
      const double edge = 0.5 * 4.0 / std::sqrt(10.0 + 2.0 * std::sqrt(5.0));
      int edges = 0;
      for (const auto& p : points)
        for (const auto& q : points)
          edges += std::abs(std::hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]) - edge) < 1e-12;
      EXPECT_EQ(edges, 60);
    }
    const auto link = model.tree(values.numbers).links[0];
    EXPECT_GT(link.mass, share * 10.0 * M_PI / 6.0);
    EXPECT_LT(link.mass, 10.0 * M_PI / 6.0);
    for (int i = 0; i < 3; ++i) {
      EXPECT_NEAR(link.inertia[i], link.inertia[0], 1e-12);
      EXPECT_NEAR(link.centre[i], 0.0, 1e-15);
      EXPECT_LT(link.inertia[i], 0.4 * link.mass * 0.25);
    }
  }
}

TEST(Model, NumbersCarryTheirDerivatives) {
  const Model model = read_model(machine, "machine");
  const auto defaults = model.evaluate<double>();
  for (const auto& parameter : model.parameters) {
    const double at = defaults.parameters[model.parameter(parameter.name)], h = 1e-5 * (1.0 + std::abs(at));
    const auto moving = model.evaluate<Dual<double>>({{parameter.name, {at, 1.0}}});
    const auto plus = model.evaluate<double>({{parameter.name, at + h}}),
               minus = model.evaluate<double>({{parameter.name, at - h}});
    double largest = 0.0;
    for (int i = 0; i < model.numbers(); ++i) {
      const double slope = (plus.numbers[i] - minus.numbers[i]) / (2.0 * h);
      EXPECT_NEAR(moving.numbers[i].value, defaults.numbers[i], 1e-14 * (1.0 + std::abs(defaults.numbers[i])));
      EXPECT_NEAR(moving.numbers[i].tangent, slope, 1e-7 * (1.0 + std::abs(slope)));
      largest = std::max(largest, std::abs(slope));
    }
    EXPECT_GT(largest, 0.0) << parameter.name;
  }
}

// ---- forces

// Independent of the velocities of frames: places at two times, and the power of each force by its definition.
TEST(Model, ForcesDoThePowerThatIsSaidOfThem) {
  const Model model = read_model(machine, "machine");
  const auto tree = model.tree(model.evaluate<double>().numbers);
  const int n = tree.n();
  std::mt19937_64 random(7);
  for (int trial = 0; trial < 20; ++trial) {
    const Vector q = random_vector(random, n, 1.0), v = random_vector(random, n, 1.0),
                 u = random_vector(random, tree.actuators.size(), 3.0);
    const double h = 1e-5;
    Vector ahead = q, behind = q;
    for (int i = 0; i < n; ++i) ahead[i] += h * v[i], behind[i] -= h * v[i];
    const auto now = tree.frames(q.data()), plus = tree.frames(ahead.data()), minus = tree.frames(behind.data());
    using E = Eigen::Vector3d;
    const auto position = [](const auto& at, int link, const E& r) {
      const auto x = at[link].point({r[0], r[1], r[2]});
      return E(x[0], x[1], x[2]);
    };
    const auto velocity = [&](int link, const E& r) {
      return E((position(plus, link, r) - position(minus, link, r)) / (2.0 * h));
    };
    const auto rotation = [](const auto& at, int link) {
      Eigen::Matrix3d R;
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) R(i, j) = at[link].rotation[i][j];
      return R;
    };
    const auto spin = [&](int link) {
      const Eigen::Matrix3d W =
          rotation(now, link).transpose() * (rotation(plus, link) - rotation(minus, link)) / (2.0 * h);
      return E(W(2, 1), W(0, 2), W(1, 0));
    };
    enum { floor, body, arm, free };
    const int arm_y = tree.links[arm].first, arm_z = arm_y + 1;
    const double w = 0.2, k = 40.0;
    const E strap_from(0, w, 0), centre(0, 0, 0);
    const auto stretch = [&](const auto& at) {
      return (position(at, arm, strap_from) - position(at, free, centre)).norm();
    };
    const double pace = (stretch(plus) - stretch(minus)) / (2.0 * h);
    double power = -0.3 * v[arm_y] * v[arm_y] - k / 100.0 * pace * pace;
    power += -0.2 * velocity(free, centre).squaredNorm() - w * spin(free).squaredNorm();
    power += E(w * velocity(arm, {0, 0, 2 * w})[1], std::sin(w), 0).dot(velocity(arm, {0, w, 0}));
    power += (-w * v[arm_z] * std::abs(v[arm_z]) + u[0]) * v[arm_z];
    power += u[0] * v[arm_z];
    power += u[1] * (rotation(now, free) * E::UnitZ()).dot(velocity(free, {0, w, 0})) + u[1] * w * spin(free)[0];
    const auto Q = tree.forces(q.data(), v.data(), u.data());
    double given = 0.0;
    for (int i = 0; i < n; ++i) given += Q[i] * v[i];
    const Vector idle(u.size(), 0.0);
    EXPECT_EQ(tree.forces<double>(q.data(), v.data(), nullptr), tree.forces(q.data(), v.data(), idle.data()));
    EXPECT_NEAR(given, power, 1e-7 * (1.0 + std::abs(power)));

    // and the potential energy: the Lagrangian at rest is minus the potential
    const auto at = [&](int link, const E& r) { return position(now, link, r); };
    double V = 0.5 * k * std::pow(q[arm_y] - w, 2) + k * std::pow(stretch(now) - 0.5, 2);
    const E a = at(arm, {0, 0, 3 * w}), b = at(free, {0.1, 0, 0});
    V += 0.1 * (2.0 * -w / (a - b).norm() + 2.0 / a.norm() - w / b.norm());
    const E tip = at(arm, {0, 0, 2 * w});
    V += k * tip[0] * tip[0] / 2 + std::exp(w) * std::sin(q[arm_y]) + (tip - at(free, centre)).norm();
    for (const int l : {body, arm, free}) {
      const auto& link = tree.links[l];
      V -= link.mass * E(0.3 * w, 0, -9.81).dot(at(l, E(link.centre.data())));
    }
    const Vector rest(n, 0.0);
    EXPECT_NEAR(-tree.lagrangian(q.data(), rest.data()), V, 1e-11 * (1.0 + std::abs(V)));
  }
}

// Two masses that a pendulum drives along its circle's axes are the mass at its end; a flywheel is a mass behind a
// gear.
TEST(Model, DrivenMassesMoveAsTheirPlaces) {
  const std::string head =
      "[model]\ndimension = 2\n[parameters]\nr = 0.7\nbob = 1.3\n[link rod]\nparent = ground\njoint = revolute\n";
  const Model whole = read_model(head + "end = 0, -r\n[mass bob]\nlink = rod\nat = 0, -r\nmass = bob\n", "whole.model");
  const Model parts = read_model(head +
                                     "[rotor along]\nplace = r*sin(rod)\nmass = bob\n[rotor up]\nplace = "
                                     "-r*cos(rod)\nmass = bob\n[potential weight]\nenergy = -9.81*bob*r*cos(rod)\n",
                                 "parts.model");
  const Model geared = read_model(head + "[rotor wheel]\nplace = -20*rod\nmass = 0.003\n", "geared.model");
  for (const double q : {-1.1, 0.3, 2.0})
    for (const std::map<std::string, double>& given : {std::map<std::string, double>{}, {{"r", 0.4}, {"bob", 2.5}}}) {
      const Dual<double> angle(q, 0.0), rate(1.7, 1.0);  // the tangent: momentum
      const auto one = whole.tree(whole.evaluate<double>(given).numbers).lagrangian(&angle, &rate);
      const auto other = parts.tree(parts.evaluate<double>(given).numbers).lagrangian(&angle, &rate);
      EXPECT_NEAR(one.value, other.value, 1e-13);
      EXPECT_NEAR(one.tangent, other.tangent, 1e-13);
      EXPECT_NEAR(geared.tree(geared.evaluate<double>(given).numbers).lagrangian(&angle, &rate).tangent,
                  400 * 0.003 * 1.7, 1e-13);
    }
}

// ---- mistakes

std::string complaint(const std::string& text) {
  return message_of<ConfigError>([&] { read_model(text, "t.model"); });
}

TEST(Model, MistakesAreOneLineThatSaysWhatIsAllowed) {
  const std::string head =
      "[model]\ndimension = 2\n[parameters]\nlength = 2 # m\n[link a]\nparent = ground\njoint = planar\nmass = 1\n";
  const auto expect = [&](const std::string& text, const std::string& line, const std::string& part) {
    const std::string what = complaint(head + text);
    EXPECT_TRUE(what.starts_with("t.model:" + line + ": ")) << what;
    EXPECT_NE(what.find(part), std::string::npos) << what;
    EXPECT_EQ(what.find('\n'), std::string::npos);
  };
  expect("[spring s]\nstiffness = 3\n", "9", "needs a coordinate, or both from and to");
  expect("[spring s]\ncoordinate = z\n", "10", "z is unknown");
  expect("[spring s]\ncoordinate = a\nlength = 3\n", "11", "allowed here: rest");
  expect("[spring s]\ncoordinate = a\nrest = 3\n", "9", "exerts no force; give stiffness, damping or both");
  expect("[spring s]\nfrom = a : 1, 2\nto = a : 1, 2\nstiffness = 3\n", "11", "joins two places of one link");
  expect("[spring s]\nfrom = ground : 1, 2\nto = ground : 0, 2\nstiffness = 3\n", "11", "joins two places of one link");
  expect("[charge c]\nlink = a\nvalue = 1\n", "9", "exerts no force; add charge-constant to [model]");
  expect("[stop s]\ncoordinate = a\nfrom = 1\nto = 0\n", "12", "to - from = (0) - (1) is negative; allowed: 0 or more");
  expect("[contact c]\ngap = y\nslip = x\n", "11",
         "[contact c] has slip but no friction; add friction = coefficient, or");
  expect("[link b]\nparent = a\njoint = revolute\ncoordinates = q, r\n", "12", "allowed: 1 name");
  expect("[drag d]\nlink = a\n", "9", "exerts no force; give linear, angular or both");
  expect("[surface]\nfriction = 1\n[surface ice]\nfriction = 0\n", "11", "no link has [surface ice]");
  expect("[constraint c]\nzero = length - 2 m\n", "10", "holds no coordinate");
  expect("[spring s]\nfrom = a : 1, 2\nto = b : 1, 2\n", "11", "allowed: a");
  expect("[spring s]\ncoordinate = a\nstiffness = -length*1 N\n", "11", "is negative; allowed: 0 or more");
  expect("[shape s]\nlink = a\n", "9", "add one of vertices, box, polygon or ball");
  expect("[shape s]\nlink = a\nbox = 1, 2, 3\n", "11", "two lengths");
  expect("[shape s]\nlink = a\nbox = 1, length - 2\n", "11", "is zero; allowed: more than 0");
  expect("[shape s]\nlink = a\nvertices = 0,0; 1,0; 2,0\nmass = 1\n", "9", "shape s");
  expect("[shape s]\nlink = a\nvertices = 0,0; 1,0; 0,1; 0.2,0.2\n", "9", "not convex: point 4 of 4");
  expect("[shape s]\nlink = a\nball = 1\ncorners = length/1 m\n", "12", "a whole number from 3 to 256");
  expect("[shape s]\nlink = a\nprism = 1, 2\n", "11", "prism is for dimension 3");
  expect("[mass m]\nlink = b\nmass = 1\n", "10", "allowed: a");
  expect("[mass m]\nlink = a\nmass = lenght\n", "11", "did you mean 'length'");
  expect("[mass m]\nlink = a\nmass = 1\ncounterpart = n\n", "12", "allowed: m");
  expect("[actuator u]\nlink = a\n", "9", "add force or torque");
  expect("[actuator u]\ncoordinate = a\nlimit = 0\n", "11", "is zero; allowed: more than 0");
  expect("[joint-limit r]\ncoordinate = a\n", "9", "add from, to or speed");
  expect("[joint-limit r]\ncoordinate = a\nfrom = 1\nto = 0\n", "9", "has from above to");
  expect("[surface]\nrestitution = length/1 m\n", "10", "restitution = length/1 m is above 1; allowed: 0 to 1");
  expect("[contact c]\ngap = y\nrestitution = 1.5\n", "11", "restitution = 1.5 is above 1; allowed: 0 to 1");
  expect("[stop s]\ncoordinate = a\nfrom = 1\nrestitution = -1\n", "12", "is negative; allowed: 0 to 1");
  expect("[require]\nshort = length < 1\n", "10", "short: 'length < 1' does not hold");
  expect("[require]\nshort = length\n", "10", "is not a condition");
  expect("[potential p]\nenergy = rate(a)^2\n", "10", "is not a position");
  expect("[potential p]\nenergy = foot.x\n", "10", "'foot.x' is unknown");
  expect("[rotor d]\nmass = 1\nplace = rate(a)\n", "11", "is not a position");
  expect("[rotor d]\nmass = 1\nplace = angle(a)\n", "11", "'angle(a)' is not a coordinate");
  expect("[rotor d]\nmass = -1\nplace = a\n", "10", "is negative; allowed: 0 or more");
  expect("[force f]\nlink = a\nforce = 1\n", "11", "2 expressions");
  expect("[force f]\ncoordinate = a\nforce = a > 1\n", "11", "a condition");
  expect("[contact]\na, b = no\n", "10", "allowed: a");
  expect("[contact]\na, a = no\n", "10", "does not touch itself");
  expect("[link b]\nparent = a\njoint = revolute\n[contact]\na, b = yes\nb, a = no\n", "14", "is given twice");
  expect("[link b]\nparent = a\njoint = fixed\n[contact]\na, b = yes\n", "13", "both are fixed to one link");
  expect("[link b]\nparent = ground\njoint = fixed\n[link c]\nparent = b\njoint = fixed\n[contact]\nb, c = yes\n", "16",
         "both are fixed to the ground");
  expect("[charge c]\nlink = a\nvalue = sqrt(-1)\n", "11", "not a finite number");
  // Expressions of such a coordinate would be of the number pi, or of the time.
  expect("[link pi]\nparent = a\njoint = revolute\n", "9", "coordinate 'pi' has the name of the number pi");
  expect("[link b]\nparent = a\njoint = revolute\ncoordinates = t\n", "9", "coordinate 't' has the name of the time");
  expect("[link not]\nparent = a\njoint = revolute\n", "9", "coordinate 'not' has the name of an operator");
  expect("[actuator u]\ncoordinate = a\nefficiency = 0.5\n", "11", "unknown key 'efficiency'");
  const auto parameter = [](const std::string& text) {
    return complaint("[model]\ndimension = 2\n[parameters]\n" + text +
                     "\n[link a]\nparent = ground\njoint = planar\nmass = 1\n");
  };
  EXPECT_NE(parameter("t = 1").find("which is the time"), std::string::npos) << parameter("t = 1");
  EXPECT_NE(parameter("a = 1").find("has the name of a parameter"), std::string::npos) << parameter("a = 1");
  for (const char* text : {"b = 400 # mm, length", "b = 500 # g", "b = 30 # deg"})
    EXPECT_NE(parameter(text).find("but a number without a unit is in SI; write "), std::string::npos)
        << parameter(text);
  for (const char* text : {"b = 400 mm # mm, length", "b = 0.4 # m, length", "b = 3 # of the frame"})
    EXPECT_EQ(parameter(text), "") << text;
  expect("[colour]\n", "9", "allowed: [model]");
  expect("[spring s]\nstifness = 3\n", "10", "did you mean 'stiffness'");
}

// K c1 c2/distance is an energy. Charges without a unit are pure numbers; those of one unit give the unit of K.
TEST(Model, ChargeConstantHasTheUnitThatItsChargesNeed) {
  const auto charged = [](const std::string& constant, const std::string& charges, const std::string& parameters = "") {
    return complaint("[model]\ndimension = 2\ncharge-constant = " + constant + "\n[parameters]\nq = 2" + parameters +
                     "\n[link a]\nparent = ground\njoint = planar\nmass = 1\n" + charges);
  };
  const std::string pure = "[charge c]\nlink = a\nvalue = 2\n", pole = "[charge c]\nlink = a\nvalue = 2 A m\n",
                    named = "[charge c]\nlink = a\nvalue = q\n";
  EXPECT_EQ(charged("0.1", pure), "");
  EXPECT_EQ(charged("0.1 N m2", pure), "");
  EXPECT_EQ(charged("1e-7 N/A2", pole), "");
  EXPECT_EQ(charged("1e-7", pole), "");
  EXPECT_EQ(charged("1e-7 N/A2", named), "");
  EXPECT_EQ(charged("1e-7 N/A2", named, " # A m, of a pole"), "");
  EXPECT_EQ(charged("0.1 kg", pure),
            "t.model:3: charge-constant = 0.1 kg is a mass (kg, g); the charges are a number without a unit; expected "
            "N m2 divided by the square of their unit");
  EXPECT_NE(charged("0.1 N m2", pole).find("t.model:3: charge-constant = 0.1 N m2 is"), std::string::npos);
  EXPECT_NE(charged("0.1 kg", named, " # A m, of a pole").find("expected N m2 divided by"), std::string::npos);
  EXPECT_NE(charged("1e-7 N/A2", pole + "[charge d]\nlink = a\nvalue = 1 kg\n").find("give all of them one unit"),
            std::string::npos);
  EXPECT_NE(charged("1", "").find("t.model:3: charge-constant has no effect without charges"), std::string::npos);
}

// The description names every part of a model file.
TEST(Model, DescriptionNamesEverything) {
  auto texts = shipped_models();
  texts.emplace("machine", machine);
  for (const auto& [name, text] : texts) {
    const auto [model, pieces] = read_hybrid_model(text, name);
    const auto values = model.evaluate<double>();
    const std::string described = description(model, values, pieces.contacts);
    const auto expect = [&, &name = name](const std::string& word) {
      EXPECT_NE(described.find(word), std::string::npos) << name << " " << word;
    };
    const auto& tree = model.structure;
    for (const auto& one : model.parameters) expect("\n  " + one.name + " ");
    for (const auto& one : tree.coordinate_names) expect("\n  " + one + " ");
    for (const auto& one : tree.links) expect("\n  " + one.name + " ");
    for (const auto& one : tree.actuators) expect("\n  " + one.name + " ");
    for (const auto& one : tree.springs) expect("\n  " + one.name + " ");
    for (const auto& one : tree.charges) expect("\n  " + one.name + " ");
    for (const auto& one : tree.rotors) expect("\n  " + one.name + " ");
    for (const auto& one : tree.named_points) expect("\n  " + one.name + " ");
    for (const auto& one : tree.ranges) expect("\n  " + one.name + " ");
    for (const auto& one : model.shapes) expect("\n  " + one.name + " ");
    for (const auto& one : pieces.contacts) expect("\n  " + one.name + " ");
    for (const auto& one : model.requirements) expect("\n  " + one.name + " ");
    if (!model.gravity_given) expect("default");
  }
  const Model biped = find_model("planar-biped");
  EXPECT_NE(description(biped, biped.evaluate<double>({{"shank_mass", 7.0}})).find("20 kg that move"),
            std::string::npos);
}

// No body in space has a moment of inertia larger than the sum of the other two; the description reports it.
TEST(Model, DescriptionDoubtsImpossibleInertia) {
  const auto described = [](const std::string& inertia) {
    const Model model = read_model(
        "[model]\ndimension = 3\n[link a]\nparent = ground\njoint = spatial XYZ\nmass = 1\n" + inertia, "t.model");
    return description(model, model.evaluate<double>());
  };
  const std::string doubt = "no body has these principal moments";
  EXPECT_NE(described("inertia = 1, 1, 5\n").find(doubt + ": 5 exceeds 1 + 1 kg m2"), std::string::npos)
      << described("inertia = 1, 1, 5\n");
  EXPECT_NE(described("inertia = 2, 2, 2\nproducts = 1, 0, 0\n").find("2, 2, 2; xy, xz, yz 1, 0, 0"),
            std::string::npos);
  EXPECT_NE(described("inertia = 2, 2, 2\nproducts = 1.5, 0, 0\n").find(doubt), std::string::npos);  // 0.5, 2, 3.5
  EXPECT_EQ(described("inertia = 1, 1, 2\n").find(doubt), std::string::npos);                        // a plate
  EXPECT_EQ(described("inertia = 2, 2, 2\nproducts = 0.9, 0, 0\n").find(doubt), std::string::npos);
}

// A negative principal moment is refused, also of a link whose moments about its axes are positive.
TEST(Model, NegativePrincipalMomentsAreRefused) {
  const auto said = [](const std::string& more, const std::map<std::string, double>& given = {}) {
    return message_of<ConfigError>([&] {
      read_model(
          "[model]\ndimension = 3\n[parameters]\nskew = 0\n[link a]\nparent = ground\njoint = spatial XYZ\n"
          "mass = 1\n" +
              more,
          "t.model")
          .evaluate<double>(given);
    });
  };
  EXPECT_EQ(said("inertia = 2, 2, 2\nproducts = 1, 0, 0\n"), "");
  EXPECT_EQ(said("inertia = 2, 2, 4\nproducts = 2, 0, 0\n"), "");         // a rod: 0, 4, 4
  EXPECT_EQ(said("inertia = 2, 2, 4\nproducts = 2.000001, 0, 0\n"), "");  // its rounding
  EXPECT_EQ(said("inertia = 2, 2, 2\nproducts = 3, 0, 0\n"),
            "t.model:5: link a has the principal moments of inertia -1, 2 and 5 kg m2; allowed: 0 or more; correct its "
            "inertia or products");
  EXPECT_EQ(said("inertia = 2, 2, 2\nproducts = skew, 0, 0\n", {{"skew", 1.9}}), "");
  EXPECT_NE(
      said("inertia = 2, 2, 2\nproducts = skew, 0, 0\n", {{"skew", 2.1}}).find("moments of inertia -0.1, 2 and 4.1"),
      std::string::npos);
  EXPECT_NE(said("inertia = 2, 2, 2\nproducts = 3, 0, 0\n[mass m]\nlink = a\nmass = 1\n").find("moments of inertia -1"),
            std::string::npos);
}

TEST(Model, AKneeIsBetweenFootAndHip) {
  for (const char* name : {"codesign", "human", "planar-biped", "planar-underactuated", "rabbit", "spatial-biped"}) {
    const Model model = find_model(name);
    const double leg = model.evaluate<double>().parameters[static_cast<std::size_t>(model.parameter("leg"))];
    const auto said = [&](double knee) {
      return message_of<ConfigError>([&] { model.evaluate<double>({{"knee", knee}}); });
    };
    EXPECT_EQ(said(0.9 * leg), "") << name;
    for (const double knee : {-0.1, 0.0, leg, 1.1 * leg}) EXPECT_NE(said(knee), "") << name << " " << knee;
    const std::string reason = said(1.1 * leg), wanted = "and knee < leg' does not hold";
    const bool named = reason.find(wanted) != std::string::npos;
    EXPECT_TRUE(named || std::string(name) == "human") << name << reason;  // there, powers of its lengths fail first
  }
}

// A floor next to a walker does not move when the legs exchange their roles.
TEST(Model, WalkersMayHaveFloors) {
  const Model model = read_model(model_text("torso") +
                                     "[link floor]\nparent = ground\njoint = fixed\n[shape floor]\n"
                                     "link = floor\nbox = 9, 1\nat = 0, -0.5\noutward = 0, 1\n",
                                 "t.model");
  EXPECT_EQ(model.structure.coordinate_names, find_model("torso").structure.coordinate_names);
}

// The outward normal of a floor is that of one of its faces: otherwise contacts are with a plane that is not there.
TEST(Model, TheOutwardNormalIsThatOfAFace) {
  const auto complaint = [](const std::string& shape, const std::string& outward, int dimension = 2) -> std::string {
    return message_of<ConfigError>(
        [&] {
          read_model("[model]\ndimension = " + std::to_string(dimension) +
                         "\n[parameters]\nslope = 0.3 rad\n[link floor]\nparent = ground\njoint = fixed\n[shape "
                         "slab]\nlink = floor\n" +
                         shape + "outward = " + outward + "\n",
                     "t.model")
              .evaluate<double>({});
        },
        "none");
  };
  const std::string slab = "box = 2, 0.2\n";
  for (const char* outward : {"0, 1", "0, -3", "1, 0"}) EXPECT_EQ(complaint(slab, outward), "none") << outward;
  EXPECT_NE(complaint(slab, "0.1, 1")
                .find("t.model:8: no face of [shape slab] has the outward normal 0.099503719, "
                      "0.99503719; the nearest is 0, 1"),
            std::string::npos)
      << complaint(slab, "0.1, 1");
  EXPECT_NE(complaint(slab, "0, 0").find("outward is zero"), std::string::npos);
  EXPECT_EQ(complaint(slab + "turn = slope\n", "-sin(slope), cos(slope)"), "none");
  EXPECT_NE(complaint(slab + "turn = slope\n", "0, 1").find("the nearest is "), std::string::npos);
  // A ramp, whose normal into the ramp is that of no face.
  const std::string ramp = "vertices = 0, 0; 1, 0; 1, 1\n";
  EXPECT_EQ(complaint(ramp, "-1, 1"), "none");
  EXPECT_NE(complaint(ramp, "1, -1").find("the nearest is "), std::string::npos);
  EXPECT_EQ(complaint("box = 2, 2, 0.2\n", "0, 0, 1", 3), "none");
  EXPECT_NE(complaint("box = 2, 2, 0.2\n", "0, 0.1, 1", 3).find("the nearest is 0, 0, 1"), std::string::npos);
}

// BOX_x is the place of a free body wherever there are several; a body alone has no coordinate of that name, so that a
// second one changes no meaning.
TEST(Model, NamesOfCoordinatesHaveOneMeaning) {
  const auto model = [](int dimension, int bodies, const std::string& more = {}) {
    std::string text = "[model]\ndimension = " + std::to_string(dimension) + "\n";
    for (int b = 1; b <= bodies; ++b)
      text += "[link box" + std::to_string(b) +
              "]\nparent = ground\njoint = " + (dimension == 2 ? "planar" : "spatial XYZ") +
              "\nmass = 1\ninertia = " + (dimension == 2 ? "1" : "1, 1, 1") + "\n";
    return text + more;
  };
  const auto names = [&](int dimension, int bodies) {
    return read_model(model(dimension, bodies), "t.model").structure.coordinate_names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names(2, 1), (Names{"x", "y", "box1"}));
  EXPECT_EQ(names(2, 2), (Names{"box1_x", "box1_y", "box1", "box2_x", "box2_y", "box2"}));
  EXPECT_EQ(names(3, 1), (Names{"x", "y", "z", "box1_turn_x", "box1_turn_y", "box1_turn_z"}));
  const Names two = names(3, 2);
  EXPECT_EQ(Names(two.begin(), two.begin() + 6),
            (Names{"box1_x", "box1_y", "box1_z", "box1_turn_x", "box1_turn_y", "box1_turn_z"}));
  const std::string energy = "[potential p]\nenergy = 1 N/m*box1_x^2\n";
  EXPECT_EQ(complaint(model(3, 2, energy)), "");
  EXPECT_NE(complaint(model(3, 1, energy)).find("'box1_x' is unknown"), std::string::npos)
      << complaint(model(3, 1, energy));
}

TEST(Model, HostileTextsAreOneLine) {
  const std::string head = "[model]\ndimension = 2\n[link a]\nparent = ground\njoint = planar\nmass = ";
  const auto one_line = [](const std::string& what) {
    EXPECT_FALSE(what.empty());
    EXPECT_LT(what.size(), 1000u);
    EXPECT_EQ(what.find('\n'), std::string::npos);
  };
  for (const char* sign : {"-", "+", "(", "not ", "2^", "sin("})
    for (const int times : {300, 100000}) {
      std::string text = head;
      for (int i = 0; i < times; ++i) text += sign;
      one_line(complaint(text + "1\n"));
    }
  for (const int times : {20000, 100000}) {
    std::string chain = "[parameters]\np0 = 1\n";
    for (int i = 1; i < times; ++i) chain += "p" + std::to_string(i) + "=p" + std::to_string(i - 1) + "\n";
    one_line(complaint(chain));
  }
  std::string links = "[model]\ndimension = 2\n";
  for (int i = 0; i < 20000; ++i) links += "[link l" + std::to_string(i) + "]\nparent = ground\njoint=planar\n";
  one_line(complaint(links));
  std::string points = "[model]\ndimension = 2\n[link l]\nparent = ground\njoint = planar\nmass = 1\ninertia = 1\n";
  for (int i = 2; i < 2000; ++i) points += "[point p" + std::to_string(i) + "]\nlink = l\n";
  EXPECT_EQ(read_model(points, "points").structure.named_points.size(), 1998u);
  EXPECT_NE(complaint(points + "[point more]\nlink = l\n").find("2001 sections; allowed: 2000"), std::string::npos);
  std::string joint = "[model]\ndimension = 3\n[link l]\nparent = ground\njoint = fixed";
  for (int i = 0; i < 50000; ++i) joint += " + revolute x";
  one_line(complaint(joint + "\n"));
  EXPECT_THROW(model_text("/dev/zero"), ConfigError);
  EXPECT_THROW(model_text("/"), ConfigError);
  EXPECT_THROW(model_text("no-such-model"), ConfigError);
  // long, but nothing is wrong with it
  std::string chain = "[parameters]\np0 = 1\n";
  for (int i = 1; i < 9000; ++i) chain += "p" + std::to_string(i) + " = p" + std::to_string(i - 1) + " + 1\n";
  const Model model = read_model(chain + head + "p8999\n", "chain");
  EXPECT_EQ(model.tree(model.evaluate<double>().numbers).links[0].mass, 9000.0);
}

}  // namespace
}  // namespace dodyn::systems::test_model
