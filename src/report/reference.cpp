// Formats descriptions of keys for `dodyn help keys`, `dodyn help key`, --help and `dodyn help --markdown`.
#include <algorithm>
#include <functional>
#include <set>

#include "evaluators/evaluator.hpp"
#include "record/text.hpp"
#include "report/cells.hpp"
#include "report/report.hpp"
#include "settings/removed.hpp"
#include "surrogate/strategy_options.hpp"

namespace dodyn::report {
namespace {

// Escapes text for a cell of a table.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : c == '<' ? std::string("&lt;") : std::string(1, c);
  return out;
}

std::string row(const Key& key) {
  const std::string value = default_text(key);
  const bool number = key.type == Type::real && !key.unit.empty() && key.unit != "1" && value != key.word;
  const std::string shown = value.empty() ? "" : "`" + value + (number ? " " + key.unit : "") + "`";
  return "| `" + key.name + "` | " + cell(key.description) + " | " + cell(allowed(key)) + " | " + cell(shown) + " |\n";
}

std::string table(const std::vector<Key>& keys) {
  std::string text = "| key | meaning | allowed | default |\n|---|---|---|---|\n";
  for (const auto& key : keys) text += row(key);
  return text;
}

// A key in a list for readers.
struct Entry {
  Key key;
  std::string value;  // "default 40", "must be given", "now 0.03 m (knee.cfg:36)"; may be empty
};

// Keys of one owner, and sections of an evaluator.
struct Group {
  std::string title;  // "with study.evaluator = gait (...)"; empty: keys of every study
  std::vector<Entry> entries;
  std::vector<ini::SectionKind> sections;
};

constexpr std::size_t name_width = 34, line_width = 110;  // characters

std::string section_of(const std::string& key) { return key.substr(0, key.find('.')); }

// Returns the first statement of a description, truncated to fit after a key's name.
std::string brief(const std::string& description) {
  std::string text = description.substr(0, description.find("; "));
  constexpr std::size_t space = line_width - name_width - 3;
  if (text.size() > space) text = text.substr(0, text.rfind(' ', space - 3)) + "...";
  return text;
}

std::string as_default(const Key& key) {
  if (!key.default_value.empty())
    return "default " + (key.default_value == key.word ? key.word : with_unit(key.default_value, key.unit));
  const bool may_be_empty = key.type == Type::text || key.type == Type::path;
  return may_be_empty || section_of(key.name) == "design" ? "" : "must be given";
}

std::vector<Entry> entries_of(const std::vector<Key>& keys) {
  std::vector<Entry> entries;
  for (const Key& key : keys) entries.push_back({key, as_default(key)});
  return entries;
}

// Lists each shared key once, with the strategies that accept it and their defaults.
std::vector<Entry> entries_of(const std::vector<StrategyKeys>& strategies) {
  std::vector<Entry> entries;
  for (const auto& strategy : strategies)
    for (const Key& key : strategy.keys) {
      const auto is_same = [&](const auto& one) { return one.name == key.name; };
      if (std::ranges::any_of(entries, is_same, &Entry::key)) continue;
      std::vector<std::pair<std::string, std::string>> owners;  // default, strategies
      for (const auto& other : strategies) {
        const auto same = std::ranges::find_if(other.keys, is_same);
        if (same == other.keys.end()) continue;
        const auto at = std::ranges::find(owners, same->default_value, &std::pair<std::string, std::string>::first);
        if (at == owners.end())
          owners.emplace_back(same->default_value, other.name);
        else
          at->second += ", " + other.name;
      }
      std::string value;
      for (const auto& [its_default, names] : owners)
        value += (value.empty() ? "" : "; ") + names + (its_default.empty() ? "" : ": default " + its_default);
      entries.push_back({key, value});
    }
  return entries;
}

std::vector<Group> groups_of_all() {
  const auto& kinds = evaluators::evaluator_kinds();
  const auto strategies = surrogate::strategy_keys();
  std::vector<Group> groups = {{"", entries_of(study_keys(kinds)), {scenario_section()}},
                               {"", entries_of(std::vector{strategy_key(strategies)}), {}}};
  for (Entry& entry : entries_of(strategies)) groups.back().entries.push_back(std::move(entry));
  for (const auto& kind : kinds)
    groups.push_back({"with study.evaluator = " + kind.name + " (" + kind.description + ")",
                      entries_of(evaluator_keys(kind)), kind.sections});
  return groups;
}

std::vector<Group> groups_of(const Settings& settings) {
  Group group{"", {}, {scenario_section()}};
  for (const auto& [key, value, source, note, is_used] : settings.all) {
    if (!is_used || key.description.empty() || key.name.find('.') == key.name.npos) continue;
    const bool is_number = !value.empty() && value.find_first_not_of("0123456789.e+-") == value.npos;
    const std::string now = is_number ? with_unit(value, key.unit) : value;  // a word or a formula has no unit
    group.entries.push_back({key, (now.empty() ? "empty" : now) + " (" + source + ")"});
  }
  for (const auto& kind : evaluators::evaluator_kinds())
    if (kind.name == settings.evaluator)
      group.sections.insert(group.sections.end(), kind.sections.begin(), kind.sections.end());
  return {group};
}

std::string title_of(const ini::SectionKind& section) {
  using Name = ini::SectionKind::Name;
  const std::string named = "[" + section.kind + " NAME]";
  return section.name == Name::required   ? named
         : section.name == Name::optional ? "[" + section.kind + "] or " + named
                                          : "[" + section.kind + "]";
}

std::string text_of(const Entry& entry, bool in_full) {
  const std::string name = "  " + padded("--" + entry.key.name, name_width) + " ";
  if (!in_full) return name + brief(entry.key.description) + "\n";
  return name + entry.key.description + "\n" + std::string(name_width + 3, ' ') + allowed(entry.key) +
         (entry.value.empty() ? "" : "; " + entry.value) + "\n";
}

std::string text_of(const ini::SectionKind& section, bool in_full) {
  std::string text =
      "\n" + title_of(section) + "\n  " + (in_full ? section.description : brief(section.description)) + "\n";
  if (section.kind == scenario_section().kind)
    for (const Key& key : scenario_keys())
      text += "  " + padded(key.name, name_width) + " " + key.description + "; " + allowed(key) + "; " +
              as_default(key) + "\n";
  return text + (in_full && !section.keys.empty() ? "  keys: " + listed(section.keys) + "\n" : "");
}

}  // namespace

