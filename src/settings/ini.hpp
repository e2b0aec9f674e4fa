// The reader of sectioned texts: configurations (.cfg) and models (.model).
//
//   # a comment
//   [kind]                   a section, or
//   [kind name]              one of several of a kind; the name may have several words
//   key = value  # comment   the first = ends the key; the first # of a line begins its comment
//
// The reader does not interpret the text. The caller defines the valid sections and keys (check()) and the meaning of
// values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "settings/config_error.hpp"

namespace dodyn::ini {

struct Entry {
  std::string key, value;  // trimmed; the value may be empty
  std::string comment;     // text after the # of its line, trimmed
  int line;                // from 1 on
};

struct Section {
  std::string kind, name;  // "link", "swing_thigh" of [link swing_thigh]; both empty for entries before any section
  int line;
  std::vector<Entry> entries;  // in the order of the text; keys are distinct

  const Entry* find(std::string_view key) const;  // null: the section does not have the key
  std::string title() const;                      // "[link swing_thigh]"
};

struct Text {
  std::string origin;  // the file's name, or another description of the source
  std::vector<Section> sections;

  std::string where(int line) const;                                     // "knee.cfg:12"; for line 0 "knee.cfg"
  [[noreturn]] void fail(int line, const std::string& complaint) const;  // throws ConfigError: "knee.cfg:12: complaint"
};

constexpr std::size_t largest_text = 1 << 20;  // bytes

// Returns the contents of a file. Throws ConfigError ("PATH: cannot be read: why") if it is not a regular file (a
// directory, FIFO or device, which might never end), is larger than `largest_text`, or cannot be read.
std::string read_file(const std::string& path);

// Parses a text. Throws ConfigError, "ORIGIN:LINE: what", if a line is neither a section nor an entry, a section has a
// key twice, or a byte is zero. Lines may end in LF or CR LF; a byte-order mark is skipped.
Text parse(std::string_view text, const std::string& origin);

// Reads and parses a file: parse() of read_file(), with the path as origin.
Text read(const std::string& path);

// A kind of section of a text.
struct SectionKind {
  enum class Name { none, optional, required };
  std::string kind;                      // "link"
  Name name = Name::none;                // [link] or [link NAME]
  std::vector<std::string> keys = {};    // keys that a section may have
  bool any_key = false;                  // a section may have any key
  std::vector<std::string> needed = {};  // keys that a section must have
  bool values_may_be_empty = false;
  std::string description = {};  // one line for --help
  bool may_be_empty = false;     // a section may have no entries: its title alone states something
};

// Checks a text against the kinds. Throws ConfigError for the first section of an unknown kind, without its name, with
// a name too many, repeated, or without entries; for the first key that is unknown, has no value, or is missing; and
// for entries before any section.
void check(const Text& text, const std::vector<SectionKind>& kinds);

}  // namespace dodyn::ini
