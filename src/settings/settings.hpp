// One typed, validated description of a whole study, from an INI file and the command line.
//
//   [gait]                      sections of keys that the study, its strategy and its evaluator describe (key.hpp)
//   step-length = 50 cm
//   [design]                    the evaluator's design variables: set, or freed
//   knee.min = 0.3
//   [phase stance]              sections that the evaluator declares and reads itself, in the order of the file
//   intervals = 30
//   [scenario fast]             the same study in another situation: a weight, and what is otherwise there
//   step-length = 0.6
//
// On the command line: --gait.step-length 0.5, --design.knee 0.4, --phase.stance.intervals 40,
// --scenario.fast.step-length 0.7.
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
  double minimum, maximum;  // validity of the model: the range that .min and .max may span
  // Where not empty, what it is unless it is set or freed: an expression of other variables, as "1 - knee", which the
  // evaluator knows (Settings::given() says whether it has to).
  std::string formula = {};
  bool has_unit_key = false;  // design.NAME.unit says in which unit the evaluator takes it
};

struct Setting {
  Key key;
  std::string value;      // canonical text (key.hpp)
  std::string source;     // "default", "configs/knee.cfg:12", "command line"
  std::string note = {};  // a path: "file NAME", the one that was found; why it is not used
  bool is_used = true;    // by the strategy or the evaluator
};

// An entry of a section that an evaluator reads itself.
struct CustomEntry {
  std::string key, value;
  std::string source;  // "hopper.cfg:12", "command line"

  ConfigError error(const std::string& complaint) const;  // "SOURCE: KEY = VALUE: complaint"
  // Its value, or a part of it, as an expression; throws error().
  Expression parsed(std::span<const std::string> hyphenated = {}) const;
  Expression parsed(std::string_view part, std::span<const std::string> hyphenated = {}) const;
};

// A section that an evaluator reads itself.
struct CustomSection {
  std::string kind, name;            // "phase", "stance" of [phase stance]
  std::string source;                // "hopper.cfg:11", "command line"
  std::vector<CustomEntry> entries;  // in the order of the file; keys that the command line adds at their end

  const CustomEntry* find(const std::string& key) const;  // null: it has none
  // The canonical text of the entry `key.name`, or of the key's default; throws ConfigError where it has neither.
  std::string text(const Key& key) const;
  double real(const Key& key) const;  // also a duration, in s
  int integer(const Key& key) const;
  std::string title() const;                              // "[phase stance]"
  ConfigError error(const std::string& complaint) const;  // "SOURCE: [phase stance]: complaint"
};

struct Scenario;

class Settings {
 public:
  std::string file;                 // the configuration
  std::string folder;               // of the configuration; empty: the working directory
  std::string evaluator;            // study.evaluator
  std::vector<Variable> variables;  // the free design variables, in the order of the evaluator's list
  // Variables that the command line fixes and the file frees, with the file's range.
  std::vector<Variable> overruled;
  // Every setting, in the order of --help. A fixed design variable has the one entry `design.NAME`, a free one has
  // `design.NAME.min` and `design.NAME.max`. At the end what the free sections hold, and their titles as `sections`.
  std::vector<Setting> all;
  std::vector<CustomSection> sections;       // of the kinds that the evaluator declares, in the order of the file
  std::vector<std::string> idle;             // names of keys that only other strategies have
  std::vector<std::string> given_variables;  // names that [design] and --design.* set or free
  std::vector<Scenario> scenarios;           // those that study.scenarios takes; none: an ordinary study

  // The value of a key; asking for a key that is not in `all`, or by another type, is a mistake of the program.
  double real(const std::string& key) const;  // also a duration, in s
  int integer(const std::string& key) const;
  bool boolean(const std::string& key) const;
  std::string text(const std::string& key) const;  // text, choice and path as given
  bool given(const std::string& key) const;        // there, and not by default

