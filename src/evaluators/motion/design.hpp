// Which motion the sections of a configuration describe, and its transcription for a design.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dmoc/path_function.hpp"
#include "settings/settings.hpp"

namespace dodyn::evaluators {

// Every parameter of the model, and of [parameters] in the configuration.
std::vector<DesignVariable> motion_variables(const Settings& so_far);
std::vector<ini::SectionKind> motion_sections();

class MotionDesigns {
 public:
  // Throws ConfigError.
  explicit MotionDesigns(const Settings& settings);

  struct Phase {
    std::string name;
    std::vector<int> held;
    int intervals = 20;
    Expression shortest, longest;                                  // duration, s; equal where it is given
    std::vector<std::pair<dmoc::PathFunction, bool>> constraints;  // and whether an equality
    std::vector<Expression> forces;  // >= 0, linear in normal(POINT) and tangential(POINT) of what is held
    std::vector<dmoc::PathFunction> costs;
    bool timed() const { return !(shortest == longest); }
  };
  const dmoc::System& system() const { return *system_; }
  const std::vector<Phase>& phases() const { return phases_; }

  dmoc::MotionProblem problem(const Eigen::VectorXd& design) const;
  // Seeded: coordinates from the start to the goal, or about the guess, bent at random.
  Eigen::VectorXd start(const dmoc::MotionProblem& problem, const Eigen::VectorXd& design, std::uint64_t seed) const;
  // Empty, or which requirement a design does not meet.
  std::string refusal(const Eigen::VectorXd& design) const;

 private:
  using Coefficient = dmoc::Coefficient;
  struct Given {  // a coordinate or a rate
    int coordinate = 0;
    bool rate = false;
    Expression value;
    std::string source;
  };
  struct Values {
    systems::Values<Coefficient> model;
    std::vector<std::pair<std::string, Coefficient>> motion;  // [parameters], weight
  };
  void read_parameters();
  void read_phases();
  void read_ends();
  void read_cost();
  std::vector<Given> read_given(const std::string& kind, bool rates) const;
  Expression expression(const FreeEntry& entry, const std::string& text) const;
  int coordinate(const FreeEntry& entry, const std::string& name) const;
  std::vector<int> held_by(const FreeEntry& entry) const;
  void read_requirement(Phase& phase, const FreeEntry& entry, const std::string& text);
  Coefficient variable(const std::string& name, const Eigen::VectorXd& design) const;
  Values values(const Eigen::VectorXd& design) const;
  Coefficient named(const Values& values, const std::string& name) const;
  Coefficient evaluated(const Expression& e, const Values& values) const;
  dmoc::ForceCondition force_condition(const Expression& e, const Values& values) const;

  Settings settings_;
  std::shared_ptr<const dmoc::System> system_;
  std::vector<std::pair<std::string, Expression>> parameters_;  // of the configuration
  std::vector<std::string> names_;                              // theirs, and `weight`
  std::vector<Phase> phases_;
  bool periodic_ = false;
  std::vector<Given> shift_, start_, goal_, guess_;
  std::vector<std::pair<std::string, Expression>> requirements_;
  dmoc::Effort effort_;
  Expression loss_, time_, per_ = 1.0;
  bool has_loss_ = false, has_time_ = false;
};

}  // namespace dodyn::evaluators
