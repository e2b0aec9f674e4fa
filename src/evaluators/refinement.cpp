#include "evaluators/refinement.hpp"

#include <cmath>

namespace dodyn::evaluators {

Refinement refine(const MeshLimits& limits, MeshResult motion, const std::function<std::string(MeshResult&)>& finer) {
  Refinement done;
  while (done.count < limits.refinements) {
    const bool settled = limits.tolerance <= 0.0 || (done.count > 0 && std::abs(done.change) <= limits.tolerance);
    const bool accurate = limits.accuracy <= 0.0 || !(motion.tracked > limits.accuracy);
    if (settled && accurate && !motion.overlaps) break;
    const double before = motion.cost;
    done.failure = finer(motion);
    if (!done.failure.empty()) break;
    ++done.count;
    done.change = motion.cost / before - 1.0;
  }
  return done;
}

}  // namespace dodyn::evaluators
