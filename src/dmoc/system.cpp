#include "dmoc/system.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "autodiff/vars.hpp"
#include "settings/config_error.hpp"
#include "systems/spherical.hpp"

namespace dodyn::dmoc {

using autodiff::Graph;
using autodiff::Program;
using autodiff::RecordedFunction;
using autodiff::Recording;
using autodiff::Var;
using systems::Model;
using systems::Tree;

namespace {

// Returns kinetic and potential energy of an interval in directors, J. The directors d_I and d_I' of both nodes are
// rotations, so E_IJ/2 dd_I.dd_J = tr E - E_IJ d_I.d_J'. E_IJ = int x_I x_J dm, about the centre of mass.
std::pair<Var, Var> director_energies(const Tree<Var>& first, const Tree<Var>& last, const Var& h,
                                      const std::vector<Var>& q0, const std::vector<Var>& q1) {
  using systems::operator-, systems::operator+;
  using systems::dot, systems::Vector3;
  const auto at = first.frames(q0.data()), next = last.frames(q1.data());
  Var twice(0.0), V(0.0);
  for (std::size_t l = 0; l < first.links.size(); ++l) {
    const auto& link = first.links[l];
    const Vector3<Var> a = at[l].point(link.centre), b = next[l].point(link.centre), way = b - a;
    const auto& J = link.inertia;
    twice += link.mass * dot(way, way);
    const auto along = [&](int i, int j) {
      Var sum(0.0);
      for (int k = 0; k < 3; ++k) sum += at[l].rotation[k][i] * next[l].rotation[k][j];
      return sum;
    };
    for (int i = 0; i < 3; ++i) twice += (J[(i + 1) % 3] + J[(i + 2) % 3] - J[i]) * (1.0 - along(i, i));
    if (link.skew)
      for (int i = 0; i < 3; ++i) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        twice += (2.0 * link.products[i]) * (along(j, k) + along(k, j));
      }
    const Vector3<Var> mean = a + b;
    V += (0.5 * link.mass) * (first.gravity * mean[first.dimension - 1]);
    if (first.has_lateral_gravity) V += (-0.5 * link.mass) * dot(first.lateral_gravity, mean);
  }
  for (const auto& rotor : first.rotors) {  // their coordinates are not angles of a chart: `first` and `last` agree
    const std::vector<Var> still(q0.size(), Var(0.0));
    const Var way = first.moving(rotor.place, q1.data(), still.data()).value -
                    first.moving(rotor.place, q0.data(), still.data()).value;
    twice += rotor.mass * (way * way);
  }
  V += 0.5 * (first.potential_energy(at, q0.data()) + last.potential_energy(next, q1.data()));
  return {0.5 * twice / (h * h), V};
}

std::vector<Var> recorded_parameters(int count) {
  std::vector<Var> p(count);
  for (Var& x : p) x = Var::parameter();
  return p;
}
}  // namespace

AtPoint at_point(const Scheme& scheme, int point, const std::vector<std::vector<Var>>& knots) {
  AtPoint at;
  for (std::size_t i = 0; i < knots.front().size(); ++i) {
    if (scheme.degree == 1) {  // with fewer roundings than the sums below
      at.q.push_back(0.5 * (knots[0][i] + knots[1][i]));
      at.change.push_back(knots[1][i] - knots[0][i]);
      continue;
    }
    Var q(0.0), change(0.0);
    for (int j = 0; j <= scheme.degree; ++j) {
      q += scheme.values(point, j) * knots[j][i];
      change += scheme.slopes(point, j) * knots[j][i];
    }
    at.q.push_back(q);
    at.change.push_back(change);
  }
  return at;
}

