#include "surrogate/quasi_newton.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

namespace dodyn::surrogate {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr double least_cosine = 1e-8;     // cosine of residual and step; below it an update is mostly rounding
constexpr double least_remainder = 1e-3;  // share of a curvature that an update of rank one must leave
constexpr double least_curvature =
    0.2;  // curvature along a step that Powell's damping keeps, relative to the present one

// Whether hessian + r r'/product is positive definite.
bool stays_positive(const MatrixXd& hessian, const VectorXd& r, double product) {
  return product > 0 || 1 + r.dot(hessian.llt().solve(r)) / product > least_remainder;
}

void update(MatrixXd& hessian, const VectorXd& step, VectorXd slope_change) {
  const VectorXd along = hessian * step, r = slope_change - along;
  const double product = r.dot(step), present = step.dot(along);
  if (std::abs(product) <= least_cosine * r.norm() * step.norm()) return;  // known already
  if (stays_positive(hessian, r, product)) {
    hessian += r * r.transpose() / product;
    return;
  }
  if (const double found = step.dot(slope_change); found < least_curvature * present) {
    const double share = (1 - least_curvature) * present / (present - found);
    slope_change = share * slope_change + (1 - share) * along;
  }
  hessian += slope_change * slope_change.transpose() / step.dot(slope_change) - along * along.transpose() / present;
}

}  // namespace

MatrixXd positive_hessian(const std::vector<Sloped>& evaluations, const VectorXd& centre, double unknown) {
  struct Pair {
    VectorXd step, slope_change;
    double reach;  // distance from the centre
  };
  std::vector<Pair> pairs;
  std::size_t best = 0;
  for (std::size_t i = 1; i < evaluations.size(); ++i) {
    const Sloped &from = evaluations[best], &to = evaluations[i];
    pairs.push_back(
        {to.at - from.at, to.slope - from.slope, std::max((to.at - centre).norm(), (from.at - centre).norm())});
    if (to.cost < from.cost) best = i;
  }
  std::stable_sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) { return a.reach > b.reach; });
  // The nearest pair gives the first curvature, as in L-BFGS.
  double first = unknown;
  for (const Pair& p : pairs)
    if (const double product = std::abs(p.step.dot(p.slope_change)); product > 0)
      first = p.slope_change.squaredNorm() / product;
  MatrixXd hessian = MatrixXd::Identity(centre.size(), centre.size()) * first;
  for (const Pair& p : pairs) update(hessian, p.step, p.slope_change);
  return hessian;
}

VectorXd minimum_in_box(const VectorXd& slope, const MatrixXd& hessian, const VectorXd& lower, const VectorXd& upper) {
  const auto value = [&](const VectorXd& s) { return slope.dot(s) + 0.5 * s.dot(hessian * s); };
  VectorXd at = VectorXd::Zero(slope.size());
  double least = 0;
  // Each round takes Newton's step in the variables that do not press against a bound, cut at the bounds.
  for (Index round = 0; round < 10 * slope.size(); ++round) {
    const VectorXd descent = -slope - hessian * at;
    const auto is_blocked = [&](Index k, double direction) {
      return direction > 0 ? at(k) >= upper(k) : at(k) <= lower(k);
    };
    std::vector<Index> free;
    for (Index k = 0; k < at.size(); ++k)
      if (!is_blocked(k, descent(k))) free.push_back(k);
    VectorXd newton;
    for (bool leaves_box = true; leaves_box && !free.empty();) {
      newton = hessian(free, free).llt().solve(descent(free));
      std::vector<Index> kept;
      for (std::size_t k = 0; k < free.size(); ++k)
        if (!is_blocked(free[k], newton(k))) kept.push_back(free[k]);
      leaves_box = kept.size() < free.size();
      free = kept;
    }
    if (free.empty()) break;
    bool lower_found = false;
    for (double share = 1; share > 1e-9 && !lower_found; share /= 2) {
      VectorXd next = at;
      next(free) += share * newton;
      next = next.cwiseMax(lower).cwiseMin(upper);
      if (const double found = value(next); found < least) at = next, least = found, lower_found = true;
    }
    if (!lower_found) break;
  }
  return at;
}

}  // namespace dodyn::surrogate
