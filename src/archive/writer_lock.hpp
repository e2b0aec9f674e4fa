// One writer per archive: a lock on `path`.lock. It lies beside the archive, not on it, so that it never meets HDF5's
// own locks (readers take those, also while we write).
//
// The lock is POSIX's (fcntl): it goes with the process that holds it, is not handed on to the children of a killed
// one, and reaches over NFS. The file names the holder; one that nobody has locked is what a kill left behind, and is
// taken over. Where a file system has no locks, the name in the file counts: it stands for a run as long as that
// process lives, which is known on the same host only.
#pragma once

#include <string>

namespace dodyn::archive {

class WriterLock {
 public:
  // Throws Error, naming the holder, where another process or another lock of this one holds it, and where the
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
