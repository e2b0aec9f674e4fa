// Makes settings from a configuration and a command line.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "settings/choices.hpp"
#include "settings/command_line.hpp"
#include "settings/expression.hpp"
#include "settings/read_text.hpp"
#include "settings/removed.hpp"
#include "settings/renamed.hpp"
#include "settings/settings.hpp"
#include "settings/units.hpp"

namespace dodyn {
namespace {

const std::string line_source = "command line";

// One `key = value` of the user.
struct Given {
  std::string value, where;  // where: "knee.cfg:12" or "command line"
};
using Level = std::map<std::string, Given>;  // everything given in one source: the file, or the command line

[[noreturn]] void fail(const std::string& where, const std::string& what) { throw ConfigError(where + ": " + what); }

// Throws if the key was removed. `known`: its full name; `typed`: as the user wrote it.
void refuse_removed(const std::string& where, const std::string& known, const std::string& typed) {
  if (const RemovedKey* gone = find_removed(known))
    fail(where, "the key '" + shown(typed) + "' was removed; " + gone->advice);
}

void add(Level& level, const std::string& key, const Given& given) {
  const auto [at, fresh] = level.emplace(key, given);
  if (!fresh) fail(given.where, shown(key) + " is given twice (already at " + at->second.where + ")");
}

// Returns the kind of a section that is kept unparsed: one of the evaluator, or a scenario. Null: neither.
const ini::SectionKind* free_kind(const EvaluatorKind& kind, const std::string& section) {
  if (section == scenario_section().kind) return &scenario_section();
  const auto at = std::ranges::find_if(kind.sections, [&](const auto& one) { return one.kind == section; });
  return at == kind.sections.end() ? nullptr : &*at;
}

// The keys of one design variable: its value, or both ends of its range.
struct DesignKeys {
  Key value, minimum, maximum;
};
DesignKeys design_keys(const DesignVariable& variable) {
  Key key{.name = "design." + variable.name,
          .type = Type::real,
          .default_value = to_text(variable.default_value),
          .unit = variable.unit,
          .description = variable.description,
          .minimum = variable.minimum,
          .maximum = variable.maximum};
  DesignKeys keys{key, key, key};
  keys.minimum.name += ".min";
  keys.maximum.name += ".max";
  keys.minimum.description = "free " + variable.name + ": lower end of its range";
  keys.maximum.description = "free " + variable.name + ": upper end of its range";
  keys.minimum.default_value = keys.maximum.default_value = "";
  return keys;
}

// Returns the names of the design variables that are set or freed, those of the file first.
std::vector<std::string> variables_in(const Level& file, const std::vector<Word>& line, const Level& scenario) {
  std::vector<std::string> names;
  const auto add_name = [&](std::string key) {
    if (!key.starts_with("design.")) return;
    key.erase(0, 7);
    if (key.ends_with(".min") || key.ends_with(".max")) key.erase(key.size() - 4);
    if (key.ends_with(".unit")) key.erase(key.size() - 5);
    if (std::ranges::find(names, key) == names.end()) names.push_back(key);
  };
  for (const auto& [key, given] : file) add_name(key);
  for (const auto& word : line) add_name(word.key);
  for (const auto& [key, given] : scenario) add_name(key);
  return names;
}

// Reads a configuration in steps; each step needs the previous ones. With `scenario`, its entries (by full key names)
// override the file and the command line.
class Reader {
 public:
  Reader(const ini::Text& text, const std::string& folder, const std::vector<std::string>& words,
         const std::vector<EvaluatorKind>& kinds, const std::vector<StrategyKeys>& strategies,
         const Level* scenario = nullptr)
      : text_(text),
        given_words_(words),
        words_(parse_words(words)),
        kinds_(kinds),
        strategies_(strategies),
        common_(study_keys(kinds)),
        in_scenario_(scenario != nullptr) {
    if (scenario) scenario_ = *scenario;
    settings_.file = text_.origin;
    settings_.folder = folder;
    for (auto& word : words_) {
      if (word.key == "strategy") word.key = "surrogate.strategy";
      if (word.key == "wall-time") word.key = "study.wall-time";
    }
  }

  Settings read() {
    choose_evaluator();
    take_sections();
    take_words();
    choose_strategy();
    refuse_unknown_keys();
    for (const auto& key : common_) take(key);
    take_idle_keys();
    name_archive();
    const auto own = settings_.all.size();
    for (const auto& key : kind_->keys) take(key);
    describe_sections();
    settings_.given_variables = variables_in(file_, words_, scenario_);
    auto variables = kind_->variables(settings_);
    refuse_unknown_variables(variables);

    // order of --help: design variables before the evaluator's own keys
    std::vector<Setting> rest(settings_.all.begin() + own, settings_.all.end());
    settings_.all.resize(own);
    for (auto& variable : variables) {
      if (variable.has_unit_key) take_unit(variable);
      take_variable(variable);
    }
    settings_.all.insert(settings_.all.end(), rest.begin(), rest.end());
    mark_idle();
    if (!in_scenario_) read_scenarios(variables);
    mark_used_by_scenarios();
    return std::move(settings_);
  }

