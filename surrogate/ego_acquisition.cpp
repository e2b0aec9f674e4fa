#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include "surrogate/bounded_search.hpp"
#include "surrogate/ego_search.hpp"
#include "surrogate/random.hpp"
#include "surrogate/sampling.hpp"

namespace dodyn::surrogate {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

// Returns the evaluations around which candidates are placed, best first.
std::vector<const Evaluation*> good_designs(const EgoState& ego) {
  const bool descends = ego.descends();
  std::vector<const Evaluation*> good;
  for (std::size_t i = ego.observed.from; i < ego.observed.evaluations.size(); ++i) {
    const Evaluation& e = ego.observed.evaluations[i];
    if (ego.observed.feasible(e) && (!descends || ego.basin_search.holds(ego.observed, e))) good.push_back(&e);
  }
  std::stable_sort(good.begin(), good.end(),
                   [&](auto* a, auto* b) { return ego.observed.objective(*a, 0) < ego.observed.objective(*b, 0); });
  if (ego.observed.objectives.size() < 2) return good;
  std::vector<const Evaluation*> front;  // ascending by the first objective, so that none is dominated by a later one
  for (const Evaluation* e : good) {
    const VectorXd own = ego.observed.outcome(*e);
    if (std::none_of(front.begin(), front.end(),
                     [&](auto* other) { return (ego.observed.outcome(*other).array() <= own.array()).all(); }))
      front.push_back(e);
  }
  return front;
}

// Improves `best`, an allowed point, if the maximum of the acquisition is not allowed: tries the last allowed point on
// the line to that maximum, then points around the best one.
void along_the_conditions(const EgoState& ego, const AcquisitionModel& acquisition, const VectorXd& maximum,
                          const BoundedSearch& limits, Maximum& best) {
  const VectorXd edge = ego.last_possible(best.at, maximum);
  if (const double value = acquisition.score(edge, nullptr); ego.possible(edge) && value > best.value)
    best = {edge, value};
  constexpr Index tries = 60;
  Random random(ego.options.seed * 9001 + ego.observed.evaluations.size());
  for (double size = 0.1; size > 1e-3; size /= 3) {
    MatrixXd about(ego.dimensions(), tries);
    for (Index i = 0; i < tries; ++i) {
      VectorXd u = best.at;
      for (Index k = 0; k < ego.dimensions(); ++k)
        if (ego.observed.space.moves(k))
          u(k) = std::clamp(u(k) + size * random.normal(), limits.lower(k), limits.upper(k));
      about.col(i) = ego.observed.space.rounded(u);
    }
    const VectorXd values = acquisition.scores(about);
    for (Index i = 0; i < tries; ++i)
      if (values(i) > best.value && ego.possible(about.col(i))) best = {about.col(i), values(i)};
  }
}

// Improves a point by gradient steps in the variables that move, then by trying the values of each discrete variable in
// turn: all values, or the neighbours of a whole number that moves.
Maximum refine(const EgoState& ego, const AcquisitionModel& acquisition, const VectorXd& start, const VectorXd& lower,
               const VectorXd& upper) {
  const DesignSpace& space = ego.observed.space;
  const bool large = ego.models.objectives()[0].model().samples() > 300;
  BoundedSearch limits{lower, upper, large ? 25 : 60, 1e-8, 1e-6};
  for (Index k = 0; k < ego.dimensions(); ++k)
    if (!space.moves(k)) limits.lower(k) = limits.upper(k) = start(k);
  limits.at_most_zero = ego.conditions();
  Maximum best{start, acquisition.score(start, nullptr)};
  Maximum found =
      maximise([&](const VectorXd& u, VectorXd* slope) { return acquisition.score(u, slope); }, start, limits);
  if (const VectorXd rounded = space.rounded(found.at); rounded != found.at)
    found = {rounded, acquisition.score(rounded, nullptr)};
  if (found.at.size() == 0 || ego.possible(found.at)) {
    if (found.value > best.value) best = found;
  } else {
    along_the_conditions(ego, acquisition, found.at, limits, best);
  }
  for (Index k = 0; k < ego.dimensions(); ++k) {
    if (space.real(k)) continue;
    int first = 0, last = space.levels(k) - 1;
    if (space.moves(k)) {
      const int own = space.level(k, best.at(k));
      first = std::max(first, own - 1);
      last = std::min(last, own + 1);
    }
    for (int level = first; level <= last; ++level) {
      VectorXd u = best.at;
      u(k) = space.unit_of_level(k, level);
      const double other = acquisition.score(u, nullptr);
      if (other > best.value && ego.possible(u)) best = {u, other};
    }
  }
  return best;
}

}  // namespace

AcquisitionModel make_acquisition_model(const EgoState& ego) {
  AcquisitionModelOptions o;
  o.success_power = 1 + 0.5 * std::min(std::max(ego.consecutive_failures, ego.unpredicted_failures), 8);
  if (!ego.models.objectives()[0].empty()) {
    const Warp& warp = ego.models.objectives()[0].warp();
    if (ego.descends()) {
      o.incumbent = warp.forward(ego.basin_search.best(ego.observed).cost);
    } else if (ego.is_settling()) {
      o.longest = EgoState::max_check_length;
      o.margin = 0.01 * ego.observed.quantile(0.5, warp);
    }
  }
  return AcquisitionModel(ego.observed, ego.models, o);
}

