#include "study/problem.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <stdexcept>

#include "record/text.hpp"
#include "settings/expression.hpp"
#include "settings/folder.hpp"
#include "settings/read_text.hpp"
#include "settings/removed.hpp"
#include "study/archived.hpp"
#include "study/observed_data.hpp"
#include "study/study.hpp"
#include "surrogate/design_space.hpp"
#include "surrogate/sampling.hpp"
#include "surrogate/strategy_options.hpp"
#include "systems/model.hpp"

namespace dodyn::study {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t max_checksum_bytes = 64 << 20;  // limit for files that are read only to compute their checksum

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Returns whether the file at `path` exists with the content of the archive's copy. nullopt: not a regular file.
std::optional<bool> agrees(const fs::path& path, const archive::EmbeddedFile& held) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  return fs::file_size(path, error) == held.size && held.size <= max_checksum_bytes &&
         checksum(content_of(path)) == held.checksum;
}

bool is_shipped_model(const archive::EmbeddedFile& held) {
  const auto& shipped = systems::shipped_models();
  const auto at = shipped.find(held.name);
  return at != shipped.end() && checksum(at->second) == held.checksum;
}

void write_file(const fs::path& path, const std::string& content) {
  fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  if (!file) throw ConfigError(path.string() + ": cannot be written: " + std::strerror(errno));
}

// ---- reading an archive --------------------------------------------------------------------------------------------

// Whether a setting depends on the machine or the moment, or is a path to which a run writes. An archive from elsewhere
// does not choose these.
bool is_local(const std::string& key) {
  return key == "study.archive" || key == "study.snapshot" || key == "command.directory";
}

// Returns the file that a relative path means here: in the folder of the configuration, or in the folder of the
// archive. Returns the path unchanged if neither folder has the file.
std::string find_here(const std::string& named, const std::string& folder, const std::string& archive) {
  if (named.empty() || fs::path(named).is_absolute()) return named;
  std::error_code error;
  for (const fs::path& base : {fs::path(folder), fs::path(archive).parent_path()})
    if (const fs::path file = base / named; fs::is_regular_file(file, error)) return fs::absolute(file).string();
  return named;
}

// Returns the settings with which an archived study was started: given settings, and settings whose defaults have
// changed since. A removed key is among them unless its value corresponds to the present behaviour. `found` maps a path
// in the archive to the file that replaces it here.
std::vector<std::pair<std::string, std::string>> settings_asked(const std::string& path,
                                                                const archive::Provenance& provenance,
                                                                const std::map<std::string, std::string>& found) {
  std::map<std::string, Key> keys;
  for (const auto& kind : evaluators::evaluator_kinds())
    if (kind.name == provenance.evaluator)
      for (const Key& key : kind.keys) keys[key.name] = key;
  const std::map<std::string, std::string> given(provenance.given.begin(), provenance.given.end());
  const auto is_held = [&](const std::string& name) {
    return std::ranges::any_of(provenance.files,
                               [&](const archive::EmbeddedFile& held) { return held.is_held && held.name == name; });
  };
  std::vector<std::pair<std::string, std::string>> asked;
  for (const auto& [name, value] : provenance.configuration) {
    const auto key = keys.find(name);
    const RemovedKey* const gone = find_removed(name);
    if (gone && gone->value == value) continue;
    // Keeps a removed key that has another value, default or not: read_settings() then refuses it with advice.
    const bool other_default = gone || (key != keys.end() && value != default_text(key->second));
    if ((!given.contains(name) && !other_default) || is_local(name)) continue;
    const bool is_file = key != keys.end() && key->second.type == Type::path;
    if (const auto at = found.find(value); at != found.end())
      asked.emplace_back(name, at->second);
    else
      asked.emplace_back(name, is_file && !is_held(value) ? find_here(value, provenance.folder, path) : value);
  }
  return asked;
}

// The folder of the configuration's files, and replacements for file names that would refer to other files on this
// machine.
struct UnpackedFolder {
  std::string folder;
  std::map<std::string, std::string> found = {};
};

