// Forward simulation of a world of rigid bodies in contact.
//
//   Simulation<2> simulation(world, options);           // checks the world; reusable
//   simulation.initial-state(poses, twists);                    // as often as you like, nothing is allocated after the first
//   const Outcome end = simulation.run(10.0, [](const auto& s) { return docked(s); });
//   if (end.status == Outcome::failed) std::cerr << end.reason;
//
// One step predicts (q, p) as if there were no contact (integrator.hpp), and the chosen response (response.hpp) mends
// what the prediction ignored. Nodes are at t0 + k step, whatever is refined in between. Johnson 2013, sections 3.2 to
// 3.5.
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

// How a run ended. `failed`: a contact or an implicit step could not be resolved at `time`, between `bodies` (-1, -1
// where no contact is to blame) at the overlap `gap` (m).
struct Outcome {
  enum Status { reached, stopped, failed };  // the end time; by the event; gave up
  Status status = reached;
  double time = 0.0;
  std::array<int, 2> bodies{-1, -1};
  double gap = 0.0;
  std::string reason;
};

template <int n>
class Simulation {
 public:
  // Throws std::invalid_argument with one line: mass, tensor, joint or option that makes no sense.
  Simulation(World<n> world, Options options);
  ~Simulation();
  Simulation(Simulation&&) noexcept;
  Simulation& operator=(Simulation&&) noexcept;

  // Back to time t with these poses and twists, one per body (of fixed bodies the twist is ignored). Jointed children
  // must agree with their joints. Throws std::invalid_argument where bodies overlap by more than `tolerance`.
  void start(std::span<const Pose<n>> poses, std::span<const Twist<n>> twists, double t = 0.0);

  // One step. False: could not be resolved, outcome() says why; the state is that of the last good node.
  bool step();

  // Steps until `time` (to the nearest node), or until `event` is true at a node (also checked at the start).
  Outcome run(double time, const std::function<bool(const Simulation&)>& event = {});

  const World<n>& world() const;
  const Options& options() const;
  double time() const;
  std::span<const Pose<n>> poses() const;
  std::span<const Twist<n>> twists() const;
  // Pairs of parts that touch at this node (from the last response; contact.body and .part name them).
  std::span<const geometry::Contact<n>> contacts() const;
  // Impulses of contact during the last step (not of the responses `none` and `penalty`); over its length they are forces.
  std::span<const ContactImpulse<n>> impulses() const;
  const Outcome& outcome() const;

  Energies<n> energies() const;
  Momenta<n> momenta() const;
  const Ledger<n>& ledger() const;
  double overlap() const;  // largest over all pairs, along the contact normal, m; negative: the smallest distance seen

  // Largest joint and director constraint residual at this node: g(F_d) = 0 to round-off.
  double constraint_residual() const;

 private:
  struct Machine;
  std::unique_ptr<Machine> machine_;
};

extern template class Simulation<2>;
extern template class Simulation<3>;

// Nodes of a run, kept every `every` steps: pass as (or from) the event of run().
template <int n>
struct Recording {
  int every = 1;
  std::vector<double> time;
  std::vector<std::vector<Pose<n>>> poses;  // [node][body]
  std::vector<std::vector<Twist<n>>> twists;
  std::vector<Energies<n>> energies;

  void operator()(const Simulation<n>& simulation);  // appends the node
  int calls = 0;
};

}  // namespace dodyn::rigid
