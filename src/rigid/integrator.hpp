// Steps of the motion as if there were no contact: (q0, p0) -> (q1, p1).
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
  // Forgets the steps before: the bodies were put somewhere else.
  virtual void restart() {}
  // From time t (s) over h (s). False: the implicit equations were not solved. `to` may not be `from`.
  virtual bool advance(double t, double h, const State<n>& from, State<n>& to) = 0;
  // Returns the work (J) that what has no potential, except actors, has done in the last advance().
  virtual double work() = 0;
};

// All but the stepper must outlive what they return.
template <int n>
std::unique_ptr<Integrator<n>> make_integrator(Stepper stepper, const World<n>& world, const Multibody<n>& bodies,
                                               const Forces<n>& forces);
template <int n>
std::unique_ptr<Integrator<n>> make_midpoint(const World<n>& world, const Multibody<n>& bodies, const Forces<n>& forces,
                                             bool nodal);
template <int n>
std::unique_ptr<Integrator<n>> make_newmark(double beta, const Multibody<n>& bodies, const Forces<n>& forces);

// Frame of the midpoint of an interval: in space of the director coordinates, so not a rotation.
inline geometry::Frame<2> middle(const Pose<2>& a, const Pose<2>& b) {
  return Pose<2>{0.5 * (a.position + b.position), 0.5 * (a.angle + b.angle)}.frame();
}
inline geometry::Frame<3> middle(const Pose<3>& a, const Pose<3>& b) {
  return {0.5 * (a.position + b.position), 0.5 * (a.directors + b.directors)};
}

}  // namespace dodyn::rigid
