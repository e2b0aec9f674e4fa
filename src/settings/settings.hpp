// One typed, validated description of a whole study, from an INI file and the command line.
//
// Every key is described once, in a `Key`: the table serves --help, `dodyn check`, validation, the "did you mean" of an
// unknown key, and the configuration text stored in the archive.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "record/evaluation.hpp"
#include "record/text.hpp"
#include "settings/config_error.hpp"

namespace dodyn::evaluators {
class Evaluator;
}

namespace dodyn {

enum class Type { real, integer, boolean, text, choice, duration };

struct Key {
  std::string name;  // "gait.step-length"
  Type type = Type::real;
  std::string default_value = {};            // as text; empty: the key must be given (a text may be empty)
  std::string unit = {};                     // "m", "N m", "" ...
  std::string description = {};              // one line
  double minimum = -1e308, maximum = 1e308;  // real and integer: allowed range, closed ...
  bool open_minimum = false;                 // ... or open below: value > minimum
  std::vector<std::string> choices = {};     // choice: allowed words
  bool identity = true;                      // part of what makes a study this study: a resumed archive must agree
};

// A design variable of an evaluator: `design.NAME = value` fixes it, `design.NAME.min` and `.max` free it.
struct DesignVariable {
  std::string name, unit, description;
  double default_value;
  double minimum, maximum;  // validity of the model: the range that .min and .max may span
};

struct Setting {
  Key key;
  std::string value;   // canonical text: the shortest that reads back as the same number; true or false; hh:mm:ss
  std::string source;  // "default", "configs/knee.cfg:12", "command line"
};

class Settings {
 public:
  std::string evaluator;            // study.evaluator
  std::vector<Variable> variables;  // the free design variables, in the order of the evaluator's list
  // Every setting, in the order of --help. A fixed design variable has the one entry `design.NAME`, a free one has
  // `design.NAME.min` and `design.NAME.max`.
  std::vector<Setting> all;

  // The value of a key; asking for a key that is not in `all`, or by another type, is a mistake of the program.
  double real(const std::string& key) const;  // also a duration, in s
  int integer(const std::string& key) const;
  bool boolean(const std::string& key) const;
  std::string text(const std::string& key) const;  // text and choice

  // Value of a design variable of the evaluator for a design vector of the free ones.
  double design(const std::string& name, const Eigen::VectorXd& free) const;

  // For an evaluator that finds two settings at odds: the error "FILE:LINE: KEY = VALUE: complaint".
  ConfigError error(const std::string& key, const std::string& complaint) const;

  // Configuration as (key, value) text, for the archive.
  std::vector<std::pair<std::string, std::string>> configuration() const;

 private:
  const Setting& find(const std::string& key) const;
};

// What the registry of evaluators (evaluators/evaluator.hpp) knows of one before a study exists.
struct EvaluatorKind {
  std::string name;                       // "gait"
  std::string description;                // one line for --help
  std::vector<DesignVariable> variables;  // what `[design]` may hold
  std::vector<Key> keys;                  // its own settings, section included: "gait.step-length"
  std::unique_ptr<evaluators::Evaluator> (*make)(const Settings& settings);
  bool any_variable = false;  // `[design]` may hold any name
};

// Reads `path` and then the words of the command line (`--section.key value` or `--section.key=value`, which win;
// `--strategy` is short for `--surrogate.strategy`, `--wall-time` for `--study.wall-time`). Opens nothing but `path`.
// Throws ConfigError.
Settings read_settings(const std::string& path, const std::vector<std::string>& words,
                       const std::vector<EvaluatorKind>& kinds);

// Empty, or one line that says which settings of an archive's configuration differ from these.
std::string differences(const Settings& settings, const std::vector<std::pair<std::string, std::string>>& archived);

// The keys of the study itself and of its strategy (sections [study] and [surrogate]), and those of an evaluator's
// design variables and its own ([design] and [NAME]).
std::vector<Key> study_keys(const std::vector<EvaluatorKind>& kinds);
std::vector<Key> evaluator_keys(const EvaluatorKind& kind);

// "a number in (0, 2] m", "one of strawman, sweep": what a key allows, for messages and --help.
std::string allowed(const Key& key);

}  // namespace dodyn
