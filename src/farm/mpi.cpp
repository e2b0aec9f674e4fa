// The farm over MPI ranks.
//
// Rank 0 keeps the queue (LocalFarm) and evaluates from it on a thread of its own; another of its threads, the
// scheduler, sends tasks to the other ranks, independently of the study's thread. Every rank has one thread that calls
// MPI (MPI_THREAD_SERIALIZED: on rank 0 the scheduler while there is a farm, else the main thread), beside one that
// evaluates. None waits inside MPI, where Open MPI spins: they look for messages and sleep in between (PollBackoff).
//
// Messages, all point to point with rank 0:
// - task, 0 -> r: one packed Task, sometimes a second one ahead; r answers in that order with
// - outcome, r -> 0: one packed Outcome
// - cancel, 0 -> r: id and part of a task that another rank has answered; its evaluation is asked to stop
// - beat, both ways: sign of life; a worker adds its process id and its host's name. A rank that is silent for
//   Timeouts::silence is lost; a rank leaves when rank 0 is silent for wait_for_rank_0 times as long
// - release, 0 -> r: the farm closes, leave serve(); r answers with
// - released, r -> 0: the last message of this farm from r
// - farewell, 0 -> r: the session ends, finalise. Exactly one per rank. So no rank waits forever, even if rank 0 leaves
//   its session early (bad input, an exception)
// MPI preserves the order of messages between two ranks, so a release overtakes no task.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <fstream>
#include <list>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "farm/launch.hpp"
#include "farm/mpi_messages.hpp"
#include "farm/perform.hpp"
#include "record/machine.hpp"
#include "record/text.hpp"

namespace dodyn::farm {
namespace {

// The typical duration of an evaluation: the median of the latest completed ones.
class MedianDuration {
 public:
  void add(double seconds) {
    if (last_.size() < 64)
      last_.push_back(seconds);
    else
      last_[count_ % 64] = seconds;
    if (++count_ % 8 != 0 && count_ > 8) return;
    auto sorted = last_;
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2), sorted.end());
    median_ = sorted[sorted.size() / 2];
  }
  bool known() const { return count_ >= 3; }
  double seconds() const { return median_; }

 private:
  std::vector<double> last_;
  std::size_t count_ = 0;
  double median_ = std::numeric_limits<double>::infinity();
};

constexpr double short_evaluation = 0.25;  // s; below it, the message to rank 0 and back takes several percent of the
                                           // time
constexpr double shortest_worth_it = 0.1;  // s; shorter evaluations are not started a second time

class MpiFarm : public Farm {
 public:
  MpiFarm(int ranks, Work work, Timeouts timeouts)
      : own_(std::move(work), timeouts),
        timeouts_(timeouts),
        silence_(timeouts.silence),
        workers_(ranks - 1, Worker(timeouts.rest)),
        usable_(ranks - 1) {
    for (auto& worker : workers_) worker.heard = silence_.listened();
    if (ranks > 1) scheduler_ = std::thread([this] { schedule(); });
  }

  // Drops queued tasks, asks running ones to stop, and discards their outcomes.
  ~MpiFarm() override {
    own_.cancel_queued();
    closed_ = true;
    own_.wake_scheduler();
    if (scheduler_.joinable()) scheduler_.join();
    release();
  }

  int evaluators() const override { return own_.evaluators() + usable_; }
  int outstanding() const override { return own_.outstanding(); }
  void submit(Task task) override { own_.submit(std::move(task)); }
  void cancel_queued() override { own_.cancel_queued(); }
  std::optional<Outcome> next(std::chrono::milliseconds wait) override {
    auto outcome = own_.next(wait);
    if (outcome) count_trouble(outcome->evaluation);
    return outcome;
  }
  std::vector<Event> take_events() override {
    std::vector<Event> all = own_.take_events();
    const std::lock_guard lock(incidents_mutex_);
    for (Event& event : std::exchange(incidents_, {})) all.push_back(std::move(event));
    return all;
  }

