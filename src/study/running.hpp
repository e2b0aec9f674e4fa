// Which evaluation, and which part of it, this process, rank 0, has under way: in a file beside the archive, ARCHIVE.running. Where the
// evaluation kills its process, and the study with it, the next start finds there which one it was, and counts a lost
// attempt; or a design that kills its rank would be tried forever.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "record/task.hpp"

namespace dodyn::study {

struct InProgressMarker {
  std::int64_t id = -1, part = 0;
};

// The same work, with its evaluation's id and part in the file meanwhile. For one thread.
Work with_marker(Work work, std::string file);

// Removes the file, and notes no more: the process was asked to end, so what comes is not the evaluation's fault. Safe
// in a signal handler.
void forget_running();

// What a process left in the file when it was killed, if anything. Removes the file.
std::optional<InProgressMarker> take_marker(const std::string& file);

}  // namespace dodyn::study
