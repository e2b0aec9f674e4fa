// dodyn solve: one evaluation of one fixed design, told in full. No archive is read or written.
#include <fstream>
#include <iostream>

#include "command.hpp"
#include "farm/farm.hpp"
#include "record/random.hpp"
#include "report/report.hpp"
#include "study/study.hpp"

namespace dodyn::apps {
ExitCode solve(Invocation call) {
  const bool verbose = std::erase(call.words, "--verbose") > 0;
  const std::string path =
      take_path(call.words, "dodyn solve CONFIG [--key value ...] [--output FILE.csv] [--verbose]");
  const std::string output = take_option(call.words, "--output", "a file to write as CSV");

  // `--design.NAME VALUE` gives the design. Where the file frees NAME, it stays free: then d cost / d NAME is told too.
  Settings settings = evaluators::read_settings(path, call.words);
  if (!settings.variables.empty()) {
    const Variable& variable = settings.variables.front();
    throw ConfigError("design." + variable.name + " is free, in [" + to_text(variable.lower) + ", " +
                      to_text(variable.upper) + "]; give its value: --design." + variable.name + " VALUE");
  }
  settings.variables = settings.overruled;
  Eigen::VectorXd design(settings.variables.size());
  for (std::size_t i = 0; i < settings.variables.size(); ++i)
    design(static_cast<Eigen::Index>(i)) = settings.real("design." + settings.variables[i].name);

  const std::shared_ptr<const evaluators::Evaluator> evaluator = evaluators::make_evaluator(settings);
  std::ofstream file;
  if (!output.empty()) {
    file.open(output);
    if (!file) throw ConfigError(output + ": cannot be written");
  }

  Task task;
  task.evaluation.id = 0;
  task.evaluation.design = design;
  task.time_limit = settings.real("study.time-limit");
  task.evaluation.seed =
      evaluation_seed(static_cast<std::uint64_t>(settings.integer("study.seed")), task.evaluation.id);
  const auto farm = farm::make_local_farm(study::make_work(evaluator, settings));
  const Outcome outcome = study::evaluate(*evaluator, *farm, task);

  std::cout << report::record_text(outcome.evaluation, settings.variables, evaluator->metrics()) << "\n"
            << evaluator->report(outcome);
  if (verbose) std::cout << evaluator->details();
  if (!output.empty()) {
    file << report::csv(outcome.trajectory, evaluator->channels());
    file.close();
    if (!file) throw std::runtime_error(output + ": could not be written in full");
    std::cout << "trajectory written to " << output << (outcome.trajectory.empty() ? " (empty)" : "") << "\n";
  }
  return outcome.evaluation.ok() ? finished : failure;
}

}  // namespace dodyn::apps
