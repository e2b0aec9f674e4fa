#include "settings/settings.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "settings/ini.hpp"
#include "surrogate/choice.hpp"

namespace dodyn {
namespace po = boost::program_options;
namespace {

// One `key = value` as the user gave it.
struct Given {
  std::string value;
  std::string where;  // "knee.cfg:12", "command line"
};
using Level = std::map<std::string, Given>;  // everything given in one place: the file, or the command line

[[noreturn]] void fail(const std::string& where, const std::string& what) { throw ConfigError(where + ": " + what); }

template <class T>
std::optional<T> parse_number(std::string_view text) {
  if (text.starts_with('+') && text.size() > 1 && text[1] != '-') text.remove_prefix(1);  // from_chars takes no plus
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

std::optional<bool> parse_boolean(const std::string& text) {
  if (text == "true" || text == "yes" || text == "on" || text == "1") return true;
  if (text == "false" || text == "no" || text == "off" || text == "0") return false;
  return {};
}

// "90", "12:30", "01:30:00" in s.
std::optional<double> parse_duration(const std::string& text) {
  double seconds = 0;
  std::istringstream parts(text);
  int count = 0;
  for (std::string part; std::getline(parts, part, ':'); ++count) {
    const auto value = parse_number<int>(part);
    if (!value || *value < 0 || (count > 0 && *value > 59)) return {};
    seconds = 60 * seconds + *value;
  }
  if (count == 0 || count > 3 || text.ends_with(':')) return {};
  return seconds;
}

// The canonical text of a given value, or the error that says what is wrong with it.
std::string validated(const Key& key, const Given& given) {
  const std::string what = key.name + " = " + shown(given.value);
  if (given.value.empty()) fail(given.where, key.name + " has no value; allowed: " + allowed(key));
  const auto check_range = [&](double value) {
    if (!(value <= key.maximum) || value < key.minimum || (key.open_minimum && value == key.minimum))
      fail(given.where, what + " is out of range; allowed: " + allowed(key));
  };
  switch (key.type) {
    case Type::real: {
      const auto value = parse_number<double>(given.value);
      if (!value || !std::isfinite(*value)) fail(given.where, what + " is not a number; allowed: " + allowed(key));
      check_range(*value);
      return to_text(*value == 0 ? 0.0 : *value);  // no negative zero
    }
    case Type::integer: {
      const auto value = parse_number<std::int64_t>(given.value);
      if (!value) fail(given.where, what + " is not an integer; allowed: " + allowed(key));
      check_range(static_cast<double>(*value));
      if (*value != static_cast<int>(*value)) fail(given.where, what + " is out of range; allowed: " + allowed(key));
      return std::to_string(*value);
    }
    case Type::boolean: {
      const auto value = parse_boolean(given.value);
      if (!value) fail(given.where, what + " is neither yes nor no; allowed: " + allowed(key));
      return *value ? "true" : "false";
    }
    case Type::duration: {
      const auto value = parse_duration(given.value);
      if (!value) fail(given.where, what + " is not a duration; allowed: " + allowed(key));
      char text[32];
      const auto whole = static_cast<long>(*value);
      std::snprintf(text, sizeof text, "%02ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
      return text;
    }
    case Type::choice:
      if (std::find(key.choices.begin(), key.choices.end(), given.value) == key.choices.end())
        fail(given.where, what + " is unknown; allowed: " + allowed(key) + did_you_mean(given.value, key.choices));
      return given.value;
    case Type::text:
      return given.value;
  }
  return given.value;
}

std::string default_text(const Key& key) {
  return key.default_value.empty() ? "" : validated(key, {key.default_value, "default"});
}

// What may stand for a key on the command line.
const std::map<std::string, std::string> short_names = {{"strategy", "surrogate.strategy"},
                                                        {"wall-time", "study.wall-time"}};
std::string full_name(const std::string& word) {
  const auto at = short_names.find(word);
  return at == short_names.end() ? word : at->second;
}

void add(Level& level, const std::string& key, const Given& given) {
  const auto [at, fresh] = level.emplace(key, given);
  if (!fresh) fail(given.where, shown(key) + " is given twice (already at " + at->second.where + ")");
}

Level read_level(const ini::Text& text) {
  Level level;
  for (const auto& section : text.sections) {
    if (!section.name.empty())
      text.fail(section.line, shown(section.title()) + " has a name; allowed: [" + shown(section.kind) + "]");
    for (const auto& entry : section.entries)
      add(level, section.kind.empty() ? entry.key : section.kind + "." + entry.key,
          {entry.value, text.where(entry.line)});
  }
  return level;
}

Level read_words(const std::vector<std::string>& words, const std::map<std::string, Key>& every_key) {
  namespace style = po::command_line_style;
  const std::string where = "command line";
  po::options_description options;
  std::vector<std::string> names;
  for (const auto& [name, full] : short_names) options.add_options()(name.c_str(), po::value<std::string>());
  for (const auto& [name, key] : every_key) {
    options.add_options()(name.c_str(), po::value<std::string>());
    names.push_back(name);
  }
  const auto name_of = [](const po::error_with_option_name& error) {
    std::string name = error.get_option_name();  // may still have its dashes and its value
    name.erase(0, name.find_first_not_of('-'));
    return full_name(name.substr(0, name.find('=')));
  };
  const auto no_value = [&](const std::string& name) {
    fail(where, name + " has no value; allowed: " + allowed(every_key.at(name)));
  };
  Level level;
  try {
    const auto parsed = po::command_line_parser(words)
                            .options(options)
                            .style(style::allow_long | style::long_allow_adjacent | style::long_allow_next)
                            .run();
    for (const auto& option : parsed.options) {
      if (option.string_key.empty())
        fail(where, "'" + shown(option.value.at(0)) + "' is not understood; allowed: --section.key value");
      const std::string name = full_name(option.string_key);
      if (option.value.at(0).starts_with("--")) no_value(name);  // swallowed the next key
      add(level, name, {option.value[0], where});
    }
  } catch (const po::unknown_option& error) {
    fail(where, "unknown key '" + shown(name_of(error)) + "'" + did_you_mean(name_of(error), names));
  } catch (const po::error_with_option_name& error) {
    no_value(name_of(error));
  }
  return level;
}

// What one design variable became: fixed at a value, or free between two.
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

// The kinds of evaluators, where the one that is chosen takes any design variable with those of the user.
std::vector<EvaluatorKind> with_users_variables(std::vector<EvaluatorKind> kinds, const Level& file,
                                                const std::vector<std::string>& words) {
  std::string evaluator = file.count("study.evaluator") ? file.at("study.evaluator").value : "";
  std::vector<std::string> keys;
  for (const auto& [key, given] : file) keys.push_back(key);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto equals = words[i].find('=');
    const std::string key = words[i].substr(0, equals);
    if (key == "--study.evaluator")
      evaluator = equals != std::string::npos ? words[i].substr(equals + 1) : i + 1 < words.size() ? words[i + 1] : "";
    if (key.starts_with("--")) keys.push_back(key.substr(2));
  }
  for (auto& kind : kinds) {
    if (!kind.any_variable || kind.name != evaluator) continue;
    std::set<std::string> names;
    for (auto key : keys) {
      if (!key.starts_with("design.")) continue;
      key.erase(0, 7);
      if (key.ends_with(".min") || key.ends_with(".max")) key.erase(key.size() - 4);
      const bool plain = !key.empty() && std::all_of(key.begin(), key.end(), [](unsigned char c) {
        return std::isalnum(c) || c == '-' || c == '_';
      });
      if (plain && names.insert(key).second) kind.variables.push_back({key, "", "of the command", 0, -1e308, 1e308});
    }
  }
  return kinds;
}

}  // namespace

std::string allowed(const Key& key) {
  const std::string unit = key.unit.empty() || key.unit == "1" ? "" : " " + key.unit;
  const double all_int = std::numeric_limits<int>::max();
  const bool integer = key.type == Type::integer;
  const bool below = key.minimum > (integer ? -all_int : -1e308), above = key.maximum < (integer ? all_int : 1e308);
  switch (key.type) {
    case Type::boolean:
      return "true or false";
    case Type::text:
      return "text";
    case Type::duration:
      return "hh:mm:ss, mm:ss or seconds";
    case Type::choice:
      return listed(key.choices);
    case Type::real:
    case Type::integer:
      break;
  }
  const std::string what = integer ? "an integer" : "a number";
  if (below && above)
    return what + " in " + (key.open_minimum ? "(" : "[") + to_text(key.minimum) + ", " + to_text(key.maximum) + "]" +
           unit;
  if (below) return what + (key.open_minimum ? " > " : " >= ") + to_text(key.minimum) + unit;
  if (above) return what + " <= " + to_text(key.maximum) + unit;
  return what + unit;
}

std::vector<Key> study_keys(const std::vector<EvaluatorKind>& kinds) {
  std::vector<std::string> evaluators;
  for (const auto& kind : kinds) evaluators.push_back(kind.name);
  std::vector<std::string> strategies;
  std::string strategies_described;
  for (const auto& kind : surrogate::strategy_kinds()) {
    strategies.push_back(kind.name);
    strategies_described += "; " + kind.name + ": " + kind.description;
  }
  const surrogate::StrawmanOptions strawman;
  const surrogate::SweepOptions sweep;
  return {
      {.name = "study.evaluator",
       .type = Type::choice,
       .description = "the inner problem whose cost is minimised",
       .choices = evaluators},
      {.name = "study.archive",
       .type = Type::text,
       .description =
           "HDF5 file of the results; by default the configuration's name with .h5, in the current directory",
       .identity = false},
      {.name = "study.seed",
       .type = Type::integer,
       .default_value = "1",
       .description = "every random number follows from it and the evaluation's id",
       .minimum = 0},
      {.name = "study.max-evaluations",
       .type = Type::integer,
       .default_value = "40",
       .description = "stop after this many evaluations in all; raise it to continue a study",
       .minimum = 1,
       .identity = false},
      {.name = "study.batch",
       .type = Type::integer,
       .default_value = "8",
       .description = "designs under way at most: the limit of parallelism, whatever the number of ranks",
       .minimum = 1},
      {.name = "study.mode",
       .type = Type::choice,
       .default_value = "synchronous",
       .description = "synchronous: a batch is told as a whole, the same designs on any number of ranks; asynchronous: "
                      "each answer is told at once and replaced by another design, no rank waits for a batch",
       .choices = {"synchronous", "asynchronous"}},
      {.name = "study.time-limit",
       .default_value = "0",
       .unit = "s",
       .description = "of one evaluation, or of each part of one that is split; it then returns its best so far as "
                      "timed_out; 0: none",
       .minimum = 0,
       .identity = false},
      {.name = "study.grace",
       .default_value = "10",
       .unit = "s",
       .description = "how long an evaluation may overrun its time limit before it is given up with its rank, and how "
                      "long running ones may take to finish after a signal",
       .minimum = 0,
       .identity = false},
      {.name = "study.wall-time",
       .type = Type::duration,
       .default_value = "0",
       .description = "end the run this long after its start, grace included (short: --wall-time); 0: not, or where "
                      "Slurm ends the job (SLURM_JOB_END_TIME)",
       .identity = false},
      {.name = "study.failure-rate",
       .default_value = "1",
       .unit = "1",
       .description = "stop when this fraction of the evaluations failed (all but ok and infeasible ones)",
       .minimum = 0,
       .maximum = 1,
       .open_minimum = true,
       .identity = false},
      {.name = "study.failure-minimum",
       .type = Type::integer,
       .default_value = "20",
       .description = "evaluations before study.failure-rate counts",
       .minimum = 1,
       .identity = false},
      {.name = "study.attempts",
       .type = Type::integer,
       .default_value = "3",
       .description = "how often an evaluation is tried whose rank disappears",
       .minimum = 1},
      {.name = "study.silence",
       .default_value = "10",
       .unit = "s",
       .description = "a rank that gives no sign of life for so long is lost",
       .minimum = 0.1,
       .identity = false},
      {.name = "study.isolate",
       .type = Type::choice,
       .default_value = "none",
       .description = "process: each evaluation in a child process, so that a crash is one failed evaluation",
       .choices = {"none", "process"},
       .identity = false},
      {.name = "study.memory-limit",
       .default_value = "0",
       .unit = "MB",
       .description = "isolate = process: memory that an evaluation may allocate; 0: no limit",
       .minimum = 0,
       .identity = false},
      {.name = "surrogate.strategy",
       .type = Type::choice,
       .default_value = "strawman",
       .description = "how designs are chosen (short: --strategy)" + strategies_described,
       .choices = strategies},
      {.name = "surrogate.initial-samples",
       .type = Type::integer,
       .default_value = std::to_string(strawman.initial_samples),
       .description =
           "designs evaluated before the first model; other strategies than the strawman choose it themselves "
           "unless it is given",
       .minimum = 2},
      {.name = "surrogate.gradient",
       .type = Type::boolean,
       .default_value = "false",
       .description = "use gradients where the evaluator gives them"},
      {.name = "surrogate.noise",
       .type = Type::boolean,
       .default_value = "false",
       .description = "ego: costs are noisy (beyond the standard errors that they come with, which always count)"},
      {.name = "surrogate.repeat",
       .type = Type::boolean,
       .default_value = "true",
       .description = "ego, noisy costs: the same design may be asked for again; false where it costs the same again"},
      {.name = "surrogate.batch",
       .type = Type::integer,
       .default_value = "1",
       .description = "ego: designs asked for at a time after the initial ones; at most study.batch",
       .minimum = 1},
      {.name = "surrogate.kernel",
       .type = Type::choice,
       .default_value = "matern52",
       .description = "ego: covariance of the cost between two designs",
       .choices = {"matern52", "matern32", "squared-exponential"}},
      {.name = "surrogate.trend",
       .type = Type::choice,
       .default_value = "constant",
       .description = "ego: mean of the cost before it is known",
       .choices = {"constant", "linear"}},
      {.name = "surrogate.acquisition",
       .type = Type::choice,
       .default_value = "expected-improvement",
       .description = "ego: what the next design maximises",
       .choices = {"expected-improvement", "lower-confidence-bound"}},
      {.name = "surrogate.pending",
       .type = Type::choice,
       .default_value = "believer",
       .description =
           "ego: cost of a design that is being evaluated: the model's mean, the best so far, or all it may be",
       .choices = {"believer", "liar", "joint"}},
      {.name = "surrogate.initial-design",
       .type = Type::choice,
       .default_value = "latin-hypercube",
       .description = "ego: how the initial designs fill the range",
       .choices = {"latin-hypercube", "sobol", "halton", "corners"}},
      {.name = "surrogate.designs",
       .type = Type::text,
       .description = "ego: CSV file of designs to evaluate first, its header naming the free variables"},
      {.name = "surrogate.samples",
       .type = Type::text,
       .description =
           "ego: evaluations of the same costs done before: a dodyn archive (.h5), or a CSV file as of 'dodyn show "
           "--csv'; the best is evaluated again, first"},
      {.name = "surrogate.constraints",
       .type = Type::text,
       .description = "ego: limits on metrics, as in 'largest_torque <= 15, smallest_normal_force >= 0'"},
      {.name = "surrogate.objectives",
       .type = Type::text,
       .description = "ego: two of cost and the metrics, as in 'cost, largest_torque': their Pareto front"},
      {.name = "surrogate.integers",
       .type = Type::text,
       .description = "ego: free variables that take whole numbers only, as in 'legs, teeth'"},
      {.name = "surrogate.categories",
       .type = Type::text,
       .description = "ego: free variables whose whole numbers are mere labels"},
      {.name = "surrogate.tolerance",
       .type = Type::real,
       .default_value = to_text(strawman.tolerance),
       .unit = "1",
       .description =
           "strawman and ego: stop when a new sample improves the best cost by less than this relative amount",
       .minimum = 0,
       .open_minimum = true,
       .identity = false},
      {.name = "surrogate.design-tolerance",
       .type = Type::real,
       .default_value = to_text(strawman.design_tolerance),
       .unit = "1",
       .description = "strawman, smf: no two designs closer than this fraction of the range",
       .minimum = 0,
       .maximum = 0.1,
       .open_minimum = true},
      {.name = "surrogate.max-failures",
       .type = Type::integer,
       .default_value = std::to_string(strawman.max_failures),
       .description = "give up after this many evaluations without a usable cost",
       .minimum = 1,
       .identity = false},
      {.name = "surrogate.points",
       .type = Type::integer,
       .default_value = std::to_string(sweep.points.at(0)),
       .description = "sweep: points along each free variable, both ends included (one: its middle)",
       .minimum = 1},
  };
}

std::vector<Key> evaluator_keys(const EvaluatorKind& kind) {
  std::vector<Key> keys;
  for (const auto& variable : kind.variables) {
    const auto [value, minimum, maximum] = design_keys(variable);
    keys.insert(keys.end(), {value, minimum, maximum});
  }
  keys.insert(keys.end(), kind.keys.begin(), kind.keys.end());
  return keys;
}

Settings read_settings(const std::string& path, const std::vector<std::string>& words,
                       const std::vector<EvaluatorKind>& known_kinds) {
  // The evaluator decides which keys there are, and may itself be given in either place: first read, then judge.
  const Level file = read_level(ini::read(path));
  const auto kinds = with_users_variables(known_kinds, file, words);
  const auto common_keys = study_keys(kinds);
  std::map<std::string, Key> every_key;
  for (const auto& key : common_keys) every_key.emplace(key.name, key);
  for (const auto& kind : kinds)
    for (const auto& key : evaluator_keys(kind)) every_key.emplace(key.name, key);
  const Level line = read_words(words, every_key);
  const auto given = [&](const std::string& key) -> const Given* {
    for (const Level* level : {&line, &file})
      if (const auto at = level->find(key); at != level->end()) return &at->second;
    return nullptr;
  };

  Settings settings;
  // Adds one setting; a key without a default must be given.
  const auto take = [&](const Key& key) -> const Setting& {
    const Given* value = given(key.name);
    if (!value && key.default_value.empty() && key.type != Type::text)
      fail(path, key.name + " is missing; allowed: " + allowed(key));
    return settings.all.emplace_back(value ? Setting{key, validated(key, *value), value->where}
                                           : Setting{key, default_text(key), "default"});
  };

  settings.evaluator = take(common_keys.front()).value;
  settings.all.clear();
  const EvaluatorKind& kind =
      *std::find_if(kinds.begin(), kinds.end(), [&](const auto& other) { return other.name == settings.evaluator; });

  // No key may be ignored in silence.
  std::vector<std::string> known;
  for (const auto& key : common_keys) known.push_back(key.name);
  for (const auto& key : evaluator_keys(kind)) known.push_back(key.name);
  for (const Level* level : {&file, &line})
    for (const auto& [name, value] : *level) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      for (const auto& other : kinds)
        for (const auto& key : evaluator_keys(other))
          if (key.name == name)
            fail(value.where, name + " belongs to evaluator " + other.name + "; this study's is " + kind.name + " (" +
                                  given("study.evaluator")->where + ")");
      fail(value.where, "unknown key '" + shown(name) + "'" + did_you_mean(name, known));
    }

