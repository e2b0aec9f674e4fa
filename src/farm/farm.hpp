// Evaluations handed to MPI ranks, or to this one process, through the same interface. Rank 0 schedules and evaluates:
// its evaluations run on a thread of their own and never call MPI, so -n N gives N evaluators.
//
//   farm::Session session(argc, argv);
//   if (session.rank() > 0) { farm::serve(session, work); return 0; }
//   auto farm = farm::make_mpi_farm(session, work);
//   farm->submit(task); ... farm->next(wait) ...
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "record/task.hpp"

namespace dodyn::farm {

// Used from one thread. However an evaluation ends, its outcome comes back exactly once, its record completed with
// rank, host, seconds and started; an exception of the work comes back as status `failed`.
class Farm {
 public:
  virtual ~Farm() = default;            // drops what is queued; waits for what runs, and discards it
  virtual int evaluators() const = 0;   // how many tasks can run at once
  virtual int outstanding() const = 0;  // submitted and not yet returned
  virtual void submit(Task task) = 0;   // queued without limit, first in first out
  // The next finished task, in the order of finishing; nothing after `wait` without one (milliseconds::max(): wait as
  // long as it takes), and nothing at once where no task is outstanding.
  virtual std::optional<Outcome> next(std::chrono::milliseconds wait) = 0;
};

// This process alone: one evaluator on its own thread.
std::unique_ptr<Farm> make_local_farm(Work work);

// MPI, from initialisation to finalisation. Works without mpirun too (size 1). One per process, outliving its farms, on
// the main thread.
//
// However rank 0 leaves, the others are let go: its destructor tells them, and theirs wait for that (asleep). A rank
// that leaves while tasks still come to it ends the whole run (MPI_Abort) rather than let rank 0 wait for ever. So
// catch and report exceptions while the session lives, before a destructor may end the process.
class Session {
 public:
  Session(int& argc, char**& argv);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  int rank() const { return rank_; }
  int size() const { return size_; }

 private:
  int rank_ = 0, size_ = 1;
};

// On rank 0: the farm over all ranks; its destructor releases the workers.
std::unique_ptr<Farm> make_mpi_farm(const Session& session, Work work);
// On the other ranks: evaluate until released.
void serve(const Session& session, const Work& work);

}  // namespace dodyn::farm
