// dodyn solve: one evaluation of one fixed design, told in full. No archive is read or written.
#include <fstream>
#include <iostream>

#include "command.hpp"
#include "farm/farm.hpp"
#include "study/report.hpp"
#include "study/study.hpp"

namespace dodyn::apps {
namespace {

// Takes `--output FILE` or `--output=FILE` off the words; empty where it is not there.
std::string take_output(std::vector<std::string>& words) {
  std::string file;
  for (auto word = words.begin(); word != words.end();) {
    const bool adjacent = word->starts_with("--output=");
    if (*word != "--output" && !adjacent) {
      ++word;
      continue;
    }
    if (adjacent) {
      file = word->substr(9);
    } else {
      word = words.erase(word);
      file = word == words.end() ? "" : *word;
    }
    if (file.empty() || file.starts_with("--"))
      throw study::ConfigError("command line: --output has no value; allowed: a file to write as CSV");
    word = words.erase(word);
  }
  return file;
}

}  // namespace

ExitCode solve(Invocation call) {
  const std::string path = take_path(call.words, "dodyn solve CONFIG [--key value ...] [--output FILE.csv]");
  const std::string output = take_output(call.words);
  const study::Settings settings = study::read_settings(path, call.words);
  for (const auto& variable : settings.variables)
    throw study::ConfigError("design." + variable.name + " is free, in [" + study::to_text(variable.lower) + ", " +
                             study::to_text(variable.upper) + "]; give its value: --design." + variable.name +
                             " VALUE");
  const std::shared_ptr<const study::Evaluator> evaluator = study::make_evaluator(settings);
  std::ofstream file;
  if (!output.empty()) {
    file.open(output);
    if (!file) throw study::ConfigError(output + ": cannot be written");
  }

  Task task;
  task.evaluation.id = 0;
  task.evaluation.seed =
      study::evaluation_seed(static_cast<std::uint64_t>(settings.integer("study.seed")), task.evaluation.id);
  const auto farm = farm::make_local_farm(study::make_work(evaluator));
  farm->submit(task);
  const Outcome outcome = farm->next(std::chrono::milliseconds::max()).value();

  std::cout << study::record_text(outcome.evaluation, settings.variables, evaluator->metrics()) << "\n"
            << evaluator->report(outcome);
  if (!output.empty()) {
    file << study::csv(outcome.trajectory, evaluator->channels());
    file.close();
    if (!file) throw std::runtime_error(output + ": could not be written in full");
    std::cout << "trajectory written to " << output << (outcome.trajectory.empty() ? " (empty)" : "") << "\n";
  }
  return outcome.evaluation.ok() ? finished : failure;
}

}  // namespace dodyn::apps
