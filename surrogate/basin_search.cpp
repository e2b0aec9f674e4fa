#include "surrogate/basin_search.hpp"

#include <algorithm>
#include <cmath>

namespace dodyn::surrogate {

using Eigen::VectorXd;

namespace {

constexpr double radius_share = 0.15;  // relative to the box's diagonal: a sample without a better one in this radius
                                       // starts a basin
constexpr double half_side = 0.15;     // relative to the range: half side of the box around the best of a basin
constexpr double known_share = 0.05;   // relative to the box's diagonal: a design nearer to a known minimum is in its
                                       // basin
constexpr int patience = 8;            // consecutive designs without a gain before the basin is left
constexpr double same_design = 1e-7;   // relative to the range: designs that are nearer coincide

}  // namespace

bool settling(const ObservedData& observed, std::size_t initial, int batch) {
  const auto& evaluations = observed.evaluations;
  const std::size_t last = std::max(2, batch);
  if (observed.noisy() || observed.objectives.size() > 1 || evaluations.size() < initial + last + 1) return false;
  const Evaluation* least = nullptr;
  for (std::size_t i = 0; i + last < evaluations.size(); ++i)
    if (observed.feasible(evaluations[i]) && (!least || evaluations[i].cost < least->cost)) least = &evaluations[i];
  if (!least) return false;
  int beside = 0;
  for (std::size_t i = evaluations.size() - last; i < evaluations.size(); ++i) {
    const Evaluation& e = evaluations[i];
    if (!observed.feasible(e)) continue;
    beside += (observed.unit(e) - observed.unit(*least)).cwiseAbs().maxCoeff() <= 0.1;
    if (e.cost < least->cost - 0.01 * observed.quantile(0.25, Warp())) return false;
  }
  return beside >= std::max<int>(2, static_cast<int>(last) / 2);
}

bool BasinSearch::holds(const ObservedData& observed, const VectorXd& unit) const {
  return (unit - observed.unit(best(observed))).cwiseAbs().maxCoeff() <= half_side + same_design;
}

int BasinSearch::count_running(const ObservedData& observed) const {
  return static_cast<int>(std::count_if(observed.pending.begin(), observed.pending.end(), [&](const VectorXd& design) {
    return holds(observed, observed.space.unit(design));
  }));
}

VectorXd BasinSearch::lower(const ObservedData& observed) const {
  return (observed.unit(best(observed)).array() - half_side).cwiseMax(0);
}

VectorXd BasinSearch::upper(const ObservedData& observed) const {
  return (observed.unit(best(observed)).array() + half_side).cwiseMin(1);
}

bool BasinSearch::known(const ObservedData& observed, const VectorXd& u) const {
  const double radius = known_share * std::sqrt(static_cast<double>(u.size()));
  const auto near = [&](const VectorXd& other) { return (u - other).norm() <= radius; };
  return near(observed.unit(*observed.best())) || std::any_of(left_.begin(), left_.end(), near);
}

void BasinSearch::observe(const ObservedData& observed, bool settling, bool promising, int batch) {
  const Evaluation* const least = observed.best();
  const Eigen::Index d = observed.space.dimensions();
  if (!least || !observed.space.all_real()) return;
  const auto& evaluations = observed.evaluations;
  if (taken()) {
    const Evaluation &e = evaluations.back(), &before = best(observed);
    if (!holds(observed, e)) return;
    const bool better = observed.feasible(e) && e.cost < before.cost;
    stalled_ = better && before.cost - e.cost > 0.02 * (before.cost - least->cost) ? 0 : stalled_ + 1;
    if (better) at_ = static_cast<std::ptrdiff_t>(evaluations.size()) - 1;
    // the search has descended into a known basin
    if (better && d >= least_variables && e.cost > least->cost && known(observed, observed.unit(e))) {
      at_ = -1;
      return;
    }
    const int running = std::min(batch, max_running(batch));
    if (stalled_ < (d < least_variables ? patience / 2 : patience) + 2 * (running - 1) &&
        best(observed).cost > least->cost)
      return;
    if (best(observed).cost > least->cost) left_.push_back(observed.unit(best(observed)));
    at_ = -1;
    return;
  }
  if (d < least_variables) {
    const Evaluation& e = evaluations.back();
    if (!promising || !observed.feasible(e) ||
        (observed.unit(e) - observed.unit(*least)).cwiseAbs().maxCoeff() <= half_side)
      return;
    at_ = static_cast<std::ptrdiff_t>(evaluations.size()) - 1;
    stalled_ = 0;
    return;
  }
  if (!settling) return;
  const double radius = radius_share * std::sqrt(static_cast<double>(d));
  const auto near = [&](const VectorXd& u, const VectorXd& other) { return (u - other).norm() <= radius; };
  for (std::size_t i = 0; i < evaluations.size(); ++i) {
    const Evaluation& e = evaluations[i];
    if (!observed.feasible(e) || (taken() && e.cost >= best(observed).cost)) continue;
    const VectorXd u = observed.unit(e);
    if (near(u, observed.unit(*least)) ||
        std::any_of(left_.begin(), left_.end(), [&](const VectorXd& other) { return near(u, other); }) ||
        std::any_of(evaluations.begin(), evaluations.end(), [&](const Evaluation& other) {
          return observed.feasible(other) && other.cost < e.cost && near(u, observed.unit(other));
        }))
      continue;
    at_ = i;
  }
  stalled_ = 0;
}

}  // namespace dodyn::surrogate
