// Each evaluation in a child process, so that a segmentation fault, an abort or a memory blow-up of a model costs one
// evaluation and not a rank.
#pragma once

#include <limits>

#include "record/task.hpp"

namespace dodyn::farm {

struct Isolation {
  double memory_limit =
      std::numeric_limits<double>::infinity();  // bytes the child may allocate beyond what the process has
  double grace = 10;                            // s after its time limit at which the child is killed
};

// `work` in a forked child. A child that dies by its own fault comes back as `failed` with the signal's name, one that
// was killed from outside (also by the kernel, for memory) as `lost`, one that does not stop at its time limit as
// `timed_out`; a rank is never given up for it. The child calls no MPI and ends with _exit.
Work isolated(Work work, Isolation isolation);

}  // namespace dodyn::farm
