// Integrators advance a state without regard to contact: (q0, p0) -> (q1, p1).
#pragma once

#include <memory>

#include "rigid/forces.hpp"
#include "rigid/inertia.hpp"
#include "rigid/options.hpp"
#include "rigid/state.hpp"

namespace dodyn::rigid {

template <int n>
class Integrator {
 public:
  virtual ~Integrator() = default;
  // Forgets previous steps. Call it after bodies were moved without steps.
  virtual void restart() {}
  // Advances from time t (s) over h (s). Returns false if the implicit equations were not solved. `to` must differ from
  // `from`.
  virtual bool advance(double t, double h, const State<n>& from, State<n>& to) = 0;
  // Returns the work (J) of the forces without potential in the last advance(), without stateful forces.
  virtual double work() = 0;
};

// Make the integrators. `world`, `bodies` and `forces` must outlive the result. `nodal`: Stepper::variational_nodal.
// `beta`: of (3.3), 0 or 1/4.
template <int n>
std::unique_ptr<Integrator<n>> make_integrator(Stepper stepper, const World<n>& world, const Multibody<n>& bodies,
                                               const Forces<n>& forces);
template <int n>
std::unique_ptr<Integrator<n>> make_midpoint(const World<n>& world, const Multibody<n>& bodies, const Forces<n>& forces,
                                             bool nodal);
template <int n>
std::unique_ptr<Integrator<n>> make_newmark(double beta, const Multibody<n>& bodies, const Forces<n>& forces);

// Return the mean frame of an interval. In the plane: the frame at the mean angle. In space: the mean of the directors,
// which is not a rotation.
inline geometry::Frame<2> middle(const Pose<2>& a, const Pose<2>& b) {
  return Pose<2>{0.5 * (a.position + b.position), 0.5 * (a.angle + b.angle)}.frame();
}
inline geometry::Frame<3> middle(const Pose<3>& a, const Pose<3>& b) {
  return {0.5 * (a.position + b.position), 0.5 * (a.directors + b.directors)};
}

}  // namespace dodyn::rigid
