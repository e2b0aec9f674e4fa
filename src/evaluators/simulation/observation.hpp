// The quantities that formulas use, at a node of a simulation.
#pragma once

#include <optional>
#include <vector>

#include "evaluators/simulation/control.hpp"
#include "evaluators/simulation/feedback_force.hpp"
#include "evaluators/simulation/formula.hpp"
#include "evaluators/simulation/initial_states.hpp"
#include "evaluators/simulation/kinematics.hpp"
#include "rigid/equilibrium_test.hpp"
#include "rigid/simulation.hpp"
#include "systems/bodies.hpp"

namespace dodyn::evaluators::simulation {

// Progress of a run: quantities that do not follow from the present node alone.
struct Progress {
  bool touching = false;                    // contact forces have acted since the last node
  double touched = -1.0;                    // time of the last contact force, s; negative: none yet
  bool at_end = false;                      // time is over
  double overlap = 0.0;                     // largest overlap up to now, m
  double spin = 0.0;                        // largest angular velocity up to now, rad/s
  double impulse = 0.0;                     // largest impulse between two bodies in a step up to now, N s
  int cluster = 0;                          // number of bodies in the largest cluster
  double start_energy = 0.0, booked = 0.0;  // energy at the start; change since then by impacts, projections, damping,
                                            // driving forces and controllers; J
  double effort = 0.0;                      // integral of the squared controls up to now
};

template <int n>
class Observation {
 public:
  // `view` must outlive this object. `world`: the world of the view, with the fixed bodies of the simulation.
  // `controller`, `feedback`: null if there is none. `follows_angles`: see Kinematics.
  Observation(const systems::Bodies<n>& view, std::vector<double> parameters, const rigid::World<n>& world,
              double rest_speed, bool follows_angles, const rigid::Controller<n>* controller = nullptr,
              FeedbackForce<n>* feedback = nullptr);

  // Begins a run at these coordinates; look() observes its nodes.
  void begin(const std::vector<double>& q) { kinematics_.begin(q); }

  // See Kinematics.
  std::string misread_angle() const { return kinematics_.misread_angle(); }

  // Observes this node from now on. `in_contact`: whether its contacts are known.
  void look(const rigid::Simulation<n>& simulation, bool in_contact);

  double evaluate(const Formula& formula, const Start& start, const Progress& progress);
  bool holds(const Condition& condition, const Start& start, const Progress& progress);

  // Returns a bound on the speed of any point of a body relative to another body, m/s.
  double relative_speed(int body, int about) const;
  // Returns the distance of the bounding boxes of two bodies, m. In space it is a lower bound along the axes of the
  // boxes. 0: the boxes overlap.
  double gap(int one, int other);
  double radius(int body) const { return radii_[body]; }

 private:
  struct Box {
    rigid::Vector<n> low, high;
  };
  double value(const StateQuantity& seen, const Start& start, const Progress& progress);
  bool resting();
  double radius_of_gyration() const;
  bool balanced();
  rigid::TrackingError tracking() const;

  const systems::Bodies<n>& view_;
  std::vector<double> parameters_;
  std::vector<bool> fixed_;
  std::vector<Box> boxes_;  // bounding boxes in body coordinates
  std::vector<double> radii_;
  int reference_ = 0;  // body to which rest is relative
  double rest_speed_;
  std::optional<rigid::EquilibriumTest<n>> balance_;  // for the first simulation for which rest was tested
  struct EquilibriumResult {
    double time = 0.0;
    std::vector<rigid::Pose<n>> poses;
    bool balanced = false;
  };
  std::optional<EquilibriumResult> last_equilibrium_;  // last test in this run
  const rigid::Controller<n>* controller_;
  FeedbackForce<n>* feedback_;

  // at this node
  const rigid::Simulation<n>* simulation_ = nullptr;
  Kinematics<n> kinematics_;
  bool in_contact_ = false;
  std::optional<bool> resting_;
  struct Gap {
    int one, other;
    double size;
  };
  std::vector<Gap> gaps_;  // gaps that were computed at this node
  std::vector<double> arguments_;
};

extern template class Observation<2>;
extern template class Observation<3>;

}  // namespace dodyn::evaluators::simulation
