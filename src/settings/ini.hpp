// The one reader of sectioned texts, configurations (.cfg) and models (.model):
//
//   # a comment
//   [kind]                   a section, or
//   [kind name]              one of several of a kind; the name may have several words
//   key = value  # comment   the first = ends the key; the first # of a line begins its comment
//
// Texts are read as they stand. What kinds of sections and keys there may be is the caller's to say (check()), what the
// values mean, too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "settings/config_error.hpp"

namespace dodyn::ini {

struct Entry {
  std::string key, value;  // without blanks at their ends; the value may be empty
  std::string comment;     // what follows the # of its line, without blanks at its ends
  int line;                // from 1 on
};

struct Section {
  std::string kind, name;  // "link", "swing_thigh" of [link swing_thigh]; both empty for entries before any section
  int line;
  std::vector<Entry> entries;  // in the order of the text, no two of the same key

  const Entry* find(std::string_view key) const;  // null: it has none
  std::string title() const;                      // "[link swing_thigh]"
};

struct Text {
  std::string origin;  // the file's name, or what else tells a user where the text is from
  std::vector<Section> sections;

  std::string where(int line) const;                                     // "knee.cfg:12"; of line 0 "knee.cfg"
  [[noreturn]] void fail(int line, const std::string& complaint) const;  // throws ConfigError: "knee.cfg:12: complaint"
};

constexpr std::size_t largest_text = 1 << 20;  // bytes

// The contents of a file. Throws ConfigError ("PATH: cannot be read: why") of what is not a regular file (a directory,
// FIFO or device, which might never end), larger than `largest_text`, or not to be had.
std::string read_file(const std::string& path);

// Reads a text. Throws ConfigError, "ORIGIN:LINE: what", where a line is neither a section nor an entry, a section has
// the same key twice, or a byte is zero. Ends of lines may be LF or CR LF; a byte-order mark is passed over.
Text parse(std::string_view text, const std::string& origin);

// parse() of read_file(), its origin the path.
Text read(const std::string& path);

// A kind of section that a text may have.
struct SectionKind {
  enum class Name { none, optional, required };
  std::string kind;                      // "link"
  Name name = Name::none;                // [link] or [link NAME]
  std::vector<std::string> keys = {};    // that it may have ...
  bool any_key = false;                  // ... or any
  std::vector<std::string> needed = {};  // keys that it must have
  bool values_may_be_empty = false;
  std::string description = {};  // one line for --help
};

// Holds a text to the kinds. Throws ConfigError of the first section of another kind, that lacks a name or has one too
// many, or is there twice; and of the first key that is unknown, lacks a value, or is missing.
void check(const Text& text, const std::vector<SectionKind>& kinds);

}  // namespace dodyn::ini
