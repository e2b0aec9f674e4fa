// The hybrid integrator: motions as phases with fixed sets of active constraints, joined by jumps.
//
// A mode states for each contact whether it is open, sticks, or slides in one direction. Within a mode, a step from
// (q0, p0) solves for q1 and p1, and for the reactions r0 and r1 (D2, D4: derivatives with respect to q0 and q1):
//   p0 + D2 L_d(q0, q1) + F- + B(q0)^T r0 = 0,   g(q1) = 0         (Pekarek 2010, (3.1.8)-(3.1.10), with multipliers)
//   p1 = D4 L_d(q0, q1) + F+ + B(q1)^T r1,       G(q1) M^-1 p1 = 0
// Here g are the active constraints and G is their gradient. B equals G, except in the row of a sliding contact with
// friction: its reaction acts along n - mu w t, where w is the sign of the slip. The step is symmetric, so its
// compositions have order 4 and 6.
// A guard is a scalar whose sign change ends a mode: a gap, a contact force (lift-off), the distance to the friction
// cone, a slip speed, or the guard of a reset. The event time is the root of the guard over the length of the step.
// A jump is
//   p+ = relabel( ((1 + e) Q_after - e I) Q_before p- ).
// Q_before and Q_after are the M^-1-orthogonal projections on the momenta that the constraints before and after the
// jump allow. A search over modes finds the contacts that are closed after an impact: their normal impulses push, their
// friction impulses are in Coulomb's cone or on its edge against the slip, and contacts without an impulse do not
// approach (Newton's law of restitution).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "variational/mechanics.hpp"

namespace dodyn::variational {

struct Contact {
  std::string name;
  int gap = -1, slip = -1;  // rows of Formulation: the gap, >= 0; the position along the surface, -1: frictionless
  double restitution = 0.0, friction = 0.0;
  bool latch = false;  // bilateral after it has closed: it can pull
};
// A reset applies when the watched scalar `guard` falls through zero. Coordinates and rates are set to watched scalars.
struct Reset {
  std::string name;
  int guard = -1;
  std::vector<int> coordinates, rates;  // [n] index of the watched scalar that replaces each; -1: unchanged
};
struct Assembly {
  const Mechanics* mechanics = nullptr;
  std::vector<Contact> contacts;
  std::vector<int> constraints;               // rows that are always held at zero
  std::vector<std::string> constraint_names;  // [constraints]
  std::vector<Reset> resets;
};

// discrete_energy: (3.2.4) of Pekarek 2010. It applies to impacts of a single frictionless contact with restitution 1.
// All other impacts use the law `momentum`.
enum class JumpLaw { momentum, discrete_energy };

struct IntegratorOptions {
  double step = 1e-3;  // maximum step, s; the caller of advance() observes it
  int order = 2;       // 2 (midpoint rule); 4 or 6 by composition
  JumpLaw jump = JumpLaw::momentum;
  double rest_speed = 1e-6;  // m/s: up to this separation speed a contact that forces press together stays closed
  int max_events = 100000;   // limit since start() or resume()
};

enum class ContactState { open, slide, stick };
struct Mode {
  std::vector<ContactState> states;  // [contacts]
  std::vector<int> slip_directions;  // [contacts] sign of the slip if sliding; 0: frictionless
  std::vector<double> anchors;       // [contacts] slip position if sticking; not compared by ==
  bool operator==(const Mode& other) const {
    return states == other.states && slip_directions == other.slip_directions;
  }
};

struct Event {
  enum Kind { impact, reset, lift_off, slip, stick, rest, touch } kind = impact;
  double time = 0.0;
  int which = -1;     // index of the contact or the reset; of simultaneous impacts the first contact
  double loss = 0.0;  // loss of kinetic energy, J
};

// State of a motion: q and p at a time (s), and its mode.
struct HybridState {
  double time = 0.0;
  Eigen::VectorXd q, p;
  Mode mode;
  double discrete_energy = 0.0;  // energy of the interval that ends here (order 4 and 6: of its last stage), J
};

class HybridIntegrator {
 public:
  HybridIntegrator(const Assembly& assembly, const IntegratorOptions& options);

  // Starts at (q, v). q must satisfy the constraints, and no gap may be negative. Rates that violate constraints are
  // projected; closed contacts that approach collide at once. Returns an error message; empty: success.
  std::string start(double time, const Eigen::VectorXd& q, const Eigen::VectorXd& v);
  // Continues from an earlier state and clears all records (events, energies, maximum penetration, stop).
  void resume(const HybridState& state);
  // Applies the reset with index `which` now, with the impact that it causes. Returns an error message, for example if
  // a contact is then below its surface or if the reset would apply again; empty: success.
  std::string apply_reset(int which);
  // Moves to `time` in one step. Events and failures of Newton's method divide the step. Ends earlier at an event for
  // which `stop` returns true. Returns an error message; empty: success.
  std::string advance(double time, const std::function<bool(const Event&)>& stop = {});

