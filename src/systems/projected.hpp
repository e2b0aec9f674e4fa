// Projected Hamilton's principle (Pekarek and Murphey, Global projections for variational nonsmooth mechanics). The
// elastic motion is q = P(z): z moves smoothly through the surface, and P reflects it there.
//
//   gap >= 0:  q = z;   gap < 0, in coordinates that include the gap z1, (14)-(16):
//   z1 -> -z1,   zi -> zi - 2 z1/(1 + k z1^2) Delta_i,   Delta_i = (M^-1)_i1/(M^-1)_11
// with M the mass matrix in those coordinates, so Delta = M^-1 grad(gap)/(grad(gap) . M^-1 grad(gap)) in the old ones.
// P is one-to-one for k > k_c, the square of the largest |d Delta/d(z2 ... zn)|. A system of a single angle with an
// even gap uses the cubic map of section V instead, with the corrected sign of b3.
#pragma once

#include <memory>

#include "systems/hybrid_model.hpp"
#include "variational/switched.hpp"

namespace dodyn::systems {

class Projected {
 public:
  // Records the Lagrangians on both sides of the surface gap = 0. Throws ConfigError unless the model has one contact
  // without friction and at most one constraint. The gap and the constraint must each be affine in a coordinate, except
  // the gap of a single angle. Throws also if the model has resets or forces without a potential. `system` must outlive
  // the object.
  explicit Projected(const HybridModel& system);

  struct Instance {
    std::unique_ptr<variational::Mechanics> inside, outside;  // functions of z; watched scalars: q = P(z), then its
                                                              // rate, [2 n]
    variational::Switch law;
    double k = 0.0, least_k = 0.0;  // k and k_c, 1/m^2; 0 for a single angle
  };
  // Returns the mechanics on both sides. k (1/m^2): 0 means 3 k_c, at least 1e-3; without effect for a single angle.
  // Throws ConfigError if k <= k_c, if the restitution is not 1, if the constraint is not separable from the contact at
  // its surface (Lemma 3), or, for a single angle, if the gap is not an even function that falls from 0 to half a turn,
  // or is zero at an angle of at most pi/4.
  Instance instance(const Values<double>& values, double k) const;

  int size() const { return static_cast<int>(kept_.size()); }  // number of coordinates of z
  // Converts (q, v) on the feasible side to z.
  void lift(const Eigen::VectorXd& q, const Eigen::VectorXd& v, const variational::Mechanics& model, Eigen::VectorXd& z,
            Eigen::VectorXd& rate) const;

  // Returns z in all coordinates; NaN for a coordinate that a constraint determines.
  Eigen::VectorXd all_coordinates(const Eigen::VectorXd& z) const;

 private:
  double bound(const std::vector<double>& parameters) const;  // returns an estimate of the largest |d Delta/dz|
  void check_constraint(const variational::Mechanics& model) const;

  const HybridModel& system_;
  int normal_ = -1, wire_ = -1;  // indices of the coordinates that the gap and the constraint replace
  bool circle_ = false;
  std::vector<int> kept_;  // indices of the coordinates of z, including the normal one
  variational::Recorded model_, inside_, outside_;
  std::shared_ptr<const autodiff::RecordedFunction> slope_;  // z -> d Delta_i/dz_k, i and k not the normal coordinate
};

}  // namespace dodyn::systems