 private:
  // A task that was sent to a rank. A rank evaluates the first of its tasks.
  struct Assignment {
    Task task;                             // without its warm start
    std::shared_ptr<const Bytes> message;  // the task as it is sent
    MPI_Request sending = MPI_REQUEST_NULL;
    Clock::time_point since, give_up;  // start of the evaluation, and the time at which it is given up
    enum State { wanted, given_up, dropped } state = wanted;  // given_up: too late; dropped: answered elsewhere
    bool copied = false;                                      // another rank evaluates the task too
    bool of_rank_0 = false;                                   // that rank is rank 0
  };
  struct Worker {
    std::deque<Assignment> tasks;
    bool lost = false;  // the rank is silent
    bool released = false;
    bool retired = false;     // its host is out of service
    Clock::time_point heard;  // the last sign of life, on the clock of silence_
    std::string host;
    pid_t pid = 0;
    Cooldown rest;
    Clock::time_point rests_until = {};

    explicit Worker(double first_rest) : rest(first_rest) {}
    bool works() const { return !tasks.empty() && tasks.front().state == Assignment::wanted; }
    bool usable() const { return !lost && !retired && (tasks.empty() || tasks.front().state != Assignment::given_up); }
  };
  static int rank_of(std::size_t worker) { return static_cast<int>(worker) + 1; }

  void schedule() try {
    for (PollBackoff pause; !closed_;) {
      if (collect()) pause.reset();
      if (silence_.listen()) beat();
      retire_hosts();
      judge();
      if (hand_out()) pause.reset();
      duplicate();
      own_.wait_for_task(Clock::now() + pause.next());
    }
  } catch (const std::exception& error) {
    abort_all(0, error.what());
  }

  // Receives the messages that have arrived. Returns whether there was an outcome.
  bool collect() {
    bool any = false;
    while (const auto status = look(MPI_ANY_SOURCE, MPI_ANY_TAG)) {
      const Bytes bytes = receive(*status);
      Worker& worker = workers_[status->MPI_SOURCE - 1];
      worker.heard = silence_.listened();
      if (worker.lost) {
        log_event(event_now("rank back", formatted("rank %d (%s) is back", status->MPI_SOURCE, worker.host.c_str())));
        worker.lost = false;
      }
      if (status->MPI_TAG == heartbeat_tag) {
        const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        worker.pid = std::atoi(text.c_str());
        worker.host = text.substr(std::min(text.find(' ') + 1, text.size()));
      } else if (status->MPI_TAG == released_tag) {
        worker.released = true;
      } else if (status->MPI_TAG == outcome_tag) {
        take_in(worker, unpack_outcome(bytes));
        any = true;
      }
    }
    return any;
  }

  // Matches an outcome with its task: a rank answers in the order in which tasks were sent.
  void take_in(Worker& worker, Outcome outcome) {
    Assignment done = std::move(worker.tasks.front());
    worker.tasks.pop_front();
    finish_send(done.sending);  // returns at once: the rank has answered, so it has received the task
    if (!worker.tasks.empty()) begin(worker.tasks.front());
    if (done.state != Assignment::wanted) return;
    worker.rests_until = from_now(Seconds(worker.rest.after(outcome.evaluation)));
    median_duration_.add(outcome.evaluation.seconds);
    if (outcome.evaluation.status == Status::lost && runs_elsewhere(done)) return;
    if (done.of_rank_0) {
      own_.accept_remote_result(std::move(outcome));
    } else {
      if (done.copied) for_each_wanted(&done.task, [&](std::size_t i, Assignment& other) { drop(i, other); });
      own_.give_back(std::move(outcome));
    }
  }

  void begin(Assignment& assignment) {
    assignment.since = Clock::now();
    assignment.give_up = from_now(Seconds(assignment.task.time_limit + timeouts_.grace));
  }

