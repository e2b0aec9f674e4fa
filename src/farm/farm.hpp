// Evaluations handed to MPI ranks, or to this one process, through the same interface. Rank 0 schedules and evaluates:
// evaluations run on threads of their own and never call MPI, so -n N gives N evaluators.
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

// How long to believe in what does not answer.
struct Timeouts {
  double grace = 10;    // s an evaluation may overrun its time limit before it is given up, its evaluator with it
  double silence = 10;  // s without a sign of life after which a rank counts as lost
  // A rank waits this many times longer for rank 0 before it leaves, since rank 0 uses a lost rank again: after an interruption of
  // the network, TCP tries again when up to twice its duration has passed, or four times where that try came too early.
  static constexpr double wait_for_rank_0 = 4;
  // An evaluation under way for this many times the median of those that came back is begun a second time on a rank that has
  // nothing to do; the first answer counts, and the other one is stopped.
  double duplicate_after = std::numeric_limits<double>::infinity();
  double rest = 1;  // s without work for an evaluator whose machine gave trouble; doubled each time in a row, up to ...
  static constexpr double longest_rest = 60;        // s
  static constexpr int max_troubles_of_a_host = 3;  // in a row; then it is out of service, if there is another host
};

// How long an evaluator rests after trouble of its machine, so that others do the work, or it does it later.
class Rest {
 public:
  explicit Rest(double first) : first_(first), next_(first) {}
  // s to rest after this outcome; 0 where it is no such trouble.
  double after(const Evaluation& evaluation);

 private:
  double first_, next_;
};

// Used from one thread. However an evaluation ends, its outcome comes back exactly once, its record completed with
// rank, host, seconds and started:
//   an exception of the work                   failed
//   trouble of the machine                     lost, marked as such (record/machine.hpp); its evaluator rests for a while,
//                                              and after several in a row its host is out of service
//   the rank fell silent (killed, cut off)     lost: submit it again, or not
//   did not stop at its limit (and grace)      timed_out; its evaluator is lost until it comes back by itself
// A lost rank that speaks again is used again; its late answer is dropped.
class Farm {
 public:
  // Drops what is queued; asks what runs to stop, and leaves alone what does not do so within a second (needs_hard_exit).
  virtual ~Farm() = default;
  virtual int evaluators() const = 0;   // how many tasks can run at once; those lost or hanging do not count
  virtual int outstanding() const = 0;  // submitted and not yet returned
  virtual void submit(Task task) = 0;   // queued without limit, first in first out
  virtual void cancel_queued() = 0;     // takes back what has not started
  // The next finished task, in the order of finishing; nothing after `wait` without one (milliseconds::max(): wait as
  // long as it takes), and nothing at once where no task is outstanding.
  virtual std::optional<Outcome> next(std::chrono::milliseconds wait) = 0;
  // What has befallen the evaluators since this was asked last: "rank lost", "rank back", "rank given up", "host retired".
  virtual std::vector<Event> take_events() { return {}; }
};

// This process alone: one evaluator on its own thread, or several if the work may be called by several threads at once.
std::unique_ptr<Farm> make_local_farm(Work work, Timeouts timeouts = {}, int workers = 1);

// Whether this process must end by _exit(): an evaluation was given up and its thread still runs, or a lost rank would
// keep MPI_Finalize waiting.
bool needs_hard_exit();

// MPI, from initialisation to finalisation. Works without mpirun too (size 1). One per process, outliving its farms, on
// the main thread.
//
// However rank 0 leaves, the others are let go: its destructor tells them, and theirs wait for that (asleep). A rank
// that leaves while tasks still come to it ends the whole run (MPI_Abort) rather than let rank 0 wait forever. So
// catch and report exceptions while the session lives, before a destructor may end the process.
class Session {
 public:
  Session(int& argc, char**& argv);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  int rank() const { return rank_; }
  int size() const { return size_; }
  // Where rank 0 can be looked for (launch.hpp).
  const std::string& master() const { return master_; }

 private:
  int rank_ = 0, size_ = 1;
  std::string master_;
};

// The MPI library, as it calls itself; one line.
std::string mpi_library();

// On rank 0: the farm over all ranks; its destructor releases the workers.
std::unique_ptr<Farm> make_mpi_farm(const Session& session, Work work, Timeouts timeouts = {});
// On the other ranks: evaluate until released. Leaves the process (exit code 1) where rank 0 falls silent.
void serve(const Session& session, const Work& work, Timeouts timeouts = {});

}  // namespace dodyn::farm
