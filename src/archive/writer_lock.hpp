// Ensures one writer per archive by a lock on the separate file lock_file(path). A lock on the archive would conflict
// with HDF5's own locks, which readers take even during a write.
//
// The lock is a POSIX lock (fcntl): it ends with its process, is not inherited by children, and works over NFS. The
// file names the process that has the lock. A lock file without a lock was left by a killed process, and is used again.
// On a file system without locks the name in the file counts: it is valid as long as that process lives. A process on
// another host is assumed to live.
#pragma once

#include <string>

namespace dodyn::archive {

// Returns the file to which at most 40 successive symbolic links lead; it need not exist. Returns `path` if it is no
// link.
std::string target_of(const std::string& path);

// Returns the lock file of an archive. All symbolic links to one archive have the same lock file.
std::string lock_file(const std::string& path);

class WriterLock {
 public:
  // Locks an archive for writing. Throws Busy, with the holder's name, if another process or another lock of this
  // process has the lock; Error if the lock file cannot be written or is not a regular file.
  explicit WriterLock(const std::string& path);
  ~WriterLock();  // releases the lock and removes the file
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  std::string file_;
  int descriptor_ = -1, pid_ = 0;
};

}  // namespace dodyn::archive
