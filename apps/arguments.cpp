// Reads the words of a subcommand by Boost.Program_options, and reports errors.
#include <algorithm>
#include <boost/program_options/errors.hpp>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/positional_options.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <boost/program_options/variables_map.hpp>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "command.hpp"
#include "settings/command_line.hpp"
#include "settings/config_error.hpp"
#include "settings/settings.hpp"
#include "settings/unused.hpp"

namespace dodyn::apps {
namespace {

namespace po = boost::program_options;
namespace fs = std::filesystem;

constexpr const char* operand = "operand";  // the name that Boost has for words without dashes

// Only --NAME VALUE and --NAME=VALUE, names in full.
constexpr int style = po::command_line_style::allow_long | po::command_line_style::long_allow_adjacent |
                      po::command_line_style::long_allow_next;

std::vector<std::string> option_names(const po::options_description& options) {
  std::vector<std::string> names;
  for (const auto& option : options.options()) names.push_back("--" + option->long_name());
  return names;
}

// Returns the meaning of an option, such as "a file to write as CSV".
std::string meaning(const po::options_description& options, const std::string& name) {
  const auto* option = options.find_nothrow(name, false);
  return option ? option->description() : "";
}

[[noreturn]] void refuse(const std::string& complaint) { throw ConfigError("command line: " + complaint); }

// Takes a key of the study if the command itself has no such option.
auto key_style(const Command& command, const po::options_description& own) {
  return [&command, &own](std::vector<std::string>& words) -> std::vector<po::option> {
    const std::string name = words.front().substr(0, words.front().find('='));
    const bool is_own = name.size() > 2 && own.find_nothrow(name.substr(2), false) != nullptr;
    const bool takes = command.keys == Command::Keys::of_a_study ||
                       (command.keys == Command::Keys::of_a_design && words.front().starts_with("--design."));
    return takes && !is_own ? take_key(words) : std::vector<po::option>();
  };
}

po::parsed_options parsed(const Invocation& call, const po::options_description& all) {
  const po::positional_options_description operands = po::positional_options_description().add(operand, -1);
  po::command_line_parser parser(call.words);
  parser.options(all).positional(operands).style(style).extra_style_parser(key_style(call.command, all));
  if (call.command.keys != Command::Keys::none) parser.allow_unregistered();
  return parser.run();
}

// Refuses options of mpirun, which users pass to dodyn by mistake.
void refuse_those_of_mpirun(const Invocation& call, const std::string& word) {
  if (word != "-n" && word != "-np" && word != "-c") return;
  std::string rest;
  std::string count = "4";
  for (std::size_t i = 0; i < call.words.size(); ++i) {
    if (call.words[i] == word) {
      if (i + 1 < call.words.size()) count = call.words[++i];
    } else {
      rest += " " + call.words[i];
    }
  }
  refuse(word + " is an option of mpirun: mpirun -n " + shown(count) + " dodyn " + call.command.name +
         shown(rest, 400));
}

// Checks the number of operands.
void check_operands(const Invocation& call, const std::vector<std::string>& operands) {
  const std::string usage = call.command.usage();
  for (const std::string& word : operands) {
    if (!word.starts_with('-')) continue;
    refuse_those_of_mpirun(call, word);
    refuse("'" + shown(word) + "' is not understood" +
           (call.command.keys == Command::Keys::of_a_study ? "; allowed: --section.key value" : "; usage: " + usage));
  }
  const auto& wanted = call.command.operands;
  const std::size_t needed =
      std::ranges::count_if(wanted, [](const std::string& one) { return !one.starts_with('['); });
  const bool open = !wanted.empty() && wanted.back().find("...") != std::string::npos;
  if (operands.size() < needed)
    throw ConfigError("usage: " + usage + "; for example: dodyn " + call.command.name + " " + call.command.example);
  if (!open && operands.size() > wanted.size())
    refuse("'" + shown(operands[wanted.size()]) + "' is not understood" +
           (call.command.keys == Command::Keys::of_a_study ? "; allowed: --section.key value" : "; usage: " + usage));
}

// Returns the file of the same folder and kind whose name is most similar, and has a character in common.
std::string nearest_file(const fs::path& path) {
  std::vector<std::string> stems;
  std::error_code error;
  const fs::path folder = path.parent_path().empty() ? "." : path.parent_path();
  const fs::path extension = path.has_extension() ? path.extension() : fs::path(".cfg");
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == extension && entry.exists(error)) stems.push_back(entry.path().stem().string());
  std::ranges::sort(stems);
  for (const std::string& stem : stems)  // without extensions, which did_you_mean() would treat as names of keys
    if (did_you_mean(path.stem().string(), stems).find("'" + stem + "'") != std::string::npos &&
        stem.find_first_of(path.stem().string()) != std::string::npos)
      return " (did you mean '" + shown((path.parent_path() / (stem + extension.string())).string()) + "'?)";
  return "";
}

}  // namespace

