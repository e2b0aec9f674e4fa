// The initial states of an evaluation's simulations: [initial-state] and [initial-states].
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

// One initial state of a design.
struct Start {
  int number = 0;                            // from 0
  std::vector<double> variables;             // values of [initial-states], in their order
  std::map<std::string, double> parameters;  // parameters of the model, including those that the design sets
  systems::Values<double> values;            // numbers of the model for these parameters
  std::vector<double> q, v;                  // coordinates, rates

  // Returns the value of a formula of parameters and variables of [initial-states].
  double value(const Formula& formula) const;
};

// Returns sampled positions in the ranges, [variables, states] in [0, 1], by the keys count, sampling and seed of
// [initial-states]. `wide[i]`: range i is more than a single value. `set`: number of an independent sample of the same
// size. A grid is the same for all sets, and may have fewer than `count` states. Throws ConfigError.
Eigen::MatrixXd shares_of_ranges(const CustomSection& section, const std::vector<bool>& wide, int set = 0);
// Whether a key of [initial-states] controls the sampling.
bool draws_starts(const std::string& key);

class InitialStates {
 public:
  // Reads the sections. Throws ConfigError.
  InitialStates(const Settings& settings, const systems::Model& model);

  int count() const { return points_.cols(); }
  const std::vector<std::string>& variables() const { return names_; }
  // Whether there are further sets with the same number of initial states, drawn at random or by a random shift.
  bool are_drawn() const { return are_drawn_; }
  // Returns the content of initial-states.file; empty: no file.
  const std::string& file_text() const { return file_text_; }
  const std::string& file_name() const { return file_name_; }
  // Whether initial states differ in parameters of the model.
  bool varies_model() const { return varies_model_; }

  // Throws if a variable has no effect. Call it after all formulas are read.
  void check_used(const FormulaReader& reader) const;
  // Throws if an entry gives a rate of one of these links, which simulation.fixed holds.
  void expect_moving(const std::vector<int>& held) const;
  // Reads the formulas of [initial-state] and of ranges.
  void read(FormulaReader& reader);

  // Returns an initial state of a set; sets after 0 exist if are_drawn(). `design`: the parameters that the design
  // sets. Throws ConfigError if the model refuses the values.
  Start start(int number, const std::map<std::string, double>& design, int set = 0) const;

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
  std::vector<CustomEntry> sources_;  // entries of the names
  std::vector<Target> targets_;
  std::vector<std::pair<Expression, Expression>> ranges_;  // empty if a file gives the values
  std::vector<std::pair<Formula, Formula>> ends_;
  Eigen::MatrixXd points_;                  // [variables, states]: values of a file, or positions in the ranges
  const CustomSection* section_ = nullptr;  // [initial-states]; null: none
  bool are_drawn_ = false;
  mutable int next_set_ = 0;             // set whose positions are in next_points_; 0: none
  mutable Eigen::MatrixXd next_points_;  // only one thread evaluates
  Eigen::MatrixXd drawn(int set) const;  // by the keys of [initial-states]
  const Eigen::MatrixXd& points(int set) const;
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
