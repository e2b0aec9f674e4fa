// The farm of one process: a queue of tasks, first in first out, and the threads that evaluate them. Usually there is
// one thread; there are several if external programs do the work. Rank 0 of the MPI farm is a local farm whose queue
// the other ranks share. Every other rank is a local farm with at most one queued task.
#pragma once

#include <utility>

#include "farm/farm.hpp"

namespace dodyn::farm {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// Returns the time `wait` from now, limited to one year.
Clock::time_point from_now(Seconds wait);
Clock::time_point from_now(std::chrono::milliseconds wait);  // milliseconds::max() means never; it would overflow the
                                                             // clock

class LocalFarm : public Farm {
 public:
  // Starts `workers` threads, which call `work` concurrently. Thread i reports rank `rank` + i.
  LocalFarm(Work work, Timeouts timeouts, int rank = 0, int workers = 1);
  ~LocalFarm() override;

  int evaluators() const override;  // number of threads, without those whose evaluation was given up and still runs; 0
                                    // after retire()
  int outstanding() const override { return outstanding_; }
  void submit(Task task) override;
  void cancel_queued() override;
  std::optional<Outcome> next(std::chrono::milliseconds wait) override { return next_until(from_now(wait)); }
  std::optional<Outcome> next_until(Clock::time_point time);
  std::vector<Event> take_events() override { return std::exchange(incidents_, {}); }

  // A scheduler on another thread calls the functions below to give tasks of the queue to other ranks. take() removes
  // and returns the next task; nullopt: the queue is empty. The task stays outstanding until its outcome is given back
  // and returned by `next`.
  std::optional<Task> take();
  void give_back(Outcome outcome);
  int queued() const;
  void put_back(Task task);  // returns a taken task that has not started: it is the next of the queue
  // The next three functions are for speculative execution on other ranks.
  // Returns a running evaluation that started before `time`, each only once; nullopt: there is none.
  std::optional<Task> straggler(Clock::time_point time);
  // Returns whether a task still runs here without an answer.
  bool runs(const Task& task) const;
  // Takes the answer of another rank and stops the evaluation here. Returns false if this rank has answered or given up
  // before. Then the other answer is dropped.
  bool accept_remote_result(Outcome outcome);
  void cancel(std::int64_t id, std::int32_t part);  // asks a task to stop, now or when it starts
  void wait_for_task(Clock::time_point time);       // waits until `time`; returns early when a task is submitted or the
                                                    // scheduler is woken
  void wake_scheduler();
  void retire();  // starts no more tasks; other ranks take them

 private:
  struct State;  // shared with the thread, which may live longer than the farm
  static void evaluate_until_closed(State& state, std::size_t worker, const Work& work, Timeouts timeouts, int rank);

  const std::shared_ptr<State> state_;
  const int rank_;
  // used by the caller's thread only
  int outstanding_ = 0;
  std::vector<Event> incidents_;
};

// Returns the event of an evaluation that does not stop: its evaluator is given up.
Event given_up(const Task& task, int rank, const std::string& host);

// Returns the task without its warm start, to be remembered while it runs.
Task without_warm_start(const Task& task);

// Makes needs_hard_exit() true. Called when a farm closes while an evaluation still runs, and when a session has lost a
// rank.
void require_hard_exit();

}  // namespace dodyn::farm
