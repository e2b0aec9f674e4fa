#include "systems/body_constraints.hpp"

#include <memory>
#include <optional>

#include "autodiff/tape.hpp"
#include "rigid/forces.hpp"
#include "systems/body_state.hpp"

namespace dodyn::systems {

using autodiff::Program;
using autodiff::Var;

namespace {

// Number of inputs that describe a pose. 2D: x, y and the angle; 3D: the position and the rotation row by row.
template <int n>
constexpr int pose_size = n == 2 ? 3 : 12;

template <int n>
void write_poses(std::span<const rigid::Pose<n>> poses, double* to) {
  const auto put = [&](double x) {
    *to = x;
    to += Program::lanes;
  };
  for (const auto& pose : poses) {
    for (int i = 0; i < n; ++i) put(pose.position[i]);
    if constexpr (n == 2)
      put(pose.angle);
    else
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) put(pose.directors(i, j));
  }
}

// Records the poses of bodies, and the state of the tree that follows from them.
template <int n>
TreeState<Var> record_state(const Bodies<n>& view, std::vector<int>& inputs) {
  const auto input = [&] {
    const Var x = Var::input();
    inputs.push_back(x.node);
    return x;
  };
  if constexpr (n == 3) {
    return tree_state<n, Var>(view.tree, view.links, read_frames<n, Var>(view.world.bodies.size(), false, input));
  } else {
    std::vector<Frame<Var>> frames;
    std::vector<Var> angles;
    for (std::size_t b = 0; b < view.world.bodies.size(); ++b) {
      Frame<Var> f = Frame<Var>::at_rest();
      for (int i = 0; i < n; ++i) f.origin[i] = input();
      angles.push_back(input());
      const Var c = cos(angles.back()), s = sin(angles.back());
      f.rotation[0][0] = f.rotation[1][1] = c;
      f.rotation[1][0] = s;
      f.rotation[0][1] = -s;
      frames.push_back(f);
    }
    TreeState<Var> state = tree_state<n, Var>(view.tree, view.links, frames);
    // the angles of bodies, which frames know within half a turn
    const auto angle = [&](int link) { return link < 0 ? Var(0.0) : angles[view.links[link].body]; };
    for (std::size_t l = 0; l < view.tree.links.size(); ++l) {
      const auto& link = view.tree.links[l];
      state.frames[l].angle = angle(l);
      if (!link.moves.empty() && link.moves.back().kind == Move::turn)
        state.q[link.first + link.moves.size() - 1] = angle(l) - angle(link.parent);
    }
    return state;
  }
}

// Reads the slope of a function from its partial derivatives with respect to the numbers of a pose.
template <int n, class Next>
rigid::Twist<n> slope_of(const rigid::Pose<n>& pose, Next next) {
  rigid::Twist<n> slope;
  if constexpr (n == 2) {
    for (int i = 0; i < 3; ++i) slope[i] = next();
  } else {
    rigid::ConfigurationGradient<n> gradient;
    for (int i = 0; i < n; ++i) gradient(i, 0) = next();
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) gradient(i, j + 1) = next();
    slope.template head<n>() = gradient.col(0);
    slope.template tail<3>() = rigid::torque<n>(gradient, pose.directors);
  }
  return slope;
}

}  // namespace

template <int n>
std::vector<rigid::OneSidedConstraint<n>> recorded_constraints(const Bodies<n>& view,
                                                               const std::vector<GapContact>& contacts,
                                                               const std::vector<double>& numbers) {
  std::vector<rigid::OneSidedConstraint<n>> constraints;
  if (contacts.empty()) return constraints;
  autodiff::Recording recording;
  std::vector<int> inputs;
  const TreeState<Var> state = record_state(view, inputs);
  const auto recorded = [&](const Formula<Number>& formula) {
    Formula<double> x{formula.expression, {}};
    for (const auto& argument : formula.arguments)
      x.arguments.push_back({argument.variable, Model::at(argument.parameter, numbers)});
    return view.tree.value(x, state.frames, state.q.data(), state.v.data(), static_cast<const Var*>(nullptr)).node;
  };
  const auto is_zero = [&](int node) {
    const auto& known = recording.graph.nodes()[node];
    return known.operation == autodiff::Operation::constant && known.constant == 0.0;
  };
  constexpr int size = pose_size<n>;
  for (const GapContact& contact : contacts) {
    const int gap = recorded(contact.gap);
    std::vector<std::vector<int>> gradients = {recording.graph.gradient(gap, inputs)};
    if (contact.slip) gradients.push_back(recording.graph.gradient(recorded(*contact.slip), inputs));
    rigid::OneSidedConstraint<n> constraint;
    constraint.name = contact.name;
    constraint.restitution = Model::at(contact.restitution, numbers);
    constraint.friction = Model::at(contact.friction, numbers);
    for (int b = 0; b < std::ssize(view.world.bodies); ++b) {
      bool depends = false;
      for (const auto& gradient : gradients)
        for (int i = 0; i < size; ++i) depends |= !is_zero(gradient[b * size + i]);
      if (depends) constraint.bodies.push_back(b);
    }
    std::vector<int> outputs;
    for (const auto& gradient : gradients)
      for (const int b : constraint.bodies)
        outputs.insert(outputs.end(), gradient.begin() + b * size, gradient.begin() + (b + 1) * size);
    outputs.push_back(gap);
    const int count = inputs.size();
    const auto value = std::make_shared<const Program>(recording.graph, std::vector<int>{gap}, count);
    const auto slopes = std::make_shared<const Program>(recording.graph, outputs, count);
    const bool slides = contact.slip.has_value();
    constraint.gap = [value, slopes, slides, bodies = constraint.bodies](std::span<const rigid::Pose<n>> poses,
                                                                         std::span<rigid::Twist<n>> gap_slope,
                                                                         std::span<rigid::Twist<n>> slip_slope) {
      const Program& program = gap_slope.empty() ? *value : *slopes;
      double* room = program.start();
      write_poses<n>(poses, room);
      program.run(room, 1);
      int output = 0;
      const auto next = [&] { return *program.output(room, output++); };
      if (gap_slope.empty()) return next();
      for (std::size_t i = 0; i < bodies.size(); ++i) gap_slope[i] = slope_of<n>(poses[bodies[i]], next);
      for (std::size_t i = 0; i < bodies.size(); ++i)
        slip_slope[i] = slides ? slope_of<n>(poses[bodies[i]], next) : rigid::Twist<n>(rigid::Twist<n>::Zero());
      return next();
    };
    constraints.push_back(std::move(constraint));
  }
  return constraints;
}

template std::vector<rigid::OneSidedConstraint<2>> recorded_constraints(const Bodies<2>&,
                                                                        const std::vector<GapContact>&,
                                                                        const std::vector<double>&);
template std::vector<rigid::OneSidedConstraint<3>> recorded_constraints(const Bodies<3>&,
                                                                        const std::vector<GapContact>&,
                                                                        const std::vector<double>&);

}  // namespace dodyn::systems
