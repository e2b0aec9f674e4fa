// One typed, validated description of a whole study, from an INI file and the command line.
//
//   [gait]                      sections of keys that the study, its strategy and its evaluator describe (key.hpp)
//   leg-radius = 5 cm
//   [design]                    the evaluator's design variables: set, or freed
//   knee.min = 0.3
//   [phase stance]              sections of the evaluator, which it reads itself, in the order of the file
//   intervals = 30
//   [scenario fast]             the same study in another situation: a weight, and the settings that differ
//   leg-radius = 0.06
//
// On the command line: --gait.leg-radius 0.05, --design.knee 0.4, --phase.stance.intervals 40,
// --scenario.fast.leg-radius 0.07. (The keys of this example are from several evaluators.)
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "record/evaluation.hpp"
#include "record/text.hpp"
#include "settings/config_error.hpp"
#include "settings/expression.hpp"
#include "settings/ini.hpp"
#include "settings/key.hpp"

namespace dodyn::evaluators {
class Evaluator;
}

namespace dodyn {

// A design variable of an evaluator: `design.NAME = value` fixes it, `design.NAME.min` and `.max` free it.
struct DesignVariable {
  std::string name, unit, description;
  double default_value;
  double minimum, maximum;  // range in which the model is valid; .min and .max must be in it
  // Default as an expression of other variables, such as "1 - knee"; empty: default_value. The evaluator computes the
  // expression unless Settings::design_given(name).
  std::string formula = {};
  bool has_unit_key = false;  // design.NAME.unit is the unit in which the evaluator uses it
};

struct Setting {
  Key key;
  std::string value;      // canonical text (key.hpp)
  std::string source;     // "default", "configs/knee.cfg:12", "command line"
  std::string note = {};  // for a path: "file NAME", the file found; or why the setting is not used
  bool is_used = true;    // false: the default of a key that has no effect; explicit settings are always true
};

// An entry of a section that an evaluator reads itself.
struct CustomEntry {
  std::string key, value;
  std::string source;          // "hopper.cfg:12", "command line"
  std::string full_name = {};  // "phase.stance.fixed", if it was not given under a title; empty: the key

  const std::string& name() const { return full_name.empty() ? key : full_name; }
  ConfigError error(const std::string& complaint) const;  // "SOURCE: NAME = VALUE: complaint"
  // Parses its value, or a part of it, as an expression; throws error().
  Expression parsed(std::span<const std::string> hyphenated = {}) const;
  Expression parsed(std::string_view part, std::span<const std::string> hyphenated = {}) const;
  Expression condition() const;  // its value; throws error() if it is not a condition
  Expression number() const;     // its value; throws error() if it is a condition
};

// A section that an evaluator reads itself.
struct CustomSection {
  std::string kind, name;            // "phase", "stance" of [phase stance]
  std::string source;                // "hopper.cfg:11", "command line"
  std::vector<CustomEntry> entries;  // in the order of the file; keys of the command line are appended

  const CustomEntry* find(const std::string& key) const;  // null: the section does not have the key
  // Returns the canonical text of the entry `key.name`, or of the key's default. Throws ConfigError if there is
  // neither.
  std::string text(const Key& key) const;
  double real(const Key& key) const;  // the number of the entry; durations in s
  int integer(const Key& key) const;
  std::string title() const;                              // "[phase stance]"
  ConfigError error(const std::string& complaint) const;  // "SOURCE: [phase stance]: complaint"
};

struct Scenario;

class Settings {
 public:
  std::string file;                 // path of the configuration
  std::string folder;               // folder of the configuration; empty: the working directory
  std::string evaluator;            // study.evaluator
  std::vector<Variable> variables;  // the free design variables, in the order of the evaluator's list
  // Variables that the file frees and the command line fixes, with the file's range.
  std::vector<Variable> overruled;
  // Every setting, in the order of --help. A fixed design variable has the entry `design.NAME`, a free one
  // `design.NAME.min` and `design.NAME.max`, or `design.NAME` with its list of choices. The entries of the evaluator's
  // sections follow the evaluator's keys; the setting `sections` stores the titles of the sections.
  std::vector<Setting> all;
  std::vector<CustomSection> sections;       // sections of the evaluator, in the order of the file
  std::vector<std::string> idle;             // names of keys that only other strategies have
  std::vector<std::string> given_variables;  // names that [design] and --design.* set or free
  std::vector<Scenario> scenarios;           // scenarios in study.scenarios; empty: a study without scenarios

