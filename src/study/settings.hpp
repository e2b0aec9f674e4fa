// One typed, validated description of a whole study, from an INI file and the command line.
//
// Every key is described once, in a `Key`: the table serves --help, `dodyn check`, validation, the "did you mean" of an
// unknown key, and the configuration text stored in the archive.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "record/evaluation.hpp"

namespace dodyn::study {

enum class Type { real, integer, boolean, text, choice };

struct Key {
  std::string name;  // "gait.step-length"
  Type type = Type::real;
  std::string default_value;  // as text
  std::string unit;           // "m", "" ...
  std::string description;    // one line
  double minimum = -1e308, maximum = 1e308;  // real and integer: allowed range, closed ...
  bool open_minimum = false;                 // ... or open below: value > minimum
  std::vector<std::string> choices = {};     // choice: allowed words
  bool identity = true;  // part of what makes a study this study: a resumed archive must agree
};

// A design variable of an evaluator: `design.NAME = value` fixes it, `design.NAME.min` and `.max` free it.
struct DesignVariable {
  std::string name, unit, description;
  double default_value;
  double minimum, maximum;  // validity of the model: the range that .min and .max may span
};

// Bad input. One line fit to show to a user: what, where, what is allowed, nearest valid name. Exit code 2.
struct ConfigError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Setting {
  Key key;
  std::string value;   // canonical text
  std::string source;  // "default", "configs/knee.cfg:12", "command line"
};

class Settings {
 public:
  double real(const std::string& key) const;
  int integer(const std::string& key) const;
  bool boolean(const std::string& key) const;
  std::string text(const std::string& key) const;  // text and choice

  std::string evaluator;            // study.evaluator
  std::vector<Variable> variables;  // the free design variables, in the order of the evaluator's list
  // Value of every design variable of the evaluator for a design vector of the free ones.
  double design(const std::string& name, const Eigen::VectorXd& free) const;

  std::vector<Setting> all;  // every setting, in the order of --help

  // Configuration as (key, value) text, for the archive.
  std::vector<std::pair<std::string, std::string>> configuration() const;
};

// Reads `path` and then the words of the command line (`--section.key value`, which win). Throws ConfigError.
Settings read_settings(const std::string& path, const std::vector<std::string>& words);

// Empty, or one line that says which settings of an archive's configuration differ from these.
std::string differences(const Settings& settings, const std::vector<std::pair<std::string, std::string>>& archived);

}  // namespace dodyn::study
