// What a point that meets not all that is asked of a motion misses most, in words.
#include "evaluators/motion/design.hpp"
#include "record/text.hpp"

namespace dodyn::evaluators {

std::string missed(const TranscribedMotion& planned, const Eigen::VectorXd& x) {
  constexpr double allowed = 1e-6;
  if (!x.allFinite()) return "";
  const dmoc::MotionProblem& problem = planned.problem;
  std::string words;
  if (const auto& pairs = planned.separation.pairs(); !pairs.empty())
    if (const dmoc::Clearance nearest = dmoc::clearance(problem, x, pairs, 4);
        nearest.pair >= 0 && nearest.short_by > allowed) {
      const auto& pair = pairs[static_cast<std::size_t>(nearest.pair)];
      words = formatted("; %s and %s, t = %.3g s, ", part_name(problem.system(), pair.one).c_str(),
                        part_name(problem.system(), pair.other).c_str(), nearest.time) +
              (pair.margin.value == 0.0 ? formatted("overlap by %.3g mm", 1e3 * nearest.short_by)
                                        : formatted("are nearer than their margin by %.3g mm", 1e3 * nearest.short_by));
    }
  return words + dmoc::worst_row(problem, planned.asked, x);
}

}  // namespace dodyn::evaluators