 private:
  // Finds the evaluator, which defines the valid sections and keys. The file or the command line names it.
  void choose_evaluator() {
    for (const auto& section : text_.sections)
      if (section.kind == "study" || section.kind.empty())
        if (const auto* entry = section.find(section.kind.empty() ? "study.evaluator" : "evaluator"))
          evaluator_ = {entry->value, text_.where(entry->line)};
    for (const auto& word : words_)
      if (word.key == "study.evaluator") evaluator_ = {word.value, line_source};
    const Key& key = common_.front();
    if (evaluator_.where.empty()) {
      const auto known = names_of(common_);
      for (const auto& section : text_.sections)
        if (section.kind == "study")
          for (const auto& entry : section.entries) {
            const std::string name = "study." + entry.key, nearest = did_you_mean(name, {key.name});
            if (!nearest.empty() && std::ranges::find(known, name) == known.end())
              fail(text_.where(entry.line), "unknown key '" + shown(name) + "'" + nearest);
          }
      for (const auto& section : text_.sections)
        if (const auto* entry = section.kind.empty() ? section.find("evaluator") : nullptr)
          fail(text_.where(entry->line), "'evaluator' stands before any [section]; write [study] above it");
      fail(settings_.file, key.name + " is missing; allowed: " + allowed(key));
    }
    settings_.evaluator = canonical(key, evaluator_.value, evaluator_.where);
    kind_ = &*std::ranges::find_if(kinds_, [&](const auto& other) { return other.name == settings_.evaluator; });
  }

  void choose_strategy() {
    const Key key = strategy_key(strategies_);
    const Given* chosen = given(key.name);
    const std::string name = chosen ? canonical(key, chosen->value, chosen->where) : default_text(key);
    strategy_ = &*std::ranges::find_if(strategies_, [&](const auto& one) { return one.name == name; });
    common_.push_back(key);
    common_.insert(common_.end(), strategy_->keys.begin(), strategy_->keys.end());
    const auto own = names_of(strategy_->keys);
    for (const auto& other : strategies_)
      for (const auto& theirs : other.keys) {
        const auto known = [&](const std::vector<std::string>& names) {
          return std::ranges::find(names, theirs.name) != names.end();
        };
        if (known(own) || known(settings_.idle)) continue;
        settings_.idle.push_back(theirs.name);
        idle_.push_back(theirs);
      }
  }

  // Reads keys of other strategies, so that one file can serve several. They have no effect. Throws ConfigError if the
  // command line has such a key.
  void take_idle_keys() {
    for (auto key : idle_) {
      const Given* value = given(key.name);
      if (!value) continue;
      if (line_.count(key.name)) {
        std::vector<std::string> owners;
        for (const auto& other : strategies_)
          for (const auto& theirs : other.keys)
            if (theirs.name == key.name) owners.push_back(other.name);
        fail(line_source, key.name + " belongs to " + listed(owners) + "; this study's strategy is " + strategy_->name);
      }
      key.identity = false;
      settings_.all.push_back(
          {key, canonical(key, value->value, value->where), value->where, "not used by " + strategy_->name});
    }
  }

  // Returns a message such as " belongs to evaluator swim, walk; this study's is fly (wing.cfg:2)" with the evaluators
  // that fulfil a condition; empty: none does.
  template <class Condition>
  std::string belongs_to(const Condition& has_it) const {
    std::vector<std::string> owners;
    for (const auto& other : kinds_)
      if (other.name != kind_->name && has_it(other)) owners.push_back(other.name);
    if (owners.empty()) return "";
    return " belongs to evaluator " + listed(owners) + "; this study's is " + kind_->name + " (" + evaluator_.where +
           ")";
  }

