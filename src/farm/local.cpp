#include "farm/local.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "farm/perform.hpp"
#include "record/machine.hpp"
#include "record/text.hpp"

namespace dodyn::farm {
namespace {

template <class T>
std::optional<T> pop_front(std::deque<T>& queue) {
  if (queue.empty()) return std::nullopt;
  std::optional<T> front(std::move(queue.front()));
  queue.pop_front();
  return front;
}

std::atomic<bool> loose_end = false;
constexpr std::chrono::hours year(24 * 365);
constexpr std::chrono::seconds time_to_stop(1);
constexpr std::chrono::milliseconds time_to_look(100);

}  // namespace

bool needs_hard_exit() { return loose_end; }
void require_hard_exit() { loose_end = true; }

double Cooldown::after(const Evaluation& evaluation) {
  if (!is_machine_trouble(evaluation)) {
    next_ = first_;
    return 0;
  }
  return std::exchange(next_, std::min(2 * next_, Timeouts::longest_rest));
}

Event given_up(const Task& task, int rank, const std::string& host) {
  const auto id = static_cast<long long>(task.evaluation.id);
  return event_now(
      "rank given up",
      formatted("evaluation %lld does not stop at its time limit; rank %d (%s) is given up", id, rank, host.c_str()));
}

Task without_warm_start(const Task& task) {
  Task rest;
  rest.evaluation = task.evaluation;
  rest.part = task.part;
  rest.time_limit = task.time_limit;
  return rest;
}

Clock::time_point from_now(Seconds wait) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::min<Seconds>(wait, year));
}
Clock::time_point from_now(std::chrono::milliseconds wait) {
  return Clock::now() + std::min<std::chrono::milliseconds>(wait, year);
}

struct LocalFarm::State {
  std::mutex mutex;  // protects all members below
  std::deque<Task> queue;
  std::deque<Outcome> finished;
  bool closed = false;
  bool woken = false;  // wait_for_task() must return: the scheduler was woken
  bool retired = false;
  struct Running {
    Task task;
    Clock::time_point since, give_up;
    std::stop_source stop = {};
    bool given_up = false;
    bool copied = false;   // a second evaluation runs on another rank
    bool settled = false;  // another rank has answered

    bool is(const Evaluation& other, std::int32_t part) const {
      return task.evaluation.id == other.id && task.part == part;
    }
    bool unanswered() const { return !given_up && !settled; }
  };
  std::vector<std::optional<Running>> running;  // [threads]
  std::condition_variable task_queued, task_finished, for_scheduler, resting;
  std::vector<std::thread> threads;
};

LocalFarm::LocalFarm(Work work, Timeouts timeouts, int rank, int workers)
    : state_(std::make_shared<State>()), rank_(rank) {
  state_->running.resize(workers);
  for (std::size_t worker = 0; worker < state_->running.size(); ++worker)
    state_->threads.emplace_back([state = state_, work, timeouts, rank, worker] {
      evaluate_until_closed(*state, worker, work, timeouts, rank + static_cast<int>(worker));
    });
}

LocalFarm::~LocalFarm() {
  std::unique_lock lock(state_->mutex);
  state_->closed = true;
  for (auto& running : state_->running)
    if (running) running->stop.request_stop();
  state_->task_queued.notify_all();
  state_->resting.notify_all();
  const auto idle = [](const auto& running) { return !running; };
  state_->task_finished.wait_for(lock, time_to_stop, [&] { return std::ranges::all_of(state_->running, idle); });
  for (std::size_t worker = 0; worker < state_->threads.size(); ++worker) {
    const bool done = idle(state_->running[worker]);
    lock.unlock();
    if (done) {
      state_->threads[worker].join();
    } else {
      state_->threads[worker].detach();
      require_hard_exit();
    }
    lock.lock();
  }
}

int LocalFarm::evaluators() const {
  const std::lock_guard lock(state_->mutex);
  if (state_->retired) return 0;
  return static_cast<int>(
      std::ranges::count_if(state_->running, [](const auto& running) { return !running || !running->given_up; }));
}

void LocalFarm::submit(Task task) {
  assert(task.evaluation.id >= 0);
  ++outstanding_;
  {
    const std::lock_guard lock(state_->mutex);
    state_->queue.push_back(std::move(task));
    state_->woken = true;
  }
  state_->task_queued.notify_one();
  state_->for_scheduler.notify_one();
}

void LocalFarm::cancel_queued() {
  const std::lock_guard lock(state_->mutex);
  outstanding_ -= static_cast<int>(state_->queue.size());
  state_->queue.clear();
}

std::optional<Task> LocalFarm::take() {
  const std::lock_guard lock(state_->mutex);
  return pop_front(state_->queue);
}

void LocalFarm::give_back(Outcome outcome) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->finished.push_back(std::move(outcome));
  }
  state_->task_finished.notify_all();
}

