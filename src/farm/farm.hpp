// Distributes evaluations to MPI ranks, or to threads of one process, through one interface. Rank 0 schedules and
// evaluates: evaluations run on threads of their own and never call MPI, so -n N gives N evaluators.
//
//   farm::Session session(argc, argv);
//   if (session.rank() > 0) { farm::serve(session, work, patience); return 0; }
//   auto farm = farm::make_mpi_farm(session, work, patience);
//   farm->submit(task); ... farm->next(wait) ...
#pragma once

#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "record/event.hpp"
#include "record/task.hpp"

namespace dodyn::farm {

// Time limits after which an evaluation or a rank that does not answer is given up.
struct Timeouts {
  double grace = 10;    // s that an evaluation may overrun its time limit; then the evaluation and its evaluator are
                        // given up
  double silence = 10;  // s without a sign of life after which a rank counts as lost
  // A rank waits this many times longer for rank 0 before it leaves, because rank 0 uses a lost rank again. After an
  // interruption of the network, TCP tries again after up to twice the interruption's duration, or four times if an
  // attempt came too early.
  static constexpr double wait_for_rank_0 = 4;
  // The factor of speculative execution. An evaluation that has run for this many times the median duration starts a
  // second time on an idle rank. The first answer counts; the other evaluation is stopped. Infinite: none starts twice.
  double duplicate_after = std::numeric_limits<double>::infinity();
  // Pause of an evaluator after a failure of its machine, s; each consecutive failure doubles it, up to longest_rest
  double rest = 1;
  static constexpr double longest_rest = 60;        // s
  static constexpr int max_troubles_of_a_host = 3;  // consecutive troubles after which a host is retired, if there is
                                                    // another host
};

// Computes how long an evaluator rests after trouble of its machine. Meanwhile other evaluators take the tasks.
class Cooldown {
 public:
  explicit Cooldown(double first) : first_(first), next_(first) {}
  // Returns the time to rest after this outcome, s. 0: the machine did not cause the outcome.
  double after(const Evaluation& evaluation);

 private:
  double first_, next_;
};

// A farm is used from one thread. next() returns exactly one outcome for each task, however its evaluation ends, except
// for tasks that cancel_queued() removes. The record is completed with rank, host, seconds and started:
//   an exception of the work                   failed
//   trouble of the machine                     lost, with a mark (record/machine.hpp); the evaluator rests for a while;
//                                              after several consecutive troubles its host is retired
//   the rank fell silent (killed, cut off)     lost; the caller decides whether to submit it again
//   did not stop at its limit (and grace)      timed_out; its evaluator is lost until it comes back by itself
// A lost rank that answers again is used again; its late answer is dropped.
class Farm {
 public:
  // Drops queued tasks and asks running ones to stop. Evaluations that run for another second are abandoned
  // (needs_hard_exit()).
  virtual ~Farm() = default;
  virtual int evaluators() const = 0;   // number of tasks that can run at once, without lost or hanging evaluators
  virtual int outstanding() const = 0;  // number of tasks that were submitted and not yet returned
  virtual void submit(Task task) = 0;   // adds to the queue, which has no limit: first in, first out
  virtual void cancel_queued() = 0;     // removes the tasks that have not started
  // Returns the next finished task, in the order of finishing. Returns nothing if none finishes within `wait`, and at
  // once if no task is outstanding. milliseconds::max() waits without limit.
  virtual std::optional<Outcome> next(std::chrono::milliseconds wait) = 0;
  // Returns the evaluators' events since the last call: "rank lost", "rank back", "rank given up", "host retired", and
  // "begun again" (an evaluation was started a second time).
  virtual std::vector<Event> take_events() { return {}; }
};

// Makes the farm of this process alone: one evaluator on its own thread. `workers` > 1 threads call `work`
// concurrently.
std::unique_ptr<Farm> make_local_farm(Work work, Timeouts timeouts = {}, int workers = 1);

// Whether this process must end by _exit(). True if the thread of an abandoned evaluation still runs, or if a lost rank
// would block MPI_Finalize.
bool needs_hard_exit();

// Initialises MPI and finalises it at its end. Works without mpirun too (size 1). A process has one session, on its
// main thread, which must outlive all farms.
//
// The destructor on rank 0 releases the other ranks, whose destructors sleep until then. A rank that leaves while tasks
// still come to it ends the whole run (MPI_Abort) because rank 0 would wait for its answers forever. So catch and
// report exceptions while the session lives, before a destructor may end the process.
class Session {
 public:
  Session(int& argc, char**& argv);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  int rank() const { return rank_; }
  int size() const { return size_; }
  // Returns the address of rank 0's process (process_address() in launch.hpp).
  const std::string& master() const { return master_; }

 private:
  int rank_ = 0, size_ = 1;
  std::string master_;
};

// Returns the MPI library's own name and version, one line.
std::string mpi_library();

// Makes the farm over all ranks; call it on rank 0. Its destructor releases the workers.
std::unique_ptr<Farm> make_mpi_farm(const Session& session, Work work, Timeouts timeouts = {});
// Evaluates tasks until rank 0 releases this rank; call it on the other ranks. Ends the process with exit code 1 if
// rank 0 has exited or is silent for too long. Aborts all ranks if this rank cannot answer.
void serve(const Session& session, const Work& work, Timeouts timeouts = {});

}  // namespace dodyn::farm
