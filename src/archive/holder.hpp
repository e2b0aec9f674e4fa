// Detects another program that has an archive open for writing with HDF5 itself: h5py's "r+", HDFView, ViTables. Such a
// program marks the file's superblock, and no other process can open the file. If it is killed, the mark remains.
#pragma once

#include <functional>
#include <string>

namespace dodyn::archive {

// Whether the file has such a mark. (The mark of dodyn's own SWMR writer is a different one.) Throws Error if there is
// no readable HDF5 file.
bool marked_by_others(const std::string& path);

// Returns the program that has the file open for writing, such as "python3, pid 123". "another program": its name is
// unknown (another user's, or on another host). Empty: none.
std::string holder(const std::string& path);

// Waits until no program has a marked file open. Returns true if the mark remains, because the program has ended
// without removing it; false if there is no mark. Throws Busy, with the program's name, after `seconds`. Calls look()
// several times a second, which may throw.
bool wait_for_others(const std::string& path, double seconds, const std::function<void()>& look = {});

// Prevents other programs from opening a file for writing during an append. Otherwise a program that reads the
// superblock before the append and marks it afterwards would write the old length back, and overwrite the append's
// rows. HDF5 locks a file exclusively (flock) before it writes; this is a shared lock, which does not affect readers.
// Throws Busy, with the program's name, if another program holds its lock. Has no effect on file systems without such
// locks.
class AppendLock {
 public:
  explicit AppendLock(const std::string& path);
  ~AppendLock();
  AppendLock(const AppendLock&) = delete;
  AppendLock& operator=(const AppendLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace dodyn::archive
