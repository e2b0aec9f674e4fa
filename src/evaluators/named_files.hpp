// The files that a line of shell names, and whether they are still as they were.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace dodyn::evaluators {

// The regular files that a line of shell names by a path and reads: programs, scripts, what stands behind <. Names in
// `variables` and of the environment are replaced. Left out: what stands behind >, the last word of cp and its like, and words
// of tee, touch, rm and their like, since evaluations may change those.
std::vector<std::filesystem::path> files_in(const std::string& line,
                                            const std::vector<std::pair<std::string, std::string>>& variables);

// Files as they were when this was made.
class NamedFiles {
 public:
  NamedFiles() = default;
  explicit NamedFiles(const std::vector<std::filesystem::path>& files);

  // (path, checksum) of each. Of a file of more than 64 MB the checksum is of its size, beginning and end.
  std::vector<std::pair<std::string, std::string>> checksums() const;

  // Empty, or which file is not as it was, in one line. Reads only files whose size, time or place on the disk changed.
  std::string change() const;

 private:
  struct File {
    std::filesystem::path path;
    std::string checksum;
    std::string state;  // size, time and place on the disk
  };
  std::vector<File> files_;
};

}  // namespace dodyn::evaluators
