// One process: a queue of tasks and one thread that evaluates them, first in first out. Rank 0 of the MPI farm is a
// local farm whose queue the other ranks share.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "farm/farm.hpp"

namespace dodyn::farm {

// The time `wait` from now; a wait without end (milliseconds::max()) becomes a year.
std::chrono::steady_clock::time_point deadline(std::chrono::milliseconds wait);

class LocalFarm : public Farm {
 public:
  explicit LocalFarm(Work work);
  ~LocalFarm() override;  // drops what is queued, waits for the running evaluation and discards it

  int evaluators() const override { return 1; }
  int outstanding() const override { return outstanding_; }
  void submit(Task task) override;
  std::optional<Outcome> next(std::chrono::milliseconds wait) override { return next_until(deadline(wait)); }

  // For a scheduler that lets others work on the queue. A task taken stays outstanding until its outcome is given back
  // and returned by `next`.
  std::optional<Task> take();
  void give_back(Outcome outcome);
  std::optional<Outcome> next_until(std::chrono::steady_clock::time_point time);

 private:
  void evaluate_until_closed();

  const Work work_;
  int outstanding_ = 0;  // touched by the caller's thread only
  std::mutex mutex_;     // of the three below
  std::deque<Task> queue_;
  std::deque<Outcome> finished_;
  bool closed_ = false;
  std::condition_variable task_queued_, task_finished_;
  std::thread thread_;  // last: it starts when everything else is there
};

}  // namespace dodyn::farm
