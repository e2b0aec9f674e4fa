// Records which evaluation, and which part, rank 0 is evaluating, in the file ARCHIVE.running. If the evaluation kills
// its process, it ends the study too. The next run finds the id in the file and counts a lost attempt. Otherwise a
// design that kills its rank would be tried forever.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "record/task.hpp"

namespace dodyn::study {

struct InProgressMarker {
  std::int64_t id = -1, part = 0;
};

// Wraps `work`: while it runs, the file contains the id and the part of its evaluation. For one thread.
Work with_marker(Work work, std::string file);

// Removes the file, and disables further markers. Called when the process is asked to end, because the evaluation is
// not the cause. Safe in a signal handler.
void remove_marker();

// Returns the marker that a killed process left in the file, if any. Removes the file.
std::optional<InProgressMarker> take_marker(const std::string& file);

}  // namespace dodyn::study
