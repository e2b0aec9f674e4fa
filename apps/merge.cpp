// dodyn merge: joins several archives in one, such as the archives of a job array.
#include <iostream>
#include <string>
#include <vector>

#include "archive/archive.hpp"
#include "command.hpp"
#include "settings/settings.hpp"
#include "study/archived.hpp"
#include "study/observed_data.hpp"

namespace dodyn::apps {
namespace {

// Returns a warning that names the settings of the problem that differ between the sources; empty if there are none.
std::string different_problems(const archive::Contents& merged) {
  const std::vector<std::string> keys = study::differing_keys(merged);
  if (keys.empty()) return "";
  return "warning: the archives differ in " + listed(keys) +
         "; their costs are comparable only if these settings do not change them\n";
}

}  // namespace

ExitCode merge(const Invocation& call) {
  const Arguments given = parse(call);
  const std::string& out = given.operands.front();
  const std::vector<std::string> parts(given.operands.begin() + 1, given.operands.end());
  try {
    archive::merge(out, parts, study::recommended_by_model);
    const archive::Contents merged = archive::read(out);
    std::cout << out << ": " << counted(merged.evaluations.size(), "evaluation") << " of "
              << counted(parts.size(), "archive") << "\n"
              << different_problems(merged) << "next: dodyn show " << out << "\n";
  } catch (const archive::Error& error) {
    throw ConfigError(error.what());
  }
  return finished;
}

}  // namespace dodyn::apps
