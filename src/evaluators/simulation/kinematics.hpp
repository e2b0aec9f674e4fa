// Quantities of a model that follow from the poses and velocities of its bodies: coordinates, rates, points, angles.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "systems/bodies.hpp"
#include "systems/full_turns.hpp"

namespace dodyn::evaluators::simulation {

// Return omega x r.
inline rigid::Vector<2> spin_velocity(const rigid::Spin<2>& omega, const rigid::Vector<2>& r) {
  return omega[0] * rigid::Vector<2>(-r[1], r[0]);
}
inline rigid::Vector<3> spin_velocity(const rigid::Spin<3>& omega, const rigid::Vector<3>& r) { return omega.cross(r); }

template <int n>
class Kinematics {
 public:
  // `view` must outlive this object. `follows_angles`: whether look_at_node() computes the coordinates, and counts the
  // full turns of angles in space. Otherwise these are within half a turn.
  Kinematics(const systems::Bodies<n>& view, bool follows_angles)
      : view_(view), follows_angles_(follows_angles), frames_(view.world.bodies.size()) {}

  // Begins a run at these coordinates.
  void begin(const std::vector<double>& q) { at_node_ = q; }
  // Uses the state of the next node of the run from now on. Both must stay valid.
  void look_at_node(std::span<const rigid::Pose<n>> poses, std::span<const rigid::Twist<n>> twists);
  // Uses this state from now on. Both must stay valid. In the middle of a step the directors need not be a rotation.
  void look(std::span<const rigid::Pose<n>> poses, std::span<const rigid::Twist<n>> twists);

  // Applies systems::misread_angle() to the last node. Needs `follows_angles`.
  std::string misread_angle() const { return systems::misread_angle(view_.tree, at_node_, v_at_node_); }
  // Returns the value of a variable other than parameters and controls.
  double value(const systems::Variable& variable);
  // Returns a coordinate (m) of a named point in the frame of a link.
  double seen_from(int link, int point, int axis);
  const geometry::Frame<n>& frame(int body);

 private:
  void compute_coordinates();
  std::optional<double> direct(const systems::Variable& variable);
  rigid::Vector<n> position(const systems::Place<double>& place);
  rigid::Vector<n> velocity(const systems::Place<double>& place);

  const systems::Bodies<n>& view_;
  bool follows_angles_;
  std::vector<double> at_node_, v_at_node_;  // coordinates and rates at the last node
  std::span<const rigid::Pose<n>> poses_;
  std::span<const rigid::Twist<n>> twists_;
  std::vector<std::optional<geometry::Frame<n>>> frames_;  // [bodies] those that were computed for this state
  bool coordinates_known_ = false;
  std::vector<double> q_, v_;
  std::vector<systems::Frame<double>> links_;
};

extern template class Kinematics<2>;
extern template class Kinematics<3>;

}  // namespace dodyn::evaluators::simulation
