// dodyn check: validates a configuration as `run` would, and prints every setting; or a model, and what it has.
#include <iostream>
#include <map>

#include "command.hpp"
#include "report/report.hpp"
#include "study/study.hpp"
#include "systems/description.hpp"

namespace dodyn::apps {
namespace {

// --design.NAME VALUE sets a parameter.
ExitCode check_model(const std::string& path, const std::vector<std::string>& words) {
  const auto model = systems::read_model(systems::model_text(path), path, false);
  std::map<std::string, double> given;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string prefix = "--design.";
    const auto equals = words[i].find('=');
    const bool paired = equals == std::string::npos && i + 1 < words.size();
    if (!words[i].starts_with(prefix) || (equals == std::string::npos && !paired))
      throw ConfigError("'" + words[i] +
                        "' is not understood; allowed: dodyn check MODEL [--design.PARAMETER VALUE ...]");
    const std::string name =
        words[i].substr(prefix.size(), equals == std::string::npos ? equals : equals - prefix.size());
    const std::string value = paired ? words[++i] : words[i].substr(equals + 1);
    try {
      const auto expression = Expression::parse(value);
      if (!expression.is_constant() || expression.is_condition()) throw ExpressionError("it is no number");
      given[name] = expression.constant();
    } catch (const ExpressionError& error) {
      throw ConfigError(prefix + name + " = " + shown(value) + ": " + error.what());
    }
  }
  const auto values = model.evaluate(given);
  if (model.structure.swing_link >= 0) model.check_walker(model.tree(values.numbers));
  std::cout << systems::description(model, values);
  return finished;
}

}  // namespace

ExitCode check(Invocation call) {
  const std::string path = take_path(call.words, "dodyn check CONFIG|MODEL [--key value ...]");
  if (path.ends_with(".model") || systems::shipped_models().count(path)) return check_model(path, call.words);
  const Settings settings = evaluators::read_settings(path, call.words);
  const auto evaluator = evaluators::make_evaluator(settings);
  if (!settings.variables.empty()) study::make_strategy(settings, *evaluator);
  std::cout << report::settings_text(settings);
  if (settings.variables.empty()) std::cout << "\nno design variable is free: fit for solve, not for run\n";
  return finished;
}

}  // namespace dodyn::apps
