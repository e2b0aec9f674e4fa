// The difference of two problems: of their settings, and of the files that they name.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "archive/archive.hpp"

namespace dodyn::report {

// A problem: of an archive, of a configuration, or as far as a folder has its files.
struct Described {
  std::string name;                                                // of the archive, configuration or folder
  std::vector<std::pair<std::string, std::string>> configuration;  // key, value; empty of a folder
  std::vector<archive::HeldFile> files;
};

// The files of `one` as they are in the folder of its configuration.
Described described_folder(const Described& one, const std::string& folder);

// Empty, or the difference as `diff -u` writes it: settings by key, files by line. A file whose content one of the two does not
// have is compared by its checksum.
std::string difference_text(const Described& one, const Described& other);

// Lines of `one` that `other` does not have after "-", the other way round after "+", with so many equal lines around them.
// Empty where the texts are the same.
std::string line_difference(const std::string& one, const std::string& other, int context = 3);

}  // namespace dodyn::report
