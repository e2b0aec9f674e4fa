// The farm over MPI ranks.
//
// Rank 0 keeps the queue (LocalFarm) and evaluates from it on a thread of its own; another of its threads, the
// scheduler, hands one task at a time to each other rank, whatever the study is busy with. Every rank has one thread
// that calls MPI (MPI_THREAD_SERIALIZED: on rank 0 the scheduler while there is a farm, else the main thread), beside
// one that evaluates. None waits inside MPI, where Open MPI spins: they look for messages and sleep in between (Pause).
//
// Messages, all point to point with rank 0:
//   task      0 -> r   one packed Task; r answers with
//   outcome   r -> 0   one packed Outcome
//   beat      both     I am there; from a worker with its process id and its host's name. Whoever says nothing for Patience::silence is
//   lost release   0 -> r   the farm closes: leave serve(); r answers with released  r -> 0   nothing of this farm
//   comes after it farewell  0 -> r   the session ends: finalise. Exactly one per rank, so that however rank 0 leaves
//   its session
//                      (study done, bad input before there was a farm, an exception), nobody waits for it for ever.
// MPI keeps messages between two ranks in order, so a release overtakes no task.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <list>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "farm/launch.hpp"
#include "farm/local.hpp"
#include "farm/message.hpp"
#include "farm/perform.hpp"
#include "record/text.hpp"

namespace dodyn::farm {
namespace {

enum Tag { task_tag = 1, outcome_tag, beat_tag, release_tag, released_tag, farewell_tag };

// How long to sleep between two looks for messages: short after traffic, longer the quieter it is, so that what comes
// waits no longer than it was waited for. At 2 ms the looks cost about 1 % of a core.
class Pause {
 public:
  explicit Pause(std::chrono::microseconds longest = std::chrono::microseconds(2000)) : longest_(longest) {}
  void reset() { length_ = shortest; }
  std::chrono::microseconds next() { return std::exchange(length_, std::min(2 * length_, longest_)); }
  void sleep() { std::this_thread::sleep_for(next()); }

 private:
  static constexpr std::chrono::microseconds shortest{50};
  std::chrono::microseconds longest_, length_ = shortest;
};

// How long a rank waits for the first and the last word of rank 0, which are said outside the life of a farm.
constexpr std::chrono::seconds last_words(60);

// A message that has arrived, if any.
std::optional<MPI_Status> look(int source, int tag) {
  int arrived = 0;
  MPI_Status status;
  MPI_Iprobe(source, tag, MPI_COMM_WORLD, &arrived, &status);
  return arrived ? std::optional(status) : std::nullopt;
}

Bytes receive(const MPI_Status& status) {
  int size = 0;
  MPI_Get_count(&status, MPI_BYTE, &size);
  Bytes bytes(size);
  MPI_Recv(bytes.data(), size, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return bytes;
}

// Starts to send; `bytes` must stay as they are until the request completes.
MPI_Request start_send(const Bytes& bytes, int destination, Tag tag) {
  if (bytes.size() > INT_MAX) throw std::length_error("farm: a trajectory above 2 GiB does not fit into a message");
  MPI_Request request;
  MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, destination, tag, MPI_COMM_WORLD, &request);
  return request;
}

// Waits until `bytes` are on their way. Returns false where nobody takes them.
bool finish_send(MPI_Request& request) {
  const auto latest = Clock::now() + last_words;
  for (Pause pause; Clock::now() < latest; pause.sleep()) {
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done) return true;
  }
  return false;
}

// Ends the whole run, all ranks: where one rank cannot go on and the others would wait for it for ever.
[[noreturn]] void abort_all(int rank, const char* why) {
  std::fprintf(stderr, "dodyn: rank %d: %s; ending all ranks\n", rank, why);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::terminate();  // MPI_Abort does not return
}

// Sends without waiting. What a lost rank never takes in stays in memory until the process ends.
void send_unwatched(const std::string& text, int destination, Tag tag) {
  static std::list<std::pair<std::string, MPI_Request>> under_way;
  under_way.remove_if([](auto& message) {
    int done = 0;
    MPI_Test(&message.second, &done, MPI_STATUS_IGNORE);
    return done != 0;
  });
  auto& [bytes, request] = under_way.emplace_back(text, MPI_REQUEST_NULL);
  MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_CHAR, destination, tag, MPI_COMM_WORLD, &request);
}

