// Runs of one scene from several initial states, and the classification of their ends.
//
//   [initial-states]                # sampled as for the evaluator simulation (simulation/initial_states.hpp)
//   count = 32
//   offset = -40 mm .. 40 mm        # of a parameter
//   [outcome captured]
//   when = cube.x < 0.3             # at the end
#pragma once

#include <Eigen/Core>

#include "evaluators/elastic/text.hpp"

namespace dodyn::evaluators::elastic_text {

class InitialStates {
 public:
  // Throws ConfigError if a section is invalid.
  explicit InitialStates(const Settings& settings);

  bool several() const { return several_; }  // whether there is a section [initial-states]
  int count() const { return shares_.cols(); }
  std::vector<std::string> names() const;
  // Returns the values of initial state `number` (from 0). The ends of ranges may depend on the design's parameters.
  // Throws ConfigError.
  Numbers start(int number, const Numbers& parameters) const;

 private:
  struct Range {
    CustomEntry entry;
    Expression from, to;
  };
  bool several_ = false;
  std::vector<Range> ranges_;
  Eigen::MatrixXd shares_ = Eigen::MatrixXd::Zero(0, 1);
};

// The outcomes of a configuration. Their conditions classify a run at its end.
class Outcomes {
 public:
  explicit Outcomes(const Settings& settings);

  // Returns the names of the outcomes, then `end` and `failed`.
  std::vector<std::string> names() const;
  // Returns the index of the first outcome whose condition is true, or the index of `end`. Throws ConfigError if a
  // condition contains an unknown name.
  int of(const Numbers& known) const;

 private:
  struct Rule {
    std::string name;
    CustomEntry entry;
    Expression when;
  };
  std::vector<Rule> rules_;
};

}  // namespace dodyn::evaluators::elastic_text