void search_box(const EgoState& ego, VectorXd& lower, VectorXd& upper) {
  lower = VectorXd::Zero(ego.dimensions());
  upper = VectorXd::Ones(ego.dimensions());
  if (ego.models.objectives()[0].empty()) return;
  if (ego.descends()) {
    lower = ego.basin_search.lower(ego.observed);
    upper = ego.basin_search.upper(ego.observed);
  }
  const Evaluation* const centre = ego.observed.best_of_region();
  if (!ego.options.trust_region || !centre) return;
  const VectorXd lengths =
      ego.observed.space.all_real() ? ego.models.objectives()[0].model().hyperparameters().log_length : VectorXd();
  lower = ego.region.lower(ego.observed.unit(*centre), lengths);
  upper = ego.region.upper(ego.observed.unit(*centre), lengths);
}

MatrixXd candidates_in(const EgoState& ego, const VectorXd& lower, const VectorXd& upper) {
  const Index d = ego.dimensions();
  const IncrementalKriging& model = ego.models.objectives()[0];
  const std::uint64_t seed =
      ego.options.seed * 1000003 + ego.observed.evaluations.size() * 101 + ego.observed.pending.size();
  const Index rows = model.empty() ? 0 : model.model().samples();
  // predictions need rows^2 operations per candidate
  const Index spread = std::min<Index>(200 + 100 * d, rows > 600 ? 150 : rows > 300 ? 300 : 1500);
  const VectorXd box = upper - lower;
  MatrixXd points = (box.asDiagonal() * sobol(d, spread, seed)).colwise() + lower;
  const auto good = good_designs(ego);
  if (good.empty()) return ego.possible_ones(points);
  Random random(seed);
  const bool front = ego.observed.objectives.size() > 1;
  const Index seeds = std::min<Index>(good.size(), front ? 60 : 3),
              around = seeds * std::min<Index>(front ? 20 : 40 + 10 * d, rows > 600 ? 40 : 100);
  const bool repeats = ego.observed.noisy();
  points.conservativeResize(Eigen::NoChange, spread + around + (repeats ? static_cast<Index>(good.size()) : 0));
  for (Index i = 0; i < around; ++i) {
    // the best designs, or designs distributed along the front
    const Index which = front ? i % seeds * static_cast<Index>(good.size()) / seeds : i % seeds;
    VectorXd u = ego.observed.unit(*good[which]);
    const double size = std::pow(10.0, -0.5 - 3 * random.uniform());
    const double share = std::max(1.0 / static_cast<double>(d), random.uniform());
    for (Index k = 0; k < d; ++k)
      if (random.uniform() < share) u(k) += size * random.normal();
    for (Index k = 0; k < d; ++k)
      if (!ego.observed.space.real(k) && random.uniform() < share) u(k) = random.uniform();
    points.col(spread + i) = u.cwiseMax(lower).cwiseMin(upper);
  }
  for (Index i = 0; i < spread + around; ++i) points.col(i) = ego.observed.space.rounded(points.col(i));
  if (repeats)
    for (std::size_t i = 0; i < good.size(); ++i)
      points.col(spread + around + static_cast<Index>(i)) = ego.observed.unit(*good[i]);
  return ego.possible_ones(points);
}

Proposal by_acquisition(const EgoState& ego, const AcquisitionModel& acquisition, const MatrixXd& candidates,
                        const VectorXd& lower, const VectorXd& upper) {
  const VectorXd values = acquisition.scores(candidates);
  std::vector<Index> order(candidates.cols());
  std::iota(order.begin(), order.end(), Index(0));
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return values(a) > values(b); });
  std::vector<VectorXd> starts;
  const bool large = ego.models.objectives()[0].model().samples() > 300;
  for (const Index i : order) {
    if (starts.size() >= (large ? 2 : 5)) break;
    if (std::all_of(starts.begin(), starts.end(),
                    [&](const auto& s) { return (s - candidates.col(i)).cwiseAbs().maxCoeff() > 0.05; }))
      starts.push_back(candidates.col(i));
  }
  std::vector<Maximum> found;
  for (const VectorXd& start : starts) found.push_back(refine(ego, acquisition, start, lower, upper));
  // Adds the best candidate without refinement, because the refined one may coincide with a sample.
  found.push_back({candidates.col(order[0]), acquisition.score(candidates.col(order[0]), nullptr)});
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.value > b.value; });

  Proposal proposal;
  for (const Maximum& f : found) proposal.considered.push_back({ego.observed.space.design(f.at), f.value});
  for (const Maximum& f : found) {
    if (!ego.is_distinct(f.at) || !ego.possible(f.at)) continue;
    proposal.design = ego.instead_of(ego.observed.space.design(f.at));
    proposal.score = f.value;
    break;
  }
  for (std::size_t i = 0; i < order.size() && proposal.design.size() == 0; ++i) {
    if (!ego.is_distinct(candidates.col(order[i]))) continue;
    proposal.design = ego.observed.space.design(candidates.col(order[i]));
    proposal.score = values(order[i]);
  }
  std::ostringstream note;
  note.precision(3);
  if (!acquisition.any_feasible()) {
    note << "likeliest to keep the constraints";
  } else if (ego.observed.objectives.size() > 1) {
    note << "front of " << acquisition.front().points.cols() << ", expected hypervolume gain "
         << std::exp(proposal.score);
  } else {
    note << (ego.descends()      ? "in another basin, for the best is settling: "
             : ego.is_settling() ? "away from the best, which is settling: "
                                 : "")
         << "expected improvement " << std::exp(proposal.score);
  }
  proposal.note = note.str();
  return proposal;
}

}  // namespace dodyn::surrogate
