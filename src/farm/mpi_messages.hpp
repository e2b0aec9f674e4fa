// How ranks talk: the messages of the farm (mpi.cpp tells which there are), sent and received without ever waiting inside
// MPI, and the clocks by which ranks are missed.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "farm/local.hpp"
#include "farm/message.hpp"

namespace dodyn::farm {

enum Tag { task_tag = 1, outcome_tag, heartbeat_tag, release_tag, released_tag, farewell_tag, cancel_tag };

// How long to sleep between two looks for messages: short after traffic, longer the quieter it is, so that what comes
// waits no longer than it was waited for. At 2 ms the looks cost about 1 % of a core.
class PollBackoff {
 public:
  explicit PollBackoff(std::chrono::microseconds longest = std::chrono::microseconds(2000)) : longest_(longest) {}
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
std::optional<MPI_Status> look(int source, int tag);
Bytes receive(const MPI_Status& status);
// Starts to send; `bytes` must stay as they are until the request completes.
MPI_Request start_send(const Bytes& bytes, int destination, Tag tag);
// Waits until the bytes are on their way. Returns false where nobody takes them.
bool finish_send(MPI_Request& request);
// Sends without waiting. What a lost rank never takes in stays in memory until the process ends.
void send_unwatched(const std::string& text, int destination, Tag tag);
// Ends the whole run, all ranks: where one rank cannot go on and the others would wait for it forever.
[[noreturn]] void abort_all(int rank, const char* why);

// Tells when it is time to beat, and how long another rank has been silent. HeartbeatMonitor is counted while this rank listens:
// after a suspension of the job all ranks are as they were.
class HeartbeatMonitor {
 public:
  explicit HeartbeatMonitor(double most) : most_(Seconds(most)) {}
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
  bool too_long_since(Clock::time_point heard, double times = 1) const { return listened() - heard > times * most_; }

 private:
  const Seconds most_;
  Clock::time_point last_look_ = Clock::now(), next_beat_ = Clock::now();
  Clock::duration missed_{};
};

}  // namespace dodyn::farm
