// What the subcommands share: how they are called, and what their exit codes mean.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dodyn::apps {

enum ExitCode : int {
  finished = 0,     // done, or nothing left to do
  failure = 1,      // something broke: a full disk, a fault of the program
  refused = 2,      // bad input, or an archive that cannot be used; nothing was written
  interrupted = 3,  // stopped by a signal; the same command continues
};
inline constexpr std::string_view exit_codes =
    "exit codes: 0 finished; 1 failure (full disk, fault of the program);\n"
    "            2 bad input or refused archive, nothing written; 3 interrupted by a signal, the same command "
    "continues\n";

struct Invocation {
  int& argc;  // as main() had them, for MPI
  char**& argv;
  std::vector<std::string> words;  // after the subcommand
};

// The first word, which the subcommand cannot do without, taken off the list. Throws study::ConfigError.
std::string take_path(std::vector<std::string>& words, const std::string& usage);

ExitCode run(Invocation call);
ExitCode show(Invocation call);
ExitCode solve(Invocation call);
ExitCode check(Invocation call);

}  // namespace dodyn::apps
