#include "systems/body_forces.hpp"

#include <algorithm>

#include "autodiff/tape.hpp"
#include "systems/body_state.hpp"

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

// Damping, loads and actuators as wrenches on the bodies, recorded as functions of frames, twists and controls; q and v
// for the control, too.
template <int n>
rigid::Force<n> recorded_force(const Bodies<n>& view, Control control) {
  constexpr int twist = rigid::Twist<n>::RowsAtCompileTime;
  const std::size_t count = view.world.bodies.size(), actuators = view.tree.actuators.size();
  const int coordinates = view.tree.n();
  std::shared_ptr<const autodiff::Program> wrenches, states;
  {
    autodiff::Recording recording;
    int inputs = 0;
    const auto input = [&] {
      ++inputs;
      return Var::input();
    };
    const auto frames = read_frames<n, Var>(count, true, input);
    const auto state = tree_state<n, Var>(view.tree, view.links, frames);
    std::vector<int> outputs;
    for (const auto* numbers : {&state.q, &state.v})
      for (const Var& x : *numbers) outputs.push_back(x.node);
    states = std::make_shared<const autodiff::Program>(recording.graph, outputs, inputs);

    std::vector<Var> u;
    for (std::size_t i = 0; i < actuators; ++i) u.push_back(input());
    const auto applied = view.tree.applied(state.frames, state.q.data(), state.v.data(), u.data());
    const Vector3<Var> none{Var(0.0), Var(0.0), Var(0.0)};
    std::vector<Vector3<Var>> force(count, none), torque(count, none);
    for (const auto& push : applied.pushes) {
      if (push.place.link < 0) continue;
      const int b = view.links[push.place.link].body;
      const Vector3<Var> arm = Tree<double>::position(state.frames, push.place) - frames[b].origin;
      force[b] = force[b] + push.force;
      torque[b] = torque[b] + cross(arm, push.force) + state.frames[push.place.link].rotation * push.torque;
    }
    for (const auto& link : view.tree.links)
      for (std::size_t i = 0; i < link.moves.size(); ++i) {
        const int coordinate = link.first + static_cast<int>(i);
        const int b = view.links[static_cast<std::size_t>(&link - view.tree.links.data())].body;
        Vector3<Var> way = state.dual[coordinate];
        for (Var& x : way) x = applied.generalised[coordinate] * x;
        if (link.moves[i].kind == Move::slide) {  // at the link's origin
          force[b] = force[b] + way;
          torque[b] = torque[b] + cross(state.frames[&link - view.tree.links.data()].origin - frames[b].origin, way);
        } else {
          torque[b] = torque[b] + way;
          if (link.parent >= 0) torque[view.links[link.parent].body] = torque[view.links[link.parent].body] - way;
        }
      }
    outputs.clear();
    for (std::size_t b = 0; b < count; ++b) {
      for (int i = 0; i < n; ++i) outputs.push_back(force[b][i].node);
      for (int i = n == 2 ? 2 : 0; i < 3; ++i) outputs.push_back(torque[b][i].node);
    }
    wrenches = std::make_shared<const autodiff::Program>(recording.graph, outputs, inputs);
  }
  return [=, q = std::vector<double>(coordinates), v = std::vector<double>(coordinates),
          u = std::vector<double>(actuators)](double t, rigid::Frames<n> at, std::span<const rigid::Twist<n>> moving,
                                              std::span<rigid::Twist<n>> wrench) mutable {
    constexpr int lanes = autodiff::Program::lanes;
    const auto write = [&](double* room) {
      double* to = room;
      write_frames<n>(at, to);
      for (const auto& one : moving)
        for (int i = 0; i < twist; ++i, to += lanes) *to = one[i];
      return to;
    };
    std::fill(u.begin(), u.end(), 0.0);
    if (control) {
      double* room = states->start();
      write(room);
      states->run(room, 1);
      for (int i = 0; i < coordinates; ++i) {
        q[i] = *states->output(room, i);
        v[i] = *states->output(room, coordinates + i);
      }
      control(t, q, v, u);
    }
    double* room = wrenches->start();
    double* to = write(room);
    for (const double x : u) {
      *to = x;
      to += lanes;
    }
    wrenches->run(room, 1);
    int output = 0;
    for (std::size_t b = 0; b < count; ++b)
      for (int i = 0; i < twist; ++i) wrench[b][i] += *wrenches->output(room, output++);
  };
}

template rigid::Potential<2> recorded_potential(const Bodies<2>&);
template rigid::Potential<3> recorded_potential(const Bodies<3>&);
template rigid::Force<2> recorded_force(const Bodies<2>&, Control);
template rigid::Force<3> recorded_force(const Bodies<3>&, Control);

}  // namespace dodyn::systems
