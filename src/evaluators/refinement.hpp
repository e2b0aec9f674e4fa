// Refines the mesh of a motion or gait: intervals are halved until the motion is accurate, its parts keep clear and its cost has
// settled.
#pragma once

#include <functional>
#include <string>

namespace dodyn::evaluators {

struct MeshLimits {
  double accuracy = 0.0;   // Departure::tracked (evaluators/continuous.hpp), m or rad; 0: any
  double tolerance = 0.0;  // relative change of the cost by a refinement; 0: any
  int refinements = 0;     // at most
};

// A motion on a mesh.
struct Meshed {
  double cost = 0.0, tracked = 0.0;
  bool overlaps = false;  // parts between its nodes, beyond what is allowed
};

struct Refinement {
  int count = 0;        // how often intervals were halved
  double change = 0.0;  // of the cost by the last one, relative
  std::string failure;  // empty, or why a further one was not solved
};

// `finer`: solves on twice as many intervals and sets the motion there; returns empty, or why it is not solved.
Refinement refine(const MeshLimits& limits, Meshed motion, const std::function<std::string(Meshed&)>& finer);

}  // namespace dodyn::evaluators