// Tells when it is time to beat, and how long another rank has been silent. Silence is counted while this rank listens:
// after a suspension of the job all ranks are as they were.
class Silence {
 public:
  explicit Silence(double most) : most_(Seconds(most)) {}
  // To be called at every look for messages, after what has arrived is taken in. Returns whether to beat.
  bool listen() {
    const auto now = Clock::now();
    if (now - last_look_ > most_ / 4) missed_ += now - last_look_;
    last_look_ = now;
    if (now < next_beat_) return false;
    next_beat_ = now + std::chrono::duration_cast<Clock::duration>(most_ / 10);
    return true;
  }
  // A moment, on the clock that stands still while this rank does not listen.
  Clock::time_point listened() const { return last_look_ - missed_; }
  bool too_long_since(Clock::time_point heard) const { return listened() - heard > most_; }

 private:
  const Seconds most_;
  Clock::time_point last_look_ = Clock::now(), next_beat_ = Clock::now();
  Clock::duration missed_{};
};

class MpiFarm : public Farm {
 public:
  MpiFarm(int ranks, Work work, Patience patience)
      : own_(std::move(work), patience),
        patience_(patience),
        silence_(patience.silence),
        workers_(ranks - 1),
        usable_(ranks - 1) {
    for (auto& worker : workers_) worker.heard = silence_.listened();
    if (ranks > 1) scheduler_ = std::thread([this] { schedule(); });
  }

  // Queued tasks are dropped; what runs is asked to stop, and discarded.
  ~MpiFarm() override {
    own_.withdraw();
    closed_ = true;
    own_.wake_scheduler();
    if (scheduler_.joinable()) scheduler_.join();
    release();
  }

  int evaluators() const override { return own_.evaluators() + usable_; }
  int outstanding() const override { return own_.outstanding(); }
  void submit(Task task) override { own_.submit(std::move(task)); }
  void withdraw() override { own_.withdraw(); }
  std::optional<Outcome> next(std::chrono::milliseconds wait) override { return own_.next(wait); }
  std::vector<Event> incidents() override {
    std::vector<Event> all = own_.incidents();
    const std::lock_guard lock(incidents_mutex_);
    for (Event& event : std::exchange(incidents_, {})) all.push_back(std::move(event));
    return all;
  }

 private:
  struct Worker {
    bool busy = false;    // has a task, or its answer is still to come
    bool wanted = false;  // ... and is waited for; else it was given up
    bool lost = false;    // silent
    bool released = false;
    Task task;                         // what it works on, without its warm start
    Clock::time_point since, give_up;  // since when, and until when that is waited for
    Clock::time_point heard;           // last sign of life, on the clock of silence_
    std::string host;
    pid_t pid = 0;
    std::shared_ptr<Bytes> message;  // the task on its way
    MPI_Request sending = MPI_REQUEST_NULL;

    bool usable() const { return !lost && (!busy || wanted); }
  };
  static int rank_of(std::size_t worker) { return static_cast<int>(worker) + 1; }

  void schedule() try {
    for (Pause pause; !closed_;) {
      if (collect()) pause.reset();
      if (silence_.listen()) beat();
      judge();
      if (hand_out()) pause.reset();
      own_.wait_for_task(Clock::now() + pause.next());
    }
  } catch (const std::exception& error) {
    abort_all(0, error.what());
  }

