// The search for the best motion of a design: many initial guesses, on a coarse mesh first where asked for; the best one bent in
// time; its mesh refined. Gaits and motions have the same keys for it.
#pragma once

#include <array>

#include "evaluators/motion/description.hpp"
#include "evaluators/optima.hpp"
#include "evaluators/refinement.hpp"
#include "settings/key_table.hpp"

namespace dodyn::evaluators {

struct MotionSearch {
  int guesses = 8;           // cold starts of a design
  int tasks = 1;             // that share them
  int coarse_intervals = 0;  // of all phases, mesh of the first solves; 0: the study's mesh
  int candidates = 1;        // coarse solutions, per task, that are re-solved on the study's mesh
  int shifts = 0;            // nodes by which the best motion is time-warped, at most, each way
  MeshLimits mesh = {.accuracy = 0.05, .refinements = 2};
  bool refuses = true;  // what is impossible, or what its mesh does not resolve
  nlp::Options options = [] {
    nlp::Options o;
    o.tolerance = 1e-9;
    o.max_iterations = 500;
    o.max_seconds = 120.0;  // of an initial guess
    return o;
  }();
};

// `section`: "gait." or "motion."; `unit`: of the accuracy.
KeyTable<MotionSearch> search_keys(const std::string& section, const std::string& unit, const MotionSearch& defaults);

// Reads these keys. Throws ConfigError if they contradict each other, or if the description has no such mesh.
MotionSearch read_search(const KeyTable<MotionSearch>& keys, const Settings& settings,
                         const MotionDescription& description);

// Where the time of solves went.
struct SolveTimes {
  nlp::Timing timing;
  double seconds = 0.0;
  int solves = 0, iterations = 0;
  void add(const nlp::Solution& solution);
};
std::string times_text(const SolveTimes& times);

// FoundMotion::best_start of a motion that was found near another one, by another corner that touches.
inline constexpr int start_by_corner = -2;

struct FoundMotion {
  std::optional<SolvedMotion> best;
  std::shared_ptr<const MotionDescription> mesh;  // of the best
  dmoc::Motion motion;                            // the best one, and
  Trajectory trajectory;                          // its trajectory on that mesh; empty where there is none
  Departure departure;
  dmoc::Clearance clearance;
  std::vector<Optimum> optima;
  int best_start = 0;  // 0, 1, ... cold, -1 from the trajectory of the parent, start_by_corner
  int tried = 0, solved = 0, iterations = 0;
  std::array<int, 5> ends{};  // guesses by nlp::SolveStatus
  bool out_of_time = false;
  double change = 0.0;  // of the cost by the last refinement, relative
  std::string note;     // a refinement that failed
};

// Of a task's part the search. Throws ConfigError where the model refuses the design.
FoundMotion search_motion(const MotionSearch& search, std::shared_ptr<const MotionDescription> description,
                          const Task& task, SolveTimes& times);

}  // namespace dodyn::evaluators