UnpackedFolder unpack(Problem& problem) {
  const archive::Provenance& provenance = problem.provenance;
  std::error_code error;
  const bool folder_is_here = !provenance.folder.empty() && fs::is_directory(provenance.folder, error);
  const std::string here = folder_is_here ? provenance.folder : fs::path(problem.archive).parent_path().string();
  std::vector<const archive::EmbeddedFile*> needed;
  bool all_agree = true;
  for (const archive::EmbeddedFile& held : provenance.files) {
    if (!held.is_held || is_shipped_model(held)) continue;
    needed.push_back(&held);
    const fs::path original = fs::path(provenance.folder) / held.name;
    const std::optional<bool> same = folder_is_here ? agrees(original, held) : std::nullopt;
    if (same == false)
      problem.notes.push_back("note: " + original.string() + " differs from the version that " + problem.archive +
                              " contains; the archive's version is used. To compare: dodyn show " + problem.archive +
                              " --diff " + provenance.folder);
    all_agree = all_agree && same == true;
  }
  const bool is_command = provenance.evaluator == "command";
  if (is_command && folder_is_here && all_agree) return {here};  // programs may read unnamed files there
  if (is_command && !folder_is_here && !provenance.holds_files)
    throw ConfigError(problem.archive + ": its command's folder $DODYN_STUDY, " + shown(provenance.folder) +
                      ", does not exist here, and this archive contains no files; copy the folder there, or start from "
                      "the configuration");
  if (needed.empty() && !is_command) return {here};
  problem.unpacked_files = std::make_shared<const TemporaryFolder>();
  const fs::path root = problem.unpacked_files->path();
  UnpackedFolder place{provenance.folder_of_files.empty() ? root.string()
                                                          : (root / provenance.folder_of_files).string()};
  fs::create_directories(place.folder);
  for (const archive::EmbeddedFile* held : needed) {
    write_file(root / held->path, held->content);
    if (held->path != (fs::path(provenance.folder_of_files) / held->name).lexically_normal())
      place.found[held->name] = (root / held->path).string();
  }
  return place;
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::temp_directory_path() / "dodyn-XXXXXX").string();
  const auto fail = [&](int error) { throw std::runtime_error(name + ": " + std::strerror(error)); };
  if (!::mkdtemp(name.data())) fail(errno);
  path_ = name;
  owner_ = ::getpid();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail(errno);
  alive_ = ends[1];
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[0], 0);
  for (const int stream : {1, 2}) ::posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  const char* words[] = {"sh", "-c", "trap '' INT TERM HUP USR1 USR2; cat; rm -rf -- \"$0\"", name.c_str(), nullptr};
  const int error = ::posix_spawn(&remover_, "/bin/sh", &actions, &attributes, const_cast<char**>(words), ::environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  ::close(ends[0]);
  if (error != 0) {
    ::close(alive_);
    fs::remove_all(path_);
    fail(error);
  }
}

TemporaryFolder::~TemporaryFolder() {
  ::close(alive_);
  if (::getpid() != owner_) return;  // this is a forked child
  std::error_code error;
  fs::remove_all(path_, error);
  ::waitpid(remover_, nullptr, 0);
}

bool is_archive(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char head[4] = {};
  return file.read(head, 4) && std::string(head, 4) == "\x89HDF";
}

std::string find_fraction(const Settings& settings, Variable variable, double value) {
  const auto configuration = settings.configuration();
  for (const char* key : {"surrogate.integers", "surrogate.categories"}) {
    const std::vector<std::string> names = split_list(text_in(configuration, key));
    if (std::ranges::find(names, variable.name) == names.end()) continue;
    variable.lower = std::min(variable.lower, std::round(value));
    variable.upper = std::max(variable.upper, std::round(value));
    Eigen::VectorXd design = Eigen::VectorXd::Constant(1, value);
    const surrogate::DesignSpace space({variable}, {surrogate::Domain::integer}, "");
    if (surrogate::find_invalid_value(space, design) >= 0)
      return surrogate::not_a_value(space.nearest_valid(design)(0));
  }
  return {};
}