  // Stores the sections of the evaluator unparsed; the entries of all others become keys.
  void take_sections() {
    std::vector<std::string> kinds = {"study", "surrogate", "design", kind_->name};
    auto own_kinds = kind_->sections;
    own_kinds.push_back(scenario_section());
    for (const auto& one : own_kinds) kinds.push_back(one.kind);
    ini::Text own{text_.origin, {}};
    for (const auto& section : text_.sections) {
      if (free_kind(*kind_, section.kind)) {
        own.sections.push_back(section);
        continue;
      }
      const bool known = std::ranges::find(kinds, section.kind) != kinds.end();
      if (!section.name.empty() || (section.entries.empty() && !known)) {
        if (const std::string owners = belongs_to([&](const EvaluatorKind& other) {
              return free_kind(other, section.kind) || other.name == section.kind;
            });
            !owners.empty())
          text_.fail(section.line, shown(section.title()) + owners);
        if (!known)
          text_.fail(section.line, "unknown section " + shown(section.title()) + did_you_mean(section.kind, kinds) +
                                       "; allowed: " + listed(kinds));
        text_.fail(section.line, shown(section.title()) + " has a name; allowed: [" + shown(section.kind) + "]");
      }
      for (const auto& entry : section.entries)
        add(file_, section.kind.empty() ? entry.key : section.kind + "." + entry.key,
            {entry.value, text_.where(entry.line)});
    }
    ini::check(own, own_kinds);
    for (const auto& section : own.sections) {
      CustomSection taken{section.kind, section.name, text_.where(section.line), {}};
      for (const auto& entry : section.entries)
        taken.entries.push_back({entry.key, entry.value, text_.where(entry.line)});
      settings_.sections.push_back(std::move(taken));
    }
  }

  void take_words() {
    for (const auto& word : words_) {
      const std::string section = word.key.substr(0, word.key.find('.'));
      const Given given{word.has_value ? word.value : "", line_source};
      const auto* kind = section == word.key ? nullptr : free_kind(*kind_, section);
      if (kind && !word.has_value && kind->values_may_be_empty)
        fail(line_source, "--" + shown(word.key) + ": has no value");
      if (kind)
        override_section(*kind, word.key, given);
      else
        add(line_, word.key, given);
    }
    if (!in_scenario_) return;
    std::erase_if(settings_.sections,
                  [](const CustomSection& section) { return section.kind == scenario_section().kind; });
    for (const auto& [key, value] : scenario_)
      if (const auto* kind = free_kind(*kind_, key.substr(0, key.find('.')))) override_section(*kind, key, value);
    std::erase_if(scenario_,
                  [&](const auto& one) { return free_kind(*kind_, one.first.substr(0, one.first.find('.'))); });
  }

  // Handles --KIND.NAME.key value, or --KIND.key value for a section without a name.
  void override_section(const ini::SectionKind& kind, const std::string& full, const Given& given) {
    const std::string rest = full.substr(kind.kind.size() + 1);
    const auto complain = [&](const std::string& what) {
      fail(given.where, (given.where == line_source ? "--" : "") + shown(full) + ": " + what);
    };
    CustomSection* section = nullptr;
    std::string key = rest;
    std::vector<std::string> names;
    for (auto& one : settings_.sections) {
      if (one.kind != kind.kind) continue;
      names.push_back(one.name);
      // the longest of several matching names
      if (!one.name.empty() && rest.starts_with(one.name + ".") && (!section || one.name.size() > section->name.size()))
        section = &one, key = rest.substr(one.name.size() + 1);
    }
    if (!section) {
      for (auto& one : settings_.sections)
        if (one.kind == kind.kind && one.name.empty()) section = &one;
      if (!section && !names.empty()) {  // without a name there is one section, which was found
        const std::string name = rest.substr(0, rest.find('.'));
        complain("no section [" + kind.kind + " " + shown(name) + "]" + did_you_mean(name, names) +
                 "; there are: " + listed(names));
      }
      if (!section && kind.name == ini::SectionKind::Name::required)
        complain("no section [" + kind.kind + " NAME] in " + settings_.file);
      if (!section) section = &settings_.sections.emplace_back(CustomSection{kind.kind, "", given.where, {}});
    }
    if (!kind.any_key && std::ranges::find(kind.keys, key) == kind.keys.end())
      complain("unknown key '" + shown(key) + "'" + did_you_mean(key, kind.keys) + "; allowed: " + listed(kind.keys));
    if (given.value.empty() && !kind.values_may_be_empty) complain("has no value");
    for (auto& entry : section->entries) {
      if (entry.key != key) continue;
      if (entry.source == line_source && !in_scenario_) complain("is given twice");
      entry = {key, given.value, given.where, full};
      return;
    }
    section->entries.push_back({key, given.value, given.where, full});
  }

  const Given* given(const std::string& key) const {
    for (const Level* level : {&scenario_, &line_, &file_})
      if (const auto at = level->find(key); at != level->end()) return &at->second;
    return nullptr;
  }

