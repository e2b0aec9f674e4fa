// One evaluation, wherever it runs: the local farm, the thread of rank 0 and the workers all come through here.
#pragma once

#include <chrono>
#include <string>

#include "record/task.hpp"

namespace dodyn::farm {

// Calls `work`, its deadline set, and completes its record: identity (id, parent, design, seed, part) from the task;
// rank, host, seconds and started from here. Never throws on account of `work`: its exceptions become the outcomes of
// guarded(), and an `ok` whose cost is not finite becomes `failed`.
Outcome perform(const Work& work, Task task, int rank);

// Calls `work`. An exception becomes an outcome: MachineTrouble and errors of the operating system the machine's trouble
// (record/machine.hpp), any other one status `failed`, its message the reason.
Outcome guarded(const Work& work, const Task& task);

// The outcomes of a task that started at `since` and did not answer.
Outcome lost(const Task& task, std::chrono::steady_clock::time_point since, int rank, const std::string& host);
Outcome overdue(const Task& task, std::chrono::steady_clock::time_point since, int rank, const std::string& host);

std::string host_name();

}  // namespace dodyn::farm
