#include "systems/body_forces.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>

#include "autodiff/tape.hpp"
#include "systems/body_state.hpp"
#include "systems/mass_matrix.hpp"

namespace dodyn::systems {

using autodiff::Var;

namespace {

template <int n>
void write_frames(rigid::Frames<n> frames, double*& to) {
  constexpr int lanes = autodiff::Program::lanes;
  const auto put = [&](double x) {
    *to = x;
    to += lanes;
  };
  for (const auto& frame : frames) {
    for (int i = 0; i < n; ++i) put(frame.position[i]);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) put(frame.directors(i, j));
  }
}

// Writes frames and twists as inputs of a program. Returns the place behind them.
template <int n>
double* write_state(rigid::Frames<n> at, std::span<const rigid::Twist<n>> moving, double* to) {
  write_frames<n>(at, to);
  for (const auto& one : moving)
    for (int i = 0; i < rigid::Twist<n>::RowsAtCompileTime; ++i, to += autodiff::Program::lanes) *to = one[i];
  return to;
}

// Adds the outputs of a program to `wrench`. Its inputs are frames, twists and the lists in `numbers`.
template <int n>
void add_wrenches(const autodiff::Program& program, rigid::Frames<n> at, std::span<const rigid::Twist<n>> moving,
                  std::initializer_list<std::span<const double>> numbers, std::span<rigid::Twist<n>> wrench) {
  double* room = program.start();
  double* to = write_state<n>(at, moving, room);
  for (const auto& list : numbers)
    for (const double x : list) {
      *to = x;
      to += autodiff::Program::lanes;
    }
  program.run(room, 1);
  int output = 0;
  for (rigid::Twist<n>& one : wrench)
    for (int i = 0; i < rigid::Twist<n>::RowsAtCompileTime; ++i) one[i] += *program.output(room, output++);
}

}  // namespace

template <int n>
rigid::Potential<n> recorded_potential(const Bodies<n>& view) {
  constexpr int size = n * (n + 1);
  autodiff::Recording recording;
  std::vector<int> inputs;
  const std::size_t count = view.world.bodies.size();
  const auto frames = read_frames<n, Var>(count, false, [&] {
    const Var x = Var::input();
    inputs.push_back(x.node);
    return x;
  });
  const auto state = tree_state<n, Var>(view.tree, view.links, frames);
  const int energy = view.tree.potential_energy(state.frames, state.q.data()).node;
  std::vector<int> outputs = recording.graph.gradient(energy, inputs);
  outputs.push_back(energy);
  auto program = std::make_shared<const autodiff::Program>(recording.graph, outputs, static_cast<int>(inputs.size()));
  return [program, count](rigid::Frames<n> at, std::span<rigid::ConfigurationGradient<n>> gradient) {
    double* room = program->start();
    double* to = room;
    write_frames<n>(at, to);
    program->run(room, 1);
    for (std::size_t b = 0; b < count; ++b) {
      const int first = static_cast<int>(b) * size;
      for (int i = 0; i < n; ++i) {
        gradient[b](i, 0) += *program->output(room, first + i);
        for (int j = 0; j < n; ++j) gradient[b](i, j + 1) += *program->output(room, first + n + i * n + j);
      }
    }
    return *program->output(room, static_cast<int>(count) * size);
  };
}

std::vector<Stop> stops_of(const Tree<double>& tree) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  std::vector<Stop> stops;
  for (const auto& range : tree.ranges)
    stops.push_back({range.coordinate, range.from.value_or(-infinite), range.to.value_or(infinite),
                     range.speed.value_or(infinite), infinite, 0.0});
  if (stops.empty()) return stops;
  // Postures of a fixed lattice within 1 rad or 1 m of rest. The stops take the smallest inertia among them.
  constexpr int postures = 16;
  std::vector<double> q(tree.n());
  for (int posture = 0; posture < postures; ++posture) {
    for (std::size_t i = 0; i < q.size(); ++i) {
      const double x = posture * (0.6180339887498949 + 0.1 * static_cast<double>(i));
      q[i] = posture == 0 ? 0.0 : 2.0 * (x - std::floor(x)) - 1.0;
    }
    for (const Stop& stop : stops) {
      double& x = q[stop.coordinate];
      x = std::max(stop.from, std::min(stop.to, x));
    }
    const Eigen::LDLT<Eigen::MatrixXd> M(mass_matrix(tree, q));
    for (Stop& stop : stops) {
      const double inertia = 1.0 / M.solve(Eigen::VectorXd::Unit(tree.n(), stop.coordinate))[stop.coordinate];
      if (inertia > 0.0 && inertia < stop.stiffness) stop.stiffness = inertia;
    }
  }
  for (Stop& stop : stops) {
    const double inertia = std::isfinite(stop.stiffness) ? stop.stiffness : 0.0;
    stop.stiffness = inertia / (stop_time * stop_time);
    stop.damping = 2.0 * inertia / stop_time;
  }
  return stops;
}

