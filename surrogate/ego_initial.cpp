#include <algorithm>
#include <cstdint>
#include <vector>

#include "surrogate/ego_search.hpp"
#include "surrogate/sampling.hpp"

namespace dodyn::surrogate {

namespace {

// Minimum numbers of designs with a cheaper study. They determine the mean, the factor of the model of that study, and
// the spread of the remainder.
constexpr int least_without_gradient = 3, least_with_gradient = 2;
constexpr int before_a_descent = 3;  // first designs of a trust region with gradients; the descent begins at the best

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Returns the designs that determine the slope and the curvature along each axis, for a descent without gradients: the
// centre, then two on each axis. In many variables a Latin hypercube of equal size says less about slope and curvature.
// The first centre is the best known design, the first given one, or the middle of the range. After a restart the
// centre is `elsewhere`. Empty: such a descent does not begin the search, or the centre is not allowed.
MatrixXd star(const EgoState& ego, const VectorXd& elsewhere) {
  const EgoOptions& options = ego.options;
  if (!options.trust_region || options.gradient || options.initial_samples > 0 || !options.low_fidelity.empty() ||
      !ego.has_descent() || !ego.observed.space.all_real())
    return {};
  const int d = ego.dimensions();
  VectorXd centre = VectorXd::Constant(d, 0.5);
  if (ego.region.restarts > 0) {
    centre = elsewhere;
  } else if (const Evaluation* const known = ego.observed.best()) {
    centre = ego.observed.unit(*known);
  } else if (options.given.cols() > 0) {
    centre = ego.observed.space.unit(options.given.col(0));
  }
  // Small differences in the other variables: if costs are symmetric, or variables do not matter, costs would otherwise
  // be equal on several axes, as on a plateau.
  constexpr double aside = 0.002;  // relative to the range
  MatrixXd designs(d, 1 + 2 * d);
  designs << centre, (aside * (2 * sobol(d, 2 * d, options.seed).array() - 1)).matrix().colwise() + centre;
  for (Index k = 0; k < d; ++k) {
    // Next to a bound both designs of an axis lie on the same side.
    const double r = many_variables.first_radius;
    designs(k, 1 + 2 * k) += centre(k) + r <= 1 ? r : -2 * r;
    designs(k, 2 + 2 * k) += centre(k) - r >= 0 ? -r : 2 * r;
  }
  designs = designs.cwiseMax(0).cwiseMin(1);
  for (Index i = 0; i < designs.cols(); ++i) designs.col(i) = ego.last_possible(centre, designs.col(i));
  return ego.possible(centre) ? designs : MatrixXd();
}

}  // namespace

std::vector<VectorXd> initial_designs(const EgoState& ego) {
  const int d = ego.dimensions(), restarts = ego.region.restarts;
  int n = ego.options.initial_samples;
  if (n == 0) {
    const bool descends = ego.options.trust_region && ego.options.gradient;
    const bool has_low = !ego.options.low_fidelity.empty();
    n = std::max(descends && !has_low ? before_a_descent : default_initial_samples(d, ego.options.gradient, has_low),
                 ego.options.batch);
    if (restarts == 0) n -= has_low;  // one place is for the best design of the low-fidelity study
  }
  if (restarts == 0)
    for (const Evaluation& e : ego.options.known) n -= n > 0 && ego.observed.usable(e);
  const std::uint64_t seed = ego.options.seed + 7919ULL * static_cast<std::uint64_t>(restarts);
  MatrixXd x(d, 0);
  if (n > 0) x = latin_hypercube(d, n, seed);
  if (const MatrixXd axes = n > 0 ? star(ego, x.col(0)) : MatrixXd(); axes.cols() > 0) {
    MatrixXd all(d, std::max<Index>(axes.cols(), ego.options.batch));
    all << axes, x.rightCols(all.cols() - axes.cols());
    x = all;
    n = static_cast<int>(x.cols());
  }
  // If some designs are not allowed, takes the allowed ones of a filling with more points.
  if (ego.options.possible) {
    MatrixXd all = x;
    const auto count = [&] {
      Index sum = 0;
      for (Index i = 0; i < all.cols(); ++i) sum += ego.possible(all.col(i));
      return sum;
    };
    for (int more = n; count() < n && more < 1024 * n;) {
      more *= 2;
      all = latin_hypercube(d, more, seed);
    }
    const MatrixXd kept = ego.possible_ones(all);
    x = kept.leftCols(std::min<Index>(n, kept.cols()));
  }
  std::vector<VectorXd> added;
  for (Index i = 0; i < x.cols(); ++i) {
    const VectorXd next = ego.observed.space.design(x.col(i));
    const bool repeated = !ego.observed.space.plain() &&
                          std::any_of(added.begin(), added.end(), [&](const auto& a) { return a == next; });
    if (repeated) continue;
    added.push_back(next);
  }
  return added;
}

int default_initial_samples(int variables, bool gradient, bool low_fidelity) {
  if (low_fidelity) return gradient ? least_with_gradient : std::max(least_without_gradient, variables + 1);
  if (gradient) return std::max(3, variables + 1);
  return variables < BasinSearch::least_variables ? 2 * variables + 2 : std::min(3 * variables, 40);
}

}  // namespace dodyn::surrogate