  // The file that a path means: one in the configuration is looked for in its `folder`, then in the working directory;
  // one on the command line in the working directory alone. As given where there is none.
  std::string path(const std::string& key) const;

  // Whether a design variable is set or freed, here rather than by default.
  bool design_given(const std::string& name) const;
  // Value of a design variable of the evaluator for a design vector of the free ones. One with a formula must be given.
  double design(const std::string& name, const Eigen::VectorXd& free) const;

  std::vector<const CustomSection*> sections_of(const std::string& kind) const;

  // For an evaluator that finds two settings inconsistent: the error "FILE:LINE: KEY = VALUE: complaint".
  ConfigError error(const std::string& key, const std::string& complaint) const;

  // The settings that are used, as (key, value) text, for the archive.
  std::vector<std::pair<std::string, std::string>> configuration() const;
  // (key, source) of the settings that are not there by default.
  std::vector<std::pair<std::string, std::string>> sources() const;

 private:
  const Setting& find(const std::string& key) const;
};

// One of the situations that a design has to do for: [scenario NAME].
struct Scenario {
  std::string name;
  double weight = 1.0;     // in the mean
  double reference = 1.0;  // its cost is taken relative to this, such as the best that it allows
  Settings settings;       // of the study, with what the scenario says in place; no scenarios of its own
};

// Its keys besides those that it sets: weight, reference.
const std::vector<Key>& scenario_keys();
const ini::SectionKind& scenario_section();

// What the registry of evaluators (evaluators/evaluator.hpp) knows of one before a study exists.
struct EvaluatorKind {
  // The design variables, from the settings up to now: `all` but the variables, `sections` and `given_variables`, so that
  // they may be those of a model that a key names. May throw ConfigError.
  using Variables = std::function<std::vector<DesignVariable>(const Settings& so_far)>;

  std::string name;                             // "gait"
  std::string description;                      // one line for --help
  Variables variables;                          // what `[design]` may hold
  std::vector<Key> keys;                        // its own settings, section included: "gait.step-length"
  std::vector<ini::SectionKind> sections = {};  // that it reads itself
  // Keys of settings that the others make idle, each with the reason ("gait.leg-mass-model = fixed-masses"). Null: there are none.
  std::vector<std::pair<std::string, std::string>> (*idle)(const Settings& settings) = nullptr;
  std::unique_ptr<evaluators::Evaluator> (*make)(const Settings& settings) = nullptr;
};

// Variables that are the same whatever the settings.
EvaluatorKind::Variables always(std::vector<DesignVariable> variables);

// A strategy for choosing designs, as the settings describe it.
struct StrategyKeys {
  std::string name, description;  // description: one line for --help
  std::vector<Key> keys;          // its own settings: "surrogate.tolerance"; strategies may have keys in common
};

// Reads `path` and then the words of the command line (`--section.key value` or `--section.key=value`, which win;
// `--strategy` is short for `--surrogate.strategy`, `--wall-time` for `--study.wall-time`). The first of
// `strategies` is the default. Keys of another strategy in the file have no effect, which `dodyn check` notes; on the
// command line they are refused. Opens `path` and what the evaluator's variables need. Throws ConfigError.
Settings read_settings(const std::string& path, const std::vector<std::string>& words,
                       const std::vector<EvaluatorKind>& kinds, const std::vector<StrategyKeys>& strategies);

// Empty, or one line that says which settings of an archive's configuration differ from these.
std::string differences(const Settings& settings, const std::vector<std::pair<std::string, std::string>>& archived);

// The keys of the study itself, section [study].
std::vector<Key> study_keys(const std::vector<EvaluatorKind>& kinds);

// The key surrogate.strategy.
Key strategy_key(const std::vector<StrategyKeys>& strategies);

// Those of an evaluator's design variables, as they are by default, and its own ([design] and [NAME]).
std::vector<Key> evaluator_keys(const EvaluatorKind& kind);

}  // namespace dodyn