  // Throws ConfigError for the first key that neither the study, nor a strategy, nor the evaluator has. Keys of
  // [design] are checked later, by refuse_unknown_variables().
  void refuse_unknown_keys() const {
    auto known = names_of(common_);
    for (const auto& name : names_of(kind_->keys)) known.push_back(name);
    known.insert(known.end(), settings_.idle.begin(), settings_.idle.end());
    for (const Level* level : {&file_, &line_, &scenario_})
      for (const auto& [name, value] : *level) {
        if (name.starts_with("design.") || std::ranges::find(known, name) != known.end()) continue;
        refuse_removed(value.where, name, name);
        if (!renamed(name, known).empty())
          fail(value.where, "unknown key '" + shown(name) + "'" + did_you_mean(name, known));
        std::vector<std::string> kinds;  // kinds of sections: a key of a renamed section is unknown, too
        for (const auto& section : kind_->sections) kinds.push_back(section.kind);
        if (const auto section = renamed(name.substr(0, name.find('.')), kinds); !section.empty())
          fail(value.where, "unknown key '" + shown(name) + "'; its section is now called '" + section + "'");
        if (const std::string owners = belongs_to([&](const EvaluatorKind& other) {
              const auto names = names_of(other.keys);
              const auto section = name.substr(0, name.find('.'));
              return std::ranges::find(names, name) != names.end() || (section != name && free_kind(other, section));
            });
            !owners.empty())
          fail(value.where, shown(name) + owners);
        if (const std::string variable = variable_meant(name); !variable.empty())
          fail(value.where, "unknown key '" + shown(name) + "'; " + variable +
                                " is a design variable: write it in [design] (design." + variable + ")");
        const std::string nearest = did_you_mean(name, known), section = name.substr(0, name.find('.'));
        const bool has_section = section != name && std::ranges::any_of(known, [&](const auto& key) {
                                   return key.starts_with(section + ".");
                                 });
        if (nearest.empty() && !has_section && section != name) {
          for (const auto& key : known) kinds.push_back(key.substr(0, key.find('.')));
          if (const std::string meant = did_you_mean(section, kinds); !meant.empty())
            fail(value.where,
                 "unknown key '" + shown(name) + "': there is no section '" + shown(section) + "'" + meant);
        }
        fail(value.where,
             "unknown key '" + shown(name) + "'" + nearest +
                 (nearest.empty() ? "; dodyn help keys" + (has_section ? " " + section : "") + " lists them" : ""));
      }
  }

  // Returns the design variable that a key names in a wrong section, or without a section; empty: none.
  std::string variable_meant(const std::string& name) const {
    const std::string bare = name.substr(name.find('.') == std::string::npos ? 0 : name.find('.') + 1);
    try {
      Reader probe = *this;  // a copy with the settings read up to now: it must not change this one or report other
                             // errors
      for (const auto* keys : {&common_, &kind_->keys})
        for (const auto& key : *keys) probe.take(key);
      for (const auto& variable : kind_->variables(probe.settings_))
        if (variable.name == bare) return bare;
    } catch (const ConfigError&) {
    }
    return "";
  }

  void refuse_unknown_variables(const std::vector<DesignVariable>& variables) const {
    std::vector<std::string> known;
    for (const auto& variable : variables)
      for (const char* end : {"", ".min", ".max", ".unit"})
        if (end != std::string(".unit") || variable.has_unit_key) known.push_back("design." + variable.name + end);
    for (const Level* level : {&file_, &line_, &scenario_})
      for (const auto& [name, value] : *level) {
        if (!name.starts_with("design.") || std::ranges::find(known, name) != known.end()) continue;
        const auto names = names_of(variables);
        std::string bare = name.substr(7);
        if (bare.ends_with(".min") || bare.ends_with(".max")) bare.erase(bare.size() - 4);
        if (bare.ends_with(".unit")) bare.erase(bare.size() - 5);
        refuse_removed(value.where, "design." + bare, name);
        const std::string nearest = did_you_mean(bare, names).empty() ? "" : did_you_mean(name, known);
        if (const std::string owners = belongs_to([&](const EvaluatorKind& other) {
              const auto theirs = names_of(evaluator_keys(other));
              return nearest.empty() && std::ranges::find(theirs, name) != theirs.end();
            });
            !owners.empty())
          fail(value.where, shown(name) + owners);
        const auto variable = std::ranges::find_if(names, [&](const auto& one) { return bare.starts_with(one + "."); });
        if (variable != names.end()) {
          std::vector<std::string> keys;
          for (const auto& key : known)
            if (key == "design." + *variable || key.starts_with("design." + *variable + ".")) keys.push_back(key);
          fail(value.where, "unknown key '" + shown(name) + "'" + did_you_mean(name, keys) + "; keys of " + *variable +
                                ": " + listed(keys) +
                                "; [surrogate] states the kind of a variable: surrogate.integers = " + *variable +
                                ", surrogate.categories, surrogate.log-scale");
        }
        fail(value.where, "unknown key '" + shown(name) + "'" + nearest +
                              (names.empty() ? "; there are no variables here: the model has no [parameters]"
                                             : "; variables: " + listed(names)));
      }
  }

