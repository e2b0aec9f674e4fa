// Evaluations handed to MPI ranks, or to this one process, through the same interface. Rank 0 schedules and evaluates:
// its evaluations run on a thread of their own and never call MPI, so -n N gives N evaluators.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "record/task.hpp"

namespace dodyn::farm {

class Farm {
 public:
  virtual ~Farm() = default;
  virtual int evaluators() const = 0;   // how many tasks can run at once
  virtual int outstanding() const = 0;  // submitted and not yet returned
  virtual void submit(Task task) = 0;   // queued without limit, first in first out
  // The next finished task, in the order of finishing; nothing after `wait` without one.
  virtual std::optional<Outcome> next(std::chrono::milliseconds wait) = 0;
};

// This process alone: one evaluator on its own thread.
std::unique_ptr<Farm> make_local_farm(Work work);

// MPI, from initialisation to finalisation. Works without mpirun too (size 1).
class Session {
 public:
  Session(int& argc, char**& argv);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  int rank() const;
  int size() const;
};

// On rank 0: the farm over all ranks; its destructor releases the workers (tasks still queued are dropped).
std::unique_ptr<Farm> make_mpi_farm(const Session& session, Work work);
// On the other ranks: evaluate until released.
void serve(const Session& session, const Work& work);

}  // namespace dodyn::farm
