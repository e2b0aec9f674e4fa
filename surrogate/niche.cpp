#include "surrogate/niche.hpp"

#include <algorithm>
#include <cmath>

namespace dodyn::surrogate {

using Eigen::VectorXd;

namespace {

constexpr double radius_share = 0.15;  // without a better sample, of the diagonal of the range
constexpr double half_side = 0.15;     // of the box about the best of a basin, of the range
constexpr double known_share = 0.05;   // the same: nearer to a known minimum than that is in its basin
constexpr int patience = 8;            // designs in a row without a gain there
constexpr double same_design = 1e-7;   // of the range

}  // namespace

bool settling(const Evidence& evidence, std::size_t initial, int batch) {
  const auto& told = evidence.told;
  const auto last = static_cast<std::size_t>(std::max(2, batch));
  if (evidence.noisy() || evidence.objectives.size() > 1 || told.size() < initial + last + 1) return false;
  const Evaluation* least = nullptr;
  for (std::size_t i = 0; i + last < told.size(); ++i)
    if (evidence.feasible(told[i]) && (!least || told[i].cost < least->cost)) least = &told[i];
  if (!least) return false;
  int beside = 0;
  for (std::size_t i = told.size() - last; i < told.size(); ++i) {
    const Evaluation& e = told[i];
    if (!evidence.feasible(e)) continue;
    beside += (evidence.unit(e) - evidence.unit(*least)).cwiseAbs().maxCoeff() <= 0.1;
    if (e.cost < least->cost - 0.01 * evidence.quantile(0.25, Warp())) return false;
  }
  return beside >= 2;
}

bool Niche::holds(const Evidence& evidence, const Evaluation& e) const {
  return (evidence.unit(e) - evidence.unit(best(evidence))).cwiseAbs().maxCoeff() <= half_side + same_design;
}

VectorXd Niche::lower(const Evidence& evidence) const {
  return (evidence.unit(best(evidence)).array() - half_side).cwiseMax(0);
}

VectorXd Niche::upper(const Evidence& evidence) const {
  return (evidence.unit(best(evidence)).array() + half_side).cwiseMin(1);
}

bool Niche::known(const Evidence& evidence, const VectorXd& u) const {
  const double radius = known_share * std::sqrt(static_cast<double>(u.size()));
  const auto near = [&](const VectorXd& other) { return (u - other).norm() <= radius; };
  return near(evidence.unit(*evidence.best())) || std::any_of(left_.begin(), left_.end(), near);
}

void Niche::told(const Evidence& evidence, bool settling, bool promising, int batch) {
  const Evaluation* const least = evidence.best();
  const Eigen::Index d = evidence.space.dimensions();
  if (!least || !evidence.space.all_real()) return;
  const auto& told = evidence.told;
  if (taken()) {
    const Evaluation &e = told.back(), &before = best(evidence);
    if (!holds(evidence, e)) return;
    const bool better = evidence.feasible(e) && e.cost < before.cost;
    stalled_ = better && before.cost - e.cost > 0.02 * (before.cost - least->cost) ? 0 : stalled_ + 1;
    if (better) at_ = static_cast<std::ptrdiff_t>(told.size()) - 1;
    // it came down into a basin that is known
    if (better && d >= least_variables && e.cost > least->cost && known(evidence, evidence.unit(e))) {
      at_ = -1;
      return;
    }
    if (stalled_ < (d < least_variables ? patience / 2 : patience) + 2 * (batch - 1) &&
        best(evidence).cost > least->cost)
      return;
    if (best(evidence).cost > least->cost) left_.push_back(evidence.unit(best(evidence)));
    at_ = -1;
    return;
  }
  if (d < least_variables) {
    const Evaluation& e = told.back();
    if (!promising || !evidence.feasible(e) ||
        (evidence.unit(e) - evidence.unit(*least)).cwiseAbs().maxCoeff() <= half_side)
      return;
    at_ = static_cast<std::ptrdiff_t>(told.size()) - 1;
    stalled_ = 0;
    return;
  }
  if (!settling) return;
  const double radius = radius_share * std::sqrt(static_cast<double>(d));
  const auto near = [&](const VectorXd& u, const VectorXd& other) { return (u - other).norm() <= radius; };
  for (std::size_t i = 0; i < told.size(); ++i) {
    const Evaluation& e = told[i];
    if (!evidence.feasible(e) || (taken() && e.cost >= best(evidence).cost)) continue;
    const VectorXd u = evidence.unit(e);
    if (near(u, evidence.unit(*least)) ||
        std::any_of(left_.begin(), left_.end(), [&](const VectorXd& other) { return near(u, other); }) ||
        std::any_of(told.begin(), told.end(), [&](const Evaluation& other) {
          return evidence.feasible(other) && other.cost < e.cost && near(u, evidence.unit(other));
        }))
      continue;
    at_ = static_cast<std::ptrdiff_t>(i);
  }
  stalled_ = 0;
}

}  // namespace dodyn::surrogate
