#include "farm/perform.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <exception>
#include <new>
#include <system_error>

#include "record/machine.hpp"
#include "record/text.hpp"

namespace dodyn::farm {
namespace {

// UTC, ISO 8601 with milliseconds
std::string time_stamp(std::chrono::system_clock::time_point time) {
  const auto milliseconds = std::chrono::floor<std::chrono::milliseconds>(time).time_since_epoch().count();
  const std::time_t seconds = milliseconds / 1000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char day_and_time[32], fraction[8];
  std::strftime(day_and_time, sizeof day_and_time, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(fraction, sizeof fraction, ".%03dZ", static_cast<int>(milliseconds % 1000));
  return std::string(day_and_time) + fraction;
}

Outcome failure(std::string reason) {
  Outcome outcome;
  outcome.evaluation.status = Status::failed;
  outcome.evaluation.reason = std::move(reason);
  return outcome;
}

Outcome machine_trouble(const std::string& trouble) {
  Outcome outcome;
  mark_machine_trouble(outcome.evaluation, trouble);
  return outcome;
}

}  // namespace

Outcome guarded(const Work& work, const Task& task) {
  try {
    return work(task);
  } catch (const MachineTrouble& trouble) {
    return machine_trouble(trouble.what());
  } catch (const std::system_error& error) {
    return machine_trouble(error.what());
  } catch (const std::bad_alloc&) {
    return failure("out of memory");
  } catch (const std::exception& error) {
    return failure(error.what());
  } catch (...) {
    return failure("exception of an unknown type");
  }
}

namespace {

// Completes the record: identity from the task; host, rank and times from this process.
void complete(Outcome& outcome, const Task& task, std::chrono::steady_clock::time_point since, int rank,
              const std::string& host) {
  outcome.part = task.part;
  Evaluation& evaluation = outcome.evaluation;
  const Evaluation& identity = task.evaluation;
  const auto elapsed = std::chrono::steady_clock::now() - since;
  evaluation.seconds = std::chrono::duration<double>(elapsed).count();
  evaluation.id = identity.id;
  evaluation.parent = identity.parent;
  evaluation.design = identity.design;
  evaluation.seed = identity.seed;
  evaluation.rank = rank;
  evaluation.host = host;
  evaluation.reason = printable(evaluation.reason);  // the reason is one line of printable characters, whatever the
                                                     // exception or program wrote
  evaluation.started = time_stamp(std::chrono::system_clock::now() -
                                  std::chrono::duration_cast<std::chrono::system_clock::duration>(elapsed));
}

Outcome unanswered(Status status, std::string reason, const Task& task, std::chrono::steady_clock::time_point since,
                   int rank, const std::string& host) {
  Outcome outcome;
  complete(outcome, task, since, rank, host);
  outcome.evaluation.status = status;
  outcome.evaluation.reason = std::move(reason);
  return outcome;
}

}  // namespace

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

Outcome perform(const Work& work, Task task, int rank) {
  static const std::string host = host_name();
  const auto start = std::chrono::steady_clock::now();
  if (std::isfinite(task.time_limit))
    task.deadline = start + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                std::chrono::duration<double>(std::min(task.time_limit, 1e9)));
  Outcome outcome = guarded(work, task);
  Evaluation& evaluation = outcome.evaluation;
  complete(outcome, task, start, rank, host);
  if (evaluation.ok() && !std::isfinite(evaluation.cost)) {
    evaluation.status = Status::failed;
    evaluation.reason = "the cost is not a finite number";
  }
  if (evaluation.ok() && !(std::isfinite(evaluation.cost_stderr) && evaluation.cost_stderr >= 0)) {
    evaluation.status = Status::failed;
    evaluation.reason = "the standard error of the cost is " + to_text(evaluation.cost_stderr) + "; allowed: >= 0";
  }
  return outcome;
}

Outcome lost(const Task& task, std::chrono::steady_clock::time_point since, int rank, const std::string& host) {
  return unanswered(Status::lost, "rank " + std::to_string(rank) + " fell silent", task, since, rank, host);
}

Outcome overdue(const Task& task, std::chrono::steady_clock::time_point since, int rank, const std::string& host) {
  return unanswered(Status::timed_out,
                    "did not stop at its time limit; given up, and rank " + std::to_string(rank) + " with it", task,
                    since, rank, host);
}

}  // namespace dodyn::farm