namespace {

// Sums of the forces and torques on each body as autodiff variables, world axes, about the centre of mass.
template <int n>
struct Wrenches {
  const Bodies<n>& view;
  const std::vector<Frame<Var>>& frames;  // frame of each body
  const TreeState<Var>& state;
  std::vector<Vector3<Var>> force, torque;

  Wrenches(const Bodies<n>& of, const std::vector<Frame<Var>>& bodies, const TreeState<Var>& links)
      : view(of), frames(bodies), state(links), force(bodies.size(), {Var(0.0), Var(0.0), Var(0.0)}), torque(force) {}

  // Adds forces and torques at places. `pushes` must end with the forces of actuators on links. Torques of actuators in
  // world axes are not converted to link axes: a link's frame at a midpoint is not exactly a rotation, and the
  // conversion and its inverse would reduce the torques.
  template <class Pushes>
  void add_pushes(const Pushes& pushes, const std::vector<Var>& u) {
    std::vector<std::size_t> pushing;
    for (std::size_t i = 0; i < u.size(); ++i)
      if (view.tree.actuators[i].coordinate < 0) pushing.push_back(i);
    const std::size_t first = pushes.size() - pushing.size();
    for (std::size_t p = 0; p < pushes.size(); ++p) {
      const auto& push = pushes[p];
      if (push.place.link < 0) continue;
      const int b = view.links[push.place.link].body;
      const Vector3<Var> arm = Tree<double>::position(state.frames, push.place) - frames[b].origin;
      force[b] = force[b] + push.force;
      const auto* actuator = p >= first ? &view.tree.actuators[pushing[p - first]] : nullptr;
      Vector3<Var> turn;
      if (actuator && actuator->in_world)
        for (std::size_t i = 0; i < 3; ++i) turn[i] = u[pushing[p - first]] * actuator->torque[i];
      else
        turn = state.frames[push.place.link].rotation * push.torque;
      torque[b] = torque[b] + cross(arm, push.force) + turn;
    }
  }

  // Adds the force (or torque) on a coordinate of a link, and its reaction on the parent's body.
  void add_joint_force(std::size_t l, Move::Kind kind, const Vector3<Var>& way) {
    const int b = view.links[l].body;
    int parent = view.tree.links[l].parent;  // the nearest ancestor on another body
    while (parent >= 0 && view.links[parent].body == b) parent = view.tree.links[parent].parent;
    const int other = parent < 0 ? -1 : view.links[parent].body;
    if (kind == Move::turn) {
      torque[b] = torque[b] + way;
      if (other >= 0) torque[other] = torque[other] - way;
      return;
    }
    const Vector3<Var> at = state.frames[l].origin;  // the same point on both bodies
    force[b] = force[b] + way;
    torque[b] = torque[b] + cross(at - frames[b].origin, way);
    if (other < 0) return;
    force[other] = force[other] - way;
    torque[other] = torque[other] - cross(at - frames[other].origin, way);
  }
};

}  // namespace

// Recorded functions. states: frames and twists of bodies -> q, v of the tree. wrenches: these inputs, then controls
// and forces of stops -> wrenches on bodies. The type is outside of the unnamed namespace because the function that
// recorded_force() returns holds it.
struct ForcePrograms {
  std::shared_ptr<const autodiff::Program> states, wrenches;
};

