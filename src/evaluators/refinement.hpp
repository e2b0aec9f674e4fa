// Refines the mesh of a motion or gait by halving its intervals. Stops when the motion is accurate, its parts do not
// overlap and its cost has converged.
#pragma once

#include <functional>
#include <string>

namespace dodyn::evaluators {

struct MeshLimits {
  double accuracy = 0.0;   // Deviation::tracked (evaluators/continuous.hpp), m or rad; 0: any
  double tolerance = 0.0;  // relative change of the cost by a refinement; 0: any
  int refinements = 0;     // maximum number
};

// A motion on a mesh.
struct MeshResult {
  double cost = 0.0, tracked = 0.0;
  bool overlaps = false;  // parts overlap between its nodes by more than is allowed
};

struct Refinement {
  int count = 0;        // number of refinements
  double change = 0.0;  // relative change of the cost by the last refinement
  std::string failure;  // why a further refinement was not solved; empty: no failure
};

// Refines until the limits are satisfied, or `limits.refinements` are done, or a solve fails. `finer`: solves with
// twice the number of intervals and stores the result in its argument; returns why it failed, empty: success.
Refinement refine(const MeshLimits& limits, MeshResult motion, const std::function<std::string(MeshResult&)>& finer);

}  // namespace dodyn::evaluators
