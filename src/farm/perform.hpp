// Performs one evaluation. The local farm, the thread of rank 0 and the workers all use this function.
#pragma once

#include <chrono>
#include <string>

#include "record/task.hpp"

namespace dodyn::farm {

// Calls `work` with its deadline and completes the record. Id, parent, design, seed and part come from the task; rank,
// host, seconds and started from this process. Never throws because of `work`: guarded() turns its exceptions into
// outcomes. An `ok` outcome becomes `failed` if its cost is not finite, or if the standard error of its cost is
// negative or not finite.
Outcome perform(const Work& work, Task task, int rank);

// Calls `work` and turns an exception into an outcome. MachineTrouble and errors of the operating system become trouble
// of the machine (record/machine.hpp). Any other exception becomes status `failed` with its message as the reason.
Outcome guarded(const Work& work, const Task& task);

// Return the outcome of a task that started at `since` and did not answer.
Outcome lost(const Task& task, std::chrono::steady_clock::time_point since, int rank, const std::string& host);
Outcome overdue(const Task& task, std::chrono::steady_clock::time_point since, int rank, const std::string& host);

std::string host_name();

}  // namespace dodyn::farm
