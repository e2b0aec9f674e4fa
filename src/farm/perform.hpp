// One evaluation, wherever it runs: the local farm, the thread of rank 0 and the workers all come through here.
#pragma once

#include "record/task.hpp"

namespace dodyn::farm {

// Calls `work` and completes its record: identity (id, parent, design, seed) from the task; rank, host, seconds and
// started from here. Never throws on account of `work`: an exception becomes status `failed` with its message as the
// reason, and so does an `ok` whose cost is not finite.
Outcome perform(const Work& work, const Task& task, int rank);

}  // namespace dodyn::farm
