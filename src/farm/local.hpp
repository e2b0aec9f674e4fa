// One process: a queue of tasks and the threads that evaluate them, first in first out; mostly one, several where the
// work is done by programs of their own. Rank 0 of the MPI farm is a local farm whose queue the other ranks share; every
// other rank is one with a queue of at most one task.
#pragma once

#include <utility>

#include "farm/farm.hpp"

namespace dodyn::farm {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// The time `wait` from now, a year at most.
Clock::time_point from_now(Seconds wait);
Clock::time_point from_now(std::chrono::milliseconds wait);  // milliseconds::max() would overflow, and means never

class LocalFarm : public Farm {
 public:
  // Thread i of the `workers` signs as rank `rank` + i; the work is called by all of them at once.
  LocalFarm(Work work, Timeouts timeouts, int rank = 0, int workers = 1);
  ~LocalFarm() override;

  int evaluators() const override;  // threads but those on which an evaluation runs on that was given up
  int outstanding() const override { return outstanding_; }
  void submit(Task task) override;
  void cancel_queued() override;
  std::optional<Outcome> next(std::chrono::milliseconds wait) override { return next_until(from_now(wait)); }
  std::optional<Outcome> next_until(Clock::time_point time);
  std::vector<Event> take_events() override { return std::exchange(incidents_, {}); }

  // For a scheduler on another thread that lets others work on the queue. A task taken stays outstanding until its
  // outcome is given back and returned by `next`.
  std::optional<Task> take();
  void give_back(Outcome outcome);
  int queued() const;
  void put_back(Task task);  // one that was taken and not begun: next in the queue
  // For a scheduler that has a running evaluation done a second time elsewhere: one that began before `time`, each but once;
  // whether it still runs here, unanswered; and its answer from elsewhere, which stops it here. False: it was answered here
  // in the meantime, and this answer is dropped.
  std::optional<Task> straggler(Clock::time_point time);
  bool runs(const Task& task) const;
  bool accept_remote_result(Outcome outcome);
  void cancel(std::int64_t id, std::int32_t part);  // asks it to stop, now or when it begins
  void wait_for_task(Clock::time_point time);       // returns early when a task is submitted, or the scheduler is woken
  void wake_scheduler();
  void retire();  // begins nothing more; others take the tasks

 private:
  struct State;  // shared with the thread, which may outlive the farm
  static void evaluate_until_closed(State& state, std::size_t worker, const Work& work, Timeouts timeouts, int rank);

  const std::shared_ptr<State> state_;
  const int rank_;
  // touched by the caller's thread only
  int outstanding_ = 0;
  std::vector<Event> incidents_;
};

// An evaluation that does not stop, and with it its evaluator.
Event given_up(const Task& task, int rank, const std::string& host);

// A task as far as it must be remembered while it runs.
Task without_motion(const Task& task);

// A farm that is closed while an evaluation runs on, or a session that has lost a rank, leaves a loose end.
void require_hard_exit();

}  // namespace dodyn::farm
