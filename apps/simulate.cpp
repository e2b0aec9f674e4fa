// dodyn simulate: one motion, told in full. No archive is written.
#include <fstream>
#include <iostream>
#include <optional>

#include "command.hpp"
#include "record/random.hpp"
#include "report/report.hpp"
#include "study/archived.hpp"
#include "study/study.hpp"

namespace dodyn::apps {

namespace {

std::optional<std::int64_t> take_id(std::vector<std::string>& words) {
  const std::string text = take_option(words, "--evaluation", "the id of an evaluation");
  if (text.empty()) return std::nullopt;
  std::size_t end = 0;
  std::int64_t id = -1;
  try {
    id = std::stoll(text, &end);
  } catch (const std::exception&) {
  }
  if (end != text.size() || id < 0) throw ConfigError("--evaluation = " + text + " is no id; allowed: 0, 1, 2, ...");
  return id;
}

std::string design_of(const Settings& settings, const Evaluation& evaluation) {
  std::string text;
  for (std::size_t i = 0; i < settings.variables.size(); ++i)
    text += ", " + settings.variables[i].name + " " + to_text(evaluation.design(static_cast<Eigen::Index>(i))) +
            (settings.variables[i].unit.empty() ? "" : " " + settings.variables[i].unit);
  return text;
}

evaluators::Simulated replay(const std::string& path, const std::string& from, std::optional<std::int64_t> id,
                             const Settings& settings, const evaluators::Evaluator& evaluator) {
  const Outcome archived = study::archived(from, settings, evaluator, id);
  auto simulated = evaluator.replay(archived);
  if (!simulated)
    throw ConfigError(path + ": evaluations of " + settings.evaluator +
                      " have no controls to replay; --from is for the evaluators gait and motion");
  const std::string head = from + ": evaluation " + std::to_string(archived.evaluation.id) + ", cost " +
                           to_text(archived.evaluation.cost) + design_of(settings, archived.evaluation);
  simulated->report = head + "\n" + simulated->report;
  return *std::move(simulated);
}

evaluators::Simulated simulated_start(const std::string& path, const Settings& settings,
                                      const evaluators::Evaluator& evaluator) {
  for (const auto& variable : settings.variables)
    throw ConfigError("design." + variable.name + " is free, in [" + to_text(variable.lower) + ", " +
                      to_text(variable.upper) + "]; give its value: --design." + variable.name + " VALUE");
  Task task;
  task.evaluation.id = 0;
  task.evaluation.design.resize(0);
  task.evaluation.seed =
      evaluation_seed(static_cast<std::uint64_t>(settings.integer("study.seed")), task.evaluation.id);
  auto simulated = evaluator.simulate(task);
  if (!simulated)
    throw ConfigError(path + ": the evaluator " + settings.evaluator +
                      " is no simulation; dodyn solve shows its evaluations, and dodyn simulate --from ARCHIVE replays "
                      "gaits and motions in the contact simulation");
  return *std::move(simulated);
}

// A start of an archived design, with all that was drawn for it.
evaluators::Simulated simulated_again(const std::string& path, const std::vector<std::string>& words,
                                      std::optional<std::int64_t> id) {
  const auto study = study::archived_study(path, words, id);
  Task task;
  task.evaluation = study.evaluation;
  auto simulated = study.evaluator->simulate(task);
  if (!simulated)
    throw ConfigError(path + ": the evaluator " + study.settings.evaluator +
                      " is no simulation; dodyn simulate CONFIG --from ARCHIVE replays gaits and motions");
  simulated->report = path + ": evaluation " + std::to_string(study.evaluation.id) + ", cost " +
                      to_text(study.evaluation.cost) + design_of(study.settings, study.evaluation) + "\n" +
                      simulated->report;
  return *std::move(simulated);
}

}  // namespace

ExitCode simulate(Invocation call) {
  const std::string path = take_path(call.words,
                                     "dodyn simulate CONFIG|ARCHIVE [--key value ...] [--start K | --from ARCHIVE] "
                                     "[--evaluation ID] [--output FILE.csv]");
  const std::string output = take_option(call.words, "--output", "a file to write as CSV");
  const std::string from = take_option(call.words, "--from", "an archive");
  const auto id = take_id(call.words);
  const std::string start = take_option(call.words, "--start", "the number of a start");
  const bool again = from.empty() && is_archive(path);
  if (from.empty() && id && !again) throw ConfigError("--evaluation is for an archive, or --from ARCHIVE");
  if (!from.empty() && !start.empty()) throw ConfigError("--start is not for --from ARCHIVE; allowed: one of them");
  if (!start.empty()) {
    const std::string evaluator = again ? study::archived_study(path, {}, id).settings.evaluator
                                        : evaluators::read_settings(path, call.words).evaluator;
    call.words.push_back("--" + evaluator + ".start=" + start);
  }
  const auto simulated = [&] {
    if (again) return simulated_again(path, call.words, id);
    const Settings settings = evaluators::read_settings(path, call.words);
    const auto evaluator = evaluators::make_evaluator(settings);
    return from.empty() ? simulated_start(path, settings, *evaluator) : replay(path, from, id, settings, *evaluator);
  }();
  std::ofstream file;
  if (!output.empty()) {
    file.open(output);
    if (!file) throw ConfigError(output + ": cannot be written");
  }
  std::cout << simulated.report;
  if (!output.empty()) {
    file << report::csv(simulated.trajectory, simulated.channels);
    file.close();
    if (!file) throw std::runtime_error(output + ": could not be written in full");
    std::cout << "trajectory written to " << output << "\n";
  }
  return simulated.completed ? finished : failure;
}

}  // namespace dodyn::apps
