// The transcription of a motion by discrete mechanics and optimal control (DMOC; Pekarek 2010, chapters 3 and 4).
//
// A motion is phases joined by events. In a phase some coordinates of the system are held at zero (a foot that stands on
// the origin), the others move: on K intervals of equal length h = T/K a node holds them, theta_k, and controls u_k are
// constant over an interval.
//
//   the forced discrete Euler-Lagrange equations (3.1.10) at nodes 1 ... K-1 of a phase,
//   at an event, in momenta, with the velocities v-, v+ before and after as unknowns:
//     dL/dv(theta_K, v-) = D4 L_d(K-1, K) + F+       the momentum that arrives, on the constraint (Q_N)
//     dL/dv(theta_0, v+) = -D2 L_d(0, 1) - F-        the momentum that leaves
//     relabelled dL/dv- = dL/dv+                     in what moves afterwards: no impulse but on what is held (P_S)
//     relabelled theta_K = shift + theta_0,
//   and at a boundary coordinates and rates as they are given.
//
// A gait is one phase and one event, from its end to its own start, that exchanges the legs; a hopper's hop two phases
// and two events. transcribe() lays out unknowns and these rows; costs and path constraints are added to problem()
// by whoever wants them, through the indices, before finish().
#pragma once

#include <Eigen/Core>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dmoc/system.hpp"
#include "nlp/assembled_problem.hpp"
#include "nlp/problem.hpp"

