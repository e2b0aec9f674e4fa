// Where the simulations of an evaluation start: [initial-state] and [initial-states].
//
//   [initial-states]                        # variables that differ from start to start
//   count = 200
//   sampling = sobol
//   bearing = -60 deg .. 60 deg
//   friction = 0.1 .. 0.3           # a parameter of the model: each start has its own
//   [initial-state]                         # coordinates, rates and parameters of each
//   x = 0.3*cos(bearing)
//   rate(x) = -0.1
#pragma once

#include <Eigen/Core>
#include <map>
#include <string>
#include <vector>

#include "evaluators/simulation/formula.hpp"

namespace dodyn::evaluators::simulation {

// One start of a design.
struct Start {
  int number = 0;                            // counted from 0
  std::vector<double> variables;             // of [initial-states], in their order
  std::map<std::string, double> parameters;  // of the model, the design's among them
  systems::Values<double> values;            // that follow from them
  std::vector<double> q, v;                  // coordinates, rates
};

// Where starts lie within their ranges, by the keys count, sampling and seed of [initial-states]: [variable, start] in [0, 1].
// `wide` says which ranges are not single values; there are fewer than `count` where a grid does not fill. Throws
// ConfigError.
Eigen::MatrixXd shares_of_ranges(const CustomSection& section, const std::vector<bool>& wide);
// Whether a key of [initial-states] says how they are drawn.
bool draws_starts(const std::string& key);

class InitialStates {
 public:
  // Reads the sections. Throws ConfigError.
  InitialStates(const Settings& settings, const systems::Model& model);

  int count() const { return static_cast<int>(points_.cols()); }
  const std::vector<std::string>& variables() const { return names_; }
  // Of initial-states.file; empty: there is none.
  const std::string& file_text() const { return file_text_; }
  const std::string& file_name() const { return file_name_; }
  // Whether starts differ in parameters of the model.
  bool varies_model() const { return varies_model_; }

  // After all formulas are read: of a variable that has no effect.
  void check_used(const FormulaReader& reader) const;
  // Formulas of [initial-state] and of ranges.
  void read(FormulaReader& reader);

  // `design`: the parameters that the design sets. Throws ConfigError where the model refuses the values.
  Start start(int number, const std::map<std::string, double>& design) const;

 private:
  struct Target {
    enum Kind { none, coordinate, rate, parameter } kind = none;
    int index = -1;
  };
  Target target(const std::string& name) const;
  std::vector<CustomEntry> repeated(const std::vector<CustomEntry>& entries) const;
  void read_file(const CustomEntry& entry, const std::string& folder);
  void put(const Target& to, double value, Start& start) const;

  const systems::Model& model_;
  std::vector<std::string> names_;
  std::vector<CustomEntry> sources_;  // of the names
  std::vector<Target> targets_;
  std::vector<std::pair<Expression, Expression>> ranges_;  // empty where a file gives the values
  std::vector<std::pair<Formula, Formula>> ends_;
  Eigen::MatrixXd points_;  // [variable, start]: values of a file, or shares of the ranges
  struct Assignment {
    CustomEntry entry;
    Target target;
    Formula value;
  };
  std::vector<Assignment> assignments_;
  std::string file_name_, file_text_;
  bool varies_model_ = false;
};

}  // namespace dodyn::evaluators::simulation