  void beat() {
    for (std::size_t i = 0; i < workers_.size(); ++i)
      if (!workers_[i].lost) send_unwatched("", rank_of(i), heartbeat_tag);
  }

  void count_trouble(const Evaluation& evaluation) {
    const std::lock_guard lock(incidents_mutex_);
    if (is_machine_trouble(evaluation))
      ++troubles_[evaluation.host];
    else if (evaluation.status != Status::lost)
      troubles_[evaluation.host] = 0;
  }

  // Retires hosts whose machines ended several consecutive evaluations, as long as there is another host.
  void retire_hosts() {
    std::vector<std::string> hosts;
    {
      const std::lock_guard lock(incidents_mutex_);
      for (auto& [host, count] : troubles_)
        if (count >= Timeouts::max_troubles_of_a_host) hosts.push_back(host), count = 0;
    }
    for (const std::string& host : hosts) {
      const bool is_here = host == host_name();
      const bool any_other =
          (!is_here && own_.evaluators() > 0) ||
          std::ranges::any_of(workers_, [&](const Worker& worker) { return worker.usable() && worker.host != host; });
      if (!any_other) continue;
      if (is_here) own_.retire();
      for (std::size_t i = 0; i < workers_.size(); ++i) {
        if (workers_[i].host != host) continue;
        workers_[i].retired = true;
        for (std::size_t k = 1; k < workers_[i].tasks.size(); ++k) {
          Assignment& next = workers_[i].tasks[k];
          if (next.state != Assignment::wanted) continue;
          drop(i, next);
          if (!runs_elsewhere(next)) own_.put_back(unpack_task(*next.message));
        }
      }
      log_event(
          event_now("host retired", formatted("host %s is out of service: its machine ended %d evaluations in a row",
                                              host.c_str(), Timeouts::max_troubles_of_a_host)));
    }
  }

