// dodyn repair: recovers an archive that a crash, a disk or a copy has damaged.
#include <iostream>

#include "archive/archive.hpp"
#include "command.hpp"
#include "report/report.hpp"
#include "settings/settings.hpp"

namespace dodyn::apps {

ExitCode repair(const Invocation& call) {
  const std::string path = parse(call).operands.front();
  expect_archive(path, "repair");
  try {
    const archive::Repaired repaired = archive::repair(path);
    const archive::Findings& findings = repaired.findings;
    for (const auto& note : findings.notes) std::cout << "note: " << note << "\n";
    for (const auto& problem : findings.problems) std::cout << "lost: " << problem << "\n";
    std::cout << path << ": sound: " << report::counts_text(findings) << "\n";
    if (repaired.backup.empty())
      std::cout << "nothing to repair, nothing was changed\n";
    else
      std::cout << (findings.evaluations > 0 ? "repaired; the" : "no evaluation is recovered; the")
                << " file as it was is now " << repaired.backup << "\n";
  } catch (const archive::Error& error) {
    throw ConfigError(error.what());
  }
  return finished;
}

}  // namespace dodyn::apps
