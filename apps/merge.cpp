// dodyn merge: one archive of several, as those of an array of jobs.
#include <iostream>

#include "archive/archive.hpp"
#include "command.hpp"
#include "settings/settings.hpp"

namespace dodyn::apps {

ExitCode merge(Invocation call) {
  const std::string usage = "dodyn merge OUT IN...";
  const std::string out = take_path(call.words, usage);
  if (call.words.empty() || call.words.front().starts_with('-')) throw ConfigError("usage: " + usage);
  try {
    archive::merge(out, call.words);
    std::cout << out << ": " << archive::read(out).evaluations.size() << " evaluations of " << call.words.size()
              << " archives\n";
  } catch (const archive::Error& error) {
    throw ConfigError(error.what());
  }
  return finished;
}

}  // namespace dodyn::apps