  for (const auto& key : common_keys) {
    take(key);
    if (key.name == "study.archive" && settings.all.back().value.empty())
      settings.all.back().value = std::filesystem::path(path).stem().string() + ".h5";
  }

  for (const auto& variable : kind.variables) {
    const auto [value, minimum, maximum] = design_keys(variable);
    // The command line wins as a whole: a value there fixes what the file frees, a range there frees what it fixes.
    bool free = false;
    for (const Level* level : {&file, &line}) {
      const bool fixes = level->count(value.name);
      const auto range = level->count(minimum.name) ? level->find(minimum.name) : level->find(maximum.name);
      const bool frees = range != level->end();
      if (fixes && frees)
        fail(range->second.where, range->first + " frees what " + value.name + " fixes (" +
                                      level->at(value.name).where + "); give a value or a range");
      if (fixes || frees) free = frees;
    }
    if (!free) {
      take(value);
      continue;
    }
    for (const auto& [one, other] : {std::pair(&minimum, &maximum), std::pair(&maximum, &minimum)})
      if (!given(one->name))
        fail(given(other->name)->where, other->name + " is given without " + one->name + "; allowed: " + allowed(*one));
    const double lower = *parse_number<double>(take(minimum).value);
    const double upper = *parse_number<double>(take(maximum).value);
    if (lower >= upper)
      fail(given(maximum.name)->where, "the range of " + value.name + " is empty: min " + to_text(lower) + " >= max " +
                                           to_text(upper) + "; allowed: min < max, each " + allowed(value));
    settings.variables.push_back({variable.name, variable.unit, lower, upper});
  }
  for (const auto& key : kind.keys) take(key);
  return settings;
}

const Setting& Settings::find(const std::string& key) const {
  for (const auto& setting : all)
    if (setting.key.name == key) return setting;
  throw std::logic_error("no setting '" + key + "'");
}

double Settings::real(const std::string& key) const {
  const Setting& setting = find(key);
  return (setting.key.type == Type::duration ? parse_duration(setting.value) : parse_number<double>(setting.value))
      .value();
}
int Settings::integer(const std::string& key) const { return parse_number<int>(find(key).value).value(); }
bool Settings::boolean(const std::string& key) const { return parse_boolean(find(key).value).value(); }
std::string Settings::text(const std::string& key) const { return find(key).value; }

double Settings::design(const std::string& name, const Eigen::VectorXd& free) const {
  for (std::size_t i = 0; i < variables.size(); ++i)
    if (variables[i].name == name) return free(static_cast<Eigen::Index>(i));
  return real("design." + name);
}

ConfigError Settings::error(const std::string& key, const std::string& complaint) const {
  const Setting& setting = find(key);
  return ConfigError(setting.source + ": " + key + " = " + setting.value + ": " + complaint);
}

std::vector<std::pair<std::string, std::string>> Settings::configuration() const {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto& setting : all) pairs.emplace_back(setting.key.name, setting.value);
  return pairs;
}

std::string differences(const Settings& settings, const std::vector<std::pair<std::string, std::string>>& archived) {
  const std::map<std::string, std::string> then(archived.begin(), archived.end());
  std::vector<std::string> differing;
  std::set<std::string> now;
  for (const auto& [key, value, _] : settings.all) {
    now.insert(key.name);
    const auto at = then.find(key.name);
    // A key younger than the archive agrees where it has its default.
    const std::string was = at != then.end() ? at->second : default_text(key);
    if (key.identity && was != value)
      differing.push_back(key.name + ": " + (was.empty() ? "none" : was) + " / " + value);
  }
  for (const auto& [name, value] : then)
    if (!now.count(name)) differing.push_back(name + ": " + value + " / none");
  return differing.empty() ? "" : listed(differing, 1000) + " (archive / now)";
}

}  // namespace dodyn