po::options_description Command::options() const {
  po::options_description all("options");
  if (add_options) add_options(all.add_options());
  return all;
}

std::string Command::usage() const {
  std::string text = "dodyn " + name;
  for (const auto& one : operands) text += " " + one;
  const po::options_description all = options();
  for (const auto& option : all.options()) {
    const std::string value = option->format_parameter();
    text += " [--" + option->long_name() + (value.empty() ? "" : " " + value) + "]";
  }
  if (keys == Keys::of_a_study) text += " [--key value ...]";
  if (keys == Keys::of_a_design) text += " [--design.NAME VALUE ...]";
  return text + python_options;
}

Arguments parse(const Invocation& call) {
  const po::options_description own = call.command.options();
  po::options_description all;
  all.add(own).add_options()(operand, po::value<std::vector<std::string>>());
  Arguments given;
  const auto name_in = [](const po::error_with_option_name& error) {
    const std::string name = error.get_option_name();
    return name.starts_with("--") ? name : "--" + name;
  };
  try {
    const po::parsed_options words = parsed(call, all);
    for (const po::option& option : words.options) {
      if (option.unregistered || option.string_key == operand || option.value.empty()) continue;
      const std::string& value = option.value.front();
      if (value.empty())  // for example, a variable of the shell is not set
        refuse("--" + option.string_key + " is empty; allowed: " + meaning(own, option.string_key));
      if (value.starts_with("--"))  // an option follows instead of a value
        refuse("--" + option.string_key + " has no value; allowed: " + meaning(own, option.string_key));
    }
    po::store(words, given.options);
    given.keys = po::collect_unrecognized(words.options, po::exclude_positional);
  } catch (const po::unknown_option& error) {
    refuse("'" + shown(name_in(error)) + "' is not understood" + did_you_mean(name_in(error), option_names(own)) +
           "; usage: " + call.command.usage());
  } catch (const po::invalid_command_line_syntax& error) {
    const std::string name = name_in(error);
    if (error.kind() == po::invalid_syntax::extra_parameter) refuse(shown(name) + " takes no value");
    refuse(shown(name) + " has no value; allowed: " + meaning(own, name.substr(2)));
  } catch (const po::multiple_occurrences& error) {
    refuse(name_in(error) + " is given twice");
  } catch (const po::error_with_option_name& error) {  // a value of another type
    refuse(name_in(error) + " is not allowed; allowed: " + meaning(own, name_in(error).substr(2)));
  }
  if (given.options.count(operand)) given.operands = given.options[operand].as<std::vector<std::string>>();
  check_operands(call, given.operands);
  return given;
}

std::string find_option(const Invocation& call, const std::string& name) {
  po::options_description one;
  one.add_options()(name.c_str(), po::value<std::string>());
  try {
    const auto words = po::command_line_parser(call.words).options(one).style(style).allow_unregistered().run();
    po::variables_map options;
    po::store(words, options);
    const std::string value = options.count(name) ? options[name].as<std::string>() : "";
    return value.starts_with("--") ? "" : value;
  } catch (const po::error&) {
    return "";
  }
}

void expect_file(const std::string& path) {
  std::error_code error;
  if (fs::status(path, error).type() == fs::file_type::not_found)
    throw ConfigError(shown(path, 400) + ": no such file" + nearest_file(path));
}

study::Problem read_problem(const Arguments& given, study::Use use) {
  const std::string& path = given.operands.front();
  expect_file(path);
  const bool trusts = given.options.count("trust") > 0 && given.flag("trust");
  if (trusts && !study::is_archive(path))
    refuse("--trust applies only to archives; " + shown(path, 400) + " is not an archive");
  return study::read_problem(path, given.keys, use, trusts);
}

std::vector<std::string> notes_on(const study::Problem& problem, bool searches) {
  std::vector<std::string> notes = problem.notes;
  for (std::string& note : notes_on_unused(problem.settings, searches)) notes.push_back(std::move(note));
  return notes;
}

