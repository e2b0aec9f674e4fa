// What the subcommands share: how they are called, and what their exit codes mean.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dodyn::apps {

enum ExitCode : int {
  finished = 0,     // done, or nothing left to do
  failure = 1,      // something broke: a full disk, a fault of the program, too many evaluations that failed
  refused = 2,      // bad input, or an archive that cannot be used; nothing was written
  interrupted = 3,  // stopped by a signal, at its wall time, for want of ranks; the same command continues
  incomplete = 4,   // finished, but evaluations were lost or timed out: that is of the machines, not of the designs
};
inline constexpr std::string_view exit_codes =
    "exit codes: 0 finished; 1 failure (full disk, fault of the program, too many evaluations that failed);\n"
    "            2 bad input or refused archive, nothing written; 3 stopped by a signal or the clock, the same command "
    "continues;\n"
    "            4 finished, but evaluations were lost or timed out; dodyn rerun does them again\n";

struct Invocation {
  int& argc;  // as main() had them, for MPI
  char**& argv;
  std::vector<std::string> words;  // after the subcommand
};

// The first word, which the subcommand cannot do without, taken off the list. Throws ConfigError.
std::string take_path(std::vector<std::string>& words, const std::string& usage);

// Whether it is an HDF5 file, rather than a text.
bool is_archive(const std::string& path);

// Takes `NAME VALUE` or `NAME=VALUE` off the words; empty where it is not there. Throws ConfigError where the
// value, described by `what`, is missing.
std::string take_option(std::vector<std::string>& words, const std::string& name, const std::string& what);

// The ids in "3,7,12". Throws ConfigError.
std::set<std::int64_t> read_ids(const std::string& text);

ExitCode run(Invocation call);
ExitCode rerun(Invocation call);
ExitCode show(Invocation call);
ExitCode replay(Invocation call);
ExitCode repair(Invocation call);
ExitCode merge(Invocation call);
ExitCode solve(Invocation call);
ExitCode simulate(Invocation call);
ExitCode check(Invocation call);
ExitCode predict(Invocation call);
ExitCode sensitivity(Invocation call);
ExitCode python(Invocation call);  // report, plot, animate, import

}  // namespace dodyn::apps