  // Takes in the messages that have arrived. Returns whether there was an outcome.
  bool collect() {
    bool any = false;
    while (const auto status = look(MPI_ANY_SOURCE, MPI_ANY_TAG)) {
      const Bytes bytes = receive(*status);
      Worker& worker = workers_[status->MPI_SOURCE - 1];
      worker.heard = silence_.listened();
      if (worker.lost) {
        befell(event_now("rank back", formatted("rank %d (%s) is back", status->MPI_SOURCE, worker.host.c_str())));
        worker.lost = false;
      }
      if (status->MPI_TAG == beat_tag) {
        const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        worker.pid = std::atoi(text.c_str());
        worker.host = text.substr(std::min(text.find(' ') + 1, text.size()));
      } else if (status->MPI_TAG == released_tag) {
        worker.released = true;
      } else if (status->MPI_TAG == outcome_tag) {
        if (worker.wanted) own_.give_back(unpack_outcome(bytes));
        finish_send(worker.sending);  // at once: the answer is here
        worker.busy = worker.wanted = false;
        any = true;
      }
    }
    return any;
  }

  void beat() {
    for (std::size_t i = 0; i < workers_.size(); ++i)
      if (!workers_[i].lost) send_unwatched("", rank_of(i), beat_tag);
  }

  // Gives up the ranks that are silent and the evaluations that do not end.
  void judge() {
    int usable = 0;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      Worker& worker = workers_[i];
      if (!worker.lost && silence_.too_long_since(worker.heard)) {
        befell(event_now("rank lost", formatted("rank %d (%s) has been silent for %g s and is lost", rank_of(i),
                                                worker.host.c_str(), patience_.silence)));
        worker.lost = true;
        give_up(worker, lost(worker.task, worker.since, rank_of(i), worker.host));
      } else if (worker.wanted && Clock::now() > worker.give_up) {
        befell(given_up(worker.task, rank_of(i), worker.host));
        give_up(worker, overdue(worker.task, worker.since, rank_of(i), worker.host));
      }
      usable += worker.usable();
    }
    usable_ = usable;
  }

  void befell(Event event) {
    std::fprintf(stderr, "dodyn: %s\n", event.text.c_str());
    const std::lock_guard lock(incidents_mutex_);
    incidents_.push_back(std::move(event));
  }

  void give_up(Worker& worker, Outcome outcome) {
    if (worker.wanted) own_.give_back(std::move(outcome));
    worker.wanted = false;
  }

  // A task for each free worker, while there are any.
  bool hand_out() {
    bool any = false;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      Worker& worker = workers_[i];
      if (worker.busy || worker.lost) continue;
      auto task = own_.take();
      if (!task) break;
      worker.message = std::make_shared<Bytes>(pack(*task));
      worker.sending = start_send(*worker.message, rank_of(i), task_tag);
      worker.busy = worker.wanted = any = true;
      worker.since = Clock::now();
      worker.give_up = from_now(Seconds(task->time_limit + patience_.grace));
      worker.task = without_motion(*task);
    }
    return any;
  }

  // Lets the workers go, and waits until each has said its last.
  void release() {
    for (std::size_t i = 0; i < workers_.size(); ++i) send_unwatched("", rank_of(i), release_tag);
    const auto all_released = [this] {
      return std::all_of(workers_.begin(), workers_.end(), [](const Worker& w) { return w.released || w.lost; });
    };
    for (auto& worker : workers_) worker.wanted = false;
    for (Pause pause; !all_released(); pause.sleep()) {
      collect();
      silence_.listen();
      judge();
    }
    for (auto& worker : workers_) {
      if (!worker.lost) continue;
      static std::list<std::shared_ptr<Bytes>> undelivered;  // the message may still be read
      undelivered.push_back(worker.message);
      leave_loose_end();
      end_if_stopped(worker);
    }
  }

  // A rank that was stopped (SIGSTOP, a debugger) never hears that the run is over, and mpirun waits for it.
  void end_if_stopped(const Worker& worker) {
    if (worker.pid <= 0 || worker.host != host_name()) return;
    std::string stat;  // "PID (name) state ..."
    std::getline(std::ifstream("/proc/" + std::to_string(worker.pid) + "/stat"), stat);
    const auto state = stat.rfind(')') + 2;
    if (state >= stat.size() || (stat[state] != 'T' && stat[state] != 't')) return;
    std::fprintf(stderr, "dodyn: process %d (%s) is stopped; killed, since the run ends\n", worker.pid,
                 worker.host.c_str());
    kill(worker.pid, SIGKILL);
  }

  LocalFarm own_;
  const Patience patience_;
  Silence silence_;
  std::vector<Worker> workers_;  // of ranks 1, 2, ...
  std::atomic<int> usable_;      // workers that are
  std::atomic<bool> closed_ = false;
  std::mutex incidents_mutex_;
  std::vector<Event> incidents_;
  std::thread scheduler_;  // last: it starts when everything else is there
};

}  // namespace

