// Another program that has an archive open for writing by HDF5's own means: h5py's "r+", HDFView, ViTables. It marks the
// file's superblock while it has it, and nobody else can open it, to read or to append; one that is killed leaves the
// mark behind.
#pragma once

#include <string>

namespace dodyn::archive {

// Whether the file has such a mark (dodyn's own, of an SWMR writer, is another one). Throws Error where there is no
// readable HDF5 file.
bool marked_by_others(const std::string& path);

// The program that has the file open for writing, as "python3, pid 123"; "another program" where its name cannot be
// told (another user's, on another host); empty where there is none.
std::string holder(const std::string& path);

// Waits until no program has a file open that is marked so. Throws Busy, naming it, after `seconds`. Returns whether the
// file still has the mark, left behind by a program that is gone.
bool wait_for_others(const std::string& path, double seconds);

}  // namespace dodyn::archive
