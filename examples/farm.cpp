// Work spread over the ranks of MPI, or done by one process, through the same few lines.
//
//   examples/farm                  one process
//   mpirun -n 4 examples/farm      four: rank 0 hands out the tasks and works itself
//
// A task goes out, an outcome comes back, exactly once, however the evaluation ends: with a cost, with an exception, at
// its time limit, or because its rank died (src/farm/farm.hpp). Here each task is a Monte Carlo estimate: the share of a
// square's points that lie in the circle. The answer depends on the task's seed alone, so any number of ranks gives the same
// bits.
#include "farm/farm.hpp"

#include <cmath>
#include <cstdio>
#include <map>
#include <numbers>
#include <random>
#include <stdexcept>

#include "record/random.hpp"

using namespace dodyn;

namespace {

// 1. What a rank does with a task. Whatever it throws becomes an evaluation with status `failed` and this reason.
Outcome estimate(const Task& task) {
  if (task.evaluation.id == 13) throw std::runtime_error("an unlucky number");
  Outcome outcome{task.evaluation, {}};
  std::mt19937_64 random(task.evaluation.seed);
  std::uniform_real_distribution<double> coordinate(-1, 1);
  const int points = 20000;
  int inside = 0;
  for (int i = 0; i < points; ++i) {
    const double x = coordinate(random), y = coordinate(random);
    inside += x * x + y * y < 1;
  }
  outcome.evaluation.status = Status::ok;
  outcome.evaluation.cost = 4.0 * inside / points;
  return outcome;
}

}  // namespace

int main(int argc, char** argv) {
  // 2. MPI lives as long as the session. Ranks other than 0 evaluate until they are let go.
  farm::Session session(argc, argv);
  if (session.rank() > 0) {
    farm::serve(session, estimate);
    return 0;
  }
  const auto farm = farm::make_mpi_farm(session, estimate);

  // 3. Hand out all tasks. They are queued; each rank gets its next one when it has answered.
  const int tasks = 40;
  for (int id = 0; id < tasks; ++id) {
    Task task;
    task.evaluation.id = id;
    task.evaluation.seed = evaluation_seed(2026, id);  // of the study's seed and the id: the same on every rank
    task.evaluation.design = Eigen::VectorXd::Zero(1);
    farm->submit(task);
  }

  // 4. Collect them in the order in which they finish. Sum them in the order of their ids: then rounding, too, is the same.
  std::map<std::int64_t, Evaluation> answers;
  while (farm->outstanding() > 0)
    if (const auto outcome = farm->next(std::chrono::milliseconds::max()))
      answers[outcome->evaluation.id] = outcome->evaluation;

  double sum = 0;
  int usable = 0;
  std::map<int, int> by_rank;
  for (const auto& [id, e] : answers) {
    ++by_rank[e.rank];
    if (e.ok())
      sum += e.cost, ++usable;
    else
      std::printf("evaluation %d: %s, %s\n", static_cast<int>(id), to_string(e.status).data(), e.reason.c_str());
  }
  for (const auto& [rank, count] : by_rank) std::fprintf(stderr, "rank %d answered %d\n", rank, count);
  std::printf("%d of %d answered; pi is about %.17g\n", usable, tasks, sum / usable);

  // 39 x 20 000 points: the standard error is 4 sqrt(p (1 - p) / points) = 0.0019.
  return usable == tasks - 1 && std::abs(sum / usable - std::numbers::pi) < 4 * 0.0019 ? 0 : 1;
}
