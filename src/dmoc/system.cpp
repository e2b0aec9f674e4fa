#include "dmoc/system.hpp"

#include <algorithm>

namespace dodyn::dmoc {

using autodiff::Graph;
using autodiff::Program;
using autodiff::RecordedFunction;
using autodiff::Recording;
using autodiff::Var;
using systems::Model;
using systems::Tree;

namespace {

// Midpoint rule (3.1.1): h L((q0 + q1)/2, (q1 - q0)/h).
Var discrete_lagrangian(const Tree<Var>& tree, const Var& h, const std::vector<Var>& q0, const std::vector<Var>& q1) {
  std::vector<Var> middle, velocity;
  const Var per_h = 1.0 / h;
  for (std::size_t i = 0; i < q0.size(); ++i) {
    middle.push_back(0.5 * (q0[i] + q1[i]));
    velocity.push_back((q1[i] - q0[i]) * per_h);
  }
  return h * tree.lagrangian(middle.data(), velocity.data());
}

std::vector<Var> recorded_parameters(int count) {
  std::vector<Var> p(static_cast<std::size_t>(count));
  for (Var& x : p) x = Var::parameter();
  return p;
}
std::vector<int> nodes_of(const std::vector<Var>& numbers) {
  std::vector<int> nodes;
  for (const Var& x : numbers) nodes.push_back(x.node);
  return nodes;
}

Function record_action(const Model& model, const std::vector<int>& moving, bool timed) {
  const int n = model.structure.n(), m = static_cast<int>(moving.size()), inputs = 2 * m + (timed ? 1 : 0);
  Recording recording;
  Graph& graph = recording.graph;
  // Inputs: theta and theta', the duration where it is unknown, weights for all slots; then what is held, at zero.
  std::vector<Var> q0(static_cast<std::size_t>(n)), q1 = q0;
  for (auto* q : {&q0, &q1})
    for (const int i : moving) (*q)[static_cast<std::size_t>(i)] = Var::input();
  Var time;
  if (timed) time = Var::input();
  std::vector<int> slots, weights;
  for (int i = 0; i < 2 * n; ++i) weights.push_back(graph.input());
  for (auto* q : {&q0, &q1})
    for (int i = 0; i < n; ++i)
      if (!std::binary_search(moving.begin(), moving.end(), i)) (*q)[static_cast<std::size_t>(i)] = Var::input();
  for (const auto* q : {&q0, &q1})
    for (const Var& x : *q) slots.push_back(x.node);

  const std::vector<Var> parameters = recorded_parameters(1 + model.numbers());
  const Var h = timed ? time * parameters[0] : parameters[0];
  const Tree<Var> tree = model.tree<Var>({parameters.begin() + 1, parameters.end()});
  const int action = discrete_lagrangian(tree, h, q0, q1).node;
  Program values(graph, graph.gradient(action, slots), inputs);

  std::vector<int> all = slots, variables;  // places in `all`
  for (const int offset : {0, n})
    for (const int i : moving) variables.push_back(offset + i);
  if (timed) {
    variables.push_back(2 * n);
    all.push_back(time.node);
  }
  const auto differentiate = [graph = std::move(graph), action, slots, weights, all, variables, inputs,
                              parameters = nodes_of(parameters)]() mutable {
    const std::vector<int> hessian = graph.differentiate(action, all).hessian;
    const auto second = [&](int i, int j) {
      return hessian[static_cast<std::size_t>(std::max(i, j) * (std::max(i, j) + 1) / 2 + std::min(i, j))];
    };
    std::vector<int> derivatives, of_variables;
    for (int slot = 0; slot < static_cast<int>(slots.size()); ++slot)
      for (const int v : variables) derivatives.push_back(second(slot, v));
    for (std::size_t i = 0; i < variables.size(); ++i)
      for (std::size_t j = 0; j <= i; ++j) of_variables.push_back(second(variables[i], variables[j]));
    const int weighted = static_cast<int>(weights.size());
    Program jacobian(graph, derivatives, inputs);
    const std::vector<int> moved = graph.directional(of_variables, slots, weights);
    derivatives.insert(derivatives.end(), moved.begin(), moved.end());
    Program both(graph, derivatives, inputs + weighted);
    const int sum = graph.directional({action}, slots, weights).front();
    Program design(graph, graph.gradient(sum, parameters), inputs + weighted);
    return RecordedFunction::Derivatives{std::move(jacobian), std::move(both), std::move(design)};
  };
  return std::make_shared<RecordedFunction>(inputs, static_cast<int>(parameters.size()), 2 * n, std::move(values),
                                            differentiate);
}

}  // namespace

System::System(Model model) : model_(std::move(model)) {
  const auto& tree = structure();
  simply_actuated_ = tree.drags.empty() && tree.loads.empty();
  for (const auto& spring : tree.springs) simply_actuated_ = simply_actuated_ && spring.damping.is_zero();
  for (const auto& actuator : tree.actuators) simply_actuated_ = simply_actuated_ && actuator.coordinate >= 0;
  const int size = n();
  energy_ = record(2 * size, 0, [&](const auto& t, const auto& z, const auto&) {
    const std::vector<Var> q(z.begin(), z.begin() + size), v(z.begin() + size, z.end());
    const std::vector<Var> p = dmoc::momentum(t, q, v);
    Var e = -t.lagrangian(q.data(), v.data());
    for (std::size_t i = 0; i < v.size(); ++i) e += p[i] * v[i];
    return std::vector<Var>{e};
  });
}

const HeldFunctions& System::holding(const std::vector<int>& held) const {
  const std::lock_guard lock(mutex_);
  auto& known = held_[held];
  if (known) return *known;
  known = std::make_unique<HeldFunctions>();
  known->held = held;
  for (int i = 0; i < n(); ++i)
    if (std::find(held.begin(), held.end(), i) == held.end()) known->moving.push_back(i);
  const std::vector<int>& moving = known->moving;
  const int m = static_cast<int>(moving.size()), size = n(), controls = inputs();
  known->action = record_action(model_, moving, false);
  known->timed_action = record_action(model_, moving, true);
  known->momentum = record(2 * m, 0, [&](const auto& tree, const auto& z, const auto&) {
    return dmoc::momentum(tree, whole(size, moving, z.data()), whole(size, moving, z.data() + m));
  });
  if (simply_actuated_) return *known;
  const auto pushed = [&](const auto& tree, const std::vector<Var>& z, const Var& h) {
    const std::vector<Var> q0 = whole(size, moving, z.data()), q1 = whole(size, moving, z.data() + m);
    std::vector<Var> middle, velocity;
    for (int i = 0; i < size; ++i) {
      middle.push_back(0.5 * (q0[static_cast<std::size_t>(i)] + q1[static_cast<std::size_t>(i)]));
      velocity.push_back((q1[static_cast<std::size_t>(i)] - q0[static_cast<std::size_t>(i)]) / h);
    }
    std::vector<Var> force = tree.forces(middle.data(), velocity.data(), z.data() + 2 * m);
    for (Var& f : force) f = (0.5 * h) * f;
    return force;
  };
  known->forces = record(2 * m + controls, 1,
                         [&](const auto& tree, const auto& z, const auto& extra) { return pushed(tree, z, extra[0]); });
  known->timed_forces = record(2 * m + controls + 1, 1, [&](const auto& tree, const auto& z, const auto& extra) {
    return pushed(tree, z, z.back() * extra[0]);
  });
  return *known;
}

Element element(const Function& function, const std::vector<Coefficient>& numbers,
                const std::vector<Coefficient>& extra) {
  std::vector<Coefficient> parameters = extra;
  parameters.insert(parameters.end(), numbers.begin(), numbers.end());
  return std::make_shared<autodiff::RecordedElement>(function, std::move(parameters));
}

Eigen::VectorXd value(const autodiff::Element& f, const Eigen::VectorXd& z) {
  Eigen::VectorXd values(f.outputs);
  f.evaluate(z.data(), values.data());
  return values;
}

Eigen::MatrixXd jacobian(const autodiff::Element& f, const Eigen::VectorXd& z) {
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> J(f.outputs, f.inputs);
  f.jacobian(z.data(), J.data());
  return J;
}

}  // namespace dodyn::dmoc