namespace {

// Throws ConfigError if the command line sets a variable that is a whole number or a label in the file to a fraction.
void refuse_fractions(const Settings& settings) {
  for (const Variable& variable : settings.overruled) {
    const std::string own = "design." + variable.name;
    const std::string complaint = find_fraction(settings, variable, settings.real(own));
    if (complaint.empty()) continue;
    const auto at = std::ranges::find_if(settings.all, [&](const auto& one) { return one.key.name == own; });
    throw ConfigError(at->source + ": " + own + " = " + at->value + complaint);
  }
}

// Refuses a merged archive whose sources differ in a setting of the problem that the command line does not give.
void refuse_differing_sources(const std::string& path, const archive::Contents& merged,
                              const std::vector<std::string>& words) {
  for (const std::string& key : differing_keys(merged)) {
    const std::string option = "--" + key;
    if (std::ranges::any_of(words,
                            [&](const std::string& word) { return word == option || word.starts_with(option + "="); }))
      continue;
    std::string values;
    for (const archive::Source& source : merged.sources)
      values +=
          (values.empty() ? "" : ", ") + source.path + ": " + shown(text_in(source.provenance.configuration, key), 40);
    throw ConfigError(path + ": its sources differ in " + key + " (" + values + "); give " + option);
  }
}

}  // namespace

Problem read_problem(const std::string& path, const std::vector<std::string>& words, Use use, bool trusts) {
  if (!is_archive(path)) {
    Problem problem{evaluators::read_settings(path, words)};
    refuse_fractions(problem.settings);
    return problem;
  }
  Problem problem{{}, {}, path};
  try {
    const archive::Contents head = archive::read_head(path);
    problem.provenance = head.provenance;
    problem.is_merged = !head.sources.empty();
    refuse_differing_sources(path, head, words);
  } catch (const archive::Error& error) {
    throw ConfigError(error.what());
  }
  const archive::Provenance& provenance = problem.provenance;
  if (provenance.evaluator == "command" && use != Use::described && !trusts) {
    std::string line;
    for (const auto& [key, value] : provenance.configuration)
      if (key == "command.run" || key == "command.serve") line += value;
    throw ConfigError(path + ": its designs are evaluated by a program that the archive names: " + shown(line, 200) +
                      "; read its files (dodyn show " + path + " --extract FOLDER), then add --trust");
  }
  const UnpackedFolder place = unpack(problem);
  const std::string own =
      use == Use::evaluated ? fs::path(path).filename().replace_extension(".replay.h5").string() : path;
  auto asked = settings_asked(path, provenance, place.found);
  asked.emplace_back("study.archive", own);
  problem.settings = dodyn::read_settings(configuration_of(asked, path), place.folder, words,
                                          evaluators::evaluator_kinds(), surrogate::strategy_keys());
  refuse_fractions(problem.settings);
  return problem;
}

std::unique_ptr<evaluators::Evaluator> make_evaluator(const Problem& problem, Use use) {
  auto evaluator = evaluators::make_evaluator(problem.settings);
  if (use != Use::described) evaluator->concurrency();  // throws if this machine cannot run the evaluator
  if (problem.archive.empty()) return evaluator;
  const auto from_command_line = [&](auto&& what) {
    return std::ranges::any_of(problem.settings.all, [&](const Setting& setting) {
      return setting.source == "command line" && what(setting);
    });
  };
  const auto files = evaluator->input_files();
  for (const auto& [key, sum] : problem.provenance.configuration) {
    const std::string end = "-checksum";
    if (!key.ends_with(end) || of_the_search(key)) continue;
    const auto file = std::ranges::find_if(files, [&, key = key](const auto& one) { return one.key == key; });
    if (file != files.end() && file->checksum == sum) continue;
    if (from_command_line([&](const Setting& setting) {
          return setting.key.name == "command.run" || setting.key.name == "command.serve" ||
                 setting.key.name == "study.scenarios" ||  // a selection of the scenarios
                 (file != files.end() && setting.value == file->name);
        }))
      continue;
    const std::string name = key.substr(key.find('.') + 1, key.size() - end.size() - key.find('.') - 1);
    throw ConfigError(problem.archive + ": " + key + " was " + sum + " and is " +
                      (file != files.end()
                           ? file->checksum + ": the file has changed since"
                           : "none: " + name + " does not exist here, and the archive does not contain it"));
  }
  return evaluator;
}

std::vector<std::string> search_file_keys(const Settings& settings) {
  std::vector<std::string> keys;
  for (const char* key : {"surrogate.initial-designs", "surrogate.prior-evaluations", "surrogate.low-fidelity"})
    if (settings.given(key) && std::ranges::count(settings.idle, key) == 0) keys.emplace_back(key);
  return keys;
}

