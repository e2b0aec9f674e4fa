#include "evaluators/named_files.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <system_error>

#include "record/text.hpp"

namespace dodyn::evaluators {
namespace {

namespace fs = std::filesystem;

// One simple command of a shell line: its words, and the files after <.
struct SimpleCommand {
  std::vector<std::string> words, inputs;
};

// Splits a shell line at blanks, quotes and operators. It need not be exact, since a word that is not a file has no
// effect.
std::vector<SimpleCommand> simple_commands(const std::string& line) {
  std::vector<SimpleCommand> commands(1);
  std::string word;
  char redirection = 0;
  const auto end_word = [&] {
    if (word.empty()) return;
    if (redirection == '<') commands.back().inputs.push_back(word);
    if (redirection == 0) commands.back().words.push_back(word);
    word.clear();
    redirection = 0;
  };
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' || c == '\'') continue;
    if (c == '$' && i + 1 < line.size() && line[i + 1] == '(') continue;
    if (std::isspace(static_cast<unsigned char>(c)) || c == '=' || c == ',') {
      end_word();
    } else if (c == '<' || c == '>') {
      if (word.find_first_not_of("0123456789") == word.npos) word.clear();  // removes the 2 of 2>
      end_word();
      redirection = c;
    } else if (c == ';' || c == '|' || c == '&' || c == '(' || c == ')' || c == '`') {
      if (c == '&' && redirection != 0) continue;  // skips the & of 2>&1
      end_word();
      commands.emplace_back();
    } else {
      word += c;
    }
  }
  end_word();
  return commands;
}

// Expands $NAME and ${NAME}; unknown names stay.
std::string expanded(const std::string& word, const std::vector<std::pair<std::string, std::string>>& variables) {
  std::string text = word.starts_with("~/") ? "$HOME" + word.substr(1) : word;
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] != '$') {
      result += text[i++];
      continue;
    }
    const bool braces = i + 1 < text.size() && text[i + 1] == '{';
    const std::size_t from = i + 1 + braces;
    std::size_t end = from;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) ++end;
    const std::string name = text.substr(from, end - from);
    const auto known = std::ranges::find(variables, name, &std::pair<std::string, std::string>::first);
    const char* value = known != variables.end() ? known->second.c_str() : std::getenv(name.c_str());
    if (!value) return "";
    result += value;
    i = end + (braces && end < text.size() && text[end] == '}');
  }
  return result;
}

constexpr std::uintmax_t largest_read_whole = 64 << 20, part_read = 1 << 20;  // bytes

std::string content_checksum(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (!file || error) throw std::system_error(errno ? errno : EIO, std::generic_category(), path.string());
  if (size <= largest_read_whole) return checksum(std::string(std::istreambuf_iterator<char>(file), {}));
  std::string text(2 * part_read, '\0');
  file.read(text.data(), part_read);
  file.seekg(-static_cast<std::streamoff>(part_read), std::ios::end);
  file.read(text.data() + part_read, part_read);
  return checksum(text + std::to_string(size));
}

std::string state_of(const fs::path& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return "";
  return formatted("%lld %lld.%09ld %llu", static_cast<long long>(about.st_size),
                   static_cast<long long>(about.st_mtim.tv_sec), about.st_mtim.tv_nsec,
                   static_cast<unsigned long long>(about.st_ino));
}

}  // namespace

std::vector<fs::path> files_in(const std::string& line,
                               const std::vector<std::pair<std::string, std::string>>& variables) {
  constexpr std::array writers = {"tee", "touch", "rm", "mkdir", "rmdir", "mkfifo", "truncate", "flock"};
  constexpr std::array copiers = {"cp", "mv", "ln", "install", "rsync"};  // their last word is the destination
  std::vector<fs::path> files;
  const auto add = [&](const std::string& word) {
    const fs::path path = expanded(word, variables);
    std::error_code error;
    if (path.is_absolute() && fs::is_regular_file(path, error) &&
        std::ranges::find(files, path.lexically_normal()) == files.end())
      files.push_back(path.lexically_normal());
  };
  for (const SimpleCommand& command : simple_commands(line)) {
    for (const auto& input : command.inputs) add(input);
    if (command.words.empty()) continue;
    const std::string program = fs::path(command.words.front()).filename();
    if (std::ranges::find(writers, program) != writers.end()) continue;
    const bool copies = std::ranges::find(copiers, program) != copiers.end();
    for (std::size_t i = 0; i + copies < command.words.size(); ++i) add(command.words[i]);
  }
  return files;
}

NamedFiles::NamedFiles(const std::vector<fs::path>& files) {
  for (const fs::path& path : files) files_.push_back({path, content_checksum(path), state_of(path)});
}

std::vector<std::pair<std::string, std::string>> NamedFiles::checksums() const {
  std::vector<std::pair<std::string, std::string>> all;
  for (const File& file : files_) all.emplace_back(file.path.string(), file.checksum);
  return all;
}

std::string NamedFiles::change() const {
  for (const File& file : files_) {
    const std::string state = state_of(file.path);
    if (state == file.state) continue;
    if (state.empty()) return file.path.string() + " is gone since the run began";
    if (content_checksum(file.path) != file.checksum)
      return file.path.string() + " has changed since the run began; costs of two versions do not mix";
  }
  return "";
}

}  // namespace dodyn::evaluators
