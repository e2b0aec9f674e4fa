// The transcription of a motion by discrete mechanics and optimal control (DMOC; Pekarek 2010, chapters 3 and 4).
//
// A motion consists of phases joined by events. In a phase some coordinates of the system are held at zero (a foot that
// stands at the origin); theta are the moving coordinates. There are K intervals of equal length h = T/K; a node has
// theta_k, and controls u_k are constant over an interval. That is order 2. Integrators of degree d (scheme.hpp) have
// d - 1 more knots and d controls in an interval; knot r of a phase is node r/d if d divides r.
//
//   the forced discrete Euler-Lagrange equations (3.1.10) at the inner knots of a phase, for d = 1 nodes 1 ... K-1,
//   at an event, in momenta, with the velocities v-, v+ before and after as unknowns:
//     dL/dv(theta_K, v-) = D4 L_d(K-1, K) + F+       the momentum that arrives, on the constraint (Q_N)
//     dL/dv(theta_0, v+) = -D2 L_d(0, 1) - F-        the momentum that leaves
//     relabelled dL/dv- = dL/dv+                     in the moving coordinates: impulses act only on held ones (P_S)
//     relabelled theta_K = shift + theta_0,
//   and at a boundary the given coordinates and rates.
// A gait has one phase and one event. The event joins the end of the phase to its start and exchanges the legs. A hop
// has two phases and two events. transcribe() adds unknowns and these rows. Callers add costs and path constraints to
// problem() through the indices, before finish().
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

