// Forward simulation of a world of rigid bodies in contact.
//
//   Simulation<2> simulation(world, options);           // checks the world; reusable
//   simulation.start(poses, twists);                    // as often as you like, nothing is allocated after the first
//   run Outcome end = simulation.run(10.0, [](const Simulation<2>& s) { return docked(s); }); if (end.status ==
//   Outcome::failed) ... end.reason
//
// One step predicts (q, p) by the chosen stepper as if there were no contact, and the chosen response mends what the
// prediction ignored. Nodes are at t0 + k step, whatever is refined in between. Johnson 2013, sections 3.2 to 3.5.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "geometry/contact.hpp"
#include "rigid/world.hpp"

namespace dodyn::rigid {

enum class Stepper {
  variational,       // constrained midpoint variational integrator in (q, p) form, null space and nodal
                     // reparametrisation (3.13), (3.17); in the plane in x, y, theta
  newmark_explicit,  // (3.3) with beta = 0, gamma = 1/2; free bodies only
  newmark_implicit,  // (3.3) with beta = 1/4, gamma = 1/2; free bodies only
};
enum class Response {
  none,
  penalty,        // potential C/2 g^2 of the overlap (3.38)
  exact,          // collision time and impact solved (3.75), (3.76); fails where contact lasts
  decomposition,  // DCR (section 3.5): closest-point projection, lift, impulses
};
enum class JumpCondition { kinetic_energy, discrete_energy };  // of `exact`: (3.73) or (3.76b)
enum class Friction {
  cone,           // |tangential impulse| <= mu * normal impulse
  squared_ratio,  // as printed, (3.118): ratio of squared kinetic norms
};
enum class Group {
  each,  // one normal impulse >= 0 per contact point, all of a group solved together with friction
  sum,   // as printed, section 3.5.4: one reflection along the sum of gradients; frictional impulses summed
};

struct Options {
  double step = 1e-3;  // h, s
  Stepper stepper = Stepper::variational;
  Response response = Response::decomposition;
  double stiffness = 1e4;  // C of `penalty`, N/m
  JumpCondition jump = JumpCondition::kinetic_energy;
  Friction friction = Friction::cone;
  Group group = Group::each;
  double tolerance = 1e-9;  // overlap left at a node by `exact` and `decomposition`, m
  double refine = 0.25;     // a step is cut where a body would go deeper than this share of the thinner part
  int max_cuts = 40;        // of one step, before the simulation fails
  // Contacts closing slower than this many times the speed that forces give the two bodies in one step do not bounce.
  double resting = 2.0;
};

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
struct Energies {
  double kinetic = 0.0, potential = 0.0;  // potential: gravity, charges, users'; of the penalty too
  double total() const { return kinetic + potential; }
};
template <int n>
struct Momenta {
  Vector<n> linear = Vector<n>::Zero();
  Spin<n> angular = Spin<n>::Zero();  // about the origin
};

// What the decomposition response changed since start(), in sums: subtract from the invariants before judging them.
template <int n>
struct Ledger {
  Energies<n> projection;      // by moving overlapping bodies apart, momenta lifted
  Momenta<n> momentum;         // the same, of momentum (about the origin)
  double impact = 0.0;         // kinetic energy change by impulses, J: <= 0
  int impulses = 0, cuts = 0;  // node updates with contact; refined steps
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

  // Steps until `time` (to the nearest node), or until `event` is true at a node (also asked at the start).
  Outcome run(double time, const std::function<bool(const Simulation&)>& event = {});

  const World<n>& world() const;
  const Options& options() const;
  double time() const;
  std::span<const Pose<n>> poses() const;
  std::span<const Twist<n>> twists() const;
  // Pairs of parts that touch at this node (from the last response; contact.body and .part tell which).
  std::span<const geometry::Contact<n>> contacts() const;
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