  const HybridState& now() const { return now_; }
  Eigen::VectorXd velocity() const { return mechanics_.velocity(now_.q, now_.p); }
  // Computes the contact forces now, N, [contacts]: normal forces, and friction forces along the slip. Forces of open
  // contacts are zero.
  void forces(Eigen::VectorXd& normal, Eigen::VectorXd& tangential) const;
  const std::vector<Event>& events() const { return events_; }
  double dissipated_energy() const { return dissipated_energy_; }  // kinetic energy lost in all events, J
  double reset_energy() const { return reset_energy_; }            // potential energy that resets added, J
  bool stopped() const { return stopped_; }  // whether the last advance() ended at an event for which `stop` was true
  double max_penetration() const { return max_penetration_; }  // largest penetration of an open contact at a node, m
  bool applies_resets = true;                                  // whether resets happen in advance()
  // Called with the states before and after each event, if set.
  std::function<void(const HybridState&)> observer;

  // Makes one step of length h (s, may be negative) from a state in its mode. Ignores guards. Returns false if Newton's
  // method finds no solution.
  bool flow(const HybridState& from, double h, HybridState& to) const;

  // Rows held in a mode: gradients G and directions of reactions B, both [held, n]. A row that depends linearly on
  // earlier rows is left out.
  struct ActiveRows {
    std::vector<int> rows;
    std::vector<double> targets;  // values at which the rows are held
    Eigen::MatrixXd G, B;
  };
  ActiveRows held(const Mode& mode, const Eigen::VectorXd& q) const;

 private:
  struct Guard {
    enum Kind { gap, push, cone_up, cone_down, slip, resets } kind;
    int which;
  };
  // Makes one stage of length h from (q0, p0) in the mode of `to`. Sets q, p and the discrete energy of `to`. `rows`:
  // the held rows, at q0 on entry and at q1 on return. Returns false if Newton's method finds no solution.
  bool substep(ActiveRows& rows, const Eigen::VectorXd& q0, const Eigen::VectorXd& p0, double h, HybridState& to) const;
  std::vector<Guard> guards(const Mode& mode) const;
  Eigen::VectorXd values(const HybridState& at, const std::vector<Guard>& guards, Eigen::VectorXd* gap_rates) const;
  double locate(const Guard& guard, const HybridState& from, double h, double at_start) const;
  double locate_brief_closure(int contact, const HybridState& from, double h, double g0, double v0, double g1,
                              double v1) const;
  std::string handle(const Guard& guard, double rest_of_step);
  std::string collide(double rest_of_step);
  // A transition that choose_mode() avoids, because a guard has just ended that state.
  struct ForbiddenTransition {
    int contact;
    std::optional<ContactState> state;  // nullopt: every state that closes the contact
    int direction = 0;                  // direction of ContactState::slide
  };
  struct Combinations;
  struct Impact;
  using Rows = Mechanics::Rows;
  std::string choose_mode(std::optional<ForbiddenTransition> forbidden = {});
  Combinations resting_contacts(const Rows& rows, const Eigen::VectorXd& v, double slow, Mode& mode,
                                std::vector<double>& slips) const;
  bool forces_are_admissible(const Combinations& touching, const Rows& rows, const Eigen::VectorXd& v,
                             const ActiveRows& held, const std::vector<double>& slips, double slow) const;
  Impact impact_now(const Rows& rows) const;
  std::optional<Eigen::VectorXd> momentum_after(const Impact& impact, const Rows& rows) const;
  bool stay_at_rest(const Impact& impact, const Rows& rows);
  void keep_energy(int contact, double rest_of_step);
  void note(Event::Kind kind, int which, double loss);
  double kinetic(const Eigen::VectorXd& q, const Eigen::VectorXd& p) const;
  std::string at(const std::string& what) const;

  const Assembly& assembly_;
  const Mechanics& mechanics_;
  IntegratorOptions options_;
  std::vector<double> stages_;
  HybridState now_;
  std::vector<Event> events_;
  double dissipated_energy_ = 0.0, reset_energy_ = 0.0, max_penetration_ = 0.0;
  bool stopped_ = false, stop_ = false;
  std::function<bool(const Event&)> stop_at_;
};

}  // namespace dodyn::variational
