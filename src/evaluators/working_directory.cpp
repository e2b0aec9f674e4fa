#include "evaluators/working_directory.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <fstream>
#include <system_error>

namespace dodyn::evaluators {
namespace {

namespace fs = std::filesystem;

constexpr const char* mark = ".dodyn";

std::string this_host() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

bool is_directory_itself(const fs::path& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type() == fs::file_type::directory;
}

// Gives the owner write permission in all directories of a tree.
void make_writable(const fs::path& directory) {
  std::error_code error;
  if (!is_directory_itself(directory)) return;
  fs::permissions(directory, fs::perms::owner_all, fs::perm_options::add, error);
  for (const auto& entry : fs::directory_iterator(directory, error)) make_writable(entry.path());
}

std::error_code remove_tree(const fs::path& directory) {
  std::error_code error;
  fs::remove_all(directory, error);
  if (!error) return {};
  make_writable(directory);
  error.clear();
  fs::remove_all(directory, error);
  return error;
}

}  // namespace

WorkingDirectories::WorkingDirectories(fs::path folder, const fs::path& archive)
    : folder_(fs::absolute(folder)), archive_(fs::absolute(archive).lexically_normal().string()) {}

// Whether a process of this study and host that has ended made the directory.
bool WorkingDirectories::is_left_over(const fs::path& directory) const {
  if (!is_directory_itself(directory)) return false;
  std::ifstream file(directory / mark);
  std::string archive, host;
  pid_t process = 0;
  if (!std::getline(file, archive) || !(file >> process) || !std::getline(file >> std::ws, host)) return false;
  const bool runs = process != getpid() && (kill(process, 0) == 0 || errno == EPERM);
  return archive == archive_ && host == this_host() && process > 0 && !runs;
}

fs::path WorkingDirectories::make(const std::string& name) const {
  constexpr int most_names = 1000;
  int error = 0;
  for (int number = 1, attempt = 0; number < most_names && attempt < 2 * most_names; ++attempt) {
    const fs::path directory = folder_ / (number == 1 ? name : name + "." + std::to_string(number));
    // Another rank may remove the empty folder before the directory is made.
    std::error_code no_folder;
    fs::create_directories(folder_, no_folder);
    if (mkdir(directory.c_str(), 0777) == 0) {
      std::ofstream file(directory / mark);
      file << archive_ << "\n" << getpid() << " " << this_host() << "\n";
      file.close();
      if (file) return directory;
      error = errno;
      remove_tree(directory);
      throw std::system_error(error, std::generic_category(), (directory / mark).string());
    }
    error = errno;
    if (error == ENOENT && !no_folder) continue;
    if (error != EEXIST) break;
    if (!is_left_over(directory) || remove_tree(directory)) ++number;
  }
  throw std::system_error(error, std::generic_category(), (folder_ / name).string());
}

void WorkingDirectories::remove(const fs::path& directory) noexcept {
  try {
    if (const std::error_code error = remove_tree(directory))
      std::fprintf(stderr, "dodyn: %s cannot be deleted: %s\n", directory.c_str(), error.message().c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dodyn: %s cannot be deleted: %s\n", directory.c_str(), error.what());
  }
}

void WorkingDirectories::make_readable(const fs::path& directory) noexcept {
  std::error_code error;
  if (is_directory_itself(directory)) fs::permissions(directory, fs::perms::owner_all, fs::perm_options::add, error);
}

}  // namespace dodyn::evaluators
