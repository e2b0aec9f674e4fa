// dodyn check: validates a configuration like `run`, and prints every setting; or describes a model.
#include <iostream>
#include <map>

#include "command.hpp"
#include "record/text.hpp"
#include "report/report.hpp"
#include "settings/command_line.hpp"
#include "study/study.hpp"
#include "systems/description.hpp"

namespace dodyn::apps {
namespace {

// --design.NAME VALUE sets a parameter.
ExitCode check_model(const std::string& path, const std::vector<std::string>& words) {
  const auto [model, pieces] = systems::read_hybrid_model(systems::model_text(path), path);
  std::map<std::string, double> given;
  const std::string prefix = "design.";
  for (const auto& [key, value, has_value] : parse_words(words)) {
    if (!key.starts_with(prefix) || !has_value)
      throw ConfigError("'--" + shown(key) +
                        "' is not understood; allowed: dodyn check MODEL [--design.PARAMETER VALUE ...]");
    try {
      const auto expression = Expression::parse(value);
      if (!expression.is_constant() || expression.is_condition()) throw ExpressionError("it is not a number");
      given[key.substr(prefix.size())] = expression.constant();
    } catch (const ExpressionError& error) {
      throw ConfigError("--" + shown(key) + " = " + shown(value) + ": " + error.what());
    }
  }
  const auto values = model.evaluate(given);
  if (model.structure.swing_link >= 0) check_walker(model, model.tree(values.numbers));
  std::cout << systems::description(model, values, pieces.contacts);
  return finished;
}

}  // namespace

ExitCode check(const Invocation& call) {
  const Arguments given = parse(call);
  const std::string& path = given.operands.front();
  if (path.ends_with(".model") || systems::shipped_models().count(path)) return check_model(path, given.keys);
  const study::Problem problem = read_problem(given, study::Use::described);
  const Settings& settings = problem.settings;
  const auto evaluator = study::make_evaluator(problem, study::Use::described);
  for (const std::string& note : problem.notes) std::cerr << note << "\n";
  try {
    evaluator->concurrency();
  } catch (const ConfigError& error) {
    std::cerr << "note: here a run would be refused: " << error.what() << "; another machine or job may allow it\n";
  }
  if (!settings.variables.empty()) study::make_strategy(settings, *evaluator);
  std::cout << report::settings_text(settings);
  if (settings.variables.empty())
    std::cout << "\nvalid, with no free design variable; next: dodyn solve " << path << "\n";
  else
    std::cout << "\nvalid, with " << counted(settings.variables.size(), "free design variable") << "; next: dodyn run "
              << path << "\n";
  return finished;
}

}  // namespace dodyn::apps
