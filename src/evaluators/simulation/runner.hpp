// One simulation from one start, to the outcome that ends it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evaluators/simulation/cluster.hpp"
#include "evaluators/simulation/control.hpp"
#include "evaluators/simulation/disturbance.hpp"
#include "evaluators/simulation/keyframes.hpp"
#include "evaluators/simulation/observation.hpp"
#include "record/trajectory.hpp"
#include "rigid/coil_force.hpp"

namespace dodyn::evaluators::simulation {

// [outcome NAME]: a run ends with it once the condition has been true for `dwell`.
struct Rule {
  std::string name;
  Condition when;
  double duration = 0.0;  // s
};

// Forces between coils by (B.1). In a planar model they replace the forces of charges.
struct CoilTable {
  rigid::CoilForm form;
  rigid::CoilRange range;
};

struct SimulationOptions {
  rigid::Options options;
  double end = 10.0;          // s
  double largest_step = 0.0;  // s; more than options.step: where bodies are far from each other
  double rest_speed = 2e-4;   // m/s
  int nodes = 301;            // rows of a trajectory
  std::vector<int> held;      // links that do not move from where they start
  double contact_drag = 0.0;  // N s/m, of the penalty's overlaps
  Disturbance disturbance;
  std::optional<CoilTable> coils;
  std::vector<Rule> rules;
  std::optional<Formula> cost;  // of the state at the end

  bool uses(StateQuantity::Kind kind) const;
  // Whether impulses answer contacts; otherwise forces do, or nothing.
  bool by_impulses() const {
    return options.response == rigid::Response::exact || options.response == rigid::Response::decomposition;
  }
};

struct SimulationResult {
  // of the rules; their number: time was up; one more: a contact could not be resolved; two more: coils left their range
  int outcome = 0;
  double time = 0.0, cost = 0.0;
  long steps = 0;
  double contacts = 0.0;       // node updates with contact
  double energy_change = 0.0;  // J, less what impacts, projections and a controller's work account for
  double effort = 0.0;         // N^2 s
  bool timed_out = false;      // stopped by `stop`
  std::string reason;          // of a run that could not be resolved
};

// Further lines of `dodyn simulate`.
template <int n>
struct SimulationSummary {
  rigid::Energies<n> before, after;
  rigid::Momenta<n> start, end;
  rigid::Ledger<n> ledger;
  rigid::ControlSums control;
  double overlap = 0.0, spin = 0.0, impulse = 0.0;
  std::size_t touching = 0;
};

// What a run leaves behind, where it is asked for.
template <int n>
struct SimulationRecord {
  Trajectory* motion = nullptr;  // channels of runner_channels(); rows that are not reached keep their numbers
  int rows = 0;                  // of them
  KeyframeRecorder<n>* film = nullptr;
  SimulationSummary<n>* story = nullptr;
};

// Simulations of one world.
template <int n>
class Runner {
 public:
  // Throws ConfigError and std::invalid_argument of a world that cannot be.
  Runner(const systems::Model& model, const systems::Values<double>& values, const SimulationOptions& course,
         const std::optional<ControlPlan>& plan = {});
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  // Throws std::invalid_argument where bodies overlap at the start, or no curve leads from there to the dock. Ends
  // early when `stop` says so.
  SimulationResult run(const Start& start, const std::function<bool()>& stop, SimulationRecord<n>* kept = nullptr);

  const rigid::World<n>& world() const { return levels_[0].world(); }

 private:
  struct Pair {
    int one, other;
  };
  bool advance();
  void begin(const Start& start);
  const rigid::Simulation<n>& now() const { return levels_[level_]; }
  std::size_t fitting_level();
  void keep(Trajectory& shown, int row);
  double booked() const;
  void note_impulses(bool motion);
  void look();
  std::string out_of_range() const;

  const SimulationOptions& course_;
  systems::Bodies<n> view_;
  std::shared_ptr<DisturbanceField<n>> field_;  // of the run
  std::vector<rigid::Simulation<n>> levels_;    // [0] with contact, the others in free flight
  std::optional<Observation<n>> observation_;
  std::vector<Pair> pairs_;                           // that may touch
  std::shared_ptr<rigid::Controller<n>> controller_;  // null: nothing is flown
  std::uint64_t control_seed_ = 0;
  std::optional<rigid::CoilForce> coils_;  // of SimulationOptions::coils

  // of the run
  std::size_t level_ = 0;
  std::vector<double> speeds_, accelerations_;  // of pairs, at this node and in the last step
  long steps_ = 0;
  int impulses_ = 0;  // of this level
  Progress progress_;
  std::vector<rigid::Twist<n>> pushes_;  // of contacts on bodies since the last row, where a motion is kept
  std::optional<Cluster<n>> cluster_;    // where a formula asks for it
  rigid::Ledger<n> ledger_;              // of levels before
};

// A view whose world has these links held where they start.
template <int n>
systems::Bodies<n> held(systems::Bodies<n> view, const std::vector<int>& links) {
  for (const int link : links) view.world.bodies[view.links[link].body].fixed = true;
  std::erase_if(view.world.joints, [&](const auto& joint) {
    return view.world.bodies[joint.parent].fixed && view.world.bodies[joint.child].fixed;
  });
  return view;
}

// t, q, v, energy of a model's bodies, with so many rows; `impulses`: of contacts; `controlled`: what is commanded, too.
Channels runner_channels(const systems::Model& model, const systems::Values<double>& values, int nodes,
                         bool impulses = false, bool controlled = false);

extern template class Runner<2>;
extern template class Runner<3>;

}  // namespace dodyn::evaluators::simulation
