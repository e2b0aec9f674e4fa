// The dodyn command: finds the subcommand and converts exceptions to exit codes.
#include <algorithm>
#include <array>
#include <exception>
#include <iostream>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "archive/archive.hpp"
#include "command.hpp"
#include "evaluators/evaluator.hpp"
#include "report/report.hpp"
#include "settings/unit_names.hpp"
#include "systems/model.hpp"
#include "version.hpp"

namespace dodyn::apps {
namespace {

// Returns the usage without options: "dodyn merge OUT IN [IN ...]".
std::string short_usage(const Command& command) {
  std::string text = "dodyn " + command.name;
  for (const auto& operand : command.operands) text += " " + operand;
  if (!command.operands.empty()) return text;
  return text + command.python_options.substr(0, command.python_options.find(' ', 1));
}

std::string help() {
  std::string text = "dodyn " + std::string(version) + ": find the mechanical design with the best motion\n";
  std::string group;
  for (const auto& command : commands()) {
    if (command.group != group) text += "\n" + (group = command.group) + "\n";
    std::string usage = short_usage(command);
    usage.resize(std::max<std::size_t>(usage.size(), 35), ' ');
    text += "  " + usage + " " + command.description + "\n";
  }
  return text +
         "\nHelp\n"
         "  dodyn COMMAND --help                usage and options of a command\n"
         "  dodyn help keys [SECTION]           keys of configurations, with range and default; after a CONFIG: its "
         "keys\n"
         "  dodyn help key NAME                 one key, such as gait.clearance\n"
         "  dodyn help models                   models that come with the program\n"
         "  dodyn help units                    units that a number or --units may have\n"
         "  dodyn help --markdown               the whole reference\n"
         "  dodyn --version                     version and commit\n\n"
         "Begin with: dodyn new motion, then dodyn run motion.cfg\n";
}

bool is_configuration(const std::string& word) { return word.ends_with(".cfg") || word.ends_with(".h5"); }

std::string help(const Command& command) {
  std::ostringstream own;
  if (const auto options = command.options(); !options.options().empty()) own << "\n" << options;
  return "usage: " + command.usage() + "\n" + command.description + "\n" + own.str();
}

// Returns the help of a command. `dodyn run CONFIG --help` lists only the keys of that configuration, with values.
std::string help(const Command& command, int& argc, char**& argv, std::vector<std::string> words) {
  if (command.keys != Command::Keys::of_a_study) return help(command) + "\n" + std::string(exit_codes);
  std::erase_if(words, [](const auto& word) { return word == "--help" || word == "-h"; });
  std::string keys =
      "\nFirst keys, in the file as [section] and key = value, on the command line as --section.key value (which "
      "wins):\n" +
      report::first_keys_text() +
      "\nMore: dodyn help keys, dodyn help keys gait, dodyn help key gait.clearance; dodyn " + command.name +
      " CONFIG --help lists the keys of CONFIG\n";
  if (std::ranges::any_of(words, is_configuration)) {
    const Arguments given = parse({command, argc, argv, words});
    const Settings settings = read_problem(given, study::Use::described).settings;
    keys = "\nKeys of " + settings.file + ", with their values:\n\n" + report::keys_text(&settings);
  }
  return help(command) + keys + "\n" + std::string(exit_codes);
}

// Returns the text of "dodyn help keys [SECTION] [CONFIG]" and "dodyn help key NAME [CONFIG]".
std::string help_on_keys(std::vector<std::string> words) {
  const bool one = words.front() == "key";
  words.erase(words.begin());
  std::optional<Settings> settings;
  if (const auto file = std::ranges::find_if(words, is_configuration); file != words.end()) {
    expect_file(*file);
    settings = study::read_problem(*file, {}, study::Use::described, false).settings;
    words.erase(file);
  }
  if (words.size() > 1 || (one && words.empty()))
    throw ConfigError(std::string("usage: dodyn help ") + (one ? "key NAME" : "keys [SECTION]") +
                      " [CONFIG]; for example: dodyn help " + (one ? "key gait.clearance" : "keys gait"));
  const Settings* const its = settings ? &*settings : nullptr;
  if (one) return report::key_text(words.front(), its);
  return report::keys_text(its, words.empty() ? "" : words.front());
}

// dodyn help models: the models that come with the program, with the first sentence of each.
std::string help_on_models() {
  std::string text =
      "Models by name, as in gait.model = rabbit; a path names a file of your own. dodyn check FILE.model describes "
      "one.\n\n";
  for (const auto& [name, model] : systems::shipped_models()) {
    std::string sentence;
    std::istringstream lines(model);
    for (std::string line; std::getline(lines, line) && line.starts_with("#");) sentence += line.substr(1);
    std::size_t end = sentence.find(". ");
    while (end != std::string::npos && end > 1 && sentence[end - 2] == ' ')
      end = sentence.find(". ", end + 1);  // a period after an initial does not end the sentence
    sentence = sentence.substr(0, std::min(end, sentence.find(": ")));
    if (sentence.ends_with(".")) sentence.pop_back();
    text += "  " + name + std::string(name.size() < 20 ? 20 - name.size() : 1, ' ') + sentence + "\n";
  }
  return text;
}

// Returns the text of "dodyn help units", or for "dodyn help units UNIT,... OWN..." the conversions of numbers with the
// units OWN, as JSON. The Python package calls the latter, so that units and their factors are in settings/units.cpp
// alone.
std::string help_on_units(const std::vector<std::string>& words) {
  if (!words.empty())
    return report::conversions_json(report::read_output_units(words.front()), {words.begin() + 1, words.end()});
  std::string text = "Units of a line measure the same. Combine them in products: 50 mm, 60 N m/rad, 3 kg/m3.\n\n";
  for (const auto& names : unit_names()) text += "  " + listed(names) + "\n";
  return text;
}

// Commands of other programs, and the command here that does the same.
const std::vector<std::pair<std::string, std::string>> words_of_others = {
    {"resume", "run ARCHIVE"},  {"continue", "run ARCHIVE"},
    {"restart", "run ARCHIVE"}, {"optimize", "run"},
    {"optimise", "run"},        {"init", "new"},
    {"create", "new"},          {"list", "show"},
    {"status", "show"},         {"view", "report"},
    {"open", "report"},         {"validate", "check"},
    {"eval", "solve"},          {"evaluate", "solve"},
    {"convert", "import"},      {"export", "show ARCHIVE --extract FOLDER"}};

// Refuses a word that is not a command: suggests the command that takes such a file, or the nearest name.
[[noreturn]] void refuse_command(const std::string& word) {
  const bool archive = word.ends_with(".h5");
  if (archive || word.ends_with(".cfg"))
    throw ConfigError("'" + shown(word, 400) + "' is " + (archive ? "an archive" : "a configuration") +
                      "; did you mean: dodyn " + (archive ? "show " : "run ") + shown(word, 400));
  const auto same = std::ranges::find_if(words_of_others, [&](const auto& pair) { return pair.first == word; });
  if (same != words_of_others.end())
    throw ConfigError("unknown command '" + word + "' (did you mean '" + same->second + "'?); dodyn --help lists them");
  throw ConfigError("unknown command '" + shown(word) + "'" + did_you_mean(word, names_of(commands())) +
                    "; dodyn --help lists them");
}

// Refuses a word after `dodyn help` that is neither a command nor a topic.
[[noreturn]] void refuse_topic(const std::string& word) {
  bool is_section = true;
  try {
    report::keys_text(nullptr, word);
  } catch (const ConfigError&) {
    is_section = false;
  }
  if (is_section) throw ConfigError("'" + word + "' is a section; did you mean: dodyn help keys " + word);
  std::vector<std::string> names = {"keys", "key", "models", "units"};
  for (const auto& command : commands()) names.push_back(command.name);
  throw ConfigError("no help on '" + shown(word) + "'" + did_you_mean(word, names) +
                    "; dodyn --help lists the commands");
}

// Returns null if there is no such command.
const Command* find_command(const std::string& name) {
  const auto at = std::ranges::find(commands(), name, &Command::name);
  return at == commands().end() ? nullptr : &*at;
}

// Refuses words after the first `count`, which would have no effect.
void expect_no_more(const std::vector<std::string>& words, std::size_t count) {
  if (words.size() > count) throw ConfigError("'" + shown(words[count], 400) + "' is not understood; leave it out");
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
    } else if (words.size() > 1 && (words[1] == "keys" || words[1] == "key")) {
      std::cout << help_on_keys({words.begin() + 1, words.end()});
    } else if (words.size() > 1 && words[1] == "models") {
      expect_no_more(words, 2);
      std::cout << help_on_models();
    } else if (words.size() > 1 && words[1] == "units") {
      std::cout << help_on_units({words.begin() + 2, words.end()});
    } else if (words.size() > 1) {
      const Command* const found = find_command(words[1]);
      if (!found) refuse_topic(words[1]);
      expect_no_more(words, 2);
      std::cout << help(*found, argc, argv, {});
    } else {
      std::cout << help();
    }
    return finished;
  }
  if (words[0] == "--version") {
    expect_no_more(words, 1);
    std::cout << "dodyn " << version << " (" << git_commit << ")\n";
    return finished;
  }
  const Command* const found = find_command(words[0]);
  if (!found) refuse_command(words[0]);
  const Command& command = *found;
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  if (command.call != python &&  // the Python package prints the help of its own options
      std::ranges::any_of(rest, [](const auto& word) { return word == "--help" || word == "-h"; })) {
    std::cout << help(command, argc, argv, rest);
    return finished;
  }
  return command.call({command, argc, argv, rest});
}

}  // namespace

