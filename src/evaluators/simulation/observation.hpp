// What formulas may ask of a simulation at one of its nodes.
#pragma once

#include <optional>
#include <vector>

#include "evaluators/simulation/control.hpp"
#include "evaluators/simulation/formula.hpp"
#include "evaluators/simulation/initial_states.hpp"
#include "rigid/equilibrium_test.hpp"
#include "rigid/simulation.hpp"
#include "systems/bodies.hpp"

namespace dodyn::evaluators::simulation {

// What a run has come to, which the node alone does not show.
struct Progress {
  bool touching = false;                    // contact forces have acted since the last node
  double touched = -1.0;                    // when they last did, s; negative: not yet
  bool at_end = false;                      // time is up
  double overlap = 0.0;                     // largest up to now, m
  double spin = 0.0;                        // largest angular velocity up to now, rad/s
  double impulse = 0.0;                     // largest of two bodies in a step up to now, N s
  int cluster = 0;                          // bodies of the largest group that hangs together
  double start_energy = 0.0, booked = 0.0;  // J: at the start; by impacts, projections, control since
};

template <int n>
class Observation {
 public:
  // `view` must outlive it. `world`: that of the view, with the bodies held that the simulation holds. `controller`: null, or what flies a craft.
  Observation(const systems::Bodies<n>& view, std::vector<double> parameters, const rigid::World<n>& world,
              double rest_speed, const rigid::Controller<n>* controller = nullptr);

  // Looks at this node from now on. `in_contact`: whether its contacts are known.
  void look(const rigid::Simulation<n>& simulation, bool in_contact);

  double evaluate(const Formula& formula, const Start& start, const Progress& progress);
  bool holds(const Condition& condition, const Start& start, const Progress& progress);

  // Bound on the speed of any point of a body, seen from another one, m/s.
  double relative_speed(int body, int about) const;
  // Of the boxes about two bodies, m: in the plane their distance, in space a bound below it, along the axes of the
  // boxes; 0 where they overlap.
  double gap(int one, int other);
  double radius(int body) const { return radii_[body]; }

 private:
  struct Moving {
    rigid::Vector<n> position, velocity;
  };
  struct Box {
    rigid::Vector<n> low, high;
  };
  double value(const StateQuantity& seen, const Start& start, const Progress& progress);
  std::optional<double> direct(const systems::Variable& variable);
  rigid::Vector<n> position(const systems::Place<double>& place);
  rigid::Vector<n> velocity(const systems::Place<double>& place);
  const geometry::Frame<n>& frame(int body);
  bool resting();
  double radius_of_gyration() const;
  bool balanced();
  rigid::TrackingError tracking() const;

  const systems::Bodies<n>& view_;
  std::vector<double> parameters_;
  std::vector<bool> fixed_;
  std::vector<Box> boxes_;  // about the bodies, in their coordinates
  std::vector<double> radii_;
  int reference_ = 0;  // body that rest is relative to
  double rest_speed_;
  std::optional<rigid::EquilibriumTest<n>> balance_;  // of the first simulation asked whether it rests
  struct Judged {
    double time = 0.0;
    std::vector<rigid::Pose<n>> poses;
    bool balanced = false;
  };
  std::optional<Judged> judged_;  // in this run, the last time it was asked
  const rigid::Controller<n>* controller_;

  // of the node
  const rigid::Simulation<n>* simulation_ = nullptr;
  bool in_contact_ = false, coordinates_known_ = false;
  std::optional<bool> resting_;
  std::vector<char> frame_known_;
  std::vector<geometry::Frame<n>> frames_;
  struct Gap {
    int one, other;
    double size;
  };
  std::vector<Gap> gaps_;  // that have been asked for
  std::vector<double> q_, v_, arguments_;
  std::vector<systems::Frame<double>> links_;
};

extern template class Observation<2>;
extern template class Observation<3>;

}  // namespace dodyn::evaluators::simulation
