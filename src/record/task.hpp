// The messages of the farm: tasks go to a rank, outcomes come back.
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
  Evaluation evaluation;  // id, parent, design and seed are set; the evaluator fills the rest
  Trajectory warm_start;  // trajectory of evaluation `parent`, or empty
  std::int32_t part = 0;  // index of the part, if the evaluator splits an evaluation; otherwise 0
  double time_limit = std::numeric_limits<double>::infinity();  // s

  // Set on the evaluating rank. A solver or a simulation polls `seconds_left` and at 0 returns its best result as
  // `timed_out`. An evaluation that cannot poll is given up some time later, with its rank.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  std::stop_token stop = {};  // stop requested: the run ends, and the answer is not needed

  double seconds_left() const {
    if (stop.stop_requested()) return 0.0;
    if (deadline == std::chrono::steady_clock::time_point::max()) return std::numeric_limits<double>::infinity();
    return std::max(0.0, std::chrono::duration<double>(deadline - std::chrono::steady_clock::now()).count());
  }
};

struct Outcome {
  Evaluation evaluation;
  Trajectory trajectory;
  std::int32_t part = 0;  // index of the task's part
  // Whether a signal from outside may have ended the attempt. True for status lost by such a signal
  // (record/signals.hpp), and for status failed without an answer, because a script may fail when its simulator is
  // killed. If the run must end at about the same time, the attempt does not count: both probably have the same cause.
  bool killed = false;
  std::vector<Packed> packed =
      {};  // the trajectory's matrices in the form of the archive; empty: they are not yet compressed
};

// The inner problem. The farm converts exceptions: MachineTrouble and std::system_error to status `lost`, all others to
// `failed`. The result must depend only on the task, except if the time limit ends the work. Then a study gives the
// same results on any number of ranks.
using Work = std::function<Outcome(const Task&)>;

}  // namespace dodyn
