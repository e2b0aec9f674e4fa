// Forward simulation of a world of rigid bodies in contact.
//
//   Simulation<2> simulation(world, options);           // checks the world; reusable
//   simulation.start(poses, twists);                             // repeatable; only the first call allocates
//   const Outcome end = simulation.run(10.0, [](const auto& s) { return docked(s); });
//   if (end.status == Outcome::failed) std::cerr << end.reason;
//
// One step predicts (q, p) without contact (integrator.hpp). Then the chosen response (response.hpp) corrects the
// prediction. Nodes are at t0 + k step, however intervals are refined. Johnson 2013, sections 3.2 to 3.5.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "geometry/contact.hpp"
#include "rigid/options.hpp"
#include "rigid/state.hpp"
#include "rigid/world.hpp"

namespace dodyn::rigid {

// The result of a run. `failed`: a contact, a one-sided constraint or an implicit step could not be solved at `time`.
// `bodies`: bodies of the contact; -1, -1: no contact of shapes was the cause. `gap`: overlap of the contact or
// violation of the constraint (m or rad). `reason` names the contact or the constraint.
struct Outcome {
  enum Status { reached, stopped, failed };  // end time reached; stopped by the event; failed
  Status status = reached;
  double time = 0.0;
  std::array<int, 2> bodies{-1, -1};
  double gap = 0.0;
  std::string reason;
};

template <int n>
class Simulation {
 public:
  // Throws std::invalid_argument, one line, if a mass, tensor, joint or option is invalid.
  Simulation(World<n> world, Options options);
  ~Simulation();
  Simulation(Simulation&&) noexcept;
  Simulation& operator=(Simulation&&) noexcept;

  // Resets to time t with these poses and twists, one per body (the twist of a fixed body is ignored). Throws
  // std::invalid_argument: a wrong number of poses or twists; values that are not finite; directors that are not a
  // rotation; poses or twists that violate joints. Also, unless the response is `none`: bodies that overlap, or
  // one-sided constraints that are violated, by more than `tolerance`.
  void start(std::span<const Pose<n>> poses, std::span<const Twist<n>> twists, double t = 0.0);

  // Makes one step. Returns false if the step failed. Then outcome() has the reason, and the state is the state
  // at the last node.
  bool step();

  // Steps until the node nearest to `time`, or until `event` is true at a node (also tested at the start).
  Outcome run(double time, const std::function<bool(const Simulation&)>& event = {});

  const World<n>& world() const;
  const Options& options() const;
  double time() const;
  std::span<const Pose<n>> poses() const;
  std::span<const Twist<n>> twists() const;
  // Returns the contacts of touching parts at this node (within `tolerance`). Valid until the next call.
  std::span<const geometry::Contact<n>> contacts() const;
  // Returns the contact impulses of the last step; divided by its length they are mean forces. Empty for the responses
  // `none` and `penalty`.
  std::span<const ContactImpulse<n>> impulses() const;
  // Returns the impulses of one-sided constraints on their bodies in the last step.
  std::span<const ConstraintImpulse<n>> constraint_impulses() const;
  const Outcome& outcome() const;

  Energies<n> energies() const;
  Momenta<n> momenta() const;
  const ContactTotals<n>& contact_totals() const;
  double overlap() const;  // largest over all pairs, along the contact normal, m; negative: minus the smallest distance
                           // found

  // Returns the largest residual of joint and director constraints at this node; zero to round-off because of F_d.
  double constraint_residual() const;

 private:
  struct Machine;
  std::unique_ptr<Machine> machine_;
};

extern template class Simulation<2>;
extern template class Simulation<3>;

}  // namespace dodyn::rigid
