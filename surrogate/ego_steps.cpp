#include <algorithm>
#include <cmath>
#include <numeric>

#include "record/text.hpp"
#include "surrogate/bounded_search.hpp"
#include "surrogate/ego_search.hpp"
#include "surrogate/failure_boundary.hpp"
#include "surrogate/random.hpp"
#include "surrogate/sampling.hpp"
#include "surrogate/space_filling.hpp"

namespace dodyn::surrogate {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr double same_design = 1e-12;  // relative to the range: nearer designs coincide

// Replaces `best` by the inside point of the lowest predicted cost, if that cost is lower.
template <class Inside>
void keep_least(const Kriging& cost, const DesignSpace& space, const MatrixXd& points, const Inside& inside,
                Maximum& best) {
  MatrixXd z(space.embedded(), points.cols());
  for (Index i = 0; i < points.cols(); ++i) z.col(i) = space.embed(points.col(i));
  VectorXd mean, variance;
  cost.predict(z, mean, variance);
  for (Index i = 0; i < points.cols(); ++i)
    if (-mean(i) > best.value && inside(points.col(i))) best = {points.col(i), -mean(i)};
}

// Returns the points of the greatest values, in descending order.
std::vector<Candidate> foremost(const EgoState& ego, const MatrixXd& points, const VectorXd& values, Rule rule) {
  std::vector<Index> order(points.cols());
  std::iota(order.begin(), order.end(), Index(0));
  const auto most = order.begin() + std::min<std::ptrdiff_t>(points.cols(), most_candidates);
  std::partial_sort(order.begin(), most, order.end(), [&](Index a, Index b) { return values(a) > values(b); });
  std::vector<Candidate> found;
  for (auto i = order.begin(); i != most; ++i)
    if (std::isfinite(values(*i))) found.push_back({ego.observed.space.design(points.col(*i)), values(*i), rule});
  return found;
}

// Returns a proposal of the point that a rule has found. Its score is the predicted gain. No design if `found` is
// empty.
Proposal step_of(const EgoState& ego, const Maximum& found, Rule rule, const char* where) {
  Proposal proposal;
  proposal.rule = rule;
  if (found.at.size() == 0) return proposal;
  proposal.design = ego.observed.space.design(found.at);
  proposal.score =
      ego.models.objectives()[0].warp().forward(ego.observed.objective(*ego.observed.best_of_region(), 0)) +
      found.value;
  proposal.considered = {{proposal.design, proposal.score, rule}};
  proposal.note =
      "the least cost " + std::string(where) + ": a gain of " + formatted("%.3g", proposal.score) + " predicted";
  return proposal;
}

}  // namespace

Proposal fill(const EgoState& ego, const MatrixXd& candidates, bool local, const std::string& why) {
  Proposal proposal;
  proposal.rule = Rule::room;
  const NearestDistance crowd(ego.observed);
  const FailureBoundary edge(ego.observed);
  VectorXd values(candidates.cols());
  for (Index i = 0; i < candidates.cols(); ++i) {
    const VectorXd u = candidates.col(i);
    const double value = values(i) =
        std::log((local ? crowd.nearest(u) : crowd.room(u)) + 1e-12) +
        (local ? 2 : 1) * ego.models.success().log_probability(ego.observed.space.embed(u)) -
        (local && !edge.inside(u) ? 100 : 0);
    if (value > proposal.score) proposal.score = value, proposal.design = ego.observed.space.design(u);
  }
  proposal.considered = foremost(ego, candidates, values, Rule::room);
  proposal.note = why;
  return proposal;
}

