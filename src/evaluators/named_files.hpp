// The files that a shell line names, and a check that they have not changed.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace dodyn::evaluators {

// Returns the regular files that a shell line names and reads: programs, scripts, files after <. Expands names in
// `variables` and of the environment. Excludes files that evaluations may change: those after >, the last word of cp
// and similar, and words of tee, touch, rm and similar.
std::vector<std::filesystem::path> files_in(const std::string& line,
                                            const std::vector<std::pair<std::string, std::string>>& variables);

// The state of files at the time of construction.
class NamedFiles {
 public:
  NamedFiles() = default;
  explicit NamedFiles(const std::vector<std::filesystem::path>& files);

  // Returns path and checksum of each. For a file of more than 64 MB the checksum covers its size, beginning and end.
  std::vector<std::pair<std::string, std::string>> checksums() const;

  // Returns which file has changed, as one line; empty: none. Reads only files whose size, time or inode changed.
  std::string change() const;

 private:
  struct File {
    std::filesystem::path path;
    std::string checksum;
    std::string state;  // size, modification time and inode
  };
  std::vector<File> files_;
};

}  // namespace dodyn::evaluators
