#include "archive/writer_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "archive/archive.hpp"

namespace dodyn::archive {

WriterLock::WriterLock(const std::string& path) : file_(path + ".lock") {
  while (true) {
    descriptor_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0) throw Error(std::string("cannot write here: ") + std::strerror(errno));
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      char holder[128] = {};
      const auto length = ::pread(descriptor_, holder, sizeof(holder) - 1, 0);
      ::close(descriptor_);
      throw Error("in use by another process" +
                  (length > 0 ? " (" + std::string(holder, static_cast<std::size_t>(length)) + ")" : ""));
    }
    // The holder before us may have removed the file between our open and our lock: then we hold a lock on nothing.
    struct stat ours, there;
    if (::fstat(descriptor_, &ours) == 0 && ::stat(file_.c_str(), &there) == 0 && ours.st_ino == there.st_ino) break;
    ::close(descriptor_);
  }
  char host[65] = {};
  ::gethostname(host, sizeof(host) - 1);
  const std::string holder = "pid " + std::to_string(::getpid()) + " on " + host;
  // Only for the message above, so a full disk does not matter here.
  if (::ftruncate(descriptor_, 0) != 0 || ::pwrite(descriptor_, holder.data(), holder.size(), 0) < 0) errno = 0;
}

WriterLock::~WriterLock() {
  ::unlink(file_.c_str());
  ::close(descriptor_);
}

}  // namespace dodyn::archive