// Concatenates lists of indices of unknowns.
inline std::vector<int> joined(std::vector<int> a, const std::vector<int>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// A condition on forces: the sum of coefficient times force on a held coordinate, plus a constant, is >= 0. A friction
// cone consists of several conditions. Only conditions without a constant apply to impulses, too.
struct ForceCondition {
  std::vector<std::pair<int, Coefficient>> forces =
      {};                      // coordinate (of a position constraint: component), coefficient
  Coefficient constant = 0.0;  // constant term, in the unit of the sum of forces
  // A constant of value 0 counts if its gradient has an entry that is not zero. A gradient of zeros does not count.
  bool has_constant() const { return constant.value != 0.0 || (constant.gradient.array() != 0.0).any(); }
};

struct Phase {
  std::string name;
  std::vector<int> held = {};
  int intervals = 20;                                                     // K
  Coefficient duration = 1.0;                                             // T, s
  std::optional<std::pair<Coefficient, Coefficient>> free_duration = {};  // bounds, if T is an unknown
  std::vector<std::pair<Coefficient, Coefficient>> controls = {};         // bounds, one pair per actuator
  std::vector<std::pair<int, std::pair<Coefficient, Coefficient>>> ranges =
      {};  // bounds of moving coordinates, at all knots
  // work: adds unknowns w+, w- >= 0 with w+ - w- = work of each control in each interval, u . (theta' - theta) for
  // degree 1; for degrees above 1 in each of the d parts of an interval (interval_work.hpp).
  // work_at_ends: computes the work by rates at the nodes. Degree 1: each half of an interval has the work (h/2) u . v,
  // with the central difference at inner nodes as v, and at both ends of the phase the velocity if it is an unknown.
  // Degrees above 1: the rates V of the nodes are unknowns; M V is the mean of the momenta that arrive and leave.
  // Without work_at_ends a torque on a joint with equal angles at both nodes costs nothing, so the cost has no minimum.
  bool work = false, work_at_ends = false;
  std::vector<ForceCondition> forces = {};  // conditions on the forces of held coordinates at every knot, and on the
                                            // impulse that begins the phase
  // In directors: references of the nodes, [K + 1], equal at nodes that two phases share; or empty. Equal references of
  // neighbouring nodes keep the evaluation fast.
  std::vector<Reference> references = {};
};

// An event at the end of phase `from`. Phase `to` starts there; it may be the same phase.
struct Event {
  int from = 0, to = 0;
  // theta_K -> coordinates, and (theta_K, v-) -> momentum dL/dv-, both relabelled: [n]. Null: no relabelling.
  Element configuration = {}, momentum = {};
  std::vector<Coefficient> shift = {};  // [n] relabelled coordinates minus coordinates at the start of the next phase;
                                        // empty: zero
};

// Functions g of a posture, with their derivatives G with respect to the moving coordinates.
struct PositionFunction {
  int size = 0;     // number of components of g
  Function values;  // theta -> g
  Function rates;   // (theta, v) -> G v
  // (theta, forces [size]; parameters, zeros [held]) -> G^T forces, on all coordinates (also held coordinates), [n]
  Function push;
};

// A holonomic constraint of a phase in addition to held coordinates: a position function is constant, or zero
// (position_constraint.hpp).
struct PositionConstraint {
  int phase = 0;
  PositionFunction function;
  std::vector<Coefficient> parameters = {};  // numbers that `function` takes in addition to the model's numbers
  std::vector<bool> at_zero;      // [size] true: zero at all knots; false: constant, as at the phase's first node
  bool inherited = false;         // components with at_zero are already zero at the end of the previous phase
  std::optional<int> event = {};  // event at the phase's start in which the constraint exerts an impulse; empty: none
  bool stopped = false;           // the rates at the phase's start already satisfy G v = 0
  // Conditions on the forces of g at every knot that has a momentum balance, and on the impulse of the event.
  std::vector<ForceCondition> conditions = {};
  // Set by add_position_constraint(). `multipliers`, [Kd + 1]: first unknown of the forces at each knot, -1: the knot
  // has no momentum balance. The unknowns are forces times a factor, see force_per_multiplier(). `impulse`: first
  // unknown of the impulse, -1: none.
  std::vector<int> multipliers = {};
  int impulse = -1;
};

// Given values at the start or the end of a phase: (coordinate, value).
struct Boundary {
  int phase = 0;
  bool end = false;  // true: at the phase's end
  std::vector<std::pair<int, Coefficient>> coordinates = {}, rates = {};
  bool moving = false;  // the velocities are unknowns, even if no rates are given
};

// Indices of the unknowns of a phase.
struct PhaseIndex {
  int first = 0, moving = 0, controls = 0, intervals = 0;
  // Number of pairs (w+, w-) of unknown works of a control in each interval (degree > 1: in each part). 2: one pair for
  // each half of the interval; 0: no unknown works.
  int halves = 0;
  int degree = 1;                                 // degree d of the integrator
  int node_rates = 0;                             // number of unknown rates per inner node: 0 or `moving`
  int duration = -1;                              // index of the unknown T; -1: T is given
  int velocity_before = -1, velocity_after = -1;  // indices at the phase's end and start; -1: not unknowns
  int stride() const { return degree * (moving + (1 + 2 * halves) * controls) + node_rates; }
  int theta(int node) const { return first + node * stride(); }
  int knots() const { return intervals * degree + 1; }
  int knot(int r) const { return theta(r / degree) + r % degree * moving; }
  int control(int interval, int point = 0) const { return theta(interval) + degree * moving + point * controls; }
  // Return the index of w+ (positive) and w- (negative) of the first control. Valid only if halves > 0.
  int positive(int interval, int half = 0, int part = 0) const {
    return control(interval, degree) + 2 * (part * halves + half) * controls;
  }
  int negative(int interval, int half = 0, int part = 0) const { return positive(interval, half, part) + controls; }
  // Returns the index of the first rate of a node. Valid for node 0 (-1: not unknowns); for other nodes only if
  // node_rates > 0.
  int rate(int node) const { return node == 0 ? velocity_after : theta(node) - node_rates; }
};

// A phase of a solution. Rows: knots 0 ... Kd (for u and energy: quadrature points).
struct PhaseMotion {
  double h = 0.0;                           // length of an interval, s
  Eigen::MatrixXd q;                        // [Kd + 1, n]
  Eigen::MatrixXd p;                        // [Kd + 1, n] discrete momenta: after node 0, before every other node
  Eigen::MatrixXd u;                        // [Kd, controls]
  Eigen::MatrixXd held_force;               // [Kd + 1, held]: N (N m for turns). At an end whose velocities are not
                                            // unknowns the values are not forces: the momentum there is missing
  Eigen::VectorXd energy;                   // [Kd] discrete energy of the interval, J
  Eigen::VectorXd rate_before, rate_after;  // [n] at the end and at the start; empty: not unknowns
};
struct EventMotion {
  Eigen::VectorXd impulse;  // [n] on held coordinates of the next phase, zero elsewhere: N s (N m s for turns)
  double loss = 0.0;        // kinetic energy lost, J
};
struct Motion {
  std::vector<PhaseMotion> phases;
  std::vector<EventMotion> events;
};

// Weights of the terms of an effort in a cost.
struct Effort {
  double absolute_work = 0.0, positive_work = 0.0, squared_control = 0.0;
  // Additional weight of each actuator's squared control, for its resistive losses, W/N^2 or W/(N m)^2; empty: none.
  std::vector<Coefficient> loss = {};
  bool work() const { return absolute_work != 0.0 || positive_work != 0.0; }
};

// Work of the controls of a phase, J.
struct MotionWork {
  double absolute = 0.0, positive = 0.0, signed_sum = 0.0;
};

// Maximum magnitude of each angle of a chart, rad; Phase::ranges replace it. The chart is singular where the
// second angle is +-pi/2. A motion with larger angles must be transcribed again with other references.
inline constexpr double chart_limit = 1.3;

class MotionProblem {
 public:
  // `numbers`: numbers of the model for this design, [model.numbers()].
  MotionProblem(std::shared_ptr<const System> system, std::vector<Coefficient> numbers);

  int add_phase(Phase phase);
  int add_event(Event event);
  void add_boundary(Boundary boundary);
  // Adds unknowns, dynamics, events, boundaries and force conditions.
  void transcribe();
  // (theta, v, mass matrix) of the coordinates that move before an event -> change of the momenta of the coordinates
  // that move after it
  using Impulse =
      std::function<Eigen::VectorXd(const Eigen::VectorXd&, const Eigen::VectorXd&, const Eigen::MatrixXd&)>;
  // Returns the first of the rows that transfer momenta at an event, one per coordinate that moves after it.
  int jump_row(int event) const { return events_[event].jump; }
  const Event& event(int i) const { return events_[i].event; }
  // Sets the impulse of an event for reintegrate().
  void set_impulse(int event, Impulse impulse);
  // Returns the first row of the momentum balance at a knot, one per moving coordinate. Returns -1 at an end whose
  // velocities are not unknowns.
  int momentum_row(int phase, int knot) const;
  // Returns the quadrature weight of a knot, in intervals: force at the knot = impulse / (weight h). For degree 1: 1,
  // at both ends 1/2.
  double knot_weight(int phase, int knot) const;
  // Returns whether boundaries fix the rates of all moving coordinates at zero, independent of the design, at the start
  // of a phase, or at its end.
  bool rests(int phase, bool end) const;
  // Returns the terms by which a generalised force (output i of an element for coordinate i) enters the phase's force
  // conditions at a knot.
  std::vector<nlp::AssembledProblem::Term> reactions(int phase, int knot) const;
  // Returns the terms by which a generalised impulse enters the conditions on the impulse of an event.
  std::vector<nlp::AssembledProblem::Term> impulse_reactions(int event) const;
  // Stores a position constraint whose rows add_position_constraint() (position_constraint.hpp) has added.
  void store(PositionConstraint constraint) { phases_[constraint.phase].constraints.push_back(std::move(constraint)); }
  const std::vector<PositionConstraint>& position_constraints(int phase) const { return phases_[phase].constraints; }
  // Adds an effort, integrated over a phase and multiplied by `per`, to the objective. The terms of work have no effect
  // without Phase::work.
  void add_effort(int phase, const Effort& effort, const Coefficient& per);
  nlp::AssembledProblem& problem() { return problem_; }
  const nlp::AssembledProblem& problem() const { return problem_; }

  const System& system() const { return *system_; }
  const std::vector<Coefficient>& numbers() const { return numbers_; }
  int phases() const { return static_cast<int>(phases_.size()); }
  const Phase& phase(int i) const { return phases_[i].phase; }
  const PhaseIndex& index(int i) const { return phases_[i].index; }
  const PinnedSystem& functions(int i) const { return *phases_[i].functions; }
  int size() const { return size_; }
  // Return the unknowns of a node, of a knot, and of all knots of an interval, as inputs of an element.
  std::vector<int> node(int phase, int k) const;
  std::vector<int> knot(int phase, int r) const;
  std::vector<int> interval(int phase, int k) const;
  // Returns the reference of a node. Without references every knot has System::no_reference().
  const Reference& reference(int phase, int k) const;
  // Returns the elements of all intervals of a phase; intervals whose nodes have the same references share one.
  std::vector<Element> on_intervals(int phase, const Function& function, const std::vector<Coefficient>& extra) const;
  // Returns h of a phase whose duration is not an unknown.
  Coefficient step(int phase) const;

  // Sets velocities, node rates and works in x from its knots, controls and durations.
  void fill(Eigen::VectorXd& x) const;
  Motion motion(const Eigen::VectorXd& x) const;
  // Returns the work in a phase, with the split of add_effort(). The problem need not have works as unknowns.
  // `at_ends`: see Phase::work_at_ends.
  MotionWork work(int phase, const Eigen::VectorXd& x, bool at_ends) const;
  // Returns the rates of the nodes of a phase, [K + 1, moving]. Rates that are not unknowns follow from the momenta.
  Eigen::MatrixXd node_rates(int phase, const Eigen::VectorXd& x) const;

  // Integrates the system with the controls of a motion from its first node through its events. Each step solves for
  // the next posture, from an extrapolation of the last step. Returns the maximum difference of a coordinate at a node
  // from the motion; infinite: a step fails. A cyclic motion is continued by the first interval after the last phase.
  // The integration ends before an event with impulses of a contact and of position constraints.
  double reintegrate(const Motion& motion) const;

 private:
  struct PhaseLayout {
    Phase phase;
    const PinnedSystem* functions;
    PhaseIndex index;
    std::vector<Element> actions, pushes;  // [intervals]
    Element momentum_first, momentum_last;
    int dynamics = 0, arrival = -1, departure = -1, force_rows = 0;
    int node_rates = -1;  // first of the rows that determine the rates of inner nodes; -1: none
    std::vector<PositionConstraint> constraints;
  };
  struct EventLayout {
    Event event;
    int jump = 0, configuration = 0, impulse_rows = 0;
    Impulse impulse = {};
  };
  struct DynamicsScale {
    Coefficient h, inner;  // step, and factor of momenta at inner knots: h and 1/h; 0 and 1 if the duration is unknown
    int last_knot;
    // Returns the factor of the slot derivatives at a knot in the rows of its momentum balance.
    Coefficient at(int knot) const {
      return knot == 0 ? Coefficient(-1.0) : knot == last_knot ? Coefficient(1.0) : inner;
    }
  };
  class Reintegration;
  // Adds the unknowns.
  void lay_out();
  // Adds all rows except the rows of boundaries. They have no terms yet, only the constants of force conditions.
  void add_row_ranges();
  // Adds the terms of the dynamics. Rows at inner knots are in N m (N for slides) if h is known, because they are
  // divided by h; otherwise in N m s. Rows at both ends and rows of node rates are always in N m s.
  void add_dynamics(PhaseLayout& laid);
  // Adds the force of control `i` at a point of interval `k`. Its actuator acts on a single coordinate. `half`: the
  // element (u, T) -> h u / 2; null if the duration is known.
  void add_control(const PhaseLayout& laid, int k, int point, int i, const DynamicsScale& scale, const Element& half);
  // Returns the blocks of rows to which the derivative of an interval's action with respect to a knot contributes:
  // first row of each block, and factor of the derivative there. The blocks are the momentum balance of the knot and,
  // at inner nodes with unknown rates, the rows of these rates. `slot`: index of the knot in the interval.
  std::vector<std::pair<int, Coefficient>> rows_of_slot(const PhaseLayout& laid, const DynamicsScale& scale, int knot,
                                                        int slot) const;
  // Adds the momenta dL/dv of the velocities at both ends of a phase to the rows of both ends and of events.
  void add_end_momenta(int phase);
  // Adds the relabelled momenta dL/dv- of an event with Event::momentum.
  void add_event_momentum(const EventLayout& joint);
  void add_event_rows(EventLayout& joint);
  void add_boundary_rows(const Boundary& boundary);
  // Adds the force or impulse on held coordinates (output i of an element belongs to coordinate i), times a factor, to
  // the rows of a phase's conditions.
  void add_force(std::vector<nlp::AssembledProblem::Term>& terms, const PhaseLayout& laid, int row, int first_output,
                 const Coefficient& coefficient) const;
  // Adds a constant force to a row of forces at a knot.
  void add_constant_force(const PhaseLayout& laid, int row, const Coefficient& force);
  // Predicts theta of node k + 1: `now` (node k) plus `share` times the last step from `before`. Charts continue their
  // rotation about its axis.
  Eigen::VectorXd ahead(const PhaseLayout& laid, int k, const Eigen::VectorXd& before, const Eigen::VectorXd& now,
                        double share) const;
  // Returns the slot derivatives of interval k with all forces, [(d + 1) n]. `theta`: coordinates of its knots,
  // [(d + 1) moving]; `u`: controls of its points, [d controls]. The Jacobian is with respect to all knots except the
  // first.
  Eigen::VectorXd slots(const PhaseLayout& laid, int k, double h, const Eigen::VectorXd& theta,
                        const Eigen::VectorXd& u, Eigen::MatrixXd* jacobian_of_next = nullptr) const;
  // Returns the momenta at the inner knots of an interval, [d - 1, n]. They are the mean of two polynomials of degree
  // d: both go through the momenta at the quadrature points, one through `first` at the first node, one through `last`
  // at the last node. `knots`: coordinates, [d + 1, n].
  Eigen::MatrixXd inner_momenta(const PhaseLayout& laid, double h, const Eigen::MatrixXd& knots,
                                const Eigen::VectorXd& first, const Eigen::VectorXd& last) const;
  // Work of a control u on a joint for degree 1: u times the weighted sum of coordinates, plus (h/2) u times the
  // weighted sum of unknown rates.
  struct Work {
    using Weights = std::vector<std::pair<int, double>>;  // unknown, weight
    Weights coordinates = {}, rates = {};
    double of(double u, double h, const Eigen::VectorXd& x) const;
  };
  // Returns the work in an interval (halves = 1), or in its half 0 or 1 (halves = 2), for degree 1.
  Work work_of(const PhaseIndex& index, int interval, int half, int halves, int joint) const;
  // Returns the element (u, coordinates) -> u times the weighted sum of coordinates.
  Element weighted(const std::vector<double>& weights) const;
  // Returns the interval_work() of a phase, for degrees above 1.
  Element split_work(const PhaseLayout& laid, bool at_ends) const;
  // Returns the inputs of split_work() for a control on a joint.
  std::vector<int> split_inputs(const PhaseIndex& index, int interval, int control, int joint) const;
  void add_parts_of_work(const PhaseLayout& laid, const Effort& effort, const Coefficient& per);
  void add_work_of_intervals(const PhaseLayout& laid, const Effort& effort, const Coefficient& per);
  // Returns the index of an actuator's coordinate among the moving coordinates; -1: it is held.
  int driven(const PhaseLayout& laid, int control) const;
  static double step_of(const PhaseLayout& laid, const Eigen::VectorXd& x);  // h, s
  // Returns the discrete energy of an interval, J. `knots`: coordinates, [d + 1, n]; `nodes`: theta of both nodes.
  double interval_energy(const PhaseLayout& laid, int k, double h, const Eigen::MatrixXd& knots,
                         const Eigen::VectorXd& nodes) const;
  PhaseMotion phase_motion(int phase, const Eigen::VectorXd& x) const;
  EventMotion event_motion(const EventLayout& joint, const Eigen::VectorXd& x) const;
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
