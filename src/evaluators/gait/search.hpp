// The search for the best gait of a design: many starts, the best bent in time, refined meshes.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dmoc/gait.hpp"
#include "evaluators/continuous.hpp"
#include "evaluators/optima.hpp"
#include "evaluators/refinement.hpp"
#include "nlp/solve.hpp"
#include "record/task.hpp"

namespace dodyn::evaluators {

struct GaitSearch {
  int cold = 8;              // number of cold starts per design
  int parts = 1;             // tasks that share them
  int coarse_intervals = 0;  // mesh of the first solves; 0: the study's mesh
  int candidates = 1;        // coarse solutions, per part, that are re-solved on the study's mesh
  int shifts = 3;            // nodes by which the best gait is time-warped, at most, each way
  MeshLimits mesh = {.accuracy = 0.1, .refinements = 3};
  nlp::Options options = [] {
    nlp::Options o;
    o.tolerance = 1e-9;
    o.max_iterations = 300;
    o.max_seconds = 120.0;
    return o;
  }();
};

// Where the time of solves went.
struct SolveTimes {
  nlp::Timing timing;
  double seconds = 0.0;
  int solves = 0, iterations = 0;
  void add(const nlp::Solution& solution);
};

struct GaitFound {
  std::optional<nlp::Solution> best;
  std::vector<Optimum> optima;
  int best_start = 0;  // 0, 1, ... cold, -1 from the trajectory of the parent
  int tried = 0, solved = 0, iterations = 0;
  std::array<int, 5> ends{};  // starts by nlp::SolveStatus
  bool out_of_time = false;
  int intervals = 0;    // of the best
  double change = 0.0;  // of the cost by the last refinement, relative
  Departure departure;  // of the best
  std::string note;     // a refinement that failed
};

// Of a task's part the search on a mesh of so many intervals. `problem_of` makes the design's problem on a mesh.
GaitFound search_gait(const GaitSearch& search, int intervals,
                      const std::function<dmoc::WalkerGait(int intervals)>& problem_of, const Task& task,
                      SolveTimes& times);

}  // namespace dodyn::evaluators
