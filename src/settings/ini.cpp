#include "settings/ini.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/program_options/errors.hpp>
#include <boost/program_options/options_description.hpp>
#include <boost/program_options/parsers.hpp>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <sstream>
#include <unordered_map>

#include "record/text.hpp"

namespace dodyn::ini {
namespace {

// Returns the text with single blanks: "a b c" for "a  b\tc".
std::string single_blanks(std::string_view text) {
  std::string result;
  for (const char c : text)
    if (c != ' ' && c != '\t')
      result += c;
    else if (!result.empty() && result.back() != ' ')
      result += ' ';
  return result;
}

// Returns key and value of a line, parsed by Boost.Program_options; nullopt: not an entry. One line at a time, because
// for a whole file Boost reports neither line numbers nor comments, nor sections without entries.
std::optional<std::pair<std::string, std::string>> key_and_value(const std::string& line) {
  namespace po = boost::program_options;
  static const po::options_description any_key;
  std::istringstream stream(line);
  try {
    const po::parsed_options parsed = po::parse_config_file(stream, any_key, true);
    if (parsed.options.size() != 1 || parsed.options.front().string_key.empty()) return std::nullopt;
    return std::pair(parsed.options.front().string_key, parsed.options.front().value.front());
  } catch (const po::invalid_syntax&) {
    return std::nullopt;
  }
}

}  // namespace

const Entry* Section::find(std::string_view key) const {
  const auto at = std::ranges::find_if(entries, [&](const Entry& entry) { return entry.key == key; });
  return at == entries.end() ? nullptr : &*at;
}

std::string Section::title() const { return "[" + kind + (name.empty() ? "" : " " + name) + "]"; }

std::string Text::where(int line) const { return line > 0 ? origin + ":" + std::to_string(line) : origin; }

void Text::fail(int line, const std::string& complaint) const { throw ConfigError(where(line) + ": " + complaint); }

std::string read_file(const std::string& path) {
  const auto refuse = [&](const std::string& why) { throw ConfigError(shown(path, 400) + ": cannot be read: " + why); };
  // O_NONBLOCK: does not wait for a FIFO's writer.
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) refuse(std::strerror(errno));
  const struct Closer {
    int file;
    ~Closer() { ::close(file); }
  } closer{file};
  struct stat about {};
  if (::fstat(file, &about) != 0) refuse(std::strerror(errno));
  if (S_ISDIR(about.st_mode)) refuse(std::strerror(EISDIR));
  if (!S_ISREG(about.st_mode)) refuse("it is not a regular file");
  const auto limit = "it has more than " + std::to_string(largest_text) + " bytes";
  if (about.st_size > static_cast<off_t>(largest_text)) refuse(limit);
  std::string text(largest_text + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = ::read(file, text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse(std::strerror(errno));
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  if (size > largest_text) refuse(limit);
  text.resize(size);
  return text;
}

Text parse(std::string_view text, const std::string& origin) {
  Text result{origin, {}};
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::unordered_map<std::string, int> lines;  // line of each key in the present section
  for (int number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    const std::string_view whole = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (whole.find('\0') != std::string_view::npos)
      result.fail(number, "a zero byte; allowed: text, with [section], key = value, # comment");
    const auto hash = whole.find('#');
    const auto line = trimmed(whole.substr(0, hash));
    if (line.empty()) continue;
    if (line.front() == '[' && line.back() == ']') {
      const std::string title = single_blanks(trimmed(line.substr(1, line.size() - 2)));
      if (title.empty() || title.find_first_of("[]") != std::string::npos)
        result.fail(number, "'" + shown(line) + "' is not understood; allowed: [kind] or [kind name]");
      const auto blank = title.find(' ');
      result.sections.push_back(
          {title.substr(0, blank), blank == std::string::npos ? "" : title.substr(blank + 1), number, {}});
      lines.clear();
      continue;
    }
    const auto pair = key_and_value(std::string(line));
    if (!pair)
      result.fail(number, "'" + shown(line) + "' is not understood; allowed: [section], key = value, # comment");
    Entry entry{pair->first, pair->second,
                hash == std::string_view::npos ? "" : std::string(trimmed(whole.substr(hash + 1))), number};
    if (result.sections.empty()) result.sections.push_back({"", "", number, {}});
    if (const auto [at, fresh] = lines.emplace(entry.key, number); !fresh)
      result.fail(number, shown(entry.key) + " is given twice (already at line " + std::to_string(at->second) + ")");
    result.sections.back().entries.push_back(std::move(entry));
  }
  return result;
}

Text read(const std::string& path) { return parse(read_file(path), path); }

void check(const Text& text, const std::vector<SectionKind>& kinds) {
  using Name = SectionKind::Name;
  std::vector<std::string> titles, words;
  for (const auto& kind : kinds) {
    words.push_back(kind.kind);
    if (kind.name != Name::required) titles.push_back("[" + kind.kind + "]");
    if (kind.name != Name::none) titles.push_back("[" + kind.kind + " NAME]");
  }
  std::map<std::string, int> seen;
  for (const auto& section : text.sections) {
    if (section.kind.empty())
      text.fail(section.line,
                "'" + shown(section.entries.front().key) + "' stands before any section; allowed: " + listed(titles));
    const auto kind = std::ranges::find_if(kinds, [&](const auto& one) { return one.kind == section.kind; });
    if (kind == kinds.end())
      text.fail(section.line, "unknown section " + shown(section.title()) + did_you_mean(section.kind, words) +
                                  "; allowed: " + listed(titles));
    if (kind->name == Name::none && !section.name.empty())
      text.fail(section.line, shown(section.title()) + " has a name; allowed: [" + kind->kind + "]");
    if (kind->name == Name::required && section.name.empty())
      text.fail(section.line, section.title() + " has no name; allowed: [" + kind->kind + " NAME]");
    if (const auto [at, fresh] = seen.emplace(section.title(), section.line); !fresh)
      text.fail(section.line,
                shown(section.title()) + " is given twice (already at line " + std::to_string(at->second) + ")");
    for (const auto& entry : section.entries) {
      if (!kind->any_key && std::ranges::find(kind->keys, entry.key) == kind->keys.end())
        text.fail(entry.line, "unknown key '" + shown(entry.key) + "' in [" + kind->kind + "]" +
                                  did_you_mean(entry.key, kind->keys) + "; allowed: " + listed(kind->keys));
      if (entry.value.empty() && !kind->values_may_be_empty)
        text.fail(entry.line, shown(entry.key) + " has no value; allowed: key = value");
    }
    for (const auto& key : kind->needed)
      if (!section.find(key)) text.fail(section.line, shown(section.title()) + " has no " + key);
    if (section.entries.empty() && !kind->may_be_empty)
      text.fail(section.line, shown(section.title()) + " has no entries; give one, or leave the section out");
  }
}

}  // namespace dodyn::ini
