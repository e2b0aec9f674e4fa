// What acts on the bodies of a world: gravity, charges and users' potentials; drag and users' forces.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "rigid/state.hpp"
#include "rigid/world.hpp"

namespace dodyn::rigid {

template <int n>
class ChargeTree;

template <int n>
class Forces {
 public:
  // `more`: potentials added to the world's. The world must outlive this.
  explicit Forces(const World<n>& world, std::vector<Potential<n>> more = {});

  // Charges on as many bodies as this are summed by a tree, which leaves an error of at most ChargeTree::accuracy; on fewer by pairs.
  static constexpr int many_charged = 64;

  // V (J) at these frames, which need not be rotations; `gradient` becomes dV/dq of each body.
  double potential(Frames<n> at, std::span<ConfigurationGradient<n>> gradient) const;
  // V (J) at these poses.
  double energy(const std::vector<Pose<n>>& poses);

  // `out` becomes the wrench of what has no potential on each body, of actors (stateful_force.hpp) only where `actors`.
  void wrench(double t, Frames<n> at, std::span<const Twist<n>> velocity, std::span<Twist<n>> out,
              bool actors = true) const;

  bool has_wrench() const { return drag_ || !world_->forces.empty(); }
  // Whether forces change with configuration, velocity or time.
  bool vary() const {
    return has_wrench() || !charge_pairs_.empty() || charge_tree_ || !world_->potentials.empty() || !more_.empty();
  }

 private:
  const World<n>* world_;
  std::vector<Potential<n>> more_;
  std::vector<std::pair<int, int>> charge_pairs_;
  mutable std::vector<Vector<n>> charge_at_;  // of the world's charges, in the world, then dV/d those: of the last call
  std::shared_ptr<ChargeTree<n>> charge_tree_;  // instead of the pairs
  bool drag_ = false;
  std::vector<geometry::Frame<n>> frames_;
  std::vector<ConfigurationGradient<n>> gradient_;
};

// The torque about the centre of mass, negative, of a potential's gradient at these directors.
template <int n>
Spin<n> torque(const ConfigurationGradient<n>& gradient, const Matrix<n>& directors);

extern template class Forces<2>;
extern template class Forces<3>;

}  // namespace dodyn::rigid