  // Gives up silent ranks, and evaluations beyond their time limits.
  void judge() {
    int usable = 0;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      Worker& worker = workers_[i];
      if (!worker.lost && silence_.silent_too_long(worker.heard)) {
        log_event(event_now("rank lost", formatted("rank %d (%s) has been silent for %g s and is lost", rank_of(i),
                                                   worker.host.c_str(), timeouts_.silence)));
        worker.lost = true;
        if (worker.works()) {
          const Assignment& first = worker.tasks.front();
          give_up(worker, Assignment::dropped, lost(first.task, first.since, rank_of(i), worker.host));
        }
      } else if (worker.works() && Clock::now() > worker.tasks.front().give_up) {
        const Assignment& first = worker.tasks.front();
        log_event(farm::given_up(first.task, rank_of(i), worker.host));
        give_up(worker, Assignment::given_up, overdue(first.task, first.since, rank_of(i), worker.host));
      }
      usable += worker.usable();
    }
    usable_ = usable;
  }

  void log_event(Event event) {
    std::fprintf(stderr, "dodyn: %s\n", event.text.c_str());
    const std::lock_guard lock(incidents_mutex_);
    incidents_.push_back(std::move(event));
  }

  // Answers the rank's running evaluation with `outcome`, unless another rank runs it too. Queues its other tasks
  // again.
  void give_up(Worker& worker, Assignment::State state, Outcome outcome) {
    Assignment& first = worker.tasks.front();
    first.state = state;
    if (!runs_elsewhere(first)) own_.give_back(std::move(outcome));
    for (std::size_t i = worker.tasks.size() - 1; i > 0; --i) {
      if (worker.tasks[i].state != Assignment::wanted) continue;
      worker.tasks[i].state = Assignment::dropped;
      own_.put_back(unpack_task(*worker.tasks[i].message));
    }
  }

  // Sends a task to each free worker. If evaluations are short and enough tasks are left for all, it sends one more to
  // busy workers. Then no worker waits for the message to rank 0 and back.
  bool hand_out() {
    bool any = false;
    for (std::size_t held = 0; held < 2; ++held) {
      if (held > 0 && median_duration_.seconds() > short_evaluation) break;
      for (std::size_t i = 0; i < workers_.size(); ++i) {
        Worker& worker = workers_[i];
        if (worker.lost || worker.retired || worker.tasks.size() != held || (held > 0 && !worker.works())) continue;
        if (Clock::now() < worker.rests_until) continue;
        if (held > 0 && own_.queued() < usable_) return any;
        auto task = own_.take();
        if (!task) return any;
        send(i, *task, std::make_shared<const Bytes>(pack(*task)));
        any = true;
      }
    }
    return any;
  }

  Assignment& send(std::size_t i, const Task& task, std::shared_ptr<const Bytes> message) {
    Assignment& assignment = workers_[i].tasks.emplace_back();
    assignment.task = without_warm_start(task);
    assignment.message = std::move(message);
    assignment.sending = start_send(*assignment.message, rank_of(i), task_tag);
    begin(assignment);
    return assignment;
  }

  // Calls visit(worker, assignment) for each pending answer, of this task or of all tasks.
  template <class Visit>
  void for_each_wanted(const Task* task, Visit&& visit) {
    for (std::size_t i = 0; i < workers_.size(); ++i)
      for (Assignment& each : workers_[i].tasks)
        if (each.state == Assignment::wanted && !workers_[i].lost &&
            (!task || (each.task.evaluation.id == task->evaluation.id && each.task.part == task->part)))
          visit(i, each);
  }

  bool runs_elsewhere(const Assignment& assignment) {
    bool any = assignment.of_rank_0 && own_.runs(assignment.task);
    if (assignment.copied)
      for_each_wanted(&assignment.task, [&](std::size_t, Assignment& other) { any |= &other != &assignment; });
    return any;
  }

  // Informs a rank that its answer to this task is no longer needed.
  void drop(std::size_t i, Assignment& assignment) {
    const Task& task = assignment.task;
    assignment.state = Assignment::dropped;
    send_unwatched(std::to_string(task.evaluation.id) + " " + std::to_string(task.part), rank_of(i), cancel_tag);
  }

  // Starts evaluations that run unusually long a second time, on idle workers. Stops evaluations that rank 0 has
  // answered meanwhile.
  void duplicate() {
    if (!std::isfinite(timeouts_.duplicate_after)) return;
    for_each_wanted(nullptr, [&](std::size_t i, Assignment& each) {
      if (each.of_rank_0 && !own_.runs(each.task)) drop(i, each);
    });
    if (!median_duration_.known()) return;
    const auto time =
        Clock::now() - std::chrono::duration_cast<Clock::duration>(Seconds(std::max(
                           shortest_worth_it, std::min(1e9, timeouts_.duplicate_after * median_duration_.seconds()))));
    for (std::size_t i = 0; i < workers_.size() && own_.queued() == 0; ++i) {
      if (workers_[i].lost || workers_[i].retired || !workers_[i].tasks.empty()) continue;
      Assignment* oldest = nullptr;
      std::size_t its_rank = 0;
      for_each_wanted(nullptr, [&](std::size_t worker, Assignment& each) {
        if (!each.copied && !each.of_rank_0 && each.since < time && (!oldest || each.since < oldest->since))
          oldest = &each, its_rank = worker + 1;
      });
      if (const auto task = oldest ? std::nullopt : own_.straggler(time)) {
        send(i, *task, std::make_shared<const Bytes>(pack(*task))).of_rank_0 = true;
        log_speculative_copy(*task, 0, i);
      } else if (oldest) {
        oldest->copied = true;
        send(i, oldest->task, oldest->message).copied = true;
        log_speculative_copy(oldest->task, its_rank, i);
      }
    }
  }

  void log_speculative_copy(const Task& task, std::size_t rank, std::size_t worker) {
    const std::lock_guard lock(incidents_mutex_);
    incidents_.push_back(event_now(
        "begun again", formatted("evaluation %lld, task %d takes long on rank %zu; started on rank %d, too",
                                 static_cast<long long>(task.evaluation.id), task.part, rank, rank_of(worker))));
  }

  // Releases the workers, and waits for the last message of each.
  void release() {
    for (std::size_t i = 0; i < workers_.size(); ++i) send_unwatched("", rank_of(i), release_tag);
    const auto all_released = [this] {
      return std::ranges::all_of(workers_, [](const Worker& w) { return w.released || w.lost; });
    };
    for (auto& worker : workers_)
      for (Assignment& each : worker.tasks) each.state = Assignment::dropped;
    for (PollBackoff pause; !all_released(); pause.sleep()) {
      collect();
      silence_.listen();
      judge();
    }
    for (auto& worker : workers_) {
      if (!worker.lost) continue;
      static std::list<std::shared_ptr<const Bytes>> undelivered;  // MPI may still read these messages after the farm
                                                                   // has ended
      for (const Assignment& each : worker.tasks) undelivered.push_back(each.message);
      require_hard_exit();
      end_if_stopped(worker);
    }
  }

  // Kills a rank of this host that is stopped (SIGSTOP, a debugger). It never receives the release, and mpirun would
  // wait for it.
  void end_if_stopped(const Worker& worker) {
    if (worker.pid <= 0 || worker.host != host_name()) return;
    if (const char state = process_state(worker.pid); state != 'T' && state != 't') return;
    std::fprintf(stderr, "dodyn: process %d (%s) is stopped; killed, since the run ends\n", worker.pid,
                 worker.host.c_str());
    kill(worker.pid, SIGKILL);
  }

  LocalFarm own_;
  const Timeouts timeouts_;
  HeartbeatMonitor silence_;
  std::vector<Worker> workers_;  // ranks 1, 2, ...
  MedianDuration median_duration_;
  std::atomic<int> usable_;  // number of usable workers
  std::atomic<bool> closed_ = false;
  std::mutex incidents_mutex_;  // protects the two members below
  std::vector<Event> incidents_;
  std::map<std::string, int> troubles_;  // by host: consecutive evaluations that its machine ended
  std::thread scheduler_;                // the last member: the thread uses all others
};

}  // namespace

