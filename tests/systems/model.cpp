#include "systems/model.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <random>

#include "autodiff/tape.hpp"
#include "geometry/polytope.hpp"

namespace dodyn::systems {
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
gravity = 0.3*w, 0, -9.81
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
mass = 3*w
inertia = w^3, 2*w^3, w^3
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
end = 0, 0, sqrt(w)
mass = 1
[shape tip]
link = arm
ball = w/2
at = 0, 0, w
mass = 0.3
[link free]
parent = ground
joint = spatial XYZ
mass = 1 + w
inertia = 0.1, 0.2, 0.15
[point tip]
link = arm
at = 0, 0, 2*w
[point middle]
link = free
[spring one]
coordinate = arm_y
stiffness = k
rest = w
damping = 0.3
[spring strap]
from = arm : 0, w, 0
to = middle
stiffness = 2*k
length = 0.5
damping = k/100
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
angular = w
[potential well]
energy = k*tip.x^2/2 + exp(w)*sin(arm_y) + distance(tip, middle)
[force wind]
link = arm
at = 0, w, 0
force = w*rate(tip.y), sin(w), 0
[force brake]
coordinate = arm_z
force = -w*rate(arm_z)*abs(rate(arm_z)) + u.pull
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
      "[model]\ndimension = 2\n[parameters]\na = 2\nb = 3\n[link l]\nparent = ground\njoint = planar\nmass = a*b\n"
      "end = 1/3, a * b\ncentre = b, 0\ninertia = 2*3\n",
      "t.model");
  EXPECT_EQ(model.numbers(), 2);
  const auto values = model.evaluate<double>({{"a", 5.0}});
  EXPECT_EQ(values.parameters, (Vector{5.0, 3.0}));
  EXPECT_EQ(values.numbers, (Vector{15.0, 3.0}));
  EXPECT_DOUBLE_EQ(model.tree(values.numbers).links[0].inertia[2], 6.0);
}

// A Lagrangian recorded once, its numbers the inputs, is that of every design.
TEST(Model, RecordedOnceServesEveryDesign) {
  using autodiff::Var;
  std::vector<std::pair<std::string, std::string>> texts(built_in_models().begin(), built_in_models().end());
  texts.emplace_back("machine", machine);
  std::mt19937_64 random(1);
  for (const auto& [name, text] : texts) {
    const Model model = read_model(text, name);
    const int n = static_cast<int>(model.structure.coordinate_names.size()), m = model.numbers();
    const int controls = static_cast<int>(model.structure.actuators.size());
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
      const double factor = 1.0 + 0.05 * trial;
      std::map<std::string, double> given;
      const auto defaults = model.evaluate<double>().parameters;
      for (std::size_t i = 0; i < model.parameters.size(); ++i)
        if (model.parameters[i].definition.uses.empty()) given[model.parameters[i].name] = factor * defaults[i];
      const auto values = model.evaluate(given);
      const auto tree = model.tree(values.numbers);
      const Vector q = random_vector(random, n, 1.0), v = random_vector(random, n, 2.0),
                   u = random_vector(random, controls, 5.0);
      double* room = program.start();
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

}  // namespace
}  // namespace dodyn::systems
