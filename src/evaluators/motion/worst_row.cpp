// Which of all that a motion is asked for it misses most, in words.
#include <algorithm>
#include <numeric>

#include "evaluators/motion/design.hpp"
#include "record/text.hpp"

namespace dodyn::evaluators {

namespace {

constexpr double allowed = 1e-6;

// Rows that balance momenta and forces at a node: of which coordinate, and when; empty: another row.
std::string of_momenta(const dmoc::MotionProblem& problem, const Eigen::VectorXd& x, int row) {
  const auto& tree = problem.system().structure();
  double begin = 0.0;
  for (int i = 0; i < problem.phases(); ++i) {
    const auto& index = problem.index(i);
    const auto& moving = problem.functions(i).moving;
    const double T = index.duration >= 0 ? x(index.duration) : problem.phase(i).duration.value;
    for (int k = 0; k <= index.intervals; ++k) {
      const int first = problem.momentum_row(i, k);
      if (first < 0 || row < first || row >= first + static_cast<int>(moving.size())) continue;
      const int coordinate = moving[static_cast<std::size_t>(row - first)];
      return formatted("momentum of %s at t = %.3g s",
                       tree.coordinate_names[static_cast<std::size_t>(coordinate)].c_str(),
                       begin + T * k / index.intervals);
    }
    begin += T;
  }
  return "";
}

}  // namespace

std::string worst_row(const TranscribedMotion& planned, const Eigen::VectorXd& x) {
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
  const auto& nlp = problem.problem();
  Eigen::VectorXd c(nlp.constraints());
  nlp.constraint_values(x, c);
  const Eigen::VectorXd missed = (nlp.constraint_lower - c).cwiseMax(c - nlp.constraint_upper);
  Eigen::Index row = 0;
  if (missed.size() == 0 || !(missed.maxCoeff(&row) > allowed)) return words;
  std::string what = of_momenta(problem, x, static_cast<int>(row));
  if (what.empty()) {
    const auto after = std::upper_bound(planned.asked.begin(), planned.asked.end(), static_cast<int>(row),
                                        [](int r, const auto& group) { return r < group.first; });
    if (after != planned.asked.begin()) what = std::prev(after)->second;
  }
  if (!what.empty()) words += formatted("; %s is missed by %.3g", what.c_str(), missed(row));
  return words;
}

}  // namespace dodyn::evaluators
