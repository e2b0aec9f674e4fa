#include <cmath>
#include <string>
#include <vector>

#include "record/text.hpp"
#include "surrogate/ego_search.hpp"

namespace dodyn::surrogate {

using Eigen::VectorXd;

namespace {

// Returns the objectives of the feasible evaluations, without the last `but_last` evaluations.
std::vector<VectorXd> outcomes(const ObservedData& observed, std::size_t but_last) {
  std::vector<VectorXd> all;
  for (std::size_t i = 0; i + but_last < observed.evaluations.size(); ++i)
    if (const Evaluation& e = observed.evaluations[i]; observed.feasible(e)) all.push_back(observed.outcome(e));
  return all;
}

// Returns the growth of the front's hypervolume by the last evaluations, as a fraction. Infinite if there are too few
// evaluations, or if no earlier one is feasible.
double growth_of_front(const EgoState& ego, std::size_t last) {
  if (ego.observed.evaluations.size() < ego.initial_total + last) return infinity;
  const Front now = Front::of(outcomes(ego.observed, 0));
  Front before = Front::of(outcomes(ego.observed, last));
  before.reference = now.reference;
  return before.points.cols() == 0 ? infinity : 1 - before.hypervolume() / now.hypervolume();
}

}  // namespace

Front front_of(const ObservedData& observed) { return Front::of(outcomes(observed, 0)); }

std::string settled_front(const EgoState& ego, const Proposal& proposal, const AcquisitionModel& acquisition) {
  const std::size_t last = 10 + 5 * static_cast<std::size_t>(ego.dimensions());
  const double tolerance = ego.options.front_tolerance, grown = growth_of_front(ego, last);
  if (!(grown < tolerance)) return {};
  const double expected = proposal.design.size() == 0
                              ? 0.0
                              : std::exp(proposal.score) / std::max(acquisition.front().hypervolume(), 1e-300);
  if (!(expected < tolerance)) return {};
  return "the front's hypervolume grew by " + formatted("%.2g", 100 * grown) + " % in the last " +
         std::to_string(last) + " evaluations, and the model expects the next one to bring " +
         formatted("%.2g", 100 * expected) + " %";
}

}  // namespace dodyn::surrogate