int LocalFarm::queued() const {
  const std::lock_guard lock(state_->mutex);
  return static_cast<int>(state_->queue.size());
}

void LocalFarm::put_back(Task task) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->queue.push_front(std::move(task));
  }
  state_->task_queued.notify_one();
}

std::optional<Task> LocalFarm::straggler(Clock::time_point time) {
  const std::lock_guard lock(state_->mutex);
  for (auto& running : state_->running)
    if (running && running->unanswered() && running->since < time && !std::exchange(running->copied, true))
      return running->task;
  return std::nullopt;
}

bool LocalFarm::runs(const Task& task) const {
  const std::lock_guard lock(state_->mutex);
  return std::ranges::any_of(state_->running, [&](const auto& running) {
    return running && running->unanswered() && running->is(task.evaluation, task.part);
  });
}

bool LocalFarm::accept_remote_result(Outcome outcome) {
  {
    const std::lock_guard lock(state_->mutex);
    const auto here = std::ranges::find_if(state_->running, [&](const auto& running) {
      return running && running->unanswered() && running->is(outcome.evaluation, outcome.part);
    });
    if (here == state_->running.end()) return false;
    (*here)->settled = true;
    (*here)->stop.request_stop();
    state_->finished.push_back(std::move(outcome));
  }
  state_->task_finished.notify_all();
  return true;
}

void LocalFarm::cancel(std::int64_t id, std::int32_t part) {
  const std::lock_guard lock(state_->mutex);
  for (auto& running : state_->running)
    if (running && running->task.evaluation.id == id && running->task.part == part) running->stop.request_stop();
  for (Task& task : state_->queue) {
    if (task.evaluation.id != id || task.part != part) continue;
    std::stop_source stop;
    stop.request_stop();
    task.stop = stop.get_token();
  }
}

void LocalFarm::wait_for_task(Clock::time_point time) {
  std::unique_lock lock(state_->mutex);
  state_->for_scheduler.wait_until(lock, time, [this] { return state_->woken; });
  state_->woken = false;
}

void LocalFarm::wake_scheduler() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->woken = true;
  }
  state_->for_scheduler.notify_one();
}

void LocalFarm::retire() {
  const std::lock_guard lock(state_->mutex);
  state_->retired = true;
}

std::optional<Outcome> LocalFarm::next_until(Clock::time_point time) {
  if (outstanding_ == 0) return std::nullopt;
  std::unique_lock lock(state_->mutex);
  const auto finished = [this] { return !state_->finished.empty(); };
  while (!finished()) {
    // Wakes up in time to monitor evaluations that start meanwhile.
    auto look_again = std::min(time, from_now(time_to_look));
    for (std::size_t worker = 0; worker < state_->running.size(); ++worker) {
      auto& running = state_->running[worker];
      if (!running || running->given_up) continue;
      if (Clock::now() >= running->give_up) {
        running->given_up = true;
        if (!running->settled)
          state_->finished.push_back(
              overdue(running->task, running->since, rank_ + static_cast<int>(worker), host_name()));
        incidents_.push_back(given_up(running->task, rank_ + static_cast<int>(worker), host_name()));
      } else {
        look_again = std::min(look_again, running->give_up);
      }
    }
    if (finished()) break;
    if (Clock::now() >= time) return std::nullopt;
    state_->task_finished.wait_until(lock, look_again);
  }
  --outstanding_;
  return pop_front(state_->finished);
}

void LocalFarm::evaluate_until_closed(State& state, std::size_t worker, const Work& work, Timeouts timeouts, int rank) {
  std::unique_lock lock(state.mutex);
  auto& running = state.running[worker];
  Cooldown rest(timeouts.rest);
  for (;;) {
    state.task_queued.wait(lock, [&] { return state.closed || (!state.queue.empty() && !state.retired); });
    if (state.closed) return;
    Task task = *pop_front(state.queue);
    const bool may_be_copied = std::isfinite(timeouts.duplicate_after);
    running = {may_be_copied ? task : without_warm_start(task), Clock::now(),
               from_now(Seconds(task.time_limit + timeouts.grace))};
    if (task.stop.stop_requested()) running->stop.request_stop();  // cancel() came while the task was queued
    task.stop = running->stop.get_token();
    lock.unlock();
    Outcome outcome = perform(work, std::move(task), rank);
    const Seconds pause(rest.after(outcome.evaluation));
    lock.lock();
    if (running->unanswered()) state.finished.push_back(std::move(outcome));
    running.reset();
    state.task_finished.notify_all();
    state.resting.wait_until(lock, from_now(pause), [&] { return state.closed || pause.count() == 0; });
  }
}

std::unique_ptr<Farm> make_local_farm(Work work, Timeouts timeouts, int workers) {
  return std::make_unique<LocalFarm>(std::move(work), timeouts, 0, workers);
}

}  // namespace dodyn::farm
