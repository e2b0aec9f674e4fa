// Runs each evaluation in a child process. A segmentation fault, an abort or a memory blow-up of a model then costs one
// evaluation, not a rank.
#pragma once

#include <limits>

#include "record/task.hpp"

namespace dodyn::farm {

struct Isolation {
  double memory_limit =
      std::numeric_limits<double>::infinity();  // bytes that the child may allocate in addition to the memory of its
                                                // parent
  double grace = 10;                            // s after the evaluation's time limit; then the child is killed
};

// Returns work that runs `work` in a forked child. The outcome is `failed` with the signal's name if the child crashes,
// and with the exit code if it ends without an answer. The outcome is `lost` if the child is killed from outside (also
// by the kernel, for memory). The outcome is `timed_out` if the child does not stop within `grace` after its time
// limit, or if task.stop is requested; the child is then killed. The rank survives all these cases. The child does not
// call MPI and ends with _exit. The work throws std::system_error if no process can be started.
Work isolated(Work work, Isolation isolation);

}  // namespace dodyn::farm
