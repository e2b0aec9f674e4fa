// What goes to a rank and what comes back.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <stop_token>

#include "record/evaluation.hpp"
#include "record/packed.hpp"
#include "record/trajectory.hpp"

namespace dodyn {

struct Task {
  Evaluation evaluation;  // id, parent, design and seed are set; the rest is for the evaluator to fill
  Trajectory warm_start;  // trajectory of evaluation `parent`, or empty
  std::int32_t part = 0;  // which of the parts that its evaluator splits an evaluation into; mostly there is one
  double time_limit = std::numeric_limits<double>::infinity();  // s

  // Set on the evaluating rank. A solver or a simulation polls `seconds_left` and at 0 returns its best result as
  // `timed_out`. An evaluation that cannot poll is given up some time later, with its rank.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  std::stop_token stop = {};  // the run ends: nobody waits for the answer

  double seconds_left() const {
    if (stop.stop_requested()) return 0.0;
    if (deadline == std::chrono::steady_clock::time_point::max()) return std::numeric_limits<double>::infinity();
    return std::max(0.0, std::chrono::duration<double>(deadline - std::chrono::steady_clock::now()).count());
  }
};

struct Outcome {
  Evaluation evaluation;
  Trajectory trajectory;
  std::int32_t part = 0;  // that of the task
  // Status lost, since a signal from outside ended the process that worked on it (record/signals.hpp); or failed without
  // an answer, which may be how a script says that its simulator was ended so. Where the run is told to end at about that
  // time, it was the same hand, and the attempt does not count.
  bool killed = false;
  std::vector<Packed> packed =
      {};  // the trajectory's matrices as the archive has them; empty: they are yet to be packed
};

// The inner problem. It must not throw (the farm turns an exception into status `failed` all the same), and but for its
// time limit it must depend on nothing but the task, so that a study gives the same results on any number of ranks.
using Work = std::function<Outcome(const Task&)>;

}  // namespace dodyn
