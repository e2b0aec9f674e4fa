// Ensures one writer per archive by a lock on the separate file lock_file(path). So it does not conflict with HDF5's own
// locks on the archive, which readers take even during a write.
//
// The lock is a POSIX lock (fcntl): it ends with its process, is not inherited by children, and works over NFS. The
// file contains the holder. A file without a lock was left by a kill, and is taken over. On a file system without locks
// the name in the file counts: it is valid as long as that process lives, which is known on the same host only.
#pragma once

#include <string>

namespace dodyn::archive {

// Returns the file that symbolic links lead to, which need not exist; `path` if it is no link.
std::string target_of(const std::string& path);

// Returns the file of the lock of an archive. All links to one archive have the same.
std::string lock_file(const std::string& path);

class WriterLock {
 public:
  // Throws Error, with the holder's name, if another process or another lock of this process holds it, and if the
  // directory cannot be written.
  explicit WriterLock(const std::string& path);
  ~WriterLock();  // releases the lock and removes the file
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  std::string file_;
  int descriptor_ = -1, pid_ = 0;
};

}  // namespace dodyn::archive
