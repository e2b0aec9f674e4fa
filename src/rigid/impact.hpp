// Computes the contact impulses at one configuration: momenta before -> after.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "rigid/impulses.hpp"
#include "rigid/response.hpp"

namespace dodyn::rigid {

// Contact points and the impulses on body 1 at them: n numbers per point, along rows.direction(point, k), normal first.
template <int n>
struct Impact {
  std::vector<ContactPoint<n>> points;
  ContactRows<n> rows;
  std::vector<double> impulse;  // N s
  std::vector<char> rests;      // per point: its island rests and has no impact
  double residual = 0.0;        // largest error of a contact velocity after the solution, m/s
  int energy_limited = 0;       // number of islands in which the law would have increased the energy
  // Change of kinetic energy by the impulses of resting islands, without the energy that friction dissipates, J. These
  // impulses compensate the forces of the prediction.
  double lasting = 0.0;
  double residual_projection_energy =
      0.0;  // energy that the projection gave to an island and that its impact cannot remove, J; 0: negligible

  void report(StepRecord<n>& record) const;  // appends the impulses that are not zero
  // Sets `out` to p plus the momenta of the impulses.
  void apply(const Eigen::VectorXd& p, Eigen::VectorXd& out) const;
};

template <int n>
class ImpactLaw {
 public:
  virtual ~ImpactLaw() = default;
  virtual void restart() {}
  // Computes the impulses at the configuration of `inertia` from the momenta p. by_forces: the part of p from the
  // forces of this step of length h (s). `impact.points` is given; fills the other members of `impact`.
  // `projection_energy` returns the energy (J) that the projection gave to each body or tree, at its first degree of
  // freedom.
  virtual void resolve(const Inertia<n>& inertia, const Eigen::VectorXd& p, const Eigen::VectorXd& by_forces, double h,
                       const std::function<const Eigen::VectorXd&()>& projection_energy, Impact<n>& impact) = 0;
};

// Makes the law of restitution (Newton or Poisson) with friction, for all points of an island simultaneously. `world`
// and `options` must outlive the law.
template <int n>
std::unique_ptr<ImpactLaw<n>> make_with_restitution(const World<n>& world, const Options& options);

}  // namespace dodyn::rigid