namespace {
template <int n>
ForcePrograms record_forces(const Bodies<n>& view, const std::vector<Stop>& stops) {
  ForcePrograms programs;
  autodiff::Recording recording;
  int inputs = 0;
  const auto input = [&] {
    ++inputs;
    return Var::input();
  };
  const auto frames = read_frames<n, Var>(view.world.bodies.size(), true, input);
  const auto state = tree_state<n, Var>(view.tree, view.links, frames);
  std::vector<int> outputs;
  for (const auto* numbers : {&state.q, &state.v})
    for (const Var& x : *numbers) outputs.push_back(x.node);
  programs.states = std::make_shared<const autodiff::Program>(recording.graph, outputs, inputs);

  std::vector<Var> u;
  for (std::size_t i = 0; i < view.tree.actuators.size(); ++i) u.push_back(input());
  auto applied = view.tree.applied(state.frames, state.q.data(), state.v.data(), u.data());
  for (const Stop& stop : stops) applied.generalised[stop.coordinate] += input();
  Wrenches<n> wrenches(view, frames, state);
  wrenches.add_pushes(applied.pushes, u);
  for (std::size_t l = 0; l < view.tree.links.size(); ++l) {
    const auto& link = view.tree.links[l];
    for (std::size_t i = 0; i < link.moves.size(); ++i) {
      Vector3<Var> way = state.dual[link.first + i];
      for (Var& x : way) x = applied.generalised[link.first + i] * x;
      wrenches.add_joint_force(l, link.moves[i].kind, way);
    }
  }
  outputs.clear();
  for (std::size_t b = 0; b < frames.size(); ++b) {
    for (int i = 0; i < n; ++i) outputs.push_back(wrenches.force[b][i].node);
    for (int i = n == 2 ? 2 : 0; i < 3; ++i) outputs.push_back(wrenches.torque[b][i].node);
  }
  programs.wrenches = std::make_shared<const autodiff::Program>(recording.graph, outputs, inputs);
  return programs;
}

// Returns the force of a stop on its coordinate. Beyond the range a spring and a damper push the coordinate back, and
// never pull. Above the maximum speed a damper brakes the coordinate. Otherwise the force is 0.
double push_of(const Stop& stop, double x, double rate) {
  const double past = x > stop.to ? x - stop.to : x < stop.from ? x - stop.from : 0.0;
  const double push = past == 0.0 ? 0.0 : -stop.stiffness * past - stop.damping * rate;
  double sum = push * past < 0.0 ? push : 0.0;
  const double fast = std::abs(rate) - stop.speed;
  if (fast > 0.0) sum -= std::copysign(stop.damping * fast, rate);
  return sum;
}

}  // namespace

// The wrenches are recorded as functions of frames, twists and controls. q and v are computed only if the control or
// stops need them.
template <int n>
rigid::Force<n> recorded_force(const Bodies<n>& view, Control control, const std::vector<Stop>& stops) {
  std::vector<double> limits;
  for (const auto& actuator : view.tree.actuators)
    limits.push_back(actuator.limit.value_or(std::numeric_limits<double>::infinity()));
  return [=, programs = record_forces(view, stops), q = std::vector<double>(view.tree.n()),
          v = std::vector<double>(view.tree.n()), u = std::vector<double>(limits.size()),
          pushes = std::vector<double>(stops.size())](double t, rigid::Frames<n> at,
                                                      std::span<const rigid::Twist<n>> moving,
                                                      std::span<rigid::Twist<n>> wrench) mutable {
    std::ranges::fill(u, 0.0);
    if (control || !stops.empty()) {
      double* room = programs.states->start();
      write_state<n>(at, moving, room);
      programs.states->run(room, 1);
      for (std::size_t i = 0; i < q.size(); ++i) {
        q[i] = *programs.states->output(room, static_cast<int>(i));
        v[i] = *programs.states->output(room, static_cast<int>(q.size() + i));
      }
    }
    if (control) control(t, q, v, u);
    for (std::size_t i = 0; i < u.size(); ++i) u[i] = std::clamp(u[i], -limits[i], limits[i]);
    for (std::size_t i = 0; i < stops.size(); ++i)
      pushes[i] = push_of(stops[i], q[stops[i].coordinate], v[stops[i].coordinate]);
    add_wrenches<n>(*programs.wrenches, at, moving, {u, pushes}, wrench);
  };
}

bool uses_controls(const AppliedForce<double>& force) {
  return std::ranges::any_of(force.components, [](const Formula<double>& component) {
    return std::ranges::any_of(component.arguments,
                               [](const auto& argument) { return argument.variable.kind == Variable::control; });
  });
}

template <int n>
ActuatorForce<n> recorded_actuators(const Bodies<n>& view) {
  Bodies<n> driven = view;
  driven.tree.springs.clear();
  driven.tree.charges.clear();
  driven.tree.drags.clear();
  std::erase_if(driven.tree.loads, [](const auto& load) { return !uses_controls(load); });
  return [program = record_forces(driven, {}).wrenches](rigid::Frames<n> at, std::span<const rigid::Twist<n>> moving,
                                                        std::span<const double> u, std::span<rigid::Twist<n>> wrench) {
    add_wrenches<n>(*program, at, moving, {u}, wrench);
  };
}

template ActuatorForce<2> recorded_actuators(const Bodies<2>&);
template ActuatorForce<3> recorded_actuators(const Bodies<3>&);
template rigid::Potential<2> recorded_potential(const Bodies<2>&);
template rigid::Potential<3> recorded_potential(const Bodies<3>&);
template rigid::Force<2> recorded_force(const Bodies<2>&, Control, const std::vector<Stop>&);
template rigid::Force<3> recorded_force(const Bodies<3>&, Control, const std::vector<Stop>&);

}  // namespace dodyn::systems
