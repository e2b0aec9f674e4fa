// dodyn check: validates a configuration like `run`, and prints every setting; or describes a model, or the distance of
// two of its links.
#include <algorithm>
#include <iostream>
#include <map>
#include <set>

#include "command.hpp"
#include "record/text.hpp"
#include "report/report.hpp"
#include "settings/command_line.hpp"
#include "settings/key.hpp"
#include "settings/unused.hpp"
#include "study/study.hpp"
#include "systems/description.hpp"
#include "systems/link_distance.hpp"

namespace dodyn::apps {
namespace {

namespace po = boost::program_options;

constexpr const char* usage_of_models =
    "dodyn check MODEL [--design.PARAMETER VALUE ...] [--distance LINK,LINK [--initial-state.COORDINATE VALUE ...]]";

// Returns the name in a key with this prefix; empty: the key has another one.
std::string name_in(const std::string& key, const std::string& prefix) {
  return key.starts_with(prefix) ? key.substr(prefix.size()) : "";
}

// Reads the value of a coordinate. Throws ConfigError.
void set_coordinate(const systems::Model& model, const std::string& name, const std::string& value,
                    std::vector<double>& q) {
  const auto& names = model.structure.coordinate_names;
  const auto at = std::ranges::find(names, name);
  if (at == names.end())
    throw ConfigError("--initial-state." + shown(name) + ": no coordinate of " + model.origin +
                      did_you_mean(name, names) + "; allowed: " + listed(names, 5));
  const int coordinate = at - names.begin();
  const Key key{.name = "initial-state." + name, .unit = model.slides(coordinate) ? "m" : "rad"};
  q[coordinate] = number_of(key, canonical(key, value, "command line"));
}

// Checks a model. `words`: --design.NAME VALUE sets a parameter, --initial-state.NAME VALUE a coordinate. `links`: the
// value of --distance; empty without that option.
ExitCode check_model(const std::string& path, const std::vector<std::string>& words, const std::string& links) {
  const auto [model, pieces] = systems::read_hybrid_model(systems::model_text(path), path);
  std::map<std::string, double> given;
  std::vector<std::pair<std::string, std::string>> coordinates;
  std::set<std::string> keys;
  for (const auto& [key, value, has_value] : parse_words(words)) {
    if (!keys.insert(key).second)
      throw ConfigError("command line: " + shown(key) + " is given twice; remove one of them");
    const std::string parameter = name_in(key, "design."), coordinate = name_in(key, "initial-state.");
    if ((parameter.empty() && (coordinate.empty() || links.empty())) || !has_value)
      throw ConfigError("'--" + shown(key) + "' is not understood; allowed: " + usage_of_models);
    if (!coordinate.empty()) {
      coordinates.emplace_back(coordinate, value);
      continue;
    }
    const int index = model.parameter(parameter);
    if (index < 0) model.fail_unknown(parameter);
    const Key number{.name = key, .unit = model.parameters[index].unit};
    given[parameter] = number_of(number, canonical(number, value, "command line"));
  }
  const auto values = model.evaluate(given);
  if (model.structure.swing_link >= 0) check_walker(model, model.tree(values.numbers));
  if (links.empty()) {
    std::cout << systems::description(model, values, pieces.contacts);
    return finished;
  }
  const std::size_t comma = links.find(',');
  if (comma == std::string::npos) throw ConfigError("--distance = " + shown(links) + ": allowed: two links, LINK,LINK");
  std::vector<double> q(model.structure.n(), 0.0);
  for (const auto& start : pieces.start)
    if (!start.rate) q[start.coordinate] = systems::Model::at(start.value, values.numbers);
  for (const auto& [name, value] : coordinates) set_coordinate(model, name, value, q);
  std::cout << systems::link_distance(model, values, q, std::string(trimmed(links.substr(0, comma))),
                                      std::string(trimmed(links.substr(comma + 1))));
  return finished;
}

}  // namespace

void add_check_options(AddOptions add) {
  add("distance", po::value<std::string>()->value_name("LINK,LINK"),
      "of a model: two links whose distance, closest features and points are printed; at --initial-state.COORDINATE "
      "VALUE, otherwise at the model's [initial-state] or zero");
}

ExitCode check(const Invocation& call) {
  const Arguments given = parse(call);
  const std::string& path = given.operands.front();
  const std::string links = given.text("distance");
  if (path.ends_with(".model") || systems::shipped_models().count(path)) return check_model(path, given.keys, links);
  if (!links.empty())
    throw ConfigError("--distance needs a model, and " + shown(path, 400) + " is none; allowed: " + usage_of_models);
  const study::Problem problem = read_problem(given, study::Use::described);
  const Settings& settings = problem.settings;
  const auto evaluator = study::make_evaluator(problem, study::Use::described);
  for (const std::string& note : problem.notes) std::cerr << note << "\n";
  try {
    evaluator->concurrency();
  } catch (const ConfigError& error) {
    std::cerr << "note: here a run would be refused: " << error.what() << "; another machine or job may allow it\n";
  }
  std::vector<std::string> notes;
  if (!settings.variables.empty()) study::make_strategy(settings, *evaluator, true, &notes);
  for (const std::string& note : notes) std::cerr << note << "\n";
  std::cout << report::settings_text(settings);
  const std::vector<std::string> unused = notes_on_unused(settings);
  for (const std::string& note : unused) std::cout << (&note == &unused.front() ? "\n" : "") << note << "\n";
  const bool searches = !settings.variables.empty();
  std::cout << "\nvalid, with "
            << (searches ? counted(settings.variables.size(), "free design variable") : "no free design variable")
            << "; next: dodyn "
            << (!searches           ? "solve"
                : problem.is_merged ? "show"
                                    : "run")
            << " " << as_word(path);
  for (const std::string& word : given.keys)  // without them it would be another study
    if (!searches || !problem.is_merged) std::cout << " " << as_word(word);
  std::cout << "\n";
  return finished;
}

}  // namespace dodyn::apps
