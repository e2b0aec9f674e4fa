// The dodyn command: finds the subcommand and turns exceptions into exit codes.
#include <algorithm>
#include <array>
#include <exception>
#include <iostream>
#include <sstream>
#include <stdexcept>

#include "command.hpp"
#include "report/report.hpp"
#include "version.hpp"

namespace dodyn::apps {
namespace {

std::string help() {
  std::string text = "dodyn " + std::string(version) + ": choose a mechanical design by the motion it allows\n\n";
  for (const auto& command : commands()) text += "  " + command.usage() + "\n        " + command.description + "\n";
  return text +
         "\n  dodyn COMMAND --help lists every key; dodyn help --markdown: the whole reference; dodyn --version\n\n" +
         std::string(exit_codes);
}

std::string help(const Command& command) {
  std::ostringstream own;
  if (const auto options = command.options(); !options.options().empty()) own << "\n" << options;
  return command.usage() + "\n" + command.description + "\n" + own.str() +
         (command.keys == Command::Keys::of_a_study
              ? "\nKeys stand in the INI file CONFIG ([section], key = value) and on the command line, "
                "which wins.\n" +
                    report::keys_text()
              : "") +
         "\n" + std::string(exit_codes);
}

// A word in place of a command: a file that one of them takes, or a command that is spelt otherwise.
[[noreturn]] void refuse_command(const std::string& word) {
  const bool archive = word.ends_with(".h5");
  if (archive || word.ends_with(".cfg"))
    throw ConfigError("'" + shown(word, 400) + "' is " + (archive ? "an archive" : "a configuration") +
                      "; did you mean: dodyn " + (archive ? "show " : "run ") + shown(word, 400));
  std::vector<std::string> names;
  for (const auto& command : commands()) names.push_back(command.name);
  throw ConfigError("unknown command '" + shown(word) + "'" + did_you_mean(word, names) + "; dodyn --help lists them");
}

ExitCode dispatch(int& argc, char**& argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) {
    std::cerr << help();
    return refused;
  }
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    if (words.size() > 1 && words[1] == "--markdown") {
      std::vector<std::array<std::string, 3>> list;
      for (const auto& command : commands())
        list.push_back(
            {command.name, command.usage().substr(sizeof "dodyn " + command.name.size()), command.description});
      std::cout << report::reference_markdown(list);
    } else {
      std::cout << help();
    }
    return finished;
  }
  if (words[0] == "--version") {
    std::cout << "dodyn " << version << " (" << git_commit << ")\n";
    return finished;
  }
  for (const auto& command : commands()) {
    if (command.name != words[0]) continue;
    if (command.call != python &&  // which knows its options itself
        std::any_of(words.begin(), words.end(), [](const auto& word) { return word == "--help" || word == "-h"; })) {
      std::cout << help(command);
      return finished;
    }
    return command.call({command, argc, argv, {words.begin() + 1, words.end()}});
  }
  refuse_command(words[0]);
}

}  // namespace

