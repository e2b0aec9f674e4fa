#include <cmath>
#include <string>
#include <vector>

#include "record/text.hpp"
#include "surrogate/ego_search.hpp"

namespace dodyn::surrogate {

using Eigen::VectorXd;

namespace {

// The objectives of what was told, without the last ones.
std::vector<VectorXd> outcomes(const Evidence& evidence, std::size_t but_last) {
  std::vector<VectorXd> all;
  for (std::size_t i = 0; i + but_last < evidence.told.size(); ++i)
    if (const Evaluation& e = evidence.told[i]; evidence.feasible(e)) all.push_back(evidence.outcome(e));
  return all;
}

// Share of the front's hypervolume that the last evaluations brought.
double growth_of_front(const EgoState& ego, std::size_t last) {
  if (ego.evidence.told.size() < ego.initial_total + last) return infinity;
  const Front now = Front::of(outcomes(ego.evidence, 0));
  Front before = Front::of(outcomes(ego.evidence, last));
  before.reference = now.reference;
  return before.points.cols() == 0 ? infinity : 1 - before.hypervolume() / now.hypervolume();
}

}  // namespace

Front front_of(const Evidence& evidence) { return Front::of(outcomes(evidence, 0)); }

std::string settled_front(const EgoState& ego, const Plan& plan, const Beliefs& beliefs) {
  const std::size_t last = 10 + 5 * static_cast<std::size_t>(ego.dimensions());
  const double tolerance = ego.options.front_tolerance, grown = growth_of_front(ego, last);
  if (!(grown < tolerance)) return {};
  const double expected =
      plan.design.size() == 0 ? 0.0 : std::exp(plan.score) / std::max(beliefs.front().hypervolume(), 1e-300);
  if (!(expected < tolerance)) return {};
  return "the front's hypervolume grew by " + formatted("%.2g", 100 * grown) + " % in the last " +
         std::to_string(last) + " evaluations, and the model expects the next one to bring " +
         formatted("%.2g", 100 * expected) + " %";
}

}  // namespace dodyn::surrogate