Session::Session(int& argc, char**& argv) {
  int provided = 0;
  // Limit of the start, s. Under --enable-recovery the other ranks would wait forever for a rank that was killed during
  // the start. With this limit they end: at once on the same host, on other hosts after start_seconds.
  constexpr unsigned start_seconds = 100;
  alarm(start_seconds);
  {
    const LaunchWatch watch;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    // Rank 0's address. A rank that has received it knows that rank 0 has started, and which process to check when rank
    // 0 is silent.
    char master[512] = "";
    std::snprintf(master, sizeof master, "%s", process_address().c_str());
    MPI_Bcast(master, sizeof master, MPI_CHAR, 0, MPI_COMM_WORLD);
    master_ = master;
  }
  alarm(0);
  if (provided < MPI_THREAD_SERIALIZED) throw std::runtime_error("farm: this MPI does not support threads");
}

Session::~Session() {
  if (rank_ == 0) {
    // A lost rank never calls MPI_Finalize, so the others must not wait for it there.
    const std::string how = needs_hard_exit() ? "without MPI_Finalize" : "";
    for (int other = 1; other < size_; ++other) send_unwatched(how, other, farewell_tag);
    if (needs_hard_exit()) return;
  } else {
    const auto latest = Clock::now() + farewell_timeout;
    PollBackoff pause;
    RemoteProcess master(master_);
    for (bool farewell = false; !farewell && Clock::now() < latest; pause.sleep()) {
      if (master.has_exited()) _exit(1);  // otherwise MPI_Finalize would wait for rank 0 forever
      if (const auto status = look(0, MPI_ANY_TAG)) {
        if (status->MPI_TAG == task_tag) abort_all(rank_, "left with tasks still coming");
        const Bytes how = receive(*status);
        farewell = status->MPI_TAG == farewell_tag;
        if (farewell && !how.empty()) {
          require_hard_exit();
          return;
        }
      }
    }
    alarm(60);  // MPI_Finalize waits for all ranks; if one has ended without it, this rank ends too
  }
  MPI_Finalize();
}

