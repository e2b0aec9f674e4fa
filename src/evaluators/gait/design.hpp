// Reads which walker the settings describe, its design variables, and the gait problem of each design.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dmoc/gait.hpp"
#include "evaluators/motion/description.hpp"
#include "evaluators/motion/phased_motion.hpp"
#include "settings/key_table.hpp"

namespace dodyn::evaluators {

struct GaitKeys {
  std::string model = "planar-biped";
  dmoc::GaitSettings gait;
  int order = 2;
  bool frees_joints = false;
  enum class Ground { free, unilateral, friction_cone } ground = Ground::free;
  double friction = 0.8;
};
const KeyTable<GaitKeys>& gait_keys();

// Returns the design variables of the gait evaluator: parameters of the motion, and every parameter of the model.
std::vector<DesignVariable> gait_variables(const Settings& so_far);

// Returns the settings that have no effect because of others, each with the reason.
std::vector<std::pair<std::string, std::string>> idle_gait_keys(const Settings& settings);

class GaitDesigns final : public MotionDescription {
 public:
  // Reads the walker of the settings. Throws ConfigError if settings are inconsistent or the model is no valid walker.
  explicit GaitDesigns(const Settings& settings);

  const dmoc::Walker& walker() const { return *walker_; }
  const dmoc::GaitSettings& gait() const { return gait_; }

  // Returns the gait problem of a design, with gradients with respect to all free variables. Throws ConfigError if the
  // model refuses the design.
  dmoc::WalkerGait problem(const Eigen::VectorXd& design, int intervals) const;

  std::string section() const override { return "gait"; }
  const std::string& text() const override { return text_; }
  std::string model_name() const override { return settings_.text("gait.model"); }
  const dmoc::System& system() const override { return *walker_->system; }
  std::vector<PhaseOutline> outline() const override { return {{"step", walker_->feet(), gait_.intervals}}; }
  std::shared_ptr<const MotionDescription> on_mesh(int intervals) const override;
  MotionValues values(const Eigen::VectorXd& design) const override;
  std::vector<bool> has_cost() const override;
  Rejection rejection(const Eigen::VectorXd& design) const override;
  TranscribedMotion plan(const Eigen::VectorXd& design, const MotionPath& path, double size = 1.0) const override;
  MotionPath initial_guess(const Eigen::VectorXd& design, std::uint64_t seed, int number) const override;
  double push_of_cold_start() const override;
  double barrier_of_refined() const override { return dmoc::barrier_of_refined; }
  std::vector<Measure> measures(const MetricInputs* seen) const override;
  ExaminedQuantities examined(const Eigen::VectorXd& design, const Trajectory& trajectory,
                              const MetricOf& metric) const override;
  ContinuousPlan continuous_plan() const override { return {{true}, "from touch-down to touch-down"}; }
  std::string report(const MetricOf& metric) const override;
  Channels more_channels() const override;
  std::vector<Eigen::MatrixXd> more_values(const MetricInputs& seen) const override;
  std::string root_name() const override { return "foot"; }
  Forces forces() const override;
  std::optional<systems::Place<double>> landing(int phase, const Eigen::VectorXd& design) const override;
  double control_limit() const override { return gait_.torque_limit; }

 private:
  void read_model(const GaitKeys& keys);
  void read_parameters();
  void read_cost();
  void read_requirements();
  bool may_cross() const { return walker_->base == 2 || gait_.leg_radius <= 0.0; }

  Settings settings_;
  std::string text_;  // of the model
  std::shared_ptr<const dmoc::Walker> walker_;
  dmoc::GaitSettings gait_;
  struct Requirement {
    std::string text, source;
    Expression condition;
  };
  std::vector<Requirement> requirements_;  // conditions on parameters alone
  std::vector<std::string> names_;         // names of the motion's parameters: the built-in ones, then those of
                                           // [parameters]
  std::vector<std::pair<std::string, Expression>> parameters_;  // entries of [parameters], in the order of the file
};

}  // namespace dodyn::evaluators