// Proposes the smallest predicted cost outside the failed or flat region. Expected improvement stays away from an edge,
// because half of its gain would be lost to failures. The search is limited to a box around the best design, which
// grows and shrinks. The edge is learned from the nearest designs, so its accuracy matches the size of the box.
Proposal along_the_edge(const EgoState& ego) {
  const DesignSpace& space = ego.observed.space;
  const Kriging& cost = ego.models.objectives()[0].model();
  const VectorXd centre = ego.observed.unit(*ego.observed.best_of_region());
  const LocalFailureBoundary edge(ego.observed, centre, ego.edge_side);
  Maximum best;
  const auto inside = [&](const VectorXd& u) {
    return edge.logit(u) > ego.required_log_odds && ego.is_distinct(u) && ego.possible(u);
  };
  const auto consider = [&](const MatrixXd& points) { keep_least(cost, space, points, inside, best); };
  const auto within = [&](VectorXd u) {
    for (Index k = 0; k < ego.dimensions(); ++k)
      u(k) = space.moves(k)
                 ? std::clamp(u(k), std::max(0.0, centre(k) - ego.edge_side), std::min(1.0, centre(k) + ego.edge_side))
                 : centre(k);
    return space.rounded(u);
  };
  const std::uint64_t seed = ego.options.seed * 7001 + ego.observed.evaluations.size();
  MatrixXd points = sobol(ego.dimensions(), 200 * ego.dimensions(), seed);
  for (Index i = 0; i < points.cols(); ++i)
    points.col(i) = within(centre + ego.edge_side * (2 * points.col(i).array() - 1).matrix());
  consider(points);
  Random random(seed);
  for (double size = ego.edge_side / 4; size > ego.edge_side / 100 && best.at.size() > 0; size /= 3) {
    MatrixXd about(ego.dimensions(), 60);
    for (Index i = 0; i < about.cols(); ++i) {
      VectorXd u = best.at;
      for (double& coordinate : u) coordinate += size * random.normal();
      about.col(i) = within(u);
    }
    consider(about);
  }
  return step_of(ego, best, Rule::edge,
                 edge.exists() ? "on this side of what fails or is flat" : "about the best, of costs that are lumpy");
}

// Proposes the smallest predicted cost within the constraints. Their models must satisfy them by a number of standard
// deviations that depends on the success of earlier steps.
Proposal along_the_constraints(const EgoState& ego, const MatrixXd& candidates) {
  const Kriging& cost = ego.models.objectives()[0].model();
  const DesignSpace& space = ego.observed.space;
  const double margin = std::exp(std::clamp(0.8 * ego.required_log_odds, -1.6, 1.0));
  BoundedSearch limits{VectorXd::Zero(ego.dimensions()), VectorXd::Ones(ego.dimensions()), 60, 1e-9, 0};
  limits.at_most_zero = ego.conditions();
  for (std::size_t k = 0; k < ego.observed.constraints.size(); ++k) {
    const IncrementalKriging& model = ego.models.constraints()[k];
    const double limit = model.warp().forward(ego.observed.constraints[k].limit);
    const double sign = ego.observed.constraints[k].below ? 1 : -1;
    const double unit = std::sqrt(model.model().hyperparameters().variance + 1e-300);
    limits.at_most_zero.push_back([&, limit, sign, unit, margin](const VectorXd& u, VectorXd* slope) {
      const Prediction p = model.model().predict(space.embed(u));
      const double s = std::sqrt(p.variance + 1e-300);
      if (slope) *slope = space.pull_back(sign * p.mean_gradient + 0.5 * margin / s * p.variance_gradient) / unit;
      return (sign * (p.mean - limit) + margin * s) / unit;
    });
  }
  const FailureBoundary edge(ego.observed);
  const auto inside = [&](const VectorXd& u) {
    return (!edge.exists() || ego.models.success().logit(space.embed(u)) > ego.required_log_odds) &&
           ego.is_distinct(u, EgoState::fine_resolution) && ego.possible(u) &&
           std::all_of(limits.at_most_zero.begin(), limits.at_most_zero.end(),
                       [&](const Smooth& g) { return g(u, nullptr) <= 1e-9; });
  };
  Maximum best;
  const auto consider = [&](const MatrixXd& points) { keep_least(cost, space, points, inside, best); };
  consider(candidates);
  std::vector<VectorXd> starts = {ego.observed.unit(*ego.observed.best_of_region())};
  if (best.at.size() > 0) starts.push_back(best.at);
  for (const VectorXd& start : starts) {
    BoundedSearch own = limits;
    for (Index k = 0; k < ego.dimensions(); ++k)
      if (!space.moves(k)) own.lower(k) = own.upper(k) = start(k);
    Maximum found = maximise(
        [&](const VectorXd& u, VectorXd* slope) {
          const Prediction p = cost.predict(space.embed(u));
          if (slope) *slope = space.pull_back(-p.mean_gradient);
          return -p.mean;
        },
        start, own);
    if (const VectorXd rounded = space.rounded(found.at); rounded != found.at)
      found = {rounded, -cost.predict(space.embed(rounded)).mean};
    if (found.at.size() > 0 && !ego.possible(found.at)) {  // rounding moved it over the border of a condition
      found.at = ego.last_possible(start, found.at);
      found.value = -cost.predict(space.embed(found.at)).mean;
    }
    if (found.value > best.value && inside(found.at)) best = found;
  }
  Random random(ego.options.seed * 7001 + ego.observed.evaluations.size());
  for (double size = 0.05; size > EgoState::fine_resolution && best.at.size() > 0; size /= 3) {
    MatrixXd about(ego.dimensions(), 100);
    for (Index i = 0; i < about.cols(); ++i)
      for (Index k = 0; k < ego.dimensions(); ++k)
        about(k, i) = space.moves(k) ? std::clamp(best.at(k) + size * random.normal(), 0.0, 1.0) : best.at(k);
    for (Index i = 0; i < about.cols(); ++i) about.col(i) = space.rounded(about.col(i));
    consider(about);
  }
  return step_of(ego, best, Rule::limits, "on this side of the constraints");
}

