// Working directories of programs. Each is made for one evaluation, and only directories that were made here are
// deleted.
//
// The file `.dodyn` in a directory names the archive of its study and the process that made it. So studies may share a
// folder, and a user's files there are safe.
#pragma once

#include <filesystem>
#include <string>

namespace dodyn::evaluators {

class WorkingDirectories {
 public:
  // Creates nothing yet. `archive`: the archive of the study. `folder`: contains the directories; make() creates it.
  WorkingDirectories(std::filesystem::path folder, const std::filesystem::path& archive);

  const std::filesystem::path& folder() const { return folder_; }

  // Makes an empty directory NAME. Makes NAME.2, NAME.3, ... if NAME belongs to a user, another study, or a process
  // that may still run. Replaces a directory that an earlier process of this study left on this host. Throws
  // std::system_error.
  std::filesystem::path make(const std::string& name) const;

  // Deletes a directory that make() returned with all its contents, including read-only folders. Follows no links.
  // Writes errors to the error stream.
  static void remove(const std::filesystem::path& directory) noexcept;

  // Restores the owner's permissions on a directory that make() returned.
  static void make_readable(const std::filesystem::path& directory) noexcept;

 private:
  bool is_left_over(const std::filesystem::path& directory) const;

  std::filesystem::path folder_;
  std::string archive_;
};

}  // namespace dodyn::evaluators
