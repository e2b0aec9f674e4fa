// Another program that has an archive open for writing by HDF5's own means: h5py's "r+", HDFView, ViTables. It marks the
// file's superblock while it has it, and nobody else can open it, to read or to append; one that is killed leaves the
// mark behind.
#pragma once

#include <functional>
#include <string>

namespace dodyn::archive {

// Whether the file has such a mark (dodyn's own, of an SWMR writer, is another one). Throws Error where there is no
// readable HDF5 file.
bool marked_by_others(const std::string& path);

// The program that has the file open for writing, as "python3, pid 123"; "another program" where its name cannot be
// told (another user's, on another host); empty where there is none.
std::string holder(const std::string& path);

// Waits until no program has a file open that is marked so. Throws Busy, naming it, after `seconds`. Returns whether the
// file still has the mark, left behind by a program that is gone. Calls look() several times a second, which may throw.
bool wait_for_others(const std::string& path, double seconds, const std::function<void()>& look = {});

// Keeps other programs from opening a file for writing by HDF5's own means while it is appended to: one that has looked at
// the superblock before an append and marks it after would write back the length it saw, and what comes next would be
// put over the append's rows. HDF5 locks what it opens to write (flock, exclusively) before it looks; this is a shared
// lock, which keeps no reader out. Throws Busy, naming it, where another program has its lock already. Where a file system
// has no such locks there is none.
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
