// dodyn check: validates a configuration as `run` would, and prints every setting.
#include <iostream>

#include "command.hpp"
#include "report/report.hpp"
#include "study/study.hpp"

namespace dodyn::apps {

ExitCode check(Invocation call) {
  const std::string path = take_path(call.words, "dodyn check CONFIG [--key value ...]");
  const Settings settings = evaluators::read_settings(path, call.words);
  evaluators::make_evaluator(settings);
  if (!settings.variables.empty()) study::make_strategy(settings);
  std::cout << report::settings_text(settings);
  if (settings.variables.empty()) std::cout << "\nno design variable is free: fit for solve, not for run\n";
  return finished;
}

}  // namespace dodyn::apps
