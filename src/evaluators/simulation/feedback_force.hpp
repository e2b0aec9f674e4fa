// Applies a law of [feedback] to the bodies of a model.
//
// A continuous law is part of each step: its states z follow the integrator's rule. The midpoint rule solves
// z = z0 + h/2 f(z) in the middle of a step and continues with z0 + h f; Newmark's method uses the trapezoidal rule. A
// sampled law is evaluated at the first node at or after each sampling time. It then adds the period times the rates to
// its states, and applies the controls from the first node after `delay`.
#pragma once

#include <Eigen/Core>
#include <deque>
#include <vector>

#include "evaluators/simulation/feedback_law.hpp"
#include "evaluators/simulation/initial_states.hpp"
#include "evaluators/simulation/kinematics.hpp"
#include "rigid/options.hpp"
#include "rigid/stateful_force.hpp"
#include "systems/body_forces.hpp"

namespace dodyn::evaluators::simulation {

// Totals over a run of a law.
struct FeedbackSums {
  double effort = 0.0;              // integral of the squared controls
  double work = 0.0;                // work of the actuators on the bodies, J
  std::vector<double> largest;      // [controls of the law] largest magnitudes, N or N m
  std::vector<double> limited_for;  // [controls of the law] time at the limit, s
};

template <int n>
class FeedbackForce final : public rigid::StatefulForce<n> {
 public:
  // Makes the force of a law. `view` and `law` must outlive this object. `parameters`: values of the model's
  // parameters. `stepper`: integrator of the simulation.
  FeedbackForce(const systems::Bodies<n>& view, const FeedbackLaw& law, std::vector<double> parameters,
                rigid::Stepper stepper);

  // Starts a run from the state of its first node.
  void start(double t, std::span<const rigid::Pose<n>> poses, std::span<const rigid::Twist<n>> twists,
             const Start& start);

  void node(double t, std::span<const rigid::Pose<n>> poses, std::span<const rigid::Twist<n>> twists) override;
  void act(double t, rigid::Frames<n> frames, std::span<const rigid::Twist<n>> twists,
           std::span<rigid::Twist<n>> wrench) override;
  void passed(double t, double h) override;
  // Returns the change of the work, J. The work of a corrected interval is computed from the powers of its last
  // controls at both ends, by the trapezoidal rule.
  double corrected(double h, std::span<const rigid::Pose<n>> poses, std::span<const rigid::Twist<n>> twists) override;

  // Returns the controls at a node, [actuators], N or N m. Sampled law: the controls of the step that ends at the node.
  const std::vector<double>& controls(double t, std::span<const rigid::Pose<n>> poses,
                                      std::span<const rigid::Twist<n>> twists);
  // Returns the states of the law at the last node.
  const Eigen::VectorXd& states() const { return states_; }
  const FeedbackSums& sums() const { return sums_; }
  bool sampled() const { return law_.period > 0.0; }
  double period() const { return law_.period; }

 private:
  bool due(double at, double t) const;
  double value(const Formula& formula, double t, const Eigen::VectorXd& states, const std::vector<double>* u);
  void set_controls(double t, const Eigen::VectorXd& states, std::vector<double>& u);
  void set_rates(double t, const Eigen::VectorXd& states, Eigen::VectorXd& rates);
  void solve_states(double t, const Eigen::VectorXd& base, double factor);
  void look_between(rigid::Frames<n> frames, std::span<const rigid::Twist<n>> twists);
  double power(std::span<const rigid::Pose<n>> poses, std::span<const rigid::Twist<n>> twists,
               const std::vector<double>& u);
  void sample(double t);
  void take(double t);

  const FeedbackLaw& law_;
  std::vector<double> parameters_, limits_;  // [parameters], [actuators]
  bool trapezoidal_;
  systems::ActuatorForce<n> push_;
  Kinematics<n> kinematics_;
  std::vector<double> start_variables_;

  double time_ = 0.0;  // time of the states, s
  Eigen::VectorXd states_;
  std::vector<rigid::Pose<n>> node_, between_;  // poses of the last node, and in the step
  std::vector<rigid::Twist<n>> node_twists_;
  std::vector<geometry::Frame<n>> frames_;
  Eigen::VectorXd trial_, rates_, more_rates_;  // states and rates of the last evaluation
  std::vector<double> u_, trial_u_, arguments_;
  std::vector<rigid::Twist<n>> wrench_;

  struct QueuedControls {
    double from;
    std::vector<double> u;
  };
  std::deque<QueuedControls> queue_;
  double next_sample_ = 0.0;

  // The last two evaluations.
  struct AppliedControls {
    double time = -1e300, power = 0.0;  // s, W
    std::vector<double> u;
    Eigen::VectorXd rates;
  };
  AppliedControls before_, last_;
  FeedbackSums sums_;
};

extern template class FeedbackForce<2>;
extern template class FeedbackForce<3>;

}  // namespace dodyn::evaluators::simulation
