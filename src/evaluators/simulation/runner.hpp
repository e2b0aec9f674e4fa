// One simulation from one start, to the outcome that ends it.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evaluators/simulation/control.hpp"
#include "evaluators/simulation/formula.hpp"
#include "evaluators/simulation/starts.hpp"
#include "record/trajectory.hpp"
#include "rigid/simulation.hpp"
#include "systems/bodies.hpp"

namespace dodyn::evaluators::simulation {

// [outcome NAME]: a run ends so when the condition has held for so long.
struct Rule {
  std::string name;
  Formula when;
  double duration = 0.0;  // s
};

struct Course {
  rigid::Options options;
  double end = 10.0;          // s
  double largest_step = 0.0;  // s; more than options.step: where bodies are far from each other
  double rest_speed = 2e-4;   // m/s
  int nodes = 301;            // rows of a trajectory
  std::vector<Rule> rules;
  std::optional<Formula> cost;  // of the state at the end

  bool uses(Seen::Kind kind) const;
};

struct Ended {
  int outcome = 0;  // of the rules; their number: time was up; one more: a contact could not be resolved
  double time = 0.0, cost = 0.0;
  long steps = 0;
  double contacts = 0.0;       // node updates with contact
  double energy_change = 0.0;  // J, less what impacts, projections and a controller's work account for
  double effort = 0.0;         // N^2 s
  bool timed_out = false;      // stopped by `stop`
  std::string reason;          // of a contact that could not be resolved
};

// What `dodyn simulate` tells besides.
template <int n>
struct Story {
  rigid::Energies<n> before, after;
  rigid::Momenta<n> start, end;
  rigid::Ledger<n> ledger;
  rigid::ControlSums control;
  double overlap = 0.0, spin = 0.0;
  std::size_t touching = 0;
};

// Simulations of one world.
template <int n>
class Runner {
 public:
  // Throws ConfigError and std::invalid_argument of a world that cannot be.
  Runner(const systems::Model& model, const systems::Values<double>& values, const Course& course,
         const std::optional<ControlPlan>& plan = {});

  // Throws std::invalid_argument where bodies overlap at the start, or no curve leads from there to the dock. `shown`: null, or what takes the channels of
  // runner_channels() but for rows that are not reached, whose numbers stay. Ends early when `stop` says so.
  Ended run(const Start& start, const std::function<bool()>& stop, Trajectory* shown = nullptr, int* rows = nullptr,
            Story<n>* story = nullptr);

 private:
  struct Pair {
    int one, other;
  };
  struct Moving {
    rigid::Vector<n> position, velocity;
  };
  bool advance();
  Moving moving(const systems::Place<double>& place) const;
  std::optional<double> direct(const systems::Variable& variable) const;
  double body_angle(int link) const;
  double value(const Seen& seen, const Start& start);
  double evaluate(const Formula& formula, const Start& start);
  const rigid::Simulation<n>& now() const { return levels_[level_]; }
  double relative_speed(int body, int about) const;
  double gap(int one, int other) const;
  std::size_t fitting_level() const;
  void keep(Trajectory& shown, int row) const;
  rigid::TrackingError tracking() const;
  double energy_change() const;

  const Course& course_;
  systems::Values<double> values_;
  systems::Bodies<n> view_;
  std::vector<rigid::Simulation<n>> levels_;  // [0] with contact, the others in free flight
  std::vector<Pair> pairs_;                   // that may touch
  struct Box {
    rigid::Vector<n> low, high;
  };
  std::vector<Box> boxes_;  // about the bodies, in their coordinates
  std::vector<double> radii_;
  int reference_ = 0;                                 // body that rest is relative to
  std::shared_ptr<rigid::Controller<n>> controller_;  // null: nothing is flown
  std::uint64_t control_seed_ = 0;

  // of the run
  std::size_t level_ = 0;
  std::vector<double> accelerations_;  // of pairs, in the last step
  long steps_ = 0;
  bool touching_ = false;
  double touched_ = -1.0;    // when last; negative: not yet
  int impulses_ = 0;         // of this level
  rigid::Ledger<n> ledger_;  // of levels before
  double start_energy_ = 0.0, overlap_ = 0.0, spin_ = 0.0;
  bool looked_ = false;  // whether coordinates and frames are those of this node
  std::vector<double> q_, v_, arguments_;
  std::vector<systems::Frame<double>> frames_;
};

// t, q, v, energy of a model's bodies, with so many rows; `controlled`: what is commanded, too.
Channels runner_channels(const systems::Model& model, const systems::Values<double>& values, int nodes,
                         bool controlled = false);

extern template class Runner<2>;
extern template class Runner<3>;

}  // namespace dodyn::evaluators::simulation
