#include "farm/local.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
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

std::atomic<bool> loose_end = false;
constexpr std::chrono::hours year(24 * 365);
constexpr std::chrono::seconds time_to_stop(1);
constexpr std::chrono::milliseconds time_to_look(100);

}  // namespace

bool loose_ends() { return loose_end; }
void leave_loose_end() { loose_end = true; }

Task without_motion(const Task& task) {
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
  std::mutex mutex;  // of all below
  std::deque<Task> queue;
  std::deque<Outcome> finished;
  bool closed = false;
  bool woken = false;  // the scheduler
  struct Running {
    Task task;  // without its warm start
    Clock::time_point since, give_up;
    bool given_up = false;
  };
  std::optional<Running> running;
  std::condition_variable task_queued, task_finished, for_scheduler;
  std::stop_source stop;
  std::thread thread;
};

LocalFarm::LocalFarm(Work work, Patience patience, int rank) : state_(std::make_shared<State>()), rank_(rank) {
  state_->thread = std::thread([state = state_, work = std::move(work), patience, rank] {
    evaluate_until_closed(*state, work, patience, rank);
  });
}

LocalFarm::~LocalFarm() {
  std::unique_lock lock(state_->mutex);
  state_->closed = true;
  state_->stop.request_stop();
  state_->task_queued.notify_all();
  const bool idle = state_->task_finished.wait_for(lock, time_to_stop, [this] { return !state_->running; });
  lock.unlock();
  if (idle) {
    state_->thread.join();
  } else {
    state_->thread.detach();
    leave_loose_end();
  }
}

int LocalFarm::evaluators() const {
  const std::lock_guard lock(state_->mutex);
  return state_->running && state_->running->given_up ? 0 : 1;
}

void LocalFarm::submit(Task task) {
  ++outstanding_;
  {
    const std::lock_guard lock(state_->mutex);
    state_->queue.push_back(std::move(task));
    state_->woken = true;
  }
  state_->task_queued.notify_one();
  state_->for_scheduler.notify_one();
}

void LocalFarm::withdraw() {
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

std::optional<Outcome> LocalFarm::next_until(Clock::time_point time) {
  if (outstanding_ == 0) return std::nullopt;
  std::unique_lock lock(state_->mutex);
  const auto finished = [this] { return !state_->finished.empty(); };
  while (!finished()) {
    auto& running = state_->running;
    const bool watched = running && !running->given_up;
    if (watched && Clock::now() >= running->give_up) {
      running->given_up = true;
      state_->finished.push_back(overdue(running->task, running->since, rank_, host_name()));
    } else if (Clock::now() >= time) {
      return std::nullopt;
    } else {
      // an evaluation may start meanwhile, to be watched
      state_->task_finished.wait_until(lock, std::min(time, watched ? running->give_up : from_now(time_to_look)));
    }
  }
  --outstanding_;
  return pop_front(state_->finished);
}

void LocalFarm::evaluate_until_closed(State& state, const Work& work, Patience patience, int rank) {
  std::unique_lock lock(state.mutex);
  for (;;) {
    state.task_queued.wait(lock, [&] { return state.closed || !state.queue.empty(); });
    if (state.closed) return;
    Task task = *pop_front(state.queue);
    state.running = {without_motion(task), Clock::now(), from_now(Seconds(task.time_limit + patience.grace)), false};
    task.stop = state.stop.get_token();
    lock.unlock();
    Outcome outcome = perform(work, std::move(task), rank);
    lock.lock();
    if (!state.running->given_up) state.finished.push_back(std::move(outcome));
    state.running.reset();
    state.task_finished.notify_all();
  }
}

std::unique_ptr<Farm> make_local_farm(Work work, Patience patience) {
  return std::make_unique<LocalFarm>(std::move(work), patience);
}

}  // namespace dodyn::farm