  // Adds one setting. Throws ConfigError if a key without a default is not given, unless it is a text or a path.
  const Setting& take(const Key& key) {
    const Given* value = given(key.name);
    const bool may_be_empty = key.type == Type::text || key.type == Type::path;
    if (!value && key.default_value.empty() && !may_be_empty)
      fail(settings_.file, key.name + " is missing; allowed: " + allowed(key));
    settings_.all.push_back(value ? Setting{key, canonical(key, value->value, value->where), value->where}
                                  : Setting{key, default_text(key), "default"});
    if (Setting& taken = settings_.all.back(); key.type == Type::path && !taken.value.empty())
      if (const std::string file = settings_.path(key.name); std::filesystem::exists(file)) taken.note = "file " + file;
    return settings_.all.back();
  }

  void name_archive() {
    for (auto& setting : settings_.all)
      if (setting.key.name == "study.archive" && setting.value.empty())
        setting.value = std::filesystem::path(settings_.file).stem().string() + ".h5";
  }

  // Sets the unit in which the evaluator uses a variable; numbers in other units of the dimension are converted.
  void take_unit(DesignVariable& variable) {
    const std::string name = "design." + variable.name;
    const Key key{.name = name + ".unit",
                  .type = Type::text,
                  .description = "unit, in the program, of the variable " + variable.name};
    if (given(key.name)) {
      variable.unit = take(key).value;
      if (variable.unit.empty() || !parse_unit(variable.unit))
        fail(given(key.name)->where,
             key.name + " = " + shown(variable.unit) +
                 " is not a unit; allowed: such as mm, deg, N m, m/s2, and 1 for a pure number");
      return;
    }
    for (const char* end : {"", ".min", ".max"})
      if (const Given* value = given(name + end))
        if (const auto unit = unit_behind(value->value); !unit.empty())
          fail(value->where, name + end + " = " + shown(value->value) +
                                 " has a unit, but the unit in the program is not given; add " + key.name + " = " +
                                 std::string(unit));
  }

  void take_variable(const DesignVariable& variable) {
    const auto [value, minimum, maximum] = design_keys(variable);
    // The command line overrides the file as a whole: a value fixes a free variable, a range frees a fixed one.
    bool free = false, given_at_all = false;
    for (const Level* level : {&file_, &line_, &scenario_}) {
      const bool fixes = level->count(value.name);
      const auto range = level->count(minimum.name) ? level->find(minimum.name) : level->find(maximum.name);
      const bool frees = range != level->end();
      if (fixes && frees)
        fail(range->second.where, range->first + " frees the variable that " + value.name + " fixes (" +
                                      level->at(value.name).where + "); give a value or a range");
      if (fixes || frees) free = frees, given_at_all = true;
    }
    if (!free && given(value.name) && given(value.name)->value.find(',') != std::string::npos) {
      take_list(variable, value);
      return;
    }
    if (const auto list = file_.find(value.name); !free && list != file_.end())
      if (const auto words = choices_in(list->second.value); !words.empty()) {
        if (are_numbers(words))
          take_number(value, list->second);
        else
          take_name(variable, value, words);
        return;
      }
    if (!free) {
      if (given_at_all || variable.formula.empty()) {
        take(value);
        overrule(variable, minimum, maximum);
      } else {
        Key formula = value;
        formula.type = Type::text;
        formula.default_value = variable.formula;
        take(formula);
      }
      return;
    }
    for (const auto& [one, other] : {std::pair(&minimum, &maximum), std::pair(&maximum, &minimum)})
      if (!given(one->name))
        fail(given(other->name)->where, other->name + " is given without " + one->name + "; allowed: " + allowed(*one));
    const double lower = number_of(minimum, take(minimum).value);
    const double upper = number_of(maximum, take(maximum).value);
    if (lower >= upper)
      fail(given(maximum.name)->where, "the range of " + value.name + " is empty: min " + to_text(lower) + " >= max " +
                                           to_text(upper) + "; allowed: min < max, each " + allowed(value));
    settings_.variables.push_back({variable.name, variable.unit, lower, upper});
  }

