// Access to settings after they are read (read_settings.cpp).
#include "settings/settings.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "settings/removed.hpp"
#include "settings/unused.hpp"

namespace dodyn {

EvaluatorKind::Variables always(std::vector<DesignVariable> variables) {
  return [variables = std::move(variables)](const Settings&) { return variables; };
}

const Setting& Settings::find(const std::string& key) const {
  for (const auto& setting : all)
    if (setting.key.name == key) return setting;
  throw std::logic_error("no setting '" + key + "'");
}

double Settings::real(const std::string& key) const {
  const Setting& setting = find(key);
  return number_of(setting.key, setting.value);
}
int Settings::integer(const std::string& key) const { return static_cast<int>(real(key)); }
bool Settings::boolean(const std::string& key) const { return find(key).value == "true"; }
std::string Settings::text(const std::string& key) const { return find(key).value; }
bool Settings::given(const std::string& key) const {
  return std::ranges::any_of(
      all, [&](const Setting& setting) { return setting.key.name == key && setting.source != "default"; });
}

std::string Settings::path(const std::string& key) const {
  const Setting& setting = find(key);
  const std::filesystem::path named = setting.value;
  if (named.empty() || named.is_absolute() || setting.source == "command line" || setting.source == "default")
    return setting.value;
  const auto beside = std::filesystem::path(folder) / named;
  std::error_code none;
  return std::filesystem::exists(beside, none) ? beside.string() : setting.value;
}

bool Settings::design_given(const std::string& name) const {
  return std::ranges::find(given_variables, name) != given_variables.end();
}

double Settings::design(const std::string& name, const Eigen::VectorXd& free) const {
  for (std::size_t i = 0; i < variables.size(); ++i)
    if (variables[i].name == name) return free(i);
  return real("design." + name);
}

std::vector<const CustomSection*> Settings::sections_of(const std::string& kind) const {
  std::vector<const CustomSection*> found;
  for (const auto& section : sections)
    if (section.kind == kind) found.push_back(&section);
  return found;
}

ConfigError Settings::error(const std::string& key, const std::string& complaint) const {
  const Setting& setting = find(key);
  const std::string value = shown(setting.value) + ": ";  // a file that cannot be read names itself
  const bool is_default = setting.source == "default";
  return ConfigError((is_default ? file : setting.source) + ": " + key + (is_default ? " (its default)" : "") + " = " +
                     (complaint.starts_with(value) ? "" : value) + complaint);
}

std::vector<std::pair<std::string, std::string>> Settings::configuration() const {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto& setting : all)
    if (setting.is_used) pairs.emplace_back(setting.key.name, setting.value);
  return pairs;
}

std::vector<std::pair<std::string, std::string>> Settings::sources() const {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto& setting : all)
    if (setting.is_used && setting.source != "default") pairs.emplace_back(setting.key.name, setting.source);
  return pairs;
}

ConfigError CustomEntry::error(const std::string& complaint) const {
  return ConfigError(source + ": " + shown(name()) + " = " + shown(value) + ": " + complaint);
}

Expression CustomEntry::parsed(std::string_view part, std::span<const std::string> hyphenated) const {
  try {
    return Expression::parse(part, hyphenated);
  } catch (const ExpressionError& mistake) {
    throw error(mistake.what());
  }
}

Expression CustomEntry::parsed(std::span<const std::string> hyphenated) const { return parsed(value, hyphenated); }

Expression CustomEntry::condition() const {
  Expression expression = parsed();
  if (!expression.is_condition())
    throw error(
        "is not a condition on a variable; allowed: comparisons (<, <=, ==, >=, >) that use a name, and, or, not");
  return expression;
}

Expression CustomEntry::number() const {
  Expression expression = parsed();
  if (expression.is_condition()) throw error("is a condition; allowed: a number");
  return expression;
}

const CustomEntry* CustomSection::find(const std::string& key) const {
  const auto at = std::ranges::find_if(entries, [&](const auto& entry) { return entry.key == key; });
  return at == entries.end() ? nullptr : &*at;
}

std::string CustomSection::text(const Key& key) const {
  if (const CustomEntry* entry = find(key.name)) {
    Key full = key;
    full.name = entry->name();
    return canonical(full, entry->value, entry->source);
  }
  if (key.default_value.empty() && key.type != Type::text && key.type != Type::path)
    throw error(key.name + " is missing; allowed: " + allowed(key));
  return default_text(key);
}
double CustomSection::real(const Key& key) const { return number_of(key, text(key)); }
int CustomSection::integer(const Key& key) const { return static_cast<int>(real(key)); }

std::string CustomSection::title() const { return "[" + kind + (name.empty() ? "" : " " + name) + "]"; }

ConfigError CustomSection::error(const std::string& complaint) const {
  return ConfigError(source + ": " + shown(title()) + ": " + complaint);
}

std::vector<std::string> notes_on_unused(const Settings& settings, bool searches) {
  std::vector<std::string> notes;
  const auto add = [&](const Setting& setting) {
    if (setting.source != "default" && setting.note.starts_with("not used") && !setting.key.name.ends_with(".max") &&
        (searches || !setting.key.name.starts_with("surrogate.")))
      notes.push_back("note: " + setting.source + ": " + setting.key.name + " = " + shown(setting.value) + " is " +
                      setting.note);
  };
  for (const Setting& setting : settings.all) add(setting);
  for (const Scenario& scenario : settings.scenarios)
    for (const Setting& setting : scenario.settings.all) {
      const bool is_own = std::ranges::none_of(settings.all, [&](const Setting& of_study) {
        return of_study.key.name == setting.key.name && of_study.source == setting.source;
      });
      if (is_own) add(setting);
    }
  return notes;
}

std::string differences(const Settings& settings, const std::vector<std::pair<std::string, std::string>>& archived) {
  const std::map<std::string, std::string> then(archived.begin(), archived.end());
  // Older programs may have written the same value differently.
  const auto as_now = [](const Key& key, const std::string& value) {
    try {
      return value.empty() ? value : canonical(key, value, "archive");
    } catch (const ConfigError&) {
      return value;
    }
  };
  std::vector<std::string> differing, changed;  // changed: files whose checksum differs
  std::set<std::string> now;
  for (const auto& setting : settings.all) {
    const Key& key = setting.key;
    now.insert(key.name);
    const auto at = then.find(key.name);
    // If a key is newer than the archive, it must have its default.
    const std::string was = at != then.end() ? as_now(key, at->second) : default_text(key);
    // Files may have moved: only their names must agree.
    const bool agrees = key.type == Type::path
                            ? std::filesystem::path(was).filename() == std::filesystem::path(setting.value).filename()
                            : was == setting.value;
    if (!key.identity || agrees) continue;
    if (constexpr std::string_view end = "-checksum"; key.name.ends_with(end) && !was.empty())
      changed.push_back(key.name.substr(0, key.name.size() - end.size()) + " has changed");
    else
      differing.push_back(key.name + ": " + (was.empty() ? "none" : was) + " / " + setting.value);
  }
  for (const auto& [name, value] : then) {
    // If a key was removed, its value must correspond to the present behaviour.
    if (const RemovedKey* gone = find_removed(name); gone && gone->value == value) continue;
    if (!now.count(name) && std::ranges::find(settings.idle, name) == settings.idle.end())
      differing.push_back(name + ": " + value + " / none");
  }
  const std::string values = differing.empty() ? "" : listed(differing, 60, 1000) + " (archive / now)";
  return listed(changed, 60, 1000) + (changed.empty() || values.empty() ? "" : "; ") + values;
}

}  // namespace dodyn
