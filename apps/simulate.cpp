// dodyn simulate: runs one motion and reports it in full. Writes no archive.
#include <fstream>
#include <iostream>
#include <optional>

#include "command.hpp"
#include "record/random.hpp"
#include "report/report.hpp"
#include "study/archived.hpp"
#include "study/study.hpp"

namespace dodyn::apps {

namespace po = boost::program_options;

namespace {

std::string design_of(const Settings& settings, const Evaluation& evaluation) {
  std::string text;
  for (std::size_t i = 0; i < settings.variables.size(); ++i)
    text += ", " + settings.variables[i].name + " " + to_text(evaluation.design(i)) +
            (settings.variables[i].unit.empty() ? "" : " " + settings.variables[i].unit);
  return text;
}

evaluators::Simulated replay(const std::string& path, const std::string& from, std::optional<std::int64_t> id,
                             const Settings& settings, const evaluators::Evaluator& evaluator) {
  const Outcome archived = study::archived(from, settings, evaluator, id);
  auto simulated = evaluator.rollout(archived);
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
  refuse_free_variables(settings);
  Task task;
  task.evaluation.id = 0;
  task.evaluation.design.resize(0);
  task.evaluation.seed =
      evaluation_seed(static_cast<std::uint64_t>(settings.integer("study.seed")), task.evaluation.id);
  auto simulated = evaluator.simulate(task);
  if (!simulated)
    throw ConfigError(
        path + ": the evaluator " + settings.evaluator +
        " is not a simulation; dodyn solve shows its evaluations, and dodyn simulate --from ARCHIVE replays "
        "gaits and motions in the contact simulation");
  return *std::move(simulated);
}

// Repeats an initial state of an archived design, with the same random numbers.
evaluators::Simulated simulated_again(const std::string& path, const std::vector<std::string>& words,
                                      std::optional<std::int64_t> id) {
  const auto study = study::archived_study(path, words, id, true);  // a simulation starts no external program
  const Settings& settings = study.problem.settings;
  for (const std::string& note : study.problem.notes) std::cerr << note << "\n";
  Task task;
  task.evaluation = study.evaluation;
  auto simulated = study.evaluator->simulate(task);
  if (!simulated)
    throw ConfigError(path + ": the evaluator " + settings.evaluator +
                      " is not a simulation; dodyn simulate CONFIG --from ARCHIVE replays gaits and motions");
  simulated->report = path + ": evaluation " + std::to_string(study.evaluation.id) + ", cost " +
                      to_text(study.evaluation.cost) + design_of(settings, study.evaluation) + "\n" + simulated->report;
  return *std::move(simulated);
}

}  // namespace

void add_simulate_options(AddOptions add) {
  add("output", po::value<std::string>()->value_name("FILE.csv"), "a file for the trajectory, as CSV");
  add("initial-state", po::value<std::string>()->value_name("K"), "the number of an initial state; the first is 1");
  add("from", po::value<std::string>()->value_name("ARCHIVE"), "an archive whose motion drives the simulation");
  add_units_option(add, "of --output FILE.csv; the printed lines keep their units");
  add("evaluation", po::value<std::int64_t>()->value_name("ID"), "the id of an evaluation of that archive");
}

ExitCode simulate(const Invocation& call) {
  Arguments given = parse(call);
  const std::string &path = given.operands.front(), output = given.text("output"), from = given.text("from"),
                    start = given.text("initial-state");
  std::optional<std::int64_t> id;
  if (given.options.count("evaluation")) id = given.options["evaluation"].as<std::int64_t>();
  const bool again = from.empty() && study::is_archive(path);
  const report::OutputUnits units = units_of(given);
  if (!units.empty() && output.empty())
    throw ConfigError("command line: --units is for --output FILE.csv; the printed report has its own units");
  if (!output.empty()) check_csv_output(output);
  expect_file(path);
  if (!from.empty()) expect_archive(from, "show");
  if (from.empty() && id && !again) throw ConfigError("--evaluation needs an archive, or --from ARCHIVE");
  if (!from.empty() && !start.empty())
    throw ConfigError("--initial-state and --from cannot be combined; remove one of them");
  if (!start.empty()) {
    const std::string evaluator =
        study::read_problem(path, again ? std::vector<std::string>() : given.keys, study::Use::described, false)
            .settings.evaluator;
    given.keys.push_back("--" + evaluator + ".initial-state=" + start);
  }
  const auto simulated = [&] {
    if (again) return simulated_again(path, given.keys, id);
    const study::Problem problem = read_problem(given, study::Use::described);
    const Settings& settings = problem.settings;
    const auto evaluator = study::make_evaluator(problem, study::Use::described);
    for (const std::string& note : notes_on_one_design(problem, {"study.evaluator", "study.scenarios", "study.seed"}))
      std::cerr << note << "\n";
    return from.empty() ? simulated_start(path, settings, *evaluator) : replay(path, from, id, settings, *evaluator);
  }();
  std::cout << simulated.report;
  if (!output.empty()) {
    archive::Layout layout;
    layout.channels = simulated.channels;
    note_unused(units, layout, path);
    Trajectory trajectory = simulated.trajectory;
    report::convert(trajectory, layout.channels, units);
    write_csv(output, report::csv(trajectory, layout.channels));
    std::cout << "trajectory written to " << output << "\n";
  }
  return simulated.completed ? finished : failure;
}

}  // namespace dodyn::apps
