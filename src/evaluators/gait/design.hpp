// Which walker the settings describe, its designs, and the gait problem of each.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dmoc/gait.hpp"
#include "settings/settings.hpp"

namespace dodyn::evaluators {

// Design variables of the gait evaluator: those of the motion, and every parameter of the model.
std::vector<DesignVariable> gait_variables(const Settings& so_far);

// Settings that others make idle, each with the reason.
std::vector<std::pair<std::string, std::string>> idle_gait_keys(const Settings& settings);

class GaitDesigns {
 public:
  // Throws ConfigError of settings at odds, and of what is wrong with the model.
  explicit GaitDesigns(const Settings& settings);

  const dmoc::Walker& walker() const { return *walker_; }
  const dmoc::GaitSettings& gait() const { return gait_; }
  const std::string& model() const { return model_; }
  const std::string& text() const { return text_; }
  std::string model_name() const { return settings_.text("gait.model"); }

  // Of every actuator: whether the cost depends on it.
  std::vector<bool> has_cost() const;

  // Empty, or why a design is none: `infeasible` where a requirement of the configuration says so, else `failed`.
  struct Refusal {
    std::string reason;
    bool required = false;
  };
  Refusal refusal(const Eigen::VectorXd& design) const;

  // The gait problem of a design, with gradients with respect to all free variables. Throws ConfigError where the model
  // refuses it.
  dmoc::WalkerGait problem(const Eigen::VectorXd& design, int intervals) const;

  // Plain numbers of a design. Throws ConfigError where the model refuses it.
  systems::Values<double> plain(const Eigen::VectorXd& design) const;
  double period(const Eigen::VectorXd& design) const { return settings_.design("period", design); }

 private:
  void read_model();
  void read_parameters();
  void read_cost();
  void read_requirements();
  dmoc::Coefficient variable(const std::string& name, const Eigen::VectorXd& design) const;
  // Values of all parameters of the model, the model's numbers, and the parameters of the motion by name.
  struct Values {
    systems::Values<dmoc::Coefficient> model;
    std::map<std::string, dmoc::Coefficient> motion;
    const dmoc::Coefficient& step_length() const { return motion.at("step-length"); }
    const dmoc::Coefficient& period() const { return motion.at("period"); }
    const dmoc::Coefficient& step_width() const { return motion.at("step-width"); }
  };
  Values values(const Eigen::VectorXd& design) const;
  dmoc::Coefficient named(const Values& values, const std::string& parameter) const;

  Settings settings_;
  std::string model_, text_;
  bool from_file_ = false;
  std::shared_ptr<const dmoc::Walker> walker_;
  dmoc::GaitSettings gait_;
  struct Requirement {
    std::string text, source;
    Expression condition;
  };
  std::vector<Requirement> requirements_;  // of parameters alone
  std::vector<std::string> names_;         // of the parameters of the motion: the built-in ones, those of [parameters]
  std::vector<std::pair<std::string, Expression>> parameters_;  // of [parameters], in their order
};

}  // namespace dodyn::evaluators
