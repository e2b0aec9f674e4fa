// A motion in explicit phases as a description that the search and the evaluator use (description.hpp).
#pragma once

#include "evaluators/motion/description.hpp"
#include "evaluators/motion/phased_motion.hpp"

namespace dodyn::evaluators {

class MotionDesigns final : public MotionDescription {
 public:
  // Reads the motion of the settings. Throws ConfigError, also if a coordinate moves no mass and no force acts on it.
  explicit MotionDesigns(const Settings& settings);

  const PhasedMotion& motion() const { return motion_; }

  std::string section() const override { return "motion"; }
  const std::string& text() const override { return motion_.text; }
  std::string model_name() const override { return motion_.settings.text("motion.model"); }
  const dmoc::System& system() const override { return *motion_.system; }
  std::vector<PhaseOutline> outline() const override;
  std::optional<HeldForce> held_force(int phase, const Expression::Quantity& quantity) const override;
  std::shared_ptr<const MotionDescription> on_mesh(int intervals) const override;
  MotionValues values(const Eigen::VectorXd& design) const override { return motion_values(motion_, design); }
  std::vector<bool> has_cost() const override;
  Rejection rejection(const Eigen::VectorXd& design) const override;
  TranscribedMotion plan(const Eigen::VectorXd& design, const MotionPath& path, double size = 1.0) const override;
  MotionPath initial_guess(const Eigen::VectorXd& design, std::uint64_t seed, int number) const override;
  void refer(MotionPath& path, const Eigen::VectorXd& design) const override;
  std::vector<MotionPath> with_other_corners(const MotionPath& path, const Eigen::VectorXd& design) const override;
  int grow() const override { return motion_.growth_steps; }
  std::vector<Measure> measures(const MetricInputs* seen) const override;
  bool pushes_at_a_point() const;  // whether an actuator acts on a point. The work of such an actuator is not measured
  ExaminedQuantities examined(const Eigen::VectorXd& design, const Trajectory& trajectory,
                              const MetricOf& metric) const override;
  ContinuousPlan continuous_plan() const override;
  std::string report(const MetricOf& metric) const override;
  Channels more_channels() const override;
  std::vector<Eigen::MatrixXd> more_values(const MetricInputs& seen) const override;
  std::optional<Simulated> open_loop_run(const Outcome& archived) const override;
  std::optional<systems::Place<double>> landing(int phase, const Eigen::VectorXd& design) const override;

 private:
  PhasedMotion motion_;
};

}  // namespace dodyn::evaluators