std::string keys_text(const Settings* settings, const std::string& section) {
  const bool in_full = !section.empty();
  std::string text;
  std::set<std::string> known;
  for (const Group& group : settings ? groups_of(*settings) : groups_of_all()) {
    std::string of_group, last;
    for (const Entry& entry : group.entries) {
      const std::string its = section_of(entry.key.name);
      known.insert(its);
      if (in_full && its != section) continue;
      if (its != last) of_group += "\n[" + (last = its) + "]\n";
      of_group += text_of(entry, in_full);
      if (settings && !in_full) of_group.insert(of_group.size() - 1, ": " + entry.value);
    }
    for (const auto& kind : group.sections) {
      known.insert(kind.kind);
      if (!in_full || kind.kind == section) of_group += text_of(kind, in_full);
    }
    if (!of_group.empty()) text += (group.title.empty() ? "" : "\n" + group.title + ":\n") + of_group;
  }
  if (text.empty())
    throw ConfigError("no section '" + shown(section) + "'" + did_you_mean(section, {known.begin(), known.end()}) +
                      "; dodyn help keys lists all sections");
  return text.substr(1);  // without the first empty line
}

std::string key_text(const std::string& name, const Settings* settings) {
  std::vector<std::string> known;
  std::string open;                                        // title of the section that describes entries of this name
  std::vector<std::pair<std::string, std::string>> texts;  // description of the key, its owners
  for (const Group& group : settings ? groups_of(*settings) : groups_of_all())
    for (const Entry& entry : group.entries) {
      known.push_back(entry.key.name);
      if (entry.key.name != name && entry.key.name != name + ".min" && entry.key.name != name + ".max") continue;
      const std::string text = entry.key.name + "\n  " + entry.key.description + "\n  allowed: " + allowed(entry.key) +
                               "\n" + (entry.value.empty() ? "" : "  " + entry.value + "\n");
      const auto same = std::ranges::find(texts, text, &std::pair<std::string, std::string>::first);
      const std::string owner = group.title.empty() ? "" : "  " + group.title + "\n";
      if (same == texts.end())
        texts.emplace_back(text, owner);
      else
        same->second += owner;
    }
  for (const Group& group : settings ? groups_of(*settings) : groups_of_all())
    for (const ini::SectionKind& section : group.sections)
      if (section.kind == section_of(name)) open = title_of(section);
  if (const RemovedKey* gone = find_removed(name); gone && texts.empty())
    throw ConfigError("the key '" + shown(name) + "' was removed; " + gone->advice);
  if (texts.empty() && !open.empty()) {
    std::erase_if(known, [&](const std::string& key) { return section_of(key) != section_of(name); });
    throw ConfigError("'" + shown(name) + "' has no description of its own" + did_you_mean(name, known) +
                      "; dodyn help keys " + section_of(name) + " describes the entries of " + open);
  }
  if (texts.empty())
    throw ConfigError("no key '" + shown(name) + "'" + did_you_mean(name, known) +
                      (settings ? "; dodyn help keys " + settings->file : "; dodyn help keys") + " lists all keys");
  std::string all;
  for (const auto& [text, owners] : texts) all += text + owners;
  return all;
}

