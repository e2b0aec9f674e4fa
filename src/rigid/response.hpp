// The interface of contact responses.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "rigid/contact_points.hpp"
#include "rigid/detection.hpp"
#include "rigid/forces.hpp"
#include "rigid/integrator.hpp"
#include "rigid/multibody.hpp"
#include "rigid/one_sided.hpp"
#include "rigid/options.hpp"
#include "rigid/state.hpp"

namespace dodyn::rigid {

// The contact or one-sided constraint that prevented a step.
struct FailureCause {
  std::array<int, 2> bodies{-1, -1};  // -1: no contact
  double gap = 0.0;                   // overlap, m
  const char* what = "";
  int constraint = -1;  // index in World::one_sided; -1: none
  bool is_known() const { return bodies[0] >= 0 || constraint >= 0; }
};

// Result of advancing a state.
struct Progress {
  double done = 0.0;   // time advanced, s; 0: the state is unchanged
  double retry = 0.5;  // fraction of the time to try next
  FailureCause cause;  // contact or constraint that the simulation reports if it fails here; is_known() false: none
  // Source of the state: the integrator's last step, that step corrected by contact, or the search of a collision time.
  enum class Origin { step, corrected_step, search } origin = Origin::search;
};

template <int n>
struct StepRecord {
  ContactTotals<n> contact_totals;          // totals since start()
  std::vector<ContactImpulse<n>> impulses;  // impulses of the step
  std::vector<ConstraintImpulse<n>> constraint_impulses;
};

// The components of a simulation that a response uses; they outlive it.
template <int n>
struct ResponseContext {
  const World<n>& world;
  const Options& options;
  const Multibody<n>& bodies;
  Forces<n>& forces;
  Integrator<n>& integrator;
  Detection<n>& detection;
};

template <int n>
class ContactResponse {
 public:
  virtual ~ContactResponse() = default;
  // Called after the state was set without a step. The detection has just found the contacts of the state.
  virtual void restart() {}
  // Advances the state by at most h (s) from t (s). Adds the changes by contact to the record.
  virtual Progress advance(double t, double h, State<n>& state, StepRecord<n>& record) = 0;
};

template <int n>
std::unique_ptr<ContactResponse<n>> make_response(const ResponseContext<n>& context);
template <int n>
std::unique_ptr<ContactResponse<n>> make_exact(const ResponseContext<n>& context);
template <int n>
std::unique_ptr<ContactResponse<n>> make_decomposition(const ResponseContext<n>& context);

// Result of check_penetration().
struct PenetrationCheck {
  double share = 1.0;  // fraction of the motion to try next, about the part before contact; 1: accepted
  FailureCause cause;
  bool free() const { return share == 1.0; }
};
// Tests whether bodies moved from the frames `from` to the frames `to` without tunnelling, and without sinking so deep
// that the exit direction is ambiguous. `to`: frames of the last find().
template <int n>
PenetrationCheck check_penetration(const ResponseContext<n>& context, Frames<n> from, Frames<n> to);

// Return the coefficients at a point: the geometric mean over the two surfaces, or the coefficient of the one-sided
// constraint.
template <int n>
double restitution(const World<n>& world, const ContactPoint<n>& point);
template <int n>
double friction(const World<n>& world, const ContactPoint<n>& point);

}  // namespace dodyn::rigid
