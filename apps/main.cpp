// The dodyn command: finds the subcommand and turns exceptions into exit codes.
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>

#include "archive/archive.hpp"
#include "command.hpp"
#include "report/report.hpp"
#include "version.hpp"

namespace dodyn::apps {
namespace {

struct Command {
  std::string name, arguments, description;
  ExitCode (*call)(Invocation);
  bool takes_keys;
};
const std::vector<Command> commands = {
    {"run", "CONFIG [--key value ...] [--exit-code-file FILE]",
     "run a study, or continue the one its archive holds (alone or under mpirun)", run, true},
    {"show",
     "ARCHIVE [--sort KEY] [--columns NAME,...] [--failed] [--csv | --json] [--evaluation ID] [--events] [--follow] "
     "[--verify]",
     "table of evaluations, best design, why it stopped; also while it runs", show, false},
    {"report", "ARCHIVE [OTHER...] [--output FILE.html] [--follow]",
     "one page of HTML: what was found, why it stopped, pictures, the motion playing; opens without a network", python,
     false},
    {"plot", "ARCHIVE [--what KIND,...] [--evaluation ID] [--output FILE.png]",
     "pictures as PNG, SVG or PDF: history, cost, parallel, pairs, pareto, strobe, series, map, outcomes", python,
     false},
    {"animate", "ARCHIVE [--evaluation ID] [--start NUMBER] [--view side|front|top|orbit] [--output FILE.gif]",
     "the motion as .gif, .mp4 or .svg", python, false},
    {"import", "FILE.urdf [--base fixed|free] [--parts hulls|none] [--package NAME=FOLDER]",
     "a robot as others write it, as a model text", python, false},
    {"predict", "ARCHIVE [--design.NAME VALUE ...] [--of NAME,...] [--json] [--export FILE.h5] [--optimum]",
     "what the evaluations say of a design that was not evaluated: middle, band, odds to evaluate and to be feasible",
     predict, false},
    {"sensitivity", "ARCHIVE [--of NAME] [--samples N] [--json]",
     "which variables matter: Sobol' indices and main effects, by a model of the evaluations; elementary effects of morris", sensitivity, false},
    {"repair", "ARCHIVE", "recover what a damaged archive still holds; keeps the damaged one", repair, false},
    {"rerun", "CONFIG --failed | --ids ID[,ID...] [--key value ...]",
     "do again what failed, timed out or was lost, or what is named; earlier attempts stay in the archive", rerun,
     true},
    {"replay", "CONFIG|ARCHIVE [ID ...] [--key value ...]",
     "evaluate archived designs once more and compare with their rows bit by bit; nothing is written", replay, true},
    {"merge", "OUT IN...", "one archive of several of the same shape, such as those of an array of jobs", merge, false},
    {"solve", "CONFIG [--key value ...] [--verbose] [--output FILE.csv]",
     "one evaluation of a fixed design: its record, report and trajectory", solve, true},
    {"simulate", "CONFIG [--key value ...] [--start K | --from ARCHIVE [--evaluation ID]] [--output FILE.csv]",
     "one simulated motion: how it ends, its energies and momenta, its trajectory; --from: an archived gait or motion, "
     "driven "
     "through the contact simulation",
     simulate, true},
    {"check", "CONFIG|MODEL [--key value ...]",
     "validate only; every setting with its value, default and source, or what a model has", check, true},
};

std::string help() {
  std::string text = "dodyn " + std::string(version) + ": choose a mechanical design by the motion it allows\n\n";
  for (const auto& command : commands)
    text += "  dodyn " + command.name + " " + command.arguments + "\n        " + command.description + "\n";
  return text +
         "\n  dodyn COMMAND --help lists every key; dodyn help --markdown: the whole reference; dodyn --version\n\n" +
         std::string(exit_codes);
}

std::string help(const Command& command) {
  return "dodyn " + command.name + " " + command.arguments + "\n" + command.description + "\n" +
         (command.takes_keys ? "\nKeys stand in the INI file CONFIG ([section], key = value) and on the command line, "
                               "which wins.\n" +
                                   report::keys_text()
                             : "") +
         "\n" + std::string(exit_codes);
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
      for (const auto& command : commands) list.push_back({command.name, command.arguments, command.description});
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
  std::vector<std::string> names;
  for (const auto& command : commands) {
    names.push_back(command.name);
    if (command.name != words[0]) continue;
    if (command.call != python &&  // which knows its options itself
        std::any_of(words.begin(), words.end(), [](const auto& word) { return word == "--help" || word == "-h"; })) {
      std::cout << help(command);
      return finished;
    }
    return command.call({argc, argv, {words.begin() + 1, words.end()}});
  }
  throw ConfigError("unknown command '" + words[0] + "'" + did_you_mean(words[0], names) + "; dodyn --help lists them");
}

}  // namespace

bool is_archive(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char head[4] = {};
  return file.read(head, 4) && std::string(head, 4) == "\x89HDF";
}

std::string take_path(std::vector<std::string>& words, const std::string& usage) {
  if (words.empty() || words.front().starts_with('-')) throw ConfigError("usage: " + usage);
  const std::string path = words.front();
  words.erase(words.begin());
  return path;
}

std::string take_option(std::vector<std::string>& words, const std::string& name, const std::string& what) {
  std::string value;
  for (auto word = words.begin(); word != words.end();) {
    const bool adjacent = word->starts_with(name + "=");
    if (*word != name && !adjacent) {
      ++word;
      continue;
    }
    if (adjacent) {
      value = word->substr(name.size() + 1);
    } else {
      word = words.erase(word);
      value = word == words.end() ? "" : *word;
    }
    if (value.empty() || value.starts_with("--"))
      throw ConfigError("command line: " + name + " has no value; allowed: " + what);
    word = words.erase(word);
  }
  return value;
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
