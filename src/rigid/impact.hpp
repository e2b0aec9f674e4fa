// What impulses contacts exchange at one configuration: momenta before -> after.
#pragma once

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

  // p + what the impulses give
  void apply(const Eigen::VectorXd& p, Eigen::VectorXd& out) const;
};

template <int n>
class ImpactLaw {
 public:
  virtual ~ImpactLaw() = default;
  virtual void restart() {}
  // At the configuration of `inertia`, with momenta p, of which the forces of the step h (s) have given `by_forces`:
  // fills rows and impulse of `impact`, whose points it may thin out.
  virtual void resolve(const Inertia<n>& inertia, const Eigen::VectorXd& p, const Eigen::VectorXd& by_forces, double h,
                       Impact<n>& impact) = 0;
};

// Newton's restitution at every point of a group together, with friction; Friction::squared_ratio as printed.
template <int n>
std::unique_ptr<ImpactLaw<n>> make_newton(const World<n>& world, const Options& options);
// As printed, section 3.5.4: one reflection along the sum of gradients, frictional impulses summed.
template <int n>
std::unique_ptr<ImpactLaw<n>> make_printed(const World<n>& world, const Options& options);

// (3.118) as printed at contact c: p_slide and p_norm compared by their squared norms. Adds to nu and the impulses.
template <int n>
void printed_friction(int c, double mu, const Eigen::VectorXd& nu_before, Eigen::VectorXd& nu, Impact<n>& impact);

}  // namespace dodyn::rigid