  // Returns the value of a key. A key that is not in `all`, or has another type, is a program error.
  double real(const std::string& key) const;  // the number of the setting; durations in s
  int integer(const std::string& key) const;
  bool boolean(const std::string& key) const;
  std::string text(const std::string& key) const;  // text, choice and path as given
  bool given(const std::string& key) const;        // set explicitly, not by default

  // Returns the file of a path. A path in a configuration is searched in its `folder`, then in the working directory; a
  // path on the command line, or a default, only in the working directory. Unchanged if there is no such file.
  std::string path(const std::string& key) const;

  // Whether a design variable is set or freed explicitly.
  bool design_given(const std::string& name) const;
  // Returns the value of a design variable, given the values of the free variables. A variable with a formula must be
  // given (design_given()).
  double design(const std::string& name, const Eigen::VectorXd& free) const;

  std::vector<const CustomSection*> sections_of(const std::string& kind) const;

  // Returns the error "FILE:LINE: KEY = VALUE: complaint", for an evaluator that finds inconsistent settings.
  ConfigError error(const std::string& key, const std::string& complaint) const;

  // Returns all settings with `is_used` as (key, value) texts, for the archive.
  std::vector<std::pair<std::string, std::string>> configuration() const;
  // Returns (key, source) of the settings that are set explicitly.
  std::vector<std::pair<std::string, std::string>> sources() const;

 private:
  const Setting& find(const std::string& key) const;
};

// One of the situations in which a design is evaluated: [scenario NAME].
struct Scenario {
  std::string name;
  double weight = 1.0;     // weight in the mean
  double reference = 1.0;  // divisor of the scenario's cost, such as its best possible cost
  Settings settings;       // the study's settings with the scenario's entries applied; without scenarios
};

// Returns the scenario's own keys: weight, reference.
const std::vector<Key>& scenario_keys();
const ini::SectionKind& scenario_section();

// Description of an evaluator for the registry (evaluators/evaluator.hpp), needed before a study exists.
struct EvaluatorKind {
  // Returns the design variables for the settings read up to now (`all` without the variables, `sections` and
  // `given_variables`). So a key may name the model that defines the variables. May throw ConfigError.
  using Variables = std::function<std::vector<DesignVariable>(const Settings& so_far)>;

  std::string name;                             // "gait"
  std::string description;                      // one line for --help
  Variables variables;                          // valid names in `[design]`
  std::vector<Key> keys;                        // its own settings, section included: "gait.leg-radius"
  std::vector<ini::SectionKind> sections = {};  // that the evaluator reads itself
  // Returns keys that have no effect because of other settings, each with the reason ("gait.contact = free").
  // Null: there are none.
  std::vector<std::pair<std::string, std::string>> (*idle)(const Settings& settings) = nullptr;
  std::unique_ptr<evaluators::Evaluator> (*make)(const Settings& settings) = nullptr;
};

// Returns a function that returns `variables` for all settings.
EvaluatorKind::Variables always(std::vector<DesignVariable> variables);

// Description of a strategy for the settings.
struct StrategyKeys {
  std::string name, description;  // description: one line for --help
  std::vector<Key> keys;          // its own settings: "surrogate.tolerance"; strategies may share keys
  std::vector<std::pair<std::string, std::string>> (*idle)(const Settings& settings) = nullptr;  // as EvaluatorKind
};

// Reads `path`, then the words of the command line (`--section.key value` or `--section.key=value`), which override the
// file. `--strategy` is short for `--surrogate.strategy`, `--wall-time` for `--study.wall-time`. The first of
// `strategies` is the default. Keys of another strategy have no effect in the file, as `dodyn check` notes; on the
// command line they are refused. Opens `path` and the files that the evaluator's variables need. Throws ConfigError.
Settings read_settings(const std::string& path, const std::vector<std::string>& words,
                       const std::vector<EvaluatorKind>& kinds, const std::vector<StrategyKeys>& strategies);

// Returns one line with the settings that identify the study (Key::identity) and differ from an archive's
// configuration; empty: none. Paths may differ in their folders.
std::string differences(const Settings& settings, const std::vector<std::pair<std::string, std::string>>& archived);

// Returns the keys of the section [study].
std::vector<Key> study_keys(const std::vector<EvaluatorKind>& kinds);

// Returns the key surrogate.strategy.
Key strategy_key(const std::vector<StrategyKeys>& strategies);

// Returns the keys of an evaluator: its default design variables [design], and its own section [NAME].
std::vector<Key> evaluator_keys(const EvaluatorKind& kind);

}  // namespace dodyn
