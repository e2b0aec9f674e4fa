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
      configuration;  // key, value; of a folder: those of the other problem
  std::vector<archive::EmbeddedFile> files;
};

// Whether a folder can have this file: files that come with the program are in none.
bool is_in_a_folder(const archive::EmbeddedFile& file);

// Reads the files of `one` from `folder`, the folder of its configuration. Its settings are those of `one`.
Described described_folder(const Described& one, const std::string& folder);

// Returns the difference as `diff -u` writes it: settings by key, files by line; empty if there is none. If one of the
// two lacks the content of a file, the checksums are compared.
std::string difference_text(const Described& one, const Described& other);

// Returns lines of `one` alone after "-", of `other` alone after "+", with `context` equal lines around them; empty if
// the texts are equal.
std::string line_difference(const std::string& one, const std::string& other, int context = 3);

}  // namespace dodyn::report