  // Reads a variable that may be one of a list (settings/choices.hpp): of numbers, sorted, or of names.
  void take_list(const DesignVariable& variable, const Key& value) {
    const Given list = *given(value.name);
    std::vector<std::string> words = choices_in(list.value);
    const auto refuse = [&](const std::string& complaint) {
      fail(list.where, value.name + " = " + list.value + ": " + complaint);
    };
    std::vector<double> numbers;
    if (are_numbers(words)) {
      for (std::string& word : words) numbers.push_back(number_of(value, word = canonical(value, word, list.where)));
      std::ranges::sort(numbers);
    } else {
      if (!variable.unit.empty() && variable.unit != "1")
        refuse("names need a variable without a unit; allowed: " + allowed(value));
      for (std::size_t i = 0; i < words.size(); ++i) numbers.push_back(static_cast<double>(i));
      std::vector<std::string> sorted = words;
      std::ranges::sort(sorted);
      if (std::ranges::adjacent_find(sorted) != sorted.end()) refuse("a name is given twice");
      for (const std::string& word : words)
        if (word.empty() ||
            word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") !=
                std::string::npos)
          refuse("'" + shown(word) + "' is not a name; allowed: letters, digits, _, - and dots");
      if (variable.minimum > 0 || variable.maximum < numbers.back())
        refuse("names stand for the numbers 0, 1, ..., which are out of range; allowed: " + allowed(value));
    }
    if (std::ranges::adjacent_find(numbers) != numbers.end()) refuse("a value is given twice");
    std::string text;
    for (std::size_t i = 0; i < words.size(); ++i)
      text += (i ? ", " : "") + (are_numbers(words) ? to_text(numbers[i]) : words[i]);
    Key key = value;
    key.type = Type::text;
    settings_.all.push_back({key, text, list.where});
    settings_.variables.push_back({variable.name, variable.unit, numbers.front(), numbers.back(),
                                   are_numbers(words) ? std::vector<std::string>() : words});
  }

  // Reads a variable that the file frees as one of a list of names, and that the command line fixes to one name.
  void take_name(const DesignVariable& variable, const Key& value, const std::vector<std::string>& words) {
    const Given name = *given(value.name);
    const auto at = std::ranges::find(words, name.value);
    if (at == words.end())
      fail(name.where, value.name + " = " + shown(name.value) + " is not one of the file's list" +
                           did_you_mean(name.value, words) + "; allowed: " + listed(words));
    settings_.all.push_back({value, std::to_string(at - words.begin()), name.where, "stands for " + name.value});
    settings_.overruled.push_back({variable.name, variable.unit, 0.0, static_cast<double>(words.size()) - 1.0, words});
  }

  // Reads a variable that the file frees as one of a list of numbers, and that the command line fixes to one number.
  void take_number(const Key& value, const Given& list) {
    constexpr double rounding = 1e-9;  // relative error of a conversion of units that is rounding
    const double chosen = number_of(value, take(value).value);
    const std::vector<std::string> words = choices_in(list.value);
    const bool is_listed = std::ranges::any_of(words, [&](const std::string& word) {
      const double one = number_of(value, canonical(value, word, list.where));
      return std::abs(one - chosen) <= rounding * std::max(1.0, std::abs(one));
    });
    if (!is_listed)
      fail(given(value.name)->where, value.name + " = " + shown(given(value.name)->value) +
                                         " is not one of the file's list; allowed: " + list.value);
  }

  // Records the file's range of a variable that the command line fixes, if the file has one.
  void overrule(const DesignVariable& variable, const Key& minimum, const Key& maximum) {
    const auto lower = file_.find(minimum.name), upper = file_.find(maximum.name);
    if (lower == file_.end() || upper == file_.end()) return;
    try {
      const auto number = [](const Key& key, const Given& text) {
        return number_of(key, canonical(key, text.value, text.where));
      };
      const Variable range{variable.name, variable.unit, number(minimum, lower->second),
                           number(maximum, upper->second)};
      if (range.lower < range.upper) settings_.overruled.push_back(range);
    } catch (const ConfigError&) {  // unused settings need not be valid
    }
  }

  // Adds the sections of the evaluator to the settings, for `dodyn check` and the archive. The setting `sections`
  // stores the titles of all sections in their order, so that empty sections are not lost.
  void describe_sections() {
    if (settings_.sections.empty()) return;
    std::string titles;
    for (const auto& section : settings_.sections) {
      titles += (titles.empty() ? "" : " ") + section.title();
      const std::string prefix = section.kind + "." + (section.name.empty() ? "" : section.name + ".");
      for (const auto& entry : section.entries)
        settings_.all.push_back({Key{.name = prefix + entry.key,
                                     .type = Type::text,
                                     .description = free_kind(*kind_, section.kind)->description},
                                 entry.value, entry.source});
    }
    settings_.all.push_back(
        {Key{.name = "sections", .type = Type::text, .description = "in this order"}, titles, settings_.file});
  }

  // Marks settings that have no effect because of other settings. Throws ConfigError if a memory limit has no effect.
  void mark_idle() {
    for (const auto idle : {kind_->idle, strategy_->idle}) {
      if (!idle) continue;
      for (const auto& [name, reason] : idle(settings_))
        for (Setting& setting : settings_.all)
          if (setting.key.name == name) {
            setting.note = "not used: " + reason;
            setting.is_used = setting.source != "default";
          }
    }
    if (settings_.given("study.memory-limit") && std::isfinite(settings_.real("study.memory-limit")) &&
        settings_.text("study.isolate") == "none")
      throw settings_.error("study.memory-limit",
                            "has no effect without study.isolate = process; add it, or remove the limit");
  }

