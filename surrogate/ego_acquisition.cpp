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

// The designs that the search starts beside, the best first.
std::vector<const Evaluation*> good_designs(const EgoState& ego) {
  std::vector<const Evaluation*> good;
  for (std::size_t i = ego.evidence.from; i < ego.evidence.told.size(); ++i) {
    const Evaluation& e = ego.evidence.told[i];
    if (ego.evidence.feasible(e) && (!ego.niche.taken() || ego.niche.holds(ego.evidence, e))) good.push_back(&e);
  }
  std::stable_sort(good.begin(), good.end(),
                   [&](auto* a, auto* b) { return ego.evidence.objective(*a, 0) < ego.evidence.objective(*b, 0); });
  if (ego.evidence.objectives.size() < 2) return good;
  std::vector<const Evaluation*> front;  // the first objective ascending, so that none is dominated by a later one
  for (const Evaluation* e : good) {
    const VectorXd own = ego.evidence.outcome(*e);
    if (std::none_of(front.begin(), front.end(),
                     [&](auto* other) { return (ego.evidence.outcome(*other).array() <= own.array()).all(); }))
      front.push_back(e);
  }
  return front;
}

// Gradient steps in the real variables, then every other value of each whole number, one at a time.
Found refine(const EgoState& ego, const Beliefs& beliefs, const VectorXd& start, const VectorXd& lower,
             const VectorXd& upper) {
  const DesignSpace& space = ego.evidence.space;
  const bool large = ego.models.objectives()[0].model().samples() > 300;
  BoundedSearch limits{lower, upper, large ? 25 : 60, 1e-8, 1e-6};
  for (Index k = 0; k < ego.dimensions(); ++k)
    if (!space.real(k)) limits.lower(k) = limits.upper(k) = start(k);
  Found best{start, beliefs.score(start, nullptr)};
  const Found found =
      maximise([&](const VectorXd& u, VectorXd* slope) { return beliefs.score(u, slope); }, start, limits);
  if (found.value > best.value) best = found;
  for (Index k = 0; k < ego.dimensions(); ++k) {
    if (space.real(k)) continue;
    for (int level = 0; level < std::min(space.levels(k), 50); ++level) {
      VectorXd u = best.at;
      u(k) = space.unit_of_level(k, level);
      const double other = beliefs.score(u, nullptr);
      if (other > best.value) best = {u, other};
    }
  }
  return best;
}

}  // namespace

Beliefs beliefs_of(const EgoState& ego) {
  BeliefOptions o;
  o.care = 1 + 0.5 * std::min(std::max(ego.failed_in_a_row, ego.hopes_failed), 8);
  if (!ego.models.objectives()[0].empty()) {
    const Warp& warp = ego.models.objectives()[0].warp();
    if (ego.niche.taken()) {
      o.incumbent = warp.forward(ego.niche.best(ego.evidence).cost);
    } else if (ego.is_settling()) {
      o.longest = EgoState::longest_in_doubt;
      o.margin = 0.01 * ego.evidence.quantile(0.5, warp);
    }
  }
  return Beliefs(ego.evidence, ego.models, o);
}

void search_box(const EgoState& ego, VectorXd& lower, VectorXd& upper) {
  lower = VectorXd::Zero(ego.dimensions());
  upper = VectorXd::Ones(ego.dimensions());
  if (ego.models.objectives()[0].empty()) return;
  if (ego.niche.taken()) {
    lower = ego.niche.lower(ego.evidence);
    upper = ego.niche.upper(ego.evidence);
  }
  const Evaluation* const centre = ego.evidence.best_of_region();
  if (!ego.options.trust_region || !centre) return;
  const VectorXd lengths =
      ego.evidence.space.all_real() ? ego.models.objectives()[0].model().hyperparameters().log_length : VectorXd();
  lower = ego.region.lower(ego.evidence.unit(*centre), lengths);
  upper = ego.region.upper(ego.evidence.unit(*centre), lengths);
}