Var System::discrete_action(const std::vector<std::vector<Var>>& at, const Var& h,
                            const std::vector<Var>& parameters) const {
  const int size = 9 * std::ssize(charts_);
  const std::vector<Var> numbers(parameters.begin() + 1 + 2 * size, parameters.end());
  const Tree<Var> tree = model_.tree<Var>(numbers);
  if (directors_) {
    Tree<Var> first = tree, last = tree;
    refer(first, parameters.data() + 1);
    refer(last, parameters.data() + 1 + size);
    const std::vector<Var>&q0 = at.front(), &q1 = at.back();
    const auto [kinetic, potential] = director_energies(first, last, h, q0, q1);
    const Var more = energies_.empty() ? Var(0.0)
                                       : 0.5 * (additional_energy(first, numbers, first.frames(q0.data())) +
                                                additional_energy(last, numbers, last.frames(q1.data())));
    return h * (kinetic - potential - more);
  }
  const Var per_h = 1.0 / h;
  Var action(0.0);
  for (int point = 0; point < scheme_.degree; ++point) {
    auto [q, v] = at_point(scheme_, point, at);
    for (Var& rate : v) rate = rate * per_h;
    const Var share = Var(scheme_.weights(point)) * h;
    action = action + share * tree.lagrangian(q.data(), v.data());
    if (!energies_.empty()) action = action - share * additional_energy(tree, numbers, tree.frames(q.data()));
  }
  return action;
}

Function System::record_action(const std::vector<int>& moving, bool timed) const {
  const int n = this->n(), m = moving.size(), knots = scheme_.degree + 1, inputs = knots * m + (timed ? 1 : 0);
  Recording recording;
  Graph& graph = recording.graph;
  // Inputs: theta of the knots, the duration if it is unknown, weights for all slots; then the held coordinates, zero.
  std::vector<std::vector<Var>> at(knots, std::vector<Var>(n));
  for (auto& q : at)
    for (const int i : moving) q[i] = Var::input();
  Var time;
  if (timed) time = Var::input();
  std::vector<int> slots, weights;
  for (int i = 0; i < knots * n; ++i) weights.push_back(graph.input());
  for (auto& q : at)
    for (int i = 0; i < n; ++i)
      if (!std::ranges::binary_search(moving, i)) q[i] = Var::input();
  for (const auto& q : at)
    for (const Var& x : q) slots.push_back(x.node);

  const int size = 9 * std::ssize(charts_);
  const std::vector<Var> parameters = recorded_parameters(1 + 2 * size + model_.numbers());
  const Var h = timed ? time * parameters[0] : parameters[0];
  const int action = discrete_action(at, h, parameters).node;
  Program values(graph, graph.gradient(action, slots), inputs);

  std::vector<int> all = slots, variables;  // indices in `all`
  for (int knot = 0; knot < knots; ++knot)
    for (const int i : moving) variables.push_back(knot * n + i);
  if (timed) {
    variables.push_back(knots * n);
    all.push_back(time.node);
  }
  const auto differentiate = [graph = std::move(graph), action, slots, weights, all, variables, inputs,
                              parameters = autodiff::nodes_of(parameters)]() mutable {
    const std::vector<int> hessian = graph.differentiate(action, all).hessian;
    const auto second = [&](int i, int j) {
      return hessian[std::max(i, j) * (std::max(i, j) + 1) / 2 + std::min(i, j)];
    };
    std::vector<int> derivatives, of_variables;
    for (int slot = 0; slot < std::ssize(slots); ++slot)
      for (const int v : variables) derivatives.push_back(second(slot, v));
    for (std::size_t i = 0; i < variables.size(); ++i)
      for (std::size_t j = 0; j <= i; ++j) of_variables.push_back(second(variables[i], variables[j]));
    const int weighted = weights.size();
    Program jacobian(graph, derivatives, inputs);
    const std::vector<int> moved = graph.directional(of_variables, slots, weights);
    derivatives.insert(derivatives.end(), moved.begin(), moved.end());
    Program both(graph, derivatives, inputs + weighted);
    const int sum = graph.directional({action}, slots, weights).front();
    Program design(graph, graph.gradient(sum, parameters), inputs + weighted);
    return RecordedFunction::Derivatives{std::move(jacobian), std::move(both), std::move(design)};
  };
  return std::make_shared<RecordedFunction>(inputs, static_cast<int>(parameters.size()), knots * n, std::move(values),
                                            differentiate);
}

Var System::additional_energy(const Tree<Var>& tree, const std::vector<Var>& numbers,
                              const std::vector<systems::Frame<Var>>& frames) const {
  Var sum(0.0);
  for (const Energy& energy : energies_) sum += energy(tree, numbers, frames);
  return sum;
}

