// What goes to a rank and what comes back.
#pragma once

#include <functional>

#include "record/evaluation.hpp"
#include "record/trajectory.hpp"

namespace dodyn {

struct Task {
  Evaluation evaluation;  // id, parent, design and seed are set; the rest is for the evaluator to fill
  Trajectory warm_start;  // trajectory of evaluation `parent`, or empty
};

struct Outcome {
  Evaluation evaluation;
  Trajectory trajectory;
};

// The inner problem. It must not throw (the farm turns an exception into status `failed` all the same), and it must
// depend on nothing but the task, so that a study gives the same results on any number of ranks.
using Work = std::function<Outcome(const Task&)>;

}  // namespace dodyn
