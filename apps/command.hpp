// Shared by the subcommands: parsing of arguments, and exit codes.
//
// Boost.Program_options reads the words of every subcommand. Each subcommand describes its options once
// (options_description), for the parser, the messages and --help. Keys of a study (--section.key value) have a separate
// style parser (settings/command_line.hpp) and are passed on unchanged, because the configuration determines which keys
// exist.
#pragma once

#include <boost/program_options/options_description.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <boost/program_options/variables_map.hpp>
#include <cstdint>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "report/output_units.hpp"
#include "study/problem.hpp"

namespace dodyn::apps {

enum ExitCode : int {
  finished = 0,     // success, or nothing left to do
  failure = 1,      // an error: a full disk, a program fault, too many failed evaluations
  refused = 2,      // invalid input, or an archive that cannot be used; nothing was written
  interrupted = 3,  // stopped by a signal, at its wall time, or because ranks were lost; the same command continues
  incomplete = 4,   // finished, but evaluations were lost or timed out; the cause is the machines, not the designs
  in_use = 5,       // another process writes the archive; nothing was written; run the command again when it has ended
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
  int& argc;  // from main(), for MPI
  char**& argv;
  std::vector<std::string> words;  // after the subcommand
};

// A subcommand.
struct Command {
  enum class Keys { none, of_a_study, of_a_design };  // which keys it takes: --section.key, --design.NAME

  std::string group;  // in the list of commands: "Study"
  std::string name;
  std::vector<std::string>
      operands;         // "CONFIG", "[ID ...]": brackets mean optional, "..." means any number of further words
  std::string example;  // an example of the operands
  std::string description;
  ExitCode (*call)(const Invocation&);
  void (*add_options)(boost::program_options::options_description_easy_init);  // options of the command; null: none
  Keys keys = Keys::none;
  std::string python_options = {};  // options of a command in Python

  boost::program_options::options_description options() const;
  std::string usage() const;  // "dodyn run CONFIG [--exit-code-file FILE] [--key value ...]"
};

// The parsed words of a subcommand.
struct Arguments {
  std::vector<std::string> operands;  // the number that the command needs, or more if it accepts more
  boost::program_options::variables_map options;
  std::vector<std::string> keys;  // "--section.key", "value", ...; for read_settings()

  bool flag(const std::string& name) const { return options[name].as<bool>(); }
  // Returns the value of an option; empty: not given.
  std::string text(const std::string& name) const {
    return options.count(name) ? options[name].as<std::string>() : std::string();
  }
};

// Parses the words. Throws ConfigError, one line: an unknown option, an option without its value, a wrong number of
// operands, or one of mpirun's options.
Arguments parse(const Invocation& call);

// Returns the value of one option, even if other words are invalid; empty: not given.
std::string find_option(const Invocation& call, const std::string& name);

// Throws ConfigError if a file does not exist, with the name of a similar file.
void expect_file(const std::string& path);
// Like expect_file(), for an archive. If the path is a configuration, the message names its archive.
void expect_archive(const std::string& path, const std::string& command);

// Reads the CONFIG|ARCHIVE of a command with its keys. Throws ConfigError.
study::Problem read_problem(const Arguments& given, study::Use use);

// Returns notes for the user: those of the problem, and one on each setting without effect. `searches`: whether the
// command uses [surrogate].
std::vector<std::string> notes_on(const study::Problem& problem, bool searches);
// Returns the notes of a command that evaluates one design: those above without [surrogate], and one on each key of the
// command line that serves a search only. `used`: the keys of [study] that the command uses.
std::vector<std::string> notes_on_one_design(const study::Problem& problem, const std::vector<std::string>& used);

// Throws ConfigError if a design variable is free, with an example of a value to give.
void refuse_free_variables(const Settings& settings);

// Returns the units of --units. Throws ConfigError.
report::OutputUnits units_of(const Arguments& given);
// Quotes a word for a shell, if it needs quotes.
std::string as_word(const std::string& word);
// Throws ConfigError if a CSV file of results cannot be written, or exists with another ending: it may be an input.
void check_csv_output(const std::string& path);
// Writes a CSV file completely or not at all: an existing file is replaced at the end. Links, pipes and devices receive
// the text directly. Throws std::runtime_error.
void write_csv(const std::string& path, const std::string& text);
// Whether a file of another kind has this name: it exists, and its name does not end in `ending`, such as ".csv".
bool is_of_another_kind(const std::string& path, const std::string& ending);
// Prints a note about units of --units that apply to no quantity of the archive.
void note_unused(const report::OutputUnits& units, const archive::Layout& layout, const std::string& path);

// Parses ids such as "3,7,12". Throws ConfigError.
std::set<std::int64_t> read_ids(const std::string& text);

// Returns all commands (main.cpp).
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
void add_check_options(AddOptions add);
void add_new_options(AddOptions add);
void add_run_options(AddOptions add);
void add_rerun_options(AddOptions add);
void add_show_options(AddOptions add);
void add_replay_options(AddOptions add);
void add_trust_option(AddOptions add);
void add_units_option(AddOptions add, const std::string& of);
void add_solve_options(AddOptions add);
void add_simulate_options(AddOptions add);
void add_predict_options(AddOptions add);
void add_sensitivity_options(AddOptions add);

}  // namespace dodyn::apps