System::System(Model model, bool directors, std::vector<Energy> energies, int order)
    : model_(std::move(model)), scheme_(scheme_of_order(order)), directors_(directors), energies_(std::move(energies)) {
  assert(!directors || order == 2);
  const auto& tree = structure();
  if (directors) {
    for (std::size_t l = 0; l < tree.links.size(); ++l)
      if (systems::has_chart(tree.links[l].moves)) charts_.push_back(l);
    check_directors();
  }
  std::vector<Coefficient> upright;
  for (std::size_t i = 0; i < 9 * charts_.size(); ++i) upright.emplace_back(i % 9 % 4 == 0 ? 1.0 : 0.0);
  no_reference_ = std::make_shared<const std::vector<Coefficient>>(std::move(upright));
  simply_actuated_ = tree.drags.empty() && tree.loads.empty();
  for (const auto& spring : tree.springs) simply_actuated_ = simply_actuated_ && spring.damping.is_zero();
  for (const auto& actuator : tree.actuators) simply_actuated_ = simply_actuated_ && actuator.coordinate >= 0;
  const int size = n();
  energy_ = record_at(0, 2 * size, 0, [&](const auto& trees, const auto& numbers, const auto& z, const auto&) {
    const auto& t = trees[0];
    const std::vector<Var> q(z.begin(), z.begin() + size), v(z.begin() + size, z.end());
    const std::vector<Var> p = dmoc::momentum(t, q, v);
    Var e = -t.lagrangian(q.data(), v.data()) + additional_energy(t, numbers, t.frames(q.data()));
    for (std::size_t i = 0; i < v.size(); ++i) e += p[i] * v[i];
    return std::vector<Var>{e};
  });
}

const PinnedSystem& System::pinned(const std::vector<int>& held) const {
  const std::lock_guard lock(mutex_);
  auto& stored = held_[held];
  if (stored) return *stored;
  auto known = std::make_unique<PinnedSystem>();  // stored when it is complete: a recording may throw
  known->held = held;
  for (int i = 0; i < n(); ++i)
    if (std::ranges::find(held, i) == held.end()) known->moving.push_back(i);
  const std::vector<int>& moving = known->moving;
  const int m = moving.size(), size = n();
  known->action = record_action(moving, false);
  known->timed_action = record_action(moving, true);
  known->momentum = record_at_node(2 * m, 0, [&](const auto& tree, const auto& z, const auto&) {
    return dmoc::momentum(tree, whole(size, moving, z.data()), whole(size, moving, z.data() + m));
  });
  if (directors_)
    known->energy = record_at(2, 2 * m, 1, [&](const auto& trees, const auto& numbers, const auto& z, const auto& h) {
      const auto &first = trees[0], &last = trees[1];
      const std::vector<Var> q0 = whole(size, moving, z.data()), q1 = whole(size, moving, z.data() + m);
      const auto [kinetic, potential] = director_energies(first, last, h[0], q0, q1);
      Var sum = kinetic + potential;
      if (!energies_.empty())
        sum += 0.5 * (additional_energy(first, numbers, first.frames(q0.data())) +
                      additional_energy(last, numbers, last.frames(q1.data())));
      return std::vector<Var>{sum};
    });
  if (!simply_actuated_) record_pushes(*known);
  stored = std::move(known);
  return *stored;
}

// With directors, only coordinates outside charts have rates.
void System::record_pushes(PinnedSystem& known) const {
  const std::vector<int>& moving = known.moving;
  const int m = moving.size(), size = n(), controls = inputs(), degree = scheme_.degree;
  const auto pushed = [&](const auto& first, const auto& last, const std::vector<Var>& z, const Var& h) {
    std::vector<std::vector<Var>> at;
    for (int knot = 0; knot <= degree; ++knot) at.push_back(whole(size, moving, z.data() + knot * m));
    const Var* const u = z.data() + (degree + 1) * m;
    std::vector<Var> forces;  // impulses at the knots
    if (degree > 1) forces.assign((degree + 1) * size, Var(0.0));
    for (int point = 0; point < degree; ++point) {
      auto [q, v] = at_point(scheme_, point, at);
      for (Var& rate : v) rate = rate / h;
      if (degree == 1) {  // one impulse for both ends; with directors one at the start, then one at the end
        forces = directors_ ? first.forces(at[0].data(), v.data(), u) : first.forces(q.data(), v.data(), u);
        if (directors_) {
          const std::vector<Var> at_end = last.forces(at[1].data(), v.data(), u);
          forces.insert(forces.end(), at_end.begin(), at_end.end());
        }
        for (Var& f : forces) f = (0.5 * h) * f;
        break;
      }
      const std::vector<Var> force = first.forces(q.data(), v.data(), u + point * controls);
      for (int knot = 0; knot <= degree; ++knot)
        for (int i = 0; i < size; ++i)
          forces[knot * size + i] += (scheme_.weights(point) * scheme_.values(point, knot) * h) * force[i];
    }
    return forces;
  };
  const int inputs = (degree + 1) * m + degree * controls;
  known.forces =
      record_on_interval(inputs, 1, [&](const auto& first, const auto& last, const auto& z, const auto& extra) {
        return pushed(first, last, z, extra[0]);
      });
  known.timed_forces =
      record_on_interval(inputs + 1, 1, [&](const auto& first, const auto& last, const auto& z, const auto& extra) {
        return pushed(first, last, z, z.back() * extra[0]);
      });
}