  // Marks a setting as used if a scenario uses it, and as idle if every scenario overrides it. Weights of scenarios are
  // idle if they combine no costs.
  void mark_used_by_scenarios() {
    const auto& scenarios = settings_.scenarios;
    if (scenarios.empty()) return;
    for (Setting& setting : settings_.all) {
      const auto in_scenario = [&](const Scenario& one, auto&& holds) {
        const auto& all = one.settings.all;
        return std::ranges::any_of(all,
                                   [&](const Setting& own) { return own.key.name == setting.key.name && holds(own); });
      };
      const auto uses = [&](const Scenario& one) {
        return in_scenario(one, [](auto& own) { return own.is_used && !own.note.starts_with("not used"); });
      };
      const auto gives = [&](const Scenario& one) {
        return in_scenario(one, [&](auto& own) { return own.source != setting.source; });
      };
      const bool is_idle = setting.note.starts_with("not used");
      if (is_idle && std::ranges::any_of(scenarios, uses)) {
        setting.is_used = true;
        setting.note.clear();
      } else if (!is_idle && std::ranges::all_of(scenarios, gives)) {
        setting.is_used = setting.source != "default";
        setting.note = "not used: every scenario gives it";
      }
    }
    const bool is_worst = settings_.text("study.scenario-aggregate") == "worst";
    if (!is_worst && scenarios.size() > 1) return;
    for (const Scenario& one : scenarios)
      for (Setting& setting : settings_.all)
        if (setting.key.name == "scenario." + one.name + "." + scenario_keys()[0].name)
          setting.note = is_worst ? "not used: study.scenario-aggregate = worst" : "not used: there is one scenario";
  }

  // Reads the settings of every scenario in study.scenarios.
  void read_scenarios(const std::vector<DesignVariable>& variables) {
    const auto sections = settings_.sections_of(scenario_section().kind);
    std::vector<std::string> names;
    for (const auto* section : sections) names.push_back(section->name);
    const auto taken = take_names(names);
    if (sections.empty() && settings_.given("study.scenario-aggregate"))
      throw settings_.error("study.scenario-aggregate",
                            "has no effect without [scenario NAME]; add a scenario, or remove it");
    for (const auto* section : sections) {
      if (section->name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") !=
          std::string::npos)
        throw section->error("has other characters in its name; allowed: letters, digits, - and _");
      Level said;
      for (const auto& entry : section->entries)
        if (entry.key != "weight" && entry.key != "reference")
          add(said, full_name(*section, entry, variables), {entry.value, entry.source});
      Scenario scenario{section->name, section->real(scenario_keys()[0]), section->real(scenario_keys()[1]),
                        Reader(text_, settings_.folder, given_words_, kinds_, strategies_, &said).read()};
      const auto same = [](const Variable& a, const Variable& b) {
        return a.name == b.name && a.lower == b.lower && a.upper == b.upper;
      };
      if (const auto& theirs = scenario.settings.variables;
          !std::equal(theirs.begin(), theirs.end(), settings_.variables.begin(), settings_.variables.end(), same))
        throw section->error("has other free variables than the study; free variables only in [design]");
      if (taken.empty() || std::ranges::count(taken, section->name) > 0)
        settings_.scenarios.push_back(std::move(scenario));
    }
  }

  // Returns the names in study.scenarios.
  std::vector<std::string> take_names(const std::vector<std::string>& known) const {
    std::vector<std::string> names;
    for (const auto& part : split_list(settings_.text("study.scenarios"))) {
      const std::string name(part);
      if (std::ranges::find(known, name) == known.end())
        throw settings_.error("study.scenarios", "no [scenario " + shown(name) + "]" + did_you_mean(name, known) +
                                                     "; there are: " + (known.empty() ? "none" : listed(known)));
      if (std::ranges::count(names, name) > 0)
        throw settings_.error("study.scenarios", "names '" + name + "' twice; remove one of them");
      names.push_back(name);
    }
    return names;
  }