Proposal step_of_descent(const EgoState& ego) {
  Proposal proposal;
  LocalDescent::Step step = ego.local.step(ego.observed, ego.least_gain(), ego.options.gradient, ego.conditions());
  if (step.at.size() > 0 && ego.options.possible)
    step.at = ego.last_possible(ego.observed.unit(*ego.observed.best_of_region()), step.at);
  if (step.at.size() == 0 || !ego.possible(step.at) || !ego.is_distinct(step.at, same_design)) return proposal;
  proposal.rule = Rule::descent;
  proposal.step = step;
  proposal.design = ego.observed.space.design(step.at);
  proposal.score = step.gain;
  proposal.considered = {{proposal.design, proposal.score, Rule::descent}};
  proposal.note = "descent about the best: a gain of " + formatted("%.3g", step.gain) +
                  (step.explores ? " not ruled out" : " predicted");
  return proposal;
}

// Proposes a check when the model expects no further gain: far from other designs, where a model with limited length
// scales is least certain.
Proposal check(const EgoState& ego, double gain) {
  const DesignSpace& space = ego.observed.space;
  const IncrementalKriging& tracked = ego.models.objectives()[0];
  const int d = ego.dimensions();
  const std::uint64_t seed = ego.options.seed * 1000003 + ego.observed.evaluations.size() * 101;
  const MatrixXd points =
      ego.possible_ones(sobol(d, std::min(200 + 100 * d, tracked.model().samples() > 300 ? 300 : 1500), seed));
  MatrixXd z(space.embedded(), points.cols());
  for (Index i = 0; i < points.cols(); ++i) z.col(i) = space.embed(points.col(i));
  VectorXd mean, variance;
  double least = 0;
  if (ego.compares_pairs()) {
    tracked.model().predict_difference(z, space.embed(ego.observed.unit(*ego.selection.recommended)), mean, variance);
  } else {
    tracked.with_max_length(EgoState::max_check_length).predict(z, mean, variance);
    const double best = ego.compares_designs() ? ego.selection.cost : ego.observed.objective(*ego.observed.best(), 0);
    least = tracked.warp().forward(best);
  }
  const VectorXd kept = ego.models.log_feasible(ego.observed, z);
  const NearestDistance crowd(ego.observed);
  Proposal proposal;
  proposal.rule = Rule::check;
  Index doubtful = 0, at = 0;
  VectorXd values = VectorXd::Constant(points.cols(), -infinity);
  for (Index i = 0; i < points.cols(); ++i) {
    const double s = std::sqrt(variance(i) + 1e-300), likely = ego.models.success().log_probability(z.col(i));
    doubtful += mean(i) - 2 * s < least - gain && likely + kept(i) > std::log(least_usable);
    if (!ego.is_distinct(points.col(i))) continue;
    const double value = values(i) =
        std::log(crowd.room(points.col(i)) + 1e-12) + likely - 0.25 * std::clamp((mean(i) - least) / s, 0.0, 8.0);
    if (value > proposal.score) proposal.score = value, at = i;
  }
  proposal.design = space.design(points.col(at));
  proposal.considered = foremost(ego, points, values, Rule::check);
  proposal.undecided_fraction =
      ego.compares_pairs() ? ego.open.fraction : static_cast<double>(doubtful) / static_cast<double>(points.cols());
  return proposal;
}

}  // namespace dodyn::surrogate