std::vector<std::string> notes_on_one_design(const study::Problem& problem, const std::vector<std::string>& used) {
  std::vector<std::string> notes = notes_on(problem, false);
  for (const Setting& setting : problem.settings.all) {
    const std::string& key = setting.key.name;
    const bool serves_a_search =
        key.starts_with("surrogate.") || (key.starts_with("study.") && std::ranges::find(used, key) == used.end());
    if (serves_a_search && setting.source == "command line")
      notes.push_back("note: " + setting.source + ": " + key + " = " + shown(setting.value) +
                      " is not used: this command evaluates one design; dodyn run searches");
  }
  return notes;
}

void add_units_option(AddOptions add, const std::string& of) {
  add("units", po::value<std::string>()->value_name("UNIT,..."), ("units, such as deg,mm, " + of).c_str());
}

std::string as_word(const std::string& word) {
  const bool plain = !word.empty() && std::ranges::all_of(word, [](unsigned char c) {
    return std::isalnum(c) || std::string_view("-_./+,:@%=").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

bool is_of_another_kind(const std::string& path, const std::string& ending) {
  return fs::is_regular_file(path) && fs::path(path).extension() != ending;
}

void check_csv_output(const std::string& path) {
  if (is_of_another_kind(path, ".csv"))
    throw ConfigError(path + ": exists, and its name does not end in .csv; choose another name");
  std::error_code error;
  const bool exists = fs::exists(path, error);
  if (exists && !fs::is_regular_file(path, error)) return;  // closing a pipe would end its reader
  if (!std::ofstream(path, std::ios::app)) throw ConfigError(path + ": cannot be written");
  if (!exists) fs::remove(path, error);
}

void write_csv(const std::string& path, const std::string& text) {
  std::error_code error;
  // Links, pipes and devices, such as /dev/stdout, take the text directly.
  const fs::file_status there = fs::symlink_status(path, error);
  const bool is_plain = !fs::exists(there) || fs::is_regular_file(there);
  const std::string written = is_plain ? path + ".tmp" : path;
  std::ofstream file(written);
  file << text;
  file.close();
  const bool is_complete = static_cast<bool>(file);
  if (is_complete && is_plain) fs::rename(written, path, error);
  if (is_complete && !error) return;
  if (is_plain) fs::remove(written, error);
  throw std::runtime_error(path + ": could not be written in full");
}

report::OutputUnits units_of(const Arguments& given) { return report::read_output_units(given.text("units")); }

void note_unused(const report::OutputUnits& units, const archive::Layout& layout, const std::string& path) {
  for (const std::string& name : report::unused(units, layout))
    std::cerr << "note: --units " << name << ": nothing in " << path << " has this dimension\n";
}

void add_trust_option(AddOptions add) { add("trust", po::bool_switch(), "start the program that an archive names"); }

void expect_archive(const std::string& path, const std::string& command) {
  std::error_code error;
  if (fs::status(path, error).type() == fs::file_type::not_found)
    throw ConfigError(shown(path, 400) + ": no such file" + nearest_file(path));
  if (!path.ends_with(".cfg") || study::is_archive(path)) return;
  const std::string archive = fs::path(path).stem().string() + ".h5";
  throw ConfigError(shown(path, 400) + " is a configuration, not an archive" +
                    (fs::exists(archive, error) ? "; did you mean: dodyn " + command + " " + archive
                                                : "; dodyn run " + shown(path, 400) + " makes " + archive));
}

void refuse_free_variables(const Settings& settings) {
  if (settings.variables.empty()) return;
  const Variable& variable = settings.variables.front();
  const std::string unit = variable.unit.empty() || variable.unit == "1" ? "" : " " + variable.unit;
  const std::string name = "design." + variable.name;
  if (!variable.choices.empty())
    throw ConfigError(name + " is free, one of " + listed(variable.choices) + "; give its value: --" + name + " " +
                      variable.choices.front());
  const std::string middle = formatted("%.3g", 0.5 * (variable.lower + variable.upper)) + unit;
  throw ConfigError(name + " is free, from " + formatted("%.6g", variable.lower) + " to " +
                    formatted("%.6g", variable.upper) + unit + "; give its value: --" + name +
                    (unit.empty() ? " " + middle : " \"" + middle + "\""));
}

}  // namespace dodyn::apps
