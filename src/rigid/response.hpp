// How contact is answered: the last of the pieces that a simulation is made of.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "rigid/contact_points.hpp"
#include "rigid/detection.hpp"
#include "rigid/forces.hpp"
#include "rigid/integrator.hpp"
#include "rigid/multibody.hpp"
#include "rigid/options.hpp"
#include "rigid/state.hpp"

namespace dodyn::rigid {

// What stood in the way.
struct FailureCause {
  std::array<int, 2> bodies{-1, -1};  // -1: no contact
  double gap = 0.0;                   // overlap, m
  const char* what = "";
};

// How far a step advanced a state.
struct Progress {
  double done = 0.0;   // s; 0: not at all, the state is as it was
  double retry = 0.5;  // share of the time to try next
  FailureCause blame;  // of what was hardest, if anything was hard
  // Where the state is from: the integrator's last step, that step corrected by contact, or a search among steps.
  enum class Origin { step, corrected_step, search } origin = Origin::search;
};

template <int n>
struct StepRecord {
  Ledger<n> ledger;                         // since start()
  std::vector<ContactImpulse<n>> impulses;  // of the step
};

// The pieces of a simulation that a response works with; all outlive it.
template <int n>
struct Pieces {
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
  // The state was put somewhere else; the detection has just looked there.
  virtual void restart() {}
  // Moves the state on by at most h (s) from t (s), and adds what contact changed to the books.
  virtual Progress advance(double t, double h, State<n>& state, StepRecord<n>& books) = 0;
};

template <int n>
std::unique_ptr<ContactResponse<n>> make_response(const Pieces<n>& pieces);
template <int n>
std::unique_ptr<ContactResponse<n>> make_exact(const Pieces<n>& pieces);
template <int n>
std::unique_ptr<ContactResponse<n>> make_decomposition(const Pieces<n>& pieces);

// Whether bodies went from one list of frames to another, those of the last find(), without passing through each other
// or sinking too deep to tell which way is out. If not, `share` is the part of the way that brings them to contact.
struct PenetrationCheck {
  double share = 1.0;
  FailureCause blame;
  bool free() const { return share == 1.0; }
};
template <int n>
PenetrationCheck passage(const Pieces<n>& pieces, Frames<n> from, Frames<n> to);

// Coefficients of the two surfaces at a point.
template <int n>
double restitution(const World<n>& world, const ContactPoint<n>& point);
template <int n>
double friction(const World<n>& world, const ContactPoint<n>& point);

}  // namespace dodyn::rigid
