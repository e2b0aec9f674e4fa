// dodyn solve: evaluates one fixed design and reports it in full. Writes no archive.
#include <iostream>

#include "command.hpp"
#include "farm/farm.hpp"
#include "record/random.hpp"
#include "report/report.hpp"
#include "study/study.hpp"

namespace dodyn::apps {

namespace po = boost::program_options;

void add_solve_options(AddOptions add) {
  add("output", po::value<std::string>()->value_name("FILE.csv"), "a file for the trajectory, as CSV");
  add("json", po::bool_switch(), "print the evaluation as JSON");
  add("verbose", po::bool_switch(), "print where the time went");
  add_units_option(add, "of the record, --json and --output; the evaluator's own lines keep their units");
  add_trust_option(add);
}

ExitCode solve(const Invocation& call) {
  const Arguments given = parse(call);
  if (given.flag("json") && given.flag("verbose"))
    throw ConfigError("these options cannot be combined; usage: " + call.command.usage());
  const std::string output = given.text("output");
  const report::OutputUnits units = units_of(given);
  const study::Problem problem = read_problem(given, study::Use::evaluated);
  // `--design.NAME VALUE` sets the design. A variable that the file frees stays free, so that d cost / d NAME is
  // reported.
  Settings settings = problem.settings;
  refuse_free_variables(settings);
  settings.variables = settings.overruled;
  Eigen::VectorXd design(settings.variables.size());
  for (std::size_t i = 0; i < settings.variables.size(); ++i)
    design(i) = settings.real("design." + settings.variables[i].name);

  const std::shared_ptr<const evaluators::Evaluator> evaluator =
      study::make_evaluator({settings, {}, problem.archive, problem.provenance});
  if (!output.empty()) check_csv_output(output);
  for (const std::string& note :
       notes_on_one_design(problem, {"study.evaluator", "study.scenarios", "study.scenario-aggregate", "study.seed",
                                     "study.time-limit", "study.isolate", "study.memory-limit", "study.grace-period"}))
    std::cerr << note << "\n";
  for (std::size_t i = 0; i < settings.variables.size(); ++i)
    if (const Variable& range = settings.variables[i]; design(i) < range.lower || design(i) > range.upper)
      std::cerr << "note: design." << range.name << " = " << to_text(design(i)) << " is outside of its range, "
                << to_text(range.lower) << " to " << to_text(range.upper) << "\n";

  Task task;
  task.evaluation.id = 0;
  task.evaluation.design = design;
  task.time_limit = settings.real("study.time-limit");
  task.evaluation.seed =
      evaluation_seed(static_cast<std::uint64_t>(settings.integer("study.seed")), task.evaluation.id);
  const auto farm = farm::make_local_farm(study::make_work(evaluator, settings));
  const Outcome outcome = study::evaluate(*evaluator, *farm, task);

  archive::Layout layout{
      .variables = settings.variables, .metrics = evaluator->metrics(), .channels = evaluator->channels()};
  note_unused(units, layout, given.operands.front());
  Outcome shown = outcome;
  std::vector<Evaluation> one = {outcome.evaluation};
  report::convert(layout, one, units);
  report::convert(shown.trajectory, layout.channels, units);
  shown.evaluation = one.front();
  if (given.flag("json"))
    std::cout << report::outcome_json(shown, layout);
  else
    std::cout << report::record_text(shown.evaluation, layout.variables, layout.metrics) << "\n";
  const std::string lines = given.flag("json") ? "" : evaluator->report(outcome);
  if (!units.empty() && !lines.empty())
    std::cerr << "note: --units: the lines of the evaluator " << settings.evaluator << " keep their own units\n";
  std::cout << lines;
  if (given.flag("verbose")) std::cout << evaluator->details();
  if (!output.empty()) {
    write_csv(output, report::csv(shown.trajectory, layout.channels));
    (given.flag("json") ? std::cerr : std::cout)
        << "trajectory written to " << output << (outcome.trajectory.empty() ? " (empty)" : "") << "\n";
  }
  return outcome.evaluation.ok() ? finished : failure;
}

}  // namespace dodyn::apps
