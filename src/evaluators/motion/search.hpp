// Searches for the best motion of a design from many initial guesses, optionally on a coarse mesh first. Then warps the
// best motion in time, and refines its mesh. Gaits and motions have the same keys.
#pragma once

#include <array>
#include <functional>

#include "evaluators/motion/description.hpp"
#include "evaluators/optima.hpp"
#include "evaluators/refinement.hpp"
#include "settings/key_table.hpp"

namespace dodyn::evaluators {

struct MotionSearch {
  int guesses = 8;           // number of cold starts of a design
  int tasks = 1;             // number of tasks that share the guesses
  int coarse_intervals = 0;  // total intervals of the mesh of the first solves; 0: the study's mesh
  int candidates = 1;        // number of coarse solutions, per task, that are solved again on the study's mesh
  bool balances = false;     // initial guesses contain the forces that their paths need
  int shifts = 0;            // largest time warp of the best motion, in nodes, in both directions
  MeshLimits mesh = {.accuracy = 0.05, .refinements = 2};
  bool gains = false;   // trajectories contain the gains of the feedback
  bool rejects = true;  // refuses motions that are impossible or not resolved by their mesh
  nlp::Options options = [] {
    nlp::Options o;
    o.tolerance = 1e-9;
    o.max_iterations = 500;
    o.max_processor_seconds = 120.0;  // for each initial guess
    return o;
  }();
};

// Returns the keys of the search. `section`: "gait." or "motion."; `unit`: unit of the accuracy.
KeyTable<MotionSearch> search_keys(const std::string& section, const std::string& unit, const MotionSearch& defaults);

// Returns the keys of the search that have no effect because of other keys, and why (EvaluatorKind::idle). `section`:
// "gait." or "motion.".
std::vector<std::pair<std::string, std::string>> idle_search_keys(const Settings& settings, const std::string& section);

// Reads these keys. Throws ConfigError if they are inconsistent, or if the description cannot use the coarse mesh.
MotionSearch read_search(const KeyTable<MotionSearch>& keys, const Settings& settings,
                         const MotionDescription& description);

// Computing times and numbers of the solves.
struct SolveTimes {
  nlp::Timing timing;
  double seconds = 0.0;
  int solves = 0, iterations = 0;
  void add(const nlp::Solution& solution);
};
std::string times_text(const SolveTimes& times);

// Value of FoundMotion::best_guess if another corner touches than in the motion from which the solve began.
inline constexpr int guess_by_corner = -2;

// The best motion on a mesh, and measures of its accuracy on that mesh.
struct MotionOnMesh {
  std::optional<SolvedMotion> best;
  std::shared_ptr<const MotionDescription> mesh;
  dmoc::Motion motion;
  Trajectory trajectory;  // trajectory of the best motion on this mesh; empty: no motion was found
  Deviation deviation;
  dmoc::Clearance clearance;
  int best_guess = 0;   // 0, 1, ...: cold start; -1: trajectory of the parent; or guess_by_corner
  double change = 0.0;  // relative change of the cost by the last refinement
  std::string note;     // messages about a failed refinement and about motions that were refused; empty: none
};

struct FoundMotion : MotionOnMesh {
  std::vector<Optimum> optima;
  int tried = 0, solved = 0, iterations = 0;
  std::array<int, 5> ends{};  // number of guesses by nlp::SolveStatus
  bool out_of_time = false;
};

// Returns why a motion is refused; empty: it is accepted.
using Refusal = std::function<std::string(const FoundMotion&)>;

// Solves from this task's share of the initial guesses, and returns the best motion that is not refused; if all are,
// the best one. Throws ConfigError if the model refuses the design.
FoundMotion search_motion(const MotionSearch& search, std::shared_ptr<const MotionDescription> description,
                          const Task& task, const Refusal& refusal, SolveTimes& times);

}  // namespace dodyn::evaluators