namespace dodyn::dmoc {

// Numbers of unknowns, one list after the other.
inline std::vector<int> joined(std::vector<int> a, const std::vector<int>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// sum of coefficient times the force (or impulse) on held coordinates, >= 0. A friction cone is a few of these.
using ForceCondition = std::vector<std::pair<int, Coefficient>>;  // coordinate (of a Hold: component), coefficient

struct Phase {
  std::string name;
  std::vector<int> held = {};
  int intervals = 20;                                                     // K
  Coefficient duration = 1.0;                                             // T, s
  std::optional<std::pair<Coefficient, Coefficient>> free_duration = {};  // bounds where T is an unknown
  std::vector<std::pair<Coefficient, Coefficient>> controls = {};         // bounds, one pair per actuator
  std::vector<std::pair<int, std::pair<Coefficient, Coefficient>>> ranges =
      {};  // of coordinates that move, at all nodes
  // Has the work of each interval and actuator as unknowns, split in w+ and w-: u . (theta' - theta); or with
  // `work_at_ends` that of either half, (h/2) u . v with the rates v of the nodes at both ends, central differences inside,
  // those of events and boundaries at the phase's ends. The former gives a torque for nothing to a joint that stands still
  // over an interval, however fast it is before and after: work costs then have no least.
  bool work = false, work_at_ends = false;
  std::vector<ForceCondition> forces = {};  // of what is held: at every node, and of the impulse that begins the phase
  // In directors: of the nodes, [K + 1], those where phases meet alike; or empty: none. What nodes share stays cheap.
  std::vector<Reference> references = {};
};

// From the end of a phase to the start of another, or of itself.
struct Event {
  int from = 0, to = 0;
  // theta_K -> coordinates, and (theta_K, v-) -> momentum dL/dv-, both seen after a relabelling: [n]. Null: none.
  Element configuration = {}, momentum = {};
  std::vector<Coefficient> shift = {};  // [n] how far they are ahead of those that the next phase starts with; or empty
};

// Functions g of a posture, with their slopes G with respect to what moves.
struct PositionFunction {
  int size = 0;     // of g
  Function values;  // theta -> g
  Function rates;   // (theta, v) -> G v
  Function push;    // (theta, forces [size]) -> G^T forces, of what moves
};

// What a phase holds besides coordinates (hold.hpp).
struct Hold {
  int phase = 0;
  PositionFunction function;
  std::vector<Coefficient> parameters = {};  // numbers that `function` takes besides the model's
  std::vector<bool> at_zero;      // [size] g is zero at all nodes; otherwise as it is at the phase's first node
  bool inherited = false;         // the phase before ends where these are zero
  std::optional<int> event = {};  // that begins the phase
  std::vector<ForceCondition> conditions = {};  // of components of g: at every node, and of the impulse of the event
};

// What is known of a node: values of coordinates and rates, by coordinate.
struct Boundary {
  int phase = 0;
  bool end = false;  // of the phase's end, not its start
  std::vector<std::pair<int, Coefficient>> coordinates = {}, rates = {};
  bool moving = false;  // the velocities are unknowns in any case
};

// Where things stand among the unknowns of a phase.
struct PhaseIndex {
  int first = 0, moving = 0, controls = 0, intervals = 0;
  int halves = 0;                                 // of an interval whose work are unknowns: 0, 1 (the whole) or 2
  int duration = -1;                              // the unknown T, or -1
  int velocity_before = -1, velocity_after = -1;  // at the phase's end and start; -1: not asked for
  int stride() const { return moving + controls + 2 * halves * controls; }
  int theta(int node) const { return first + node * stride(); }
  int control(int interval) const { return theta(interval) + moving; }
  int positive(int interval, int half = 0) const { return control(interval) + (1 + 2 * half) * controls; }
  int negative(int interval, int half = 0) const { return positive(interval, half) + controls; }
};

// A phase read off the unknowns. Rows are nodes 0 ... K (intervals for u and energy).
struct PhaseMotion {
  double h = 0.0;                           // s
  Eigen::MatrixXd q;                        // [K + 1, n]
  Eigen::MatrixXd p;                        // [K + 1, n] discrete momenta: leaving at node 0, arriving at the others
  Eigen::MatrixXd u;                        // [K, controls]
  Eigen::MatrixXd held_force;               // [K + 1, held]: N (N m of turns)
  Eigen::VectorXd energy;                   // [K] discrete energy, J
  Eigen::VectorXd rate_before, rate_after;  // [n] at the end and the start, as far as events and boundaries have them
};
struct EventMotion {
  Eigen::VectorXd impulse;  // [n] on what is held afterwards, zero elsewhere: N s
  double loss = 0.0;        // kinetic energy lost, J
};
struct Motion {
  std::vector<PhaseMotion> phases;
  std::vector<EventMotion> events;
};

// Weights of effort in a cost, per actuator where there are several.
struct Effort {
  double absolute_work = 0.0, positive_work = 0.0, squared_control = 0.0;
  std::vector<Coefficient> loss = {};  // of squared controls, besides: resistive losses, W per squared unit; or empty
  bool work() const { return absolute_work != 0.0 || positive_work != 0.0; }
};

// How far the angles of a chart may go, rad: it fails where the second is a quarter turn. A motion that comes near it is
// to be transcribed again, about its own attitudes.
inline constexpr double chart_limit = 1.3;

class MotionProblem {
 public:
  // `numbers`: the model's, [model.numbers()], for this design.
  MotionProblem(std::shared_ptr<const System> system, std::vector<Coefficient> numbers);

  int add_phase(Phase phase);
  int add_event(Event event);
  void add_boundary(Boundary boundary);
  // Lays out unknowns, dynamics, events, boundaries, force conditions.
  void transcribe();
  // Of events: the first of the rows that carry momenta over, one per coordinate that moves afterwards; and the impulse
  // (theta, v, mass matrix, of what moves before) -> change of momenta, that reintegrate() gives.
  using Impulse =
      std::function<Eigen::VectorXd(const Eigen::VectorXd&, const Eigen::VectorXd&, const Eigen::MatrixXd&)>;
  int jump_row(int event) const { return events_[static_cast<std::size_t>(event)].jump; }
  const Event& event(int i) const { return events_[static_cast<std::size_t>(i)].event; }
  void set_impulse(int event, Impulse impulse);
  // Of a phase: the first of the rows that balance momenta at a node, one per coordinate that moves; -1: none, at an end
  // whose velocities are no unknowns.
  int momentum_row(int phase, int node) const;
  // Something besides is held in this phase, by whoever asked for it: reintegrate() goes no further than its start.
  void stay(int phase) { phases_[static_cast<std::size_t>(phase)].stays = true; }
  // Whether the start of a phase, or its end, is given to be at rest.
  bool rests(int phase, bool end) const;
  // What add_hold() (hold.hpp) added rows of.
  void keep(Hold hold) { phases_[static_cast<std::size_t>(hold.phase)].holds.push_back(std::move(hold)); }
  const std::vector<Hold>& holds(int phase) const { return phases_[static_cast<std::size_t>(phase)].holds; }
  // Adds an effort, integrated over a phase and times `per`, to the objective. Work costs need Phase::work.
  void add_effort(int phase, const Effort& effort, const Coefficient& per);
  nlp::AssembledProblem& problem() { return problem_; }
  const nlp::AssembledProblem& problem() const { return problem_; }

  const System& system() const { return *system_; }
  const std::vector<Coefficient>& numbers() const { return numbers_; }
  int phases() const { return static_cast<int>(phases_.size()); }
  const Phase& phase(int i) const { return phases_[static_cast<std::size_t>(i)].phase; }
  const PhaseIndex& index(int i) const { return phases_[static_cast<std::size_t>(i)].index; }
  const PinnedSystem& functions(int i) const { return *phases_[static_cast<std::size_t>(i)].functions; }
  int size() const { return size_; }
  // Unknowns of a node, of an interval's two nodes; as inputs of an element.
  std::vector<int> node(int phase, int k) const;
  std::vector<int> interval(int phase, int k) const;
  const Reference& reference(int phase, int k) const;
  // The element of every interval of a phase, one for all whose nodes have the same references.
  std::vector<Element> on_intervals(int phase, const Function& function, const std::vector<Coefficient>& extra) const;
  // h of a phase where its duration is no unknown
  Coefficient step(int phase) const;

  // Fills velocities, work and (where it is an unknown) nothing else from the nodes and controls in x.
  void fill(Eigen::VectorXd& x) const;
  Motion motion(const Eigen::VectorXd& x) const;

  // Drives the system forward with the controls of a motion from its first node on through its events: every step is
  // solved for the next posture alone, from a guess that continues the step before. Returns the largest difference of
  // a coordinate to the motion's; of cyclic events the first node after the last phase included.
  double reintegrate(const Motion& motion) const;

 private:
  struct PhaseLayout {
    Phase phase;
    const PinnedSystem* functions;
    PhaseIndex index;
    std::vector<Element> actions, pushes;  // of the intervals
    Element momentum_first, momentum_last;
    int dynamics = 0, arrival = -1, departure = -1, force_rows = 0;
    bool stays = false;
    std::vector<Hold> holds;
  };
  struct EventLayout {
    Event event;
    int jump = 0, configuration = 0, impulse_rows = 0;
    Impulse impulse = {};
  };
  void lay_out();
  void add_dynamics(PhaseLayout& laid);
  void add_event_rows(EventLayout& joint);
  void add_boundary_rows(const Boundary& boundary);
  // Adds a share of what is held's force or impulse, output i of an element for coordinate i, to the rows of a phase's
  // conditions.
  void add_force(std::vector<nlp::AssembledProblem::Term>& terms, const PhaseLayout& laid, int row, int first_output,
                 const Coefficient& coefficient) const;
  // Where the step before leads to, a share of it: coordinates that go on as they went, bodies that turn on as they did.
  Eigen::VectorXd ahead(const PhaseLayout& laid, int k, const Eigen::VectorXd& before, const Eigen::VectorXd& now,
                        double share) const;
  // D2 and D4 of interval k with the forces that are no controls of single coordinates: [2n], and h.
  Eigen::VectorXd slots(const PhaseLayout& laid, int k, double h, const Eigen::VectorXd& theta,
                        const Eigen::VectorXd& next, const Eigen::VectorXd& u,
                        Eigen::MatrixXd* jacobian_of_next = nullptr) const;
  // The work of a control on a joint over an interval, or half of it: `share` u (theta of node `to` - that of `from`), or
  // where `rate` is an unknown (h/2) u rate.
  struct Work {
    double share = 1.0;
    int from = 0, to = 0, rate = -1;
  };
  static Work work_of(const PhaseIndex& index, int interval, int half, int joint);
  Eigen::VectorXd relabelled(const Event& event, const Eigen::VectorXd& theta) const;

  std::shared_ptr<const System> system_;
  std::vector<Coefficient> numbers_;
  Element energy_;
  std::vector<PhaseLayout> phases_;
  std::vector<EventLayout> events_;
  std::vector<Boundary> boundaries_;
  nlp::AssembledProblem problem_;
  int size_ = 0;
};

}  // namespace dodyn::dmoc
