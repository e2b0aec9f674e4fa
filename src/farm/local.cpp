#include "farm/local.hpp"

#include <algorithm>
#include <utility>

#include "farm/perform.hpp"

namespace dodyn::farm {
namespace {

template <class T>
std::optional<T> pop_front(std::deque<T>& queue) {
  if (queue.empty()) return std::nullopt;
  std::optional<T> front(std::move(queue.front()));
  queue.pop_front();
  return front;
}

}  // namespace

std::chrono::steady_clock::time_point deadline(std::chrono::milliseconds wait) {
  return std::chrono::steady_clock::now() + std::min<std::chrono::milliseconds>(wait, std::chrono::hours(24 * 365));
}

LocalFarm::LocalFarm(Work work) : work_(std::move(work)), thread_([this] { evaluate_until_closed(); }) {}

LocalFarm::~LocalFarm() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  task_queued_.notify_one();
  thread_.join();
}

void LocalFarm::submit(Task task) {
  ++outstanding_;
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(task));
  }
  task_queued_.notify_one();
}

std::optional<Task> LocalFarm::take() {
  const std::lock_guard lock(mutex_);
  return pop_front(queue_);
}

void LocalFarm::give_back(Outcome outcome) {
  {
    const std::lock_guard lock(mutex_);
    finished_.push_back(std::move(outcome));
  }
  task_finished_.notify_one();
}

std::optional<Outcome> LocalFarm::next_until(std::chrono::steady_clock::time_point time) {
  if (outstanding_ == 0) return std::nullopt;
  std::unique_lock lock(mutex_);
  task_finished_.wait_until(lock, time, [this] { return !finished_.empty(); });
  auto outcome = pop_front(finished_);
  if (outcome) --outstanding_;
  return outcome;
}

void LocalFarm::evaluate_until_closed() {
  std::unique_lock lock(mutex_);
  for (;;) {
    task_queued_.wait(lock, [this] { return closed_ || !queue_.empty(); });
    if (closed_) return;
    const Task task = *pop_front(queue_);
    lock.unlock();
    give_back(perform(work_, task, 0));
    lock.lock();
  }
}

std::unique_ptr<Farm> make_local_farm(Work work) { return std::make_unique<LocalFarm>(std::move(work)); }

}  // namespace dodyn::farm