std::string first_keys_text() {
  static const std::set<std::string> first = {
      "study.evaluator",    "study.archive",         "study.seed",      "study.max-evaluations",
      "study.time-limit",   "study.wall-time",       "study.isolate",   "surrogate.strategy",
      "surrogate.gradient", "surrogate.constraints", "study.scenarios", "surrogate.objectives",
  };
  std::string text;
  for (const Group& group : groups_of_all())
    for (const Entry& entry : group.entries)
      if (first.contains(entry.key.name)) text += text_of(entry, false);
  for (const auto& [key, meaning] :
       {std::pair("design.NAME", "the value of a parameter of the model"),
        {"design.NAME.min", "frees the parameter, together with .max: the search finds its value"}})
    text += "  " + padded(std::string("--") + key, name_width) + " " + meaning + "\n";
  return text;
}

std::string reference_markdown(const std::vector<std::array<std::string, 3>>& commands) {
  std::string text =
      "# Reference\n\nWritten by the program itself: `dodyn help --markdown`.\n\n## Commands\n\n"
      "| command | what it does |\n|---|---|\n";
  for (const auto& [name, arguments, description] : commands)
    text += "| `dodyn " + name + " " + cell(arguments) + "` | " + cell(description) + " |\n";
  text +=
      "\n## Keys of every study\n\nA configuration is an INI file: `study.seed` is the key `seed` in the section "
      "`[study]`, and `--study.seed` on the command line, which wins.\n\n" +
      table(study_keys(evaluators::evaluator_kinds())) +
      "\n`[scenario NAME]`: " + cell(scenario_section().description) + ". Its own keys:\n\n" + table(scenario_keys());
  const auto strategies = surrogate::strategy_keys();
  text += "\n## Strategies\n\n" + table({strategy_key(strategies)});
  for (const auto& strategy : strategies) {
    text += "\n### " + strategy.name + "\n\n" + cell(strategy.description) + "\n\n";
    if (!strategy.keys.empty()) text += table(strategy.keys);
  }
  text += "\n## Evaluators\n";
  for (const auto& kind : evaluators::evaluator_kinds()) {
    text += "\n### " + kind.name + "\n\n" + cell(kind.description) + "\n\n" + table(evaluator_keys(kind));
    for (const auto& section : kind.sections)
      text += "\n`[" + section.kind + (section.name == ini::SectionKind::Name::none ? "" : " NAME") +
              "]`: " + cell(section.description) + (section.keys.empty() ? "" : ". Keys: " + listed(section.keys)) +
              "\n";
  }
  text += "\n## The archive\n\nColumns of `/evaluations`, one row per evaluation:\n\n| column | unit |\n|---|---|\n";
  const Evaluation one;
  for_each_field(one, [&](const Field& field, const auto&) {
    text += "| `" + std::string(field.name) + "` | " + std::string(field.unit) + " |\n";
  });
  text += "\n`status` is one of";
  const char* separator = " ";
  for (const Status status : all_statuses) {
    text += separator + ("`" + std::string(to_string(status)) + "`");
    separator = ", ";
  }
  return text + ".\n";
}

}  // namespace dodyn::report