std::string search_file_checksum(const std::string& path) {
  if (!is_archive(path)) return checksum(content_of(path));
  const archive::Contents contents = archive::read(path);
  std::string text;
  for (const Variable& variable : contents.layout.variables) text += variable.name + " " + variable.unit + "\n";
  for (const Quantity& metric : contents.layout.metrics) text += metric.name + "\n";
  for (const auto& [id, row] : archive::latest(contents)) {
    const Evaluation& e = contents.evaluations[row];
    text += std::to_string(static_cast<int>(e.status)) + " " + to_text(e.cost) + " " + to_text(e.cost_stderr);
    for (const Eigen::VectorXd* const values : {&e.design, &e.gradient, &e.metrics})
      for (const double value : *values) text += " " + to_text(value);
    text += "\n";
  }
  return checksum(text);
}

void add_files(const Settings& settings, const evaluators::Evaluator& evaluator, archive::Provenance& provenance) {
  provenance.holds_files = true;
  auto files = evaluator.input_files();
  for (const std::string& key : search_file_keys(settings))
    files.push_back({"", "", settings.text(key), "", settings.path(key)});
  // A path on the command line is relative to the working directory. The configuration in an archive has the full path.
  for (auto& file : files)
    for (const Setting& setting : settings.all)
      if (setting.key.type == Type::path && setting.source == "command line" && setting.value == file.name &&
          fs::exists(file.name))
        file.name = fs::absolute(file.name).string();

  // The files with relative names lie below a common folder, some levels above the configuration's folder.
  std::ptrdiff_t levels = 0;
  for (const auto& file : files) {
    const fs::path name = fs::path(file.name).lexically_normal();
    levels = std::max<std::ptrdiff_t>(levels, std::ranges::count(name, ".."));
  }
  fs::path top = absolute_folder(settings), folder;
  for (; levels > 0; --levels, top = top.parent_path()) folder = top.filename() / folder;
  provenance.folder_of_files = folder.lexically_normal().string();
  if (provenance.folder_of_files.ends_with('/')) provenance.folder_of_files.pop_back();
  if (provenance.folder_of_files == ".") provenance.folder_of_files.clear();

  std::size_t total = 0;
  for (auto& file : files) {
    const bool is_absolute = fs::path(file.name).is_absolute();
    const bool of_machine = is_absolute && file.key.starts_with("command.");
    if (std::ranges::any_of(provenance.files,
                            [&](const archive::EmbeddedFile& held) { return held.name == file.name; }))
      continue;  // several scenarios name the same file
    archive::EmbeddedFile held{file.name, "", file.checksum};
    if (is_shipped_model(held))
      held.path = "shipped/" + file.name;
    else if (is_absolute && !of_machine)
      held.path =
          (fs::path("absolute") / std::to_string(provenance.files.size()) / fs::path(file.name).filename()).string();
    else if (!of_machine)
      held.path = (folder / file.name).lexically_normal().string();
    if (!archive::is_held_path(held.path)) held.path.clear();
    if (std::ranges::any_of(provenance.files, [&](const archive::EmbeddedFile& other) {
          return !held.path.empty() && other.path == held.path;
        }))
      continue;  // another name of the same file
    std::error_code error;
    held.size = file.path.empty() ? file.content.size() : static_cast<std::size_t>(fs::file_size(file.path, error));
    if (error) continue;  // the reader of the file reports the error
    held.is_held = !held.path.empty() && total + held.size <= archive::max_held_bytes &&
                   provenance.files.size() < archive::max_held_files;
    if (held.is_held) {
      held.content = file.path.empty() ? file.content : content_of(file.path);
      held.checksum = checksum(held.content);
      held.size = held.content.size();
      total += held.size;
    }
    provenance.files.push_back(std::move(held));
  }
}

std::vector<std::string> extract_files(const archive::Provenance& provenance, const std::string& folder) {
  std::error_code error;
  if (fs::exists(fs::symlink_status(folder, error)))
    throw ConfigError(folder + ": exists already; give the name of a new folder");
  std::vector<std::string> written;
  try {
    fs::create_directories(fs::path(folder) / provenance.folder_of_files);
    for (const archive::EmbeddedFile& held : provenance.files)
      if (held.is_held) {
        written.push_back((fs::path(folder) / held.path).string());
        write_file(written.back(), held.content);
      }
  } catch (const fs::filesystem_error& failure) {
    throw ConfigError(folder + ": cannot be written: " + failure.code().message());
  }
  return written;
}

}  // namespace dodyn::study
