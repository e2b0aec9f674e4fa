// One writer per archive: an advisory lock on `path`.lock. It lies beside the archive, not on it, so that it never
// meets HDF5's own locks (readers take those, also while we write), and it dies with the process that holds it.
#pragma once

#include <string>

namespace dodyn::archive {

class WriterLock {
 public:
  // Throws Error where another process holds the lock or the directory cannot be written. A file system without locks
  // (some parallel ones) goes unguarded.
  explicit WriterLock(const std::string& path);
  ~WriterLock();  // releases the lock and removes the file
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  std::string file_;
  int descriptor_ = -1;
};

}  // namespace dodyn::archive