const Function& System::known_as(const std::string& name, const std::function<Function()>& record_it) const {
  const std::lock_guard lock(mutex_);
  Function& f = known_[name];
  if (!f) f = record_it();
  return f;
}

std::vector<int> System::coordinates_of(int link) const {
  std::vector<int> all;
  for (int l = link; l >= 0; l = structure().links[l].parent) {
    const auto& on_the_way = structure().links[l];
    for (std::size_t i = 0; i < on_the_way.moves.size(); ++i) all.push_back(on_the_way.first + i);
    if (on_the_way.follower)
      for (const auto& argument : on_the_way.follower->place.arguments)
        if (argument.variable.kind == systems::Variable::coordinate) all.push_back(argument.variable.index);
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

bool System::is_chart(int coordinate) const {
  return std::ranges::any_of(charts_, [&](int l) {
    const auto& link = structure().links[l];
    const int i = coordinate - link.first;
    return i >= 0 && i < std::ssize(link.moves) && link.moves[i].kind == systems::Move::turn;
  });
}

// Throws ConfigError for expressions of charts' angles, and of rates that do not exist with directors.
void System::check_directors() const {
  const auto& tree = structure();
  const auto refuse = [&](const std::string& what, const std::string& why) {
    throw ConfigError(model_.origin + ": " + what + " " + why + ", which optimal motions in space do not support");
  };
  const auto angle = [&](const std::string& what, int coordinate) {
    if (coordinate >= 0 && is_chart(coordinate))
      refuse(what, "uses an angle of a spherical joint, '" + tree.coordinate_names[coordinate] + "'");
  };
  for (const auto& s : tree.springs) {
    angle("[spring " + s.name + "]", s.coordinate);
    if (s.coordinate < 0 && !s.damping.is_zero()) refuse("[spring " + s.name + "]", "damps a distance");
  }
  for (const auto& a : tree.actuators) angle("[actuator " + a.name + "]", a.coordinate);
  for (const auto& r : tree.ranges) angle("[joint-limit " + r.name + "]", r.coordinate);
  if (!tree.drags.empty()) refuse("[drag " + tree.drags.front().name + "]", "needs rates of a link");
  const auto formula = [&](const std::string& what, const auto& f) {
    for (const auto& argument : f.arguments) {
      const auto kind = argument.variable.kind;
      if (kind == systems::Variable::coordinate || kind == systems::Variable::rate)
        angle(what, argument.variable.index);
      if (kind == systems::Variable::velocity || kind == systems::Variable::speed) refuse(what, "needs a speed");
    }
  };
  for (const auto& r : tree.rotors) formula("[rotor " + r.name + "]", r.place);
  for (const auto& l : tree.links)
    if (l.follower) formula("[link " + l.name + "]", l.follower->place);
  for (const auto& p : tree.potentials) formula("[potential " + p.name + "]", p.energy);
  for (const auto& l : tree.loads)
    for (const auto& component : l.components) formula("[force " + l.name + "]", component);
}

Element element(const Function& function, const std::vector<Coefficient>& numbers,
                const std::vector<Coefficient>& extra, const std::vector<Reference>& references) {
  std::vector<Coefficient> parameters = extra;
  for (const Reference& r : references) parameters.insert(parameters.end(), r->begin(), r->end());
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
