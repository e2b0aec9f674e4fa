// Forces on the bodies of a world. With a potential: gravity, charges, users' potentials. Without: drag, users' forces.
#pragma once

#include <utility>
#include <vector>

#include "rigid/state.hpp"
#include "rigid/world.hpp"

namespace dodyn::rigid {

template <int n>
class Forces {
 public:
  // `more`: potentials in addition to the world's. The world must outlive this object.
  explicit Forces(const World<n>& world, std::vector<Potential<n>> more = {});

  // Returns V (J) at these frames, which need not be rotations. Sets `gradient` to dV/dq of each moving body.
  // `gradient` may be empty unless there are users' or additional potentials.
  double potential(Frames<n> at, std::span<ConfigurationGradient<n>> gradient) const;
  // Returns V (J) at these poses.
  double energy(const std::vector<Pose<n>>& poses);

  // Sets `out` to the wrench of the forces without potential on each body. Stateful forces (stateful_force.hpp) count
  // only if `actors` is true.
  void wrench(double t, Frames<n> at, std::span<const Twist<n>> velocity, std::span<Twist<n>> out,
              bool actors = true) const;

  bool has_wrench() const { return drag_ || !world_->forces.empty(); }
  // Whether forces change with configuration, velocity or time.
  bool vary() const { return has_wrench() || !charge_pairs_.empty() || !world_->potentials.empty() || !more_.empty(); }

 private:
  const World<n>* world_;
  std::vector<Potential<n>> more_;
  std::vector<std::pair<int, int>> charge_pairs_;
  mutable std::vector<Vector<n>> charge_at_;  // positions of the world's charges (world axes), then dV/d positions,
                                              // from the last call
  bool drag_ = false;
  std::vector<geometry::Frame<n>> frames_;
  std::vector<ConfigurationGradient<n>> gradient_;
};

// Returns the derivative of a potential by rotations about the centre of mass, in world axes, from its gradient at
// these directors. The torque of the potential is the negative of this result.
template <int n>
Spin<n> torque(const ConfigurationGradient<n>& gradient, const Matrix<n>& directors);

extern template class Forces<2>;
extern template class Forces<3>;

}  // namespace dodyn::rigid
