#include "study/archived.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include "archive/archive.hpp"
#include "settings/read_text.hpp"
#include "study/observed_data.hpp"
#include "study/study.hpp"
#include "surrogate/strategy_options.hpp"

namespace dodyn::study {
namespace {

// Whether a setting is about how designs are searched for, not about what one of them is.
bool of_the_search(const std::string& key) {
  return (key.starts_with("study.") && key != "study.evaluator") || key.starts_with("surrogate.") ||
         (key.starts_with("design.") && (key.ends_with(".min") || key.ends_with(".max")));
}

void check(const std::string& path, const archive::Contents& contents, const Settings& settings,
           const evaluators::Evaluator& evaluator) {
  if (contents.provenance.evaluator != settings.evaluator)
    throw ConfigError(path + " is of the evaluator " + contents.provenance.evaluator + "; allowed: of " +
                      settings.evaluator + ", as the configuration says");
  const auto names = [](const std::vector<Variable>& variables) {
    std::string all;
    for (const Variable& variable : variables) all += (all.empty() ? "" : ", ") + variable.name;
    return all.empty() ? std::string("none") : all;
  };
  const std::string difference = problem_mismatch(settings, evaluator, contents);
  if (!difference.empty()) throw ConfigError(path + " belongs to another study: " + difference);
  if (const std::string here = names(settings.variables), there = names(contents.layout.variables); here != there)
    throw ConfigError(path + " belongs to another study: its free variables are " + there + ", here " + here);
  const Channels channels = evaluator.channels();
  const bool same =
      std::equal(channels.begin(), channels.end(), contents.layout.channels.begin(), contents.layout.channels.end(),
                 [](const Channel& a, const Channel& b) { return a.name == b.name && a.coordinates == b.coordinates; });
  if (!same)
    throw ConfigError(path + " holds other trajectories than this program writes (it is of version " +
                      contents.provenance.program_version + ")");
}

// The evaluation with this id, or the one that the study recommends.
const Evaluation& chosen(const std::string& path, const archive::Contents& contents, std::optional<std::int64_t> id) {
  const auto rows = archive::latest(contents);
  const Evaluation* found = nullptr;
  std::optional<std::int64_t> wanted = id;
  if (!id) {
    const surrogate::ObservedData observed = observed_data(contents);
    const Evaluation* best = recommended_of(contents, observed);
    if (!best) best = observed.best();  // of several objectives the least in the first
    if (best) wanted = best->id;
  }
  if (const auto row = wanted ? rows.find(*wanted) : rows.end(); row != rows.end())
    found = &contents.evaluations[row->second];
  if (!found && rows.empty()) throw ConfigError(path + ": it is empty; allowed: an archive with evaluations");
  if (!found && id)
    throw ConfigError(path + ": no evaluation " + std::to_string(*id) + "; allowed: an id from " +
                      std::to_string(rows.begin()->first) + " to " + std::to_string(rows.rbegin()->first));
  if (!found)
    throw ConfigError(
        path +
        ": no evaluation in it is ok and keeps the constraints; --evaluation ID takes another one that has a motion");
  return *found;
}

archive::Contents contents_of(const std::string& path) {
  try {
    return archive::read(path);
  } catch (const archive::Error& error) {
    throw ConfigError(error.what());
  }
}

}  // namespace

std::string problem_mismatch(Settings settings, const evaluators::Evaluator& evaluator,
                             const archive::Contents& contents) {
  settings = identity_of(std::move(settings), evaluator);
  std::erase_if(settings.all, [](const Setting& setting) { return of_the_search(setting.key.name); });
  auto then = contents.provenance.configuration;
  std::erase_if(then, [](const auto& setting) { return of_the_search(setting.first); });
  return differences(settings, then);
}

namespace {

// The file that a relative path in a configuration means: beside the configuration, or beside the archive. As given
// where there is none.
std::string file_of(const std::string& named, const std::string& folder, const std::string& archive) {
  namespace fs = std::filesystem;
  if (named.empty() || fs::path(named).is_absolute()) return named;
  for (const fs::path& base : {fs::path(folder), fs::path(archive).parent_path()})
    if (const fs::path file = base / named; fs::is_regular_file(file)) return fs::absolute(file).string();
  return named;
}

// What an archived study was asked to be: the settings that were given, and defaults that are others now.
std::vector<std::pair<std::string, std::string>> asked_of(const std::string& path,
                                                          const archive::Provenance& provenance) {
  std::map<std::string, Key> keys;
  for (const auto& kind : evaluators::evaluator_kinds())
    if (kind.name == provenance.evaluator)
      for (const Key& key : kind.keys) keys[key.name] = key;
  const std::map<std::string, std::string> given(provenance.given.begin(), provenance.given.end());
  std::vector<std::pair<std::string, std::string>> asked;
  for (const auto& [name, value] : provenance.configuration) {
    const auto key = keys.find(name);
    const bool other_default = key != keys.end() && value != default_text(key->second);
    if (!given.contains(name) && !other_default) continue;
    if (name == "command.directory") continue;  // holds what the study's own programs wrote
    const bool is_file = key != keys.end() && key->second.type == Type::path;
    asked.emplace_back(name, is_file ? file_of(value, provenance.folder, path) : value);
  }
  return asked;
}

}  // namespace

ArchivedStudy archived_study(const std::string& path, const std::vector<std::string>& words,
                             std::optional<std::int64_t> id) {
  namespace fs = std::filesystem;
  const archive::Contents contents = contents_of(path);
  const archive::Provenance& provenance = contents.provenance;
  const bool folder_is_here = !provenance.folder.empty() && fs::is_directory(provenance.folder);
  if (provenance.evaluator == "command" && !folder_is_here)
    throw ConfigError(path + ": its command's folder $DODYN_STUDY, " + shown(provenance.folder) +
                      ", is not here; copy it there, or start from the configuration: dodyn replay CONFIG");
  ArchivedStudy study;
  study.settings = dodyn::read_settings(configuration_of(asked_of(path, provenance), path),
                                        folder_is_here ? provenance.folder : fs::path(path).parent_path().string(),
                                        words, evaluators::evaluator_kinds(), surrogate::strategy_keys());
  for (Setting& setting : study.settings.all)  // programs must not run where those of the study did
    if (setting.key.name == "study.archive")
      setting.value = fs::path(path).filename().replace_extension(".replay.h5").string();
  study.evaluator = evaluators::make_evaluator(study.settings);
  for (const auto& [key, value] : study.evaluator->input_fingerprints())
    for (const auto& [then, old] : provenance.configuration)
      if (then == key && old != value)
        throw ConfigError(path + ": " + key + " was " + old + " and is " + value + ": the file has changed since");
  study.evaluation = chosen(path, contents, id);
  if (study.evaluation.design.size() != static_cast<Eigen::Index>(study.settings.variables.size()))
    throw ConfigError(path + ": its design variables are set on the command line; allowed: other settings");
  return study;
}

Outcome archived(const std::string& path, const Settings& settings, const evaluators::Evaluator& evaluator,
                 std::optional<std::int64_t> id) {
  const archive::Contents contents = contents_of(path);
  check(path, contents, settings, evaluator);
  const Evaluation* found = &chosen(path, contents, id);
  Outcome outcome{*found, {}};
  try {
    outcome.trajectory = archive::read_trajectory(path, found->id);
  } catch (const archive::Error& error) {
    throw ConfigError(error.what());
  }
  const bool whole = !outcome.trajectory.empty() &&
                     std::all_of(outcome.trajectory.values.begin(), outcome.trajectory.values.begin() + 4,
                                 [](const Eigen::MatrixXd& m) { return m.allFinite(); });
  if (!whole)
    throw ConfigError(path + ": evaluation " + std::to_string(found->id) + " (" +
                      std::string(to_string(found->status)) + ") has no motion; allowed: one that has");
  return outcome;
}

}  // namespace dodyn::study
