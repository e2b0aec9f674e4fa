// dodyn simulate: one motion, told in full. No archive is read or written.
#include <fstream>
#include <iostream>

#include "command.hpp"
#include "record/random.hpp"
#include "report/report.hpp"
#include "study/study.hpp"

namespace dodyn::apps {

ExitCode simulate(Invocation call) {
  const std::string path =
      take_path(call.words, "dodyn simulate CONFIG [--key value ...] [--start K] [--output FILE.csv]");
  const std::string output = take_option(call.words, "--output", "a file to write as CSV");
  if (const std::string start = take_option(call.words, "--start", "the number of a start"); !start.empty())
    call.words.push_back("--simulation.start=" + start);
  const Settings settings = evaluators::read_settings(path, call.words);
  for (const auto& variable : settings.variables)
    throw ConfigError("design." + variable.name + " is free, in [" + to_text(variable.lower) + ", " +
                      to_text(variable.upper) + "]; give its value: --design." + variable.name + " VALUE");
  const auto evaluator = evaluators::make_evaluator(settings);
  std::ofstream file;
  if (!output.empty()) {
    file.open(output);
    if (!file) throw ConfigError(output + ": cannot be written");
  }

  Task task;
  task.evaluation.id = 0;
  task.evaluation.design.resize(0);
  task.evaluation.seed =
      evaluation_seed(static_cast<std::uint64_t>(settings.integer("study.seed")), task.evaluation.id);
  const auto simulated = evaluator->simulate(task);
  if (!simulated)
    throw ConfigError(path + ": the evaluator " + settings.evaluator +
                      " is no simulation; dodyn solve shows its evaluations");
  std::cout << simulated->report;
  if (!output.empty()) {
    file << report::csv(simulated->trajectory, simulated->channels);
    file.close();
    if (!file) throw std::runtime_error(output + ": could not be written in full");
    std::cout << "trajectory written to " << output << "\n";
  }
  return simulated->completed ? finished : failure;
}

}  // namespace dodyn::apps