Session::Session(int& argc, char**& argv) {
  int provided = 0;
  // Under --enable-recovery the ranks left wait for ever for one that was killed while all were starting: end instead,
  // soon on the host where it was, and on others when their clock says so.
  constexpr unsigned start_seconds = 100;
  alarm(start_seconds);
  {
    const LaunchWatch watch;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  }
  alarm(0);
  if (provided < MPI_THREAD_SERIALIZED) throw std::runtime_error("farm: this MPI does not support threads");
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
}

Session::~Session() {
  if (rank_ == 0) {
    // A rank that was lost never comes to MPI_Finalize: then nobody waits for it there.
    const std::string how = loose_ends() ? "without MPI_Finalize" : "";
    for (int other = 1; other < size_; ++other) send_unwatched(how, other, farewell_tag);
    if (loose_ends()) return;
  } else {
    const auto latest = Clock::now() + last_words;
    Pause pause;
    for (bool farewell = false; !farewell && Clock::now() < latest; pause.sleep()) {
      if (const auto status = look(0, MPI_ANY_TAG)) {
        if (status->MPI_TAG == task_tag) abort_all(rank_, "left with tasks still coming");
        const Bytes how = receive(*status);
        farewell = status->MPI_TAG == farewell_tag;
        if (farewell && !how.empty()) {
          leave_loose_end();
          return;
        }
      }
    }
    alarm(60);  // MPI_Finalize waits for all ranks; should one have gone without, this one goes too
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

std::unique_ptr<Farm> make_mpi_farm(const Session& session, Work work, Patience patience) {
  if (session.rank() != 0) throw std::logic_error("farm: only rank 0 schedules");
  return std::make_unique<MpiFarm>(session.size(), std::move(work), patience);
}

void serve(const Session& session, const Work& work, Patience patience) try {
  if (session.rank() == 0) throw std::logic_error("rank 0 does not serve");
  const std::string host = std::to_string(getpid()) + " " + host_name();
  Silence silence(patience.silence);
  const auto latest_begin = Clock::now() + last_words;
  std::optional<Clock::time_point> heard;  // rank 0 may take its time before it has a farm
  Bytes answer;
  MPI_Request sending = MPI_REQUEST_NULL;
  const double for_rank_0_to_judge = std::numeric_limits<double>::infinity();
  std::optional<LocalFarm> own(std::in_place, work, Patience{for_rank_0_to_judge, patience.silence}, session.rank());

  // While it evaluates nothing comes but a beat or the release; the end of the evaluation ends the wait at once.
  const auto while_busy = std::min<Seconds>(Seconds(0.02), Seconds(patience.silence / 20));

  bool released = false;
  for (Pause pause(std::chrono::microseconds(5000)); !released;) {
    while (const auto status = look(0, MPI_ANY_TAG)) {
      if (status->MPI_TAG == farewell_tag) return;  // left in place for ~Session
      const Bytes message = receive(*status);
      heard = silence.listened();
      if (status->MPI_TAG == release_tag) released = true;
      if (status->MPI_TAG == task_tag) own->submit(unpack_task(message));
      if (status->MPI_TAG != beat_tag) pause.reset();
    }
    if (silence.listen()) send_unwatched(host, 0, beat_tag);
    if (heard ? silence.too_long_since(*heard) : Clock::now() > latest_begin) {
      std::fprintf(stderr, "dodyn: rank %d: rank 0 has fallen silent; leaving\n", session.rank());
      own.reset();  // asks the evaluation to stop, so that it can end what it has started
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
  abort_all(session.rank(), error.what());  // not on account of `work`: this rank cannot answer
}

}  // namespace dodyn::farm
