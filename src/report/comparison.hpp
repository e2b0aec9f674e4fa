// The difference of two problems: their settings, and the files that they name.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "archive/archive.hpp"

namespace dodyn::report {

// A problem from an archive or a configuration, or the files of one in a folder.
struct Described {
  std::string name;  // of the archive, configuration or folder
  std::vector<std::pair<std::string, std::string>>
      configuration;  // key, value; for a folder: as in the compared problem
  std::vector<archive::EmbeddedFile> files;
};

// Whether the folder of a configuration can contain the file. Files that come with the program (path "shipped/...") are
// not in such a folder.
bool is_in_a_folder(const archive::EmbeddedFile& file);

// Returns the settings of `one` with the present contents of its files in `folder`, the folder of a configuration.
// Files that do not exist there are left out. Files that come with the program are copied from `one`.
Described described_folder(const Described& one, const std::string& folder);

// Returns the difference as `diff -u` writes it: settings by key, files by line; empty if there is none. Checksums
// stand for contents if the content of a file is missing on one side or has a zero byte. Paths of the archive, of its
// snapshot and of command.directory are not compared.
std::string difference_text(const Described& one, const Described& other);

// Returns the hunks of `diff -u`: "-" before lines only in `one`, "+" before lines only in `other`, with `context`
// equal lines around them. Empty if all lines are equal. Control characters become spaces.
std::string line_difference(const std::string& one, const std::string& other, int context = 3);

}  // namespace dodyn::report
