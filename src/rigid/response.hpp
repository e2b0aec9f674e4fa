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

// The contact that prevented a step.
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
  FailureCause cause;  // the most difficult contact, if any
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
  // The state was set without a step; the detection has just found its contacts.
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

// Tests whether bodies moved between two lists of frames, those of the last find(), without tunnelling and without
// sinking so deep that the exit direction is ambiguous. If not, `share` is the fraction of the motion up to contact.
struct PenetrationCheck {
  double share = 1.0;
  FailureCause cause;
  bool free() const { return share == 1.0; }
};
template <int n>
PenetrationCheck check_penetration(const ResponseContext<n>& context, Frames<n> from, Frames<n> to);

// Returns the coefficients of the two surfaces, or of the one-sided constraint, at a point.
template <int n>
double restitution(const World<n>& world, const ContactPoint<n>& point);
template <int n>
double friction(const World<n>& world, const ContactPoint<n>& point);

}  // namespace dodyn::rigid
