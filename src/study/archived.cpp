#include "study/archived.hpp"

#include <algorithm>
#include <set>

#include "archive/archive.hpp"
#include "study/observed_data.hpp"
#include "study/study.hpp"

namespace dodyn::study {
namespace {

void check(const std::string& path, const archive::Contents& contents, const Settings& settings,
           const evaluators::Evaluator& evaluator) {
  if (contents.provenance.evaluator != settings.evaluator)
    throw ConfigError(path + " is a study of the evaluator " + contents.provenance.evaluator + "; expected " +
                      settings.evaluator + ", as in the configuration");
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

// Returns the evaluation with this id, or the one that the study recommends.
const Evaluation& chosen(const std::string& path, const archive::Contents& contents, std::optional<std::int64_t> id) {
  const auto rows = archive::latest(contents);
  const Evaluation* found = nullptr;
  std::optional<std::int64_t> wanted = id;
  if (!id) {
    const surrogate::ObservedData observed = observed_data(contents);
    const Evaluation* best = recommended_of(contents, observed);
    if (!best) best = observed.best();  // several objectives: the design with the lowest first objective
    if (best) wanted = best->id;
  }
  if (const auto row = wanted ? rows.find(*wanted) : rows.end(); row != rows.end())
    found = &contents.evaluations[row->second];
  if (!found && rows.empty()) throw ConfigError(path + ": contains no evaluations; run the study first");
  if (!found && id)
    throw ConfigError(path + ": no evaluation " + std::to_string(*id) + "; allowed: an id from " +
                      std::to_string(rows.begin()->first) + " to " + std::to_string(rows.rbegin()->first));
  if (!found)
    throw ConfigError(
        path +
        ": no evaluation is ok and satisfies the constraints; choose another one that has a motion: --evaluation ID");
  return *found;
}

}  // namespace

archive::Contents contents_of(const std::string& path) {
  try {
    return archive::read(path);
  } catch (const archive::Error& error) {
    throw ConfigError(error.what());
  }
}

bool of_the_search(const std::string& key) {
  return (key.starts_with("study.") && key != "study.evaluator") || key.starts_with("surrogate.") ||
         (key.starts_with("design.") && (key.ends_with(".min") || key.ends_with(".max")));
}

std::vector<std::string> differing_keys(const archive::Contents& merged) {
  const auto& common = merged.provenance.configuration;
  std::set<std::string> keys;
  for (const archive::Source& source : merged.sources)
    for (const auto& setting : source.provenance.configuration) {
      const std::string& key = setting.first;
      const bool is_irrelevant = (of_the_search(key) && key != "study.scenarios") || key == "command.directory";
      if (!is_irrelevant && std::ranges::find(common, setting) == common.end()) keys.insert(key);
    }
  return {keys.begin(), keys.end()};
}

std::string problem_mismatch(Settings settings, const evaluators::Evaluator& evaluator,
                             const archive::Contents& contents) {
  settings = identity_of(std::move(settings), evaluator);
  std::erase_if(settings.all, [](const Setting& setting) { return of_the_search(setting.key.name); });
  auto then = contents.provenance.configuration;
  std::erase_if(then, [](const auto& setting) { return of_the_search(setting.first); });
  return differences(settings, then);
}

std::string cost_mismatch(Settings settings, const evaluators::Evaluator& evaluator,
                          const archive::Contents& contents) {
  const auto names = [](const std::vector<Variable>& variables) {
    auto all = names_of(variables);
    std::ranges::sort(all);
    return all;
  };
  const std::vector<std::string> here = names(settings.variables), there = names(contents.layout.variables);
  if (here != there) return "its free variables are " + listed(there) + ", here " + listed(here);
  for (const Variable& variable : settings.variables)
    for (const Variable& other : contents.layout.variables)
      if (variable.name == other.name && variable.choices != other.choices)
        return "design." + variable.name + ": " + (other.choices.empty() ? "numbers" : listed(other.choices)) + " / " +
               (variable.choices.empty() ? "numbers" : listed(variable.choices)) + " (archive / now)";
  settings = identity_of(std::move(settings), evaluator);
  const auto is_irrelevant = [&](const std::string& key) {
    if (key == "study.scenarios" || key == "study.scenario-aggregate") return false;
    const bool is_free = key.starts_with("design.") && std::ranges::binary_search(here, key.substr(7));
    return of_the_search(key) || is_free || key == "command.metrics";  // unknown metrics of a sample are NaN
  };
  std::erase_if(settings.all, [&](const Setting& setting) { return is_irrelevant(setting.key.name); });
  auto then = contents.provenance.configuration;
  std::erase_if(then, [&](const auto& setting) { return is_irrelevant(setting.first); });
  return differences(settings, then);
}

ArchivedStudy archived_study(const std::string& path, const std::vector<std::string>& words,
                             std::optional<std::int64_t> id, bool trusts) {
  const archive::Contents contents = contents_of(path);
  ArchivedStudy study;
  study.problem = read_problem(path, words, Use::evaluated, trusts);
  study.evaluator = make_evaluator(study.problem);
  study.evaluation = chosen(path, contents, id);
  if (study.evaluation.design.size() != static_cast<Eigen::Index>(study.problem.settings.variables.size()))
    throw ConfigError(path + ": the command line sets or frees its design variables; remove --design.*");
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
                      std::string(to_string(found->status)) +
                      ") has no motion; choose another one with --evaluation ID");
  return outcome;
}

}  // namespace dodyn::study
