#include "evaluators/simulation/kinematics.hpp"

#include <algorithm>

namespace dodyn::evaluators::simulation {

template <int n>
void Kinematics<n>::look(std::span<const rigid::Pose<n>> poses, std::span<const rigid::Twist<n>> twists) {
  poses_ = poses;
  twists_ = twists;
  coordinates_known_ = false;
  std::ranges::fill(frames_, std::nullopt);
}

// Computes the coordinates at every node, because a full turn between two observed states would not be counted.
template <int n>
void Kinematics<n>::look_at_node(std::span<const rigid::Pose<n>> poses, std::span<const rigid::Twist<n>> twists) {
  look(poses, twists);
  if (!follows_angles_) return;
  compute_coordinates();
  at_node_ = q_;
  v_at_node_ = v_;
}

template <int n>
void Kinematics<n>::compute_coordinates() {
  auto coordinates = view_.coordinates({{poses_.begin(), poses_.end()}, {twists_.begin(), twists_.end()}});
  if (n == 3 && follows_angles_) systems::add_full_turns(view_.tree, coordinates.q, at_node_);
  q_ = std::move(coordinates.q);
  v_ = std::move(coordinates.v);
  links_ = view_.tree.template frames<double>(q_.data(), v_.data());
  coordinates_known_ = true;
}

template <int n>
const geometry::Frame<n>& Kinematics<n>::frame(int body) {
  if (!frames_[body]) frames_[body] = poses_[body].frame();
  return *frames_[body];
}

template <int n>
rigid::Vector<n> Kinematics<n>::position(const systems::Place<double>& place) {
  rigid::Vector<n> at;
  for (int i = 0; i < n; ++i) at[i] = place.at[i];
  if (place.link < 0) return at;
  const auto& [body, origin, ring] = view_.links[place.link];
  for (int i = 0; i < n; ++i) at[i] += origin[i];
  return frame(body)(at);
}

template <int n>
rigid::Vector<n> Kinematics<n>::velocity(const systems::Place<double>& place) {
  if (place.link < 0) return rigid::Vector<n>::Zero();
  const int body = view_.links[place.link].body;
  const rigid::Spin<n> spin = twists_[body].template tail<rigid::Spin<n>::RowsAtCompileTime>();
  return twists_[body].template head<n>() + spin_velocity(spin, position(place) - frame(body).position);
}

template <int n>
double Kinematics<n>::seen_from(int link, int point, int axis) {
  const auto& [body, origin, ring] = view_.links[link];
  const rigid::Vector<n> at =
      frame(body).directors.transpose() * (position(view_.tree.named_points[point].place) - frame(body).position);
  return at[axis] - origin[axis];
}

// Returns the value of a variable that follows directly from the poses and velocities of the bodies: points, angles in
// the plane, and positions of roots. nullopt: the value needs all coordinates of the model.
template <int n>
std::optional<double> Kinematics<n>::direct(const systems::Variable& variable) {
  using systems::Variable;
  const auto& tree = view_.tree;
  const auto place = [&](int index) -> const auto& { return tree.named_points[index].place; };
  // 3D models have no variable of this kind. Links that are fixed to other links rotate with their body.
  const auto angle = [&](int link) {
    if constexpr (n == 2) return link < 0 ? 0.0 : poses_[view_.links[link].body].angle;
    return 0.0;
  };
  switch (variable.kind) {
    case Variable::position:
      return position(place(variable.index))[variable.axis];
    case Variable::velocity:
      return velocity(place(variable.index))[variable.axis];
    case Variable::speed:
      return velocity(place(variable.index)).norm();
    case Variable::distance:
      return (position(place(variable.index)) - position(place(variable.other))).norm();
    case Variable::angle:
      return angle(variable.index) - angle(variable.other);
    case Variable::coordinate:
    case Variable::rate: {
      std::size_t l = tree.links.size() - 1;
      while (tree.links[l].first > variable.index || tree.links[l].moves.empty()) --l;
      const auto& link = tree.links[l];
      const auto& move = link.moves[variable.index - link.first];
      if (n == 2 && move.kind == systems::Move::turn) {
        if (variable.kind == Variable::coordinate) return angle(static_cast<int>(l)) - angle(link.parent);
        const auto spin = [&](int of) { return of < 0 ? 0.0 : twists_[view_.links[of].body][2]; };
        return spin(static_cast<int>(l)) - spin(link.parent);
      }
      if (move.kind == systems::Move::turn || move.is_oblique() || link.parent >= 0) return std::nullopt;
      const systems::Place<double> origin{static_cast<int>(l), {}};
      return variable.kind == Variable::rate ? velocity(origin)[move.axis]
                                             : position(origin)[move.axis] - link.at[move.axis];
    }
    default:
      return std::nullopt;
  }
}

template <int n>
double Kinematics<n>::value(const systems::Variable& variable) {
  if (const auto known = direct(variable)) return *known;
  if (!coordinates_known_) compute_coordinates();
  return view_.tree.template value<double>(variable, links_, q_.data(), v_.data(), nullptr);
}

template class Kinematics<2>;
template class Kinematics<3>;

}  // namespace dodyn::evaluators::simulation