std::string mpi_library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string whole = printable(text);
  return whole.substr(0, whole.find(','));
}

std::unique_ptr<Farm> make_mpi_farm(const Session& session, Work work, Timeouts timeouts) {
  if (session.rank() != 0) throw std::logic_error("farm: only rank 0 schedules");
  return std::make_unique<MpiFarm>(session.size(), std::move(work), timeouts);
}

namespace {

// Cancels the task "ID PART", which another rank has answered. It may have finished here too.
void cancel(LocalFarm& own, const Bytes& message) {
  long long id = -1;
  int part = 0;
  const std::string text(reinterpret_cast<const char*>(message.data()), message.size());
  if (std::sscanf(text.c_str(), "%lld %d", &id, &part) == 2) own.cancel(id, part);
}

}  // namespace

void serve(const Session& session, const Work& work, Timeouts timeouts) try {
  if (session.rank() == 0) throw std::logic_error("rank 0 does not serve");
  const std::string host = std::to_string(getpid()) + " " + host_name();
  RemoteProcess master(session.master());
  HeartbeatMonitor silence(timeouts.silence);
  const auto latest_begin = Clock::now() + farewell_timeout;
  std::optional<Clock::time_point> heard;  // rank 0 may need a long time before it has a farm
  Bytes answer;
  MPI_Request sending = MPI_REQUEST_NULL;
  const double for_rank_0_to_judge = std::numeric_limits<double>::infinity();
  std::optional<LocalFarm> own(std::in_place, work, Timeouts{for_rank_0_to_judge, timeouts.silence}, session.rank());

  // During an evaluation only beats, cancels and the release arrive. The end of the evaluation ends the wait at once.
  const auto while_busy = std::min<Seconds>(Seconds(0.02), Seconds(timeouts.silence / 20));

  bool released = false;
  for (PollBackoff pause(std::chrono::microseconds(5000)); !released;) {
    while (const auto status = look(0, MPI_ANY_TAG)) {
      if (status->MPI_TAG == farewell_tag) return;  // ~Session receives this message
      const Bytes message = receive(*status);
      heard = silence.listened();
      if (status->MPI_TAG == release_tag) released = true;
      if (status->MPI_TAG == task_tag) own->submit(unpack_task(message));
      if (status->MPI_TAG == cancel_tag) cancel(*own, message);
      if (status->MPI_TAG != heartbeat_tag) pause.reset();
    }
    if (silence.listen()) send_unwatched(host, 0, heartbeat_tag);
    const bool has_exited = master.has_exited();
    if (has_exited ||
        (heard ? silence.silent_too_long(*heard, Timeouts::wait_for_rank_0) : Clock::now() > latest_begin)) {
      std::fprintf(stderr, "dodyn: rank %d: rank 0 %s; leaving\n", session.rank(),
                   has_exited ? "is gone" : "has fallen silent");
      own.reset();  // asks the evaluation to stop, so that it can end its child processes
      _exit(1);
    }
    if (released) break;
    if (own->outstanding() == 0) {
      pause.sleep();
    } else if (const auto outcome = own->next_until(from_now(while_busy))) {
      if (!finish_send(sending)) throw std::runtime_error("rank 0 does not take an answer");
      answer = pack(*outcome);
      sending = start_send(answer, 0, outcome_tag);
      pause.reset();
    }
  }
  own.reset();
  finish_send(sending);
  send_unwatched("", 0, released_tag);
} catch (const std::exception& error) {
  abort_all(session.rank(), error.what());  // not an error of `work`: this rank cannot answer
}

}  // namespace dodyn::farm
