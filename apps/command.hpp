// Shared by the subcommands: reading of words, and exit codes.
//
// Boost.Program_options reads the words of every subcommand: each describes its options once (options_description), for
// the parser, the messages and --help. Keys of a study (--section.key value) are read by a style of their own
// (settings/command_line.hpp) and handed on as they are, since only the configuration decides which keys exist.
#pragma once

#include <boost/program_options/options_description.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <boost/program_options/variables_map.hpp>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "report/output_units.hpp"
#include "study/problem.hpp"

namespace dodyn::apps {

enum ExitCode : int {
  finished = 0,     // done, or nothing left to do
  failure = 1,      // something broke: a full disk, a fault of the program, too many evaluations that failed
  refused = 2,      // bad input, or an archive that cannot be used; nothing was written
  interrupted = 3,  // stopped by a signal, at its wall time, for want of ranks; the same command continues
  incomplete = 4,   // finished, but evaluations were lost or timed out: that is of the machines, not of the designs
  in_use = 5,  // another process writes the archive; nothing was written, the same command can run when that has ended
};
inline constexpr std::string_view exit_codes =
    "exit codes: 0 finished; 1 failure (full disk, fault of the program, too many evaluations that failed, a program "
    "that\n"
    "            cannot be started); 2 bad input or refused archive, nothing written; 3 stopped by a signal or the "
    "clock,\n"
    "            the same command continues; 4 finished, but evaluations were lost or timed out; dodyn rerun repeats "
    "them;\n"
    "            5 another process writes the archive, nothing written; try again when that has ended\n";

struct Command;

struct Invocation {
  const Command& command;
  int& argc;  // as main() had them, for MPI
  char**& argv;
  std::vector<std::string> words;  // after the subcommand
};

// A subcommand.
struct Command {
  enum class Keys { none, of_a_study, of_a_design };  // --section.key, --design.NAME

  std::string group;  // in the list of all commands: "Study"
  std::string name;
  std::vector<std::string>
      operands;         // "CONFIG", "[ID ...]": those in brackets may be left out, "..." takes all that follow
  std::string example;  // of the operands
  std::string description;
  ExitCode (*call)(const Invocation&);
  void (*add_options)(boost::program_options::options_description_easy_init);  // its own; null: none, or Python's
  Keys keys = Keys::none;
  std::string python_options = {};  // of one that Python reads

  boost::program_options::options_description options() const;
  std::string usage() const;  // "dodyn run CONFIG [--exit-code-file FILE] [--key value ...]"
};

// The words of a subcommand, read.
struct Arguments {
  std::vector<std::string> operands;  // as many as the command needs, or more where it takes more
  boost::program_options::variables_map options;
  std::vector<std::string> keys;  // "--section.key", "value", ...; for read_settings()

  bool flag(const std::string& name) const { return options[name].as<bool>(); }
  // The value of an option; empty where it is not given.
  std::string text(const std::string& name) const {
    return options.count(name) ? options[name].as<std::string>() : std::string();
  }
};

// Reads the words. Throws ConfigError, one line: an option that the command does not have or that has no value, an operand
// too few or too many, one of mpirun's options.
Arguments parse(const Invocation& call);

// The value of one option, whatever is wrong with the other words; empty where it is not given.
std::string find_option(const Invocation& call, const std::string& name);

// Refuses a file that is not there, with one of a like name. Throws ConfigError.
void expect_file(const std::string& path);
// The same, and a text in place of an archive; the configuration's own archive is named.
void expect_archive(const std::string& path, const std::string& command);

// Reads the CONFIG|ARCHIVE of a command with its keys. Throws ConfigError.
study::Problem read_problem(const Arguments& given, study::Use use);

// Refuses settings that leave a design variable free, with a value to give. Throws ConfigError.
void refuse_free_variables(const Settings& settings);

// The units of --units. Throws ConfigError.
report::OutputUnits units_of(const Arguments& given);
// States units of --units that nothing there has a dimension for.
void note_unused(const report::OutputUnits& units, const archive::Layout& layout, const std::string& path);

// The ids in "3,7,12". Throws ConfigError.
std::set<std::int64_t> read_ids(const std::string& text);

// The commands, by main.cpp.
const std::vector<Command>& commands();

ExitCode run(const Invocation& call);
ExitCode rerun(const Invocation& call);
ExitCode show(const Invocation& call);
ExitCode replay(const Invocation& call);
ExitCode repair(const Invocation& call);
ExitCode merge(const Invocation& call);
ExitCode solve(const Invocation& call);
ExitCode serve(const Invocation& call);
ExitCode new_study(const Invocation& call);
ExitCode simulate(const Invocation& call);
ExitCode check(const Invocation& call);
ExitCode predict(const Invocation& call);
ExitCode sensitivity(const Invocation& call);
ExitCode python(const Invocation& call);  // report, watch, plot, animate, import

using AddOptions = boost::program_options::options_description_easy_init;
void add_new_options(AddOptions add);
void add_run_options(AddOptions add);
void add_rerun_options(AddOptions add);
void add_show_options(AddOptions add);
void add_replay_options(AddOptions add);
void add_trust_option(AddOptions add);
void add_units_option(AddOptions add);
void add_solve_options(AddOptions add);
void add_simulate_options(AddOptions add);
void add_predict_options(AddOptions add);
void add_sensitivity_options(AddOptions add);

}  // namespace dodyn::apps
