#include "archive/holder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "archive/archive.hpp"
#include "archive/hdf5_file.hpp"

namespace dodyn::archive {
namespace fs = std::filesystem;

bool marked_by_others(const std::string& path) { return probe(path) == FileState::foreign; }

std::string holder(const std::string& path) {
  struct stat file;
  if (::stat(path.c_str(), &file) != 0) return "";
  const std::string self = std::to_string(::getpid());
  std::error_code error;
  for (const auto& process : fs::directory_iterator("/proc", error)) {
    const std::string pid = process.path().filename();
    if (pid.find_first_not_of("0123456789") != std::string::npos || pid == self) continue;
    std::error_code unreadable;  // the process is another user's, or has ended
    for (const auto& descriptor : fs::directory_iterator(process.path() / "fd", unreadable)) {
      struct stat open_file;
      if (::stat(descriptor.path().c_str(), &open_file) != 0) continue;
      if (open_file.st_ino != file.st_ino || open_file.st_dev != file.st_dev) continue;
      std::ifstream info(process.path() / "fdinfo" / descriptor.path().filename());
      std::string word, flags;
      while (info >> word)
        if (word == "flags:") info >> flags;
      if (flags.empty() || (std::stoul(flags, nullptr, 8) & O_ACCMODE) == O_RDONLY) continue;
      std::string name;
      std::getline(std::ifstream(process.path() / "comm"), name);
      return name + ", pid " + pid;
    }
  }
  // HDF5 locks files that it writes (flock), unless its settings disable that.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return "";
  const bool locked = ::flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(descriptor);
  return locked ? "another program" : "";
}

AppendLock::AppendLock(const std::string& path) : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (descriptor_ < 0 || ::flock(descriptor_, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(descriptor_);
  const std::string who = holder(path);
  throw Busy("open for writing in another program (" + (who.empty() ? "which has just closed it" : who) + ")");
}

// Unlocks before it closes, because a forked process of an evaluation has the descriptor too.
AppendLock::~AppendLock() {
  if (descriptor_ < 0) return;
  ::flock(descriptor_, LOCK_UN);
  ::close(descriptor_);
}

bool wait_for_others(const std::string& path, double seconds, const std::function<void()>& look) {
  using Clock = std::chrono::steady_clock;
  const auto latest = Clock::now() + std::chrono::duration<double>(seconds);
  while (marked_by_others(path)) {
    const std::string who = holder(path);
    if (who.empty()) return marked_by_others(path);
    if (Clock::now() >= latest) throw Busy("open for writing in another program (" + who + ")");
    if (look) look();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return false;
}

}  // namespace dodyn::archive
