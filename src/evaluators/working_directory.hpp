// Directories in which programs run: each is made for one evaluation, and only what was made here is deleted.
//
// A directory holds a file `.dodyn` that names the archive of its study and the process that made it. So studies may share a
// folder, and what a user put there stays.
#pragma once

#include <filesystem>
#include <string>

namespace dodyn::evaluators {

class WorkingDirectories {
 public:
  // Of the study with this archive, in `folder`, which make() creates.
  WorkingDirectories(std::filesystem::path folder, const std::filesystem::path& archive);

  const std::filesystem::path& folder() const { return folder_; }

  // Makes an empty directory NAME, or NAME.2, NAME.3, ... where that belongs to somebody else: a user, another study, or a
  // process that may still run. Replaces one that an earlier process of this study left on this host. Throws
  // std::system_error.
  std::filesystem::path make(const std::string& name) const;

  // Deletes a directory that make() returned, with all that a program left in it, read-only folders included. Follows no
  // link. Where it cannot, says so on the error stream.
  static void remove(const std::filesystem::path& directory) noexcept;

  // Gives its owner back the right to read a directory that make() returned.
  static void make_readable(const std::filesystem::path& directory) noexcept;

 private:
  bool is_left_over(const std::filesystem::path& directory) const;

  std::filesystem::path folder_;
  std::string archive_;
};

}  // namespace dodyn::evaluators
