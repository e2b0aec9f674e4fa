// What impulses contacts exchange at one configuration: momenta before -> after.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "rigid/impulses.hpp"
#include "rigid/response.hpp"

namespace dodyn::rigid {

// Contact points and the impulses at them: n numbers per point, along rows.direction(point, k), normal first, on body 1.
template <int n>
struct Impact {
  std::vector<ContactPoint<n>> points;
  ContactRows<n> rows;
  std::vector<double> impulse;  // N s
  std::vector<char> rests;      // per point: its island rests, it has no impact
  double residual = 0.0;        // largest error of a velocity that the solution leaves, m/s
  int energy_limited = 0;       // islands in which the law would have made energy
  // Change of kinetic energy by impulses of islands at rest, without friction's share, J: they undo the forces of the prediction.
  double lasting = 0.0;
  double residual_projection_energy =
      0.0;  // energy that the projection gave an island and its impact cannot take back, J; 0: little

  void report(std::vector<ContactImpulse<n>>& out) const;  // appends those that are not zero
  // p + what the impulses give
  void apply(const Eigen::VectorXd& p, Eigen::VectorXd& out) const;
};

template <int n>
class ImpactLaw {
 public:
  virtual ~ImpactLaw() = default;
  virtual void restart() {}
  // At the configuration of `inertia`, with momenta p, of which the forces of the step h (s) have given `by_forces`:
  // fills `impact` and may remove points of it. `projection_energy` returns the energy (J) that the projection has given to each
  // body or tree, at its first degree of freedom.
  virtual void resolve(const Inertia<n>& inertia, const Eigen::VectorXd& p, const Eigen::VectorXd& by_forces, double h,
                       const std::function<const Eigen::VectorXd&()>& projection_energy, Impact<n>& impact) = 0;
};

// Newton's or Poisson's restitution at every point of a group together, with friction.
template <int n>
std::unique_ptr<ImpactLaw<n>> make_with_restitution(const World<n>& world, const Options& options);

}  // namespace dodyn::rigid
