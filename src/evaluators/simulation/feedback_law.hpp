// The section [feedback]: the controls of a model's actuators as expressions, with states of their own.
//
//   [feedback]
//   sample-rate = 100                                   # 1/s; continuous by default
//   delay = 10 ms
//   motor = -kp*(theta - aim) - kd*rate(theta) - ki*error    # the control of [actuator motor]
//   rate(error) = theta - aim                           # a state of the law; 0 at the beginning, or error = VALUE
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "evaluators/simulation/formula.hpp"
#include "record/trajectory.hpp"

namespace dodyn::evaluators::simulation {

struct FeedbackLaw {
  struct ControlFormula {
    int actuator = 0;
    Formula value;  // N or N m
  };
  struct LawState {
    std::string name;
    Formula rate;
    std::optional<Formula> initial;  // value at the beginning; nullopt: 0
  };
  double period = 0.0;  // sample period, s: controls are constant between samples; 0: the law is continuous
  double delay = 0.0;   // from a sample to its controls, s
  std::vector<ControlFormula> controls;
  std::vector<LawState> states;

  bool drives(int actuator) const;
  bool uses(StateQuantity::Kind kind) const;
};

// Returns the state of an entry rate(STATE) of [feedback]; empty: another entry.
std::string rated_state(const CustomEntry& entry);

// Returns the quantities of controllers that formulas may use. Throws ConfigError if a name of a state has a meaning
// already.
Controllers controllers(const Settings& settings, const systems::Model& model);

// Reads [feedback]; nullopt: there is none. `step`: simulation.step, s. `held`: links that simulation.fixed holds.
// Throws ConfigError.
std::optional<FeedbackLaw> read_feedback(const Settings& settings, const systems::Model& model, FormulaReader& reader,
                                         double step, const std::vector<int>& held);

// Returns the channel `feedback` of a trajectory with `nodes` rows: controls, states, effort and work.
Channel feedback_channel(const FeedbackLaw& law, const systems::Model& model, int nodes);
// Returns the unit of the effort of a law: "N2 s", "N2 m2 s", or empty if some controls are forces and some torques.
std::string effort_unit(const FeedbackLaw& law, const systems::Model& model);

// Returns the section's kind, for the registry.
ini::SectionKind feedback_section();

}  // namespace dodyn::evaluators::simulation
