#include "archive/writer_lock.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "archive/archive.hpp"

namespace dodyn::archive {
namespace {

constexpr int most_links = 40;  // the limit of Linux, which refuses to open longer chains and circles

// Locks that this process holds, by device and inode. POSIX locks do not exclude a second lock of the same process, and
// closing any descriptor of a file releases its lock. So a file in this list is not opened again. The process id
// identifies entries that a forked child only inherited.
std::mutex mutex;
std::map<std::pair<dev_t, ino_t>, pid_t> held;

bool held_here(const std::string& file) {
  struct stat status;
  if (::stat(file.c_str(), &status) != 0) return false;
  const auto found = held.find({status.st_dev, status.st_ino});
  return found != held.end() && found->second == ::getpid();
}

std::string host() {
  char name[65] = {};
  ::gethostname(name, sizeof(name) - 1);
  return name;
}

struct Holder {
  int pid = 0;
  std::string host;
  std::string text() const { return "pid " + std::to_string(pid) + " on " + host; }
};

std::optional<Holder> read_holder(int descriptor) {
  char text[128] = {}, name[65] = {};
  Holder holder;
  if (::pread(descriptor, text, sizeof(text) - 1, 0) <= 0) return std::nullopt;
  if (std::sscanf(text, "pid %d on %64s", &holder.pid, name) != 2) return std::nullopt;
  holder.host = name;
  return holder;
}

enum class LockState { free, locked, no_locks };
LockState query_lock(int descriptor, int command) {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(descriptor, command, &lock) == 0)
    return command == F_GETLK && lock.l_type != F_UNLCK ? LockState::locked : LockState::free;
  return errno == EAGAIN || errno == EACCES ? LockState::locked : LockState::no_locks;
}

// Without file locks: whether the process that the file names may still run.
bool may_live(const std::optional<Holder>& holder) {
  if (!holder) return false;
  return holder->host != host() || ::kill(holder->pid, 0) == 0 || errno == EPERM;
}

std::string in_use(const std::string& holder) {
  return "in use by another process" + (holder.empty() ? "" : " (" + holder + ")");
}

}  // namespace

std::string target_of(const std::string& path) {
  std::filesystem::path found = path;
  std::error_code error;
  for (int links = 0; links < most_links && std::filesystem::is_symlink(found, error); ++links)
    found = found.parent_path() / std::filesystem::read_symlink(found, error);
  return found.string();
}

std::string lock_file(const std::string& path) { return target_of(path) + ".lock"; }

WriterLock::WriterLock(const std::string& path) : file_(lock_file(path)), pid_(::getpid()) {
  const std::lock_guard guard(mutex);
  const Holder us{pid_, host()};
  while (true) {
    if (held_here(file_)) throw Busy(in_use(us.text()));
    // Opens only a regular file: a symbolic link could refer to another user's file, and a FIFO would wait for a
    // reader.
    descriptor_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    struct stat kind;
    if (descriptor_ < 0 && errno != ELOOP) throw Error(std::string("cannot write here: ") + std::strerror(errno));
    if (descriptor_ < 0 || ::fstat(descriptor_, &kind) != 0 || !S_ISREG(kind.st_mode)) {
      if (descriptor_ >= 0) ::close(descriptor_);
      throw Error(file_ + " is not a regular file; remove it");
    }
    const LockState answer = query_lock(descriptor_, F_SETLK);
    const auto holder = read_holder(descriptor_);
    // A file server may keep the lock of a host that is down. Without locks, the state of a process on another host is
    // unknown.
    std::string refusal;
    if (answer == LockState::locked || (answer == LockState::no_locks && may_live(holder))) {
      refusal = in_use(holder ? holder->text() : "");
      if (holder && holder->host != us.host) refusal += "; if that host is down, remove " + file_;
    }
    struct stat ours, there;
    const bool known = ::fstat(descriptor_, &ours) == 0;
    // The previous holder may have removed the file between open and lock. Then this lock has no effect.
    if (refusal.empty() && known && ::stat(file_.c_str(), &there) == 0 && ours.st_ino == there.st_ino) {
      held[{ours.st_dev, ours.st_ino}] = pid_;
      break;
    }
    ::close(descriptor_);
    if (!refusal.empty()) throw Busy(refusal);
  }
  const std::string text = us.text();
  // Only for messages, so a full disk is harmless here.
  if (::ftruncate(descriptor_, 0) != 0 || ::pwrite(descriptor_, text.data(), text.size(), 0) < 0) errno = 0;
}

WriterLock::~WriterLock() {
  const std::lock_guard guard(mutex);
  struct stat ours, there;
  if (::getpid() == pid_ && ::fstat(descriptor_, &ours) == 0) {  // not in a forked child
    held.erase({ours.st_dev, ours.st_ino});
    // if the lock file was removed by hand, the present one belongs to another process
    if (::stat(file_.c_str(), &there) == 0 && ours.st_dev == there.st_dev && ours.st_ino == there.st_ino)
      ::unlink(file_.c_str());
  }
  ::close(descriptor_);
}

std::string writer(const std::string& path) {
  const std::lock_guard guard(mutex);
  const std::string file = lock_file(path);
  if (held_here(file)) return Holder{::getpid(), host()}.text();
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return "";
  const LockState answer = query_lock(descriptor, F_GETLK);
  const auto holder = read_holder(descriptor);
  ::close(descriptor);
  if (answer == LockState::free || (answer == LockState::no_locks && !may_live(holder))) return "";
  return holder ? holder->text() : "an unknown process";
}

}  // namespace dodyn::archive
