// dodyn show: what an archive holds, also one that is being written or that a killed run left behind.
#include <iostream>

#include "archive/archive.hpp"
#include "command.hpp"
#include "study/report.hpp"

namespace dodyn::apps {

ExitCode show(Invocation call) {
  const std::string usage = "dodyn show ARCHIVE";
  const std::string path = take_path(call.words, usage);
  if (!call.words.empty()) throw study::ConfigError("'" + call.words[0] + "' is not understood; usage: " + usage);
  try {
    const archive::Contents contents = archive::read(path);
    std::cout << path << ": " << contents.provenance.evaluator << " study, created " << contents.created << " on "
              << contents.provenance.host << " by dodyn " << contents.provenance.program_version << " ("
              << contents.provenance.git_commit << ")\n\n"
              << study::table(contents);
  } catch (const archive::Error& error) {
    throw study::ConfigError(error.what());
  }
  return finished;
}

}  // namespace dodyn::apps
