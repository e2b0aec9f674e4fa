#include <algorithm>
#include <cstdint>
#include <vector>

#include "surrogate/ego_search.hpp"
#include "surrogate/sampling.hpp"

namespace dodyn::surrogate {

namespace {

// Designs that determine the mean, the factor of a cheaper study, and the spread of what that leaves over.
constexpr int least_without_gradient = 3, least_with_gradient = 2;
constexpr int before_a_descent = 3;  // first designs of a trust region with gradients; the descent begins at the best

}  // namespace

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

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
