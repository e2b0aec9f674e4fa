// dodyn merge: joins several archives in one, such as those of a job array.
#include <iostream>

#include "archive/archive.hpp"
#include "command.hpp"
#include "settings/settings.hpp"

namespace dodyn::apps {

ExitCode merge(const Invocation& call) {
  const Arguments given = parse(call);
  const std::string& out = given.operands.front();
  const std::vector<std::string> parts(given.operands.begin() + 1, given.operands.end());
  try {
    archive::merge(out, parts);
    std::cout << out << ": " << archive::read(out).evaluations.size() << " evaluations of " << parts.size()
              << " archives\nnext: dodyn show " << out << "\n";
  } catch (const archive::Error& error) {
    throw ConfigError(error.what());
  }
  return finished;
}

}  // namespace dodyn::apps
