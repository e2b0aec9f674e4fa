// Simulates one initial state until an outcome ends the run.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evaluators/simulation/cluster.hpp"
#include "evaluators/simulation/control.hpp"
#include "evaluators/simulation/disturbance.hpp"
#include "evaluators/simulation/feedback_force.hpp"
#include "evaluators/simulation/keyframes.hpp"
#include "evaluators/simulation/observation.hpp"
#include "record/trajectory.hpp"
#include "rigid/coil_force.hpp"

namespace dodyn::evaluators::simulation {

// An [outcome NAME]: it ends a run after its condition has been true for the duration `dwell`.
struct OutcomeRule {
  std::string name;
  Condition when;
  double duration = 0.0;  // key `dwell`, s
};

// Forces between coils by (B.1). In a planar model they replace the forces of charges.
struct CoilTable {
  rigid::CoilForm form;
  rigid::CoilRange range;
};

struct SimulationOptions {
  rigid::Options options;
  double end = 10.0;          // s
  double largest_step = 0.0;  // largest step if bodies are far from each other, s; only above options.step
  double rest_speed = 2e-4;   // m/s
  int nodes = 301;            // number of rows of a trajectory
  std::vector<int> held;      // fixed links
  double contact_drag = 0.0;  // damping of the penalty's overlaps, N s/m
  Disturbance disturbance;
  std::optional<CoilTable> coils;
  std::optional<FeedbackLaw> feedback;
  std::vector<OutcomeRule> rules;
  std::optional<Formula> cost;  // formula of the final state
  std::vector<Formula> finals;  // formulas of the final state for [metrics]

  bool uses(StateQuantity::Kind kind) const;
  // Whether far from contact a step of this length is allowed: options.step times a power of 4 up to largest_step.
  bool allows(double step) const { return step <= largest_step * (1.0 + 1e-9); }
  // Whether contacts are solved by impulses, not by forces or not at all.
  bool by_impulses() const {
    return options.response == rigid::Response::exact || options.response == rigid::Response::decomposition;
  }
};

struct SimulationResult {
  // Index of the rule that ended the run. With N rules, N: simulation.end was reached, or `stop` ended the run; N + 1:
  // the simulation broke down (a contact was not solved, an angle was misread, or the energy changed without contact);
  // N + 2: coils left the range of their table.
  int outcome = 0;
  double time = 0.0, cost = 0.0;
  long steps = 0;
  double contacts = 0.0;       // number of updates of contacts (ContactTotals::impulses)
  double energy_change = 0.0;  // as StateQuantity::energy_change, J
  double effort = 0.0;         // integral of the squared controls
  std::vector<double> finals;  // values of SimulationOptions::finals
  bool timed_out = false;      // ended by `stop`
  std::string reason;          // why the outcome is N + 1 or N + 2; otherwise empty
};

// Quantities of a run that `dodyn simulate` reports in addition to the result.
template <int n>
struct SimulationSummary {
  rigid::Energies<n> before, after;
  rigid::Momenta<n> start, end;
  rigid::ContactTotals<n> contact_totals;
  rigid::ControlSums control;
  FeedbackSums feedback;
  double overlap = 0.0, spin = 0.0, impulse = 0.0;
  std::size_t touching = 0;
};

// Optional outputs of a run.
template <int n>
struct SimulationRecord {
  Trajectory* motion = nullptr;  // channels of runner_channels(); rows that are not reached stay unchanged
  int rows = 0;                  // number of rows
  KeyframeRecorder<n>* film = nullptr;
  SimulationSummary<n>* summary = nullptr;
};

// Runs simulations of one world.
template <int n>
class Runner {
 public:
  // Throws ConfigError or std::invalid_argument if the world is invalid.
  Runner(const systems::HybridModel& system, const systems::Values<double>& values,
         const SimulationOptions& run_options, const std::optional<ControlPlan>& plan = {});
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  // Runs from an initial state. Throws std::invalid_argument if bodies overlap there, or if no curve leads from there
  // to the dock. Ends early if `stop` returns true.
  SimulationResult run(const Start& start, const std::function<bool()>& stop, SimulationRecord<n>* kept = nullptr);

  const rigid::World<n>& world() const { return levels_[0].world(); }

 private:
  struct Pair {
    int one, other;
  };
  struct RequestedQuantities {
    bool overlap, spin, energy, impulses, motion;
  };
  RequestedQuantities requested_quantities(const SimulationRecord<n>* kept) const;
  void watch(const RequestedQuantities& requested);
  int fulfilled_rule(const Start& start, std::vector<double>& since);
  void record_step(const RequestedQuantities& requested);
  void summarise(SimulationSummary<n>& summary) const;
  bool advance();
  void begin(const Start& start);
  const rigid::Simulation<n>& now() const { return levels_[level_]; }
  std::size_t fitting_level();
  bool allows(std::size_t level, double room, std::size_t part) const;
  double closing_speed(const rigid::OneSidedConstraint<n>& constraint);
  void keep(Trajectory& shown, int row);
  void keep_row(SimulationRecord<n>* kept, bool last);
  double booked() const;
  double effort() const;
  void record_impulses(bool motion);
  void look();
  std::string out_of_range() const;

  const SimulationOptions& run_options_;
  systems::Bodies<n> view_;
  std::shared_ptr<DisturbanceField<n>> field_;  // of the present run
  std::vector<rigid::Simulation<n>> levels_;    // [0]: with contact; further ones: free flight with longer steps
  std::optional<Observation<n>> observation_;
  bool turns_matter_ = false;                         // whether full turns of angles change forces
  std::vector<Pair> pairs_;                           // pairs of bodies that may touch
  std::shared_ptr<rigid::Controller<n>> controller_;  // null: no controller
  std::uint64_t control_seed_ = 0;
  std::shared_ptr<FeedbackForce<n>> feedback_;  // null: actuators rest
  std::optional<rigid::CoilForce> coils_;       // forces of SimulationOptions::coils

  // index in levels_ of the present level
  std::size_t level_ = 0;
  // [pairs, then one-sided constraints] at this node and in the last step
  std::vector<double> speeds_, accelerations_;
  std::vector<rigid::Twist<n>> slopes_;
  long steps_ = 0;
  int impulses_ = 0;  // of the present level
  Progress progress_;
  std::vector<rigid::Twist<n>> pushes_;     // contact impulses on bodies since the last row, if a motion is stored
  std::optional<Cluster<n>> cluster_;       // bodies that hold together, if a formula uses them
  rigid::ContactTotals<n> contact_totals_;  // sums of previous levels
};

// Returns a view in whose world these links are fixed at their initial poses.
template <int n>
systems::Bodies<n> held(systems::Bodies<n> view, const std::vector<int>& links) {
  for (const int link : links) view.world.bodies[view.links[link].body].fixed = true;
  std::erase_if(view.world.joints, [&](const auto& joint) {
    return view.world.bodies[joint.parent].fixed && view.world.bodies[joint.child].fixed;
  });
  return view;
}

// Returns the channels t, q, v, energy of a model's bodies, and the channels of impulses and feedback. `controlled`:
// adds the commands of [control].
Channels runner_channels(const systems::Model& model, const systems::Values<double>& values,
                         const SimulationOptions& run_options, bool controlled);

extern template class Runner<2>;
extern template class Runner<3>;

}  // namespace dodyn::evaluators::simulation
