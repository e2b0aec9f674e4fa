// Sends and receives the messages of the farm (listed in mpi.cpp) without waiting inside MPI. Contains the clocks that
// detect silent ranks.
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

// Exponential backoff: how long to sleep between two looks for messages. The sleep is short after traffic and grows
// while there is none. A message waits at most as long as the silence before it. Looks every 2 ms cost about 1 % of a
// core.
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

// Timeout of messages without heartbeats: the first and the last message of rank 0, and the acceptance of each message
// in finish_send().
constexpr std::chrono::seconds farewell_timeout(60);

// Returns the status of a message that has arrived, if any.
std::optional<MPI_Status> look(int source, int tag);
Bytes receive(const MPI_Status& status);
// Starts to send; `bytes` must stay as they are until the request completes.
MPI_Request start_send(const Bytes& bytes, int destination, Tag tag);
// Waits until the send completes, so that its bytes may change. Returns false if it does not within farewell_timeout,
// because no process receives them.
bool finish_send(MPI_Request& request);
// Sends without waiting for the completion. A message that a lost rank never receives stays in memory until the process
// ends.
void send_unwatched(const std::string& text, int destination, Tag tag);
// Ends all ranks. For a rank that cannot continue while the others would wait for it forever.
[[noreturn]] void abort_all(int rank, const char* why);

// Reports when to send a beat, and how long another rank has been silent. Silence counts only while this rank listens:
// after a suspension of the job no rank is considered lost.
class HeartbeatMonitor {
 public:
  explicit HeartbeatMonitor(double most) : most_(Seconds(most)) {}
  // Call this at every look for messages, after the messages that have arrived are received. Returns whether to send a
  // beat.
  bool listen() {
    const auto now = Clock::now();
    if (now - last_look_ > most_ / 4) missed_ += now - last_look_;
    last_look_ = now;
    if (now < next_beat_) return false;
    next_beat_ = now + std::chrono::duration_cast<Clock::duration>(most_ / 10);
    return true;
  }
  // Returns the current time of a clock that stands still while this rank does not listen.
  Clock::time_point listened() const { return last_look_ - missed_; }
  bool silent_too_long(Clock::time_point heard, double times = 1) const { return listened() - heard > times * most_; }

 private:
  const Seconds most_;
  Clock::time_point last_look_ = Clock::now(), next_beat_ = Clock::now();
  Clock::duration missed_{};
};

}  // namespace dodyn::farm
