// Measures the overhead of the farm and the archive, for docs/measured/scaling.md:
//   mpirun --oversubscribe -n RANKS bench/farm_throughput [SECONDS_OF_SLEEP]
// Prints no-op tasks per second: by all ranks; by messages alone, with rank 0 only scheduling; and into an archive.
// Prints the efficiency of evaluations that sleep (0.1 s by default), including the end of the run, when ranks have no
// more tasks. Sleeping ranks need no cores, so any number of ranks fits on one machine. Prints the load of rank 0 while
// it waits.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <thread>
#include <vector>

#include "archive/archive.hpp"
#include "farm/farm.hpp"

namespace {

using namespace dodyn;
using Clock = std::chrono::steady_clock;

double now() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }
double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

std::atomic<bool> slow = false;  // this rank takes 0.1 s for a task that takes no time elsewhere

// `time_limit` carries the duration of the sleep, because the evaluator receives nothing but the task.
Outcome sleeper(const Task& task) {
  if (slow) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  if (task.time_limit < 1e6) std::this_thread::sleep_for(std::chrono::duration<double>(task.time_limit));
  Outcome outcome{task.evaluation, {}};
  outcome.evaluation.status = Status::ok;
  outcome.evaluation.cost = 1.0;
  return outcome;
}

Task task(std::int64_t id, double sleep) {
  Task it;
  it.evaluation.id = id;
  it.evaluation.design = Eigen::Vector2d(0.5, 0.25);
  if (sleep > 0) it.time_limit = sleep;
  return it;
}

// Runs n tasks like a study: submits all, and archives all arrived outcomes in one commit. Returns seconds.
double run(farm::Farm& farm, int n, double sleep, archive::Archive* archive) {
  const double start = now();
  for (int id = 0; id < n; ++id) farm.submit(task(id, sleep));
  while (farm.outstanding() > 0) {
    std::vector<Outcome> outcomes;
    auto wait = std::chrono::milliseconds(100);
    while (auto outcome = farm.next(std::exchange(wait, std::chrono::milliseconds(0)))) {
      outcomes.push_back(std::move(*outcome));
      if (outcomes.size() == 256) break;
    }
    if (archive) archive->append(outcomes);
  }
  return now() - start;
}

}  // namespace

int main(int argc, char** argv) {
  const farm::Session session(argc, argv);
  const farm::Timeouts timeouts{60, 60};
  if (session.rank() > 0) {
    farm::serve(session, sleeper, timeouts);
    return 0;
  }
  const double sleep = argc > 1 ? std::atof(argv[1]) : 0.1;
  const int ranks = session.size();
  const auto farm = farm::make_mpi_farm(session, sleeper, timeouts);
  run(*farm, 10 * ranks, 0, nullptr);  // warm-up: all ranks have connected

  const int tasks = 200000;
  const double plain = run(*farm, tasks, 0, nullptr);
  slow = ranks > 1;
  const int messages = 2000 * (ranks - 1);
  const double by_messages = run(*farm, messages, 0, nullptr);
  slow = false;
  const std::string path = "farm_throughput.h5";
  std::filesystem::remove(path);
  archive::Layout layout;
  layout.variables = {{"x", "m", 0, 1}, {"y", "m", 0, 1}};
  double archived = 0;
  {
    auto archive = archive::Archive::create(path, layout, {});
    archived = run(*farm, tasks / 4, 0, &archive);
  }
  std::filesystem::remove(path);

  const int rounds = std::max(3, static_cast<int>(10.0 / sleep));
  const double slept = run(*farm, rounds * ranks, sleep, nullptr);
  const double busy = processor_seconds();
  std::this_thread::sleep_for(std::chrono::seconds(3));
  const double idle = (processor_seconds() - busy) / 3;
  std::printf(
      "%3d ranks: %8.0f no-op tasks/s, %7.0f by messages alone, %7.0f with an archive; efficiency of %g s evaluations "
      "%.3f; idle master %.1f %% of a core\n",
      ranks, tasks / plain, messages / by_messages, tasks / 4 / archived, sleep, rounds * sleep / slept, 100 * idle);
}
