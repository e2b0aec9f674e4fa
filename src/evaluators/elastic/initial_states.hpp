// Runs of one scene from several starts: what differs between them, and how they end.
//
//   [initial-states]                        # sampled as those of the evaluator simulation (simulation/initial_states.hpp)
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
  // Throws ConfigError.
  explicit InitialStates(const Settings& settings);

  bool several() const { return several_; }  // whether there is a section [initial-states]
  int count() const { return static_cast<int>(shares_.cols()); }
  std::vector<std::string> names() const;
  // The values of a start, counted from 0; ends of ranges may speak of the design's parameters. Throws ConfigError.
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

// The outcomes that a configuration names, by whose conditions runs are sorted at their end.
class Outcomes {
 public:
  explicit Outcomes(const Settings& settings);

  // With `end` and `failed` behind them.
  std::vector<std::string> names() const;
  // The number of the first that holds, or of `end`. Throws ConfigError where a condition speaks of what is not there.
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