  // Returns the full name of the setting that a scenario's entry sets: a key of the evaluator or its sections, or a
  // variable.
  std::string full_name(const CustomSection& scenario, const CustomEntry& entry,
                        const std::vector<DesignVariable>& variables) const {
    const std::string section = entry.key.substr(0, entry.key.find('.'));
    const auto complain = [&](const std::string& what) { fail(entry.source, what); };
    if (section == "study" || section == "surrogate")
      complain(shown(entry.key) + " in " + scenario.title() +
               " is a key of the whole study; a scenario sets keys and sections of the evaluator " + kind_->name +
               ", and values of [design]");
    const bool dotted = section != entry.key;
    std::string name = entry.key;
    const bool own =
        std::ranges::any_of(kind_->keys, [&](const Key& key) { return key.name.starts_with(section + "."); });
    if (!dotted || (section != "design" && !own && !free_kind(*kind_, section))) {
      std::vector<std::string> known = {"weight", "reference"}, found;
      for (const auto& key : kind_->keys) {
        known.push_back(key.name.substr(key.name.find('.') + 1));
        if (known.back() == entry.key) found.push_back(key.name);
      }
      for (const auto& variable : variables) {
        known.push_back(variable.name);
        if (variable.name == entry.key) found.push_back("design." + variable.name);
      }
      if (found.size() > 1)
        complain(shown(entry.key) + " in " + scenario.title() + " may be " + listed(found) + "; write the full name");
      if (found.empty()) {
        for (const std::string& of : {kind_->name, std::string("design")})
          refuse_removed(entry.source, of + "." + entry.key, entry.key);
        complain("unknown key '" + shown(entry.key) + "' in " + scenario.title() + did_you_mean(entry.key, known) +
                 "; allowed: " + listed(known));
      }
      name = found.front();
    }
    if (section == scenario_section().kind) complain("a scenario cannot contain scenarios");
    for (const auto* list : {&settings_.variables, &settings_.overruled})
      for (const Variable& variable : *list)
        for (const char* end : {"", ".min", ".max"})
          if (name == "design." + variable.name + end)
            complain(shown(entry.key) + " in " + scenario.title() + ": design." + variable.name +
                     " is free in this study, so it is the same in all scenarios");
    if (name.starts_with("design.") && (name.ends_with(".min") || name.ends_with(".max")))
      complain(shown(entry.key) + " in " + scenario.title() + ": a scenario gives values; free a variable in [design]");
    return name;
  }

  ini::Text text_;
  std::vector<std::string> given_words_;
  std::vector<Word> words_;
  const std::vector<EvaluatorKind>& kinds_;
  const std::vector<StrategyKeys>& strategies_;
  std::vector<Key> common_, idle_;
  const StrategyKeys* strategy_ = nullptr;
  const EvaluatorKind* kind_ = nullptr;
  Given evaluator_;
  Level file_, line_, scenario_;
  bool in_scenario_;
  Settings settings_;
};

}  // namespace

Settings read_settings(const std::string& path, const std::vector<std::string>& words,
                       const std::vector<EvaluatorKind>& kinds, const std::vector<StrategyKeys>& strategies) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return Reader(ini::read(path), folder, words, kinds, strategies).read();
}

Settings read_settings(const ini::Text& text, const std::string& folder, const std::vector<std::string>& words,
                       const std::vector<EvaluatorKind>& kinds, const std::vector<StrategyKeys>& strategies) {
  return Reader(text, folder, words, kinds, strategies).read();
}

ini::Text configuration_of(const std::vector<std::pair<std::string, std::string>>& settings,
                           const std::string& origin) {
  // Parses the titles of the evaluator's sections, such as "[initial-states] [outcome wrong port]".
  ini::Text text{origin, {}};
  for (const auto& [key, value] : settings)
    if (key == "sections")
      for (std::size_t from = 0; (from = value.find('[', from)) != std::string::npos;) {
        const auto end = std::min(value.find(']', from), value.size());
        const std::string title = value.substr(from + 1, end - from - 1);
        const auto blank = std::min(title.find(' '), title.size());
        text.sections.push_back({title.substr(0, blank), title.substr(std::min(blank + 1, title.size())), 0, {}});
        from = end;
      }
  for (const auto& [key, value] : settings) {
    if (key == "sections" || value.empty()) continue;
    std::string kind = key.substr(0, key.find('.')), name;
    std::size_t end = kind.size();
    for (const ini::Section& one : text.sections) {  // "outcome.wrong port.when"
      const std::string prefix = one.kind + (one.name.empty() ? "" : "." + one.name);
      if (key.starts_with(prefix + ".") && prefix.size() >= end) kind = one.kind, name = one.name, end = prefix.size();
    }
    auto section =
        std::ranges::find_if(text.sections, [&](const auto& one) { return one.kind == kind && one.name == name; });
    if (section == text.sections.end())
      section = text.sections.insert(text.sections.end(), {std::string(kind), std::string(name), 0, {}});
    section->entries.push_back({key.substr(std::min(end + 1, key.size())), value, "", 0});
  }
  return text;
}

std::vector<Key> evaluator_keys(const EvaluatorKind& kind) {
  Settings defaults;
  defaults.evaluator = kind.name;
  for (const auto& key : kind.keys) defaults.all.push_back({key, default_text(key), "default"});
  std::vector<Key> keys;
  for (const auto& variable : kind.variables(defaults)) {
    const auto [value, minimum, maximum] = design_keys(variable);
    keys.insert(keys.end(), {value, minimum, maximum});
  }
  keys.insert(keys.end(), kind.keys.begin(), kind.keys.end());
  return keys;
}

}  // namespace dodyn
