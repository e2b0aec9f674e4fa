// The farm over MPI ranks.
//
// Rank 0 keeps the queue (LocalFarm), evaluates from it on a thread of its own, and hands one task at a time to each
// other rank. Only main threads call MPI (MPI_THREAD_FUNNELED), and none waits inside MPI, where Open MPI spins: they
// look for messages and sleep in between (Pause).
//
// Messages, all point to point with rank 0:
//   task      0 -> r   one packed Task; r answers with
//   outcome   r -> 0   one packed Outcome
//   release   0 -> r   the farm closes: leave serve()
//   farewell  0 -> r   the session ends: finalise. Exactly one per rank, so that however rank 0 leaves its session
//                      (study done, bad input before there was a farm, an exception), nobody waits for it for ever.
// MPI keeps messages between two ranks in order, so a release overtakes no task.
#include <mpi.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "farm/local.hpp"
#include "farm/message.hpp"
#include "farm/perform.hpp"

namespace dodyn::farm {
namespace {

enum Tag { task_tag = 1, outcome_tag, release_tag, farewell_tag };

// How long to sleep between two looks for messages: short after traffic, longer the quieter it is. At 2 ms the looks
// cost about 1 % of a core.
class Pause {
 public:
  void reset() { length_ = shortest; }
  std::chrono::microseconds next() { return std::exchange(length_, std::min(2 * length_, longest)); }
  void sleep() { std::this_thread::sleep_for(next()); }

 private:
  static constexpr std::chrono::microseconds shortest{50}, longest{2000};
  std::chrono::microseconds length_ = shortest;
};

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

void finish_send(MPI_Request& request) {
  Pause pause;
  for (int done = 0;;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done) return;
    pause.sleep();
  }
}

void send(const Bytes& bytes, int destination, Tag tag) {
  MPI_Request request = start_send(bytes, destination, tag);
  finish_send(request);
}

// Ends the whole run, all ranks: where one rank cannot go on and the others would wait for it for ever.
[[noreturn]] void abort_all(int rank, const char* why) {
  std::fprintf(stderr, "dodyn: rank %d: %s; ending all ranks\n", rank, why);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::terminate();  // MPI_Abort does not return
}

class MpiFarm : public Farm {
 public:
  MpiFarm(int ranks, Work work) : own_(std::move(work)), workers_(ranks - 1) {}

  // Queued tasks are dropped. An evaluation cannot be interrupted: those that run are waited for and discarded.
  ~MpiFarm() override {
    while (own_.take()) {
    }
    for (Pause pause; busy_ > 0; pause.sleep()) collect();
    for (std::size_t i = 0; i < workers_.size(); ++i) send({}, rank_of(i), release_tag);
  }

  int evaluators() const override { return own_.evaluators() + static_cast<int>(workers_.size()); }
  int outstanding() const override { return own_.outstanding(); }

  void submit(Task task) override {
    own_.submit(std::move(task));
    hand_out();
  }

  std::optional<Outcome> next(std::chrono::milliseconds wait) override {
    const auto end = deadline(wait);
    for (Pause pause;;) {
      if (collect()) pause.reset();
      hand_out();
      const auto now = std::chrono::steady_clock::now();
      // sleeps, and wakes early when this rank's own evaluation finishes
      if (auto outcome = own_.next_until(std::min(end, now + pause.next()))) return outcome;
      if (now >= end || outstanding() == 0) return std::nullopt;
    }
  }

 private:
  struct Worker {
    bool busy = false;
    Bytes message;  // the task on its way
    MPI_Request sending = MPI_REQUEST_NULL;
  };
  static int rank_of(std::size_t worker) { return static_cast<int>(worker) + 1; }

  // Takes in the outcomes that have arrived. Returns whether there were any.
  bool collect() {
    bool any = false;
    while (const auto status = look(MPI_ANY_SOURCE, outcome_tag)) {
      own_.give_back(unpack_outcome(receive(*status)));
      Worker& worker = workers_[status->MPI_SOURCE - 1];
      finish_send(worker.sending);  // at once: the answer is here
      worker.busy = false;
      --busy_;
      any = true;
    }
    return any;
  }

  // A task for each free worker, while there are any.
  void hand_out() {
    for (std::size_t i = 0; i < workers_.size() && busy_ < workers_.size(); ++i) {
      Worker& worker = workers_[i];
      if (worker.busy) continue;
      const auto task = own_.take();
      if (!task) return;
      worker.message = pack(*task);
      worker.sending = start_send(worker.message, rank_of(i), task_tag);
      worker.busy = true;
      ++busy_;
    }
  }

  LocalFarm own_;
  std::vector<Worker> workers_;  // of ranks 1, 2, ...
  std::size_t busy_ = 0;         // workers that have a task
};

}  // namespace

Session::Session(int& argc, char**& argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  if (provided < MPI_THREAD_FUNNELED) throw std::runtime_error("farm: this MPI does not support threads");
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
}

Session::~Session() {
  if (rank_ == 0) {
    for (int other = 1; other < size_; ++other) send({}, other, farewell_tag);
  } else {
    Pause pause;
    for (bool farewell = false; !farewell; pause.sleep()) {
      if (const auto status = look(0, MPI_ANY_TAG)) {
        if (status->MPI_TAG == task_tag) abort_all(rank_, "left with tasks still coming");
        receive(*status);
        farewell = status->MPI_TAG == farewell_tag;
      }
    }
  }
  MPI_Finalize();
}

std::unique_ptr<Farm> make_mpi_farm(const Session& session, Work work) {
  if (session.rank() != 0) throw std::logic_error("farm: only rank 0 schedules");
  return std::make_unique<MpiFarm>(session.size(), std::move(work));
}

void serve(const Session& session, const Work& work) try {
  if (session.rank() == 0) throw std::logic_error("rank 0 does not serve");
  for (Pause pause;;) {
    const auto status = look(0, MPI_ANY_TAG);
    if (!status) {
      pause.sleep();
      continue;
    }
    if (status->MPI_TAG == farewell_tag) return;  // left in place for ~Session
    const Bytes message = receive(*status);
    if (status->MPI_TAG == release_tag) return;
    send(pack(perform(work, unpack_task(message), session.rank())), 0, outcome_tag);
    pause.reset();
  }
} catch (const std::exception& error) {
  abort_all(session.rank(), error.what());  // not on account of `work`: this rank cannot answer
}

}  // namespace dodyn::farm