MatrixXd candidates_in(const EgoState& ego, const VectorXd& lower, const VectorXd& upper) {
  const Index d = ego.dimensions();
  const TrackedModel& model = ego.models.objectives()[0];
  const std::uint64_t seed = ego.options.seed * 1000003 + ego.evidence.told.size() * 101 + ego.evidence.pending.size();
  const Index rows = model.empty() ? 0 : model.model().samples();
  // predictions at all of them take rows^2 each
  const Index spread = std::min<Index>(200 + 100 * d, rows > 600 ? 150 : rows > 300 ? 300 : 1500);
  const VectorXd box = upper - lower;
  MatrixXd points = (box.asDiagonal() * sobol(static_cast<int>(d), static_cast<int>(spread), seed)).colwise() + lower;
  const auto good = good_designs(ego);
  if (good.empty()) return ego.possible_ones(points);
  Random random(seed);
  const bool front = ego.evidence.objectives.size() > 1;
  const Index seeds = std::min<Index>(static_cast<Index>(good.size()), front ? 60 : 3),
              around = seeds * std::min<Index>(front ? 20 : 40 + 10 * d, rows > 600 ? 40 : 100);
  const bool repeats = ego.evidence.noisy();
  points.conservativeResize(Eigen::NoChange, spread + around + (repeats ? static_cast<Index>(good.size()) : 0));
  for (Index i = 0; i < around; ++i) {
    // the best few, or all along the front
    const Index which = front ? i % seeds * static_cast<Index>(good.size()) / seeds : i % seeds;
    VectorXd u = ego.evidence.unit(*good[static_cast<std::size_t>(which)]);
    const double size = std::pow(10.0, -0.5 - 3 * random.uniform());
    const double share = std::max(1.0 / static_cast<double>(d), random.uniform());
    for (Index k = 0; k < d; ++k)
      if (random.uniform() < share) u(k) += size * random.normal();
    for (Index k = 0; k < d; ++k)
      if (!ego.evidence.space.real(k) && random.uniform() < share) u(k) = random.uniform();
    points.col(spread + i) = u.cwiseMax(lower).cwiseMin(upper);
  }
  if (repeats)
    for (std::size_t i = 0; i < good.size(); ++i)
      points.col(spread + around + static_cast<Index>(i)) = ego.evidence.unit(*good[i]);
  return ego.possible_ones(points);
}

Plan by_acquisition(const EgoState& ego, const Beliefs& beliefs, const MatrixXd& candidates, const VectorXd& lower,
                    const VectorXd& upper) {
  const VectorXd values = beliefs.scores(candidates);
  std::vector<Index> order(static_cast<std::size_t>(candidates.cols()));
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
  std::vector<Found> found;
  for (const VectorXd& start : starts) found.push_back(refine(ego, beliefs, start, lower, upper));
  // The best candidate as it is: the refinement may end on a sample.
  found.push_back({candidates.col(order[0]), beliefs.score(candidates.col(order[0]), nullptr)});
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.value > b.value; });

  Plan plan;
  for (const Found& f : found) plan.considered.push_back({ego.evidence.space.design(f.at), f.value});
  for (const Found& f : found) {
    if (!ego.fresh(f.at) || !ego.possible(f.at)) continue;
    plan.design = ego.evidence.space.design(f.at);
    plan.score = f.value;
    break;
  }
  for (std::size_t i = 0; i < order.size() && plan.design.size() == 0; ++i) {
    if (!ego.fresh(candidates.col(order[i]))) continue;
    plan.design = ego.evidence.space.design(candidates.col(order[i]));
    plan.score = values(order[i]);
  }
  std::ostringstream note;
  note.precision(3);
  if (!beliefs.any_feasible()) {
    note << "likeliest to keep the constraints";
  } else if (ego.evidence.objectives.size() > 1) {
    note << "front of " << beliefs.front().points.cols() << ", expected hypervolume gain " << std::exp(plan.score);
  } else {
    note << (ego.niche.taken()   ? "in another basin, for the best is settling: "
             : ego.is_settling() ? "away from the best, which is settling: "
                                 : "")
         << "expected improvement " << std::exp(plan.score);
  }
  plan.note = note.str();
  return plan;
}

}  // namespace dodyn::surrogate