const std::vector<Command>& commands() {
  using Keys = Command::Keys;
  static const std::vector<Command> all = {
      {"run",
       {"CONFIG"},
       "configs/knee.cfg",
       "run a study, or continue the one its archive holds (alone or under mpirun)",
       run,
       add_run_options,
       Keys::of_a_study},
      {"show",
       {"ARCHIVE"},
       "knee.h5",
       "table of evaluations, best design, why it stopped; also while it runs",
       show,
       add_show_options},
      {"report",
       {},
       "",
       "one page of HTML: what was found, why it stopped, pictures, the motion playing; opens without a network",
       python,
       nullptr,
       Keys::none,
       " ARCHIVE [OTHER...] [--output FILE.html] [--follow]"},
      {"watch",
       {},
       "",
       "the page of a study that runs, on this machine alone: new rows as they come, what the ranks do, why it has not "
       "stopped",
       python,
       nullptr,
       Keys::none,
       " ARCHIVE [--port NUMBER] [--every SECONDS]"},
      {"plot",
       {},
       "",
       "pictures as PNG, SVG or PDF: history, cost, parallel, pairs, pareto, strobe, series, map, outcomes",
       python,
       nullptr,
       Keys::none,
       " ARCHIVE [--what KIND,...] [--evaluation ID] [--output FILE.png]"},
      {"animate",
       {},
       "",
       "the motion as .gif, .mp4 or .svg",
       python,
       nullptr,
       Keys::none,
       " ARCHIVE [--evaluation ID] [--initial-state NUMBER] [--view side|front|top|orbit] [--output FILE.gif]"},
      {"import",
       {},
       "",
       "a robot as others write it, as a model text",
       python,
       nullptr,
       Keys::none,
       " FILE.urdf [--base fixed|free] [--parts hulls|none] [--package NAME=FOLDER]"},
      {"predict",
       {"ARCHIVE"},
       "knee.h5",
       "what the evaluations say of a design that was not evaluated: middle, band, odds to evaluate and to be feasible",
       predict,
       add_predict_options,
       Keys::of_a_design},
      {"sensitivity",
       {"ARCHIVE"},
       "knee.h5",
       "which variables matter: Sobol' indices and main effects, by a model of the evaluations; elementary effects of "
       "morris",
       sensitivity,
       add_sensitivity_options},
      {"repair",
       {"ARCHIVE"},
       "knee.h5",
       "recover what a damaged archive still holds; keeps the damaged one",
       repair,
       nullptr},
      {"rerun",
       {"CONFIG"},
       "configs/knee.cfg --failed",
       "do again what failed, timed out or was lost, or what is named; earlier attempts stay in the archive",
       rerun,
       add_rerun_options,
       Keys::of_a_study},
      {"replay",
       {"CONFIG|ARCHIVE", "[ID ...]"},
       "knee.h5",
       "evaluate archived designs once more and compare with their rows bit by bit; nothing is written",
       replay,
       add_replay_options,
       Keys::of_a_study},
      {"merge",
       {"OUT", "IN", "[IN ...]"},
       "all.h5 knee-1.h5 knee-2.h5",
       "one archive of several of the same shape, such as those of an array of jobs",
       merge,
       nullptr},
      {"solve",
       {"CONFIG"},
       "configs/knee.cfg --design.knee 0.5",
       "one evaluation of a fixed design: its record, report and trajectory",
       solve,
       add_solve_options,
       Keys::of_a_study},
      {"new",
       {"[KIND]"},
       "motion",
       "write a small study to begin with, which runs at once: a gait, a motion, a simulation, a program of your own",
       new_study,
       add_new_options},
      {"serve",
       {"CONFIG"},
       "configs/knee.cfg",
       "evaluate designs, or choose them, for another program: a line of JSON in, a line of JSON out (docs/python.md)",
       serve,
       nullptr,
       Keys::of_a_study},
      {"simulate",
       {"CONFIG|ARCHIVE"},
       "configs/scene-cradle.cfg",
       "one simulated motion: how it ends, its energies and momenta, its trajectory; --from: an archived gait or "
       "motion, "
       "driven through the contact simulation",
       simulate,
       add_simulate_options,
       Keys::of_a_study},
      {"check",
       {"CONFIG|MODEL"},
       "configs/knee.cfg",
       "validate only; every setting with its value, default and source, or what a model has",
       check,
       nullptr,
       Keys::of_a_study},
  };
  return all;
}

}  // namespace dodyn::apps

int main(int argc, char** argv) {
  using namespace dodyn;
  try {
    const int code = apps::dispatch(argc, argv);
    if (!std::cout.flush()) throw std::runtime_error("standard output could not be written in full");
    return code;
  } catch (const ConfigError& error) {
    std::cerr << "dodyn: " << error.what() << "\n";
    return apps::refused;
  } catch (const std::exception& error) {
    std::cerr << "dodyn: " << error.what() << "\n";
    return apps::failure;
  }
}
