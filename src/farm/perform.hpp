// One evaluation, wherever it runs: the local farm, the thread of rank 0 and the workers all come through here.
#pragma once

#include <chrono>
#include <string>

#include "record/task.hpp"

namespace dodyn::farm {

// Calls `work`, its deadline set, and completes its record: identity (id, parent, design, seed, part) from the task;
// rank, host, seconds and started from here. Never throws on account of `work`: an exception becomes status `failed`
// with its message as the reason, and so does an `ok` whose cost is not finite.
Outcome perform(const Work& work, Task task, int rank);

// The outcomes of a task that started at `since` and did not answer.
Outcome lost(const Task& task, std::chrono::steady_clock::time_point since, int rank, const std::string& host);
Outcome overdue(const Task& task, std::chrono::steady_clock::time_point since, int rank, const std::string& host);

std::string host_name();

}  // namespace dodyn::farm
