// Names the conditions of a motion that an infeasible point violates most.
#include "evaluators/motion/design.hpp"
#include "record/text.hpp"

namespace dodyn::evaluators {

std::string describe_violations(const TranscribedMotion& planned, const Eigen::VectorXd& x) {
  constexpr double allowed = 1e-6;
  if (!x.allFinite()) return "";
  const dmoc::MotionProblem& problem = planned.problem;
  std::string words;
  if (const auto& pairs = planned.separation.pairs(); !pairs.empty())
    if (const dmoc::Clearance nearest = dmoc::clearance(problem, x, pairs);
        nearest.pair >= 0 && nearest.violation > allowed)
      words = "; " + dmoc::violation_text(problem.system(), pairs[nearest.pair], nearest.violation, nearest.time);
  return words + dmoc::worst_row(problem, planned.asked, x);
}

}  // namespace dodyn::evaluators