// A table: one entry for each command, in the order of --help.
const std::vector<Command>& commands() {
  using Keys = Command::Keys;
  static const std::vector<Command> all = {
      {"Study",
       "new",
       {"[KIND]"},
       "motion",
       "write a small study to begin with: a gait, a motion, a simulation, a program of your own",
       new_study,
       add_new_options},
      {"Study",
       "run",
       {"CONFIG|ARCHIVE"},
       "configs/knee.cfg",
       "run a study, or continue the one in its archive; alone or under mpirun",
       run,
       add_run_options,
       Keys::of_a_study},
      {"Study",
       "rerun",
       {"CONFIG|ARCHIVE"},
       "configs/knee.cfg --failed",
       "repeat evaluations that failed, timed out or were lost (--failed), or the given ones",
       rerun,
       add_rerun_options,
       Keys::of_a_study},
      {"Study",
       "check",
       {"CONFIG|ARCHIVE|MODEL"},
       "configs/knee.cfg",
       "check a configuration or a model without running it; list every setting and its source",
       check,
       add_check_options,
       Keys::of_a_study},
      {"Results",
       "show",
       {"ARCHIVE"},
       "knee.h5",
       "table of evaluations, best design, why the study stopped; also while it runs",
       show,
       add_show_options},
      {"Results",
       "report",
       {},
       "",
       "one page of HTML: answer, charts, table, the motion playing; needs no network",
       python,
       nullptr,
       Keys::none,
       " ARCHIVE [OTHER...] [--output FILE.html] [--units UNIT,...] [--follow]"},
      {"Results",
       "watch",
       {},
       "",
       "the page of a running study: new rows as they come, what the ranks do, why it has not stopped",
       python,
       nullptr,
       Keys::none,
       " ARCHIVE [--port NUMBER] [--units UNIT,...] [--every SECONDS]"},
      {"Results",
       "plot",
       {},
       "",
       "PNG, SVG or PDF: history, cost, parallel, pairs, pareto, strobe, series, map, outcomes",
       python,
       nullptr,
       Keys::none,
       " ARCHIVE [--what KIND,...] [--evaluation ID] [--units UNIT,...] [--output FILE.png]"},
      {"Results",
       "animate",
       {},
       "",
       "the motion as .gif, .mp4 or .svg",
       python,
       nullptr,
       Keys::none,
       " ARCHIVE [--evaluation ID] [--initial-state NUMBER] [--view side|front|top|orbit] [--output FILE.gif]"},
      {"One design",
       "solve",
       {"CONFIG|ARCHIVE"},
       "configs/knee.cfg --design.knee 0.5",
       "one evaluation of a fixed design: its record, report and trajectory",
       solve,
       add_solve_options,
       Keys::of_a_study},
      {"One design",
       "simulate",
       {"CONFIG|ARCHIVE"},
       "configs/scene-cradle.cfg",
       "one simulation: outcome, energies, trajectory; --from: the torques of an archived motion",
       simulate,
       add_simulate_options,
       Keys::of_a_study},
      {"Surrogate model",
       "predict",
       {"ARCHIVE"},
       "knee.h5",
       "cost and metrics of a design from the evaluations up to now, with 95 % intervals",
       predict,
       add_predict_options,
       Keys::of_a_design},
      {"Surrogate model",
       "sensitivity",
       {"ARCHIVE"},
       "knee.h5",
       "which variables matter: Sobol indices, main effects, Morris effects",
       sensitivity,
       add_sensitivity_options},
      {"Archives",
       "replay",
       {"CONFIG|ARCHIVE", "[ID ...]"},
       "knee.h5",
       "evaluate archived designs again and compare the results bit by bit; writes nothing",
       replay,
       add_replay_options,
       Keys::of_a_study},
      {"Archives",
       "merge",
       {"OUT", "IN", "[IN ...]"},
       "all.h5 knee-1.h5 knee-2.h5",
       "join archives with the same variables and metrics, such as those of an array of jobs",
       merge,
       nullptr},
      {"Archives",
       "repair",
       {"ARCHIVE"},
       "knee.h5",
       "recover the rows of a damaged archive; keeps the damaged one",
       repair,
       nullptr},
      {"Other programs",
       "import",
       {},
       "",
       "convert a URDF or MJCF robot to a model file, on standard output",
       python,
       nullptr,
       Keys::none,
       " FILE [--base fixed|free] [--parts hulls|none] [--mimic follow|free] [--package NAME=FOLDER]"},
      {"Other programs",
       "serve",
       {"CONFIG|ARCHIVE"},
       "configs/knee.cfg",
       "evaluate designs for another program: JSON lines in and out (docs/python.md)",
       serve,
       add_trust_option,
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
  } catch (const archive::Busy& busy) {
    std::cerr << "dodyn: " << busy.what() << "; try again when that has ended\n";
    return apps::in_use;
  } catch (const std::exception& error) {
    std::cerr << "dodyn: " << error.what() << "\n";
    return apps::failure;
  }
}
