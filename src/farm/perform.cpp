#include "farm/perform.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <exception>

namespace dodyn::farm {
namespace {

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

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

// A failed outcome; a reason is one line, whatever the exception's message was.
Outcome failure(std::string reason) {
  std::replace(reason.begin(), reason.end(), '\n', ' ');
  Outcome outcome;
  outcome.evaluation.status = Status::failed;
  outcome.evaluation.reason = std::move(reason);
  return outcome;
}

Outcome guarded(const Work& work, const Task& task) {
  try {
    return work(task);
  } catch (const std::exception& error) {
    return failure(error.what());
  } catch (...) {
    return failure("exception of an unknown type");
  }
}

}  // namespace

Outcome perform(const Work& work, const Task& task, int rank) {
  const auto started = std::chrono::system_clock::now();
  const auto start = std::chrono::steady_clock::now();
  Outcome outcome = guarded(work, task);
  Evaluation& evaluation = outcome.evaluation;
  evaluation.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  evaluation.id = task.evaluation.id;
  evaluation.parent = task.evaluation.parent;
  evaluation.design = task.evaluation.design;
  evaluation.seed = task.evaluation.seed;
  evaluation.rank = rank;
  evaluation.host = host_name();
  evaluation.started = time_stamp(started);

  if (evaluation.ok() && !std::isfinite(evaluation.cost)) {
    evaluation.status = Status::failed;
    evaluation.reason = "the cost is not a finite number";
  }
  return outcome;
}

}  // namespace dodyn::farm
